"""Finds takes by a pattern with named fields: which files belong to which take."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from fitpipe.errors import ConfigError

_FIELD = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class TakeFiles:
    """The files of one take: path by source name ('' where the pattern names no source)."""

    name: str
    paths: Mapping[str, Path]


def find_takes(pattern: str, base: Path) -> list[TakeFiles]:
    """Group the files that match a pattern with named fields into takes.

    Parameters
    ----------
    pattern : str
        A path with fields in braces and, where a part does not matter, ``*``:
        ``"takes/{subject}_{trial}_{source}.csv"``. Files that differ only in ``{source}`` are
        the sources of one take; the other fields, joined by ``_``, are its name.
    base : Path
        Folder that a relative pattern starts from.

    Raises
    ------
    ConfigError
        No file matches, or two files claim the same take and source.
    """
    matcher = _matcher(pattern)
    root = Path(pattern).anchor
    folder = Path(root) if root else base
    found: dict[str, dict[str, Path]] = {}
    for path in sorted(folder.glob(_FIELD.sub("*", pattern)[len(root) :])):
        named = matcher.fullmatch((path if root else path.relative_to(folder)).as_posix())
        if named is None or path.is_dir():
            continue
        values = named.groupdict()
        source = values.pop("source", "")
        name = "_".join(values.values()) or path.stem
        taken = found.setdefault(name, {})
        if source in taken:
            raise ConfigError(
                f"{taken[source]} and {path} are both source {source!r} of take {name!r}",
                hint="name the part of the path that differs: '{folder}/{take}_{source}.csv'",
            )
        taken[source] = path
    if not found:
        raise ConfigError(f"no files match {pattern!r} in {folder.resolve()}")
    return [TakeFiles(name, paths) for name, paths in found.items()]


def _matcher(pattern: str) -> re.Pattern[str]:
    """The pattern as a regular expression with its fields as groups."""
    names = _FIELD.findall(pattern)
    if len(set(names)) != len(names):
        raise ConfigError(f"the pattern {pattern!r} names a field twice")
    special = {"**/": "(?:.*/)?", "*": "[^/]*"}
    parts = re.split(r"(\{\w+\}|\*\*/|\*)", pattern.replace("\\", "/"))
    return re.compile(
        "".join(
            f"(?P<{part[1:-1]}>[^/]+?)"
            if _FIELD.fullmatch(part)
            else special.get(part) or re.escape(part)
            for part in parts
        )
    )
