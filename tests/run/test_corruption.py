"""Damage to any file of a run or a pack: it is refused in one line, or nothing that is loaded has changed."""

from __future__ import annotations

import random
import shutil
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nmt.batches.encoded_corpus import EncodedCorpus
from nmt.config import RunConfig, VocabularyConfig
from nmt.errors import NmtError
from nmt.run.directory import Run
from nmt.run.errors import RunError
from nmt.run.manifest import MANIFEST
from nmt.run.pack_storage import CARD
from nmt.run.packing import write_pack
from nmt.run.text_profile import load_profile, save_profile
from nmt.text.pairs import Pair
from nmt.text.swapped_sides import Vocabularies, measure_profile
from nmt.text.tokenizer import Tokenizer
from nmt.training.preparation.validation_pairs import load_validation_pairs, save_validation_pairs

LINES = ["ein haus und ein baum", "Größe, 日本 und ½", "", "ein " * 50]

FILES = (
    *("config.json", "shared.model", "best.npz", "shortlist.npz", "profile.json", "checkpoints/000000007.npz"),
    *("corpus/about.json", "corpus/source.ids", "corpus/target.lengths", "corpus/validation.jsonl", MANIFEST),
)

SIZES = {"source_embedding": (8, 4), "decoder/kernel": (4, 6)}


def make_run(directory: Path, seed: int) -> Run:
    """A run with small files of all kinds."""
    vocabulary = Tokenizer.train(["ein haus und ein baum"] * 3 + ["und"] * seed, VocabularyConfig(type="word", size=8))
    draw = np.random.default_rng(seed)
    sentences = [draw.integers(4, 8, length).tolist() for length in (3, 1, 5)]
    EncodedCorpus.write(directory / "corpus", [(sentences, sentences)], 8)
    save_validation_pairs(directory, [Pair("ein haus" + " und" * seed, "une maison")])
    save_profile(
        directory, measure_profile([("ein haus" + "!" * seed, "une maison")] * 3, Vocabularies(vocabulary, vocabulary))
    )
    run = Run.create(directory, RunConfig(vocabulary=VocabularyConfig(size=8 + seed)), vocabulary, vocabulary)
    arrays = {f"seq2seq/{name}": draw.normal(size=shape).astype(np.float32) for name, shape in SIZES.items()}
    run.save_weights(arrays)
    run.save_short_list({"translations": draw.integers(0, 8, (8, 5)), "frequent": draw.integers(0, 8, 8)})
    run.save_checkpoint(7, {**arrays, "place": np.array('{"step": 7}')})
    return run


def loaded(path: Path) -> Any:
    """All that a run is loaded as, and pieces of text."""
    run = Run.open(path)
    parts = [run.weights(), run.load_short_list(), *map(run.load_checkpoint, run.checkpoints())]
    arrays = [{name: (array.dtype, array.shape, array.tobytes()) for name, array in part.items()} for part in parts]
    pieces = run.source.encode(LINES), run.target.decode([[5, 6, 7]]), run.source.joins
    text = None if run.is_pack else loaded_text(run)
    return run.config, run.source.fingerprint, run.target.fingerprint, arrays, pieces, load_profile(path), text


def loaded_text(run: Run) -> Any:
    """The pairs, as training opens them."""
    run.storage.require_folder("corpus")
    try:
        validation = load_validation_pairs(run.directory)
    except (ValueError, TypeError, RecursionError) as error:  # as `prepare` does
        raise RunError(str(error)) from None
    corpus = EncodedCorpus(run.directory / "corpus")
    corpus.require_ids(run.source.size, run.target.size)
    return validation, [side.gather(np.arange(len(side)))[0].tolist() for side in (corpus.source, corpus.target)]


DAMAGE: dict[str, Callable[[bytes, random.Random], bytes]] = {
    "flipped": lambda whole, draw: changed(whole, draw, lambda byte: byte ^ 1 << draw.randrange(8)),
    "cut": lambda whole, draw: whole[: draw.randrange(len(whole))],
    "zeroed": lambda whole, draw: zeroed(whole, draw.randrange(len(whole)), draw.randrange(1, 600)),
    "grown": lambda whole, draw: draw.choice([whole + draw.randbytes(9), draw.randbytes(9) + whole, whole + whole]),
}


def changed(whole: bytes, draw: random.Random, change: Callable[[int], int]) -> bytes:
    place = draw.randrange(len(whole))
    return whole[:place] + bytes([change(whole[place])]) + whole[place + 1 :]


def zeroed(whole: bytes, start: int, length: int) -> bytes:
    return whole[:start] + bytes(len(whole[start : start + length])) + whole[start + length :]


class Place:
    """A run, its pack, and another run."""

    def __init__(self, directory: Path) -> None:
        self.run, self.other = make_run(directory / "run", 0), make_run(directory / "other", 1)
        self.pack = directory / "model.nmt"
        write_pack(self.run, self.pack)
        write_pack(self.other, directory / "other.nmt")
        self.whole, self.packed = loaded(self.run.directory), loaded(self.pack)
        shutil.copytree(self.run.directory, directory / "old")
        self.old = directory / "old"
        (self.old / MANIFEST).unlink()

    def answers(self, path: Path, content: bytes, model: Path) -> Any:
        """What the model is loaded as with this content of one file; None if it is refused in one line."""
        before = path.read_bytes()
        path.write_bytes(content)
        try:
            return loaded(model)
        except NmtError as error:
            assert "\n" not in str(error)
            assert len(str(error)) < 1000
            return None
        finally:
            path.write_bytes(before)


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Place:
    return Place(tmp_path_factory.mktemp("corruption"))


def contents(path: Path, kind: str, count: int) -> Iterator[bytes]:
    """Damaged contents of a file."""
    draw, whole = random.Random(f"{path.name} {kind}"), path.read_bytes()
    return (DAMAGE[kind](whole, draw) for _ in range(count))


def check(place: Place, kind: str, count: int) -> int:
    """Damages each file `count` times; returns the number of refusals."""
    refused = 0
    for name in FILES:
        path = place.run.directory / name
        for content in contents(path, kind, count):
            found = place.answers(path, content, place.run.directory)
            assert found in (None, place.whole), name
            refused += found is None
    for content in contents(place.pack, kind, count):
        found = place.answers(place.pack, content, place.pack)
        assert found in (None, place.packed)
        refused += found is None
    for name in FILES[:-1]:  # without a manifest damage may go unnoticed, but it never ends in another kind of error
        for content in contents(place.old / name, kind, count):
            place.answers(place.old / name, content, place.old)
    return refused


@pytest.mark.parametrize("kind", DAMAGE)
def test_damage_is_refused_or_changes_nothing(kind, place):
    assert check(place, kind, 4) > 30


@pytest.mark.slow
@pytest.mark.parametrize("kind", DAMAGE)
def test_two_thousand_damages_are_refused_or_change_nothing(kind, place):
    assert check(place, kind, 100) > 900


def test_a_checkpoint_whose_sums_are_wiped_out_is_refused(place):
    """Zeroes over the end of the file: no arrays are listed, and no comment."""
    path = place.run.checkpoints()[-1]
    whole = path.read_bytes()
    end = whole.rindex(b"PK\5\6")
    assert place.answers(path, whole[: end + 4] + bytes(18) + whole[end + 22 :], place.run.directory) is None
    assert place.answers(path, whole[: end + 20] + bytes(len(whole) - end - 20), place.run.directory) is None


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_another_run_is_refused(name, place):
    path, other = place.run.directory / name, (place.other.directory / name).read_bytes()
    expected = place.whole if path.read_bytes() == other else None
    assert place.answers(path, other, place.run.directory) == expected
    assert name in ("corpus/about.json", "corpus/target.lengths") or expected is None


def test_a_member_of_another_pack_is_refused(place, tmp_path):
    with zipfile.ZipFile(place.pack) as one, zipfile.ZipFile(place.pack.with_name("other.nmt")) as two:
        for swapped in one.namelist():
            with zipfile.ZipFile(tmp_path / "mixed.nmt", "w") as mixed:
                for name in one.namelist():
                    mixed.writestr(name, (two if name == swapped else one).read(name))
            if swapped == CARD:  # which is not loaded
                assert loaded(tmp_path / "mixed.nmt") == place.packed
            else:
                with pytest.raises(NmtError, match=r"mixed\.nmt"):
                    loaded(tmp_path / "mixed.nmt")
