#!/usr/bin/env bash
# Linter, formatter, types and tests, in an environment of their own. Arguments go to pytest:
#   bash scripts/test.sh -k alignment
#   bash scripts/test.sh -m slow
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/environment.sh

prepare_environment "[test,jax,browser,search]"
.venv/bin/ruff check .
.venv/bin/ruff format --check .
.venv/bin/mypy nmt
# A process a core; the tests of a file stay together, because they share what they train, and files come in their
# order: first the commands, which take longest, so that no process is left alone with one of these at the end.
.venv/bin/python -m pytest --numprocesses auto --dist loadfile --no-loadscope-reorder "$@"
