"""The JSON Schema of a config file, for editors that complete keys and check values."""

from __future__ import annotations

from typing import Any

from fitpipe.config.models import FitConfig
from fitpipe.config.run import RunConfig
from fitpipe.config.vary import OF_TAKE


def run_schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of what ``fitpipe run`` takes."""
    schema = RunConfig.model_json_schema()
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = "fitpipe run"
    schema["properties"]["extends"] = {
        "type": "string",
        "description": "Path of a TOML file whose keys hold where this file says nothing.",
    }
    # a base may give what this file leaves out
    schema["anyOf"] = [{"required": ["extends"]}, {"required": schema.pop("required")}]
    of_take = schema["$defs"]["OverrideConfig"]["properties"]
    for name, field in FitConfig.model_fields.items():
        kind = getattr(field.annotation, "__name__", "")
        of_take[name] = {"$ref": f"#/$defs/{kind}", "description": f"As in [{name}]."}
    takes = schema["$defs"]["TakesConfig"]["properties"]
    of_take["takes"] = {
        "type": "object",
        "properties": {name: takes[name] for name in OF_TAKE},
        "additionalProperties": False,
    }
    return schema
