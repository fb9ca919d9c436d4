"""Gold alignments, which `nmt align` and `nmt evaluate` compare with."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from nmt.cli.files import require_same_length
from nmt.cli.parser import Parser, refuse_idle
from nmt.errors import NmtError
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
        sentences: number of sentences, which the gold alignment must have; None: unknown.
    """
    from nmt.alignment.pharaoh_and_naacl import read_gold

    if arguments.gold is None:
        refuse_idle(arguments, ["gold_format", "gold_base"], "says how to read --gold: name that file too")
        return None
    lines = read_lines(arguments.gold)
    gold = read_gold(lines, arguments.gold, arguments.gold_format, arguments.gold_base, sentences)
    require_same_length({source: sentences, arguments.gold: len(gold)})
    if not any(links.possible for links in gold):
        raise NmtError(f"{arguments.gold}: has no links, so nothing can be measured with it")
    return gold


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
    from nmt.alignment.links import require_in_range
    from nmt.evaluation.bleu_and_chrf import require_tokenizer

    require_tokenizer(tokenize)
    for number, links in enumerate(gold, start=1):
        pair = words[0](sources[number - 1]), words[1](references[number - 1])
        require_in_range(links, *pair, f"{gold_path}, sentence {number}")


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
