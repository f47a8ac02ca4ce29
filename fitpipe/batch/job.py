"""One take to be fitted: everything a worker on any machine needs to know, as text."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import tomli_w

from fitpipe.config import FitConfig, ReadingConfig, make_config
from fitpipe.config.models import Section
from fitpipe.errors import ConfigError

_CONTROL: Final = re.compile("[\x00-\x1f\x7f\x80-\x9f\ud800-\udfff\u2028\u2029]")
_MOST_BYTES: Final = 200  # of a name; file systems take 255 with ending and all


class TakeFile(ReadingConfig):
    """One file of a take, and how it is to be read.

    ``source`` names its sensor; empty leaves that to the file.
    """

    source: str = ""
    path: str


class TakeJob(Section):
    """One take to be fitted.

    Parameters
    ----------
    name : str
    files : tuple of TakeFile
        The reference source first. Paths are absolute.
    subject, markerset, static : str, optional
        As in ``[takes]`` of the config.
    fit : FitConfig
    output : str
        The file to write, absolute.
    compression : int
        gzip level from 0 to 9.
    threads : int
        Cores this take may use; 0 leaves it to ``fit.solve.threads``.
    command : str
        What the user typed, for the output's provenance.
    lease : str
        File that names the run which may write the output, empty if any may.
    run : str
        The run this job is of.
    """

    name: str
    files: tuple[TakeFile, ...]
    subject: str | None = None
    markerset: str | None = None
    static: str | None = None
    fit: FitConfig = FitConfig()
    output: str
    compression: int = 4
    threads: int = 0
    command: str = ""
    lease: str = ""
    run: str = ""

    @property
    def fit_here(self) -> FitConfig:
        """The config of the fit with as many threads as this take may use."""
        if self.fit.solve.threads or not self.threads:
            return self.fit
        solve = self.fit.solve.model_copy(update={"threads": self.threads})
        return self.fit.model_copy(update={"solve": solve})

    @property
    def config_text(self) -> str:
        """The take as a config that ``fitpipe run`` takes, but for the output's folder."""
        static = None if self.static is None else str(Path(self.static).absolute())
        takes: dict[str, Any] = {
            "subject": self.subject, "markerset": self.markerset, "static": static
        }  # fmt: skip
        rows = [
            {"take": self.name}
            | file.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
            | {"path": str(Path(file.path).absolute())}
            for file in self.files
        ]
        takes = {key: value for key, value in takes.items() if value is not None} | {"file": rows}
        table = {"takes": takes} | self.fit.model_dump(mode="json", exclude_none=True)
        return tomli_w.dumps(table)


def job_from_text(text: str, *, output: Path) -> TakeJob:
    """The job whose `TakeJob.config_text` is ``text``.

    Raises
    ------
    ConfigError
        The text is no config of one take.
    """
    try:
        table = tomllib.loads(text)
        takes = table.pop("takes")
        rows = takes.pop("file")
        name = rows[0]["take"]
        files = [{k: v for k, v in row.items() if k != "take"} for row in rows]
    except (tomllib.TOMLDecodeError, LookupError, AttributeError, TypeError) as error:
        raise ConfigError(
            f"the config in it names no files ({error})",
            path=output,
            hint="it can be made again only by the program that made it",
        ) from error
    return make_config(
        TakeJob,
        {"name": name, "files": files, "fit": table, "output": str(output), **takes},
        path=output,
    )


def check_names(names: Sequence[str], places: Mapping[str, str]) -> None:
    """Make sure that every take's name is a file name, and names a file of its own.

    Parameters
    ----------
    names : sequence of str
    places : mapping of str to str
        Where each name comes from.

    Raises
    ------
    ConfigError
        Lists every name that would lead out of the output folder, could not be written there, or
        differs from another one in upper and lower case only.
    """
    faults = []
    by_lower: dict[str, str] = {}
    for name in names:
        fault = _fault(name)
        if fault:
            faults.append(f"{places[name]}: take {_shown(name)}: {fault}")
        twin = by_lower.setdefault(name.casefold(), name)
        if twin != name:
            faults.append(
                f"{places[name]}: take {_shown(name)}: differs from {_shown(twin)} in upper and "
                "lower case only, which many disks do not tell apart"
            )
    if faults:
        raise ConfigError(
            "takes whose names cannot be file names",
            faults=faults,
            hint="a take's file is called by its name, in the output folder",
        )


def _fault(name: str) -> str:
    if not name:
        return "is empty"
    if _CONTROL.search(name):
        return "has characters that cannot be printed"
    if "\\" in name or Path(f"{name}.h5").name != f"{name}.h5":
        return "leads to another folder"
    if name.startswith("."):
        return "starts with a dot"
    if len(name.encode()) > _MOST_BYTES:
        return f"has {len(name.encode())} bytes, {_MOST_BYTES} are possible"
    return ""


def _shown(name: str) -> str:
    shown = name if len(name) <= 60 else f"{name[:57]}..."
    return ascii(shown) if _CONTROL.search(name) else repr(shown)
