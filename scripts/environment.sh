# Sourced by the other scripts: `prepare_environment EXTRAS` makes .venv and installs nmt with EXTRAS ("" or
# "[test,jax,browser,search]") into it, when that is missing or what it was made from has changed. PYTHON chooses the
# interpreter.

prepare_environment() {
    local extras="$1" python="${PYTHON:-python3}"
    local stamp=".venv/installed${extras}" made_from
    made_from="$(cat setup.cfg pyproject.toml constraints.txt | cksum)"
    if [[ -f "$stamp" && "$(cat "$stamp")" == "$made_from" ]]; then
        return
    fi
    [[ -x .venv/bin/python ]] || make_environment "$python"
    echo "Installing nmt${extras} into .venv (a few minutes the first time)" >&2
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable ".${extras}"
    echo "$made_from" > "$stamp"
}

make_environment() {
    local python="$1"
    if ! command -v "$python" > /dev/null; then
        fail "no '$python' here: install Python 3.11, or name one with PYTHON=/path/to/python3.11"
    fi
    if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
        fail "$("$python" --version 2>&1) is too old: nmt needs 3.11 or newer; name one with PYTHON=/path/to/python3.11"
    fi
    if ! "$python" -c 'import venv, ensurepip' 2> /dev/null; then
        fail "$python cannot make virtual environments: install its venv module (on Debian: apt-get install python3-venv)"
    fi
    echo "Making the virtual environment .venv with $("$python" --version)" >&2
    "$python" -m venv .venv
}

fail() {
    echo "$(basename "$0"): error: $1" >&2
    exit 2
}
