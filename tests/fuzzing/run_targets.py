"""Fuzz targets for the files of runs, packs, exports and aligners.

The directories have no manifest, so that the content reaches the parsers.
"""

from __future__ import annotations

import io
import json
import tempfile
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from oracle import Target, read_or_refused

from nmt.aligning.aligner import Aligner
from nmt.aligning.directory import open_directory
from nmt.aligning.run_aligner import load_run_aligner, run_aligner_arrays
from nmt.alignment.word_alignment import WordAlignment
from nmt.batches.encoded_corpus import EncodedCorpus
from nmt.config import PairsConfig, RunConfig, VocabularyConfig
from nmt.config.aligner import AlignerConfig
from nmt.explaining.erasure import Erasure
from nmt.run.arrays import packed_arrays, read_arrays, read_shapes, save_arrays
from nmt.run.checkpoints import load_checkpoint, save_checkpoint
from nmt.run.directory import ALIGNER, Run
from nmt.run.exported import Export, TensorSpec, export_kind, read_export
from nmt.run.history import read_history, write_history
from nmt.run.manifest import MANIFEST, Manifest, read_manifest
from nmt.run.packing import write_pack
from nmt.run.samples import Sample, read_samples, write_samples
from nmt.run.storage import DirectoryStorage
from nmt.run.text_profile import load_profile, save_profile
from nmt.run.verification import verify
from nmt.text.pairs import Pair
from nmt.text.swapped_sides import Vocabularies, measure_profile
from nmt.text.tokenizer import Tokenizer
from nmt.training.preparation.validation_pairs import load_validation_pairs, save_validation_pairs

PAIRS = [("a house and a tree", "une maison et un arbre"), ("a tree", "un arbre")] * 3


@cache
def examples() -> dict[str, Any]:
    """Content of each file of a small run, a pack, an export and an aligner."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        words = Tokenizer.train([text for pair in PAIRS for text in pair], VocabularyConfig(type="word", size=14))
        run = Run.create(place / "run", RunConfig(), words, words)
        arrays = {"seq2seq/a": np.arange(6, dtype=np.float32).reshape(2, 3), "seq2seq/b": np.array(3)}
        run.save_weights(arrays)
        save_profile(run.directory, measure_profile(PAIRS, Vocabularies(words, words)))
        save_checkpoint(run.directory / "checkpoints", 7, arrays, 1)
        write_history(run.directory / "history.csv", [{"step": 1, "loss": 0.5}, {"step": 2, "loss": 0.25}])
        links = WordAlignment(("a",), ("b",), np.ones((1, 1), np.float32), np.zeros(1, np.float32))
        write_samples(run.directory / "samples.jsonl", [Sample(1, 0, "b", "b", -0.5, links)])
        EncodedCorpus.write(run.directory / "corpus", [([[4, 5], [6]], [[4], [5, 6]])], 14)
        save_validation_pairs(run.directory, [Pair("a", "b", "0-0")])
        write_pack(run, place / "model.nmt")
        spec = TensorSpec("hidden", "float32", ("rows", 8))
        contents = {path.name: path.read_bytes() for path in run.directory.rglob("*") if path.is_file()}
        contents |= {"export.json": Export("int8", (spec,), (spec,)).content()}
        contents |= {"pack": (place / "model.nmt").read_bytes()}
        return contents | {"aligner": _aligner(place)}


def _aligner(place: Path) -> dict[str, bytes]:
    for side, name in enumerate(("source", "target")):
        (place / name).write_text("".join(f"{pair[side]}\n" for pair in PAIRS))
    options = AlignerConfig(lexicon_epochs=1, jump_epochs=1, fertility_epochs=1)
    pairs = PairsConfig(source=str(place / "source"), target=str(place / "target"))
    Aligner.train(pairs, place / "made", options, say=lambda line: None)
    return {path.name: path.read_bytes() for path in (place / "made").iterdir() if path.is_file()}


def _in_run(place: Path, name: str, data: bytes) -> Path:
    """A run without a manifest, with this content in one of its files."""
    (directory := place / "run").mkdir(exist_ok=True)
    for file in ("config.json", "shared.model"):
        (directory / file).write_bytes(examples()[file])
    (directory / name).parent.mkdir(exist_ok=True)
    (directory / name).write_bytes(data)
    return directory


def check_config(data: bytes, place: Path) -> None:
    """A configuration that is read can be written, and read again."""
    directory = _in_run(place, "config.json", data)
    for name in ("source.model", "target.model"):
        (directory / name).write_bytes(examples()["shared.model"])
    if run := read_or_refused(Run.open, directory):
        (directory / "config.json").write_bytes(run.config_content())
        assert Run.open(directory).config == run.config


def check_arrays(data: bytes, place: Path) -> None:
    """Arrays are read whole or not at all, in memory that the file bounds."""
    arrays = read_or_refused(read_arrays, io.BytesIO(data), Path("best.npz"))
    if arrays is not None:
        assert sum(array.nbytes for array in arrays.values()) <= len(data)
        assert {name: array.shape for name, array in arrays.items()} == read_shapes(io.BytesIO(data))


def check_checkpoint(data: bytes, place: Path) -> None:
    """A checkpoint that is accepted has the arrays that were saved, or it has no sums, as in version 0.1."""
    directory = _in_run(place, "checkpoints/000000007.npz", data)
    read_or_refused(load_checkpoint, directory / "checkpoints" / "000000007.npz", "run")


def check_history(data: bytes, place: Path) -> None:
    """Rows that are read can be written, and read again."""
    (path := place / "history.csv").write_bytes(data)
    if rows := read_or_refused(read_history, path):
        write_history(path, rows)
        assert read_history(path) == rows


def check_samples(data: bytes, place: Path) -> None:
    """Samples that are read can be written, and read again."""
    (path := place / "samples.jsonl").write_bytes(data)
    if samples := read_or_refused(read_samples, path):
        write_samples(path, samples)
        assert len(read_samples(path)) == len(samples)


def check_manifest(data: bytes, place: Path) -> None:
    """A manifest from anybody, with a sum that fits its content."""
    directory = _in_run(place, MANIFEST, data)
    read_or_refused(read_manifest, directory)
    try:
        names = json.loads(data)
    except (ValueError, RecursionError):
        names = data.decode("utf-8", "surrogateescape").split("\n")
    if isinstance(names, list) and all(isinstance(name, str) for name in names):
        try:
            content = Manifest("run", dict.fromkeys(names, ("0" * 64,))).as_bytes()
        except UnicodeError:
            return
        (directory / MANIFEST).write_bytes(content)
    assert verify(directory).problems or not read_or_refused(read_manifest, directory)


def check_profile(data: bytes, place: Path) -> None:
    """The profile of a training text."""
    read_or_refused(load_profile, _in_run(place, "profile.json", data), (14, 14))


def check_vocabulary(data: bytes, place: Path) -> None:
    """A vocabulary that is read encodes and decodes any text."""
    if tokenizer := read_or_refused(Tokenizer, data):
        for sentence in ("a house", "日本 ½ \u2028", ""):
            segmented = tokenizer.segment(sentence)
            assert len(segmented.ids) == len(segmented.word_of_piece)
            tokenizer.decode([segmented.ids])
        _ = tokenizer.joins, tokenizer.opens, tokenizer.unreadable


def check_pack(data: bytes, place: Path) -> None:
    """A pack from anybody."""
    (path := place / "model.nmt").write_bytes(data)
    if run := read_or_refused(Run.open, path):
        read_or_refused(run.weights)
        read_or_refused(load_profile, path)
    read_or_refused(verify, path)


def check_export(data: bytes, place: Path) -> None:
    """The description of an export that is read can be written, and read again."""
    directory = _in_run(place, "export.json", data)
    export_kind(directory)
    if export := read_or_refused(read_export, directory):
        (directory / "export.json").write_bytes(export.content())
        assert read_export(directory) == export


def check_corpus(name: str, data: bytes, place: Path) -> None:
    """The encoded corpus of a run."""
    for file in ("about.json", "source.ids", "source.lengths", "target.ids", "target.lengths"):
        directory = _in_run(place, f"corpus/{file}", data if file == name else examples()[file])
    if corpus := read_or_refused(EncodedCorpus, directory / "corpus"):
        read_or_refused(corpus.require_ids, 14, 14)


def check_validation(data: bytes, place: Path) -> None:
    """The validation pairs of a run."""
    directory = _in_run(place, "corpus/validation.jsonl", data)
    try:
        pairs = load_validation_pairs(directory)
    except (ValueError, TypeError, RecursionError):
        return  # `prepare` makes one line of them
    assert all(isinstance(pair.source, str) for pair in pairs)


def check_aligner(name: str, data: bytes, place: Path) -> None:
    """An aligner aligns, or is refused."""
    (directory := place / "aligner").mkdir(exist_ok=True)
    for file, content in examples()["aligner"].items():
        if file != MANIFEST:
            (directory / file).write_bytes(data if file == name else content)
    if read_or_refused(open_directory, directory) and (aligner := read_or_refused(Aligner.load, directory)):
        read_or_refused(lambda: list(aligner.align([("a house", "une maison")])))


def check_run_aligner(name: str, data: bytes, place: Path) -> None:
    """The aligner in a run, with these bytes as one of its arrays; it aligns, or is refused."""
    arrays = dict(run_aligner())
    kind = arrays[name].dtype
    arrays[name] = np.frombuffer(data[: len(data) - len(data) % kind.itemsize], kind)
    if name.endswith(".ratios") and arrays[name].size % 2 == 0:
        arrays[name] = arrays[name].reshape(-1, 2)
    (directory := place / "run").mkdir(exist_ok=True)
    save_arrays(directory / ALIGNER, arrays)
    if aligner := read_or_refused(load_run_aligner, DirectoryStorage(directory)):
        links = read_or_refused(lambda: list(aligner.align([("a house", "une maison"), ("", "x")])))
        assert links is None or len(links) == 2


@cache
def run_aligner() -> dict[str, np.ndarray]:
    """The arrays of the aligner that a run keeps."""
    with tempfile.TemporaryDirectory() as name:
        for file, content in examples()["aligner"].items():
            (Path(name) / file).write_bytes(content)
        return run_aligner_arrays(Aligner.load(Path(name)))


def check_alignment_record(data: bytes, place: Path) -> None:
    """A line of alignments.jsonl or explanation.jsonl. Records that are read can be written, and read again."""
    try:
        record = json.loads(data)
    except (ValueError, RecursionError):
        return
    if alignment := read_or_refused(WordAlignment.from_json, record):
        again = WordAlignment.from_json(json.loads(json.dumps(alignment.to_json())))
        assert (again.source, again.target, again.links) == (alignment.source, alignment.target, alignment.links)
    if erasure := read_or_refused(Erasure.from_json, record.get("erasure") if isinstance(record, dict) else record):
        again = Erasure.from_json(json.loads(json.dumps(erasure.to_json())))
        assert (again.source, again.target, again.method) == (erasure.source, erasure.target, erasure.method)


def _record() -> bytes:
    weights, nothing = np.array([[0.25, 0.75]], np.float32), np.zeros(1, np.float32)
    alignment = WordAlignment(("a", "b"), ("c",), weights, nothing)
    erasure = Erasure(("a", "b"), ("c",), nothing, weights, "word")
    return json.dumps({"line": 1} | alignment.to_json() | {"erasure": erasure.to_json()}).encode()


def _from_examples(check: Callable[[bytes, Path], None], *names: str, more: Sequence[bytes] = ()) -> Target:
    """A target whose seeds are files that the writers of the package made."""
    return Target(check, lambda: [examples()[name] for name in names] + list(more))


def _aligner_target(name: str) -> Target:
    return Target(partial(check_aligner, name), lambda: [examples()["aligner"][name]])


def _run_aligner_target(name: str) -> Target:
    return Target(partial(check_run_aligner, name), lambda: [run_aligner()[name].tobytes()])


ALIGNER_ARRAYS = "about", "source.words", "partners", "targets", "forward.lexicon", "backward.jumps"

TARGETS = {
    "config": _from_examples(check_config, "config.json"),
    "arrays": _from_examples(check_arrays, "best.npz", more=[packed_arrays({})]),
    "checkpoint": _from_examples(check_checkpoint, "000000007.npz"),
    "history": _from_examples(check_history, "history.csv"),
    "samples": _from_examples(check_samples, "samples.jsonl"),
    "manifest": _from_examples(check_manifest, MANIFEST, more=[b'["best.npz", "corpus/source.ids"]', b"best.npz"]),
    "profile": _from_examples(check_profile, "profile.json"),
    "vocabulary": _from_examples(check_vocabulary, "shared.model"),
    "pack": _from_examples(check_pack, "pack"),
    "export": _from_examples(check_export, "export.json"),
    "corpus-about": _from_examples(partial(check_corpus, "about.json"), "about.json"),
    "corpus-lengths": _from_examples(partial(check_corpus, "source.lengths"), "source.lengths"),
    "validation": _from_examples(check_validation, "validation.jsonl"),
    **{f"run-aligner-{name}": _run_aligner_target(name) for name in ALIGNER_ARRAYS},
    "alignment-record": Target(check_alignment_record, lambda: [_record()]),
    "aligner-config": _aligner_target("config.json"),
    "aligner-words": _aligner_target("source.words"),
    "aligner-cells": _aligner_target("cells.npz"),
    "aligner-weights": _aligner_target("weights.npz"),
}
