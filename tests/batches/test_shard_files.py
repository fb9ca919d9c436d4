"""The files of a corpus in shards: damage is refused, files are compared once, and writing waits for the disk."""

from __future__ import annotations

import hashlib
import json
import os
import resource
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sharded_pairs import random_pairs, write_shards

from nmt.batches import sharded_corpus
from nmt.batches.plan import START
from nmt.batches.sharded_corpus import ABOUT, LENGTHS, LONGEST, MOST_IDS, PIECES, ShardedCorpus, index_of
from nmt.errors import NmtError

PAIRS = random_pairs(60)


def test_damage_is_refused(tmp_path: Path) -> None:
    corpus = write_shards(tmp_path, [[PAIRS]])
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
def test_one_flipped_bit_is_refused(name: str, tmp_path: Path) -> None:
    write_shards(tmp_path, [[PAIRS]])
    sums = sums_of(tmp_path)
    flip(tmp_path / name)
    with pytest.raises(NmtError, match=rf"damaged .*\({name} differs from its sum in manifest\.json\): restore"):
        corpus = ShardedCorpus(tmp_path, sums=sums)
        corpus.batch(next(iter(corpus.plan(60, 9, 1).batches(0))))
        _ = corpus.piece_counts


def test_a_file_without_a_sum_is_refused(tmp_path: Path) -> None:
    write_shards(tmp_path, [[PAIRS]])
    sums = sums_of(tmp_path)
    del sums["0.index"]
    with pytest.raises(NmtError, match=r"0\.index is not in manifest\.json"):
        ShardedCorpus(tmp_path, sums=sums)


def test_a_shard_is_compared_once_before_its_first_pair_is_read(tmp_path: Path) -> None:
    write_shards(tmp_path, [[PAIRS[:30], PAIRS[30:]]])
    flip(tmp_path / "1.ids")
    sums = sums_of(tmp_path)
    flip(tmp_path / "1.ids")
    corpus = ShardedCorpus(tmp_path, sums=sums)
    corpus.batch(np.array([0, 29]))
    corpus.lengths(np.array([30]))
    with pytest.raises(NmtError, match=r"1\.ids differs"):
        corpus.batch(np.array([0, 30]))
    flip(tmp_path / "1.ids")
    corpus.batch(np.array([0, 30]))
    flip(tmp_path / "1.ids")
    corpus.batch(np.array([0, 30]))  # a second comparison would refuse this


def test_the_sum_is_of_the_whole_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The blocks that are read together have 7 bytes; the damage is in the last one."""
    monkeypatch.setattr(sharded_corpus, "_BLOCK", 7)
    write_shards(tmp_path, [[PAIRS]])
    sums = sums_of(tmp_path)
    ShardedCorpus(tmp_path, sums=sums).batch(np.array([0]))
    ids = tmp_path / "0.ids"
    ids.write_bytes(ids.read_bytes()[:-1] + b"?")
    with pytest.raises(NmtError, match=r"0\.ids differs"):
        ShardedCorpus(tmp_path, sums=sums).batch(np.array([0]))


def change_about(directory: Path, place: tuple[Any, ...], value: object) -> None:
    """Changes a value of `about.json`."""
    part = about = json.loads((directory / ABOUT).read_text())
    for key in place[:-1]:
        part = part[key]
    part[place[-1]] = value
    (directory / ABOUT).write_text(json.dumps(about))


SHARD = ("corpora", 0, "shards", 0)


def test_a_full_disk_names_the_file(tmp_path: Path, full_disk: None) -> None:
    with pytest.raises(OSError) as caught:
        sharded_corpus.write_synced(tmp_path / "00000.ids", b"ids")
    assert caught.value.filename == str(tmp_path / "00000.ids")


NO_PAIRS, NO_SHARD = "a corpus has no pairs", "a shard has no name or no size"


@pytest.mark.parametrize(
    ("place", "value", "reason"),
    [
        (("corpora",), [], NO_PAIRS),
        (("corpora", 0, "shards"), [], NO_PAIRS),
        (("corpora", 0, "weight"), 0, NO_PAIRS),
        (("corpora", 0, "weight"), -1, NO_PAIRS),
        ((*SHARD, "pairs"), 0, NO_PAIRS),
        ((*SHARD, "pairs"), 60.0, NO_SHARD),
        ((*SHARD, "ids"), "7", NO_SHARD),
        ((*SHARD, "ids"), True, NO_SHARD),
        ((*SHARD, "name"), "../0", NO_SHARD),
        ((*SHARD, "name"), "", NO_SHARD),
        ((*SHARD, "name"), 0, NO_SHARD),
        ((*SHARD, "name"), "1234567890", NO_SHARD),
        ((*SHARD, "name"), "123456789", "files are missing"),
        (("dtype",), "float32", "files are missing"),
    ],
)
def test_a_list_of_shards_that_nobody_writes_is_refused(
    place: tuple[Any, ...], value: object, reason: str, tmp_path: Path
) -> None:
    write_shards(tmp_path, [[PAIRS]])
    change_about(tmp_path, place, value)
    with pytest.raises(NmtError, match=rf"damaged .*\({reason}\)"):
        ShardedCorpus(tmp_path)


def test_a_corpus_may_have_one_pair_of_small_weight(tmp_path: Path) -> None:
    corpus = write_shards(tmp_path, [[PAIRS[:1]]], weights=(0.25,))
    assert len(corpus) == 1
    assert [batch.tolist() for batch in corpus.plan(60, 9, 1).batches(0)] == [[0]]


def test_a_list_may_name_a_shard_twice(tmp_path: Path) -> None:
    write_shards(tmp_path, [[PAIRS]])
    shard = json.loads((tmp_path / ABOUT).read_text())["corpora"][0]["shards"][0]
    change_about(tmp_path, ("corpora", 0, "shards"), [shard, shard])
    corpus = ShardedCorpus(tmp_path)
    assert len(corpus) == 120
    (first, _), (second, _) = (corpus.gather(np.array([index]))[0] for index in (7, 67))
    assert first.tolist() == second.tolist() == PAIRS[7][0]


@pytest.mark.parametrize(
    "array",
    [np.ones(4, np.int64), np.ones((2, 5), np.int32), np.array([[1, -1], [0, 0]]), np.ones((2, 2, 2), np.int64)],
    ids=["one axis", "int32", "negative", "three axes"],
)
def test_an_array_of_other_numbers_is_refused(array: np.ndarray, tmp_path: Path) -> None:
    corpus = write_shards(tmp_path, [[PAIRS]])
    np.save(tmp_path / PIECES, array)
    with pytest.raises(NmtError, match=rf"\({PIECES} has other numbers than expected\)"):
        _ = corpus.piece_counts


def test_piece_counts_may_be_zero(tmp_path: Path) -> None:
    assert write_shards(tmp_path, [[PAIRS]]).piece_counts.tolist() == np.zeros((2, 50), int).tolist()


class Program:
    """Pickled, it is a program that makes a directory."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.directory),)


def test_an_array_runs_no_program(tmp_path: Path) -> None:
    (tmp_path / "shards").mkdir()
    corpus = write_shards(tmp_path / "shards", [[PAIRS]])
    np.save(corpus.directory / PIECES, np.array([[Program(tmp_path / "made")]], object), allow_pickle=True)
    with pytest.raises(NmtError, match="damaged"):
        _ = corpus.piece_counts
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("cells", [[[1, 3, 3, 60]], [[0, 3, 60]]], ids=["a second corpus", "three columns"])
def test_lengths_of_other_corpora_are_refused(cells: list[list[int]], tmp_path: Path) -> None:
    corpus = write_shards(tmp_path, [[PAIRS]])
    np.save(tmp_path / LENGTHS, np.array(cells))
    with pytest.raises(NmtError, match=rf"{LENGTHS}: other corpora than in {ABOUT}"):
        _ = corpus.length_counts


@pytest.mark.parametrize(
    ("name", "reason"), [("0.index", "an index is cut off"), ("0.ids", "an index does not fit its ids")]
)
def test_a_file_that_becomes_shorter_is_noticed(name: str, reason: str, tmp_path: Path) -> None:
    corpus = write_shards(tmp_path, [[PAIRS]])
    os.truncate(tmp_path / name, (tmp_path / name).stat().st_size - 2)
    corpus.batch(np.array([0, 58]))
    with pytest.raises(NmtError, match=rf"\({reason}\)"):
        corpus.batch(np.array([59]))


IDS = [([4, 0, 9], [5]), ([], [8, 0]), ([6], [])]
"""Pairs with 9 as the largest source id, 8 as the largest target id, and empty sides."""


@pytest.mark.parametrize("dtype", ["uint16", "int32"])
def test_ids_beyond_a_vocabulary_are_refused(dtype: str, tmp_path: Path) -> None:
    corpus = write_shards(tmp_path, [[IDS]], dtype=dtype)
    corpus.require_ids(10, 9)
    corpus.batch(np.arange(3))
    corpus.batch(np.array([1]))
    corpus.require_ids(9, 9)
    corpus.batch(np.array([1, 2]))
    with pytest.raises(NmtError, match="a source has the id 9, and the vocabulary has 9 pieces"):
        corpus.batch(np.array([0]))
    corpus.require_ids(10, 8)
    with pytest.raises(NmtError, match="a target has the id 8, and the vocabulary has 8 pieces"):
        corpus.batch(np.array([1]))


def test_negative_ids_are_refused(tmp_path: Path) -> None:
    corpus = write_shards(tmp_path, [[[([4], [5]), ([4, -1], [5])]]], dtype="int32")
    corpus.batch(np.array([0]))
    with pytest.raises(NmtError, match="a source has the id"):
        corpus.batch(np.array([1]))


def test_the_largest_id_of_two_bytes_needs_no_vocabulary(tmp_path: Path) -> None:
    corpus = write_shards(tmp_path, [[[([LONGEST], [4])]]])
    assert corpus.gather(np.array([0]))[0][0].tolist() == [LONGEST]


def test_the_index_of_a_full_shard_has_exact_places() -> None:
    """The largest shard has pairs of the longest sentences, and the last one ends beyond `MOST_IDS`."""
    pairs = MOST_IDS // (2 * LONGEST) + 1
    sides = np.full(pairs, LONGEST)
    index = index_of(sides, sides)
    assert index["begin"][-1] == (pairs - 1) * 2 * LONGEST
    assert index["source"][-1] == index["target"][-1] == LONGEST


def test_files_are_on_the_disk_before_the_corpus_counts_as_complete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A power loss must not leave about.json beside empty files."""
    synced: list[tuple[str, int]] = []
    sync = os.fsync

    def watched(descriptor: int) -> None:
        synced.append((Path(os.readlink(f"/proc/self/fd/{descriptor}")).name, os.fstat(descriptor).st_size))
        sync(descriptor)

    monkeypatch.setattr("os.fsync", watched)
    write_shards(tmp_path, [[PAIRS]])
    assert synced == [(name, (tmp_path / name).stat().st_size) for name in (LENGTHS, PIECES, ABOUT)]


def test_a_corpus_opens_more_files_than_the_process_had_allowed(tmp_path: Path) -> None:
    """A process has a limit of open files, which it may raise. Here it allows 20 more files, and 30 shards have 60."""
    write_shards(tmp_path, [[PAIRS[2 * shard : 2 * shard + 2] for shard in range(30)]])
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = max(map(int, os.listdir("/proc/self/fd")))
    resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 20, hard))
    try:
        assert len(ShardedCorpus(tmp_path)) == 60
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize(
    ("soft", "hard", "raised"),
    [
        (100, 10_000, [(520, 10_000)]),
        (100, resource.RLIM_INFINITY, [(520, resource.RLIM_INFINITY)]),
        (100, 300, [(300, 300)]),
        (600, 10_000, []),
    ],
)
def test_the_limit_of_open_files_is_raised_as_far_as_needed(
    soft: int, hard: int, raised: list[tuple[int, int]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two shards have four files. As many again may be opened, and 512 others of the process."""
    write_shards(tmp_path, [[PAIRS[:30], PAIRS[30:]]])
    limits: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: (soft, hard))
    monkeypatch.setattr(resource, "setrlimit", lambda _, pair: limits.append(pair))
    ShardedCorpus(tmp_path)
    assert limits == raised
