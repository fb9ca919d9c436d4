"""The benchmark of alignments: reversed links, the input of the aligners, the script on a small corpus."""

from __future__ import annotations

import json
import subprocess
import sys
from argparse import Namespace
from pathlib import Path

import copy_task
import pytest

from benchmarks import benchmark_alignments as benchmark
from nmt.config import CorpusConfig, PairsConfig, config_to_dict

REPOSITORY = Path(__file__).parents[2]

DIAGONAL = """
import sys
flags = dict(zip(sys.argv[2::2], sys.argv[3::2]))
for side, order in (("-f", "{0}-{0}"), ("-r", "{0}-0")):
    with open(flags["-s"]) as source, open(flags[side], "w") as links:
        links.writelines(" ".join(order.format(i) for i in range(len(line.split()))) + "\\n" for line in source)
"""
"""A stand-in for eflomal: its forward links lie on the diagonal, its backward links lead to the first target word."""


@pytest.fixture
def eflomal(tmp_path: Path) -> Path:
    (tmp_path / "env" / "bin").mkdir(parents=True)
    (tmp_path / "env" / "bin" / "python").symlink_to(sys.executable)
    (tmp_path / "env" / "bin" / "eflomal-align").write_text(DIAGONAL)
    return tmp_path / "env"


def test_the_other_direction_has_the_sides_exchanged_and_no_gold() -> None:
    files = PairsConfig(source="a.en", target="a.fr", alignment="a.align")
    corpus = benchmark.reversed_corpus(CorpusConfig(train=files, validation=PairsConfig(tsv="b", source_column=3)))
    assert (corpus.train.source, corpus.train.target, corpus.train.alignment) == ("a.fr", "a.en", "")
    assert (corpus.validation.source_column, corpus.validation.target_column) == (2, 3)
    assert benchmark.reverse_links(frozenset({(0, 1), (2, 2)})) == {(1, 0), (2, 2)}


def test_aligners_get_all_pairs_and_their_links_are_symmetrized(tmp_path: Path, eflomal: Path) -> None:
    arguments = Namespace(eflomal=eflomal, fast_align=None, output=tmp_path)
    found = benchmark.aligners(arguments, 1, [("a b", "x y")], [("c d", "z w")])
    assert (tmp_path / "eflomal-1.source").read_text() == "a b\nc d\n"
    assert (tmp_path / "eflomal-1.target").read_text() == "x y\nz w\n"
    assert found["eflomal, forward"] == [{(0, 0), (1, 1)}] * 2
    assert found["eflomal, intersection"] == [{(0, 0)}] * 2
    assert found["eflomal, union"] == [{(0, 0), (1, 1), (1, 0)}] * 2


def test_the_table_has_means_and_ranges() -> None:
    about = {"processor": "p", "cores": 2, "memory_gib": 1, "date": "d", "python": "3", "packages": {"nmt": "1"}}
    scores = [{"aer": aer, "precision": 0.9, "recall": 0.8, "f1": 0.85} for aer in (0.1, 0.2)]
    arguments = Namespace(source="s", target="t", gold="g")
    text = benchmark.table(about | {"command": "c", "seeds": [1, 2]}, arguments, {"one": scores})
    assert text.splitlines()[-1] == "| one | 0.150 | 0.100 to 0.200 | 0.900 | 0.800 | 0.850 |"


@pytest.mark.slow
def test_the_script_measures_models_of_both_directions_and_guided_ones(tmp_path: Path, eflomal: Path) -> None:
    """The copy task translates word by word, so the forward links of the stand-in are right."""
    copy_task.write_corpus(tmp_path, train=400, validation=20)
    config = copy_task.config(tmp_path, training={"passes": 2, "batch_tokens": 200, "ema": 0.0})
    (tmp_path / "config.json").write_text(json.dumps(config_to_dict(config)))
    files = [f"--{name}={tmp_path}/validation.{name}" for name in ("source", "target")]
    script = REPOSITORY / "scripts" / "benchmarks" / "benchmark_alignments.py"
    command = [sys.executable, str(script), *files, "--seeds", "1"]
    command += [f"--gold={tmp_path}/validation.align", f"--config={tmp_path}/config.json", "--guided", "own"]
    result = subprocess.run(
        [*command, f"--eflomal={eflomal}", f"--output={tmp_path}/out"], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    results = json.loads((tmp_path / "out" / "alignments.json").read_text())["results"]
    assert results["eflomal, forward"][0]["aer"] == 0
    for kind in ("attention", "attention guided by its own links"):
        for direction in (
            "largest share",
            "opposite direction, largest share",
            "both directions, shares of 0.4, union",
        ):
            assert 0 <= results[f"{kind}, {direction}"][0]["aer"] < 1
    assert "| eflomal, forward | 0.000 | 0.000 to 0.000 | 1.000 | 1.000 | 1.000 |" in result.stdout
