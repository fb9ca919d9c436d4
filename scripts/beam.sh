#!/usr/bin/env bash
# Makes .venv-beam, an environment with Apache Beam and without TensorFlow, and installs nmt into it:
#   bash scripts/beam.sh                 makes the environment
#   bash scripts/beam.sh tests/bulk      and runs tests there; the arguments go to pytest
# `.venv-beam/bin/nmt bulk-translate` translates exports then. PYTHON chooses the interpreter.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/environment.sh

environment=.venv-beam
stamp="$environment/installed"
made_from="$(pwd -P) $(cat setup.cfg pyproject.toml constraints-beam.txt | cksum)"
if [[ ! -f "$stamp" || "$(cat "$stamp")" != "$made_from" ]]; then
    is_of_here "$environment" || make_environment "$environment"
    echo "Installing nmt and Apache Beam into $environment (a minute the first time)" >&2
    "$environment/bin/python" -m pip install --quiet --disable-pip-version-check --no-compile --no-deps \
        --requirement constraints-beam.txt --editable .
    echo "$made_from" > "$stamp"
fi
if (($#)); then
    "$environment/bin/python" -m pytest --numprocesses auto "$@"
fi
