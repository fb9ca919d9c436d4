"""`nmt evaluate` says when a test set has training pairs of the model."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt.batches.arrays import Sequences
from nmt.batches.encoded_corpus import EncodedCorpus
from nmt.config import RunConfig, VocabularyConfig
from nmt.evaluation import seen_pairs
from nmt.evaluation.seen_pairs import count_seen_pairs
from nmt.text.tokenizer import Tokenizer

PAIRS = [("a dog sleeps", "un chien dort"), ("a cat sleeps", "un chat dort"), ("a dog", "un chien")]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run whose training pairs are `PAIRS`."""
    directory = tmp_path_factory.mktemp("run")
    source, target = (
        Tokenizer.train([pair[side] for pair in PAIRS], VocabularyConfig(type="char", size=30)) for side in (0, 1)
    )
    sides = [vocabulary.encode([p[side] for p in PAIRS]) for side, vocabulary in ((0, source), (1, target))]
    EncodedCorpus.write(directory / "corpus", [sides], 30)
    return SimpleNamespace(directory=directory, config=RunConfig(), source=source, target=target)


@pytest.mark.parametrize(
    ("pairs", "seen"),
    [
        (PAIRS, 3),
        ([PAIRS[1], PAIRS[1], ("", "")], 2),
        ([("a dog sleeps", "un chat dort"), ("a dog", "chien un"), ("dog a", "un chien")], 0),
        ([], 0),
    ],
)
def test_pairs_count_where_both_sides_are_those_of_a_training_pair(run, pairs, seen):
    assert count_seen_pairs(run, [source for source, _ in pairs], [target for _, target in pairs]) == seen


def test_a_run_without_its_training_pairs_counts_none(run, tmp_path):
    bare = SimpleNamespace(**{**vars(run), "directory": tmp_path})
    assert count_seen_pairs(bare, ["a dog"], ["un chien"]) == 0


sentences = st.lists(st.lists(st.integers(0, 5), max_size=4), min_size=1, max_size=20)


@given(sentences, st.integers(1, 5))
def test_numbers_are_equal_for_equal_sentences_alone(ids, block):
    """However the sentences are cut into blocks."""
    sequences = Sequences.of(ids)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(seen_pairs, "_BLOCK", block)
        numbers = np.concatenate(list(seen_pairs._of_blocks(sequences))).tolist()
    assert len(numbers) == len(ids)
    assert len(set(numbers)) == len({tuple(one) for one in ids})
