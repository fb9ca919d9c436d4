"""`nmt compare-outputs`: the translations of several systems against one reference."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from shlex import quote
from typing import TYPE_CHECKING, Any, TextIO

from nmt.cli.files import (
    count_lines,
    refuse_document,
    require_files_of_their_own,
    require_lines,
    require_same_length,
)
from nmt.cli.loading import corpus_from_flags, say, say_if_few
from nmt.cli.parser import Parser, positive, refuse_idle
from nmt.errors import NmtError
from nmt.files.outputs import open_output
from nmt.progress import LineProgress, counted
from nmt.text.languages import Words
from nmt.text.lines import read_lines

if TYPE_CHECKING:
    from nmt.drawing.output_comparison import ComparedSentence
    from nmt.evaluation.system_comparison import SentenceScores, SystemComparison, SystemScore, TestedScore

DESCRIPTION = (
    "Compares translations of one test set by two or more systems. It prints BLEU and chrF2 of each system with 95 % "
    "intervals, the p-values of the differences from the first system (sacrebleu's paired tests), and lengths. --table "
    "writes the scores of every sentence, --page the sentences that the systems translate most differently."
)
EXAMPLE = "nmt compare-outputs one.de two.de --reference test.de --source test.en --page differences.html"
SHOWN = 50
"""Sentences on the page."""


def add_flags(parser: Parser) -> None:
    parser.add_argument(
        "outputs",
        nargs="+",
        metavar="FILE",
        help="translations of a system, one per line; .gz, or - for standard input",
    )
    parser.add_argument("--reference", required=True, metavar="FILE", help="reference translations")
    parser.add_argument("--source", metavar="FILE", help="source sentences, to show beside the translations")
    parser.aliases |= {"--target": "--reference", "--input": "--source"}
    parser.add_argument("--names", nargs="+", metavar="TEXT", help="names of the systems (default: their files)")
    parser.add_argument("--tokenize", metavar="NAME", help="sacreBLEU's tokenizer (default: by the target language)")
    for side in ("source", "target"):
        parser.add_argument(
            f"--{side}-language", metavar="TAG", help=f"language of the {side}, such as pt-BR (default: by its script)"
        )
    parser.add_argument(
        "--test",
        choices=["bootstrap", "randomization"],
        default="bootstrap",
        help="paired bootstrap, or approximate randomization (default: bootstrap)",
    )
    parser.add_argument(
        "--samples", type=positive, metavar="N", help="samples of the test (default: 1000; 10000 for randomization)"
    )
    parser.add_argument("--table", metavar="FILE", help="file for the scores of every sentence, as TSV")
    parser.add_argument("--page", metavar="FILE", help="file for the page of differing sentences, as HTML")
    parser.add_argument(
        "--sentences", type=positive, default=SHOWN, metavar="N", help=f"sentences on the page (default: {SHOWN})"
    )
    parser.add_argument("--json", metavar="FILE", help="file for the scores, as JSON")


def run(arguments: Namespace) -> None:
    """Reads the files, compares the systems, prints and writes the results."""
    from nmt.evaluation.bleu_and_chrf import require_tokenizer

    if arguments.tokenize:
        require_tokenizer(arguments.tokenize)
    names, written = _checked_flags(arguments)
    references, outputs, sources = _read(arguments, names)
    languages, words, tokenize = _languages(arguments, sources, references)
    require_tokenizer(tokenize)
    with ExitStack() as files:
        table, page, report = (
            files.enter_context(open_output(path)) if path else None
            for path in (arguments.table, arguments.page, arguments.json)
        )
        compared = _compare(arguments, outputs, references, tokenize)
        for line in _lines(compared, arguments):
            print(line)
        sentences = []
        if table or page:
            sentences = list(_sentences(sources, references, outputs, tokenize))
        if table is not None:
            _write_table(table, names, sentences, bool(sources))
        if page is not None:
            page.write(_page(arguments, compared, sentences, words, languages))
        if report is not None:
            report.write(json.dumps(_as_json(arguments, compared, len(references)), indent=2) + "\n")
    say_if_few(len(references))
    if written:
        say(f"written to {' and '.join(written)}")


def _checked_flags(arguments: Namespace) -> tuple[list[str], list[str]]:
    """The names of the systems, and the files to write.

    Raises:
        NmtError: flags that do not fit each other.
    """
    names = arguments.names or arguments.outputs
    if len(arguments.outputs) < 2:
        one = arguments.outputs[0]
        tokenize = _languages(arguments, [], list(read_lines(arguments.reference)))[2]
        raise NmtError(
            f"{one} is one file of translations: name two or more to compare; the scores of one: "
            f"sacrebleu {quote(arguments.reference)} -i {quote(one)} -m bleu chrf -tok {tokenize} --confidence"
        )
    if len(names) != len(arguments.outputs) or len(set(names)) != len(names):
        flag = "--names: expected one name per file" if arguments.names else "a file is named twice: expected files"
        raise NmtError(f"{flag}, all of them different")
    if not arguments.page:
        refuse_idle(arguments, ["sentences"], "is for the page: give --page too")
    if not (arguments.page or arguments.table):
        refuse_idle(arguments, ["source"], "is shown beside translations: give --page or --table, or leave it out")
    if not arguments.source:
        refuse_idle(arguments, ["source_language"], "is for --source: give that file too")
    written = [path for path in (arguments.table, arguments.page, arguments.json) if path]
    if "-" in written:
        raise NmtError("standard output (-) has the scores: name files for --table, --page and --json")
    require_files_of_their_own(_inputs(arguments), written)
    return names, written


def _inputs(arguments: Namespace) -> list[str]:
    return [*arguments.outputs, arguments.reference, *([arguments.source] if arguments.source else [])]


def _read(arguments: Namespace, names: Sequence[str]) -> tuple[list[str], dict[str, list[str]], list[str]]:
    """The references, the translations by system, and the sources; no sources without --source."""
    paths = _inputs(arguments)
    for path in paths:
        refuse_document(path)
    require_same_length({path: count_lines(path) for path in paths})
    texts = [list(read_lines(path)) for path in paths]
    require_same_length({path: len(text) for path, text in zip(paths, texts, strict=True)})  # with standard input
    count = len(names)
    require_lines(arguments.reference, texts[count])
    return texts[count], dict(zip(names, texts, strict=False)), texts[count + 1] if arguments.source else []


def _languages(
    arguments: Namespace, sources: Sequence[str], references: Sequence[str]
) -> tuple[tuple[str, str], tuple[Words, Words], str]:
    """The tags of both languages, how their words are cut, and BLEU's tokenizer."""
    from nmt.evaluation.bleu_tokenizer import tokenizer_of_language
    from nmt.text.languages import UNKNOWN, languages_of, words_of

    corpus = corpus_from_flags(arguments, sources, references)
    languages, words = languages_of(corpus), words_of(corpus)
    tokenize = arguments.tokenize or tokenizer_of_language(languages.target, not words[1].name)
    known = [language.tag if language != UNKNOWN.target else "" for language in languages]
    return (known[0], known[1]), words, tokenize


def _compare(
    arguments: Namespace, outputs: dict[str, list[str]], references: list[str], tokenize: str
) -> SystemComparison:
    from nmt.evaluation.system_comparison import compare_systems, scores_to_compute

    total = scores_to_compute(len(outputs), arguments.test, arguments.samples or 0)
    progress = LineProgress(total, task="comparing", unit="scores")
    try:
        return compare_systems(outputs, references, tokenize, arguments.test, arguments.samples or 0, progress.advance)
    finally:
        progress.clear()


def _lines(compared: SystemComparison, arguments: Namespace) -> Iterator[str]:
    """The table of scores, then the test and the signatures."""
    rows = [["system", *_HEADS], *([one.name, *_cells(one)] for one in compared.systems)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for name, *cells in rows:
        numbers = "  ".join(cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True))
        yield f"{name.ljust(widths[0])}  {numbers}".rstrip()
    yield from _notes(compared, arguments)


_HEADS = ("BLEU", "p", "chrF2", "p", "words", "length")


def _cells(system: SystemScore) -> list[str]:
    scores = [cell for score in (system.bleu, system.chrf) for cell in (_interval(score), _p(score))]
    return [*scores, f"{system.words:.1f}", f"{system.length_ratio:.3f}"]


def _interval(score: TestedScore) -> str:
    return f"{score.value:.2f} ± {score.margin:.2f}"


def _p(score: TestedScore) -> str:
    return "" if score.p_value is None else f"{score.p_value:.4f}"


def _notes(compared: SystemComparison, arguments: Namespace) -> list[str]:
    test = {"bootstrap": "the paired bootstrap", "randomization": "paired approximate randomization"}[arguments.test]
    first = compared.systems[0].name
    return [
        f"p: probability of such a difference from {first} by chance, by {test}. ±: half of the 95 % interval. words: "
        "mean per sentence. length: words per word of the reference.",
        *(f"{name}: {signature}" for name, signature in compared.signatures.items()),
    ]


def _sentences(
    sources: Sequence[str], references: Sequence[str], outputs: dict[str, list[str]], tokenize: str
) -> Iterator[SentenceScores]:
    """The scores of each sentence."""
    from nmt.evaluation.system_comparison import SentenceScorer

    score = SentenceScorer(tokenize)
    progress = LineProgress(len(references), task="scoring sentences", unit="sentences")
    for number, (reference, *texts) in progress.over(enumerate(zip(references, *outputs.values(), strict=True))):
        yield score(number + 1, sources[number] if sources else "", reference, texts)


def _write_table(table: TextIO, names: Sequence[str], sentences: Sequence[SentenceScores], sourced: bool) -> None:
    """A line per sentence: scores of all systems, then the texts."""
    from nmt.files.tables import cell

    scores = [f"{name} {measure}" for measure in ("chrF2", "BLEU", "words") for name in names]
    heads = ["line", "difference", *scores, *["source"] * sourced, "reference", *names]
    table.write("\t".join(map(cell, heads)) + "\n")
    for one in sentences:
        numbers = [f"{value:.2f}" for value in (one.difference, *one.chrf, *one.bleu)]
        texts = [*[one.source] * sourced, one.reference, *one.texts]
        table.write("\t".join([str(one.line), *numbers, *map(str, one.lengths), *map(cell, texts)]) + "\n")


def _page(
    arguments: Namespace,
    compared: SystemComparison,
    sentences: Sequence[SentenceScores],
    words: tuple[Words, Words],
    languages: tuple[str, str],
) -> str:
    from nmt.drawing.output_comparison import ComparisonPage, comparison_page
    from nmt.evaluation.system_comparison import most_different, wins

    names = [one.name for one in compared.systems]
    best = ", ".join(f"{name} for {count}" for name, count in zip(names, wins(sentences), strict=True))
    return comparison_page(
        ComparisonPage(
            title=f"{len(names)} systems, {len(sentences)} sentences",
            total=len(sentences),
            systems=names,
            heads=_HEADS,
            rows=[_cells(one) for one in compared.systems],
            notes=[*_notes(compared, arguments), f"alone best in chrF2: {best} of {len(sentences)} sentences"],
            sentences=[_shown(one, words) for one in most_different(sentences, arguments.sentences)],
            joiner="" if words[1].name else " ",
            source_joiner="" if words[0].name else " ",
            languages=languages,
        )
    )


def _shown(sentence: SentenceScores, words: tuple[Words, Words]) -> ComparedSentence:
    from nmt.drawing.output_comparison import ComparedSentence

    top = max(sentence.chrf)
    scores = zip(sentence.chrf, sentence.bleu, sentence.lengths, strict=True)
    sign = "+" if len(sentence.texts) == 2 else ""
    return ComparedSentence(
        line=sentence.line,
        source=words[0](sentence.source),
        reference=words[1](sentence.reference),
        outputs=[words[1](text) for text in sentence.texts],
        scores=[[f"chrF2 {chrf:.1f}", f"BLEU {bleu:.1f}", counted(length, "word")] for chrf, bleu, length in scores],
        best=sentence.chrf.index(top) if sentence.chrf.count(top) == 1 else None,
        difference=f"{sentence.difference:{sign}.1f} chrF2".replace("-", "\u2212"),
    )


def _as_json(arguments: Namespace, compared: SystemComparison, sentences: int) -> dict[str, Any]:
    systems = [
        {"file": path} | one._asdict() | {"bleu": one.bleu._asdict(), "chrf": one.chrf._asdict()}
        for path, one in zip(arguments.outputs, compared.systems, strict=True)
    ]
    about = {"reference": arguments.reference, "sentences": sentences, "test": arguments.test}
    return about | {"systems": systems, "signatures": compared.signatures}
