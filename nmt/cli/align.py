"""`nmt align`: word alignments as numbers and plots."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from nmt.cli.files import outdated_drawings, require_files_of_their_own
from nmt.cli.flags import (
    add_model_flags,
    add_output_directory_flag,
    add_search_flags,
    refuse_file,
    refuse_search_flags,
)
from nmt.cli.gold import (
    add_gold_format_flags,
    print_alignment_score,
    read_gold_flags,
    require_gold_in_range,
    whole_gold,
)
from nmt.cli.loading import (
    NO_ALIGNER,
    add_aligner_flag,
    config_of,
    language_tags,
    lines_of,
    load,
    load_run,
    say,
    say_if_cut,
    say_if_few,
    use_aligner,
    words_of_run,
)
from nmt.cli.pair_files import GivenText, add_pair_flags, are_pairs_given
from nmt.cli.parser import Parser, as_flags, count, finite, positive, refuse_idle
from nmt.errors import NmtError
from nmt.files.outputs import open_output
from nmt.files.paths import output_directory, real_path
from nmt.progress import LineProgress, counted

if TYPE_CHECKING:
    from nmt.alignment.hard_links import Linking
    from nmt.alignment.links import Gold, Links
    from nmt.config import SearchConfig
    from nmt.drawing import Picture
    from nmt.text.languages import Words
    from nmt.translation.result import Translation
    from nmt.translation.translator import Translator

NUMBERS = ("alignments.pharaoh", "alignments.jsonl")
"""Files with the links and the attention weights of all pairs."""

OF_ATTENTION = ("links", "threshold", "links_of", "attention", "reverse")
"""Flags of links that attention makes."""

DEFAULT_SYMMETRIZING: Final = "grow-diag-final-and"

DESCRIPTION = (
    "Writes the alignments of sentence pairs into a directory. alignments.pharaoh has the links between words, counted "
    "from 0. alignments.jsonl has words, attention weights, links and log-probabilities. The first pairs are drawn: "
    "alignments.html is a page for a browser, where pointing at a word shows the words that it is aligned to; 0001.png "
    "and so on are heat maps named after their lines; alignments.pdf has many heat maps on each page. The links of "
    "--gold are drawn too. With --target, the model reads the given translations; without, it translates."
)
EXAMPLE = "nmt align --model saved_models/mine --source new.en --output alignments"


def add_flags(parser: Parser) -> None:
    add_model_flags(parser)
    add_pair_flags(parser)
    add_output_directory_flag(parser)
    _add_drawing_flags(parser)
    parser.add_argument("--reverse", metavar="DIR", help="run of the opposite direction; both runs make the links")
    parser.add_argument(
        "--symmetrize",
        choices=["intersection", "union", "grow-diag", "grow-diag-final", "grow-diag-final-and"],
        help=f"with --reverse: method that merges the links of both runs (default: {DEFAULT_SYMMETRIZING})",
    )
    _add_linking_flags(parser)
    parser.add_argument("--gold", metavar="FILE", help="gold alignment of the pairs (needs --target); prints the AER")
    add_gold_format_flags(parser)
    add_search_flags(parser)


def _add_drawing_flags(parser: Parser) -> None:
    parser.add_argument(
        "--format",
        choices=["html", "png", "svg", "pdf"],
        nargs="+",
        default=["html", "png"],
        help="formats of the drawings; html and pdf are one file, png and svg a file per pair (default: html png)",
    )
    parser.add_argument(
        "--limit", type=count, default=20, metavar="N", help="largest number of drawn pairs (default: 20)"
    )
    parser.add_argument(
        "--nbest",
        type=positive,
        default=1,
        metavar="N",
        help="the page shows the N best translations side by side (default: 1)",
    )


def _add_linking_flags(parser: Parser) -> None:
    parser.add_argument(
        "--links",
        choices=["share", "shares", "argmax", "threshold"],
        help="links of attention: share, to the word whose attention a word claims most of; shares, also to each word "
        "whose attention it claims a --threshold share of; argmax, to the word that it attends to most; threshold, to "
        "each word that receives a --threshold share of its attention (default: share)",
    )
    parser.add_argument(
        "--threshold", type=finite, metavar="X", help="smallest share for --links shares or threshold (default: 0.4)"
    )
    add_aligner_flag(parser)
    parser.add_argument(
        "--links-of",
        choices=["target", "source"],
        help="side whose words get links (default: target)",
    )
    parser.add_argument(
        "--attention",
        choices=["emit", "read"],
        help="step whose attention a target piece has: emit, the step that emits it; read, the next step, which reads "
        "it (default: emit)",
    )


def run(arguments: Namespace) -> None:
    """Writes the links and numbers of all pairs, and drawings of the first ones."""
    _refuse_contradictions(arguments)
    linking, text = _linking(arguments), GivenText(arguments, pairs=False)
    read = [*text.paths, *([arguments.gold] if arguments.gold else [])]
    require_files_of_their_own(read, [str(Path(arguments.output) / name) for name in NUMBERS])
    total = text.count()
    gold = read_gold_flags(arguments, text.name, total)
    words = words_of_run(config_of(arguments))
    if gold is not None and text.is_file:  # before the seconds or hours of the model
        require_gold_in_range(gold, zip(*text.sides(), strict=True), arguments.gold, words)
    translator, search = load(arguments)
    use_aligner(arguments, translator)
    if translator.aligner and arguments.aligner is None:
        say(f"the aligner that {arguments.model[0]} keeps makes the links; with --aligner none attention makes them")
    how = {"checkpoints": arguments.checkpoints, "precision": arguments.precision}
    reverse = load_run(arguments.reverse, **how, aligner=False) if arguments.reverse else None
    if reverse is not None:
        _require_opposite(translator, reverse)
        _require_same_words(words, reverse)
    progress = lines_of(total)
    pairs = progress.over(_pairs(arguments, text, translator, reverse, search, linking))
    with output_directory(Path(arguments.output)) as directory:
        tags = language_tags(translator)
        links = _write(pairs, directory, arguments, text.name, gold, progress, words, tags)
    if gold is not None:
        print_alignment_score(links, whole_gold(arguments, gold, text.name, len(links)))
        say_if_few(len(links))
    drawn = "" if arguments.limit else "; no pair is drawn (--limit 0)"
    say(f"{counted(progress.count, 'pair')} in {progress.seconds:.1f} s, written to {directory}{drawn}")


def _refuse_contradictions(arguments: Namespace) -> None:
    if arguments.gold and not are_pairs_given(arguments):
        raise NmtError("--gold is an alignment of sentence pairs: give their --target too")
    if are_pairs_given(arguments):
        refuse_search_flags(arguments)
    refuse_file(arguments.output)
    if arguments.aligner not in (None, NO_ALIGNER):
        why = "is for links of attention: leave it or --aligner out"
        refuse_idle(arguments, OF_ATTENTION, why)
    elif any(getattr(arguments, name) for name in OF_ATTENTION):
        arguments.aligner = NO_ALIGNER  # these flags are a choice of attention
    if not arguments.reverse:
        why = "makes one alignment of two: give --reverse, the run of the opposite direction"
        refuse_idle(arguments, ["symmetrize"], why)
    elif real_path(Path(arguments.reverse)) in (real_path(Path(model)) for model in arguments.model):
        raise NmtError("--reverse and --model name the same run: expected a run of the opposite direction")
    if "html" not in arguments.format:
        refuse_idle(arguments, ["nbest"], "is for the page: add html to --format")
    if arguments.nbest > 1 and (are_pairs_given(arguments) or arguments.reverse):
        raise NmtError("--nbest is for a search of one model: leave out --target, --tsv and --reverse")


def _linking(arguments: Namespace) -> Linking:
    """The method that makes links of attention."""
    from nmt.alignment.hard_links import Linking

    if arguments.links not in ("shares", "threshold"):
        refuse_idle(arguments, ["threshold"], "is for --links shares and threshold")
    given = {} if arguments.threshold is None else {"threshold": arguments.threshold}
    with as_flags(Linking):
        return Linking(
            arguments.links or "share", arguments.links_of or "target", step=arguments.attention or "emit", **given
        )


def _require_opposite(model: Translator, reverse: Translator) -> None:
    """Refuses a run that does not translate in the opposite direction, as far as both runs know their languages."""
    from nmt.text.languages import languages_of
    from nmt.text.languages.matching import may_be_same

    own, other = languages_of(model.config.corpus), languages_of(reverse.config.corpus)
    if not all(map(may_be_same, own, other[::-1])):
        raise NmtError(
            f"--reverse translates from {other.source} to {other.target}, and --model from {own.source} to "
            f"{own.target}: give a run of the opposite direction for --reverse"
        )


def _require_same_words(words: tuple[Words, Words], reverse: Translator) -> None:
    """Refuses a run of the opposite direction that cuts text into other words."""
    from nmt.text.languages import words_of

    target, source = words_of(reverse.config.corpus)
    if (source.name, target.name) != tuple(rule.name for rule in words):
        raise NmtError(
            "--reverse and --model cut text into different words, so their links do not fit together: repeat the nmt "
            "train command of one with --corpus.source_language and --corpus.target_language, and with its words"
        )


def _pairs(
    arguments: Namespace,
    text: GivenText,
    translator: Translator,
    reverse: Translator | None,
    search: SearchConfig,
    linking: Linking,
) -> Iterator[list[Translation]]:
    """The given pair of each line, or the model's translations of the line, best first."""
    if not text.pairs and reverse is None:
        yield from translator.translate_nbest(text.sources(translator), search, arguments.nbest, linking=linking)
        return
    pairs: Iterator[Translation]
    if text.pairs:
        pairs = translator.align(*text.checked_sides(translator), linking)
    else:
        pairs = translator.translate(text.sources(translator), search, linking=linking)
    if reverse is not None:
        from nmt.translation.two_directions import symmetrized

        pairs = symmetrized(pairs, reverse, arguments.symmetrize or DEFAULT_SYMMETRIZING, linking, say)
    for pair in pairs:
        yield [pair]


def _write(
    pairs: Iterator[list[Translation]],
    directory: Path,
    arguments: Namespace,
    name: str,
    gold: Sequence[Gold] | None,
    progress: LineProgress,
    words: tuple[Words, Words],
    languages: tuple[str, str],
) -> list[Links]:
    """Writes the numbers of all pairs, then draws the first pairs that have words on both sides.

    Returns:
        The links of all pairs if there is gold to compare them with.
    """
    measured: list[Links] = []
    number = 0
    drawn: dict[int, tuple[list[Translation], Picture]] = {}
    with outdated_drawings(directory, "alignments"), ExitStack() as files:
        links, records = (files.enter_context(open_output(str(directory / name))) for name in NUMBERS)
        for number, translations in enumerate(pairs, start=1):
            pair = translations[0]
            say_if_cut(pair, progress)
            links.write(pair.alignment.pharaoh() + "\n")
            record = {"line": number, "log_probability": pair.log_probability} | pair.alignment.to_json()
            records.write(json.dumps(record, ensure_ascii=False) + "\n")
            gold_links = _gold_links(gold, pair, number, arguments.gold, words)
            if gold is not None:
                measured.append(pair.alignment.links)
            if len(drawn) < arguments.limit and (picture := _picture(pair, number, progress)):
                drawn[number] = translations, replace(picture, gold=gold_links, **_link_rule(arguments))
        if gold is not None:  # a pipe's length is unknown until here
            whole_gold(arguments, gold, name, number)
    _draw(drawn, directory, arguments.format, languages)
    return measured


def _gold_links(
    gold: Sequence[Gold] | None, pair: Translation, number: int, path: str, words: tuple[Words, Words]
) -> Gold | None:
    """The gold links between the words that the model read of line `number`.

    Gold links that name words beyond the end of the pair are refused.
    """
    from nmt.alignment.links import Gold, require_in_range

    if gold is None or number > len(gold):
        return None
    links = gold[number - 1]
    require_in_range(links, words[0](pair.source), words[1](pair.text), f"{path}, sentence {number}")
    return Gold(*(frozenset(link for link in kind if pair.alignment.has(*link)) for kind in links))


def _link_rule(arguments: Namespace) -> dict[str, Any]:
    """The fields of a picture that say how its links were made."""
    if not arguments.reverse:
        return {"linking": _linking(arguments)}
    return {"merged": arguments.symmetrize or DEFAULT_SYMMETRIZING}


def _picture(pair: Translation, number: int, progress: LineProgress) -> Picture | None:
    """The heat map of a pair; None if the pair cannot be drawn."""
    from nmt.drawing import MOST_WORDS, Picture, drawable

    if drawable(pair.alignment):
        return Picture(pair.alignment, f"line {number}, log-probability {pair.log_probability:.2f}")
    if max(pair.alignment.weights.shape) > MOST_WORDS:
        progress.print(f"line {number} is not drawn: a side has more than {MOST_WORDS} words")
    return None


def _draw(
    drawn: dict[int, tuple[list[Translation], Picture]],
    directory: Path,
    formats: Sequence[str],
    languages: tuple[str, str],
) -> None:
    """Draws pairs, keyed by their line numbers, in each of the formats."""
    from nmt.drawing import draw, save_figure, save_pages
    from nmt.drawing import page as viewer

    if not drawn:
        return
    if "html" in formats:
        sentences = [
            viewer.PageSentence(
                translations,
                f"line {number}",
                picture.gold,
                linking=picture.linking,
                merged=picture.merged,
                languages=languages,
            )
            for number, (translations, picture) in drawn.items()
        ]
        viewer.save(sentences, directory / "alignments.html")
    if "pdf" in formats:
        pictures = [picture for _, picture in drawn.values()]
        save_pages(pictures, directory / "alignments.pdf", LineProgress(len(drawn), unit="pictures").over)
    for suffix in sorted({"png", "svg"}.intersection(formats)):
        for number, (_, picture) in LineProgress(len(drawn), unit="pictures").over(drawn.items()):
            save_figure(draw(picture), directory / f"{number:04d}.{suffix}")
