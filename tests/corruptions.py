"""Damage to files: what a run, a pack, an aligner, a prepared corpus or a cache is loaded as, before and after."""

from __future__ import annotations

import random
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import copy_task
import numpy as np

from nmt.aligning.aligner import Aligner
from nmt.aligning.run_aligner import load_run_aligner, run_aligner_arrays
from nmt.batches.encoded_corpus import EncodedCorpus
from nmt.batches.sharded_corpus import ShardedCorpus
from nmt.config import ModelConfig, PairsConfig, RunConfig, VocabularyConfig
from nmt.config.aligner import AlignerConfig
from nmt.errors import NmtError
from nmt.run.arrays import save_arrays
from nmt.run.directory import ALIGNER, Run
from nmt.run.errors import RunError
from nmt.run.manifest import MANIFEST, forget_folder
from nmt.run.packing import write_pack
from nmt.run.text_profile import load_profile, save_profile
from nmt.run.training_pairs import training_pairs
from nmt.text.pairs import Pair
from nmt.text.swapped_sides import Vocabularies, measure_profile
from nmt.text.tokenizer import Tokenizer
from nmt.training.preparation.cache import Cache
from nmt.training.preparation.prepared_corpus import write_run_files
from nmt.training.preparation.shards.parts import PLAIN, Part
from nmt.training.preparation.shards.preparing import prepare_corpus
from nmt.training.preparation.validation_pairs import load_validation_pairs, save_validation_pairs
from nmt.training.settings import load_config

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


def make_guided_run(directory: Path, seed: int, aligner: Path) -> Run:
    """A run with a vocabulary for each side, links that guide attention, and an aligner."""
    kind = VocabularyConfig(type="word", size=8, shared=False)
    words = ["ein haus und ein baum"] * 3, ["une maison et un arbre"] * 3
    source, target = (Tokenizer.train([*some, *[some[0].split()[0]] * seed], kind) for some in words)
    draw = np.random.default_rng(seed)
    sides = [[draw.integers(4, 8, length).tolist() for length in (3, 1 + seed, 5)] for _ in range(2)]
    links = [[0, 0, 2, 1], [0, 0], [4, 4, 1, 0][: 2 + 2 * seed]]
    EncodedCorpus.write(directory / "corpus", [(*sides, links)], 8, links=True)
    save_validation_pairs(directory, [Pair("ein haus" + " und" * seed, "une maison")])
    save_arrays(directory / ALIGNER, run_aligner_arrays(Aligner.load(aligner)))
    shutil.copytree(aligner, directory / "aligner", ignore=shutil.ignore_patterns("corpus"))
    forget_folder(directory / "aligner", "corpus")
    return Run.create(directory, RunConfig(vocabulary=kind, model=ModelConfig(tie="target")), source, target)


def loaded_guided(path: Path) -> Any:
    """All that such a run is loaded as, and links of its aligners."""
    run = Run.open(path)
    fingerprints = run.source.fingerprint, run.target.fingerprint
    pieces = run.source.encode(LINES), run.target.decode([[5, 6, 7]])
    own = load_run_aligner(run.storage)
    links = own and [pair.links for pair in own.align(ALIGNED)]
    return run.config, fingerprints, pieces, links, _loaded_aligner(path / "aligner"), loaded_text(run)


ALIGNED = [("a b c d", "a b c d"), ("e a", "a e b")]


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
    parts = [part for part in (corpus.source, corpus.target, corpus.links) if part is not None]
    return validation, [[array.tolist() for array in part.gather(np.arange(len(part)))] for part in parts]


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


class Damaged(NamedTuple):
    """A directory or a pack whose files are damaged one at a time.

    Attributes:
        name: of its kind.
        path: what is loaded.
        files: the files to damage, relative to `path`; "" is the pack itself.
        load: gives everything that is loaded, in a form that can be compared.
        other: another one of the same kind, whose files are exchanged with it.
    """

    name: str
    path: Path
    files: tuple[str, ...]
    load: Callable[[Path], Any]
    other: Path

    def answers(self, name: str, content: bytes) -> Any:
        """What is loaded with this content of one file; None if it is refused in one line."""
        path = self.path / name if name else self.path
        before = path.read_bytes()
        path.write_bytes(content)
        try:
            return self.load(self.path)
        except NmtError as error:
            assert "\n" not in str(error)
            assert len(str(error)) < 1000
            return None
        finally:
            path.write_bytes(before)

    def require_harmless(self, name: str, contents: Iterable[bytes], whole: Any) -> int:
        """Requires that each content is refused or changes nothing; returns the number of refusals.

        Args:
            whole: what is loaded undamaged; None: damage may go unnoticed, because there is no manifest.
        """
        refused = 0
        for content in contents:
            found = self.answers(name, content)
            assert found is None or whole is None or found == whole, f"{self.name} {name}: loaded, but different"
            refused += found is None
        return refused

    def without_manifest(self, directory: Path) -> Damaged:
        """A copy as version 0.1 wrote it, without sums."""
        shutil.copytree(self.path, directory)
        (directory / MANIFEST).unlink()
        kept = tuple(name for name in self.files if name != MANIFEST)
        return self._replace(name=f"{self.name} without manifest", path=directory, files=kept)


def make_runs(place: Path) -> tuple[Damaged, Damaged]:
    """A run and its pack."""
    runs = [make_run(place / "run", 0), make_run(place / "other", 1)]
    packs = [place / "model.nmt", place / "other.nmt"]
    for run, pack in zip(runs, packs, strict=True):
        write_pack(run, pack)
    run = Damaged("run", runs[0].directory, FILES, loaded, runs[1].directory)
    return run, Damaged("pack", packs[0], ("",), loaded, packs[1])


def make_aligner(place: Path) -> Damaged:
    """An aligner of made-up words."""
    paths = [place / "aligner", place / "other-aligner"]
    for seed, path in enumerate(paths):
        draw = random.Random(seed)
        lines = [" ".join(draw.choices(("a", "b", "c", "d", "e"), k=4)) for _ in range(30)]
        for side in ("source", "target"):
            (place / side).write_text("".join(f"{line}\n" for line in lines))
        options = AlignerConfig(lexicon_epochs=2, jump_epochs=1, fertility_epochs=1)
        pairs = PairsConfig(source=str(place / "source"), target=str(place / "target"))
        Aligner.train(pairs, path, options, say=lambda line: None)
    files = tuple(str(path.relative_to(paths[0])) for path in sorted(paths[0].iterdir()) if path.is_file())
    return Damaged("aligner", paths[0], files, _loaded_aligner, paths[1])


def _loaded_aligner(path: Path) -> Any:
    aligner = Aligner.load(path)
    pairs = list(aligner.align(ALIGNED))
    return aligner.config, [(pair.links, pair.probabilities.tobytes()) for pair in pairs]


def make_guided_runs(place: Path) -> Damaged:
    """A run with separate vocabularies, links and an aligner."""
    aligner = make_aligner(place)
    aligners = (aligner.path, aligner.other)
    runs = [make_guided_run(place / f"guided-{seed}", seed, path).directory for seed, path in enumerate(aligners)]
    return Damaged("guided run", runs[0], files_of(runs[0]), loaded_guided, runs[1])


def make_prepared(place: Path) -> Damaged:
    """A prepared corpus of a copy task."""
    paths = []
    for seed in (0, 1):
        (text := place / f"text-{seed}").mkdir()
        copy_task.write_corpus(text, train=60 + seed, validation=5)
        config = copy_task.config(text)
        prepare_corpus(path := place / f"prepared-{seed}", config, [Part(PLAIN, config.corpus.train)], 1, _silent)
        paths.append(path)
    return Damaged("prepared corpus", paths[0], files_of(paths[0]), _loaded_prepared, paths[1])


def _loaded_prepared(path: Path) -> Any:
    """What a training takes from a prepared corpus."""
    config = load_config(None, ["--corpus.prepared", str(path)])
    with tempfile.TemporaryDirectory() as name:
        write_run_files(run := Path(name), config, _silent)
        copies = {file: (run / file).read_bytes() for file in files_of(run)}
        pairs = training_pairs(run, config)
    assert isinstance(pairs, ShardedCorpus)
    text = [[array.tolist() for array in side] for side in pairs.gather(np.arange(len(pairs)))]
    lengths = pairs.length_counts
    counts = [array.tolist() for array in (lengths.source, lengths.target, lengths.pairs, pairs.piece_counts)]
    return replace(config, corpus=replace(config.corpus, prepared="")), copies, text, pairs.corpora, counts


def make_cache(place: Path) -> Damaged:
    """An entry of the cache, beside another one, with the files of two runs."""
    for seed in (0, 1):
        make_run(place / f"files-{seed}", seed)
        for name in ("checkpoints", "config.json", "best.npz", "shortlist.npz", MANIFEST):
            path = place / f"files-{seed}" / name
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        _fetched(place / f"cache-{seed}", seed, place)
    files = files_of(place / "cache-0")
    key = Path(files[0]).parts[0]
    (other,) = (place / "cache-1").iterdir()
    other.rename(place / "cache-1" / key)  # so that its files have the same names
    return Damaged("cache entry", place / "cache-0", files, partial(_fetched, seed=0, place=place), place / "cache-1")


def _fetched(path: Path, seed: int, place: Path) -> Any:
    """The files that a run takes from the cache, whose entry may be damaged."""

    def make(part: Path) -> None:
        shutil.copytree(place / f"files-{seed}", part, dirs_exist_ok=True)

    with tempfile.TemporaryDirectory() as name:
        Cache(path).fetch({"seed": seed}, make, run := Path(name))
        return {file: (run / file).read_bytes() for file in files_of(run)}


def files_of(directory: Path) -> tuple[str, ...]:
    """The names of all files, sorted."""
    return tuple(sorted(str(file.relative_to(directory)) for file in directory.rglob("*") if file.is_file()))


def _silent(line: str) -> None:
    """Takes a line for the user."""


def damages(damaged: Damaged, whole: Any, together: int) -> Iterator[tuple[str, Callable[[random.Random], int]]]:
    """The name of each file with a kind of damage, and a function that tries it `together` times."""

    def of_kind(name: str, kind: str, draw: random.Random) -> int:
        content = (damaged.path / name if name else damaged.path).read_bytes()
        return damaged.require_harmless(name, (DAMAGE[kind](content, draw) for _ in range(together)), whole)

    def swapped(name: str, draw: random.Random) -> int:
        if name:
            others = [damaged.path / one for one in damaged.files if one != name]
            chosen = [damaged.other / name, *draw.sample(others, min(len(others), (together + 1) // 2))]
            contents = (path.read_bytes() for path in chosen if path.is_file())
            return damaged.require_harmless(name, contents, whole)
        content, other = damaged.path.read_bytes(), damaged.other.read_bytes()
        cut = draw.randrange(len(content))
        found = damaged.answers(name, content[:cut] + other[cut:])
        assert found in (None, whole, damaged.load(damaged.other)), f"a mixture of two packs at byte {cut} is loaded"
        return int(found is None)

    for name in damaged.files:
        for kind in DAMAGE:
            yield f"{damaged.name} {name} {kind}".replace("  ", " "), partial(of_kind, name, kind)
        yield f"{damaged.name} {name} swapped".replace("  ", " "), partial(swapped, name)
