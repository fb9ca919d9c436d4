#!/usr/bin/env bash
# Fetches axe-core, which finds barriers in pages, with npm, compares its checksum, and puts it where tests look for it:
#   bash scripts/axe.sh
set -euo pipefail
version=4.14.1 # as in tests/accessibility.py
checksum=FHfa+lmNjQZfJz1q8wKqIDwC6DExcHt/pkjNQb09a3NPjCKg2rhu5qb2S4r76ASyFNNtuFooJpZe37OgudVGtQ==
source "$(dirname "${BASH_SOURCE[0]}")/npm_package.sh"

fetch_package axe-core "$version" "$checksum" "${XDG_CACHE_HOME:-$HOME/.cache}/nmt/axe-core-$version"
