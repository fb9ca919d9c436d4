"""`nmt embeddings`: the word vectors of a run, printed, drawn and exported."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from nmt.cli.files import require_files_of_their_own
from nmt.cli.flags import add_single_model_flags
from nmt.cli.loading import load_run, say
from nmt.cli.parser import Parser, count, positive, refuse_idle
from nmt.errors import NmtError
from nmt.files.outputs import require_writable

if TYPE_CHECKING:
    from nmt.explaining.embeddings import Embeddings, Neighbour, Projection, WordVector
    from nmt.translation.translator import Translator

_MOST_FREQUENT = 60
"""Words that --plot draws by default."""

DESCRIPTION = (
    "Prints the pieces whose vectors are nearest to given words (by cosine), solves analogies, draws words on the two "
    "main axes of their vectors, and exports all vectors in word2vec's text format. Counts say how often each piece "
    "occurred in training. The vector of a word with several pieces is the mean of their vectors."
)
EXAMPLE = "nmt embeddings --model saved_models/mine --neighbours house garden"


def add_flags(parser: Parser) -> None:
    add_single_model_flags(parser)
    parser.add_argument(
        "--side",
        choices=["source", "target"],
        help="side of the embeddings; if both sides share one matrix, the side of the text whose pieces count "
        "(default: both sides if they share one matrix, else source)",
    )
    parser.add_argument("--neighbours", nargs="+", metavar="WORD", help="print the nearest pieces of these words")
    parser.add_argument(
        "--analogy",
        nargs=3,
        action="append",
        metavar=("A", "B", "C"),
        help="print the pieces nearest to A - B + C, without these three words; may be repeated",
    )
    parser.add_argument(
        "--count", type=positive, default=10, metavar="N", help="number of answers per question (default: 10)"
    )
    parser.add_argument(
        "--minimum",
        type=count,
        metavar="N",
        help="leave out answers that occurred fewer than N times in training (default: 1)",
    )
    parser.add_argument(
        "--pieces",
        action="store_true",
        help="the given words are pieces as SentencePiece writes them (▁ begins a word)",
    )
    parser.add_argument("--plot", metavar="FILE", help="file for a drawing of words on two axes (.png, .svg or .pdf)")
    parser.add_argument("--words", nargs="+", metavar="WORD", help="words that --plot draws")
    parser.add_argument(
        "--most-frequent", type=positive, metavar="N", help="--plot draws the N most frequent words (default: 60)"
    )
    parser.add_argument("--export", metavar="FILE", help="file for all vectors, in word2vec's text format")


def run(arguments: Namespace) -> None:
    """Answers every question before anything is printed or written."""
    _check(arguments)
    translator = load_run(arguments.model, checkpoints=arguments.checkpoints)
    from nmt.explaining.embeddings import Embeddings

    found = Embeddings.of(translator, arguments.side)
    if arguments.minimum is not None and found.counts is None:
        raise NmtError(f"--minimum needs the counts of the training text: {arguments.model} has no corpus/")
    words = [found.find(word, arguments.pieces) for word in arguments.neighbours or ()]
    analogies = [[found.find(word, arguments.pieces) for word in three] for three in arguments.analogy or ()]
    limits = arguments.count, 1 if arguments.minimum is None else arguments.minimum
    neighbours = [found.neighbours(word, *limits) for word in words]
    solutions = [found.analogy(a, b, c, *limits) for a, b, c in analogies]
    drawn = _drawn(found, arguments) if arguments.plot else []
    projection = found.project(drawn) if arguments.plot else None
    _say_source(found, translator, arguments)
    _say_rare_words([*words, *(word for three in analogies for word in three), *drawn])
    for word, answers in zip(words, neighbours, strict=True):
        print(f"{word.text} = {_described(word)}")
        _print_answers([word], answers, limits[1])
    for three, answers in zip(analogies, solutions, strict=True):
        print("{} - {} + {}, these left out of the answers".format(*(word.text for word in three)))
        for word in three:
            print(f"  {word.text} = {_described(word)}")
        _print_answers(three, answers, limits[1])
    if projection is not None:
        _plot(drawn, projection, arguments)
    if arguments.export:
        path = found.export(arguments.export)
        say(f"{len(found.pieces):,} pieces, {found.vectors.shape[1]} numbers each, written to {path}")


def _check(arguments: Namespace) -> None:
    """Refuses contradictions before the model is loaded, which takes seconds."""
    if not (arguments.neighbours or arguments.analogy or arguments.plot or arguments.export):
        raise NmtError("there is no question: give --neighbours, --analogy, --plot or --export")
    if "-" in (arguments.plot, arguments.export):
        raise NmtError("standard output (-) has the answers: name files for --plot and --export")
    written = [path for path in (arguments.plot, arguments.export) if path]
    require_files_of_their_own([], written)
    require_writable(*written)
    if arguments.plot:
        from nmt.drawing import check_suffix

        check_suffix(Path(arguments.plot))
    else:
        refuse_idle(arguments, ["words", "most_frequent"], "chooses the words that --plot draws: give --plot FILE too")
    if not (arguments.neighbours or arguments.analogy):
        why = "says which answers are printed: give --neighbours or --analogy too"
        refuse_idle(arguments, ["count", "minimum"], why)
        if not arguments.words:
            why = "says how words are given: give --neighbours, --analogy or --words too"
            refuse_idle(arguments, ["pieces"], why)
    if arguments.words and arguments.most_frequent:
        raise NmtError("--words and --most-frequent both choose the words that --plot draws: give one of them")


def _drawn(found: Embeddings, arguments: Namespace) -> list[WordVector]:
    """The words that --plot draws: the given words, or the most frequent pieces without their word marks."""
    if arguments.words:
        return [found.find(word, arguments.pieces) for word in dict.fromkeys(arguments.words)]
    frequent = found.frequent(arguments.most_frequent or _MOST_FREQUENT)
    return [found.find(piece, piece=True)._replace(text=piece.lstrip("▁")) for piece in frequent]


def _say_source(found: Embeddings, translator: Translator, arguments: Namespace) -> None:
    """Says which vectors these are, and how much text they were trained on."""
    shared = translator.config.model.tie == "all"
    side = arguments.side or "source"
    whose = "both sides share" if shared else f"the {side} side has"
    say(f"embeddings that {whose}: {len(found.pieces):,} pieces, {found.vectors.shape[1]} numbers each")
    if found.counts is None:
        say(f"counts in the training text are unknown: {arguments.model} has no corpus/")
        return
    text = "the training text" if shared and not arguments.side else f"the {side} side of the training text"
    total, never = int(found.counts.pieces.sum()), int((found.counts.pieces[4:] == 0).sum())
    rare = int((found.counts.pieces[4:] < _rare()).sum()) - never
    say(f"{text} is {total:,} pieces long; {rare:,} pieces occur in it fewer than {_rare()} times, {never:,} never")


def _rare() -> int:
    """Number of occurrences below which a vector counts as rare."""
    from nmt.explaining.embeddings import RARE

    return RARE


def _say_rare_words(words: Sequence[WordVector]) -> None:
    for word in {word.text: word for word in words if word.rare}.values():
        say(
            f"'{word.text}' was seen {_times(word.word_count)} in training, fewer than {_rare()} times: "
            "its vector is mostly chance"
        )


def _described(word: WordVector) -> str:
    """The pieces of a word, and their counts in training."""
    pieces = " ".join(word.pieces)
    text = pieces if len(word.pieces) == 1 else f"mean of {len(word.pieces)} pieces: {pieces}"
    if word.piece_counts is None or word.word_count is None:
        return text
    *others, last = word.piece_counts
    seen = ", ".join([*(f"{count:,}" for count in others), _times(last)])
    return f"{text} (seen {seen}; as a whole word {_times(word.word_count)})"


def _times(count: int | None) -> str:
    return "once" if count == 1 else f"{count:,} times"


def _print_answers(question: Sequence[WordVector], answers: Sequence[Neighbour], minimum: int) -> None:
    """Prints the answers to a question; none for words that training never saw, unless --minimum 0 asks for them."""
    never = [f"'{word.text}'" for word in question if word.word_count == 0]
    if never and minimum:
        print(
            f"  no answers: training never saw {' and '.join(never)}; give words of the training text, or --minimum 0"
        )
        return
    print("  cosine     seen  piece")
    for piece, cosine, seen in answers:
        print(f"  {cosine:6.3f}  {'?' if seen is None else format(seen, ','):>7}  {piece}")


def _plot(words: Sequence[WordVector], projection: Projection, arguments: Namespace) -> None:
    from nmt.drawing import Dot, Legend, draw_words, save_figure

    points, shares = projection
    places = zip(words, points.tolist(), strict=True)
    dots = [Dot(word.text, x, y, word.rare, word.side == "target") for word, (x, y) in places]
    axes = tuple(f"axis {i}: {share:.1%} of the variance" for i, share in enumerate(shares, start=1))
    chosen = f"{len(dots)} chosen words" if arguments.words else f"the {len(dots)} words seen most often"
    title = f"{Path(arguments.model).resolve().name}{f', {arguments.side}' if arguments.side else ''}: {chosen}"
    sides = ("source", "target") if any(word.side for word in words) else ("", "")
    legend = Legend(f"seen fewer than {_rare()} times", *sides)
    figure, unnamed = draw_words(dots, title, (axes[0], axes[1]), legend)
    path = save_figure(figure, arguments.plot)
    say(
        f"{len(dots):,} words drawn, {unnamed:,} of them without their names for lack of space; the two axes explain "
        f"{shares[0]:.1%} and {shares[1]:.1%} of the variance; written to {path}"
    )
