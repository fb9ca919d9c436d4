"""The script that measures BLEU against the number of training pairs, for nmt and JoeyNMT."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import copy_task
import pytest

from benchmarks import data_efficiency
from common import running
from nmt import VocabularyConfig
from nmt.text.tokenizer import Tokenizer

PEER = f"""\
#!{sys.executable}
import pathlib, sys, time, yaml
if sys.argv[1:3] == ["-m", "joeynmt"]:
    settings = yaml.safe_load(pathlib.Path(sys.argv[4]).read_text())
    model = pathlib.Path(settings["model_dir"])
    if sys.argv[3] == "train":
        model.mkdir()
        (model / "config.yaml").write_text(pathlib.Path(sys.argv[4]).read_text())
        (model / "best.ckpt").touch()
        for step in (10, 20):
            print(f"Epoch, Step: {{step}}, Batch Loss: 6.1, Tokens per Sec: 100, Lr: 0.001", flush=True)
        time.sleep(600)
    sys.stdin.read()
    print(pathlib.Path("validation.target").read_text(), end="")
"""
"""A stand-in for JoeyNMT's Python: it trains until it is killed, and translates to the reference."""


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    copy_task.write_corpus(tmp_path, train=100, validation=10)
    (tmp_path / "python").write_text(PEER)
    (tmp_path / "python").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow
def test_joeynmt_trains_for_the_given_time(corpus: Path) -> None:
    text = [corpus / "train.source", corpus / "train.target"]
    lines = text[0].read_text().splitlines()
    (corpus / "ours").mkdir()
    Tokenizer.train(lines, VocabularyConfig(type="word", size=40)).save(corpus / "ours" / "shared.model")
    validation = [corpus / "validation.source", corpus / "validation.target"]
    arguments = SimpleNamespace(joeynmt=str(corpus / "python"), validation=validation, tokenize="none")
    begin = time.perf_counter()
    found = data_efficiency.train_joeynmt(arguments, corpus, "peer", text, seconds=5)
    assert 5 <= time.perf_counter() - begin < 60
    assert found == {"minutes": 5 / 60, "passes": 2, "bleu": pytest.approx(100)}
    assert (corpus / "peer-text" / "dev.src").read_text() == validation[0].read_text()


def test_sizes_are_measured_once_and_both_systems_get_the_same_time(
    corpus: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    trained: list[tuple[Any, ...]] = []

    def ours(arguments: Any, directory: Path, text: list[Path]) -> dict[str, Any]:
        pairs = [len(path.read_text().splitlines()) for path in text]
        trained.append((*pairs, *arguments.more))
        return {"minutes": 0.5, "passes": 16, "bleu": 30.0, "pieces": 1200}

    def theirs(arguments: Any, directory: Path, name: str, text: list[Path], seconds: float) -> dict[str, Any]:
        trained.append((name, seconds))
        return {"minutes": seconds / 60, "passes": 2, "bleu": 1.25}

    monkeypatch.setattr(data_efficiency, "train_ours", ours)
    monkeypatch.setattr(data_efficiency, "train_joeynmt", theirs)
    monkeypatch.setattr(data_efficiency.translating, "versions", lambda *_: {"joeynmt": "2.3.0"})
    command = ["data_efficiency.py", "--source", "train.source", "--target", "train.target", "--joeynmt", "python"]
    command += ["--validation", "validation.source", "validation.target"]
    command += ["--pairs", "20", "50", "--times", "2", "--output", "found", "--training.seed", "7"]
    monkeypatch.setattr(sys, "argv", command)
    for _ in range(2):
        data_efficiency.main()
    more = ("--training.seed", "7")
    assert trained == [(20, 20, *more), ("joeynmt-2", 60.0), (50, 50, *more), ("joeynmt-2", 60.0)]
    table = capsys.readouterr().out
    assert "| 20 | 1,200 | nmt | 0.5 | 16 | 30.00 |\n| 20 | 1,200 | JoeyNMT | 1.0 | 2 | 1.25 |\n| 50 |" in table
    assert (corpus / "found/efficiency.md").read_text() in table
    assert json.loads((corpus / "found/efficiency.json").read_text())["results"]["50"]["nmt"]["bleu"] == 30.0
    (corpus / "train.target").write_text("something else\n" * 100)
    assert running.run_script(data_efficiency.main) == 2
    assert "found/20 has results of other text" in capsys.readouterr().err
    monkeypatch.setattr(sys, "argv", [*command, "--pairs", "101"])
    assert running.run_script(data_efficiency.main) == 2
    assert "train.source: has 100 lines, and --pairs is 101: lower --pairs" in capsys.readouterr().err
