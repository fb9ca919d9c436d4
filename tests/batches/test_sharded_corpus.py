"""A corpus in shards: its pairs, its plan, which resumes at a section, and its figures, which read no pair."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest

from nmt.batches.arrays import BLANK, Sequences, make_batch
from nmt.batches.few_shapes_plan import FewShapesPlan
from nmt.batches.pipeline import pass_batches
from nmt.batches.plan import START, BatchPlan
from nmt.batches.sharded_corpus import LENGTHS, PIECES, CorpusShards, Shard, ShardedCorpus, count_lengths, encoded_pairs
from nmt.errors import NmtError

Pairs = list[tuple[list[int], list[int]]]


def random_pairs(count: int, seed: int = 0) -> Pairs:
    random = np.random.default_rng(seed)
    sizes = random.integers(0, 14, (count, 2)).tolist()
    return [(random.integers(4, 50, s).tolist(), random.integers(4, 50, t).tolist()) for s, t in sizes]


def write(directory: Path, parts: list[list[Pairs]], weights: tuple[float, ...] = (1.0, 1.0)) -> ShardedCorpus:
    """A corpus: for each part the pairs of each of its shards."""
    corpora, cells, number = [], [], 0
    for corpus, shards in enumerate(parts):
        found = []
        for pairs in shards:
            ids, index = encoded_pairs(tuple(zip(*pairs, strict=True)), "<u2")
            (directory / f"{number}.ids").write_bytes(ids.tobytes())
            (directory / f"{number}.index").write_bytes(index.tobytes())
            found.append(Shard(str(number), len(pairs), len(ids)))
            cells += [[corpus, *cell] for cell in count_lengths(index).tolist()]
            number += 1
        corpora.append(CorpusShards(f"part {corpus}", weights[corpus], tuple(found)))
    arrays = {LENGTHS: np.array(cells, np.int64), PIECES: np.zeros((2, 50), np.int64)}
    ShardedCorpus.write_about(directory, "uint16", corpora, arrays)
    return ShardedCorpus(directory)


@pytest.fixture(scope="module")
def pairs() -> Pairs:
    return random_pairs(400)


@pytest.fixture(scope="module")
def corpus(pairs: Pairs, tmp_path_factory: pytest.TempPathFactory) -> ShardedCorpus:
    return write(tmp_path_factory.mktemp("shards"), [[pairs[:150], pairs[150:160]], [pairs[160:]]])


@pytest.mark.parametrize("width", [0, 20])
def test_batches_are_those_of_the_pairs_in_memory(corpus: ShardedCorpus, pairs: Pairs, width: int) -> None:
    source, target = (Sequences.of(side) for side in zip(*pairs, strict=True))
    for indices in (np.array([3, 159, 160, 399, 150, 3]), np.array([0, BLANK]), np.arange(400)):
        expected, found = make_batch(source, target, indices, width), corpus.batch(indices, width)
        for one, two in zip(expected, found, strict=True):
            np.testing.assert_array_equal(one, two)
            assert one.dtype == two.dtype


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
    corpus = write(tmp_path, [[pairs]])
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
    write(tmp_path, [[pairs[:380]], [pairs[380:]]])
    corpus = ShardedCorpus(tmp_path, temperature=1000)
    indices = np.concatenate(list(corpus.plan(60, 50, 1).batches(0)))
    assert len(indices) == 400
    assert 195 <= (indices >= 380).sum() <= 205
    assert set(np.bincount(indices, minlength=400)[380:]) <= {9, 10, 11}


def test_damage_is_refused(pairs: Pairs, tmp_path: Path) -> None:
    corpus = write(tmp_path, [[pairs]])
    corpus.require_ids(50, 20)
    with pytest.raises(NmtError, match=r"a target has the id \d+, and the vocabulary has 20 pieces"):
        list(map(corpus.batch, corpus.plan(60, 9, 1).batches(0, START)))
    (tmp_path / "0.ids").write_bytes((tmp_path / "0.ids").read_bytes()[:-2])
    with pytest.raises(NmtError, match=r"damaged .*0\.ids has \d+ bytes, expected \d+.*nmt prepare"):
        ShardedCorpus(tmp_path)
    (tmp_path / "0.ids").unlink()
    with pytest.raises(NmtError, match="files are missing"):
        ShardedCorpus(tmp_path)


def sums_of(directory: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in directory.iterdir()}


def flip(path: Path) -> None:
    """Changes one bit in the middle of a file."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("name", ["0.ids", "0.index", "about.json", LENGTHS, PIECES])
def test_one_flipped_bit_is_refused(name: str, pairs: Pairs, tmp_path: Path) -> None:
    write(tmp_path, [[pairs]])
    sums = sums_of(tmp_path)
    flip(tmp_path / name)
    with pytest.raises(NmtError, match=rf"damaged .*\({name} differs from its sum in manifest\.json\): restore"):
        corpus = ShardedCorpus(tmp_path, sums=sums)
        corpus.batch(next(iter(corpus.plan(60, 9, 1).batches(0))))
        _ = corpus.piece_counts


def test_a_file_without_a_sum_is_refused(pairs: Pairs, tmp_path: Path) -> None:
    write(tmp_path, [[pairs]])
    sums = sums_of(tmp_path)
    del sums["0.index"]
    with pytest.raises(NmtError, match=r"0\.index is not in manifest\.json"):
        ShardedCorpus(tmp_path, sums=sums)


def test_a_shard_is_compared_once_before_its_first_pair_is_read(pairs: Pairs, tmp_path: Path) -> None:
    write(tmp_path, [[pairs[:200], pairs[200:]]])
    flip(tmp_path / "1.ids")
    sums = sums_of(tmp_path)
    flip(tmp_path / "1.ids")
    corpus = ShardedCorpus(tmp_path, sums=sums)
    corpus.batch(np.array([0, 199]))
    corpus.lengths(np.array([200]))
    with pytest.raises(NmtError, match=r"1\.ids differs"):
        corpus.batch(np.array([0, 200]))
    flip(tmp_path / "1.ids")
    corpus.batch(np.array([0, 200]))
    flip(tmp_path / "1.ids")
    corpus.batch(np.array([0, 200]))  # a second comparison would refuse this


def test_a_sample_is_spread_over_the_corpus(corpus: ShardedCorpus, pairs: Pairs) -> None:
    source, target = corpus.sample(4)
    for place, index in enumerate((0, 100, 200, 300)):
        assert source.gather(np.array([place]))[0].tolist() == pairs[index][0]
        assert target.gather(np.array([place]))[0].tolist() == pairs[index][1]
    assert len(corpus.sample(10**6)[0]) == 400
