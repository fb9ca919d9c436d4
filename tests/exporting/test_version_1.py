"""The exports in version_1/, written when the layout had its first version, are opened and computed as they were.

Their weights are random. The JSON files beside them have the logits and the attention of a few steps, and
translations.json has translations, links and scores.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx_sessions import Step, assert_equal_steps, onnx_steps
from processor import SUMS_OF_8_BITS_ARE_EXACT

import nmt
from nmt.cli import main
from nmt.config import SearchConfig
from nmt.exporting.onnx.model import Graphs
from nmt.run.directory import Run
from nmt.run.exported import ENCODER, STEP, read_export

SAVED = Path(__file__).parent / "version_1"


@pytest.mark.parametrize(
    ("name", "precision"), [("recurrent-float32", "float32"), ("transformer-int8", "int8"), ("recurrent-int8", "int8")]
)
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


RECORDS = json.loads((SAVED / "translations.json").read_text())
SOURCES, TARGETS = ["ba be bi bo", "ki", "ka ke ka bu be"], ["bo", "ka ki", "ba be bi"]


@pytest.mark.parametrize("name", RECORDS)
def test_it_translates_links_and_scores_as_it_did(name, capsys):
    translator = nmt.Translator.load(SAVED / name)
    for record in RECORDS[name]:
        search = SearchConfig(beam_size=5, short_list=record["short_list"], min_length_ratio=0.6)
        greedy = translator.translate(SOURCES, replace(search, beam_size=1))
        assert [one.text for one in greedy] == record["greedy"]
        found = list(translator.translate(SOURCES, search))
        for one, expected in zip(found, record["beam"], strict=True):
            assert one.text == expected["text"]
            assert sorted(map(list, one.alignment.links)) == expected["links"]
            assert [one.log_probability, one.score] == pytest.approx(
                [expected["log_probability"], expected["score"]], abs=1e-3
            )
        scores = [pair.log_probability for pair in translator.align(SOURCES, TARGETS)]
        assert scores == pytest.approx(record["scores"], abs=1e-3)
    assert main(["verify", str(SAVED / name)]) == 0
    assert "all as nmt wrote them" in capsys.readouterr().out


def test_the_records_have_every_kind_of_export():
    kinds = {name: (read_export(SAVED / name).precision, Run.open(SAVED / name).config.model) for name in RECORDS}
    _, lstm = kinds["lstm-coverage-float32"]
    assert (lstm.cell, lstm.decoder, lstm.input_feeding, lstm.attention.coverage) == ("lstm", "luong", True, True)
    assert kinds["mixed-float16"][0] == "float16"
    listed, unlisted = ([one["text"] for one in record["beam"]] for record in RECORDS["short-list-float32"])
    assert listed != unlisted  # the list changes translations
