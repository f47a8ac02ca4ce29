#!/bin/sh
# Fits the takes in data/ with configs/demo.toml in a virtual environment of its own.
cd "$(dirname "$0")/.."
extra=report
. scripts/venv.sh
exec .venv/bin/fitpipe demo "$@"
