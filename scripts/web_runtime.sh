#!/usr/bin/env bash
# Fetches ONNX Runtime for browsers with npm, compares its checksum, and unpacks it where nmt export --format web looks:
#   bash scripts/web_runtime.sh          into the user's cache
#   bash scripts/web_runtime.sh DIR      into a directory, for --runtime DIR
set -euo pipefail
version=1.30.0 # as in nmt/web/runtime.py
checksum=q0y+JrrtukXSzsBWEMccVfqX25LRmosXHF+CaRJmg8pZClzcV7svNc4rKY3jL02Vb7QmRMDs1SigqR4CXAfKYQ==
source "$(dirname "${BASH_SOURCE[0]}")/npm_package.sh"

fetch_package onnxruntime-web "$version" "$checksum" "${1:-${XDG_CACHE_HOME:-$HOME/.cache}/nmt/onnxruntime-web-$version}"
