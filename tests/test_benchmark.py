"""The benchmark: operations counted by hand, peers' logs read, the script run on a small corpus."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parent.parent
sys.path.insert(0, str(REPOSITORY / "scripts"))

from benchmarking import cases, peers, profile, report, sweep  # noqa: E402

from nmt import ModelConfig  # noqa: E402


def test_operations_by_hand() -> None:
    """Units 4, embedding 2, attention 3, one sentence of 5 positions and 6 steps, 7 pieces.

    A position: two LSTMs of 2 units over 2, 2 * 4 * 2 * (2 + 2) = 64, and a key, 4 * 3 = 12. A step: query 4 * 3 and
    2 * 3, energies and context 5 * (3 + 4), gates 12 * (2 + 4 + 4), read-out (4 + 4 + 2) * 2, output 2 * 7. The bridge
    4 * 4. A product and a sum are two operations, forward and twice backward.
    """
    config = ModelConfig(units=4, embedding=2, attention=3)
    step = 12 + 6 + 35 + 120 + 20 + 14
    assert cases.flops_per_batch(config, 7, 1, 5, 6) == 6 * (5 * (64 + 12) + 6 * step + 16)


def test_logs_of_the_peers_are_read() -> None:
    joey = "Epoch   1, Step:       20, Batch Loss: 6.1, Tokens per Sec:     1000, Lr: 0.001\n"
    joey += "Epoch   1, Step:       40, Batch Loss: 5.9, Tokens per Sec:     2000, Lr: 0.001\n"
    found = peers.JOEYNMT_SPEED.findall(joey)
    assert peers.between(found, (10, 40), Path("log")) == {"tokens_per_s": pytest.approx(4000 / 3)}
    assert peers.between(found, (20, 40), Path("log")) == {"tokens_per_s": 2000}
    with pytest.raises(RuntimeError, match="no speed between updates 40 and 60 in log"):
        peers.between(found, (40, 60), Path("log"))
    marian = "[2026] Ep. 1 : Up. 1,020 : Sen. 1,280 : Cost 8.90 * 17,000 : Time 20.73s : 1,820.31 words/s : gNorm 1.8\n"
    assert peers.MARIAN_SPEED.findall(marian) == [("1,020", "1,820.31")]


def test_own_time_is_without_what_lies_inside() -> None:
    """A loop of ten with two steps of three and four inside, the second with one of one inside; then five."""
    events = [(0, 10, "loop"), (1, 3, "step"), (5, 4, "step"), (6, 1, "product"), (10, 5, "after")]
    expected = [("loop", 3), ("step", 3), ("step", 3), ("product", 1), ("after", 5)]
    assert profile.own_times(events[::-1]) == expected


def test_ratios_compare_equal_sizes_and_batches() -> None:
    def speeds(*values: float) -> list[dict[str, float]]:
        return [{"tokens_per_s": value} for value in values]

    results = {
        "nmt, joeynmt sizes, float32, 64 sentences": speeds(3000, 3300, 3600),
        "nmt, marian sizes, float32, 64 sentences": speeds(1),
        "nmt, joeynmt sizes, float32, 32 sentences": speeds(1),
        "JoeyNMT, float32, 64 sentences": speeds(1000, 1100, 5000),
    }
    expected = "* nmt, joeynmt sizes, float32, 64 sentences: 3.0 times JoeyNMT, float32, 64 sentences"
    assert report.ratios(results) == ["", expected]


def test_the_cost_model_fits_what_follows_it() -> None:
    points = sweep.points()
    seconds = {
        point: sum(c * t for c, t in zip((3, 1, 0.1, 0.01, 0.2), sweep.terms(point), strict=True)) for point in points
    }
    for point, value in sweep.fit(seconds).items():
        assert value == pytest.approx(seconds[point], rel=1e-6)
    table = sweep.table({point: {"seconds": value, "peak_memory_mib": 7} for point, value in seconds.items()})
    assert table.count("| 1.00 | 7 MiB |") == len(points)


def test_the_script_measures_a_small_corpus(tmp_path: Path) -> None:
    for side in ("en", "fr"):
        lines = (REPOSITORY / f"data/demo/train.{side}").read_text(encoding="utf-8").splitlines()[:400]
        (tmp_path / side).write_text("\n".join(lines) + "\n", encoding="utf-8")
    command = [sys.executable, str(REPOSITORY / "scripts/benchmark.py"), "--source", "en", "--target", "fr"]
    command += ["--vocabulary", "400", "--sizes", "demo", "--precision", "float32", "--sentences", "8"]
    command += ["--updates", "1", "4", "--repeats", "1", "--split", "--output", "found"]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    found = json.loads((tmp_path / "found/benchmark.json").read_text())
    (case,) = found["results"]["nmt, demo sizes, float32, 8 sentences"]
    assert 0 < case["gflops"] < found["machine"]["float32_gflops"]
    assert case["tokens_per_s"] > 0
    assert case["decoder_ms"] > 0
    assert any("MatMul" in kind for kind, _, _ in case["operations"])
    assert "| nmt, demo sizes, float32, 8 sentences |" in result.stdout
    assert (tmp_path / "found/benchmark.png").stat().st_size > 1000
