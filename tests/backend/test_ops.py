"""The functions that compute with NumPy, each against the function of `keras.ops` of its name."""

from __future__ import annotations

import subprocess
import sys
from typing import Any, NamedTuple

import keras
import numpy as np
import pytest

from nmt.backend import ops

RANDOM = np.random.default_rng(5)
REALS = RANDOM.normal(size=(3, 4, 5)).astype(np.float32)
POSITIVE = np.abs(REALS) + np.float32(0.1)
INTEGERS = RANDOM.integers(-4, 5, (3, 4)).astype(np.int32)
BITS = RANDOM.integers(0, 2**32, (3, 4), np.uint32)
TRUTHS = INTEGERS > 0
TIES = RANDOM.integers(0, 3, (4, 30)).astype(np.float32)
LIKE = np.zeros(1)

CASES: list[tuple[Any, ...]] = [  # a name, arguments, and options where there are any
    ("zeros", (2, 3), "int32"),
    ("zeros", (2, 3)),
    ("zeros_like", INTEGERS),
    ("zeros_like", TRUTHS, "float32"),
    ("ones_like", INTEGERS),
    ("full", (2, 3), 7, "int32"),
    ("arange", 5),
    ("arange", 1, 5),
    ("convert_to_tensor", [[0.0, -1e30]], "float32"),
    ("reshape", REALS, (-1, 5)),
    ("broadcast_to", INTEGERS, (2, 3, 4)),
    ("transpose", REALS, (0, 2, 1)),
    ("repeat", INTEGERS, 2, 0),
    ("tile", INTEGERS, (2, 1)),
    ("pad", INTEGERS, ((0, 0), (0, 2))),
    ("stack", [INTEGERS, INTEGERS]),
    ("concatenate", [REALS, REALS], -1),
    ("take", REALS, np.array([2, 0]), 1),
    ("take_along_axis", REALS, np.zeros((3, 4, 1), np.int32), 2),
    ("searchsorted", np.array([1, 3, 7], np.int32), np.array([0, 3, 8], np.int32)),
    ("where", TRUTHS, INTEGERS, 0),
    ("where", TRUTHS, 2, 4),
    ("where", TRUTHS, -1e30, 0.0),
    ("where", TRUTHS[..., None], -1e30, REALS),
    ("nonzero", TRUTHS.ravel()),
    ("logical_and", TRUTHS, ~TRUTHS),
    ("logical_or", TRUTHS, ~TRUTHS),
    ("logical_not", TRUTHS),
    ("bitwise_and", INTEGERS, 6),
    ("bitwise_xor", BITS, BITS[::-1].copy()),
    ("right_shift", BITS, 9),
    ("maximum", INTEGERS, 0),
    ("minimum", REALS, 0.5),
    ("clip", REALS, -0.5, 0.5),
    ("exp", REALS),
    ("expm1", REALS),
    ("log", POSITIVE),
    ("log1p", POSITIVE),
    ("matmul", REALS, np.swapaxes(REALS, 1, 2)),
    ("sum", INTEGERS, 1),
    ("sum", TRUTHS, -1),
    ("sum", REALS, -1, {"keepdims": True}),
    ("mean", REALS, 0),
    ("max", INTEGERS, -1),
    ("min", REALS, -1, {"keepdims": True}),
    ("any", TRUTHS, 1),
    ("any", TRUTHS),
    ("cumsum", INTEGERS, 1),
    ("argmax", TIES, -1),
    ("argmax", TRUTHS, -1),
    ("sort", REALS, -1),
    ("argsort", TIES, -1),
    ("cast", REALS, "int32"),
    ("cast", TRUTHS, "float32"),
    ("cast", 0x7FEB352D, "uint32"),
    ("softmax", REALS),
    ("softmax", REALS, 1),
    ("log_softmax", REALS),
    ("logsumexp", REALS, 0),
    ("segment_sum", np.ones(5, np.int32), np.array([3, 0, 3, 3, 1], np.int32), 6),
    ("segment_max", REALS[0, 0, :4], np.array([2, 0, 2, 1], np.int32), 3),
    ("top_k", TIES, 1),
    ("top_k", TIES, 4),
    ("top_k", INTEGERS, 3),
    ("top_k", np.full((2, 9), -np.inf, np.float32), 4),
]

MAKING = ("zeros", "full", "arange", "convert_to_tensor")
"""Functions without a tensor among their arguments."""


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_numpy_and_keras_compute_the_same(case: tuple[Any, ...]) -> None:
    name, *arguments = case
    options = arguments.pop() if isinstance(arguments[-1], dict) else {}
    expected = getattr(keras.ops, name)(*arguments, **options)
    found = getattr(ops, name)(*arguments, **options, **({"like": LIKE} if name in MAKING else {}))
    assert ops.is_numpy(found)
    several = isinstance(found, tuple)
    for ours, theirs in zip(found if several else [found], expected if several else [expected], strict=True):
        theirs = keras.ops.convert_to_numpy(theirs)
        np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-6)
        assert ours.dtype == (np.int32 if name == "nonzero" else theirs.dtype)


def test_every_function_is_compared() -> None:
    functions = {name for name, value in vars(ops).items() if hasattr(value, "__wrapped__")}
    assert functions == {name for name, *_ in CASES}


@pytest.mark.parametrize("name", MAKING)
def test_a_tensor_of_keras_decides_for_keras(name: str) -> None:
    arguments = next(case[1:] for case in CASES if case[0] == name)
    assert keras.ops.is_tensor(getattr(ops, name)(*arguments, like=keras.ops.zeros(1)))
    assert keras.ops.is_tensor(ops.where(TRUTHS, keras.ops.zeros(()), 1.0))
    assert keras.ops.is_tensor(ops.stack([LIKE, keras.ops.zeros(1)]))


class Pair(NamedTuple):
    first: Any
    rest: tuple[Any, ...]


def test_structures_keep_their_types() -> None:
    found = ops.map_structure(lambda value: value + 1, {"a": Pair(1, (2, [3], ()))})
    assert found == {"a": Pair(2, (3, [4], ()))}
    assert isinstance(found["a"], Pair)


@pytest.mark.parametrize("convert", [np.asarray, keras.ops.convert_to_tensor])
def test_control_flow_and_shapes(convert: Any) -> None:
    """Collatz: 6, 3, 10, 5, 16, 8, 4, 2, 1."""

    def following(number: Any, steps: Any) -> tuple[Any, Any]:
        even = ops.cond(number % 2 == 0, lambda: number // 2, lambda: 3 * number + 1)
        return even, steps + 1

    start = convert(np.int32(6)), convert(np.int32(0))
    number, steps = ops.while_loop(lambda number, _: number > 1, following, start)
    assert (int(number), int(steps)) == (1, 8)
    assert tuple(ops.shape(convert(REALS))) == (3, 4, 5)
    np.testing.assert_array_equal(ops.convert_to_numpy(convert(REALS)), REALS)


WITHOUT_KERAS = """
import sys
sys.modules.update(dict.fromkeys(["keras", "tensorflow", "jax"]))  # an import of these raises ImportError
import numpy as np
from nmt import search

def step(last, counts):
    logits = np.tile(np.log(np.array([1e-9, 1e-9, 1e-9, 0.3, 0.7], np.float32)), (len(last), 1))
    return search.Distribution(logits, impossible=(0,)), counts + 1, np.ones((len(last), 1), np.float32)

limits = np.array([3, 2], np.int32)
sampling = search.SearchMethod(4, search.Sampling(np.array([1, 2], np.uint32)), independent=True)
for method in (search.SearchMethod(2), sampling):
    found = search.search(step, np.zeros((2, 1), np.int32), limits, 3, 1, method)
    assert found.tokens.shape == (2, method.slots, 3)
"""


def test_search_over_numpy_needs_no_keras() -> None:
    subprocess.run([sys.executable, "-c", WITHOUT_KERAS], check=True, timeout=300)
