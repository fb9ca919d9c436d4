"""The cost of each mechanism by counting operations, and the exponent of a growth."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

PASSES = ("forward", "forward and backward")
KERNEL = 3
"""Positions that a convolution reads."""


class Case(NamedTuple):
    """Sizes of one sequence."""

    length: int
    """n."""
    width: int
    """d, the width of inputs and outputs."""


class Sizes(NamedTuple):
    """The other sizes that costs depend on."""

    heads: int
    reach: int
    """D, the positions of a local window on either side."""


class Cost(NamedTuple):
    """The counted cost of a mechanism."""

    operations: Callable[[int, int, Sizes], int]
    """Multiplications of a forward pass by n, d and the other sizes. Softmax, tanh and gates do not count."""
    written: str
    """The formula of the operations as text."""
    forward: Callable[[int, int, Sizes], int]
    """Float32 numbers that a forward pass holds at once, up to a constant factor."""
    backward: Callable[[int, int, Sizes], int]
    """Float32 numbers that a forward and backward pass holds at once; it saves the activations of every position."""

    def count(self, kind: str) -> Callable[[int, int, Sizes], int]:
        """`operations` for "time", or the numbers that a pass holds."""
        return {"time": self.operations, "forward": self.forward, "forward and backward": self.backward}[kind]


COSTS: dict[str, Cost] = {
    "convolution": Cost(
        lambda n, d, s: n * KERNEL * d * d,
        "3nd²",
        lambda n, d, s: n * d,
        lambda n, d, s: n * d + KERNEL * d * d,  # the gradient of the weights too
    ),
    "recurrence": Cost(
        lambda n, d, s: 8 * n * d * d,  # four gates, each with a product of the input and one of the state
        "8nd²",
        lambda n, d, s: 5 * n * d,  # the input's share of the gates, states
        lambda n, d, s: 6 * n * d + 8 * d * d,
    ),
    "self-attention": Cost(
        lambda n, d, s: 2 * n * n * d,  # energies, contexts
        "2n²d",
        lambda n, d, s: n * n + n * d,
        lambda n, d, s: n * n + n * d,
    ),
    "multi-head": Cost(
        lambda n, d, s: 4 * n * d * d + 2 * n * n * d,  # self-attention and four projections
        "4nd² + 2n²d",
        lambda n, d, s: s.heads * n * n + 5 * n * d,
        lambda n, d, s: s.heads * n * n + 5 * n * d + 4 * d * d,
    ),
    "additive": Cost(
        lambda n, d, s: 2 * n * d * d + 2 * n * n * d,  # projections of queries and keys, energies, contexts
        "2nd² + 2n²d",
        lambda n, d, s: n * n * d + 3 * n * d,
        lambda n, d, s: n * n * d + 3 * n * d + 2 * d * d,
    ),
    "global, step by step": Cost(
        lambda n, d, s: 2 * n * n * d,
        "2n²d",
        lambda n, d, s: n * d,  # a row of weights is freed after its step
        lambda n, d, s: n * n + n * d,
    ),
    "local, masked": Cost(
        lambda n, d, s: 2 * n * n * d,  # all energies are computed, then most are masked
        "2n²d",
        lambda n, d, s: n * d,
        lambda n, d, s: n * n + n * d,
    ),
    "local, cut out": Cost(
        lambda n, d, s: 2 * n * (2 * s.reach + 1) * d,
        "2n(2D + 1)d",
        lambda n, d, s: n * d,
        lambda n, d, s: n * (2 * s.reach + 1) * d,  # the positions cut out, at every step
    ),
}
"""The costs by the names of the mechanisms, see `mechanisms`."""


def largest_tensor(name: str, case: Case, sizes: Sizes) -> int:
    """Approximate bytes of the largest tensor of a pass."""
    return 4 * COSTS[name].backward(case.length, case.width, sizes)


def exponent(sizes: Sequence[float], values: Sequence[float], last: int = 4) -> float:
    """The k of values ~ sizes^k, by least squares on logarithms over the largest sizes.

    Small sizes are left out, because the start of a call dominates their cost.

    Args:
        sizes: ascending, two or more.
        values: positive.
        last: number of sizes that count.
    """
    x, y = np.log(np.asarray(sizes[-last:], dtype=float)), np.log(np.asarray(values[-last:], dtype=float))
    x = x - x.mean()
    return float((x * y).sum() / (x * x).sum())
