"""What each mechanism should cost by counting, and the exponent that measurements grow with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

PASSES = ("forward", "forward and backward")
KERNEL = 3
"""Positions that a convolution sees."""


class Case(NamedTuple):
    """Sizes of one sequence."""

    length: int
    """n."""
    width: int
    """d, of inputs and outputs."""


class Sizes(NamedTuple):
    """What else the costs depend on."""

    heads: int
    reach: int
    """D, positions that a local window reaches to either side."""


class Cost(NamedTuple):
    """How a mechanism's cost is counted, and how it is written."""

    operations: Callable[[int, int, Sizes], int]
    """Multiplications of a forward pass, from n, d and the rest; what is done to single numbers (softmax, tanh, gates)
    is not counted."""
    written: str
    """The operations as they are written."""
    forward: Callable[[int, int, Sizes], int]
    """Float32 numbers that a forward pass has to hold at once, up to a constant factor."""
    backward: Callable[[int, int, Sizes], int]
    """The same of a forward and backward pass, which keeps what every position went through."""

    def count(self, what: str) -> Callable[[int, int, Sizes], int]:
        """`operations`, or the numbers held in a pass."""
        return {"time": self.operations, "forward": self.forward, "forward and backward": self.backward}[what]


COSTS: dict[str, Cost] = {
    "convolution": Cost(
        lambda n, d, s: n * KERNEL * d * d,
        "3nd²",
        lambda n, d, s: n * d,
        lambda n, d, s: n * d + KERNEL * d * d,  # the gradient of the weights too
    ),
    "recurrence": Cost(
        lambda n, d, s: 8 * n * d * d,  # four gates, each of input and state
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
        lambda n, d, s: 4 * n * d * d + 2 * n * n * d,  # the same, and four projections
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
        lambda n, d, s: n * d,  # a row of weights is gone after its step
        lambda n, d, s: n * n + n * d,
    ),
    "local, masked": Cost(
        lambda n, d, s: 2 * n * n * d,  # all energies are made, then most are masked
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
"""Of every mechanism by its name, see `mechanisms`."""


def largest_tensor(name: str, case: Case, sizes: Sizes) -> int:
    """Bytes of about the largest tensor of a pass."""
    return 4 * COSTS[name].backward(case.length, case.width, sizes)


def exponent(sizes: Sequence[float], values: Sequence[float], last: int = 4) -> float:
    """k of values ~ sizes^k by least squares on logarithms, over the `last` (largest) sizes: what costs little beside
    the start of a call says nothing of how it grows.

    Args:
        sizes: ascending, two or more.
        values: positive.
    """
    x, y = np.log(np.asarray(sizes[-last:], dtype=float)), np.log(np.asarray(values[-last:], dtype=float))
    x = x - x.mean()
    return float((x * y).sum() / (x * x).sum())
