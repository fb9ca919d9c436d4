#!/usr/bin/env bash
# Fetches ONNX Runtime for browsers with npm, compares its checksum, and unpacks it where nmt export --format web looks:
#   bash scripts/web_runtime.sh          into the user's cache
#   bash scripts/web_runtime.sh DIR      into a directory, for --runtime DIR
set -euo pipefail
version=1.30.0 # as in nmt/web/runtime.py
checksum=q0y+JrrtukXSzsBWEMccVfqX25LRmosXHF+CaRJmg8pZClzcV7svNc4rKY3jL02Vb7QmRMDs1SigqR4CXAfKYQ==

output="${1:-${XDG_CACHE_HOME:-$HOME/.cache}/nmt/onnxruntime-web-$version}"
[ ! -e "$output" ] || { echo "$output: is there already; delete it to fetch it again" >&2; exit 2; }
place="$(mktemp -d)"
trap 'rm -rf "$place"' EXIT
(cd "$place" && npm pack --silent "onnxruntime-web@$version" > /dev/null)
package="$place/onnxruntime-web-$version.tgz"
found="$(openssl dgst -sha512 -binary "$package" | base64 -w 0)"
[ "$found" = "$checksum" ] || { echo "$package: has another checksum than version $version" >&2; exit 2; }
tar -xzf "$package" -C "$place"
mkdir -p "$(dirname "$output")"
mv "$place/package" "$output"
echo "$output"
