"""What is written about the config is what the models say: template, schema, and configs/."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import jsonschema
import pytest
from pydantic import BaseModel

from fitpipe.config import BatchConfig, RunConfig, load_run_config, make_config
from fitpipe.config.schema import run_schema
from fitpipe.config.template import config_template
from fitpipe.errors import ConfigError

CONFIGS = sorted((Path(__file__).parents[3] / "configs").glob("*.toml"))
DEMO = next(path for path in CONFIGS if path.name == "demo.toml")


def sections():
    return {
        name: list(field.annotation.model_fields)
        for name, field in RunConfig.model_fields.items()
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel)
    }


def commented_keys(text):
    """Keys of each section, also those behind a #; and whether each has a comment of its own."""
    found, section = {}, None
    for line in text.splitlines():
        if header := re.match(r"(?:# )?\[+([\w.]+)\]+", line):
            section = header[1]
        elif key := re.match(r"(?:# )?(\w+) = [^#]*(#.*)?$", line):
            found.setdefault(section, {})[key[1]] = bool(key[2])
    return found


def test_the_demo_config_comments_every_key_there_is():
    found = commented_keys(DEMO.read_text())
    for section, keys in sections().items():
        assert set(keys) == set(found.get(section, {})), section
        bare = [key for key in keys if not found[section][key]]
        assert not bare, f"[{section}]: without a comment"


def test_values_behind_a_hash_are_the_defaults_or_examples_that_load():
    text = DEMO.read_text()
    table = tomllib.loads(text)
    for section, keys in sections().items():
        for key in keys:
            shown = re.search(rf"^# {key} = (.*?)(?: +#.*)?$", text, flags=re.MULTILINE)
            if shown is None or section == "takes":
                continue
            trial = {k: dict(v) if isinstance(v, dict) else v for k, v in table.items()}
            trial.setdefault(section, {})[key] = tomllib.loads(f"x = {shown[1]}")["x"]
            make_config(RunConfig, trial)


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.name)
def test_every_config_that_comes_with_fitpipe_loads_and_fits_the_schema(path):
    load_run_config(path)
    jsonschema.validate(tomllib.loads(path.read_text()), run_schema())


def test_the_template_has_every_key_and_loads():
    text = config_template()
    found = commented_keys(text)
    for section, keys in sections().items():
        assert set(keys) <= set(found[section]), section
    config = make_config(RunConfig, tomllib.loads(text))
    assert config.batch == BatchConfig()


def test_a_key_without_a_default_has_an_example():
    bare = [
        f"{name}.{key}"
        for name, field in RunConfig.model_fields.items()
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel)
        for key, inner in field.annotation.model_fields.items()
        if inner.default is None and not inner.examples
    ]
    assert not bare


def test_the_template_loads_with_every_example_switched_on():
    text = re.sub(r"^# (\w+ = |\[|\]|    \{|take = |solve\.|weights\.|calibrate\.)", r"\1",
                  config_template(), flags=re.MULTILINE)  # fmt: skip
    table = tomllib.loads(text)
    table["takes"] |= {"manifest": "takes.csv"}
    with pytest.raises(ConfigError, match="got pattern and manifest and file"):
        make_config(RunConfig, {k: v for k, v in table.items() if k != "extends"})
    for key in ("manifest", "file"):
        del table["takes"][key]
    config = make_config(RunConfig, {k: v for k, v in table.items() if k != "extends"})
    assert config.override[0].take == "s01_*"
    assert config.grid


@pytest.mark.parametrize(
    "table",
    [
        {"takes": {"pattern": "x"}},
        {"extends": "base.toml", "solve": {"max_iteration": 3}},
        {"extends": "base.toml", "override": [{"take": "a", "solve": {"reverse": "yes"}}]},
        {"extends": "base.toml", "override": [{"take": "a", "takes": {"pattern": "x"}}]},
    ],
)
def test_the_schema_refuses_what_fitpipe_refuses(table):
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(table, run_schema())
