#!/usr/bin/env bash
# Installs nmt without TensorFlow and Keras into a fresh environment, and translates with an exported model there:
#   bash scripts/check_runtime.sh mine.onnx
# Prints the size of the packages' files, and fails above 250 MiB. It needs the package index.
set -euo pipefail
export_directory="$(realpath "${1:?usage: bash scripts/check_runtime.sh EXPORT}")"
cd "$(dirname "${BASH_SOURCE[0]}")/.."

unset PYTHONPATH PYTHONHOME # packages elsewhere would count as installed
place="$(mktemp -d)"
trap 'rm -rf "$place"' EXIT
"${PYTHON:-python3}" -m venv "$place/runtime"
pip() { "$place/runtime/bin/python" -m pip --quiet --disable-pip-version-check "$@"; }
pip wheel --no-deps --wheel-dir "$place" .
pip install --no-compile --no-deps --requirement constraints-runtime.txt "$place"/nmt-*.whl
pip uninstall --yes pip setuptools 2> /dev/null || true

cd "$place"
for package in tensorflow keras; do
    if runtime/bin/python -c "import $package" 2> /dev/null; then
        echo "check_runtime.sh: error: $package is installed" >&2
        exit 1
    fi
done
mebibytes="$(du -sm --apparent-size runtime/lib | cut -f1)"
echo "a sentence" > source
runtime/bin/nmt translate --model "$export_directory" --source source --output translation --alignments links
runtime/bin/nmt align --model "$export_directory" --source source --target translation --output alignments > scores
runtime/bin/nmt serve --help > help
echo "translated: $(cat translation)"
echo "$mebibytes MiB of packages"
[[ "$mebibytes" -le 250 ]]
