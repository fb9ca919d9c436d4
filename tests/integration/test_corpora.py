"""The real corpora of docs/evidence/results.md: `NMT_CORPORA=DIR pytest -m slow tests/integration/test_corpora.py`.

DIR holds multi30k/raw/{train,val,test_2016_flickr}.{en,de} and tatoeba/fra-eng.tsv.
"""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path

import pytest
from commands import REPOSITORY, nmt

pytestmark = pytest.mark.slow


@pytest.fixture
def corpora() -> Path:
    if "NMT_CORPORA" not in os.environ:
        pytest.skip("NMT_CORPORA is not set: it names the directory with multi30k/raw and tatoeba")
    return Path(os.environ["NMT_CORPORA"]).resolve()


def test_multi30k_reaches_38_bleu_within_3_gib(corpora: Path, tmp_path: Path) -> None:
    """About half an hour on two cores."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "multi30k").symlink_to(corpora / "multi30k" / "raw")
    nmt(f"train --recipe 30k --config {REPOSITORY}/data/multi30k/config.yaml", tmp_path)
    test = "data/multi30k/test_2016_flickr"
    nmt(
        f"evaluate --model saved_models/multi30k-en-de --source {test}.en --reference {test}.de --json scores.json",
        tmp_path,
    )
    assert json.loads((tmp_path / "scores.json").read_text())["bleu"]["value"] >= 38
    with open(tmp_path / "saved_models" / "multi30k-en-de" / "history.csv", newline="") as file:
        memory = [int(row["peak_memory_mib"]) for row in csv.DictReader(file)]
    assert max(memory) <= 3 * 1024


def test_tatoeba_trains_from_its_file(corpora: Path, tmp_path: Path) -> None:
    """About 10 minutes on two cores."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "tatoeba").symlink_to(corpora / "tatoeba")
    nmt(f"train --config {REPOSITORY}/data/tatoeba/config.yaml", tmp_path)
    with open(tmp_path / "saved_models" / "tatoeba-en-fr" / "history.csv", newline="") as file:
        bleu = [float(row["validation_bleu"]) for row in csv.DictReader(file)]
    assert len(bleu) == 3
    assert bleu[-1] > 30
