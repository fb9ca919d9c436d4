"""The pipeline yields the planned batches, from any batch of the epoch on, on every backend."""

from __future__ import annotations

import platform
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import forked

from nmt.batches.arrays import Batch, GuidedBatch
from nmt.batches.encoded_corpus import EncodedCorpus
from nmt.batches.pipeline import pass_batches
from nmt.batches.plan import BatchPlan
from nmt.errors import NmtError


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> EncodedCorpus:
    random = np.random.default_rng(1)
    sides = [[random.integers(4, 99, length).tolist() for length in random.integers(1, 12, 60)] for _ in range(2)]
    return EncodedCorpus.write(tmp_path_factory.mktemp("corpus"), [tuple(sides)], 99)


def test_an_error_of_the_corpus_comes_behind_the_batches_before_it(corpus: EncodedCorpus) -> None:
    class Damaged:
        links, made = None, 0

        def batch(self, *arguments: Any) -> Batch:
            self.made += 1
            if self.made == 3:
                raise NmtError("shard 7 is damaged")
            return corpus.batch(*arguments)

    batches = pass_batches(Damaged(), corpus.plan(50, 40, 2), 0, 0)  # type: ignore[arg-type]
    assert [next(batches).source.shape[0] > 0 for _ in range(2)] == [True, True]
    with pytest.raises(NmtError, match="^shard 7 is damaged$"):
        next(batches)


@pytest.fixture(scope="module", params=[0, 3])
def plan(corpus: EncodedCorpus, request: pytest.FixtureRequest) -> BatchPlan:
    """A plan with any shapes, and a plan with three shapes."""
    return corpus.plan(batch_tokens=50, window=40, seed=2, shapes=request.param)


def equal(one: Batch, two: Batch) -> None:
    for field, left, right in zip(Batch._fields, one, two, strict=True):
        np.testing.assert_array_equal(left, right, err_msg=field)


def test_batches_are_the_planned_batches(corpus: EncodedCorpus, plan: BatchPlan) -> None:
    for pass_index in (0, 1):
        planned = [corpus.batch(indices, plan.width(indices)) for indices in plan.batches(pass_index)]
        for one, two in zip(planned, pass_batches(corpus, plan, pass_index, 0), strict=True):
            assert isinstance(two, Batch)
            assert two.source.dtype == "int32"
            equal(one, two)


@pytest.mark.parametrize("from_the_end", [0, 1, 7])
def test_an_epoch_resumes_at_any_batch(corpus: EncodedCorpus, plan: BatchPlan, from_the_end: int) -> None:
    whole = list(pass_batches(corpus, plan, 1, 0))
    skip = len(whole) - from_the_end
    rest = list(pass_batches(corpus, plan, 1, skip))
    assert len(rest) == from_the_end
    for one, two in zip(whole[skip:], rest, strict=True):
        equal(one, two)


def test_other_backends_get_equal_batches(
    corpus: EncodedCorpus, plan: BatchPlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = list(pass_batches(corpus, plan, 0, 3))
    monkeypatch.setattr("keras.backend.backend", lambda: "jax")
    found = list(pass_batches(corpus, plan, 0, 3))
    assert isinstance(found[0].source, np.ndarray)
    for one, two in zip(expected, found, strict=True):
        equal(one, two)


def test_links_come_with_the_batches(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    sides = [[4] * n for n in (3, 1, 5, 2)], [[5] * n for n in (2, 4, 1, 3)], [[0, 2], [3, 0, 1, 0], [], [2, 1]]
    corpus = EncodedCorpus.write(tmp_path, [sides], 9, links=True)
    plan = corpus.plan(batch_tokens=12, window=9, seed=0)
    found = list(pass_batches(corpus, plan, 0, 0))
    monkeypatch.setattr("keras.backend.backend", lambda: "jax")
    for one, two in zip(found, pass_batches(corpus, plan, 0, 0), strict=True):
        assert isinstance(one, GuidedBatch)
        assert isinstance(two, GuidedBatch)
        for left, right in zip(one, two, strict=True):
            np.testing.assert_array_equal(left, right)
    assert sum(float(np.sum(batch.links)) for batch in found) == 4


FAULTS = """
import resource, sys
from pathlib import Path
import numpy as np
from nmt.batches.encoded_corpus import EncodedCorpus
from nmt.batches.pipeline import pass_batches

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(100):
        np.ones(250_000, np.float32)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

corpus = EncodedCorpus.write(Path(sys.argv[1]), [([[4, 5]] * 60, [[6]] * 60)], 9)
plan = corpus.plan(batch_tokens=50, window=40, seed=2, shapes=0)
faults()
print(faults(), len(list(pass_batches(corpus, plan, 0, 0))), faults())
"""


@pytest.mark.slow
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="tests the allocator of glibc")
def test_blocks_of_memory_are_used_again(tmp_path: Path) -> None:
    """The input pipeline must not stop the C library from reusing memory.

    A hundred consecutive arrays of a megabyte touch 25,000 new pages if the system provides each of them. They touch no
    new page if memory is reused.
    """
    (tmp_path / "faults.py").write_text(FAULTS)
    result = forked(["faults.py", str(tmp_path)], tmp_path)
    assert result.returncode == 0, result.stderr
    before, batches, after = map(int, result.stdout.split())
    assert batches > 2
    assert before < 2500 > after
