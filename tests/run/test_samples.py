"""samples.jsonl: sample translations over the steps of a training."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt.alignment.word_alignment import WordAlignment
from nmt.run.errors import RunError
from nmt.run.history import read_history
from nmt.run.samples import Sample, read_samples, thinned, write_samples

PAIR = WordAlignment(("a", "b"), ("x",), np.array([[0.25, 0.5]]), np.array([0.25]))


def sample(step: int, sentence: int = 0) -> Sample:
    return Sample(step, sentence, "r\u2028 \ud800", "x", -1.5, PAIR)


def test_samples_are_read_as_they_were_written(tmp_path: Path):
    path = tmp_path / "samples.jsonl"
    assert read_samples(path) == []
    written = [sample(1), sample(1, 1), sample(2)]
    write_samples(path, written)
    assert read_samples(path) == [one._replace(reference="r\u2028 \ud800") for one in written]


@pytest.mark.parametrize("text", ["{", "[]\n", '{"step": 1}\n', "1\n", '{"step": "x"}\n', "[" * 100000])
def test_a_damaged_file_is_named(tmp_path: Path, text: str):
    path = tmp_path / "samples.jsonl"
    path.write_text(text)
    with pytest.raises(RunError, match=r"samples\.jsonl: damaged .*: delete it; training goes on without its samples$"):
        read_samples(path)


@pytest.mark.parametrize("read", [read_samples, read_history])
def test_nobody_is_advised_to_delete_a_file_that_cannot_be_read_now(read, tmp_path: Path):
    (tmp_path / "file").mkdir()  # as good as a disk error
    with pytest.raises(RunError) as error:
        read(tmp_path / "file")
    assert str(error.value) == f"{tmp_path / 'file'}: Is a directory"


@given(st.sets(st.integers(1, 10**6), min_size=1, max_size=40), st.integers(2, 12))
def test_thinned_samples_keep_the_first_and_the_newest_step(steps: set[int], most: int):
    kept = [one.step for one in thinned([sample(step, number) for step in sorted(steps) for number in (0, 1)], most)]
    assert kept == sorted(kept)
    assert len(set(kept)) == min(most, len(steps))
    assert {min(steps), max(steps)} <= set(kept) <= steps
    assert all(kept.count(step) == 2 for step in kept)
    assert thinned([sample(step) for step in (10, 20, 30, 40, 41)], 4) == [sample(step) for step in (10, 20, 30, 41)]
