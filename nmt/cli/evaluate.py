"""`nmt evaluate`: BLEU, chrF and the alignment error rate."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from nmt.cli.files import require_files_of_their_own
from nmt.cli.flags import add_model_flags, add_search_flags
from nmt.cli.gold import (
    add_classes_flag,
    add_gold_format_flags,
    print_alignment_score,
    read_classes,
    read_gold_flags,
    require_measurable,
)
from nmt.cli.link_evaluation import add_link_flags, evaluate_links, refuse_link_flags
from nmt.cli.loading import (
    add_aligner_flag,
    config_of,
    find_aligner,
    lines_of,
    load,
    say,
    say_if_few,
    watched,
    words_of_run,
)
from nmt.cli.pair_files import GivenText, add_pair_flags
from nmt.cli.parser import Parser
from nmt.config import config_to_dict
from nmt.errors import NmtError
from nmt.evaluation.bleu_tokenizer import tokenizer_of_run
from nmt.files.outputs import open_output
from nmt.progress import counted
from nmt.text.languages import SPACED
from nmt.text.rewriting import Rewriting

if TYPE_CHECKING:
    from nmt.translation.translator import Translator

DESCRIPTION = (
    "Translates a test set and prints BLEU and chrF with their signatures. With --gold, it also prints the alignment "
    "error rate (AER) of the model's links on the reference pairs. With --links, it measures files of links "
    "instead, without a model."
)
EXAMPLE = "nmt evaluate --model saved_models/mine --source test.en --target test.de"


SEEN = 0.1
"""Share of training pairs among the pairs of a test set above which the score misleads."""


def add_flags(parser: Parser) -> None:
    add_model_flags(parser, required=False)
    parser.usage = "nmt evaluate --model DIR [OPTION ...]"
    add_pair_flags(parser, languages=True)
    parser.add_argument("--gold", metavar="FILE", help="gold alignment of source and reference; prints the AER")
    add_gold_format_flags(parser)
    add_classes_flag(parser)
    add_aligner_flag(parser, "links for --gold")
    add_link_flags(parser)
    parser.add_argument("--tokenize", metavar="NAME", help="sacreBLEU's tokenizer (default: the run's)")
    parser.add_argument("--output", metavar="FILE", help="file for the translations")
    parser.add_argument("--json", metavar="FILE", help="file for the scores, as JSON")
    add_search_flags(parser)


def run(arguments: Namespace) -> None:
    """Measures files of links, or a model's translations and links."""
    if arguments.links:
        evaluate_links(arguments)
    else:
        refuse_link_flags(arguments)
        _evaluate_model(arguments)


def _evaluate_model(arguments: Namespace) -> None:
    """Translates, then prints and writes the scores."""
    from nmt.evaluation.bleu_and_chrf import require_tokenizer

    if arguments.tokenize:
        require_tokenizer(arguments.tokenize)  # before the model, which chooses the tokenizer otherwise
    text = GivenText(arguments)
    read = [*text.paths, *(path for path in (arguments.gold, arguments.classes) if path)]
    written = [path for path in (arguments.output, arguments.json) if path]
    require_files_of_their_own(read, written)
    if "-" in written:
        raise NmtError("standard output (-) has the scores: name files for --output and --json")
    sources, references = text.test_set()
    gold, classes = read_gold_flags(arguments, text.name, len(sources)), read_classes(arguments.classes)
    config = config_of(arguments)
    tokenize = arguments.tokenize or tokenizer_of_run(config)
    words = words_of_run(config) if gold else (SPACED, SPACED)
    require_measurable(sources, references, tokenize, gold or (), arguments.gold, words)
    with ExitStack() as files:
        output = files.enter_context(open_output(arguments.output)) if arguments.output else None
        report = files.enter_context(open_output(arguments.json)) if arguments.json else None
        translator, search = load(arguments)
        aligner = find_aligner(arguments, translator) if gold is not None else None
        _say_rewritten(translator, references)
        _say_seen(translator, sources, references)
        progress = lines_of(len(sources))
        references = list(text.checked(references, translator, "target"))
        lines = text.checked(sources, translator, "source")
        translations = translator.translate(lines, search, report=progress.advance)
        hypotheses = [found.text for found in watched(translations, progress)]
        results = _print_scores(hypotheses, references, tokenize)
        if gold is not None:
            translator.aligner = aligner
            if aligner:
                say("an aligner makes the links that are measured")
            pairs = lines_of(len(sources)).over(translator.align(sources, references))
            alignments = [pair.alignment for pair in pairs]
            sides = [(one.source, one.target) for one in alignments]
            results["alignment"] = print_alignment_score((one.links for one in alignments), gold, sides, classes)
            say_if_few(len(gold))
        if output is not None:
            output.writelines(f"{text}\n" for text in hypotheses)
        if report is not None:
            about = {"model": " ".join(arguments.model), "sentences": len(sources), "search": config_to_dict(search)}
            report.write(json.dumps(about | results, indent=2) + "\n")
    empty = sum(not text.strip() and bool(source.strip()) for source, text in zip(sources, references, strict=True))
    if empty:
        say(f"references without words: {empty}; every translation of their sources counts as wrong")
    files_written = f", written to {' and '.join(written)}" if written else ""
    say(f"{counted(progress.count, 'line')} translated in {progress.seconds:.1f} s{files_written}")


def _say_rewritten(translator: Translator, references: Sequence[str]) -> None:
    """Says how many references have text that the run can never write, because its normalisation changes it."""
    rewriting = Rewriting("reference")
    rewriting.note(translator.run.target.rewritten(references))
    if rewriting.lines:
        say(f"in this run's vocabulary {rewriting.summary()}: the scores count these differences as wrong")


def _say_seen(translator: Translator, sources: Sequence[str], references: Sequence[str]) -> None:
    """Says how many pairs the model was trained on, if there are more than chance brings."""
    from nmt.evaluation.seen_pairs import count_seen_pairs

    try:
        seen = count_seen_pairs(translator.run, sources, references)
    except (NmtError, OSError):  # the training pairs are damaged or gone, and the model is whole
        return
    if seen > SEEN * len(sources):
        say(
            f"{seen:,} of {counted(len(sources), 'pair')} are training pairs of this model, so the score says little "
            "about new text: nmt hold-out sets pairs aside"
        )


def _print_scores(hypotheses: Sequence[str], references: Sequence[str], tokenize: str) -> dict[str, Any]:
    """BLEU and chrF, printed and by name."""
    from nmt.evaluation.bleu_and_chrf import bleu, chrf

    scores = {"bleu": bleu(hypotheses, references, tokenize), "chrf": chrf(hypotheses, references)}
    for score in scores.values():
        print(score)
    return {name: score._asdict() for name, score in scores.items()}
