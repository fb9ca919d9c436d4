#!/usr/bin/env bash
# Fetches axe-core, which finds barriers in pages, with npm, compares its checksum, and puts it where tests look for it:
#   bash scripts/axe.sh
set -euo pipefail
version=4.14.1 # as in tests/accessibility.py
checksum=FHfa+lmNjQZfJz1q8wKqIDwC6DExcHt/pkjNQb09a3NPjCKg2rhu5qb2S4r76ASyFNNtuFooJpZe37OgudVGtQ==

output="${XDG_CACHE_HOME:-$HOME/.cache}/nmt/axe-core-$version"
[ ! -e "$output" ] || { echo "$output: is there already; delete it to fetch it again" >&2; exit 2; }
place="$(mktemp -d)"
trap 'rm -rf "$place"' EXIT
(cd "$place" && npm pack --silent "axe-core@$version" > /dev/null)
package="$place/axe-core-$version.tgz"
found="$(openssl dgst -sha512 -binary "$package" | base64 -w 0)"
[ "$found" = "$checksum" ] || { echo "$package: has another checksum than version $version" >&2; exit 2; }
tar -xzf "$package" -C "$place"
mkdir -p "$(dirname "$output")"
mv "$place/package" "$output"
echo "$output"
