"""Gold alignments, which `nmt align` and `nmt evaluate` compare with."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from nmt.cli.files import require_same_length
from nmt.cli.parser import Parser, refuse_idle
from nmt.errors import NmtError
from nmt.progress import counted
from nmt.text.lines import read_lines

if TYPE_CHECKING:
    from nmt.alignment.links import Gold, Links
    from nmt.evaluation.word_classes import WordClass
    from nmt.text.languages import Words


def add_gold_format_flags(parser: Parser) -> None:
    parser.add_argument(
        "--gold-format",
        choices=["pharaoh", "naacl"],
        default="pharaoh",
        help="format of --gold: pharaoh has a line per sentence, such as 0-0 1-2 3p4; naacl has a line per link, such "
        "as 1 3 2 S (default: pharaoh)",
    )
    parser.add_argument(
        "--gold-base",
        type=int,
        choices=[0, 1],
        help="number of the first word in --gold (default: 0 for pharaoh, 1 for naacl)",
    )


def read_gold_flags(arguments: Namespace, source: str, sentences: int | None) -> list[Gold] | None:
    """The gold alignment that the command line names; None if it names none.

    Args:
        arguments: of the command line.
        source: names the sentences in messages.
        sentences: number of sentences, which the gold alignment must have; None: unknown, see `whole_gold`.
    """
    from nmt.alignment.pharaoh_and_naacl import read_gold

    if arguments.gold is None:
        refuse_idle(arguments, ["gold_format", "gold_base"], "says how to read --gold: name that file too")
        return None
    lines = read_lines(arguments.gold)
    gold = read_gold(lines, arguments.gold, arguments.gold_format, arguments.gold_base, sentences)
    if not any(links.possible for links in gold):
        raise NmtError(f"{arguments.gold}: has no links, so nothing can be measured with it")
    return gold if sentences is None else whole_gold(arguments, gold, source, sentences)


def whole_gold(arguments: Namespace, gold: Sequence[Gold], source: str, sentences: int) -> list[Gold]:
    """The gold links of all sentences: a file in NAACL format leaves out sentences without links.

    Args:
        arguments, source: of `read_gold_flags`.
        gold: its result.
        sentences: number of sentences.

    Raises:
        NmtError: the gold alignment has another number of sentences.
    """
    from nmt.alignment.links import Gold

    if arguments.gold_format == "pharaoh":
        require_same_length({source: sentences, arguments.gold: len(gold)})
    elif len(gold) > sentences:
        raise NmtError(
            f"{arguments.gold}: has links of sentence {len(gold):,}, but {source} has {counted(sentences, 'sentence')}"
        )
    return [*gold, *([Gold(frozenset(), frozenset())] * (sentences - len(gold)))]


def require_measurable(
    sources: Sequence[str],
    references: Sequence[str],
    tokenize: str,
    gold: Sequence[Gold],
    gold_path: str,
    words: tuple[Words, Words],
) -> None:
    """Refuses an unknown tokenizer, or gold links beyond the end of a sentence, before any work is done.

    Args:
        sources: source sentences.
        references: their reference translations.
        tokenize: name of sacreBLEU's tokenizer.
        gold: gold links of each pair; may be empty.
        gold_path: names the gold alignment in the message.
        words: how the words of source and reference are cut.
    """
    from nmt.evaluation.bleu_and_chrf import require_tokenizer

    require_tokenizer(tokenize)
    require_gold_in_range(gold, zip(sources, references, strict=True), gold_path, words)


def require_gold_in_range(
    gold: Sequence[Gold], pairs: Iterable[tuple[str, str]], path: str, words: tuple[Words, Words]
) -> None:
    """Refuses gold links to words that the sentences lack.

    Args:
        gold: gold links of each pair; may be empty.
        pairs: sources and targets.
        path: names the gold alignment in the message.
        words: how the words of both sides are cut.
    """
    from nmt.alignment.links import require_in_range

    for number, (links, sides) in enumerate(zip(gold, pairs, strict=False), start=1):
        source, target = (cut(side) for cut, side in zip(words, sides, strict=True))
        require_in_range(links, source, target, f"{path}, sentence {number}")


def print_alignment_score(
    predicted: Iterable[Links],
    gold: Sequence[Gold],
    pairs: Iterable[tuple[Sequence[str], Sequence[str]]] = (),
    classes: Sequence[WordClass] = (),
) -> dict[str, Any]:
    """Prints the alignment error rate with its bootstrap interval; returns all values by name.

    Args:
        predicted: links of each sentence.
        gold: gold links of each sentence.
        pairs: the words of both sides of each sentence, for classes.
        classes: word classes, whose links are also measured apart.
    """
    from nmt.evaluation.alignment_bootstrap import aer_interval
    from nmt.evaluation.alignment_error_rate import alignment_score, link_counts, score_of_counts

    links = list(predicted)
    counts = link_counts(links, gold)
    score, interval = score_of_counts(counts), aer_interval(counts)
    print(f"{score}, 95 % interval {interval}")
    results: dict[str, Any] = score._asdict() | {"interval": list(interval)}
    words = list(pairs)
    for one in classes:
        of_class = alignment_score(
            [one.links(found, *pair) for found, pair in zip(links, words, strict=True)],
            [one.gold(of_pair, *pair) for of_pair, pair in zip(gold, words, strict=True)],
        )
        print(f"  {one.name}: {of_class}")
        results.setdefault("classes", {})[one.name] = of_class._asdict()
    return results


def add_classes_flag(parser: Parser) -> None:
    parser.add_argument(
        "--classes",
        metavar="FILE",
        help="word classes, whose links are also measured apart: on each line a name, a tab, source words, a tab and "
        "target words",
    )


def read_classes(path: str | None) -> list[WordClass]:
    """The word classes of a file; none without a file."""
    from nmt.evaluation.word_classes import read_word_classes

    return read_word_classes(read_lines(path), path) if path else []
