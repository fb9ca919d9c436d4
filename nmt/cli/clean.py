"""`nmt clean`: a parallel corpus without its bad pairs, and why each of these is left out."""

from __future__ import annotations

import dataclasses
from argparse import Namespace
from array import array
from collections import Counter
from collections.abc import Iterator
from itertools import tee
from pathlib import Path
from typing import Literal

from nmt.cli.files import require_files_of_their_own
from nmt.cli.flags import add_model_flags, with_dashes
from nmt.cli.loading import lines_of, load_models, say
from nmt.cli.parser import Parser, as_flags, finite, refuse_idle, share
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

_BY: Literal["unusual"] = "unusual"
WORST = 0.05
"""Share of the pairs that a model drops unless the command line says otherwise."""


DESCRIPTION = (
    "Writes the good pairs of a parallel corpus, as they are and in their order, and says how many it drops "
    "by which rule; --report has each of these. With --model, also drops the pairs that a trained model finds most "
    "unusual, as nmt explain does. Files whose names end in .gz are read and written compressed."
)


def add_flags(parser: Parser) -> None:
    add_model_flags(parser, required=False)
    parser.add_argument("--source", required=True, metavar="FILE", help="source sentences, one a line")
    parser.add_argument("--target", required=True, metavar="FILE", help="their translations, line by line")
    parser.add_argument("--output-source", required=True, metavar="FILE", help="source sentences of the pairs kept")
    parser.add_argument("--output-target", required=True, metavar="FILE", help="their translations")
    parser.add_argument(
        "--report", metavar="FILE", help="the pairs dropped: line, rule, value, threshold, source, target; tabs between"
    )
    parser.add_argument(
        "--by",
        choices=["unusual", "unlikely"],
        help="with --model: unusual, the score of nmt explain; unlikely, minus the log-probability a target piece, in "
        "nats (default: unusual)",
    )
    limit = parser.add_mutually_exclusive_group()
    limit.add_argument(
        "--worst",
        type=share,
        metavar="SHARE",
        help="with --model: the share of the pairs left by the rules that is dropped, the worst (default: 0.05)",
    )
    limit.add_argument(
        "--threshold",
        type=finite,
        metavar="X",
        help="with --model: drop the pairs that are unusual or unlikely by more than this",
    )
    rules = parser.add_argument_group("rules", "The first that hits drops a pair. A number of 0 switches a rule off.")
    add_settings(rules, settings_of(Rules), spell=with_dashes)


def run(arguments: Namespace) -> None:
    """`nmt clean`: streams the pairs to learn what is usual, for a model, and to write them."""
    names = (field.name for field in dataclasses.fields(Rules))
    with as_flags(Rules):
        rules = Rules(**{name: value for name in names if (value := getattr(arguments, name)) is not None})
    _check(arguments)
    written = [path for path in (arguments.output_source, arguments.output_target, arguments.report) if path]
    with open_outputs(written) as files:
        outputs, report = files[:2], files[2] if arguments.report else None
        usual, total = None, None
        if not _read_once(arguments):
            reading = LineProgress()
            usual = learn_statistics(reading.over(_pairs(arguments)), rules.sample)
            total = reading.count
        judged = judge(_pairs(arguments), rules, usual)
        if arguments.model:
            judged = _with_model(judged, arguments.by or _BY, *_scores(arguments, rules, usual, total))
        counts = _write(LineProgress(total).over(judged), outputs, report)
    _summarize(counts, arguments)


def _check(arguments: Namespace) -> None:
    """What can be refused before anything is read or loaded."""
    report = [arguments.report] if arguments.report else []
    outputs = [arguments.output_source, arguments.output_target, *report]
    require_files_of_their_own([arguments.source, arguments.target], outputs)
    if not arguments.model:
        refuse_idle(arguments, ["by", "worst", "threshold"], "says what a model drops: give --model too")
        refuse_idle(arguments, ["checkpoints", "averaging", "precision"], "is for a model: give --model too")
    if arguments.model and (path := _read_once(arguments)):
        raise NmtError(f"{path}: can be read only once, and --model needs the pairs again: use files")


def _read_once(arguments: Namespace) -> str:
    """An input that is standard input or a pipe; "" where there is none."""
    once = (path for path in (arguments.source, arguments.target) if path == "-" or is_stream(Path(path)))
    return next(once, "")


def _pairs(arguments: Namespace) -> Iterator[RawPair]:
    return raw_pairs(arguments.source, arguments.target)


def _scores(
    arguments: Namespace, rules: Rules, usual: CorpusStatistics | None, total: int | None
) -> tuple[list[float], float]:
    """How bad a model finds each pair that the rules keep, of `total` at most, NaN where a side is blank; and the limit
    to keep."""
    import numpy as np

    from nmt.explaining.unusual_pairs import MEASURES, find_outliers, measure_pair

    translator = load_models(arguments)
    judged = judge(_pairs(arguments), rules, usual)
    sources, targets = tee((_text(one), _text(other)) for (one, other), fault in judged if fault is None)
    progress, numbers, cut = lines_of(total), array("d"), 0
    for pair in progress.over(translator.align((source for source, _ in sources), (target for _, target in targets))):
        numbers.extend(measure_pair(pair.alignment, pair.log_probability, len(pair.pieces)).row())
        cut += pair.truncated
    if cut:
        say(f"{cut} pairs have a side that is longer than the model takes; of these it read the beginning alone")
    say(f"{progress.count} pairs read by the model in {progress.seconds:.1f} s ({progress.speed})")
    measures = np.frombuffer(numbers).reshape(-1, len(MEASURES))
    found = find_outliers(measures).scores if (arguments.by or _BY) == "unusual" else -measures[:, 0]
    scores = np.where(np.isfinite(found), found, np.nan).tolist()
    if arguments.threshold is not None:
        return scores, arguments.threshold
    return scores, score_limit(scores, WORST if arguments.worst is None else arguments.worst)


def _with_model(
    judged: Iterator[tuple[RawPair, Fault | None]],
    by: Literal["unusual", "unlikely"],
    scores: list[float],
    limit: float,
) -> Iterator[tuple[RawPair, Fault | None]]:
    """The same pairs, where those that the rules keep can be dropped by their scores."""
    rest = iter(scores)
    for pair, fault in judged:
        yield pair, fault or model_fault(by, next(rest), limit)


def _write(
    judged: Iterator[tuple[RawPair, Fault | None]], outputs: list[ByteOutput], report: ByteOutput | None
) -> Counter[str]:
    """Writes each pair where it belongs.

    Returns:
        How many pairs were dropped by each rule, and under "" how many were kept.
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
    report = f"; why the others are not: {arguments.report}" if arguments.report else ""
    say(f"the pairs kept are in {arguments.output_source} and {arguments.output_target}{report}")
