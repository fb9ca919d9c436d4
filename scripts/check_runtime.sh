#!/usr/bin/env bash
# Installs nmt without TensorFlow and Keras into a fresh environment, and translates, aligns, scores, evaluates and serves
# with an exported model there:
#   bash scripts/check_runtime.sh mine.onnx ["A sentence that the model translates."]
# Prints the size of the packages' files, and fails above 250 MiB. It needs the package index.
set -euo pipefail
export_directory="$(realpath "${1:?usage: bash scripts/check_runtime.sh EXPORT [SENTENCE]}")"
cd "$(dirname "${BASH_SOURCE[0]}")/.."

unset PYTHONPATH PYTHONHOME # packages elsewhere would count as installed
place="$(mktemp -d)"
trap 'rm -rf "$place"' EXIT
"${PYTHON:-python3}" -m venv "$place/runtime"
pip() { "$place/runtime/bin/python" -m pip --quiet --disable-pip-version-check "$@"; }
rm -rf build/lib  # setuptools would pack the files of an older build from there, deleted ones too
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
echo "${2:-a sentence}" > source
nmt() { local command="$1"; shift; runtime/bin/nmt "$command" --model "$export_directory" "$@"; }
nmt translate --source source --output translation --alignments links
pair=(--source source --target translation)
nmt align "${pair[@]}" --output alignments --format html png > aligned
[ -s alignments/alignments.html ]
[ -s alignments/0001.png ]
nmt score "${pair[@]}" > scores
nmt evaluate "${pair[@]}" > evaluation
runtime/bin/nmt serve --model "$export_directory" --port 0 2> log & server=$! # a function would be a shell around it
trap 'kill "$server" 2> /dev/null || true; rm -rf "$place"' EXIT
runtime/bin/python - "$server" > answer << 'END'
import json, os, pathlib, re, sys, time, urllib.request

for _ in range(600):
    time.sleep(0.2)
    os.kill(int(sys.argv[1]), 0)  # the server runs
    log = pathlib.Path("log").read_text()
    found = re.search(r"at (http://\S+/)\n", log)
    if found and "is ready" in log:
        break
body = json.dumps({"text": pathlib.Path("source").read_text().strip()}).encode()
request = urllib.request.Request(found[1] + "v1/translate", body, {"Content-Type": "application/json"})
with urllib.request.urlopen(request, timeout=120) as answer:
    print(json.load(answer)["translations"][0]["candidates"][0]["text"])
END
kill "$server"
wait "$server" || [[ $? -eq 143 ]] # the signal's code
echo "translated: $(cat translation)"
echo "served: $(cat answer)"
echo "$mebibytes MiB of packages"
[[ "$mebibytes" -le 250 ]]
