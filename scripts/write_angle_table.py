"""Writes the definitions of the joint angles into docs/angles.md, from the preset itself.

Usage: python scripts/write_angle_table.py
"""

from __future__ import annotations

from pathlib import Path

import fitpipe as fp
from fitpipe.angles import Definition, define
from fitpipe.config.angle_preset import BoneRow

PAGE = Path(__file__).parent.parent / "docs" / "angles.md"
BEGIN = "<!-- written by scripts/write_angle_table.py -->\n"
END = "<!-- end of what the script writes -->\n"


def page() -> str:
    """The page's text with the table as the preset has it."""
    before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    return before + BEGIN + table(define(fp.Skeleton.preset("kinect20"))) + END + rest.split(END)[1]


def table(definition: Definition) -> str:
    """Definitions as Markdown: one row a segment."""
    preset = definition.preset
    lines = [
        f"Zero pose: {' '.join(preset.zero_pose.split())}",
        "",
        "| joint | segment, relative to | turns in their order: axis, positive when | shown by |",
        "|---|---|---|---|",
    ]
    for s, (name, row) in enumerate(zip(definition.segments, definition.rows, strict=True)):
        up = definition.parents[s]
        turns = "; ".join(
            f"{axis.replace('-', '−')} {angle}{_limits(row.limits_deg.get(angle))}"
            for axis, angle in zip(row.sequence, row.angles, strict=True)
        )
        over = definition.segments[up] if up >= 0 else "world"
        lines.append(f"| {row.label} | `{name}`, {over} | {turns} | {_shown(definition, s)} |")
    lines += ["", "Limits after: " + "; ".join(preset.limits_source) + ".", ""]
    return "\n".join(lines)


def _limits(limits: tuple[float, float] | None) -> str:
    return "" if limits is None else f" ({limits[0]:g} to {limits[1]:g}°)".replace("-", "−")


def _shown(definition: Definition, segment: int) -> str:
    """What tells how the segment is turned about its own axis."""
    bone = segment - definition.n_bodies
    row = definition.rows[segment]
    if bone < 0:
        lines = definition.preset.body[segment].lines
        return ", ".join(f"{_end(a)} to {_end(b)}" for a, b in lines)
    if definition.hinged[bone] >= 0:
        return "the plane of the limb"
    if definition.hinge_of(bone) >= 0:
        return "the plane of the limb (hinge)"
    assert isinstance(row, BoneRow)  # noqa: S101 - bones follow the bodies
    return "its direction only" + (f"; {row.along} along it" if row.along else "")


def _end(joints: str | tuple[str, ...]) -> str:
    return joints if isinstance(joints, str) else "middle of " + " and ".join(joints)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE}")
