"""The plan of a corpus on disk: every pair once, an order of seed and epoch alone, sections that a run resumes at."""

from __future__ import annotations

import hashlib
import json
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt.batches.arrays import BLANK
from nmt.batches.mixture import Mixture
from nmt.batches.plan import START
from nmt.batches.streamed_plan import SECTION, LengthCounts, StreamedFewShapesPlan, StreamedPlan


def plan_of(lengths: list[tuple[int, int]], budget: int, window: int, seed: int = 3, shapes: int = 0) -> StreamedPlan:
    """The plan of one corpus of pairs with these lengths, ends of sentences included."""
    source, target = np.array(lengths, np.int64).reshape(-1, 2).T
    mixture = Mixture((len(source),), (len(source),), seed)
    counts = LengthCounts(source, target, np.ones(len(source)))
    if shapes:
        return StreamedFewShapesPlan(source, target, budget, window, seed, shapes, mixture=mixture, counts=counts)
    return StreamedPlan(source, target, budget, window, seed, mixture=mixture, counts=counts)


def flat(plan: StreamedPlan, epoch: int) -> list[list[int]]:
    return [batch.tolist() for batch in plan.batches(epoch)]


def some_lengths(pairs: int) -> list[tuple[int, int]]:
    return [tuple(pair) for pair in np.random.default_rng(5).integers(1, 20, (pairs, 2)).tolist()]


@settings(max_examples=12)
@given(
    lengths=st.lists(st.tuples(st.integers(1, 30), st.integers(1, 30)), min_size=1, max_size=70),
    budget=st.integers(1, 90),
    window=st.integers(1, 3),
    shapes=st.sampled_from([0, 1, 4]),
    epoch=st.integers(0, 3),
)
def test_every_pair_comes_once_and_each_section_resumes(
    lengths: list[tuple[int, int]], budget: int, window: int, shapes: int, epoch: int
) -> None:
    plan = plan_of(lengths, budget, window, shapes=shapes)
    batches = flat(plan, epoch)
    assert sorted(i for batch in batches for i in batch if i != BLANK) == list(range(len(lengths)))
    sections = sorted({plan.section_of(place) for place in range(len(batches))})
    assert [section.number for section in sections] == list(range(-(-len(lengths) // (SECTION * window))))
    for section in sections:
        rest = [batch.tolist() for batch in plan_of(lengths, budget, window, shapes=shapes).batches(epoch, section)]
        assert rest == batches[section.first_batch :]


def test_the_plan_depends_on_seed_and_epoch_alone() -> None:
    plan = plan_of(some_lengths(300), 60, 7)
    other_epoch = flat(plan, 1)
    assert flat(plan, 0) == flat(plan_of(some_lengths(300), 60, 7), 0) != other_epoch
    assert other_epoch == flat(plan_of(some_lengths(300), 60, 7), 1)
    assert flat(plan, 0) != flat(plan_of(some_lengths(300), 60, 7, seed=4), 0)


@pytest.mark.parametrize(("shapes", "expected"), [(0, "0896a146e29b8137"), (4, "9e1aa11d6f66ecb3")])
def test_batches_of_earlier_versions_are_kept_to_the_bit(shapes: int, expected: str) -> None:
    """A run that is resumed by this version reads the pairs in the order in which it began."""
    plan = plan_of(some_lengths(300), 60, 7, shapes=shapes)
    text = json.dumps([flat(plan, epoch) for epoch in range(3)])
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == expected


def test_a_section_begins_with_its_first_batch() -> None:
    plan = plan_of(some_lengths(300), 60, 7)
    batches = flat(plan, 0)
    second = plan.section_of(len(batches) * 4 // 7)
    assert second.number == 1
    assert plan.section_of(second.first_batch) == second
    assert plan.section_of(second.first_batch - 1) == START


def test_sections_of_another_epoch_are_forgotten() -> None:
    """A run that resumes in the third section knows the batches of the epoch from there on."""
    plan = plan_of(some_lengths(300), 60, 7)
    third = plan.section_of(len(flat(plan, 0)) - 1)
    assert third.number == 2
    next(plan.batches(1, third))
    assert plan.section_of(third.first_batch) == third
    assert plan.section_of(third.first_batch - 1) == START


def test_figures_extend_those_of_a_section() -> None:
    """12 pairs of length 5 fit into 60 tokens. The 80 pairs of a section need 7 batches, and 400 pairs need 35."""
    figures = plan_of([(5, 5)] * 400, 60, 5).figures()
    assert figures.batches == 35
    assert figures.padding == 0
    assert figures.largest_cells == 12 * 5 * 5


def test_figures_of_a_corpus_smaller_than_a_section_are_exact() -> None:
    """The largest cells are a bound: 12 pairs of 5 x 3 would fit."""
    assert plan_of([(5, 3), (5, 3)], 60, 5).figures() == (1, 0, 12 * 5 * 3)


@pytest.mark.parametrize(("shapes", "cells"), [(0, 10 * 8), (1, 10 * 10)])
def test_a_pair_longer_than_the_budget_bounds_the_cells(shapes: int, cells: int) -> None:
    """It has a batch of its own; with few shapes both of its sides have the width of the longer one."""
    assert plan_of([(10, 8), (2, 1)], 6, 5, shapes=shapes).figures().largest_cells == cells


def test_many_short_pairs_may_have_more_cells_than_a_long_one() -> None:
    """Within 40 tokens: 10 pairs of at most 4 x 3, or 4 pairs of 9 x 3."""
    assert plan_of([(4, 3), (9, 3)], 40, 5).figures().largest_cells == max(10 * 4 * 3, 4 * 9 * 3)


def test_the_lengths_of_all_pairs_are_drawn_once_each() -> None:
    counts = LengthCounts(np.array([2, 5, 9]), np.array([3, 6, 1]), np.array([3.0, 1.0, 2.0]))
    source, target = counts.drawn(6, np.random.default_rng(0))
    drawn = list(zip(source.tolist(), target.tolist(), strict=True))
    assert Counter(drawn) == {(2, 3): 3, (5, 6): 1, (9, 1): 2}
    assert drawn != sorted(drawn)


def test_a_sample_of_lengths_has_their_shares() -> None:
    """Three of four pairs have the first lengths: 75 of 100, give or take four standard deviations."""
    counts = LengthCounts(np.array([2, 5]), np.array([3, 6]), np.array([300.0, 100.0]))
    source, target = counts.drawn(100, np.random.default_rng(0))
    assert len(source) == len(target) == 100
    assert abs((source == 2).sum() - 75) < 4 * np.sqrt(100 * 0.75 * 0.25)
    assert ((source == 2) == (target == 3)).all()


def test_pairs_that_are_read_in_part_are_drawn_too() -> None:
    """1.2 and 0.8 pairs are expected: the first pair is not the only one that can come first."""
    counts = LengthCounts(np.array([2, 5]), np.array([3, 6]), np.array([1.2, 0.8]))
    drawn = {int(counts.drawn(1, np.random.default_rng(seed))[0][0]) for seed in range(20)}
    assert drawn == {2, 5}


def test_widths_count_pairs_that_are_read_in_part() -> None:
    """A tenth of a pair counts as one, so that its length has a width."""
    source = np.array([3, 9])
    plan = StreamedFewShapesPlan(
        source,
        source,
        40,
        5,
        3,
        2,
        mixture=Mixture((2,), (2,), 3),
        counts=LengthCounts(source, source, np.full(2, 0.1)),
    )
    assert plan.widths.tolist() == [3, 9]
