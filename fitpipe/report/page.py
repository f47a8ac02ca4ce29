"""The page of one take: a single HTML file that needs nothing else."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from fitpipe.config import ReportConfig, make_config
from fitpipe.records import Fit
from fitpipe.report import charts, tables
from fitpipe.report.angle_charts import angle_charts
from fitpipe.report.numbers import count
from fitpipe.report.player import json_for_script, player_data
from fitpipe.report.verdict import Level, judge, overall

_SCRIPTS = ("unpack.js", "camera.js", "draw.js", "player.js", "page.js")


def report_page(
    fit: Fit, limits: ReportConfig | Mapping[str, Any] | None = None, *, back: str | None = None
) -> str:
    """The page of a fit as HTML text: verdict, player, charts, tables, provenance.

    Parameters
    ----------
    fit : Fit
    limits : ReportConfig or mapping, optional
        Where the lights change, such as ``{"rms_m": (0.02, 0.05)}``.
    back : str, optional
        Address of the page of all takes, relative to this one.

    Raises
    ------
    ConfigError
        The limits are not what they should be.
    """
    limits = make_config(ReportConfig, limits)
    checks = judge(fit, limits)
    return render(
        "take.html",
        scripts=_SCRIPTS,
        title=f"{fit.name} – fitpipe",
        fit=fit,
        back=back,
        head=tables.head(fit),
        checks=checks,
        overall=overall(checks),
        warnings=[finding for finding in fit.log if finding.severity == "warning"],
        notes=[finding for finding in fit.log if finding.severity == "note"],
        player=json_for_script(player_data(fit, limits)),
        has_raw=fit.observation is not None,
        residual=charts.residual_chart(fit),
        frame_status=charts.frame_status_chart(fit),
        cover=charts.cover_chart(fit),
        heat=charts.heat_chart(fit),
        uses=charts.use_charts(fit),
        joints=tables.joint_table(fit),
        bones=tables.bone_table(fit),
        sources=tables.source_table(fit),
        angles=angle_charts(fit),
        provenance=_provenance(fit.provenance),
    )


def summary_html(fit: Fit, limits: ReportConfig | None = None) -> str:
    """A small summary of a fit, for notebooks."""
    checks = judge(fit, limits or ReportConfig())
    return (
        _environment()
        .get_template("summary.html")
        .render(fit=fit, head=tables.head(fit), checks=checks, overall=overall(checks))
    )


def render(template: str, *, scripts: tuple[str, ...], **values: Any) -> str:
    """A page from a template of this room, with style and scripts inside.

    The page forbids every request, and every script but ours: the policy in its head names the
    hash of the one script it holds.
    """
    script = "\n".join(_asset(name) for name in scripts)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return (
        _environment()
        .get_template(template)
        .render(
            style=Markup(_asset("style.css")),  # noqa: S704 - our own file
            script=Markup(script),  # noqa: S704 - our own files
            script_hash=f"sha256-{digest}",
            version=version("fitpipe"),
            **values,
        )
    )


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("fitpipe.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(Level=Level, count=count)
    return environment


def _asset(name: str) -> str:
    return (files("fitpipe.report") / "templates" / name).read_text(encoding="utf-8")


def _provenance(provenance: Mapping[str, Any]) -> dict[str, Any]:
    """Inputs as rows, versions as pairs, the config as text, anything else that is said as pairs.

    The identity says once more what these do, for programs.
    """
    known = {"config", "inputs", "static", "versions", "identity"}
    inputs = list(provenance.get("inputs", []))
    if isinstance(static := provenance.get("static"), Mapping):
        inputs.append({"source": "static trial", **static})
    other = {str(k): str(v) for k, v in provenance.items() if k not in known and v}
    return {
        "config": str(provenance.get("config", "")),
        "inputs": [row for row in inputs if isinstance(row, Mapping)],
        "versions": dict(provenance.get("versions", {})),
        "other": other,
    }
