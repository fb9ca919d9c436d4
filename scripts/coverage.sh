#!/usr/bin/env bash
# The share of the lines and branches of nmt/ that the tests reach, in all processes that they start:
#   bash scripts/coverage.sh                 the default tests
#   bash scripts/coverage.sh tests/search    the arguments go to pytest
# Prints the files with the most lines that no test reaches, and writes the whole report to build/coverage.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/environment.sh

prepare_environment "[test,jax,browser,search,serve,onnx,ctranslate2,corpora,docs]"
coverage() { .venv/bin/python -m coverage "$@"; }
rm -rf build/coverage
mkdir -p build/coverage
export COVERAGE_RCFILE="$PWD/setup.cfg"
coverage run -m pytest --numprocesses auto --dist loadfile --no-loadscope-reorder "$@" || echo "some tests failed" >&2
coverage combine --quiet
coverage html --quiet --directory build/coverage/html
coverage report --sort=miss --skip-covered | tail -n 40
echo "every line: build/coverage/html/index.html"
