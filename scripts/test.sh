#!/bin/sh
# Runs the tests in a virtual environment of its own; arguments go to pytest.
cd "$(dirname "$0")/.."
extra=test
. scripts/venv.sh
exec .venv/bin/python -m pytest -n auto "$@"
