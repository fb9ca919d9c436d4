#!/usr/bin/env bash
# Trains on the corpus in data/demo, then translates, evaluates and draws alignments with the trained model.
#   bash scripts/demo.sh            uses a finished run, or continues an interrupted one
#   bash scripts/demo.sh --fresh    trains anew
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/environment.sh

data=data/demo
model=saved_models/demo
shown=8

case "${1:-}" in
    "") ;;
    --fresh) rm -rf "$model" ;;
    *) fail "unknown argument '$1': expected --fresh or nothing" ;;
esac

main() {
    prepare_environment ""
    step "Train on $data"
    nmt train --config "$data/config.yaml"
    mkdir -p "$model/demo"

    evaluate test "sentences like the training sentences" --gold "$data/test.align"
    evaluate combinations "combinations of words that the training text lacks"

    step "A few held-out sentences"
    head -n "$shown" "$data/test.en" > "$model/demo/few.source"
    head -n "$shown" "$data/test.fr" > "$model/demo/few.target"
    nmt translate --model "$model" --source "$model/demo/few.source" --output "$model/demo/few.translation"
    paste -d '\n' <(label source few.source) <(label translation few.translation) <(label reference few.target) /dev/null

    step "The attention"
    nmt align --model "$model" --source "$model/demo/few.source" --output "$model/alignments"

    list_results
}

nmt() { .venv/bin/nmt "$@"; }

step() { printf '\n== %s\n' "$1"; }

label() { sed "s/^/$(printf '%-12s' "$1")/" "$model/demo/$2"; }

evaluate() {
    local set="$1" meaning="$2"
    shift 2
    step "Evaluate on $set: $meaning"
    nmt evaluate --model "$model" --source "$data/$set.en" --target "$data/$set.fr" \
        --output "$model/demo/$set.translation" --json "$model/demo/$set.json" "$@"
}

list_results() {
    step "Done"
    cat << END
the model:                 $model
scores and translations:   $model/demo
a page to point at words:  $model/alignments/alignments.html
plots of the alignments:   $model/alignments/0001.png ...

Try next:
  .venv/bin/nmt translate --model $model                          type a sentence, see its translation
  .venv/bin/nmt align --model $model --source FILE --output DIR   a page, plots and numbers for your own sentences
  .venv/bin/nmt train --config $data/config.yaml --name second --model.units 128
  .venv/bin/nmt --help
END
}

main
