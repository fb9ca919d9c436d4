"""The time of an update against sentence length and vocabulary, and the cost model it should follow."""

from __future__ import annotations

import statistics
import time
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.benchmarking.cases import SIZES
from benchmarks.benchmarking.machine import memory_of_training

TOKENS = 4096
"""Of a batch, source and target each."""
LENGTHS = (10, 20, 40, 80, 120, 160, 200)
VOCABULARIES = (2000, 4000, 8000, 16000, 32000, 64000)
PLAIN_LENGTH, PLAIN_VOCABULARY = 20, 8000


class Point(NamedTuple):
    """A batch of equally long sentences."""

    length: int
    vocabulary: int

    @property
    def rows(self) -> int:
        """Sentences."""
        return TOKENS // self.length


def points() -> list[Point]:
    """The lengths at the plain vocabulary, then the vocabularies at the plain length."""
    across = [Point(length, PLAIN_VOCABULARY) for length in LENGTHS]
    return across + [Point(PLAIN_LENGTH, size) for size in VOCABULARIES if size != PLAIN_VOCABULARY]


def measure(point: Point, size: str, precision: str, repeats: int) -> dict[str, float]:
    """Median seconds of an update on random ids, and peak memory."""
    from nmt.backend.machine import configure_runtime
    from nmt.batches.arrays import Batch
    from nmt.network.losses.output_loss import slices_for
    from nmt.network.model import Seq2Seq
    from nmt.training.optimizer import Adam
    from nmt.training.step import TrainStep

    configure_runtime()  # as training does
    ids = np.random.default_rng(1).integers(4, point.vocabulary, (point.rows, point.length)).astype(np.int32)
    model = Seq2Seq(SIZES[size], point.vocabulary, point.vocabulary, seed=1, dtype=precision)
    model.build()
    model.limit_attention_memory(point.rows * point.length**2)
    optimizer = Adam(0.001, global_clipnorm=1.0, use_ema=True, ema_momentum=0.999)
    optimizer.build(model.trainable_variables)
    step = TrainStep(model, optimizer, 0.1, slices_for(ids.size, point.vocabulary))
    seconds = []
    for _ in range(repeats + 2):  # the first compiles, the second allocates
        begin = time.perf_counter()
        step(Batch(ids, ids, ids))
        seconds.append(time.perf_counter() - begin)
    return {"seconds": statistics.median(seconds[2:]), "peak_memory_mib": memory_of_training()}


def terms(point: Point) -> list[float]:
    """What the cost model adds up, each with a coefficient of its own.

    A step of the loops, a token, a source position that a token attends to, a piece of the vocabulary that a token is
    scored against, a row of the embeddings that is updated.
    """
    tokens = point.rows * point.length
    return [point.length, tokens, tokens * point.length, tokens * point.vocabulary, point.vocabulary]


def fit(seconds: dict[Point, float]) -> dict[Point, float]:
    """Seconds that the cost model gives, its coefficients fitted by least squares of the relative errors.

    Nothing costs less than no time: of all choices of terms whose coefficients are not negative the best is taken.
    """
    measured = np.array(list(seconds.values()))
    rows = np.array([terms(point) for point in seconds], float)
    rows /= rows.max(axis=0)
    fitted = []
    for count in range(1, rows.shape[1] + 1):
        for chosen in combinations(range(rows.shape[1]), count):
            some = rows[:, chosen]
            coefficients, *_ = np.linalg.lstsq(some / measured[:, None], np.ones(len(measured)), rcond=None)
            if (coefficients >= 0).all():
                fitted.append(some @ coefficients)
    best = min(fitted, key=lambda values: np.sum((values / measured - 1) ** 2))
    return dict(zip(seconds, best.tolist(), strict=True))


def table(found: dict[Point, dict[str, float]]) -> str:
    """Markdown: each point, the model's value and how far it is off."""
    expected = fit({point: values["seconds"] for point, values in found.items()})
    lines = ["| length | vocabulary | tokens/s | cost model | measured / model | peak memory |"]
    lines.append("| ---: " * 6 + "|")
    for point, values in found.items():
        tokens = point.rows * point.length
        lines.append(
            f"| {point.length} | {point.vocabulary} | {tokens / values['seconds']:,.0f} | "
            f"{tokens / expected[point]:,.0f} | {values['seconds'] / expected[point]:.2f} | "
            f"{values['peak_memory_mib']:,.0f} MiB |"
        )
    return "\n".join(lines)


def plot(found: dict[Point, dict[str, Any]], path: Path) -> None:
    """Tokens a second against length and against vocabulary, the cost model as a line."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    expected = fit({point: values["seconds"] for point, values in found.items()})
    figure, both = pyplot.subplots(1, 2, figsize=(9, 3.4), layout="constrained", sharey=True)
    by_length = sorted(point for point in found if point.vocabulary == PLAIN_VOCABULARY)
    by_vocabulary = sorted(point for point in found if point.length == PLAIN_LENGTH)
    for axes, chosen, field in ((both[0], by_length, "length"), (both[1], by_vocabulary, "vocabulary")):
        across = [getattr(point, field) for point in chosen]
        tokens = np.array([point.rows * point.length for point in chosen])
        axes.plot(across, tokens / [found[p]["seconds"] for p in chosen], "o", color="#4477aa", label="measured")
        axes.plot(across, tokens / [expected[p] for p in chosen], color="#bbbbbb", label="cost model", zorder=0)
        axes.set_xlabel(f"{field}, pieces")
        axes.set_xscale("log")
        axes.set_xticks(across, [str(value) for value in across], rotation=90 if field == "length" else 0)
        axes.minorticks_off()
        axes.spines[["top", "right"]].set_visible(False)
    both[0].set_ylabel("target tokens a second")
    both[0].set_ylim(bottom=0)
    both[1].legend(frameon=False)
    figure.savefig(path, dpi=120)
    pyplot.close(figure)
