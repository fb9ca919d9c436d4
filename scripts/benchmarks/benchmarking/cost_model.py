"""The time of an update over sentence lengths and vocabularies, and a cost model fitted to it."""

from __future__ import annotations

import statistics
import time
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.benchmarking.cases import SIZES
from benchmarks.benchmarking.layouts import find
from benchmarks.benchmarking.machine import memory_of_training

TOKENS = 4096
"""Tokens of a batch on each side."""
LENGTHS = (10, 20, 40, 80, 120, 160, 200)
VOCABULARIES = (2000, 4000, 8000, 16000, 32000, 64000)
PLAIN_LENGTH, PLAIN_VOCABULARY = 20, 8000
"""The length of a sentence while the vocabulary varies, and the vocabulary while the length varies."""


class Point(NamedTuple):
    """A batch of sentences that all have the same length."""

    length: int
    vocabulary: int

    @property
    def rows(self) -> int:
        """Sentences of the batch."""
        return TOKENS // self.length

    @property
    def tokens(self) -> int:
        """Tokens of the batch on one side."""
        return self.rows * self.length


def points() -> list[Point]:
    """All lengths at the plain vocabulary, then all other vocabularies at the plain length."""
    across = [Point(length, PLAIN_VOCABULARY) for length in LENGTHS]
    return across + [Point(PLAIN_LENGTH, size) for size in VOCABULARIES if size != PLAIN_VOCABULARY]


def measure(point: Point, size: str, precision: str, repeats: int) -> dict[str, float]:
    """Median seconds of an update on random ids, and peak memory in MiB."""
    find("configure_runtime")()
    ids = np.random.default_rng(1).integers(4, point.vocabulary, (point.rows, point.length)).astype(np.int32)
    model = find("Seq2Seq")(SIZES[size], point.vocabulary, point.vocabulary, seed=1, dtype=precision)
    model.build()
    model.limit_attention_memory(point.tokens * point.length)
    optimizer = find("Adam")(0.001, global_clipnorm=1.0, use_ema=True, ema_momentum=0.999)
    optimizer.build(model.trainable_variables)
    step = find("TrainStep")(model, optimizer, 0.1, find("slices_for")(ids.size, point.vocabulary))
    batch, seconds = find("Batch")(ids, ids, ids), []
    for _ in range(repeats + 2):  # the first compiles, the second allocates
        begin = time.perf_counter()
        float(step(batch))
        seconds.append(time.perf_counter() - begin)
    return {"seconds": statistics.median(seconds[2:]), "peak_memory_mib": memory_of_training()}


def terms(point: Point) -> list[float]:
    """The terms of the cost model, each with a coefficient of its own.

    They are the steps of the loops, the tokens, the source positions that all tokens attend to, the pieces that all
    tokens are scored against, and the rows of the embeddings that are updated.
    """
    return [point.length, point.tokens, point.tokens * point.length, point.tokens * point.vocabulary, point.vocabulary]


def fit(seconds: dict[Point, float]) -> dict[Point, float]:
    """The seconds that the cost model gives, fitted by least squares of the relative errors.

    No term has a negative cost: the best subset of terms whose coefficients are all positive is taken.
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
    """Markdown: each point with the speed measured, the speed of the cost model and their ratio."""
    expected = fit({point: values["seconds"] for point, values in found.items()})
    lines = ["| length | vocabulary | tokens/s | cost model | measured / model | peak memory |"]
    lines.append("| ---: " * 6 + "|")
    for point, values in found.items():
        lines.append(
            f"| {point.length} | {point.vocabulary} | {point.tokens / values['seconds']:,.0f} | "
            f"{point.tokens / expected[point]:,.0f} | {values['seconds'] / expected[point]:.2f} | "
            f"{values['peak_memory_mib']:,.0f} MiB |"
        )
    return "\n".join(lines)


def plot(found: dict[Point, dict[str, Any]], path: Path) -> None:
    """Tokens per second against length and against vocabulary; the cost model is a line."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    expected = fit({point: values["seconds"] for point, values in found.items()})
    figure, both = pyplot.subplots(1, 2, figsize=(9, 3.4), layout="constrained", sharey=True)
    by_length = sorted(point for point in found if point.vocabulary == PLAIN_VOCABULARY)
    by_vocabulary = sorted(point for point in found if point.length == PLAIN_LENGTH)
    for axes, chosen, field in ((both[0], by_length, "length"), (both[1], by_vocabulary, "vocabulary")):
        across = [getattr(point, field) for point in chosen]
        tokens = np.array([point.tokens for point in chosen])
        axes.plot(across, tokens / [found[p]["seconds"] for p in chosen], "o", color="#4477aa", label="measured")
        axes.plot(across, tokens / [expected[p] for p in chosen], color="#bbbbbb", label="cost model", zorder=0)
        axes.set_xlabel(f"{field}, pieces")
        axes.set_xscale("log")
        axes.set_xticks(across, [str(value) for value in across], rotation=90 if field == "length" else 0)
        axes.minorticks_off()
        axes.spines[["top", "right"]].set_visible(False)
    both[0].set_ylabel("target tokens per second")
    both[0].set_ylim(bottom=0)
    both[1].legend(frameon=False)
    figure.savefig(path, dpi=120)
    pyplot.close(figure)
