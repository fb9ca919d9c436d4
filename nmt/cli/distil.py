"""`nmt distil`: pairs for training from a model's own translations."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from itertools import islice, repeat, tee
from typing import TYPE_CHECKING

from nmt.cli.flags import add_model_flags, add_search_flags
from nmt.cli.loading import require_runs, say, say_if_unfinished
from nmt.cli.pair_files import GivenText, add_pair_flags
from nmt.cli.parser import Parser, count, refuse_idle
from nmt.cli.synthesis import MadePairs, add_made_pairs_flags, write_made_pairs
from nmt.config import SearchConfig
from nmt.evaluation.bleu_tokenizer import tokenizer_of_run
from nmt.progress import LineProgress, counted

if TYPE_CHECKING:
    from nmt.aligning.aligner import Aligner
    from nmt.translation.inference.protocol import Report
    from nmt.translation.minimum_bayes_risk import Utility
    from nmt.translation.result import Translation
    from nmt.translation.translator import Translator

Similarity = Callable[[str, str], float]

DESCRIPTION = (
    "Writes each given pair, followed by its source with the model's own translation. A smaller model that trains on "
    "these pairs learns to imitate this model or ensemble (sequence-level knowledge distillation). --recombine "
    "translates new sentences too. After an interruption, --resume continues."
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
    parser.add_argument(
        "--recombine",
        type=count,
        default=0,
        metavar="N",
        help="also translate N new sentences for each pair, in which phrases of other pairs replace some of its own "
        "(default: 0)",
    )
    parser.add_argument(
        "--aligner",
        metavar="DIR",
        help="aligner of nmt aligner that links words for --recombine (default: the one that the first model keeps)",
    )
    add_search_flags(parser)


def run(arguments: Namespace) -> None:
    """Writes given and translated pairs alternately (Kim and Rush 2016, sequence-level knowledge distillation).

    With --recombine, translated new sentences follow each pair.
    """
    from nmt.translation.paragraphs import LineReport

    text, new, aligner = GivenText(arguments), arguments.recombine, _aligner(arguments)

    def made(translator: Translator, search: SearchConfig, done: int, report: Report) -> MadePairs:
        sources, targets = text.checked_sides(translator, done)
        more = iter(_new_sources(text, aligner, new)) if aligner else repeat([])
        before = sum(1 + len(others) for others in islice(more, done)) if aligner else done
        pairs = zip(sources, targets, strict=True)  # to the ends of both, whose checks warn there
        given, groups = tee(zip(pairs, more, strict=aligner is not None))
        similarity = _similarity(arguments.closest, translator) if arguments.closest else None
        nbest = search.beam_size if arguments.closest else 1
        sentences = (sentence for (source, _), others in groups for sentence in (source, *others))
        of_lines = LineReport(report, lines=1, sentences=1 + new)  # late where fewer new sentences are made
        lists = translator.translate_nbest(sentences, search, nbest, first=before, report=of_lines)
        for (_, target), others in given:
            found, *of_new = islice(lists, 1 + len(others))
            best = _closest(found, target, similarity) if similarity else found[0]
            human = [] if arguments.only_translations else [(best.source, target)]
            machine = [best, *(hypotheses[0] for hypotheses in of_new), *repeat(best, new - len(of_new))]
            yield best, [*human, *((one.source, one.text) for one in machine)]

    per_line = 1 + new + (not arguments.only_translations)
    flags = ("closest", "only_translations", "recombine", *text.columns)
    write_made_pairs(arguments, text.paths, text.count, per_line, made, flags, aligner)
    if new or arguments.only_translations:
        say(
            "many targets are translations: train on these pairs with validation pairs that people wrote "
            "(--corpus.validation.source FILE --corpus.validation.target FILE)"
        )


def _aligner(arguments: Namespace) -> Aligner | None:
    """The aligner for --recombine; None without this flag.

    Raises:
        NmtError: there is none.
    """
    if not arguments.recombine:
        refuse_idle(arguments, ["aligner"], "links words for --recombine: give --recombine, or leave it out")
        return None
    from nmt.aligning.aligner import Aligner

    require_runs(arguments.model)
    aligner = Aligner.load(arguments.aligner or arguments.model[0])
    say_if_unfinished(aligner)
    return aligner


def _new_sources(text: GivenText, aligner: Aligner, count: int) -> Iterator[list[str]]:
    """The different new sources of each pair, at most `count`: see `Recombination`. Reports how many there are."""
    from nmt.aligning.directory import words_of_aligner
    from nmt.text.pairs import Pair
    from nmt.training.preparation.recombination import Recombination

    pairs = list(zip(*text.sides(), strict=True))
    progress = LineProgress(len(pairs), task="aligning", unit="pairs")
    aligned = progress.over(aligner.align(pairs))
    linked = [Pair(*pair, links=found.pharaoh()) for pair, found in zip(pairs, aligned, strict=True)]
    recombined = Recombination(linked, words_of_aligner(aligner.config), count, seed=1).over(linked)
    made = 0
    while group := list(islice(recombined, 1 + count)):
        given, *others = dict.fromkeys(pair.source for pair in group)
        made += len(others)
        yield others
    missing = count * len(pairs) - made
    repeated = f"; {counted(missing, 'translation')} of given sources repeated instead of the others" if missing else ""
    say(f"{made:,} of {count * len(pairs):,} new sentences were made{repeated}")


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
