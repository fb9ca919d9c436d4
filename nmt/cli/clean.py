"""`nmt clean`: a parallel corpus without its bad pairs, and the reason for each dropped pair."""

from __future__ import annotations

from argparse import Namespace
from array import array
from collections import Counter
from collections.abc import Iterator
from itertools import tee
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from nmt.cli.files import require_files_of_their_own
from nmt.cli.flags import add_model_flags, add_source_flag, add_target_flag, settings_from_flags, with_dashes
from nmt.cli.loading import lines_of, load_models, say
from nmt.cli.parser import Parser, finite, refuse_idle, share
from nmt.config.fields import settings_of
from nmt.config.flags import add_settings
from nmt.errors import NmtError
from nmt.files.outputs import ByteOutput, open_outputs
from nmt.files.paths import is_stream
from nmt.progress import LineProgress
from nmt.text.cleaning import (
    RULE_NAMES,
    CorpusStatistics,
    Fault,
    RawPair,
    Rules,
    judge,
    learn_statistics,
    model_fault,
    score_limit,
)
from nmt.text.formats import raw_pairs

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_BY: Literal["unusual"] = "unusual"
_WORST = 0.05
"""Share of the pairs that a model drops by default."""

DESCRIPTION = (
    "Writes the good pairs of a parallel corpus, unchanged and in their order, and counts the dropped pairs by rule. "
    "--report lists every dropped pair. With --model, it also drops the pairs that a trained model finds most unusual, "
    "with the score of nmt explain. Files whose names end in .gz are read and written compressed."
)


def add_flags(parser: Parser) -> None:
    add_model_flags(parser, required=False)
    add_source_flag(parser)
    add_target_flag(parser)
    parser.add_argument("--output-source", required=True, metavar="FILE", help="file for the sources of the kept pairs")
    parser.add_argument("--output-target", required=True, metavar="FILE", help="file for the targets of the kept pairs")
    parser.add_argument(
        "--report",
        metavar="FILE",
        help="file for the dropped pairs, with tabs between line, rule, value, threshold, source and target",
    )
    parser.add_argument(
        "--by",
        choices=["unusual", "unlikely"],
        help="with --model: score of a pair; unusual, the score of nmt explain; unlikely, the negative log-probability "
        "per target piece, in nats (default: unusual)",
    )
    limit = parser.add_mutually_exclusive_group()
    limit.add_argument(
        "--worst",
        type=share,
        metavar="SHARE",
        help="with --model: drop this share of the pairs that the rules keep, the worst ones (default: 0.05)",
    )
    limit.add_argument(
        "--threshold",
        type=finite,
        metavar="X",
        help="with --model: drop the pairs with a higher score than this",
    )
    rules = parser.add_argument_group(
        "rules", "The first rule that a pair breaks drops it. The number 0 switches a rule off."
    )
    add_settings(rules, settings_of(Rules), spell=with_dashes)


def run(arguments: Namespace) -> None:
    """Reads the pairs to learn the usual values, again for a model's scores, and again to write them."""
    rules = settings_from_flags(Rules, arguments)
    _check(arguments)
    written = [path for path in (arguments.output_source, arguments.output_target, arguments.report) if path]
    with open_outputs(written) as files:
        outputs, report = files[:2], files[2] if arguments.report else None
        usual, total = None, None
        if not _stream(arguments):
            reading = LineProgress(unit="pairs")
            usual = learn_statistics(reading.over(_pairs(arguments)), rules.sample)
            total = reading.count
        judged = judge(_pairs(arguments), rules, usual)
        if arguments.model:
            judged = _with_model(judged, arguments.by or _BY, *_scores(arguments, rules, usual, total))
        counts = _write(LineProgress(total, unit="pairs").over(judged), outputs, report)
    _summarize(counts, arguments)


def _check(arguments: Namespace) -> None:
    """Refuses contradictions before anything is read or loaded."""
    report = [arguments.report] if arguments.report else []
    outputs = [arguments.output_source, arguments.output_target, *report]
    require_files_of_their_own([arguments.source, arguments.target], outputs)
    if not arguments.model:
        refuse_idle(arguments, ["by", "worst", "threshold"], "is for the pairs that a model drops: give --model too")
        refuse_idle(arguments, ["checkpoints", "averaging", "precision"], "is for a model: give --model too")
    if arguments.model and (path := _stream(arguments)):
        raise NmtError(f"{path}: can be read only once, and --model needs the pairs again: use files")


def _stream(arguments: Namespace) -> str:
    """The first input that is standard input or a pipe; "" if both are files."""
    streams = (path for path in (arguments.source, arguments.target) if path == "-" or is_stream(Path(path)))
    return next(streams, "")


def _pairs(arguments: Namespace) -> Iterator[RawPair]:
    return raw_pairs(arguments.source, arguments.target)


def _scores(
    arguments: Namespace, rules: Rules, usual: CorpusStatistics | None, total: int | None
) -> tuple[list[float], float]:
    """A model's score of each pair that the rules keep, NaN if a side is empty, and the highest score to keep.

    Args:
        arguments: of the command line.
        rules: judge the pairs first.
        usual: usual values of the corpus; None: learned from its first pairs.
        total: number of pairs in the corpus.
    """
    import numpy as np

    from nmt.explaining.unusual_pairs import find_outliers

    measures = _measures(arguments, judge(_pairs(arguments), rules, usual), total)
    found = find_outliers(measures).scores if (arguments.by or _BY) == "unusual" else -measures[:, 0]
    scores = np.where(np.isfinite(found), found, np.nan).tolist()
    if arguments.threshold is not None:
        return scores, arguments.threshold
    return scores, score_limit(scores, _WORST if arguments.worst is None else arguments.worst)


def _measures(
    arguments: Namespace, judged: Iterator[tuple[RawPair, Fault | None]], total: int | None
) -> NDArray[np.float64]:
    """[pairs, measures]: a model's measures of each pair that the rules keep."""
    import numpy as np

    from nmt.explaining.pair_measures import MEASURES, measure_pair

    translator = load_models(arguments)
    sources, targets = tee((_text(one), _text(other)) for (one, other), fault in judged if fault is None)
    progress, numbers, cut = lines_of(total), array("d"), 0
    for pair in progress.over(translator.align((source for source, _ in sources), (target for _, target in targets))):
        numbers.extend(measure_pair(pair.alignment, pair.log_probability, len(pair.pieces)).row())
        cut += pair.truncated
    if cut:
        say(f"{cut} pairs have a side that is longer than the model takes; it read only the beginning of these sides")
    say(f"{progress.count} pairs read by the model in {progress.seconds:.1f} s ({progress.speed})")
    return np.frombuffer(numbers).reshape(-1, len(MEASURES))


def _with_model(
    judged: Iterator[tuple[RawPair, Fault | None]],
    by: Literal["unusual", "unlikely"],
    scores: list[float],
    limit: float,
) -> Iterator[tuple[RawPair, Fault | None]]:
    """Passes the pairs on; a pair that the rules keep is dropped if its score is above the limit."""
    rest = iter(scores)
    for pair, fault in judged:
        yield pair, fault or model_fault(by, next(rest), limit)


def _write(
    judged: Iterator[tuple[RawPair, Fault | None]], outputs: list[ByteOutput], report: ByteOutput | None
) -> Counter[str]:
    """Writes kept pairs to the outputs and dropped pairs to the report.

    Returns:
        The number of dropped pairs by rule, and of kept pairs by "".
    """
    counts: Counter[str] = Counter()
    if report is not None:
        report.write(b"line\trule\tvalue\tthreshold\tsource\ttarget\n")
    for line, (pair, fault) in enumerate(judged, start=1):
        counts[fault.rule if fault else ""] += 1
        if fault is None:
            for output, text in zip(outputs, pair, strict=True):
                output.write(text + b"\n")
        elif report is not None:
            numbers = _number(fault.value), _number(fault.threshold)
            report.write("\t".join([str(line), fault.rule, *numbers, *map(_cell, pair)]).encode() + b"\n")
    return counts


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", errors="replace").strip()


def _cell(raw: bytes) -> str:
    return raw.decode("utf-8", errors="replace").replace("\t", " ").replace("\r", " ")


def _number(value: str | float | None) -> str:
    return "" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)


def _summarize(counts: Counter[str], arguments: Namespace) -> None:
    total = counts.total()
    say(f"{total} pairs read, {counts['']} kept, {total - counts['']} dropped")
    for rule in RULE_NAMES:
        if counts[rule]:
            say(f"  {rule:9} {counts[rule]:>9,}  ({counts[rule] / total:.2%})")
    report = f"; the dropped pairs are in {arguments.report}" if arguments.report else ""
    say(f"the kept pairs are in {arguments.output_source} and {arguments.output_target}{report}")
