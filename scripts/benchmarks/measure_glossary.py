"""How often translations obey a glossary, and its cost in BLEU and time.

    python scripts/benchmarks/measure_glossary.py --model saved_models/demo

By default it translates data/demo/glossary.en. Its references in data/demo/glossary.fr use the terms of
data/demo/glossary.tsv, which are other words than the demo's corpus has for these sources. The search without the
glossary is compared with data/demo/glossary.usual.fr, the corpus's own translations. --others names more sentences; the
script counts how many of those without terms translate alike. data/demo/glossary.forms.tsv has singular and plural of
each term, and the model must choose the right one.

The searches alternate for --repeats rounds; a first round warms up and does not count. Times are processor time, so
that other work on the machine changes them little.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from common.running import run_script
from nmt.cli.quiet import quiet_start
from nmt.errors import NmtError
from nmt.text.lines import read_lines

if TYPE_CHECKING:
    from nmt import Glossary, Translator

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

MODES = ("none", "prefer", "require")


def obeyed(glossary: Glossary, sources: Sequence[str], translations: Sequence[str]) -> tuple[int, int]:
    """The number of terms that a form of their translation answers, and the number of terms in the sources.

    A form answers one occurrence of a term, as whole words.
    """
    counts = [glossary.missing(*pair) for pair in zip(sources, translations, strict=True)]
    total = sum(count for count, _ in counts)
    return total - sum(len(missing) for _, missing in counts), total


def translate(
    translator: Translator, sentences: Sequence[str], beam: int, glossary: Glossary | None
) -> tuple[list[str], float]:
    """The translations, and the seconds of processor time that they took."""
    search = replace(translator.config.search, beam_size=beam)
    start = time.process_time()
    found = [one.text for one in translator.translate(sentences, search, glossary=glossary)]
    return found, time.process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True, metavar="DIR", help="run directory written by nmt train")
    parser.add_argument("--glossary", default="data/demo/glossary.tsv", metavar="FILE", help="the terms")
    parser.add_argument("--source", default="data/demo/glossary.en", metavar="FILE", help="sentences with terms")
    parser.add_argument(
        "--reference", default="data/demo/glossary.fr", metavar="FILE", help="translations that use the terms"
    )
    parser.add_argument(
        "--usual", default="data/demo/glossary.usual.fr", metavar="FILE", help="translations without the terms"
    )
    parser.add_argument("--others", metavar="FILE", help="other sentences")
    parser.add_argument("--beams", type=int, nargs="+", default=[1, 5], help="beam sizes (default: 1 5)")
    parser.add_argument("--repeats", type=int, default=3, help="counted rounds (default: 3)")
    parser.add_argument("--tokenize", default="none", help="sacrebleu's tokenizer (default: none, as the demo's text)")
    run(parser.parse_args())


def run(arguments: argparse.Namespace) -> None:
    """Translates with and without the glossary, and prints a table."""
    with quiet_start():
        from nmt import Glossary, Translator
    from nmt.evaluation.bleu_and_chrf import bleu

    sources, usual, references = (
        list(read_lines(path)) for path in (arguments.source, arguments.usual, arguments.reference)
    )
    if not len(sources) == len(usual) == len(references):
        raise NmtError(f"{arguments.reference}, {arguments.usual}: expected {len(sources)} lines in each")
    translator = Translator.load(arguments.model)
    terms = Glossary.load(arguments.glossary)
    free = [text for text in read_lines(arguments.others) if not terms.of(text)] if arguments.others else []
    print("| beam | glossary | obeyed | BLEU | time | sentences without terms that change |")
    print("| ---: | --- | ---: | ---: | ---: | ---: |")
    for beam in arguments.beams:
        found, seconds = measure(translator, sources, beam, arguments.glossary, arguments.repeats)
        expected, _ = translate(translator, free, beam, None)
        for mode in MODES:
            hits, total = obeyed(terms, sources, found[mode])
            score = bleu(found[mode], usual if mode == "none" else references, arguments.tokenize).value
            glossary = Glossary.load(arguments.glossary, mode) if mode != "none" else None
            mixed, _ = translate(translator, [*free, *sources], beam, glossary)
            changed = sum(one != other for one, other in zip(mixed, expected, strict=False))
            share = f"{hits} of {total} ({hits / total:.1%}) | {score:.1f} | {seconds[mode] / seconds['none']:.2f}"
            print(f"| {beam} | {mode} | {share} | {changed} of {len(free)} |", flush=True)
        for source, translation in unanswered(terms, sources, found["prefer"]):
            print(f"prefer: {source}\n    {translation}", file=sys.stderr)


def measure(
    translator: Translator, sources: Sequence[str], beam: int, path: str, repeats: int
) -> tuple[dict[str, list[str]], dict[str, float]]:
    """The translations with each mode, and the median of the seconds of processor time."""
    from nmt import Glossary

    seconds: dict[str, list[float]] = {mode: [] for mode in MODES}
    found: dict[str, list[str]] = {}
    for number in range(repeats + 1):
        for mode in MODES:
            glossary = Glossary.load(path, mode) if mode != "none" else None
            found[mode], spent = translate(translator, sources, beam, glossary)
            if number or not repeats:
                seconds[mode].append(spent)
    return found, {mode: statistics.median(spent) for mode, spent in seconds.items()}


def unanswered(glossary: Glossary, sources: Sequence[str], translations: Sequence[str]) -> list[tuple[str, str]]:
    """The sentences whose translations lack a term, and the translations."""
    pairs = zip(sources, translations, strict=True)
    return [pair for pair in pairs if len(set(obeyed(glossary, [pair[0]], [pair[1]]))) > 1]


if __name__ == "__main__":
    sys.exit(run_script(main))
