"""Reads TOML files with errors a person can act on."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from fitpipe.errors import ConfigError


def read_toml(path: Path) -> dict[str, Any]:
    """Tables of a TOML file.

    Raises
    ------
    ConfigError
        The file is not there, cannot be read, or is not TOML; with the line and, for a backslash
        in double quotes, what to write instead.
    """
    text = read_text(path)
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _toml_error(path, text, error) from error


def read_text(path: Path) -> str:
    """The text of a file in UTF-8, without a byte order mark.

    Raises
    ------
    ConfigError
        The file is not there or cannot be read.
    """
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise ConfigError("no such file", path=path) from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot be read as UTF-8 text ({error})", path=path) from error


def toml_value(text: str) -> Any:
    """A value as TOML writes it, where it can be read so (50, true, [1, 2]), else the text."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text.strip()


def _toml_error(path: Path, text: str, error: tomllib.TOMLDecodeError) -> ConfigError:
    found = re.search(r"line (\d+)", str(error))
    number = int(found.group(1)) if found else len(text.splitlines())
    lines = text.splitlines()
    line = lines[number - 1] if 0 < number <= len(lines) else ""
    hint = None
    if re.search(r'"[^"]*\\[^"]*"', line):
        hint = "write paths with forward slashes or in single quotes: 'C:\\takes'"
    return ConfigError(f"not TOML: {error}", path=path, place=f"line {number}", hint=hint)
