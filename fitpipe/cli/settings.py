"""``--set key=value`` as settings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fitpipe.config.toml import toml_value
from fitpipe.errors import ConfigError


def parse_settings(texts: Sequence[str] | None) -> dict[str, Any]:
    """Values by dotted key; a value is TOML where it can be, else text.

    Raises
    ------
    ConfigError
        A text has no ``=``.
    """
    settings = {}
    for text in texts or ():
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise ConfigError(
                f"--set {text!r} is not KEY=VALUE", hint="write --set solve.max_iterations=50"
            )
        settings[key.strip()] = toml_value(value)
    return settings
