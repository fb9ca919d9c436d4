"""The run directory: written whole, read back, checked."""

from __future__ import annotations

import dataclasses
import io
import json
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt.config import (
    CorpusConfig,
    ModelConfig,
    PairsConfig,
    RunConfig,
    TrainingConfig,
    VocabularyConfig,
    config_from_dict,
    config_to_dict,
)
from nmt.files.atomic_writing import write_atomically
from nmt.run.arrays import load_arrays, save_arrays
from nmt.run.directory import Run
from nmt.run.errors import RunError
from nmt.run.resuming import require_resumable
from nmt.text.tokenizer import Tokenizer

FREE = {
    "name",
    "directory",
    "training.passes",
    "training.log_every",
    "training.validate_every",
    "training.schedule.more_passes",
    "training.patience",
    "training.precision",
    "training.checkpoints.every",
    "training.checkpoints.keep",
}
"""What a run may be gone on with, beside everything below `search`."""


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.train(["ein haus und ein baum"] * 3, VocabularyConfig(type="word", size=8))


@pytest.fixture
def run(tmp_path, tokenizer) -> Run:
    return Run.create(tmp_path / "run", RunConfig(), tokenizer, tokenizer)


# Files


def test_file_is_replaced_whole_or_not_at_all(tmp_path, monkeypatch):
    place = tmp_path / "deep" / "file"
    write_atomically(place, b"old")

    def no_space(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", no_space)
    with pytest.raises(OSError, match="No space left"):
        write_atomically(place, b"new")
    assert place.read_bytes() == b"old"
    assert list(place.parent.iterdir()) == [place]


@given(st.dictionaries(st.text("ab/_0", min_size=1, max_size=9), st.lists(st.floats(width=32), max_size=4), max_size=4))
def test_arrays_come_back_to_the_bit(tmp_path_factory, values):
    path = tmp_path_factory.mktemp("arrays") / "a.npz"
    arrays = {name: np.array(numbers, np.float32) for name, numbers in values.items()}
    save_arrays(path, arrays)
    back = load_arrays(path)
    assert {name: a.tobytes() for name, a in back.items()} == {name: a.tobytes() for name, a in arrays.items()}


def damaged(kind: str, whole: bytes) -> bytes:
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 0xFF
    return {"empty": b"", "cut": whole[: len(whole) // 2], "text": b"no weights", "flipped": bytes(flipped)}[kind]


@pytest.mark.parametrize("kind", ["empty", "cut", "text", "flipped"])
def test_damaged_weights_are_named(kind, tmp_path):
    path = tmp_path / "best.npz"
    save_arrays(path, {"a": np.arange(100.0)})
    path.write_bytes(damaged(kind, path.read_bytes()))
    with pytest.raises(RunError, match=r"best\.npz: damaged, or not a file of weights"):
        load_arrays(path)


def test_another_system_s_files_are_no_checkpoints_and_any_damage_is_one_line(run):
    """macOS puts ._NAME beside a file where the disk cannot hold what it knows of it; a flipped bit may stand for a
    compression that nobody has."""
    run.save_checkpoint(3, {"a": np.zeros(2)})
    (place,) = run.checkpoints()
    (place.parent / f"._{place.name}").write_bytes(b"attributes")
    assert run.checkpoints() == [place]
    whole = place.read_bytes()
    directory = whole.index(b"PK\x01\x02")  # the central directory's entry: its method of compression is at 10
    place.write_bytes(whole[: directory + 10] + b"\x63" + whole[directory + 11 :])
    with pytest.raises(RunError, match="damaged, or not a file of weights"):
        load_arrays(place)


def test_weights_are_never_unpickled(tmp_path):
    with open(tmp_path / "objects.npz", "wb") as file:
        np.savez(file, a=np.array([print], dtype=object))
    np.save(tmp_path / "single.npy", np.zeros(3))
    for name in ("objects.npz", "single.npy"):
        with pytest.raises(RunError, match=f"{name}: damaged"):
            load_arrays(tmp_path / name)


def test_no_flipped_bit_changes_an_array(tmp_path):
    """Arrays come back as they were, or the file is refused. A flipped bit of a header's length used to shift them."""
    path = tmp_path / "best.npz"
    arrays = {"a/kernel": np.arange(6, dtype=np.float32).reshape(2, 3), "b": np.array(7)}
    save_arrays(path, arrays)
    whole = path.read_bytes()
    for bit in range(8 * len(whole)):
        flipped = bytearray(whole)
        flipped[bit // 8] ^= 1 << bit % 8
        path.write_bytes(flipped)
        try:
            back = load_arrays(path)
        except RunError as error:
            assert "\n" not in str(error)
            continue
        for name, array in back.items():  # a name may be another one: whoever asks for the old one does not find it
            if name in arrays:
                np.testing.assert_array_equal(array, arrays[name], strict=True)


def test_memory_for_weights_is_bounded_by_the_file(tmp_path):
    """A compressed file could hold a thousand times its size, and a header can announce any shape."""
    np.savez_compressed(tmp_path / "bomb.npz", a=np.zeros(10_000))
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f4", "fortran_order": False, "shape": (10**12,)})
    with zipfile.ZipFile(tmp_path / "claim.npz", "w") as archive:
        archive.writestr("a.npy", header.getvalue() + bytes(4))
    for name in ("bomb.npz", "claim.npz"):
        with pytest.raises(RunError, match=f"{name}: damaged"):
            load_arrays(tmp_path / name)


def test_missing_weights(tmp_path):
    with pytest.raises(RunError, match=r"best\.npz: no such file"):
        load_arrays(tmp_path / "best.npz")


# Opening


@pytest.mark.parametrize("shared", [True, False])
def test_run_opens_as_it_was_created(shared, tmp_path, tokenizer):
    other = Tokenizer.train(["une maison"], VocabularyConfig(type="word", size=8))
    config = RunConfig(vocabulary=VocabularyConfig(shared=shared), model=ModelConfig(tie="target"))
    created = Run.create(tmp_path, config, tokenizer, tokenizer if shared else other)
    assert Run.open(tmp_path) == created
    assert len(list(tmp_path.glob("*.model"))) == (1 if shared else 2)


@pytest.mark.parametrize(
    ("architecture", "said", "words"),
    [("rnn", None, False), ("rnn", True, True), ("transformer", None, False), ("transformer", True, False)],
)
def test_a_run_from_before_the_words_in_the_read_out_has_none(architecture, said, words, run):
    """Its weights have no place for them. Recurrent networks had them first; that they are on was said of all."""
    place = run.directory / "config.json"
    saved = json.loads(place.read_text(encoding="utf-8"))
    assert saved.pop("format") == 2
    assert saved["model"].pop("words_in_readout")
    saved["model"] |= {"architecture": architecture} | ({} if said is None else {"words_in_readout": said})
    place.write_text(json.dumps(saved), encoding="utf-8")
    expected = replace(run.config.model, architecture=architecture, words_in_readout=words)
    assert Run.open(run.directory).config.model == expected


def test_a_transformer_opens_as_it_was_created(tmp_path, tokenizer):
    config = RunConfig(model=ModelConfig(architecture="transformer"))
    Run.create(tmp_path, config, tokenizer, tokenizer)
    assert Run.open(tmp_path).config.model.words_in_readout


def test_directory_that_is_no_run(tmp_path):
    for place in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(RunError, match=f"{place}: not a run directory, it has no config.json"):
            Run.open(place)


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", '{"model": 3}', '{"modle": {}}', '{"model": {"units": ""}}', '{"model": {"units": 3}}', "\xff"]
    + ['{"format": 3, "model": {}}', '{"format": "x", "model": {}}'],
)  # fmt: skip
def test_damaged_configuration_is_named(text, run):
    (run.directory / "config.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(RunError, match=r"config\.json: cannot be read") as error:
        Run.open(run.directory)
    assert "\n" not in str(error.value)


def test_missing_vocabulary_is_named(run):
    (run.directory / "shared.model").unlink()
    with pytest.raises(ValueError, match=r"shared\.model: No such file"):
        Run.open(run.directory)


# Checkpoints and history


@pytest.mark.parametrize("keep", [1, 2, 5])
def test_exactly_the_newest_checkpoints_are_kept(keep, tmp_path, tokenizer):
    training = TrainingConfig()
    training = replace(training, checkpoints=replace(training.checkpoints, keep=keep))
    run = Run.create(tmp_path, RunConfig(training=training), tokenizer, tokenizer)
    for step in (8, 9, 10, 99, 100, 1_000_000):
        run.save_checkpoint(step, {"step": np.array(step)})
    kept = [int(load_arrays(path)["step"]) for path in run.checkpoints()]
    assert kept == [8, 9, 10, 99, 100, 1_000_000][-keep:]


def test_half_written_checkpoint_is_none(run):
    run.save_checkpoint(5, {"step": np.array(5)})
    (run.directory / "checkpoints" / "000000006.npz.part").write_bytes(b"half")
    assert [path.name for path in run.checkpoints()] == ["000000005.npz"]


@pytest.mark.parametrize("text", ["a,b\n1,2\n", "step;loss\n1;2\n", "step,loss\none,2\n", "step\n\n,1\n", "\xff\n"])
def test_a_history_that_something_else_wrote_is_refused(text, run):
    (run.directory / "history.csv").write_bytes(text.encode("latin-1"))
    with pytest.raises(RunError, match=r"history.csv: expected the format that training writes"):
        run.read_history()


def test_a_file_whose_name_is_no_text_comes_back(run):
    """What a system hands over of a name in Latin-1."""
    corpus = CorpusConfig(train=PairsConfig(source="caf\udce9.en", target="café.fr"))
    replace(run, config=replace(run.config, corpus=corpus)).save_config()
    assert Run.open(run.directory).config.corpus == corpus
    assert "café.fr" in (run.directory / "config.json").read_text(encoding="utf-8")


def test_history_comes_back_and_stays_the_same_when_written_again(run):
    assert run.read_history() == []
    run.write_history([{"step": 1, "loss": 0.1}, {"step": 2, "loss": 1e-5}])
    rows = run.read_history()
    assert rows == [{"step": "1", "loss": "0.1"}, {"step": "2", "loss": "1e-05"}]
    before = (run.directory / "history.csv").read_bytes()
    run.write_history(rows)
    assert (run.directory / "history.csv").read_bytes() == before


# Going on with another configuration


def leaves(values: dict[str, Any], prefix: str = "") -> list[str]:
    return [
        leaf
        for name, value in values.items()
        for leaf in (leaves(value, f"{prefix}{name}.") if isinstance(value, dict) else [prefix + name])
    ]


def changed(config: RunConfig, name: str) -> RunConfig:
    """The same configuration but for one field, whatever its kind, and unchecked."""
    first, _, rest = name.partition(".")
    old = getattr(config, first)
    copy = object.__new__(type(config))
    for field in dataclasses.fields(config):
        object.__setattr__(copy, field.name, getattr(config, field.name))
    object.__setattr__(copy, first, changed(old, rest) if rest else f"other than {old}")
    return copy


@pytest.mark.parametrize("name", leaves(config_to_dict(RunConfig())))
def test_every_setting_is_free_or_refused_by_name(name):
    saved = RunConfig()
    wanted = changed(saved, name)
    if name in FREE or name.startswith("search."):
        require_resumable(saved, wanted, Path("run"))
    else:
        with pytest.raises(RunError, match=rf"^run was begun with {name.replace('.', '[.]')} = .*, now it is .*other"):
            require_resumable(saved, wanted, Path("run"))


def test_configuration_that_went_through_json_is_the_same():
    config = RunConfig(vocabulary=VocabularyConfig(symbols=("<a>", "<b>")))
    require_resumable(config_from_dict(RunConfig, json.loads(json.dumps(config_to_dict(config)))), config, Path("run"))
