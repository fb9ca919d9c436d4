"""A SavedModel translates as the run does, in processes that have no nmt."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from commands import environment

import nmt
from nmt.batches.arrays import Sequences, source_rows
from nmt.cli import main
from nmt.config import AttentionConfig, SearchConfig, TransformerConfig
from nmt.exporting.export import export_run
from nmt.run.directory import Run
from nmt.text.pieces import EOS

SOURCES = [[4, 5, 6, 7, 8], [9], [10, 11, 4]]
NETWORKS = {
    "recurrent": {},
    "transformer": {"architecture": "transformer", "embedding": 8, "transformer": TransformerConfig(2, 2, 2, 10)},
    "mixed": {"architecture": "mixed", "embedding": 8, "transformer": TransformerConfig(2, 2, 2, 10)},
    "hard": {"decoder": "luong", "cell": "lstm", "attention": AttentionConfig("general", "hard", coverage=True)},
}


def expected(run, search):
    """The best hypothesis of each source, by the engine that `nmt translate` uses."""
    return [found[0] for found in nmt.Translator.load(run).inference.find(SOURCES, search)]


def assert_equal_results(found, hypotheses):
    for row, hypothesis in enumerate(hypotheses):
        length = int(found["lengths"][row])
        ids = [*hypothesis.ids, *[EOS] * hypothesis.finished]
        assert np.asarray(found["ids"])[row, :length].tolist() == ids
        assert float(found["log_probability"][row]) == pytest.approx(hypothesis.log_probability, abs=1e-4)
        alignment = np.asarray(found["alignment"])[row, :length, : len(SOURCES[row]) + 1]
        np.testing.assert_allclose(alignment, hypothesis.weights, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["recurrent", "transformer", "mixed"])
def test_both_searches_give_the_translations_of_the_run(make_run, tmp_path, name):
    import tensorflow as tf

    run = make_run(tmp_path / "run", **NETWORKS[name])
    export_run(Run.open(run), tmp_path / "out", "savedmodel")
    model = tf.saved_model.load(str(tmp_path / "out" / "savedmodel" / "1"))
    packed = Sequences.of(SOURCES)
    source = tf.constant(source_rows(packed, np.arange(len(packed))))
    beam = SearchConfig()
    for signature, search in {"greedy": SearchConfig(beam_size=1), "beam": beam, "serving_default": beam}.items():
        assert_equal_results(model.signatures[signature](source=source), expected(run, search))


@pytest.mark.slow
def test_suppressed_pieces_stay_out(make_run, tmp_path):
    import tensorflow as tf

    run = Run.open(make_run(tmp_path / "run"))
    long = replace(run.config.search, min_length_ratio=1.0)
    first = expected(run.directory, long)[0].ids[0]
    search = replace(long, suppress=tuple(run.target.pieces([first])))
    suppressing = replace(run, config=replace(run.config, search=search))
    suppressing.save_config()
    export_run(suppressing, tmp_path / "out", "savedmodel")
    model = tf.saved_model.load(str(tmp_path / "out" / "savedmodel" / "1"))
    packed = Sequences.of(SOURCES)
    found = model.signatures["beam"](source=tf.constant(source_rows(packed, np.arange(len(packed)))))
    assert first not in np.asarray(found["ids"])
    hypotheses = nmt.Translator.load(run.directory).inference.find(SOURCES, search, suppressed=[first])
    assert_equal_results(found, [one[0] for one in hypotheses])


LOADING = """
import json, sys
sys.modules["nmt"] = None
import tensorflow as tf
model = tf.saved_model.load(sys.argv[1])
rows = [[*row, 3] + [0] * (5 - len(row)) for row in json.loads(sys.argv[2])]
found = model.signatures["beam"](source=tf.constant(rows, tf.int32))
print(json.dumps({name: values.numpy().tolist() for name, values in found.items()}))
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", NETWORKS)
def test_a_process_without_nmt_translates(make_run, tmp_path, name):
    run = make_run(tmp_path / "run", **NETWORKS[name])
    export_run(Run.open(run), tmp_path / "out", "savedmodel")
    command = [sys.executable, "-c", LOADING, f"{tmp_path}/out/savedmodel/1", json.dumps(SOURCES)]
    result = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment())
    assert result.returncode == 0, result.stderr
    assert_equal_results(json.loads(result.stdout), expected(run, SearchConfig()))


@pytest.mark.slow
def test_the_card_shows_how_to_translate(make_run, tmp_path):
    run = make_run(tmp_path / "run")
    export_run(Run.open(run), tmp_path / "out", "savedmodel")
    card = (tmp_path / "out" / "README.md").read_text()
    lines = [line[4:] for line in card.splitlines() if line.startswith("    ") or not line]
    script = "import sys; sys.modules['nmt'] = None\n" + "\n".join(lines).replace("A sentence.", "ba be bi")
    result = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, cwd=tmp_path, env=environment()
    )
    assert result.returncode == 0, result.stderr
    (expected,) = nmt.Translator.load(run).translate(["ba be bi"])
    assert result.stdout.strip() == expected.text


@pytest.mark.slow
def test_the_converter_of_litert_refuses_the_loops_unless_the_file_has_operators_of_tensorflow(make_run, tmp_path):
    """The reason why there is no export to LiteRT: see `nmt.cli.export.REFUSED`."""
    import tensorflow as tf

    export_run(Run.open(make_run(tmp_path / "run")), tmp_path / "out", "savedmodel")
    directory = str(tmp_path / "out" / "savedmodel" / "1")
    converter = tf.lite.TFLiteConverter.from_saved_model(directory, signature_keys=["greedy"])
    with pytest.raises(Exception, match="TensorListReserve.* requires element_shape to be static"):
        converter.convert()
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS, tf.lite.OpsSet.SELECT_TF_OPS]
    converter._experimental_lower_tensor_list_ops = False
    assert b"FlexTensorListReserve" in converter.convert()


def test_other_precisions_are_refused_in_one_line(make_run, tmp_path, capsys):
    make_run(tmp_path / "run")
    command = ["export", "--model", f"{tmp_path}/run", "--output", f"{tmp_path}/out", "--format", "savedmodel"]
    assert main([*command, "--precision", "int8"]) == 2
    assert "a SavedModel is float32: leave --precision int8 out, or export in onnx" in capsys.readouterr().err
