"""What an output must never take the place of: what it is made from, and files of others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import h5py

from fitpipe.errors import OutputError
from fitpipe.output.atomic import refused
from fitpipe.output.checksum import is_sealed
from fitpipe.output.schema import SCHEMA_NAME

_HEAD_BYTES: Final = 1 << 16  # the schema of a fit stands within
_HDF5: Final = b"\x89HDF\r\n\x1a\n"


def refuse_same(path: Path, others: Iterable[Path | None], what: str) -> None:
    """Make sure that a file to be written is none of those it is made from.

    Parameters
    ----------
    path : Path
    others : iterable of Path or None
    what : str
        What they are, for the message.

    Raises
    ------
    OutputError
        It is one of them, under whatever name.
    """
    for other in others:
        if other is not None and path.exists() and other.exists() and path.samefile(other):
            raise OutputError(f"is {what}", path=path, hint="choose another name")


def refuse_recordings(path: Path, provenance: Mapping[str, Any]) -> None:
    """`refuse_same` for the recordings that a fit says it was made from."""
    paths = [Path(row["path"]) for row in recordings(provenance) if row.get("path")]
    refuse_same(path, paths, "one of the recordings that the fit is made from")


def recordings(provenance: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """What a fit says of the files it was made from, the static trial among them."""
    rows = (*provenance.get("inputs", ()), provenance.get("static"))
    return [row for row in rows if isinstance(row, Mapping)]


def refuse_other_files(path: Path) -> None:
    """Make sure that a fit takes the place of nothing but a fit, or of HDF5 without any data.

    Raises
    ------
    OutputError
        There is another file.
    """
    try:
        if not path.is_file() or path.stat().st_size == 0:
            return
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
            if f"{SCHEMA_NAME}/".encode() in head or is_sealed(file):
                return
    except OSError as error:
        raise refused(error, path) from error
    if head.startswith(_HDF5) and not _has_arrays(path):
        return
    raise OutputError(
        "is there already and is no fit", path=path, hint="choose another name, or remove it"
    )


def _has_arrays(path: Path) -> bool:
    """Whether an HDF5 file holds an array; one that was cut holds nothing any more."""
    try:
        with h5py.File(path, "r") as file:
            arrays = file.visititems(lambda _, item: isinstance(item, h5py.Dataset) or None)
            return bool(arrays)
    except (OSError, RuntimeError):
        return False
