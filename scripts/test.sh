#!/usr/bin/env bash
# Linter, formatter, types and tests, in an environment of their own. Arguments go to pytest:
#   bash scripts/test.sh -k alignment
#   bash scripts/test.sh -m slow
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/environment.sh

prepare_environment "[test,jax,browser,search,serve,onnx,ctranslate2,corpora,docs]"
.venv/bin/ruff check .
.venv/bin/ruff format --check .
.venv/bin/mypy nmt
# One process per core. The tests of a file stay together, because they share trained models. Folders keep their order:
# with the trainer's tests first, TensorFlow would take nmt's allocator for all later tests, which needs far more memory.
.venv/bin/python -m pytest --numprocesses auto --dist loadfile --no-loadscope-reorder "$@"
