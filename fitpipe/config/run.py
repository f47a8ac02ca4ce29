"""The settings of a run over many takes: which files, what differs from take to take, and how."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, model_validator

from fitpipe.config.models import FitConfig, OutputConfig, Positive, ReportConfig, Section

Count = Annotated[int, Field(ge=0)]


class ReadingConfig(Section):
    """How a file is to be read, where it does not say so itself."""

    units: str | None = Field(
        None, description="Length unit of the files, if not as they claim.", examples=["mm"]
    )
    up: str | None = Field(
        None,
        description="Axis that points up in the files; turned to +Y. Default: as is.",
        examples=["z"],
    )
    rate_hz: Positive | None = Field(
        None,
        description="Frames per second, where it overrides what the files say.",
        examples=[30.0],
    )
    body: str | None = Field(
        None,
        description="Which person, where the files hold several. Default: there is one.",
        examples=["0"],
    )
    keep_zeros: bool | None = Field(
        None,
        description="Points at exactly (0, 0, 0) are not missing. Default: they are.",
        examples=[True],
    )


class FileRow(ReadingConfig):
    """One file of a take: a row of a manifest, or of [[takes.file]]."""

    take: str = Field(description="Name of the take; rows with one name are its sources.")
    source: str = Field("", description="Name of the sensor. Default: the file's own.")
    path: str = Field(description="The file. Relative to the manifest or config it stands in.")
    subject: str | None = Field(None, description="As in [takes], for this take.")
    options: dict[str, Any] = Field(
        {}, description="Settings of this take alone: { 'solve.max_iterations' = 50 }."
    )


class TakesConfig(ReadingConfig):
    """Which files are takes, and how they are to be read."""

    folder: str | None = Field(
        None,
        description="Folder that the pattern starts from. Relative to the config file. Default: "
        "the config file's.",
        examples=["../recordings"],
    )
    pattern: str | None = Field(
        None,
        description="Files, as a path with named fields: 'takes/{take}_{source}.csv'. Files that "
        "differ only in {source} belong to one take.",
        examples=["takes/{take}_{source}.csv"],
        json_schema_extra={"x-fill-in": True},  # stands in a new config without a # in front
    )
    manifest: str | None = Field(
        None,
        description="CSV or TOML file that lists the takes' files instead. Relative to the config "
        "file.",
        examples=["takes.csv"],
    )
    file: list[FileRow] = Field(
        [],
        description="The files listed in the config itself, with the keys of a manifest's rows.",
        examples=[[{"take": "walk", "source": "a", "path": "takes/walk_a.csv"}]],
    )
    subject: str | None = Field(
        None,
        description="Whose labels, where files have several subjects ('Anna:LASI').",
        examples=["Anna"],
    )
    markerset: str | None = Field(
        None,
        description="Preset or TOML file that leads labels to joints. Default: by name.",
        examples=["kinect25"],
    )
    static: str | None = Field(
        None,
        description="A static trial of the person, with medial markers the takes lack. Relative to "
        "the config file.",
        examples=["static.c3d"],
    )

    @model_validator(mode="after")
    def _from_one_place(self) -> TakesConfig:
        given = [name for name in ("pattern", "manifest", "file") if getattr(self, name)]
        if len(given) != 1:
            came = " and ".join(given) if given else "none"
            raise ValueError(
                f"expected one of pattern, manifest and [[takes.file]], got {came}: this says "
                "which files are the takes"
            )
        return self


def _check_scheduler(value: object) -> object:
    if value is None or (isinstance(value, str) and re.fullmatch(r"local|(\w+://)?.+:\d+", value)):
        return value
    raise ValueError(f"expected 'local' or an address such as 'tcp://host:8786', got {value!r}")


class BatchConfig(Section):
    """How a run is carried out; has no influence on any result."""

    workers: Count | None = Field(
        None,
        description="Processes that fit takes side by side; 0 fits them in the command's own "
        "process, where a crash ends the run. Default: one per core.",
        examples=[4],
    )
    scheduler: Annotated[str | None, BeforeValidator(_check_scheduler)] = Field(
        None,
        description="Dask scheduler whose workers fit the takes: 'tcp://host:8786', or 'local' "
        "for a cluster on this machine. Default: none.",
        examples=["tcp://localhost:8786"],
    )
    take_timeout_s: Positive | None = Field(
        None,
        description="Longest time for one take, after which it is given up. Default: none.",
        examples=[600.0],
    )


class OverrideConfig(Section):
    """Settings for some takes: over those of the sections, under those of a manifest's row."""

    take: str = Field(description="Which takes: a name in which * and ? stand for anything.")
    takes: dict[str, Any] = Field({}, description="As in [takes], without the files.")
    skeleton: dict[str, Any] = Field({}, description="As in [skeleton].")
    calibrate: dict[str, Any] = Field({}, description="As in [calibrate].")
    weights: dict[str, Any] = Field({}, description="As in [weights].")
    solve: dict[str, Any] = Field({}, description="As in [solve].")
    angles: dict[str, Any] = Field({}, description="As in [angles].")


class RunConfig(FitConfig):
    """A run over many takes: the fit's settings, the takes and the output."""

    takes: TakesConfig
    output: OutputConfig
    batch: BatchConfig = BatchConfig()
    report: ReportConfig = ReportConfig()
    override: list[OverrideConfig] = Field(
        [], description="Settings for some takes, by name; the last one that matches wins."
    )
    grid: dict[str, Any] = Field(
        {},
        description="Settings with a list of values each: every combination is run, in a folder "
        "of its own.",
    )

    def fit_config(self) -> FitConfig:
        """The part that decides the numbers of a fit."""
        return FitConfig(**{name: getattr(self, name) for name in FitConfig.model_fields})
