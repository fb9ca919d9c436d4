"""The keyed permutation is a bijection and mixes well; a mixture reads each pair of a corpus equally often."""

from __future__ import annotations

import hashlib
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt.batches.mixture import Mixture, quotas
from nmt.batches.permutation import Permutation


@settings(deadline=None, max_examples=30)
@given(size=st.integers(1, 3000), key=st.tuples(st.integers(0, 2**40), st.integers(0, 9)))
def test_every_number_comes_once(size: int, key: tuple[int, int]) -> None:
    found = Permutation(size, key)(np.arange(size))
    assert found.dtype == np.int64
    assert sorted(found.tolist()) == list(range(size))


def test_any_part_of_the_order_can_be_computed_by_itself() -> None:
    order = Permutation(10**9, (3,))
    whole = order(np.arange(999_999_000, 10**9))
    assert order(np.array([10**9 - 1, 999_999_500])).tolist() == [whole[-1], whole[500]]
    assert len(set(whole.tolist())) == 1000
    assert whole.max() < 10**9


@pytest.mark.parametrize("size", [40_000, 65_537])
def test_the_order_is_as_mixed_as_a_random_one(size: int) -> None:
    """Places and numbers in 20 x 20 fields: chi square with 361 degrees of freedom, four standard deviations wide."""
    for key in ((1, 0), (1, 1), (2, 0)):
        found = Permutation(size, key)(np.arange(size))
        fields = np.histogram2d(np.arange(size), found, bins=20)[0]
        chi_square = ((fields - size / 400) ** 2 / (size / 400)).sum()
        assert abs(chi_square - 361) < 4 * np.sqrt(2 * 361)
        rises = np.mean(found[1:] > found[:-1])  # of a random order: 1/2, with variance (n + 1) / 12 n^2
        assert abs(rises - 0.5) < 4 / np.sqrt(12 * size)


def test_orders_of_earlier_versions_are_kept_to_the_bit() -> None:
    """A run that is resumed by this version reads the pairs in the order in which it began."""
    orders = [Permutation(size, (1, 7))(np.arange(size)) for size in (1, 256, 257, 300, 512, 513, 5000)]
    assert hashlib.sha256(np.concatenate(orders).tobytes()).hexdigest()[:16] == "7c89891a3ece5f56"
    mixture = Mixture((50, 30), (40, 40), seed=1)
    order = np.concatenate([mixture.at(epoch, np.arange(80)) for epoch in range(3)])
    assert hashlib.sha256(order.tobytes()).hexdigest()[:16] == "8c0f33cb253f83d6"


def test_keys_give_unrelated_orders() -> None:
    one, two = (Permutation(5000, (7, epoch))(np.arange(5000)) for epoch in (0, 1))
    assert abs(np.corrcoef(one, two)[0, 1]) < 4 / np.sqrt(5000)
    assert (one == two).mean() < 0.002


def test_quotas_by_hand() -> None:
    """Shares of 4 and 1 pairs: 4:1; at temperature 2 sqrt(4):sqrt(1) of 5 pairs, 3.33 and 1.67; weights multiply."""
    assert quotas([4, 1], [1, 1], 1) == [4, 1]
    assert quotas([4, 1], [1, 1], 2) == [3, 2]
    assert quotas([300, 300], [2, 1], 1) == [400, 200]
    assert quotas([10**9, 1], [1, 1], 1) == [10**9, 1]
    assert quotas([98, 2], [1, 0.001], 1) == [99, 1]
    assert quotas([5, 5, 1], [1, 1, 0.001], 1) == [5, 5, 1]


@given(
    pairs=st.lists(st.integers(1, 10**6), min_size=1, max_size=6),
    temperature=st.floats(0.2, 50),
    data=st.data(),
)
def test_quotas_share_out_an_epoch(pairs: list[int], temperature: float, data: st.DataObject) -> None:
    weights = [data.draw(st.floats(0.01, 100)) for _ in pairs]
    found = quotas(pairs, weights, temperature)
    assert sum(found) == sum(pairs)
    assert min(found) >= 1


@settings(deadline=None, max_examples=12)
@given(
    pairs=st.lists(st.integers(1, 60), min_size=1, max_size=3),
    temperature=st.sampled_from([1.0, 3.0, 100.0]),
    epochs=st.integers(1, 4),
)
def test_each_pair_of_a_corpus_comes_equally_often(pairs: list[int], temperature: float, epochs: int) -> None:
    found = quotas(pairs, [1.0] * len(pairs), temperature)
    mixture = Mixture(tuple(pairs), tuple(found), seed=4)
    counts: Counter[int] = Counter()
    for epoch in range(epochs):
        order = mixture.at(epoch, np.arange(len(mixture)))
        assert len(order) == sum(pairs)
        counts.update(order.tolist())
    first = 0
    for size, quota in zip(pairs, found, strict=True):
        times = [counts[pair] for pair in range(first, first + size)]
        assert sum(times) == epochs * quota
        assert max(times) - min(times) <= 1
        first += size


def test_windows_are_the_order_in_pieces() -> None:
    mixture = Mixture((50, 30), (50, 30), seed=1)
    pieces = list(mixture.windows(2, 7, 0, 1000))
    assert np.concatenate(pieces).tolist() == mixture.at(2, np.arange(80)).tolist()
    assert set(map(len, pieces[:-1])) == {7}
