"""`nmt export` writes directories that are complete, checked and readable."""

from __future__ import annotations

import json
import shutil
import sys

import onnxruntime
import pytest
from commands import contents

from nmt.cli import main
from nmt.config import RunConfig, TrainingConfig
from nmt.errors import NmtError, install_command
from nmt.exporting import export
from nmt.exporting.export import export_run
from nmt.run.directory import Run
from nmt.run.errors import RunError
from nmt.run.exported import VERSION, read_export
from nmt.run.manifest import MANIFEST, NETWORK
from nmt.run.verification import accept
from nmt.text.swapped_sides import Vocabularies, measure_profile
from nmt.training.fine_tuning import open_initial_run


@pytest.fixture(scope="module")
def drawn_run(make_run, tmp_path_factory):
    return make_run(tmp_path_factory.mktemp("runs") / "drawn")


@pytest.fixture(scope="module")
def exported(drawn_run, tmp_path_factory):
    directory = tmp_path_factory.mktemp("exports") / "drawn.onnx"
    export_run(Run.open(drawn_run), directory, licence="CC0")
    return directory


def test_an_export_has_graphs_vocabulary_settings_card_and_sums(exported, drawn_run):
    run, original = Run.open(exported), Run.open(drawn_run)
    assert (run.source, run.target, run.config.model) == (original.source, original.target, original.config.model)
    assert not run.config.corpus.train
    export = read_export(exported)
    assert [spec.name for spec in export.state] == ["hidden"]
    for name in ("encoder.onnx", "step.onnx"):
        onnxruntime.InferenceSession(exported / name)
    assert "Licence: CC0" in (exported / "README.md").read_text()
    listed = json.loads((exported / MANIFEST).read_text())["files"]
    assert {*listed, MANIFEST} == {*contents(exported)}


def test_equal_runs_give_equal_exports(exported, drawn_run, tmp_path, capsys):
    command = ["export", "--model", str(drawn_run), "--output", str(tmp_path / "drawn.onnx"), "--licence", "CC0"]
    assert main(command) == 0
    assert "step.onnx" in capsys.readouterr().out
    assert contents(tmp_path / "drawn.onnx") == contents(exported)
    assert main(["verify", str(tmp_path / "drawn.onnx")]) == 0


def test_an_export_of_a_pack_keeps_the_licence_of_the_pack(drawn_run, tmp_path, capsys):
    for licence, kept in (("CC BY 4.0", True), ("", False)):
        pack, exported = tmp_path / f"{kept}.nmt", tmp_path / f"{kept}.onnx"
        assert main(["pack", "--model", str(drawn_run), "--output", str(pack), "--licence", licence]) == 0
        assert ("no licence yet" in capsys.readouterr().err) != kept
        assert main(["export", "--model", str(pack), "--output", str(exported)]) == 0
        assert ("no licence yet" in capsys.readouterr().err) != kept
        assert ("\nLicence: CC BY 4.0\n" in (exported / "README.md").read_text()) == kept


def test_int8_exports_are_equal_too_and_say_nothing(drawn_run, tmp_path, capfd):
    for name in ("one", "two"):
        command = ["export", "--model", str(drawn_run), "--output", str(tmp_path / name), "--precision", "int8"]
        assert main([*command, "--licence", "CC0"]) == 0
        assert not capfd.readouterr().err
    first, second = ({name: contents(tmp_path / which)[name] for name in NETWORK} for which in ("one", "two"))
    assert first == second
    assert read_export(tmp_path / "one").precision == "int8"


def test_an_export_is_not_exported_again(exported, tmp_path, capsys):
    assert main(["export", "--model", str(exported), "--output", str(tmp_path / "new")]) == 2
    assert "drawn.onnx: is an export itself; export the run that it was made from\n" in capsys.readouterr().err


def test_an_export_replaces_nothing(drawn_run, tmp_path, capsys):
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "file").write_text("mine")
    assert main(["export", "--model", str(drawn_run), "--output", str(tmp_path / "there")]) == 2
    assert "there: already exists; name a new directory, or delete it first" in capsys.readouterr().err
    assert contents(tmp_path) == {"there/file": b"mine"}


def test_an_export_is_not_written_into_its_run(drawn_run, capsys):
    """nmt verify would take its files for damaged ones of the run."""
    assert main(["export", "--model", str(drawn_run), "--output", str(drawn_run / "savedmodel")]) == 2
    assert "savedmodel: is in the run directory: name a directory outside of" in capsys.readouterr().err
    assert not (drawn_run / "savedmodel").exists()


def test_a_server_refuses_exports_that_it_cannot_load(exported, tmp_path, capsys):
    """At the start, and not at the first request."""
    foreign = tmp_path / "foreign"
    shutil.copytree(exported, foreign)
    fields = json.loads((foreign / "export.json").read_text())
    (foreign / "export.json").write_text(json.dumps(fields | {"format": "savedmodel"}))
    accept(foreign)
    assert main(["serve", "--model", str(foreign)]) == 2
    assert "is an export for savedmodel; nmt translates with exports in onnx" in capsys.readouterr().err
    assert main(["serve", "--model", str(exported), "--precision", "mixed_float16"]) == 2
    assert "is an export, whose precision nmt export has decided" in capsys.readouterr().err


def test_a_failed_export_leaves_nothing(drawn_run, tmp_path, monkeypatch):
    monkeypatch.setattr("nmt.exporting.export.members_of", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        export_run(Run.open(drawn_run), tmp_path / "new")
    assert not contents(tmp_path)


def test_missing_libraries_are_named(drawn_run, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "onnx", None)
    assert main(["export", "--model", str(drawn_run), "--output", str(tmp_path / "new")]) == 2
    said = f"nmt export needs onnx and onnxruntime: {install_command('onnx')}\n"
    assert said in capsys.readouterr().err and "-e '.[onnx]'" in said


@pytest.mark.parametrize(
    ("format", "reason"), [("litert", "loops of a recurrent encoder and of the search"), ("keras", "nmt")]
)
def test_formats_that_users_may_expect_are_refused_with_the_reason(capsys, format, reason):
    assert main(["export", "--model", "run", "--output", "new", "--format", format]) == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert f"there is no export in {format}: " in error and reason in error and "export in " in error


def test_a_training_does_not_begin_with_an_export(exported):
    config = RunConfig(training=TrainingConfig(initial=str(exported)))
    with pytest.raises(RunError, match="drawn.onnx: is an export, .* name the run that it was made from$"):
        open_initial_run(config)


@pytest.mark.parametrize(
    ("network", "message"),
    [
        ({}, "CTranslate2 computes Transformers, and this model has a recurrent decoder: export it in onnx, or train"),
        ({"architecture": "transformer", "embedding": 8}, "CTranslate2 cannot add source words to the read-out"),
    ],
)
def test_ctranslate2_refuses_other_networks_in_one_line(make_run, tmp_path, capsys, network, message):
    make_run(tmp_path / "run", **network)
    command = ["export", "--model", str(tmp_path / "run"), "--output", str(tmp_path / "new"), "--format", "ctranslate2"]
    assert main(command) == 2
    error = capsys.readouterr().err
    assert message in error and "nmt distil" in error and error.count("\n") == 1
    assert not (tmp_path / "new").exists()


def changed(directory, place, **changes):
    """A copy of export.json alone with other fields, and no manifest."""
    fields = json.loads((directory / "export.json").read_text())
    (place / "export.json").write_text(json.dumps(fields | changes))
    return place


def test_a_newer_export_is_refused_in_one_line(exported, tmp_path):
    with pytest.raises(NmtError, match=f"onnx version {VERSION + 1} is unknown: .* install a newer nmt$"):
        read_export(changed(exported, tmp_path, version=VERSION + 1))
    with pytest.raises(NmtError, match="tflite version 1 is unknown"):
        read_export(changed(exported, tmp_path, format="tflite"))


@pytest.mark.parametrize("changes", [{"state": [{}]}, {"state": 3}, {"precision": "int3"}, {"version": "1"}])
def test_a_damaged_export_is_refused_in_one_line(exported, tmp_path, changes):
    with pytest.raises(NmtError, match="export.json") as error:
        read_export(changed(exported, tmp_path, **changes))
    assert "\n" not in str(error.value)


def test_a_directory_that_is_no_export_is_named(drawn_run):
    with pytest.raises(NmtError, match="not an export, it has no export.json; nmt export makes one"):
        read_export(drawn_run)


def test_the_card_says_how_the_training_text_is_written(drawn_run, monkeypatch):
    run = Run.open(drawn_run)
    lines = ["the garden is empty .", "is the garden empty ?"] * 40
    vocabularies = Vocabularies(run.source, run.target)
    for of, note in (
        (lines, "is in lower case and has a space before . ?."),
        ([line.title() for line in lines], "has a"),
    ):
        profile = measure_profile([(line, line) for line in of], vocabularies, ("", ""))
        monkeypatch.setattr(export, "load_profile", lambda _, found=profile: found)
        assert f"The training text {note}" in export._reading_note(run)
    monkeypatch.setattr(export, "load_profile", lambda _: None)
    assert export._reading_note(run) == ""
