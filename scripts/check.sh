#!/bin/sh
# Everything a change must pass: lint, types, import contracts, tests. Arguments go to pytest.
cd "$(dirname "$0")/.."
extra=dev
. scripts/venv.sh
.venv/bin/ruff check .
.venv/bin/ruff format --check .
.venv/bin/mypy
.venv/bin/lint-imports
exec .venv/bin/python -m pytest -n auto "$@"
