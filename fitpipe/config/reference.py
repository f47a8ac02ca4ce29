"""The config as a Markdown page, from the models themselves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel

_BOUNDS = {
    "minimum": "≥",
    "exclusiveMinimum": ">",
    "maximum": "≤",
    "exclusiveMaximum": "<",
}


def config_markdown(model: type[BaseModel]) -> str:
    """A table of keys for every section of a config model.

    Parameters
    ----------
    model : type of BaseModel
        The whole config: its fields that are models become sections.
    """
    schema = model.model_json_schema()
    return "\n".join(_sections(schema, schema.get("$defs", {}), "")) + "\n"


def _sections(
    table: Mapping[str, Any], models: Mapping[str, Mapping[str, Any]], name: str
) -> Iterator[str]:
    """Lines of a table of the config, then those of the tables inside it."""
    keys, inner = [], []
    for key, field in table.get("properties", {}).items():
        model, is_list = _model_of(field, models)
        if model is None:
            keys.append((key, field))
        else:
            inner.append((f"{name}.{key}".lstrip("."), model, is_list, field))
    if keys:
        required = set(table.get("required", ()))
        yield "| key | values | default | meaning |"
        yield "|---|---|---|---|"
        for key, field in keys:
            default = "required" if key in required else _default(field.get("default"))
            meaning = _cell(field.get("description", ""))
            yield f"| `{key}` | {_type(field)} | {default} | {meaning} |"
    for inner_name, model, is_list, field in inner:
        heading = f"[[{inner_name}]]" if is_list else f"[{inner_name}]"
        yield f"\n{'#' * (2 + inner_name.count('.'))} `{heading}`\n"
        about = field.get("description") or model.get("description", "")
        yield " ".join(about.split()) + "\n"
        yield from _sections(model, models, inner_name)


def _model_of(
    field: Mapping[str, Any], models: Mapping[str, Mapping[str, Any]]
) -> tuple[Mapping[str, Any] | None, bool]:
    """The model a field holds, if it holds one, and whether it holds a list of them."""
    if "$ref" in field:
        model = models[field["$ref"].rpartition("/")[2]]
        return (model, False) if "properties" in model else (None, False)
    for choice in field.get("allOf", []) + field.get("anyOf", []):
        model_inside, is_list = _model_of(choice, models)
        if model_inside is not None:
            return model_inside, is_list
    if field.get("type") == "array" and "items" in field:
        return _model_of(field["items"], models)[0], True
    return None, False


def _type(field: Mapping[str, Any]) -> str:
    if "anyOf" in field:
        kinds = [_type(choice) for choice in field["anyOf"] if choice.get("type") != "null"]
        return " or ".join(dict.fromkeys(kinds))
    if "enum" in field:
        return ", ".join(f"`{_toml(value)}`" for value in field["enum"])
    if "const" in field:
        return f"`{_toml(field['const'])}`"
    kind = field.get("type")
    if kind == "array":
        if "prefixItems" in field:
            return "[" + ", ".join(_type(item) for item in field["prefixItems"]) + "]"
        return f"list of {_type(field.get('items', {}))}"
    if kind == "object":
        inside = field.get("additionalProperties")
        return f"table of {_type(inside)}" if isinstance(inside, Mapping) else "table"
    if kind == "boolean":
        return "`true`, `false`"
    words = {"string": "text", "integer": "whole number", "number": "number"}
    bounds = [f"{sign} {field[name]:g}" for name, sign in _BOUNDS.items() if name in field]
    return " ".join([words.get(str(kind), "any value"), ", ".join(bounds)]).strip()


def _default(value: Any) -> str:
    return "left out" if value is None else f"`{_toml(value)}`"


def _toml(value: Any) -> str:
    """A value as TOML writes it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{k} = {_toml(v)}" for k, v in value.items()) + "}"
    return f'"{value}"' if isinstance(value, str) else repr(value)


def _cell(text: str) -> str:
    """Text that stays one cell of a Markdown table."""
    return " ".join(text.replace("|", r"\|").split())
