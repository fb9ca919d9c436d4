"""Batches: every pair once, the budget, an order that depends on seed and epoch, padding, the files of a corpus."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt.batches import encoded_corpus
from nmt.batches.arrays import BLANK, GuidedBatch, Sequences, link_rows, make_batch, pad, source_rows
from nmt.batches.encoded_corpus import EncodedCorpus
from nmt.batches.few_shapes_plan import FewShapesPlan, best_widths
from nmt.batches.plan import START, BatchPlan, cut_by_tokens, sort_by_length
from nmt.batches.windows import windows
from nmt.errors import NmtError
from nmt.text.pieces import BOS, EOS, PAD

IDS = st.lists(st.lists(st.integers(4, 60_000), max_size=8), max_size=12)
LENGTHS = st.lists(st.tuples(st.integers(1, 40), st.integers(1, 40)), max_size=60)


def plan_of(lengths: Sequence[tuple[int, int]], budget: int, window: int, seed: int = 0) -> BatchPlan:
    source, target = np.array(lengths, np.int64).reshape(-1, 2).T
    return BatchPlan(source, target, budget, window, seed)


def realistic(pairs: int) -> BatchPlan:
    """Log-normal lengths, as written sentences have in subwords; the target is about as long as the source."""
    random = np.random.default_rng(0)
    source = np.clip(np.exp(random.normal(3.0, 0.5, pairs)).astype(int), 1, 100)
    target = np.clip((source * np.exp(random.normal(0.0, 0.15, pairs))).astype(int), 1, 100)
    return BatchPlan(source, target, 1200, 20_000, seed=0)


@given(lengths=LENGTHS, budget=st.integers(1, 200), window=st.integers(1, 80), pass_index=st.integers(0, 3))
def test_every_pair_comes_exactly_once_per_epoch(
    lengths: list[tuple[int, int]], budget: int, window: int, pass_index: int
) -> None:
    batches = list(plan_of(lengths, budget, window).batches(pass_index))
    assert sorted(int(i) for batch in batches for i in batch) == list(range(len(lengths)))
    assert all(len(batch) for batch in batches)


@given(lengths=LENGTHS, budget=st.integers(1, 200), window=st.integers(1, 80))
def test_only_a_single_pair_may_exceed_the_budget(lengths: list[tuple[int, int]], budget: int, window: int) -> None:
    for batch in plan_of(lengths, budget, window).batches(0):
        longest = max(max(lengths[i]) for i in batch)
        assert len(batch) == 1 or len(batch) * longest <= budget


@given(lengths=st.lists(st.integers(1, 30), min_size=1, max_size=40), budget=st.integers(1, 100))
def test_cut_fills_all_batches_but_the_last(lengths: list[int], budget: int) -> None:
    costs = np.array(lengths)
    order = np.argsort(-costs)
    batches = cut_by_tokens(costs, order, budget)
    np.testing.assert_array_equal(np.concatenate(batches), order)
    for batch in batches[:-1]:
        assert (len(batch) + 1) * costs[batch[0]] > budget


@given(count=st.integers(0, 20), size=st.integers(1, 7))
def test_windows_read_a_stream_without_reading_ahead(count: int, size: int) -> None:
    read: list[int] = []

    def stream() -> Iterator[int]:
        for item in range(count):
            read.append(item)
            yield item

    seen: list[int] = []
    for window in windows(stream(), size):
        seen += window
        assert seen == read
        assert len(window) == size or 0 < len(window) < size and len(seen) == count
    assert seen == list(range(count))


def test_cut_fills_the_budget() -> None:
    """Budget 10: a sentence of 12 alone, two of at most 5, five of at most 2, and the last sentence."""
    costs = np.array([5, 12, 4, 2, 2, 2, 1, 1, 1])
    order = np.array([1, 0, 2, 3, 4, 5, 6, 7, 8])
    assert [batch.tolist() for batch in cut_by_tokens(costs, order, 10)] == [[1], [0, 2], [3, 4, 5, 6, 7], [8]]


def test_pairs_are_ordered_by_the_longer_side_then_by_both() -> None:
    source, target = np.array([3, 9, 3, 5, 9]), np.array([9, 1, 4, 9, 9])
    assert sort_by_length(source, target, np.arange(5)).tolist() == [4, 3, 0, 1, 2]
    assert sort_by_length(source, target, np.array([2, 1, 0])).tolist() == [0, 1, 2]


def flat(plan: BatchPlan, pass_index: int) -> list[list[int]]:
    return [batch.tolist() for batch in plan.batches(pass_index)]


def test_the_plan_depends_on_seed_and_epoch_alone() -> None:
    random = np.random.default_rng(3)
    lengths = [tuple(pair) for pair in random.integers(1, 30, (300, 2))]
    plan = plan_of(lengths, 100, 70, seed=5)
    other_pass = flat(plan, 1)
    assert flat(plan, 0) == flat(plan_of(lengths, 100, 70, seed=5), 0)
    assert other_pass == flat(plan_of(lengths, 100, 70, seed=5), 1)
    assert flat(plan, 0) != other_pass
    assert plan.section_of(3) == START
    assert flat(plan, 0) != flat(plan_of(lengths, 100, 70, seed=6), 0)
    assert sorted(map(sorted, flat(plan, 0))) != sorted(map(sorted, other_pass))


def test_the_last_batch_of_a_window_moves_to_the_next_window() -> None:
    """100 pairs of length 1, 8 per batch, 20 per window: only one batch of the epoch is not full."""
    batches = list(plan_of([(1, 1)] * 100, 8, 20).batches(0))
    assert sorted(map(len, batches)) == [4] + [8] * 12


def test_batches_of_a_window_are_shuffled() -> None:
    plan = plan_of([(n, n) for n in range(1, 41)] * 10, 80, 400)
    longest = [int(plan.source_lengths[batch].max()) for batch in plan.batches(0)]
    assert longest not in (sorted(longest), sorted(longest, reverse=True))


def test_pairs_of_similar_length_share_a_batch() -> None:
    plan = realistic(4000)
    costs = np.maximum(plan.source_lengths, plan.target_lengths)
    assert np.median([np.ptp(costs[batch]) for batch in plan.batches(0)]) <= 1


def test_padding_share_of_two_batches() -> None:
    """Sources 2 and 4 in 2 x 4, targets 3 and 3 in 2 x 3, and a pair of 1 and 5: 18 of 20 positions hold pieces."""
    plan = plan_of([(2, 3), (4, 3), (1, 5)], 100, 10)
    assert plan.padding_share([np.array([0, 1]), np.array([2])]) == pytest.approx(1 - 18 / 20)
    assert plan.padding_share([]) == 1


def test_largest_batch_cells_of_two_batches() -> None:
    """Two pairs in 4 x 3, or one in 1 x 5."""
    assert plan_of([(2, 3), (4, 3), (1, 5)], 100, 10).largest_batch_cells([np.array([0, 1]), np.array([2])]) == 24


def test_largest_batch_cells_count_blank_rows() -> None:
    """Two pairs and a blank row of width 5. The blank row must not count as the last pair, of length 9."""
    plan = FewShapesPlan(np.array([2, 1, 9]), np.array([3, 5, 9]), 100, 10, 1, shapes=3)
    assert plan.largest_batch_cells([np.array([0, 1, BLANK])]) == 3 * 5 * 5


def test_realistic_lengths_need_little_padding() -> None:
    plan = realistic(20_000)
    assert plan.padding_share(plan.batches(0)) < 0.05
    shuffled = np.array_split(np.random.default_rng(0).permutation(20_000), 400)
    assert plan.padding_share(shuffled) > 0.3


COSTS = st.lists(st.integers(1, 12), min_size=1, max_size=30)


@given(costs=COSTS, count=st.integers(1, 5))
def test_best_widths_have_the_least_padding(costs: list[int], count: int) -> None:
    """Compared with every choice of that many values."""

    def padded(widths: Sequence[int]) -> int:
        return sum(min(width for width in widths if width >= cost) for cost in costs)

    values = sorted(set(costs))
    choices = itertools.combinations(values, min(count, len(values)))
    found = best_widths(np.array(costs), None, count).tolist()
    assert found == sorted(set(found))
    assert len(found) <= count
    assert padded(found) == min(padded(choice) for choice in choices if choice[-1] == values[-1])


def test_best_widths_of_six_lengths() -> None:
    """1, 1, 1, 5, 6, 9: one width must be 9; with 1 and 6 beside it only the 5 is rounded up."""
    costs = np.array([9, 1, 5, 1, 6, 1])
    assert best_widths(costs, None, 1).tolist() == [9]
    assert best_widths(costs, None, 2).tolist() == [1, 9]
    assert best_widths(costs, None, 3).tolist() == [1, 6, 9]
    assert best_widths(costs, None, 9).tolist() == [1, 5, 6, 9]


@settings(max_examples=50, deadline=None)
@given(
    lengths=st.lists(st.tuples(st.integers(1, 30), st.integers(1, 30)), min_size=1, max_size=80),
    budget=st.integers(1, 90),
    window=st.integers(1, 50),
    shapes=st.integers(1, 6),
    pass_index=st.integers(0, 3),
)
def test_few_shapes_hold_every_pair_once(
    lengths: list[tuple[int, int]], budget: int, window: int, shapes: int, pass_index: int
) -> None:
    plan = FewShapesPlan(*np.array(lengths).T, budget, window, 7, shapes)
    batches = list(plan.batches(pass_index))
    indices = np.concatenate(batches)
    assert sorted(indices[indices != BLANK].tolist()) == list(range(len(lengths)))
    assert len({(len(batch), plan.width(batch)) for batch in batches}) <= shapes
    for batch in batches:
        longest = max(max(lengths[i]) for i in batch if i != BLANK)
        assert plan.width(batch) >= longest
        assert len(batch) == 1 or len(batch) * plan.width(batch) <= budget
        assert (np.diff((batch == BLANK).astype(int)) >= 0).all()  # blank rows come last
    # Only the last batches hold blank rows: fewer than a full batch for each width.
    assert sum(BLANK in batch for batch in batches) <= len(plan.widths)


def test_few_shapes_of_no_pairs_have_no_batches() -> None:
    assert list(FewShapesPlan(np.zeros(0, np.int64), np.zeros(0, np.int64), 60, 9, 1, shapes=3).batches(0)) == []


def test_few_shapes_need_little_padding_for_realistic_lengths() -> None:
    free = realistic(20_000)
    plan = FewShapesPlan(free.source_lengths, free.target_lengths, free.batch_tokens, free.window, free.seed, 24)
    assert free.padding_share(free.batches(0)) < plan.padding_share(plan.batches(0)) < 0.13


def test_few_shapes_give_equal_batches_in_every_call() -> None:
    free = realistic(2000)
    plan = FewShapesPlan(free.source_lengths, free.target_lengths, free.batch_tokens, free.window, free.seed, 8)
    assert flat(plan, 1) == flat(plan, 1) != flat(plan, 2)


@pytest.mark.parametrize(("shapes", "expected"), [(0, "0ce04fa4302eb636"), (8, "b955b9a4af5e51f0")])
def test_batches_of_earlier_versions_are_kept_to_the_bit(shapes: int, expected: str) -> None:
    """A run that is resumed by this version reads the pairs in the order in which it began. Of version 0.1."""
    free = realistic(3000)
    arguments = (free.source_lengths, free.target_lengths, 600, 700, 11)
    plan = FewShapesPlan(*arguments, shapes) if shapes else BatchPlan(*arguments)
    text = json.dumps([flat(plan, pass_index) for pass_index in range(3)])
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == expected


@given(sequences=IDS, data=st.data())
def test_gather_equals_indexing(sequences: list[list[int]], data: st.DataObject) -> None:
    packed = Sequences.of(sequences)
    assert len(packed) == len(sequences)
    assert packed.lengths.tolist() == [len(s) for s in sequences]
    indices = data.draw(st.lists(st.sampled_from(range(len(sequences))), max_size=10)) if sequences else []
    ids, lengths = packed.gather(np.array(indices, np.int64))
    assert ids.dtype == np.int32
    assert ids.tolist() == [i for index in indices for i in sequences[index]]
    assert lengths.tolist() == [len(sequences[index]) for index in indices]


@given(sequences=IDS, before=st.lists(st.integers(1, 3), max_size=2), after=st.lists(st.integers(1, 3), max_size=2))
def test_pad_equals_padded_lists(sequences: list[list[int]], before: list[int], after: list[int]) -> None:
    rows = [before + s + after for s in sequences]
    width = max(map(len, rows), default=len(before) + len(after))
    padded = pad(*Sequences.of(sequences).gather(np.arange(len(sequences))), before, after)
    assert padded.dtype == np.int32
    assert padded.shape == (len(rows), width)
    assert padded.tolist() == [row + [PAD] * (width - len(row)) for row in rows]


def test_a_batch_of_two_pairs() -> None:
    source, target = Sequences.of([[5], [6, 7, 8], []]), Sequences.of([[9, 9], [4], [11]])
    batch = make_batch(source, target, np.array([1, 0, 2]))
    assert batch.source.tolist() == [[6, 7, 8, EOS], [5, EOS, PAD, PAD], [EOS, PAD, PAD, PAD]]
    assert batch.target_in.tolist() == [[BOS, 4, PAD], [BOS, 9, 9], [BOS, 11, PAD]]
    assert batch.target_out.tolist() == [[4, EOS, PAD], [9, 9, EOS], [11, EOS, PAD]]
    np.testing.assert_array_equal(source_rows(source, np.array([1, 0, 2])), batch.source)


def test_a_batch_of_given_width_with_blank_rows() -> None:
    source, target = Sequences.of([[5], [6, 7]]), Sequences.of([[9, 9], [4]])
    batch = make_batch(source, target, np.array([1, 0, BLANK]), width=4)
    assert batch.source.tolist() == [[6, 7, EOS, PAD], [5, EOS, PAD, PAD], [PAD] * 4]
    assert batch.target_in.tolist() == [[BOS, 4, PAD, PAD], [BOS, 9, 9, PAD], [PAD] * 4]
    assert batch.target_out.tolist() == [[4, EOS, PAD, PAD], [9, 9, EOS, PAD], [PAD] * 4]


@settings(max_examples=20, deadline=None)
@given(
    pairs=st.lists(st.tuples(*[st.lists(st.integers(0, 70_000), max_size=5)] * 2), max_size=10),
    chunk=st.integers(1, 4),
)
def test_a_corpus_is_read_back_as_it_was_written(
    pairs: list[tuple[list[int], list[int]]], chunk: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    chunks = [tuple(zip(*pairs[i : i + chunk], strict=True)) for i in range(0, len(pairs), chunk)]
    directory = tmp_path_factory.mktemp("corpus")
    EncodedCorpus.write(directory, chunks, vocabulary=70_001)
    corpus = EncodedCorpus(directory)
    assert len(corpus) == len(pairs)
    for side, field in enumerate((corpus.source, corpus.target)):
        for index, pair in enumerate(pairs):
            assert field.gather(np.array([index]))[0].tolist() == pair[side]
    plan = corpus.plan(50, 10, seed=0)
    assert plan.source_lengths.tolist() == [len(source) + 1 for source, _ in pairs]


def test_a_full_disk_names_the_file_and_leaves_no_complete_corpus(tmp_path: Path, full_disk: None) -> None:
    with pytest.raises(OSError) as caught:
        EncodedCorpus.write(tmp_path, [([[4]], [[5]])], vocabulary=9)
    assert caught.value.filename == str(tmp_path / "source.ids")
    assert not (tmp_path / "about.json").exists()


@pytest.mark.parametrize(("vocabulary", "size"), [(2**16, 2), (2**16 + 1, 4)])
def test_ids_take_two_bytes_where_the_vocabulary_allows(tmp_path: Path, vocabulary: int, size: int) -> None:
    corpus = EncodedCorpus.write(tmp_path, [([[4, vocabulary - 1]], [[vocabulary - 1]])], vocabulary)
    assert (tmp_path / "source.ids").stat().st_size == 2 * size
    batch = corpus.batch(np.array([0]))
    assert batch.source.tolist() == [[4, vocabulary - 1, EOS]]
    assert batch.target_out.tolist() == [[vocabulary - 1, EOS]]
    assert {array.dtype for array in batch} == {np.dtype(np.int32)}


def test_ids_are_on_the_disk_before_the_corpus_counts_as_complete(tmp_path, monkeypatch):
    """A power loss must not leave about.json beside empty files."""
    steps: list[str] = []
    sync, replace = os.fsync, os.replace

    def watched_sync(descriptor: int) -> None:
        steps.append(Path(os.readlink(f"/proc/self/fd/{descriptor}")).name)
        sync(descriptor)

    def watched_replace(part: Path, final: Path) -> None:
        steps.append(final.name)
        replace(part, final)

    monkeypatch.setattr("os.fsync", watched_sync)
    monkeypatch.setattr("os.replace", watched_replace)
    EncodedCorpus.write(tmp_path, [([[4]], [[5]], [[0, 0]])], 10, links=True)
    names = {f"{field}.{what}" for field in ("source", "target", "links") for what in ("ids", "lengths")}
    assert names <= set(steps[: steps.index("about.json")])


def test_an_incomplete_corpus_is_refused(tmp_path: Path) -> None:
    def chunks() -> object:
        yield [[4]], [[5]]
        raise KeyboardInterrupt

    EncodedCorpus.write(tmp_path, [([[4]], [[5]])], 10)
    with pytest.raises(KeyboardInterrupt):
        EncodedCorpus.write(tmp_path, chunks(), 10)
    assert not (tmp_path / "about.json").exists()
    EncodedCorpus.write(tmp_path, [([[7, 8]], [[5]])], 10)
    assert EncodedCorpus(tmp_path).source.lengths.tolist() == [2]
    assert json.loads((tmp_path / "about.json").read_text()) == {"dtype": "uint16"}


@pytest.mark.parametrize("chunk", [1, 2, 2**20])
@pytest.mark.parametrize("vocabulary", [10, 100_000])
def test_ids_beyond_a_vocabulary_are_refused(chunk: int, vocabulary: int, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(encoded_corpus, "CHUNK", chunk)
    corpus = EncodedCorpus.write(tmp_path, [([[4, 5], [9], [6]], [[5], [], [8]])], vocabulary)
    corpus.require_ids(10, 9)
    with pytest.raises(NmtError, match=r"source\.ids: has ids from \d to 9, and the vocabulary has 9 pieces"):
        corpus.require_ids(9, 9)
    with pytest.raises(NmtError, match=r"target\.ids: has ids from \d to 8, and the vocabulary has 8 pieces"):
        corpus.require_ids(10, 8)


def test_negative_ids_are_refused(tmp_path: Path) -> None:
    corpus = EncodedCorpus.write(tmp_path, [([[4, -5]], [[5]])], 100_000)
    with pytest.raises(NmtError, match=r"source\.ids: has ids from -5 to 4"):
        corpus.require_ids(10, 10)
    EncodedCorpus.write(tmp_path, [([[4, 0]], [[5]])], 100_000).require_ids(10, 10)


@pytest.mark.parametrize("links", [[2, 0], [0, 1], [0, 0, 0], [-1, 0]])
@pytest.mark.parametrize("chunk", [1, 2**20])
def test_links_beyond_their_pair_are_refused(links: list[int], chunk: int, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(encoded_corpus, "CHUNK", chunk)
    sides = [[4], [4, 4, 4]], [[5, 5], [5, 5, 5]]
    EncodedCorpus.write(tmp_path, [(*sides, [[1, 0], [2, 2]])], 100_000, links=True).require_ids(10, 10)
    corpus = EncodedCorpus.write(tmp_path, [(*sides, [links, [2, 2]])], 100_000, links=True)
    with pytest.raises(NmtError, match=r"links\.ids: has links of pieces that their pairs lack"):
        corpus.require_ids(10, 10)


def test_negative_lengths_and_other_types_are_refused(tmp_path: Path) -> None:
    EncodedCorpus.write(tmp_path, [([[4, 5], [6]], [[5], [6]])], 10)
    np.array([4, -1], np.int32).tofile(tmp_path / "source.lengths")
    with pytest.raises(NmtError, match="damaged or not all there"):
        EncodedCorpus(tmp_path)
    EncodedCorpus.write(tmp_path, [([[4, 5], [6]], [[5], [6]])], 10)
    (tmp_path / "about.json").write_text('{"dtype": "float16"}')
    with pytest.raises(NmtError, match="damaged or not all there"):
        EncodedCorpus(tmp_path)


def test_sides_with_different_numbers_of_sentences_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError):
        EncodedCorpus.write(tmp_path, [([[4]],)], 10)


def test_links_of_a_batch_share_their_weight() -> None:
    """Second pair: target piece 0 has source pieces 1 and 2, target piece 2 has source piece 0, piece 1 has none."""
    links = Sequences.of([[0, 0], [0, 1, 0, 2, 2, 0], []])
    rows = link_rows(links, np.array([1, 2, 0, BLANK]), (4, 4, 4))
    expected = np.zeros((4, 4, 4), np.float32)
    expected[0, 0, [1, 2]] = 0.5
    expected[0, 2, 0] = expected[2, 0, 0] = 1
    assert rows.dtype == np.float32
    np.testing.assert_array_equal(rows, expected)


def test_batches_of_a_corpus_with_links_have_links(tmp_path: Path) -> None:
    chunks = [([[5, 6]], [[7]], [[0, 1]]), ([[8]], [[9, 9]], [[1, 0]])]
    corpus = EncodedCorpus.write(tmp_path, chunks, 10, links=True)
    batch = corpus.batch(np.array([1, 0]))
    assert isinstance(batch, GuidedBatch)
    assert batch.source.tolist() == [[8, EOS, PAD], [5, 6, EOS]]
    assert batch.links.shape == (2, 3, 3)
    assert [tuple(map(int, place)) for place in np.argwhere(batch.links)] == [(0, 1, 0), (1, 0, 1)]
    assert corpus.batch(np.array([0, BLANK]), width=5).links.shape == (2, 5, 5)
    assert isinstance(corpus.links and corpus.links.ids, np.memmap)


def test_a_corpus_written_again_without_links_has_none(tmp_path: Path) -> None:
    EncodedCorpus.write(tmp_path, [([[5]], [[7]], [[0, 0]])], 10, links=True)
    corpus = EncodedCorpus.write(tmp_path, [([[5]], [[7]])], 10)
    assert corpus.links is None
    assert len(corpus.batch(np.array([0]))) == 3
