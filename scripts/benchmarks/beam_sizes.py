"""BLEU and speed of a trained model by beam size, precision, pruning and length of the short list.

    python scripts/benchmarks/beam_sizes.py --model saved_models/multi30k-tok-en-de --tokenize none \\
        --source data/multi30k/tok/val.en --reference data/multi30k/tok/val.de

The beam sizes alternate for --repeats rounds; a first round warms up and does not count. Each round also translates the
first --alone sentences one at a time. The script prints a table, and writes table.md, points.csv and curve.png into
--output.
"""

from __future__ import annotations

import argparse
import csv
import os
import statistics
import sys
import time
from dataclasses import dataclass, fields, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.benchmarking.machine import describe
from benchmarks.benchmarking.report import headline, in_range
from common.running import run_script
from nmt.cli.quiet import quiet_start
from nmt.errors import NmtError
from nmt.text.lines import read_lines

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from nmt import Translation, Translator
    from nmt.config import SearchConfig

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

COLOURS = {"float32": "#4477aa", "mixed_bfloat16": "#ee6677", "mixed_float16": "#228833"}
STYLES = ("-o", "--s", ":^", "-.D")
"""Line styles, one for each pair of pruning and short list."""


class Case(NamedTuple):
    """A search that is measured."""

    precision: str
    prune: float
    """Nats, see `SearchConfig.prune`; 0: no pruning."""
    short_list: int
    """See `SearchConfig.short_list`; 0: the search takes all pieces."""
    beam: int

    @property
    def line(self) -> str:
        """The name of the line in the figure: all settings but the beam size."""
        flags = {"--prune": self.prune, "--short-list": self.short_list}
        return ", ".join([self.precision, *(f"{flag} {value:g}" for flag, value in flags.items() if value)])


@dataclass(frozen=True)
class Point:
    """The measurements of a case."""

    case: Case
    bleu: float
    words: float
    """Words of the translations as a share of the words of the references."""
    log_probability: float
    """Mean log-probability of a translation in nats."""
    slowest: float
    """Sentences per second in the slowest round."""
    speed: float
    """Median of the sentences per second."""
    fastest: float
    """Sentences per second in the fastest round."""
    alone: float
    """Median milliseconds of a sentence that is translated alone."""

    @classmethod
    def header(cls) -> list[str]:
        """Names of the columns of `row`."""
        return [*Case._fields, *(field.name for field in fields(cls) if field.name != "case")]

    def row(self) -> list[object]:
        """All values in one row."""
        return [*self.case, *(getattr(self, name) for name in self.header()[len(self.case) :])]


def main() -> None:
    """Measures, prints a table, and writes the table, the points and a curve."""
    arguments = parse()
    points = measure(arguments)
    text = f"{headline(describe())}\n{table(points)}\n"
    arguments.output.mkdir(parents=True, exist_ok=True)
    (arguments.output / "table.md").write_text(text, encoding="utf-8")
    with open(arguments.output / "points.csv", "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([Point.header(), *(point.row() for point in points)])
    from nmt import save_figure

    save_figure(draw(points), arguments.output / "curve.png")
    print(text, end="")
    print(f"results: {arguments.output}/table.md, points.csv, curve.png", file=sys.stderr)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True, help="run directory written by nmt train")
    parser.add_argument("--source", required=True, help="sentences to translate, one per line")
    parser.add_argument("--reference", required=True, help="their translations")
    parser.add_argument("--tokenize", default="13a", help="sacrebleu's tokenizer (default: %(default)s)")
    parser.add_argument("--beams", nargs="+", type=int, default=[1, 2, 3, 5, 8, 12, 20])
    parser.add_argument(
        "--precision", nargs="+", choices=list(COLOURS), default=["float32"], help="default: %(default)s"
    )
    parser.add_argument("--prune", nargs="+", type=float, default=[0.0], help="nats; 0: no pruning (default: 0)")
    parser.add_argument(
        "--short-list", nargs="+", type=int, default=[0], help="0: the search takes all pieces (default: 0)"
    )
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--alone", type=int, default=50, help="sentences that are translated one at a time")
    parser.add_argument("--output", type=Path, default=Path("saved_models/beam-sizes"))
    arguments = parser.parse_args()
    if min(*arguments.beams, arguments.repeats, arguments.alone) < 1:
        parser.error("--beams, --repeats and --alone: expected 1 or more")
    if min(*arguments.prune, *arguments.short_list) < 0:
        parser.error("--prune and --short-list: expected 0 or more")
    if len(arguments.prune) * len(arguments.short_list) > len(STYLES):
        parser.error(f"--prune and --short-list: expected at most {len(STYLES)} combinations of their values")
    return arguments


def measure(arguments: argparse.Namespace) -> list[Point]:
    """Translates with every case in alternation; one point for each case."""
    with quiet_start():
        from nmt import Translator
        from nmt.evaluation.bleu_and_chrf import require_tokenizer

    sentences, references = (list(read_lines(path)) for path in (arguments.source, arguments.reference))
    if len(sentences) != len(references) or not sentences:
        counts = f"{arguments.source} has {len(sentences)} lines and {arguments.reference} {len(references)}"
        raise NmtError(f"{counts}: expected as many references as sentences, and at least one")
    require_tokenizer(arguments.tokenize)  # checked before the long rounds
    models = {name: Translator.load(arguments.model, precision=name) for name in arguments.precision}
    settings = product(arguments.precision, arguments.prune, arguments.short_list, arguments.beams)
    rounds: dict[Case, list[Round]] = {Case(*values): [] for values in settings}
    for number in range(arguments.repeats + 1):
        for case in rounds:
            rounds[case].append(run_round(models[case.precision], case, sentences, arguments.alone if number else 0))
            print(
                f"round {number}/{arguments.repeats}  {case.line}, beam {case.beam}: {rounds[case][-1].seconds:.1f} s",
                file=sys.stderr,
            )
    return [make_point(case, found[1:], references, arguments.tokenize) for case, found in rounds.items()]


class Round(NamedTuple):
    """One translation of all sentences."""

    translations: list[Translation]
    seconds: float
    alone: list[float]
    """Milliseconds of each sentence that is translated alone."""


def run_round(translator: Translator, case: Case, sentences: list[str], alone: int) -> Round:
    """Translates all sentences at once, then the first ones alone."""
    search = replace(translator.config.search, beam_size=case.beam, prune=case.prune, short_list=case.short_list)
    begin = time.perf_counter()
    translations = list(translator.translate(sentences, search))
    seconds = time.perf_counter() - begin
    return Round(translations, seconds, [_milliseconds(translator, one, search) for one in sentences[:alone]])


def _milliseconds(translator: Translator, sentence: str, search: SearchConfig) -> float:
    begin = time.perf_counter()
    list(translator.translate([sentence], search))
    return 1000 * (time.perf_counter() - begin)


def make_point(case: Case, rounds: list[Round], references: list[str], tokenize: str) -> Point:
    """Quality of the last round's translations, and the speeds of all rounds."""
    from nmt.evaluation.bleu_and_chrf import bleu

    translations = rounds[-1].translations
    speeds = [len(references) / one.seconds for one in rounds]
    return Point(
        case,
        bleu=bleu([one.text for one in translations], references, tokenize).value,
        words=sum(len(one.text.split()) for one in translations) / sum(len(line.split()) for line in references),
        log_probability=statistics.mean(one.log_probability for one in translations),
        slowest=min(speeds),
        speed=statistics.median(speeds),
        fastest=max(speeds),
        alone=statistics.median(seconds for one in rounds for seconds in one.alone),
    )


def table(points: list[Point]) -> str:
    """Markdown, a row for each point."""
    rows = [
        f"| {point.case.line} | {point.case.beam} | {point.bleu:.2f} | {point.words:.3f} | "
        f"{point.log_probability:.3f} | "
        f"{in_range((point.slowest, point.speed, point.fastest), 0)} | {point.alone:.1f} |"
        for point in points
    ]
    head = (
        "| precision | beam | BLEU | length / references | log-probability | sentences per second | one at a time, ms |"
    )
    return "\n".join([head, "| --- | ---: | ---: | ---: | ---: | ---: | ---: |", *rows])


def draw(points: list[Point]) -> Figure:
    """BLEU against speed, a line for each precision, pruning and short list. Each point shows its beam size, and the
    range of its speeds as a bar."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4), layout="constrained")
    axes = figure.subplots()
    shortcuts = list(dict.fromkeys((point.case.prune, point.case.short_list) for point in points))
    for line in dict.fromkeys(point.case.line for point in points):
        of = [point for point in points if point.case.line == line]
        case = of[0].case
        colour, style = COLOURS[case.precision], STYLES[shortcuts.index((case.prune, case.short_list))]
        speeds = [point.speed for point in of]
        ends = [[point.speed - point.slowest for point in of], [point.fastest - point.speed for point in of]]
        heights = [point.bleu for point in of]
        axes.errorbar(speeds, heights, xerr=ends, fmt=style, ms=4, lw=1, color=colour, label=line)
        for point in of:
            place = point.speed, point.bleu
            axes.annotate(str(point.case.beam), place, (0, 5), textcoords="offset points", ha="center", color=colour)
    axes.set_xscale("log")
    ticks = [tick for tick in (5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000) if _near(tick, points)]
    axes.set_xticks(ticks, [str(tick) for tick in ticks])
    axes.minorticks_off()
    axes.set_xlabel("sentences per second; each point shows its beam size")
    axes.set_ylabel("BLEU")
    axes.margins(y=0.12)
    axes.grid(color="#dddddd", linewidth=0.5)
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside upper left", ncols=2, frameon=False, fontsize=8)
    return figure


def _near(tick: float, points: list[Point]) -> bool:
    speeds = [point.speed for point in points]
    return min(speeds) / 2 <= tick <= max(speeds) * 2


if __name__ == "__main__":
    sys.exit(run_script(main))
