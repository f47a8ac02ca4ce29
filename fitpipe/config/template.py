"""A config file to start from: every key with what it means and its default, from the models."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Any, Final

import tomli_w
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from fitpipe.config.run import RunConfig

_WIDTH: Final = 98
_FIRST: Final = ("takes", "skeleton")
_LAST: Final = ("output", "batch")
_HEAD: Final = """\
# A run over many takes: fitpipe run THIS_FILE. Relative paths start from the folder it is in.
# Keys with a # in front show their default, or an example where there is none.
# extends = "base.toml" # what another config says, this one goes over it
"""
_OVERRIDE: Final = """\
# Settings for some takes, by name (* and ? stand for anything); the last one that matches wins.
# [[override]]
# take = "s01_*"
# calibrate.bone_lengths = "s01.toml"
"""
_GRID: Final = """\
# Settings with a list of values each: every combination is run, in a folder of its own.
# [grid]
# solve.temporal = ["none", "trajectory"]
# weights.noise = [true, false]
"""


def config_template() -> str:
    """The text of a config with every key, those that have a default commented out."""
    others = [
        name
        for name, field in RunConfig.model_fields.items()
        if _is_section(field) and name not in (*_FIRST, *_LAST)
    ]
    sections = [_section(name) for name in (*_FIRST, *others, *_LAST)]
    return "\n".join([_HEAD, *sections, _OVERRIDE, _GRID])


def _is_section(field: FieldInfo) -> bool:
    return isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel)


def _section(name: str) -> str:
    model = RunConfig.model_fields[name].annotation
    if not (isinstance(model, type) and issubclass(model, BaseModel)):
        raise TypeError(f"[{name}] is no section")
    title = " ".join((model.__doc__ or "").split("\n")[0].split())
    lines = [f"[{name}] # {title}"]
    own = vars(model)["__annotations__"]  # before those it shares with other models
    for key in sorted(model.model_fields, key=lambda key: key not in own):
        lines += _key(key, model.model_fields[key])
    return "\n".join(lines) + "\n"


def _key(key: str, field: FieldInfo) -> Iterator[str]:
    for line in textwrap.wrap(field.description or "", _WIDTH - 2):
        yield f"# {line}"
    examples = field.examples or []
    required = field.is_required()
    default = None if field.default is PydanticUndefined else field.default
    value: Any = examples[0] if default in (None, []) and examples else default
    if isinstance(value, list) and value and isinstance(value[0], dict):
        yield f"# {key} = ["
        for row in value:
            inner = ", ".join(_assigned(k, v) for k, v in row.items())
            yield f"#     {{ {inner} }},"
        yield "# ]"
        return
    if value is None:
        yield f"# {key} = ..."
        return
    is_active = required or bool(field.json_schema_extra)
    yield ("" if is_active else "# ") + _assigned(key, value)


def _assigned(key: str, value: Any) -> str:
    if isinstance(value, list | tuple):
        values = (_assigned("x", item).removeprefix("x = ") for item in value)
        return f"{key} = [{', '.join(values)}]"
    return tomli_w.dumps({key: value}).strip()
