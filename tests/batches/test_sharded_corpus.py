"""A corpus in shards: its pairs, its plan, which resumes at a section, and its figures, which read no pair."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sharded_pairs import Pairs, random_pairs, write_shards

from nmt.batches.arrays import BLANK, Sequences, make_batch
from nmt.batches.few_shapes_plan import FewShapesPlan
from nmt.batches.pipeline import pass_batches
from nmt.batches.plan import BatchPlan
from nmt.batches.sharded_corpus import ShardedCorpus


@pytest.fixture(scope="module")
def pairs() -> Pairs:
    return random_pairs(400)


@pytest.fixture(scope="module")
def corpus(pairs: Pairs, tmp_path_factory: pytest.TempPathFactory) -> ShardedCorpus:
    return write_shards(tmp_path_factory.mktemp("shards"), [[pairs[:150], pairs[150:160]], [pairs[160:]]])


@pytest.mark.parametrize("width", [0, 20])
def test_batches_are_those_of_the_pairs_in_memory(corpus: ShardedCorpus, pairs: Pairs, width: int) -> None:
    source, target = (Sequences.of(side) for side in zip(*pairs, strict=True))
    for indices in (np.array([3, 159, 160, 399, 150, 3]), np.array([0, BLANK]), np.arange(400)):
        expected, found = make_batch(source, target, indices, width), corpus.batch(indices, width)
        for one, two in zip(expected, found, strict=True):
            np.testing.assert_array_equal(one, two)
            assert one.dtype == two.dtype


def test_batches_have_any_shapes_unless_few_are_asked_for(corpus: ShardedCorpus) -> None:
    assert not isinstance(corpus.plan(60, window=9, seed=3), FewShapesPlan)
    plan = corpus.plan(60, window=9, seed=3, shapes=2)
    assert isinstance(plan, FewShapesPlan)
    assert len(plan.widths) == 2


@pytest.mark.parametrize("shapes", [0, 4])
def test_an_epoch_has_every_pair_once_within_the_budget(corpus: ShardedCorpus, pairs: Pairs, shapes: int) -> None:
    plan = corpus.plan(60, window=9, seed=3, shapes=shapes)
    orders = []
    for epoch in (0, 1):
        batches = list(plan.batches(epoch))
        indices = np.concatenate(batches)
        assert sorted(indices[indices != BLANK].tolist()) == list(range(400))
        for batch in batches:
            longest = 1 + max(len(side) for i in batch if i != BLANK for side in pairs[i])
            assert len(batch) * longest <= 60
        orders.append(indices.tolist())
    assert orders[0] != orders[1]


@pytest.mark.parametrize("shapes", [0, 4])
def test_a_run_resumes_at_a_section(corpus: ShardedCorpus, shapes: int) -> None:
    """A section has 16 windows of 5 pairs: 5 sections of 400 pairs."""
    plan = corpus.plan(60, window=5, seed=3, shapes=shapes)
    whole = [batch.tolist() for batch in plan.batches(2)]
    sections = {plan.section_of(batch) for batch in range(len(whole))}
    assert [section.number for section in sorted(sections)] == [0, 1, 2, 3, 4]
    for section in sections:
        rest = [batch.tolist() for batch in plan.batches(2, section)]
        assert rest == whole[section.first_batch :]
    place = len(whole) - 3
    list(plan.batches(2))
    begin = plan.section_of(place)
    assert 0 < begin.first_batch <= place
    found = list(pass_batches(corpus, plan, 2, place, begin))
    assert [np.asarray(batch.source).shape[0] for batch in found] == list(map(len, whole[place:]))


def test_figures_are_those_of_an_epoch_and_read_no_pair(pairs: Pairs, tmp_path: Path) -> None:
    corpus = write_shards(tmp_path, [[pairs]])
    plan = corpus.plan(60, window=30, seed=3)
    exact = BatchPlan.figures(plan)
    for path in tmp_path.glob("*.i*"):
        path.write_bytes(b"")
    found = plan.figures()
    assert abs(found.batches / exact.batches - 1) < 0.05
    assert abs(found.padding - exact.padding) < 0.03
    assert exact.largest_cells <= found.largest_cells <= 60 * 14


def test_widths_are_those_of_the_lengths(corpus: ShardedCorpus, pairs: Pairs) -> None:
    plan = corpus.plan(60, window=9, seed=3, shapes=4)
    source, target = (np.array([len(one) + 1 for one in side]) for side in zip(*pairs, strict=True))
    assert isinstance(plan, FewShapesPlan)
    assert plan.widths.tolist() == FewShapesPlan(source, target, 60, 9, 3, 4).widths.tolist()


def test_a_small_part_is_read_more_often_at_a_high_temperature(pairs: Pairs, tmp_path: Path) -> None:
    write_shards(tmp_path, [[pairs[:380]], [pairs[380:]]])
    corpus = ShardedCorpus(tmp_path, temperature=1000)
    indices = np.concatenate(list(corpus.plan(60, 50, 1).batches(0)))
    assert len(indices) == 400
    assert 195 <= (indices >= 380).sum() <= 205
    assert set(np.bincount(indices, minlength=400)[380:]) <= {9, 10, 11}


def test_a_sample_is_spread_over_the_corpus(corpus: ShardedCorpus, pairs: Pairs) -> None:
    source, target = corpus.sample(4)
    for place, index in enumerate((0, 100, 200, 300)):
        assert source.gather(np.array([place]))[0].tolist() == pairs[index][0]
        assert target.gather(np.array([place]))[0].tolist() == pairs[index][1]
    assert len(corpus.sample(10**6)[0]) == 400
