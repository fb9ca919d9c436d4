"""Search and scoring over an exported network equal those over the Keras model that it was exported from."""

from __future__ import annotations

import importlib.metadata
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from commands import contents
from copy_task import sentences
from onnx_sessions import graphs_of
from test_onnx_graphs import NETWORKS

from nmt import Translator
from nmt.cli import main
from nmt.config import SearchConfig
from nmt.errors import NmtError
from nmt.exporting.export import export_run
from nmt.exporting.onnx.model import Graphs
from nmt.run.directory import Run
from nmt.run.errors import RunError
from nmt.run.exported import ENCODER, EXPORT, STEP, Export
from nmt.run.packing import write_pack
from nmt.training.preparation.prepare import _open as open_run
from nmt.translation.inference import exported_model
from nmt.translation.inference.exported_inference import ExportedInference
from nmt.translation.inference.exported_model import THREADS, ExportedModel
from nmt.translation.inference.model_inference import ModelInference
from nmt.translation.inference.protocol import Hypothesis, PieceConstraint, PieceForm, PieceTerm
from nmt.translation.inference.search_programs import SearchPrograms, program_settings
from nmt.translation.inference.side_by_side import one_batch_at_once
from nmt.translation.short_list import KEPT, ShortList

PIECES = 12
SOURCES = [[4, 7, 9, 5], [6], [10, 4, 4, 7, 11, 8, 5, 6], [9, 9], [11, 5, 7], []]
TARGETS = [[7, 4], [], [5, 6, 10, 11, 8], [4], [9, 9, 9], [6]]
GREEDY = SearchConfig(beam_size=1)
BEAM = SearchConfig(beam_size=5, length_penalty=0.8)


def write_network(directory: Path, graphs: Graphs) -> Path:
    """Writes the graphs of an export without vocabularies."""
    directory.mkdir()
    export = Export("float32", tuple(graphs.state), tuple(graphs.encoded))
    for name, content in ((EXPORT, export.content()), (ENCODER, graphs.encoder), (STEP, graphs.step)):
        (directory / name).write_bytes(content if isinstance(content, bytes) else content.SerializeToString())
    return directory


@pytest.fixture
def engines(make_model: Callable[..., Any], tmp_path: Path) -> Callable[..., tuple[ModelInference, ExportedInference]]:
    """The inference of Keras models with these seeds, and of their exports."""

    def make(*seeds: int, **network: Any) -> tuple[ModelInference, ExportedInference]:
        models = [make_model(seed, **network) for seed in seeds or (3,)]
        folders = [write_network(tmp_path / str(seed), graphs_of(model)) for seed, model in enumerate(models)]
        return ModelInference(*models), ExportedInference(*(ExportedModel(folder, PIECES) for folder in folders))

    return make


def assert_same(found: Sequence[Hypothesis], expected: Sequence[Hypothesis]) -> None:
    for one, other in zip(found, expected, strict=True):
        assert (one.ids, one.finished) == (other.ids, other.finished)
        np.testing.assert_allclose(one[1:3], other[1:3], rtol=1e-5, atol=1e-4)
        np.testing.assert_allclose(one.weights, other.weights, atol=1e-4)
        np.testing.assert_allclose(one.piece_log_probabilities, other.piece_log_probabilities, rtol=1e-5, atol=1e-4)


def scored(engine: ModelInference) -> list[Hypothesis]:
    """The pairs by the Keras model, without compiling."""
    engine.score_batch, engine.score_batch_seen = engine.ensemble.score, engine.ensemble.score_seen
    return engine.score(SOURCES, TARGETS)


SOME = NETWORKS[0], NETWORKS[-1]
"""A recurrent network and a Transformer."""


@pytest.mark.parametrize(
    "network", [pytest.param(one, marks=[] if one in SOME else pytest.mark.slow) for one in NETWORKS], ids=str
)
def test_scores_and_alignments_of_every_network(engines: Callable, network: dict[str, Any]) -> None:
    keras, exported = engines(**network)
    assert_same(exported.score(SOURCES, TARGETS), scored(keras))


@pytest.mark.parametrize("network", NETWORKS[:1], ids=str)
def test_erasing_words_and_attention(engines: Callable, network: dict[str, Any]) -> None:
    keras, exported = engines(**network)
    scored(keras)
    erased = [[(), *([at] for at in range(len(source)))] for source in SOURCES]
    for method in ("word", "attention"):
        falls = (engine.erase(SOURCES, TARGETS, erased, method) for engine in (exported, keras))
        for one, other in zip(*falls, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-4)


def assert_same_search(engines: tuple[Any, Any], search: SearchConfig, *arguments: Any, **options: Any) -> None:
    ours, theirs = (engine.find(SOURCES, search, *arguments, **options) for engine in reversed(engines))
    for one, other in zip(ours, theirs, strict=True):
        assert_same(one, other)


@pytest.mark.parametrize("search", [pytest.param(GREEDY, marks=pytest.mark.slow), BEAM], ids=["greedy", "beam"])
def test_search_finds_the_same_hypotheses(engines: Callable, search: SearchConfig) -> None:
    assert_same_search(engines(), search, search.beam_size)


@pytest.mark.slow
@pytest.mark.parametrize("network", NETWORKS, ids=str)
def test_search_over_every_network(engines: Callable, network: dict[str, Any]) -> None:
    both = engines(**network)
    assert_same_search(both, GREEDY)
    assert_same_search(both, BEAM, 5)


def test_sentences_one_by_one_get_a_second_session_and_equal_results(engines: Callable, monkeypatch: Any) -> None:
    _, engine = engines()
    threads, make = [], exported_model._session
    monkeypatch.setattr(
        exported_model, "_session", lambda *arguments: (threads.append(arguments[2]), make(*arguments))[1]
    )
    monkeypatch.setattr(exported_model, "processors", lambda: 8)
    with one_batch_at_once():
        expected = [engine.find(SOURCES[:1], BEAM) for _ in range(3)][-1]
    assert not threads
    engine.at_once = 2
    for _ in range(3):
        for (one,), (other,) in zip(engine.find(SOURCES[:1], BEAM), expected, strict=True):
            assert one[:3] == other[:3]
            np.testing.assert_array_equal(one.weights, other.weights)
    assert threads == [THREADS]


def test_one_program_of_a_beam_finds_any_number_of_hypotheses(engines: Callable, monkeypatch: Any) -> None:
    _, engine = engines()
    cases = [(one, nbest) for one in (BEAM, replace(BEAM, prune=0.5, coverage_penalty=0.3)) for nbest in (1, 3, 5)]
    together = [engine.find(SOURCES, search, nbest) for search, nbest in cases]
    assert len(engine.programs) == 2
    monkeypatch.setattr(SearchPrograms, "settings", lambda _, *arguments: program_settings(*arguments))
    for found, (search, nbest) in zip(together, cases, strict=True):
        for one, other in zip(found, engine.find(SOURCES, search, nbest), strict=True):
            assert_same(one, other)
    assert len(engine.programs) == 8


TABLE = ShortList(
    np.pad(np.arange(PIECES, dtype=np.int32)[:, None], ((0, 0), (0, KEPT - 1))), np.arange(PIECES, dtype=np.int32), True
)
CONSTRAINED = [
    PieceConstraint((5,), [[PieceForm([6, 7])]]),
    *[PieceConstraint((), [[PieceForm([4])], [PieceForm([8, 9])]])] * 5,
]
TERM = PieceTerm([PieceForm([7, 8]), PieceForm([9])], [0], replaced=5)
SEARCHES: dict[str, tuple[Any, ...]] = {
    "sample": (SearchConfig(method="sample", temperature=1.3, top_k=9, top_p=0.95, seed=3), 4),
    "ngrams": (replace(BEAM, no_repeat_ngram=2, min_length_ratio=1.0, coverage_penalty=0.3, diversity=0.5), 3),
    "constraints": (BEAM, 3, CONSTRAINED),
    "terms": (BEAM, 1, [PieceConstraint(terms=[TERM])] * 5 + [PieceConstraint()]),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SEARCHES)
def test_every_kind_of_search_finds_the_same(engines: Callable, name: str) -> None:
    assert_same_search(engines(), *SEARCHES[name], suppressed=(10,))


@pytest.mark.slow
def test_short_lists_and_ensembles_find_the_same(engines: Callable) -> None:
    assert_same_search(engines(3, 4), replace(BEAM, short_list=1), 3, short_list=TABLE)


@pytest.fixture(scope="module")
def exported(make_run: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("exported")
    export_run(Run.open(make_run(folder / "run")), folder / "run.onnx", licence="CC0")
    return folder / "run.onnx"


ROOT = Path(__file__).parents[2]


def pinned(name: str) -> dict[str, str]:
    """The versions in a file of constraints, by the names of the packages."""
    lines = (ROOT / name).read_text().splitlines()
    return {canonical(line.split("==")[0]): line for line in lines if line and not line.startswith("#")}


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_the_runtime_has_the_versions_that_were_tested() -> None:
    runtime = pinned("constraints-runtime.txt")
    assert runtime.items() <= pinned("constraints.txt").items()
    assert not {"tensorflow", "keras", "tensorflow-datasets", "scipy", "onnx"} & runtime.keys()


def test_the_check_of_the_runtime_names_its_argument() -> None:
    found = subprocess.run(["bash", ROOT / "scripts" / "check_runtime.sh"], capture_output=True, text=True)
    assert found.returncode
    assert "usage: bash scripts/check_runtime.sh EXPORT" in found.stderr


def other_modules() -> list[str]:
    """The installed top-level modules that constraints-runtime.txt does not install."""
    kept = {"nmt", "pip", "setuptools", *pinned("constraints-runtime.txt")}
    owners = importlib.metadata.packages_distributions().items()
    return [module for module, names in owners if not kept & set(map(canonical, names))]


IN_RUNTIME = """
import sys
sys.modules.update(dict.fromkeys({others!r}))  # an import of these raises ImportError
from nmt.cli import main

for arguments in {commands!r}:
    assert main(arguments) == 0, arguments
"""


def test_commands_over_an_export_need_the_packages_of_the_runtime_alone(exported: Path, write: Callable) -> None:
    source, target = write("s", "ba be bi", "", "ki ke"), write("t", "bo", "", "bu ka")
    model = ["--model", str(exported)]
    commands = [
        ["translate", *model, "--source", source, "--output", source + ".translated", "--nbest", "2"],
        ["translate", *model, "--source", source, "--method", "sample", "--mbr", "chrf", "--nbest", "3"],
        ["align", *model, "--source", source, "--target", target, "--output", source + ".aligned"],
        ["score", *model, "--source", source, "--target", target],
        ["evaluate", *model, "--source", source, "--target", target],
    ]
    script = IN_RUNTIME.format(others=other_modules(), commands=commands)
    subprocess.run([sys.executable, "-c", script], check=True, timeout=300)
    assert Path(source + ".translated").read_text().count("\n") == 5  # a blank line has one translation


def test_the_translator_of_an_export_says_what_it_lacks(exported: Path) -> None:
    export = Translator.load(exported)
    assert isinstance(export.inference, ExportedInference)
    assert export.fingerprint == Translator.load(exported).fingerprint
    with pytest.raises(NmtError, match="load the run that it was exported from"):
        export.embeddings("source")


@pytest.mark.slow
def test_the_translator_of_an_export_is_that_of_its_run(exported: Path) -> None:
    run, export = Translator.load(exported.with_name("run")), Translator.load(exported)
    pairs = ["ba be", "ki"], ["bo bu", "ka"]
    for one, other in zip(export.align(*pairs), run.align(*pairs), strict=True):
        assert one.pieces == other.pieces
        np.testing.assert_allclose(one.log_probability, other.log_probability, atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("beam", [1, 5])
def test_a_trained_run_and_its_export_translate_alike(copier_run: Path, tmp_path: Path, beam: int) -> None:
    """Two translations may differ only where the run finds them equally probable, within 1e-4."""
    export_run(Run.open(copier_run), tmp_path / "copier.onnx")
    run, export = Translator.load(copier_run), Translator.load(tmp_path / "copier.onnx")
    lines = sentences(1000, seed=9)
    search, different = SearchConfig(beam_size=beam), 0
    for one, other in zip(export.translate(lines, search), run.translate(lines, search), strict=True):
        np.testing.assert_allclose(one.log_probability, other.log_probability, atol=1e-4)
        if one.text == other.text:
            np.testing.assert_allclose(one.alignment.weights, other.alignment.weights, atol=1e-4)
        different += one.text != other.text
    assert different < 10


def test_flags_that_an_export_has_decided_are_refused(exported: Path) -> None:
    run = exported.with_name("run")
    for others, options, message in (
        ([run], {}, f"{run}: is no export: an ensemble has runs alone or exports alone"),
        ([], {"checkpoints": 2}, "has no checkpoints: leave --checkpoints out"),
        ([], {"precision": "mixed_bfloat16"}, "leave --precision out"),
    ):
        with pytest.raises(NmtError, match=message):
            Translator.load(exported, *others, **options)


def test_a_damaged_graph_is_refused_in_one_line(
    exported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    for name, content in contents(exported).items():
        (tmp_path / name).write_bytes(content[:-9] if name == STEP else content)
    for manifest in ("there", "gone"):
        assert main(["translate", "--model", str(tmp_path)]) == 2
        message = capsys.readouterr().err
        assert STEP in message
        assert message.count("\n") == 1
        (tmp_path / "manifest.json").unlink(missing_ok=manifest == "gone")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda copy: shutil.copy(copy / ENCODER, copy / STEP), "source"),
        (lambda copy: (copy / EXPORT).write_text((copy / EXPORT).read_text().replace('"hidden"', '"hid"')), "hid"),
        (lambda copy: (copy / STEP).unlink(), "No such file"),
        (lambda copy: (copy / STEP).write_bytes(b""), ""),
    ],
    ids=["other graph", "other state", "missing", "empty"],
)
def test_files_that_do_not_fit_each_other_are_refused(
    exported: Path, tmp_path: Path, capfd: pytest.CaptureFixture, change: Callable[[Path], object], reason: str
) -> None:
    copy = shutil.copytree(exported, tmp_path / "copy")
    (copy / "manifest.json").unlink()
    change(copy)
    with pytest.raises(RunError, match=f"copy.*{reason}.*: export the run again$") as error:
        Translator.load(copy)
    assert "\n" not in str(error.value)
    assert not capfd.readouterr().err


def test_weights_in_other_files_are_not_read(
    exported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture
) -> None:
    copy = shutil.copytree(exported, tmp_path / "copy")
    (copy / "manifest.json").unlink()
    monkeypatch.chdir(tmp_path)
    proto = onnx.load(copy / STEP)
    weight = max(proto.graph.initializer, key=lambda tensor: len(tensor.raw_data))
    for place in (tmp_path, copy):
        (place / "private").write_bytes(weight.raw_data)
    onnx.external_data_helper.set_external_data(weight, "private", 0, len(weight.raw_data))
    weight.ClearField("raw_data")
    (copy / STEP).write_bytes(proto.SerializeToString())
    with pytest.raises(RunError, match=r"step.onnx: cannot be read .*: export the run again$"):
        Translator.load(copy)
    assert not capfd.readouterr().err


def test_a_network_of_another_vocabulary_is_refused(make_model: Callable[..., Any], tmp_path: Path) -> None:
    folder = write_network(tmp_path / "other", graphs_of(make_model()))
    for size in (PIECES - 1, PIECES + 1):
        with pytest.raises(RunError, match="do not fit each other"):
            ExportedModel(folder, size)


def test_an_export_is_not_taken_for_a_run(exported: Path, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    with pytest.raises(RunError, match="is an export, which is complete: pack the run that it was made from"):
        write_pack(Run.open(exported), tmp_path / "packed.nmt")
    with pytest.raises(RunError, match="is an export, which has no weights: name the run that it was made from"):
        Run.open(exported).weights()
    with pytest.raises(RunError, match="is an export, which cannot be trained"):
        open_run(exported, Run.open(exported).config, print)
    assert main(["info", str(exported)]) == main(["runs", str(exported.parent)]) == 0
    printed = capsys.readouterr().out
    assert printed.count("an export: onnx float32") == 2
    assert "no best weights yet" not in printed and "no validation yet" not in printed


def test_a_missing_onnx_runtime_is_named(exported: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(NmtError, match=r"needs onnxruntime: .* -m pip install .* -e '\.\[onnx\]'$"):
        Translator.load(exported)
