"""The aligner that a run keeps: small, true to the one it was made of, and refused if it is damaged."""

from __future__ import annotations

import json

import numpy as np
import pytest

from nmt.aligning.aligner import Aligner
from nmt.aligning.hidden_markov import JUMPS
from nmt.aligning.run_aligner import load_run_aligner, run_aligner_arrays
from nmt.config import PairsConfig
from nmt.config.aligner import AlignerConfig
from nmt.run.arrays import save_arrays
from nmt.run.directory import ALIGNER
from nmt.run.errors import RunError
from nmt.run.storage import DirectoryStorage


@pytest.fixture(scope="module")
def aligner(text, tmp_path_factory) -> Aligner:
    """An aligner of the tiny language."""
    pairs = PairsConfig(source=str(text / "my.en"), target=str(text / "my.fr"))
    config = AlignerConfig(lexicon_epochs=3, jump_epochs=1, fertility_epochs=2)
    found = Aligner.train(pairs, tmp_path_factory.mktemp("full"), config, say=lambda line: None)
    assert found is not None
    return found


@pytest.fixture
def kept(aligner, tmp_path):
    """Writes a run's aligner with some arrays changed, and reads it."""

    def read(**changes: np.ndarray) -> Aligner:
        arrays = run_aligner_arrays(aligner) | {name.replace("_", "."): array for name, array in changes.items()}
        save_arrays(tmp_path / ALIGNER, arrays)
        found = load_run_aligner(DirectoryStorage(tmp_path))
        assert found is not None
        return found

    return read


def test_it_links_as_the_aligner_that_it_was_made_of(aligner, kept, tiny):
    pairs = [(source, target) for source, target, _ in tiny] + [("the unseen dog", "le chien inconnu")]
    for one, other in zip(aligner.align(pairs), kept().align(pairs), strict=True):
        assert one.links == other.links
        np.testing.assert_allclose(one.weights, other.weights, atol=0.01)


def test_it_has_no_more_pairs_of_words_than_allowed(aligner):
    """The pairs that training linked most stay, and their words alone."""
    arrays = run_aligner_arrays(aligner, most=2)
    assert len(arrays["targets"]) == arrays["partners"].sum() == 2
    words = [arrays[f"{side}.words"].tobytes().decode().split() for side in ("source", "target")]
    assert "the" in words[0] and "le" in words[1]


def test_one_without_pairs_of_words_aligns_too(aligner, tmp_path):
    """In a text of one long pair no two words are linked often enough to be kept."""
    save_arrays(tmp_path / ALIGNER, run_aligner_arrays(aligner, most=0))
    found = load_run_aligner(DirectoryStorage(tmp_path))
    assert found is not None and len(found.cooccurrence) == 0
    (pair,) = found.align([("the dog", "le chien rouge")])
    assert pair.target == ("le", "chien", "rouge") and np.isfinite(pair.weights).all()


def test_a_run_without_one_has_none(tmp_path):
    assert load_run_aligner(DirectoryStorage(tmp_path)) is None


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("about", np.frombuffer(b"{", np.uint8)),
        ("about", np.frombuffer(json.dumps({"format": 9, "settings": {}}).encode(), np.uint8)),
        ("source_words", np.frombuffer(b"dog\ndog\n", np.uint8)),
        ("target_words", np.frombuffer(b"\xff\n", np.uint8)),
        ("partners", np.full(18, 2**31, np.uint32)),
        ("partners", np.zeros(3, np.float64)),
        ("targets", np.full(5, 2**31, np.uint32)),
        ("forward_lexicon", np.zeros(3, np.float16)),
        ("backward_jumps", np.full(JUMPS, np.nan, np.float32)),
        ("backward_empty", np.zeros((2, 2), np.float32)),
        ("forward_ratios", np.array("text")),
    ],
)
def test_a_damaged_file_is_refused_in_one_line(kept, name, array):
    with pytest.raises(RunError, match=r"aligner\.npz: damaged, or of another version of nmt: restore it"):
        kept(**{name: array})


def test_the_words_of_a_sentence_are_aligned_as_they_are(aligner):
    """A translator has cut its sentences already, so no word of theirs is left out."""
    source, target = ["the", "red", "dog"] * 68, ["le", "chien", "rouge"] * 68
    of_words, of_text = (
        next(aligner.align([pair])) for pair in ((source, target), (" ".join(source), " ".join(target)))
    )
    assert of_words.target == tuple(target) and not of_words.cut
    assert len(of_text.target) == aligner.config.max_words and of_text.cut
