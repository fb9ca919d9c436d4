"""`nmt tune`: the length penalty that suits a model, found on sentences whose translations are known."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from nmt.cli.files import require_files_of_their_own, require_lines, require_same_length
from nmt.cli.flags import add_model_flags, add_reference_flag, add_search_flags, add_source_flag
from nmt.cli.loading import lines_of, load, say, say_if_cut
from nmt.cli.parser import Parser, refuse_idle
from nmt.config import SearchConfig
from nmt.errors import NmtError
from nmt.progress import LineProgress
from nmt.text.lines import read_lines

if TYPE_CHECKING:
    from nmt.translation.length_penalty import Lists, Trial
    from nmt.translation.result import Translation
    from nmt.translation.translator import Translator


DESCRIPTION = (
    "Translates a validation set once and prints its score for each length penalty, and the best penalty. Measure the "
    "chosen penalty on other text: its score on this text is too optimistic."
)


def add_flags(parser: Parser) -> None:
    add_model_flags(parser, precision="auto")
    add_source_flag(parser)
    add_reference_flag(parser)
    parser.add_argument(
        "--metric", choices=["bleu", "chrf"], default="bleu", help="score that chooses the penalty (default: bleu)"
    )
    parser.add_argument("--tokenize", metavar="NAME", help="sacreBLEU's tokenizer, for BLEU (default: 13a)")
    parser.add_argument(
        "--save", action="store_true", help="make this search with the best penalty the default of the run"
    )
    add_search_flags(parser)


def run(arguments: Namespace) -> None:
    """`nmt tune`: a line for each penalty, and the best one, kept in the run where the command line says so."""
    from nmt.evaluation.bleu_and_chrf import bleu, chrf

    if arguments.save and len(arguments.model) > 1:
        raise NmtError("--save is for one run: of an ensemble give the penalty that is found to each command")
    require_files_of_their_own([arguments.source, arguments.reference], [])
    if arguments.metric == "chrf":
        refuse_idle(arguments, ["tokenize"], "is for BLEU: leave it or --metric chrf out")
    sources, references = list(read_lines(arguments.source)), list(read_lines(arguments.reference))
    require_same_length({arguments.source: len(sources), arguments.reference: len(references)})
    require_lines(arguments.source, sources)
    measure = chrf if arguments.metric == "chrf" else partial(bleu, tokenize=arguments.tokenize or "13a")
    measure(["a"], ["a"])  # an unknown tokenizer is told before the translation, not after it
    translator, search = load(arguments)
    if search.method != "beam" or search.beam_size < 2:
        raise NmtError("a length penalty chooses among the hypotheses of a beam: give --method beam, --beam-size 5")
    from nmt.translation.length_penalty import best, penalties, trials

    lists = _lists(translator, sources, search)
    tried = trials(lists, references, search, measure)
    found = list(LineProgress(len(penalties(search))).over(tried))
    chosen = best(found)
    _print(found)
    _say(chosen, found[0])
    ratio = sum(len(line.split()) for line in references) / max(sum(len(line.split()) for line in sources), 1)
    say(f"the references have {ratio:.3f} words for each of the source: what is found holds for text like that")
    if arguments.save:
        _save(translator, chosen.penalty.within(search))


def _lists(translator: Translator, sources: Sequence[str], search: SearchConfig) -> Lists:
    from nmt.translation.length_penalty import Lists

    progress = lines_of(len(sources))

    def watched() -> Iterator[list[Translation]]:
        lists = translator.translate_nbest(sources, search, search.beam_size, report=progress.advance)
        for found in progress.over(lists):
            say_if_cut(found[0], progress)
            yield found

    return Lists.of(watched(), search)


def _print(found: Sequence[Trial]) -> None:
    """A line for each penalty, the search's own first; the last number is words of the translations for each of the
    references."""
    print(f"{'normalization':<14}{'length-penalty':>14}{found[0].score.name:>8}{'length':>8}")
    for trial in found:
        kind, exponent = trial.penalty
        own = "  as it is" * (trial is found[0])
        print(f"{kind:<14}{exponent:>14g}{trial.score.value:>8.2f}{trial.words:>8.3f}{own}")


def _say(chosen: Trial, own: Trial) -> None:
    score = f"{own.score.name} {chosen.score.value:.2f}"
    if chosen is own:
        say(f"the penalty that the search has is the best: {score}")
        return
    kind, exponent = chosen.penalty
    flags = f"--normalization {kind} --length-penalty {exponent:g}"
    say(f"the best is {flags}: {score} instead of {own.score.value:.2f}")


def _save(translator: Translator, search: SearchConfig) -> None:
    """The run's own search is this one from now on."""
    run = translator.run
    replace(run, config=replace(run.config, search=search)).save_config()
    say(f"saved in {run.directory}: its translations are searched for so from now on")
