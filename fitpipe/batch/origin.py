"""What an output says of its own making, as a job that makes it again."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fitpipe.batch.job import TakeJob, job_from_text
from fitpipe.config import FitConfig, make_config
from fitpipe.errors import BatchError, ConfigError


def job_of_output(path: str | Path) -> TakeJob:
    """The job that made an output, read from its provenance.

    Raises
    ------
    OutputError
        The file is no whole output.
    BatchError
        It was made in Python from what no file holds.
    ConfigError
        Its config is none that this fitpipe takes.
    """
    from fitpipe.output.read import load_provenance

    path = Path(path)
    provenance = load_provenance(path)
    text = str(provenance.get("config", ""))
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"its config is not TOML: {error}", path=path) from error
    if "takes" in table:
        return job_from_text(text, output=path)
    return _job_of_python(path, provenance, table)


def _job_of_python(path: Path, provenance: Mapping[str, Any], table: dict[str, Any]) -> TakeJob:
    """The job that does what ``fitpipe.fit`` did for a notebook."""
    given, inputs = provenance.get("given", {}), provenance.get("inputs", [])
    lost = [f"{name}= was {value}" for name, value in given.items() if value.startswith("<")]
    lost += [f"source {row['source']!r} was made from arrays" for row in inputs if not row["path"]]
    lost += [
        f"source {row['source']!r} was picked out of a file with several"
        for row in inputs
        if "source" in row.get("asked", {})
    ]
    paths = [row["path"] for row in inputs]
    lost += [f"{p} gave several sources" for p in dict.fromkeys(paths) if paths.count(p) > 1 and p]
    if lost:
        raise BatchError(
            "was made in Python from what is in no file of its own",
            path=path,
            faults=lost,
            hint="make it again with the program that made it",
        )
    config = make_config(FitConfig, table, path=path)
    if "skeleton" in given:
        skeleton = config.skeleton.model_copy(update={"preset": given["skeleton"]})
        config = config.model_copy(update={"skeleton": skeleton})
    return make_config(
        TakeJob,
        {
            "name": path.stem,
            "files": [
                {"source": row["source"], "path": row["path"], **row.get("asked", {})}
                for row in inputs
            ],
            "subject": given.get("subject"),
            "markerset": given.get("markerset"),
            "static": given.get("static"),
            "fit": config,
            "output": str(path),
        },
        path=path,
    )
