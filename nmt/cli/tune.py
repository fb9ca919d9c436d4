"""`nmt tune`: the length penalty that suits a model, found on sentences whose translations are known."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from nmt.cli.files import require_files_of_their_own
from nmt.cli.flags import add_model_flags, add_search_flags
from nmt.cli.loading import config_of, lines_of, load, say, say_if_cut
from nmt.cli.pair_files import GivenText, add_pair_flags
from nmt.cli.parser import Parser, refuse_idle
from nmt.config import SearchConfig
from nmt.errors import NmtError
from nmt.progress import LineProgress
from nmt.text.languages import words_of

if TYPE_CHECKING:
    from nmt.evaluation.bleu_and_chrf import CorpusScore
    from nmt.translation.length_penalty_tuning import NbestLists, PenaltyScore
    from nmt.translation.result import Translation
    from nmt.translation.translator import Translator

Measure: TypeAlias = "Callable[[Sequence[str], Sequence[str]], CorpusScore]"

DESCRIPTION = (
    "Translates a validation set once and prints its score for each length penalty, and the best penalty. Measure the "
    "chosen penalty on other text: its score on this text is too optimistic."
)
EXAMPLE = "nmt tune --model saved_models/mine --source val.en --target val.de --save"


def add_flags(parser: Parser) -> None:
    add_model_flags(parser, precision="auto")
    add_pair_flags(parser)
    parser.add_argument(
        "--metric", choices=["bleu", "chrf"], default="bleu", help="score that chooses the penalty (default: bleu)"
    )
    parser.add_argument("--tokenize", metavar="NAME", help="sacreBLEU's tokenizer, for BLEU (default: the run's)")
    parser.add_argument(
        "--save", action="store_true", help="make this search with the best penalty the default of the run"
    )
    add_search_flags(parser)


def run(arguments: Namespace) -> None:
    """Translates once, prints the score of each penalty, and saves the best one if the flags say so."""
    from nmt.translation.length_penalty_tuning import best_penalty, penalties, score_penalties

    text = GivenText(arguments)
    sources, references, measure = _test_set(arguments, text)
    translator, search = load(arguments)
    if search.method != "beam" or search.beam_size < 2:
        raise NmtError("a length penalty chooses among the hypotheses of a beam: give --method beam, --beam-size 5")
    references = list(text.checked(references, translator, "target"))
    lists = _translate(translator, text.checked(sources, translator, "source"), len(sources), search)
    progress = LineProgress(len(penalties(search)), unit="penalties")
    of_source, of_target = words_of(translator.config.corpus)
    scores = list(progress.over(score_penalties(lists, references, search, measure, of_target)))
    best = best_penalty(scores)
    _print_scores(scores)
    _say_best(best, scores[0])
    ratio = sum(len(of_target(line)) for line in references) / max(sum(len(of_source(line)) for line in sources), 1)
    say(f"the references have {ratio:.3f} words per source word: the penalty suits text like that")
    if arguments.save:
        _save(translator, best.penalty.within(search))


def _test_set(arguments: Namespace, text: GivenText) -> tuple[list[str], list[str], Measure]:
    """Source sentences, references and the score of translations, after checks of files and flags."""
    from nmt.evaluation.bleu_and_chrf import bleu, chrf

    if arguments.save and len(arguments.model) > 1:
        raise NmtError("--save is for one run: give the penalty of an ensemble to each command instead")
    if arguments.save and Path(arguments.model[0]).is_file():
        raise NmtError(f"{arguments.model[0]}: is a pack, which cannot be changed: leave --save out")
    require_files_of_their_own(text.paths, [])
    if arguments.metric == "chrf":
        refuse_idle(arguments, ["tokenize"], "is for BLEU: leave it or --metric chrf out")
    sources, references = text.test_set()
    measure = chrf if arguments.metric == "chrf" else partial(bleu, tokenize=_tokenizer(arguments))
    measure(["a"], ["a"])  # refuses an unknown tokenizer before the translation
    return sources, references, measure


def _tokenizer(arguments: Namespace) -> str:
    from nmt.evaluation.bleu_tokenizer import tokenizer_of_run

    return arguments.tokenize or tokenizer_of_run(config_of(arguments))


def _translate(translator: Translator, sources: Iterable[str], count: int, search: SearchConfig) -> NbestLists:
    """All hypotheses of each source sentence."""
    from nmt.translation.length_penalty_tuning import NbestLists

    progress = lines_of(count)

    def watched() -> Iterator[list[Translation]]:
        lists = translator.translate_nbest(sources, search, search.beam_size, report=progress.advance)
        for found in progress.over(lists):
            say_if_cut(found[0], progress)
            yield found

    return NbestLists.of(watched(), search)


def _print_scores(scores: Sequence[PenaltyScore]) -> None:
    """Prints a line for each penalty, the search's own first; the last number is the length ratio."""
    print(f"{'normalization':<14}{'length-penalty':>14}{scores[0].score.name:>8}{'length':>8}")
    for one in scores:
        kind, exponent = one.penalty
        own = "  as it is" * (one is scores[0])
        print(f"{kind:<14}{exponent:>14g}{one.score.value:>8.2f}{one.length_ratio:>8.3f}{own}")


def _say_best(best: PenaltyScore, own: PenaltyScore) -> None:
    score = f"{own.score.name} {best.score.value:.2f}"
    if best is own:
        say(f"the penalty of the search is the best: {score}")
        return
    kind, exponent = best.penalty
    flags = f"--normalization {kind} --length-penalty {exponent:g}"
    say(f"the best is {flags}: {score} instead of {own.score.value:.2f}")


def _save(translator: Translator, search: SearchConfig) -> None:
    """Makes this search the default of the run."""
    run = translator.run
    replace(run, config=replace(run.config, search=search)).save_config()
    say(f"saved in {run.directory}: this search is the default of the run")
