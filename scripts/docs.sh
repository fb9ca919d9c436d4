#!/usr/bin/env bash
# Builds the documentation as a site in build/docs, which needs no network to be read:
#   bash scripts/docs.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/environment.sh

prepare_environment "[docs]"
rm -rf build/docs
TF_CPP_MIN_LOG_LEVEL=3 .venv/bin/python -m sphinx --quiet --fail-on-warning --keep-going docs build/docs
.venv/bin/python scripts/documentation/check_links.py build/docs
echo "the documentation: build/docs/index.html"
