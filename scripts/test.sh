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
# One process per core. The tests of a file stay together, because they share trained models, and files keep the order
# of tests/conftest.py.
.venv/bin/python -m pytest --numprocesses auto --dist loadfile --no-loadscope-reorder "$@"
