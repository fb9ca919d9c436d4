# The other scripts source this file. `prepare_environment EXTRAS` makes .venv and installs nmt with EXTRAS ("", "[docs]" or
# "[test,jax,browser,search,serve,onnx,ctranslate2,docs]") into it, unless .venv is up to date. PYTHON chooses the
# interpreter.

# The Pythons for which every package in constraints.txt has a release.
supported="3.11 3.12 3.13"

prepare_environment() {
    local extras="$1"
    local stamp=".venv/installed${extras}" made_from
    made_from="$(pwd -P) $(cat setup.cfg pyproject.toml constraints.txt | cksum)"
    if [[ -f "$stamp" && "$(cat "$stamp")" == "$made_from" ]]; then
        return
    fi
    is_of_here .venv || make_environment
    echo "Installing nmt${extras} into .venv (a few minutes the first time)" >&2
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable ".${extras}"
    echo "$made_from" > "$stamp"
}

# `is_of_here DIRECTORY` tells whether a virtual environment was made in this checkout: it holds absolute paths, so a copy
# would run the code of the original.
is_of_here() {
    [[ -x "$1/bin/python" && "$(sed -n 's/^command = //p' "$1/pyvenv.cfg")" == *" $(pwd -P)/$1" ]]
}

# `make_environment [DIRECTORY]` makes a virtual environment, by default .venv.
make_environment() {
    local place="${1:-.venv}"
    local candidates=(python3 python3.13 python3.12 python3.11) python version found=""
    [[ -z "${PYTHON:-}" ]] || candidates=("$PYTHON")
    for python in "${candidates[@]}"; do
        version="$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2> /dev/null)" || continue
        [[ " $supported " != *" $version "* ]] || break
        found+="${found:+, }$python is $version"
        version=""
    done
    if [[ -z "$version" ]]; then
        fail "nmt needs Python ${supported// /, } (${found:-none is installed as ${candidates[*]}}): install one of them, or give its path: PYTHON=/path/to/python"
    fi
    if ! "$python" -c 'import venv, ensurepip' 2> /dev/null; then
        fail "$python cannot make virtual environments: install its venv module (on Debian: apt-get install python3-venv)"
    fi
    echo "Making the virtual environment $place with $python, which is $version" >&2
    "$python" -m venv --clear "$place"
}

fail() {
    echo "$(basename "$0"): error: $1" >&2
    exit 2
}
