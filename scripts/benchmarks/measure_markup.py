"""How often tags, placeholders and codes come back at the right words of a translation.

    python scripts/benchmarks/measure_markup.py --model saved_models/demo

The sentences of data/demo/markup/markup.en are translated with --markup, and compared with markup.fr. A line of
markup.fr may have several versions with tabs between them, where more than one place is right.

A pair of tags is right if it encloses the words of a version. A code or placeholder is right if the word before it or
the word behind it is that of a version. The table has these rows:

* own: the model's translations. Words that are translated in another way than in every version count as wrong.
* own, by place: likewise, but where the model replaced words of a version one for one, such as "jolis" for "jolies", a
  mark is right if it is at their places. At least two thirds of the words must be equal.
* own, as the reference: the translations that equal the first version.
* given: the first versions, whose links follow from the model's attention.
* with --aligner, these rows also with the links of an aligner, made by `nmt aligner`.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from common.running import run_script
from nmt.cli.quiet import quiet_start
from nmt.errors import NmtError
from nmt.text.lines import read_lines
from nmt.text.markup import parse_markup
from nmt.text.markup.scanning import scan

if TYPE_CHECKING:
    from nmt import Translation
    from nmt.translation.markup.transfer import TakenMarkup

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")


class Mark(NamedTuple):
    """A pair of tags, a code or a placeholder with its words."""

    raw: str
    words: tuple[str, ...]
    """Of a pair the words that it encloses; of others the word before it and the word behind it."""
    encloses: bool
    places: tuple[int, int]
    """The words that it encloses, by number, from the first to the one behind the last."""


def marks(line: str) -> list[Mark]:
    """The marks of a line, in order of their beginnings."""
    marked = parse_markup(line, "auto")
    text, spans = marked.render(lambda place: marked.items[place].raw.replace(" ", "\u00a0"))
    found = []
    for place, item in enumerate(marked.items):
        if item.kind == "open":
            begin, end = spans[place][1], spans[item.partner][0]
            places = len(text[:begin].split()), len(text[:end].split())
            found.append(
                Mark(f"{item.raw}{marked.items[item.partner].raw}", tuple(text[begin:end].split()), True, places)
            )
        elif item.kind in ("code", "placeholder", "number"):
            before, behind = text[: spans[place][0]].split(), text[spans[place][1] :].split()
            beside = (before[-1] if before else "", behind[0] if behind else "")
            found.append(Mark(item.raw, beside, False, (len(before), len(before))))
    return found


def is_right(mark: Mark, expected: Mark) -> bool:
    """Whether a mark is at the words of an expected one."""
    if mark.encloses or expected.encloses:
        return mark[1:3] == expected[1:3]
    return any(one == other for one, other in zip(mark.words, expected.words, strict=True))


def judge(line: str, source: str, versions: Sequence[str], by_place: bool = False) -> Iterator[tuple[Mark, bool]]:
    """Each mark of a source, and whether the translated line has it at the right words.

    Args:
        by_place: or at the places of words that the translation replaced one for one.
    """
    found = dict(_numbered(line))
    right = [(dict(_numbered(version)), by_place and only_replaced(line, version)) for version in versions]
    for number, mark in _numbered(source):
        there = found.get(number)
        yield (
            mark,
            there is not None
            and any(
                is_right(there, one[number]) or (replaced and there.places == one[number].places)
                for one, replaced in right
                if number in one
            ),
        )


def only_replaced(line: str, version: str) -> bool:
    """Whether two lines differ, apart from their markup, in words that stand at equal places, at most a third."""
    one, two = (parse_markup(text, "auto").render(lambda place: "0")[0].split() for text in (line, version))
    same = sum(first == second for first, second in zip(one, two, strict=False))
    return len(one) == len(two) and 3 * same >= 2 * len(one)


def _numbered(line: str) -> Iterator[tuple[tuple[str, int], Mark]]:
    """The marks of a line, each with its text and its number among the marks with equal texts."""
    seen: Counter[str] = Counter()
    for mark in marks(line):
        seen[mark.raw] += 1
        yield (mark.raw, seen[mark.raw]), mark


def is_kept(line: str, source: str) -> bool:
    """Whether a translated line has the tags and codes of its source, each once, and no others, and nests its pairs."""
    raws = [
        Counter(token.raw for token in scan(text, "auto") if token.kind not in ("text", "entity"))
        for text in (line, source)
    ]
    return raws[0] == raws[1] and parse_markup(line, "auto").problems == parse_markup(source, "auto").problems


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True, metavar="DIR", help="run directory written by nmt train")
    parser.add_argument("--source", default="data/demo/markup/markup.en", metavar="FILE", help="sentences with markup")
    parser.add_argument("--target", default="data/demo/markup/markup.fr", metavar="FILE", help="translations")
    parser.add_argument("--aligner", metavar="DIR", help="also with the links of this aligner, made by nmt aligner")
    run(parser.parse_args())


def run(arguments: argparse.Namespace) -> None:
    """Translates, prints a table, and on standard error the marks at wrong words."""
    with quiet_start():
        from nmt import Translator
    from nmt.translation.markup.transfer import MarkupTransfer
    from nmt.translation.request import TranslationRequest

    sources, targets = (list(read_lines(path)) for path in (arguments.source, arguments.target))
    if len(sources) != len(targets):
        raise NmtError(f"{arguments.target}: expected {len(sources)} lines, as {arguments.source} has")
    versions = [line.split("\t") for line in targets]
    translator = Translator.load(arguments.model, aligner=False)
    print("| translation | sentences | all kept | marks | at the right words | pairs | others |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    transfer = MarkupTransfer(translator.run, translator.profile)
    requests = [TranslationRequest(line, translator.config.search, markup="auto") for line in sources]
    plain, taken = zip(*map(transfer.take_out, requests), strict=True)
    found = [answers[0] for answers in translator.answer(plain)]
    references = [_with_stand_ins(one[0], markup) for one, markup in zip(versions, taken, strict=True)]
    given = list(translator.align([request.text for request in plain], references))
    same = [one.text == reference for one, reference in zip(found, references, strict=True)]
    rows = {"own": found, "given": given}
    if arguments.aligner:
        rows |= {f"{name}, aligner": _with_links(arguments.aligner, pairs) for name, pairs in rows.items()}
    for name, pairs in rows.items():
        lines = [markup.put_back([pair])[0].text for pair, markup in zip(pairs, taken, strict=True)]
        _report(name, sources, lines, versions)
        if name.startswith("own"):
            chosen = [number for number, is_same in enumerate(same) if is_same]
            parts = ([texts[number] for number in chosen] for texts in (sources, lines, versions))
            _report(f"{name}, as the reference", *parts, quiet=True)
            _report(f"{name}, by place", sources, lines, versions, by_place=True)


def _with_links(directory: str, pairs: Sequence[Translation]) -> list[Translation]:
    """The translations with the links of an aligner."""
    from nmt import Aligner
    from nmt.translation.aligner_links import with_aligner_links

    return [pair for (pair,) in with_aligner_links(Aligner.load(directory), ([pair] for pair in pairs), len(pairs))]


def _with_stand_ins(line: str, markup: TakenMarkup) -> str:
    """A reference without its markup, with the stand-ins of its source."""
    words = {markup.marked.items[place].raw: word for place, word in markup.stand_ins.items()}
    marked = parse_markup(line, "auto")
    text = marked.render(lambda place: words.get(marked.items[place].raw, ""))[0]
    return " ".join(text.split())


def _report(
    name: str,
    sources: Sequence[str],
    lines: Sequence[str],
    versions: Sequence[Sequence[str]],
    quiet: bool = False,
    by_place: bool = False,
) -> None:
    """Prints a row of the table, and the mistakes on standard error unless `quiet`."""
    kept = sum(is_kept(line, source) for line, source in zip(lines, sources, strict=True))
    judged = []
    for source, line, right in zip(sources, lines, versions, strict=True):
        found = list(judge(line, source, right, by_place))
        judged += found
        wrong = [mark.raw for mark, is_there in found if not is_there]
        if wrong and not quiet:
            print(f"{name}: {' '.join(wrong)}\n    {source}\n    {line}\n    {right[0]}", file=sys.stderr)
    pairs = [is_there for mark, is_there in judged if mark.encloses]
    others = [is_there for mark, is_there in judged if not mark.encloses]
    shares = " | ".join(f"{sum(some)} of {len(some)}" for some in (pairs, others))
    right = sum(pairs) + sum(others)
    print(
        f"| {name} | {len(sources)} | {kept} | {len(judged)} | {right} ({right / max(len(judged), 1):.1%}) | {shares} |"
    )


if __name__ == "__main__":
    sys.exit(run_script(main))
