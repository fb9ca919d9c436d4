"""The manifest: a run is valid at every point where its writer may be killed, and damage to a file is found."""

from __future__ import annotations

import hashlib
import json
import os
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from nmt.cli import main
from nmt.config import RunConfig, SearchConfig
from nmt.files.locking import locked
from nmt.run.directory import Run
from nmt.run.errors import RunError
from nmt.run.manifest import MANIFEST, Manifest, forget_folder, listed_files, read_manifest, write_manifest
from nmt.run.verification import accept, verify


class Killed(BaseException):
    """In place of the end of a process."""


def killed_at(monkeypatch: pytest.MonkeyPatch, call: int) -> None:
    """Ends the work at the n-th step of a write, before it: a file is synchronized, or gets its final name."""
    count = 0

    def counted(function):
        def step(*arguments):
            nonlocal count
            count += 1
            if count == call:
                raise Killed
            return function(*arguments)

        return step

    for name in ("fsync", "replace"):
        monkeypatch.setattr(os, name, counted(getattr(os, name)))


def state(run: Run) -> tuple[float, int]:
    """The saved weights and the saved beam size, both compared with their sums."""
    opened = Run.open(run.directory)
    return float(opened.weights()["a"][0]), opened.config.search.beam_size


def with_beam(run: Run, size: int) -> Run:
    return replace(run, config=replace(run.config, search=SearchConfig(beam_size=size)))


@pytest.mark.parametrize("written", ["weights", "config"])
def test_every_point_of_a_replacement_leaves_the_old_or_the_new_state(written, run, monkeypatch):
    run.save_weights({"a": np.zeros(2)})
    with_beam(run, 2).save_config()
    old = 0 if written == "weights" else 2
    for call in range(1, 30):
        with monkeypatch.context() as patch:
            killed_at(patch, call)
            try:
                if written == "weights":
                    run.save_weights({"a": np.full(2, call)})
                else:
                    with_beam(run, 2 + call).save_config()
            except Killed:
                value = state(run)[written == "config"]
                new = call if written == "weights" else 2 + call
                assert value in (old, new)
                old = value
                continue
        break
    assert call > 6  # three files, each synchronized and renamed
    assert state(run) == ((call, 2) if written == "weights" else (0.0, 2 + call))
    assert all(len(sums) == 1 for sums in read_manifest(run.directory).files.values())


def test_every_point_of_a_creation_leaves_no_run_or_a_whole_one(tmp_path, tokenizer, monkeypatch):
    for call in range(1, 30):
        with monkeypatch.context() as patch:
            killed_at(patch, call)
            try:
                Run.create(tmp_path, RunConfig(), tokenizer, tokenizer)
            except Killed:
                if (tmp_path / "config.json").exists():
                    assert Run.open(tmp_path).config == RunConfig()
                continue
        break
    assert Run.open(tmp_path).config == RunConfig()


def test_readers_never_see_a_run_as_damaged_while_its_weights_are_replaced(run):
    run.save_weights({"a": np.zeros(2000)})
    stop, failures = threading.Event(), []

    def read() -> None:
        while not stop.is_set():
            try:
                run.weights()
            except RunError as error:
                failures.append(error)

    reader = threading.Thread(target=read)
    reader.start()
    for value in range(15):
        run.save_weights({"a": np.full(2000, value)})
    stop.set()
    reader.join()
    assert not failures


def test_writers_at_once_keep_each_others_sums(run):
    """A short list is learned while training replaces the weights."""
    work = [lambda i: run.save_weights({"a": np.full(3, i)}), lambda i: run.save_short_list({"a": np.full(3, i)})]
    threads = [threading.Thread(target=lambda one=one: [one(i) for i in range(8)]) for one in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert run.weights()["a"][0] == run.load_short_list()["a"][0] == 7


@pytest.mark.parametrize("name", ["config.json", "shared.model", "best.npz", "manifest.json"])
def test_a_changed_file_is_named(name, run):
    run.save_weights({"a": np.zeros(2)})
    path = run.directory / name
    content = path.read_bytes()
    middle = len(content) // 2
    path.write_bytes(content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :])
    with pytest.raises(RunError, match=rf"{name}: damaged.*nmt verify --accept {run.directory}"):
        Run.open(run.directory).weights()


def test_a_run_without_a_manifest_gets_one_with_all_its_files_when_it_is_changed(run):
    run.save_weights({"a": np.zeros(2)})
    (run.directory / MANIFEST).unlink()
    assert Run.open(run.directory).weights()["a"].tolist() == [0, 0]
    assert not (run.directory / MANIFEST).exists()
    with_beam(run, 7).save_config()
    assert sorted(read_manifest(run.directory).files) == ["best.npz", "config.json", "shared.model"]
    assert state(run) == (0.0, 7)


def test_the_manifest_is_json_that_other_programs_can_read(run):
    values = json.loads((run.directory / MANIFEST).read_text())
    (digest,) = values["files"]["config.json"]
    assert digest == hashlib.sha256((run.directory / "config.json").read_bytes()).hexdigest()


def test_verification_names_every_damaged_file_and_accepts_changes(run):
    run.save_weights({"a": np.zeros(2)})
    run.save_checkpoint(1, {"a": np.zeros(2)})
    assert verify(run.directory) == (
        ["best.npz", "config.json", "shared.model", "checkpoints/000000001.npz"],
        [],
        True,
    )
    config = run.directory / "config.json"
    config.write_text(config.read_text().replace('"beam_size": 5', '"beam_size": 6'))
    (run.directory / "best.npz").unlink()
    (run.directory / "shortlist.npz").write_bytes(b"")
    second, first, third = verify(run.directory).problems
    assert first.startswith(f"{config}: damaged or changed")
    assert second == f"{run.best}: No such file or directory"
    assert third == f"{run.short_list}: is not in manifest.json"
    before = (run.directory / MANIFEST).read_bytes()
    with pytest.raises(RunError, match=r"shortlist\.npz: damaged, or not a file of weights"):
        accept(run.directory)
    assert (run.directory / MANIFEST).read_bytes() == before
    run.short_list.unlink()
    accept(run.directory)
    assert not verify(run.directory).problems
    assert Run.open(run.directory).config.search.beam_size == 6
    (checkpoint,) = run.checkpoints()
    checkpoint.write_bytes(checkpoint.read_bytes()[:-1])
    (problem,) = verify(run.directory).problems
    assert problem.startswith(f"{checkpoint}: damaged")


def test_every_point_of_an_acceptance_leaves_the_old_or_the_new_manifest(run, monkeypatch):
    run.save_weights({"a": np.zeros(2)})
    identity, before = read_manifest(run.directory).run, (run.directory / MANIFEST).read_bytes()
    config = run.directory / "config.json"
    config.write_text(config.read_text().replace('"beam_size": 5', '"beam_size": 6'))
    for call in range(1, 30):
        with monkeypatch.context() as patch:
            killed_at(patch, call)
            try:
                accept(run.directory)
            except Killed:
                assert (run.directory / MANIFEST).read_bytes() == before
                continue
        break
    assert identity and read_manifest(run.directory).run == identity
    assert call > 2
    assert state(run) == (0.0, 6)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(5, "Input/output error")])
def test_an_interrupted_acceptance_keeps_the_manifest_and_works_alone(error, run, monkeypatch):
    run.save_weights({"a": np.zeros(2)})
    before = (run.directory / MANIFEST).read_bytes()

    def interrupted(opened: Run) -> None:
        with pytest.raises(RunError, match="taken"), locked(run.directory / "shared.model", RunError("taken")):
            pass
        raise error

    monkeypatch.setattr(Run, "weights", interrupted)
    with pytest.raises(type(error)):
        accept(run.directory)
    assert (run.directory / MANIFEST).read_bytes() == before
    (run.directory / MANIFEST).unlink()
    with pytest.raises(type(error)):
        accept(run.directory)
    assert not (run.directory / MANIFEST).exists()


def test_a_checkpoint_that_training_deletes_meanwhile_is_not_damaged(run, monkeypatch):
    run.save_weights({"a": np.zeros(2)})
    run.save_checkpoint(2, {"a": np.zeros(2)})
    (newest,) = run.checkpoints()
    first = newest.with_name("000000001.npz")
    first.write_bytes(newest.read_bytes())
    read = Run.weights

    def pruning(opened: Run) -> dict[str, np.ndarray]:
        first.unlink()
        return read(opened)

    monkeypatch.setattr(Run, "weights", pruning)
    found = verify(run.directory)
    assert (found.files[3:], found.problems) == (["checkpoints/000000002.npz"], [])


@pytest.mark.parametrize("name", ["a\0b", "a\ud800b"])
def test_a_manifest_with_names_that_no_file_has_is_damaged(name, run, capsys):
    (run.directory / MANIFEST).write_bytes(Manifest(files={name: ("sum",)}).as_bytes())
    assert main(["verify", str(run.directory)]) == 2
    assert f"{run.directory / MANIFEST}: damaged: restore it" in capsys.readouterr().err


def test_a_manifest_may_name_a_file_whose_name_is_invalid_utf_8(run):
    name = os.fsdecode(b"corpus/\xff")
    content = Manifest(files={name: ("sum",)}).as_bytes()
    assert [*Manifest.parse(content, run.directory / MANIFEST, "").files] == [name]


def test_the_command_says_which_file_is_damaged(run, capsys):
    run.save_weights({"a": np.zeros(2)})
    assert main(["verify", str(run.directory)]) == 0
    assert capsys.readouterr().out == f"{run.directory}: 3 files and manifest.json, all as nmt wrote them\n"
    run.best.write_bytes(b"")
    assert main(["verify", str(run.directory)]) == 2
    first, last = capsys.readouterr().err.splitlines()
    assert first.startswith(f"nmt: {run.best}: damaged or changed")
    assert last == f"nmt: error: {run.directory}: damaged or changed files: 1"


@pytest.mark.parametrize("name", ["config.json", "shared.model", "best.npz", "checkpoints"])
def test_a_link_out_of_the_run_is_not_followed(name, run, tmp_path):
    run.save_weights({"a": np.zeros(2)})
    run.save_checkpoint(1, {"a": np.zeros(2)})
    inside, outside = run.directory / name, tmp_path / "outside"
    inside.rename(outside)
    inside.symlink_to(outside)
    before = sorted(Path(tmp_path).rglob("*"))
    with pytest.raises(RunError, match=f"{name}.*: leads out of "):
        opened = Run.open(run.directory)
        opened.weights()
        opened.load_checkpoint(opened.checkpoints()[-1])
    if name == "checkpoints":
        with pytest.raises(RunError, match="leads out of"):
            run.save_checkpoint(2, {"a": np.zeros(2)})
    if name == "best.npz":
        with pytest.raises(RunError, match="leads out of"):
            run.save_weights({"a": np.ones(2)})
    assert sorted(Path(tmp_path).rglob("*")) == before


def test_a_link_to_a_run_is_a_run(run, tmp_path):
    (tmp_path / "newest").symlink_to(run.directory)
    assert Run.open(tmp_path / "newest").config == run.config


def test_a_pipe_in_a_run_does_not_block(run):
    (run.directory / "shared.model").unlink()
    os.mkfifo(run.directory / "shared.model")
    with pytest.raises(RunError, match=r"shared\.model: is a pipe or a device, expected a file"):
        Run.open(run.directory)


def test_a_huge_configuration_is_refused_before_it_is_read(run):
    with open(run.directory / "config.json", "r+b") as file:
        file.truncate(2**40)  # the file system keeps no such bytes
    with pytest.raises(RunError, match=r"config\.json: has more than 4,194,304 bytes"):
        Run.open(run.directory)


def test_an_acceptance_reads_no_file_outside_of_the_run(run, tmp_path):
    (tmp_path / "outside").write_text("mine")
    (run.directory / MANIFEST).write_bytes(Manifest(files={"../outside": ("sum",)}).as_bytes())
    with pytest.raises(RunError, match=r"outside: leads out of"):
        accept(run.directory)


def test_a_manifest_lists_the_folders_of_a_run_and_no_unfinished_file(run):
    for name in ("corpus/ids", "corpus/.ids.part", "savedmodel/deep/er", "ctranslate2/model", "other/file", "notes"):
        (run.directory / name).parent.mkdir(parents=True, exist_ok=True)
        (run.directory / name).write_text(name)
    files = ["config.json", "shared.model", "corpus/ids", "ctranslate2/model", "savedmodel/deep/er"]
    assert listed_files(run.directory) == files
    write_manifest(run.directory, "me", known=["notes", "gone", "config.json"], pending={"best.npz": b"new"})
    found = read_manifest(run.directory)
    assert found.run == "me" and sorted(found.files) == sorted([*files, "notes", "best.npz"])
    assert found.files["best.npz"] == (hashlib.sha256(b"new").hexdigest(),)
    forget_folder(run.directory, "corpus")
    assert sorted(read_manifest(run.directory).files) == sorted([*files[:2], *files[3:], "notes", "best.npz"])
    assert read_manifest(run.directory).run == "me"


def test_a_manifest_accepts_the_old_and_the_new_sum_and_unlisted_files():
    found = Manifest("me", {"a": ("1",)}).with_sums("a", "2", "1", "2")
    assert found == Manifest("me", {"a": ("2", "1")})
    assert [found.accepts("a", sum) for sum in "123"] == [True, True, False]
    assert found.accepts("b", "3")
    assert found.with_sums("b", "3").files == {"a": ("2", "1"), "b": ("3",)}
    assert Manifest.parse(found.as_bytes(), Path("m"), "") == found


@pytest.mark.parametrize("change", [{"format": 2}, {"files": {"a": 1}}, {"files": []}, {"run": "another"}])
def test_a_manifest_of_other_content_is_damaged(change, run):
    values = json.loads((run.directory / MANIFEST).read_text()) | change
    (run.directory / MANIFEST).write_text(json.dumps(values))
    with pytest.raises(RunError, match=f"json: damaged: restore it, or write a new one .* --accept {run.directory}$"):
        read_manifest(run.directory)
    found = verify(run.directory)
    assert (found.files, len(found.problems), found.has_manifest) == ([MANIFEST], 1, True)


def test_a_manifest_has_a_largest_size(run):
    content = (run.directory / MANIFEST).read_bytes()
    (run.directory / MANIFEST).write_bytes(content + b" " * (2**20 - len(content)))
    assert read_manifest(run.directory) is not None
    (run.directory / MANIFEST).write_bytes(content + b" " * (2**20 - len(content) + 1))
    with pytest.raises(RunError, match="damaged"):
        read_manifest(run.directory)


def test_a_file_that_is_no_regular_one_locks_nothing(run, tmp_path):
    """The first vocabulary is locked; it may lead out of a run of somebody else."""
    (run.directory / "shared.model").rename(tmp_path / "outside")
    (run.directory / "shared.model").symlink_to(tmp_path / "outside")
    with pytest.raises(RunError, match=r"shared\.model: leads out of"):
        run.save_config()


def test_verification_of_a_run_without_a_manifest_reads_its_files(run):
    run.save_weights({"a": np.zeros(2)})
    (run.directory / MANIFEST).unlink()
    assert verify(run.directory) == (["config.json", "shared.model", "best.npz"], [], False)
    run.best.write_bytes(b"")
    found = verify(run.directory)
    assert not found.has_manifest
    (problem,) = found.problems
    assert problem.startswith(f"{run.best}: damaged, or not a file of weights")


def test_verification_reads_another_kind_of_directory_as_it_is_told(run):
    read: list[Path] = []
    assert verify(run.directory, read.append) == (["config.json", "shared.model"], [], True)
    assert read == [run.directory]

    def refused(path: Path) -> None:
        raise RunError("no aligner")

    assert verify(run.directory, refused).problems == ["no aligner"]
    (run.directory / "shared.model").write_bytes(b"")
    (problem,) = verify(run.directory, lambda path: pytest.fail("reads damaged files")).problems
    assert problem.startswith(f"{run.directory}/shared.model: damaged or changed")


@pytest.mark.parametrize("name", ["shortlist.npz", "aligner.npz", "checkpoints/000000001.npz"])
def test_verification_reads_the_arrays_behind_right_sums(name, run):
    run.save_checkpoint(1, {"a": np.zeros(2)})
    (run.directory / name).write_bytes(b"PK")
    (run.directory / MANIFEST).unlink()
    (problem,) = verify(run.directory).problems
    assert problem.startswith(f"{run.directory / name}: damaged, or not a file of weights")
    with pytest.raises(RunError, match="damaged, or not a file of weights"):
        accept(run.directory)
    assert not (run.directory / MANIFEST).exists()
