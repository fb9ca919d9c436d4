"""The exports in version_1/, written when the layout had its first version, are opened and computed as they were.

Their weights are random. The JSON files beside them have the logits and the attention of a few steps.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx_sessions import Step, assert_equal_steps, onnx_steps
from processor import SUMS_OF_8_BITS_ARE_EXACT

from nmt.cli import main
from nmt.exporting.onnx.model import Graphs
from nmt.run.directory import Run
from nmt.run.exported import ENCODER, STEP, read_export

SAVED = Path(__file__).parent / "version_1"


@pytest.mark.parametrize(("name", "precision"), [("recurrent-float32", "float32"), ("transformer-int8", "int8")])
def test_its_graphs_give_what_they_gave(name, precision, capsys):
    export, record = read_export(SAVED / name), json.loads((SAVED / f"{name}.json").read_text())
    assert export.precision == precision
    assert Run.open(SAVED / name).source.encode(["ba be"])
    graphs = Graphs(*(onnx.load(SAVED / name / file) for file in (ENCODER, STEP)), export.state, export.encoded)
    source, target = (np.array(record[side], np.int32) for side in ("source", "target"))
    expected = [Step(*map(np.array, pair)) for pair in zip(record["logits"], record["weights"], strict=True)]
    found = onnx_steps(graphs, source, target)
    if precision == "float32" or SUMS_OF_8_BITS_ARE_EXACT:
        # Processors round int8 in different orders.
        assert_equal_steps(found, expected, 1e-4 if precision == "float32" else 0.05)
    assert main(["verify", str(SAVED / name)]) == 0
    assert "all as nmt wrote them" in capsys.readouterr().out
