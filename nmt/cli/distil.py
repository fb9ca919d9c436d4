"""`nmt distil`: pairs for training from a model's own translations."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from nmt.cli.flags import add_model_flags, add_search_flags
from nmt.cli.pair_files import GivenText, add_pair_flags
from nmt.cli.parser import Parser
from nmt.cli.synthesis import MadePairs, add_made_pairs_flags, write_made_pairs
from nmt.config import SearchConfig
from nmt.evaluation.bleu_tokenizer import tokenizer_of_run

if TYPE_CHECKING:
    from nmt.translation.inference.protocol import Report
    from nmt.translation.minimum_bayes_risk import Utility
    from nmt.translation.result import Translation
    from nmt.translation.translator import Translator

Similarity = Callable[[str, str], float]

DESCRIPTION = (
    "Writes each given pair, followed by its source with the model's own translation. A smaller model that trains on "
    "these pairs learns to imitate this model or ensemble (sequence-level knowledge distillation). After an "
    "interruption, --resume continues."
)
EXAMPLE = (
    "nmt distil --model saved_models/one saved_models/two --source my.en --target my.de --output-source d.en "
    "--output-target d.de"
)


def add_flags(parser: Parser) -> None:
    add_model_flags(parser, precision="auto")
    add_pair_flags(parser)
    add_made_pairs_flags(parser)
    parser.add_argument(
        "--closest",
        choices=["bleu", "chrf"],
        help="write the translation in the beam that is most similar to the given one (default: the best one)",
    )
    parser.add_argument("--only-translations", action="store_true", help="leave out the given pairs")
    add_search_flags(parser)


def run(arguments: Namespace) -> None:
    """Writes given and translated pairs alternately (Kim and Rush 2016, sequence-level knowledge distillation)."""
    text = GivenText(arguments)

    def made(translator: Translator, search: SearchConfig, done: int, report: Report) -> MadePairs:
        sources, targets = text.checked_sides(translator, done)
        similarity = _similarity(arguments.closest, translator) if arguments.closest else None
        nbest = search.beam_size if arguments.closest else 1
        lists = translator.translate_nbest(sources, search, nbest, first=done, report=report)
        for found, target in zip(lists, targets, strict=True):
            best = _closest(found, target, similarity) if similarity else found[0]
            given = [] if arguments.only_translations else [(best.source, target)]
            yield best, [*given, (best.source, best.text)]

    per_line = 1 if arguments.only_translations else 2
    flags = ("closest", "only_translations", *text.columns)
    write_made_pairs(arguments, text.paths, text.count, per_line, made, flags)


def _similarity(measure: Utility, translator: Translator) -> Similarity:
    """The similarity of a translation to the given one.

    Raises:
        NmtError: BLEU counts the run's language by a tokenizer that is not installed.
    """
    from nmt.translation.minimum_bayes_risk import sentence_utility

    return sentence_utility(measure, tokenizer_of_run(translator.config))


def _closest(found: Sequence[Translation], target: str, similarity: Similarity) -> Translation:
    """The translation most similar to the given one (Kim and Rush 2016, section 3.3, sequence-level interpolation)."""
    return max(found, key=lambda translation: similarity(translation.text, target))
