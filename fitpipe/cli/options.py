"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

SkeletonName = Annotated[
    str | None, typer.Option(help="Skeleton preset or TOML file. Default: kinect20.")
]
MarkerSetName = Annotated[
    str | None, typer.Option(help="Marker set preset or TOML file. Default: labels are joints.")
]
Subject = Annotated[
    str | None, typer.Option(help="Whose labels, where a file has several subjects.")
]
Static = Annotated[
    Path | None,
    typer.Option(help="A static trial of the person, with medial markers the takes lack."),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="A setting: --set solve.max_iterations=50"),
]
Body = Annotated[str | None, typer.Option(help="Which person, where a file has several.")]
Units = Annotated[
    str | None,
    typer.Option(help="Length unit of the files: m, cm, mm, in, or metres per unit (0.0254)."),
]
KeepZeros = Annotated[
    bool, typer.Option("--keep-zeros", help="Points at exactly (0, 0, 0) are not missing.")
]
Up = Annotated[
    str | None, typer.Option(help="Axis that points up in the files: y, z, -y; turned to +Y.")
]
RateHz = Annotated[
    float | None, typer.Option(help="Frames per second; overrides what the files say.")
]
