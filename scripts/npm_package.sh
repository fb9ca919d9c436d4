# The other scripts source this file. `fetch_package NAME VERSION CHECKSUM OUTPUT` fetches a package with npm, compares its
# SHA-512 in base64, and unpacks it into the directory OUTPUT.

fetch_package() {
    local name="$1" version="$2" checksum="$3" output="$4" place package found
    [ ! -e "$output" ] || { echo "$output: is there already; delete it to fetch it again" >&2; exit 2; }
    [ -n "$(command -v npm)" ] || { echo "$name needs npm: install Node.js" >&2; exit 2; }
    place="$(mktemp -d)"
    trap "rm -rf '$place'" EXIT  # with the value now: the variable is gone when a failure ends the script
    (cd "$place" && npm pack --silent "$name@$version" > /dev/null)
    package="$place/$name-$version.tgz"
    found="$(openssl dgst -sha512 -binary "$package" | base64 -w 0)"
    [ "$found" = "$checksum" ] || { echo "$package: has another checksum than version $version" >&2; exit 2; }
    tar -xzf "$package" -C "$place"
    mkdir -p "$(dirname "$output")"
    mv "$place/package" "$output"
    rm -rf "$place"
    trap - EXIT
    echo "$output"
}
