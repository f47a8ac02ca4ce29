# Makes .venv with fitpipe and one extra in it; sourced by the other scripts, from the project's folder.
# Set extra to its name first. Does nothing if pyproject.toml is as it was last time.
set -eu

find_python() {
    for candidate in "${PYTHON:-python3}" python3.13 python3.12 python3.11; do
        if "$candidate" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' 2>/dev/null; then
            echo "$candidate"
            return
        fi
    done
    echo "fitpipe needs Python 3.11, 3.12 or 3.13; set PYTHON to one" >&2
    exit 1
}

stamp=.venv/.installed-$extra
wanted=$(cksum pyproject.toml)
if [ ! -f "$stamp" ] || [ "$(cat "$stamp")" != "$wanted" ]; then
    if [ ! -x .venv/bin/python ]; then
        python=$(find_python)
        echo "Making a virtual environment in .venv ($("$python" --version)) ..."
        "$python" -m venv .venv
    fi
    echo "Installing fitpipe[$extra]; this takes a minute or two the first time ..."
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --editable ".[$extra]"
    echo "$wanted" > "$stamp"
fi
