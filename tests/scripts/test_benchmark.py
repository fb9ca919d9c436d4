"""The benchmarks: counted operations, logs of the peers, tables, older checkouts, the scripts on a small corpus."""

from __future__ import annotations

import importlib.util
import itertools
import json
import os
import pkgutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from benchmarks import benchmark, benchmark_translation
from benchmarks.benchmarking import (
    cases,
    cost_model,
    layouts,
    peers,
    profile,
    report,
    startup,
    translating,
    translation_report,
)
from nmt import AttentionConfig, ModelConfig, RunConfig, TransformerConfig, VocabularyConfig
from nmt.config import config_from_dict
from nmt.run.arrays import save_arrays
from nmt.run.directory import Run
from nmt.text.tokenizer import Tokenizer

REPOSITORY = Path(__file__).parents[2]


def test_operations_of_a_small_model() -> None:
    """Units 4, embedding 2, attention 3, one sentence of 5 positions and 6 steps, 7 pieces.

    A position: two LSTMs of 2 units over 2, 2 * 4 * 2 * (2 + 2) = 64, and a key, 4 * 3 = 12. A step: query 4 * 3 and
    2 * 3, energies and context 5 * (3 + 4), gates 12 * (2 + 4 + 4), read-out (4 + 4 + 2) * 2, source words 5 * 2 and
    2 * 2, output 2 * 7. The bridge 4 * 4. A product and a sum are two operations, forward and twice backward.
    """
    config = ModelConfig(units=4, embedding=2, attention=AttentionConfig(units=3))
    step = 12 + 6 + 35 + 120 + 20 + 14 + 14
    assert cases.flops_per_batch(config, 7, 1, 5, 6) == 6 * (5 * (64 + 12) + 6 * step + 16)


def test_products_of_a_small_transformer():
    """One layer each, width 2, network 3, vocabulary 7, 5 positions, 6 steps. An attention has 4 multiplications for
    each query and output, 4 for each key and value, and 2 for each energy and each term of a context."""
    sizes = TransformerConfig(encoder_layers=1, decoder_layers=1, heads=1, feed_forward=3)
    config = ModelConfig(architecture="transformer", embedding=2, transformer=sizes)
    encoder = 5 * 4 * 4 + 5 * 5 * 2 * 2 + 5 * (6 + 6)
    decoder = 6 * 4 * 4 + 6 * 6 * 2 * 2 + (6 * 2 + 5 * 2) * 4 + 6 * 5 * 2 * 2 + 6 * (6 + 6)
    read_out = 6 * 2 * (5 + 2) + 6 * 2 * 7  # source words, logits
    assert cases.flops_per_batch(config, 7, 3, 5, 6) == 6 * 3 * (encoder + decoder + read_out)


def test_logs_of_the_peers_are_read() -> None:
    joey = "Epoch   1, Step:       20, Batch Loss: 6.1, Tokens per Sec:     1000, Lr: 0.001\n"
    joey += "Epoch   1, Step:       40, Batch Loss: 5.9, Tokens per Sec:     2000, Lr: 0.001\n"
    found = peers.JOEYNMT_SPEED.findall(joey)
    assert peers.speed_between(found, (10, 40), Path("log")) == {"tokens_per_s": pytest.approx(4000 / 3)}
    assert peers.speed_between(found, (20, 40), Path("log")) == {"tokens_per_s": 2000}
    with pytest.raises(RuntimeError, match="no speed between updates 40 and 60 in log"):
        peers.speed_between(found, (40, 60), Path("log"))
    marian = "[2026] Ep. 1 : Up. 1,020 : Sen. 1,280 : Cost 8.90 * 17,000 : Time 20.73s : 1,820.31 words/s : gNorm 1.8\n"
    assert peers.MARIAN_SPEED.findall(marian) == [("1,020", "1,820.31")]


def test_own_time_excludes_the_events_inside() -> None:
    """A loop of 10 contains steps of 3 and 4; the second step contains a product of 1. An event of 5 follows."""
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


def test_the_cost_model_fits_times_that_follow_it() -> None:
    points = cost_model.points()
    seconds = {
        point: sum(c * t for c, t in zip((3, 1, 0.1, 0.01, 0.2), cost_model.terms(point), strict=True))
        for point in points
    }
    for point, value in cost_model.fit(seconds).items():
        assert value == pytest.approx(seconds[point], rel=1e-6)
    table = cost_model.table({point: {"seconds": value, "peak_memory_mib": 7} for point, value in seconds.items()})
    assert table.count("| 1.00 | 7 MiB |") == len(points)


def test_more_never_costs_less_in_the_cost_model() -> None:
    """The times have errors; coefficients of any sign would follow the errors."""
    expected = cost_model.fit({point: point.vocabulary / point.length for point in cost_model.points()})
    by_length = sorted(point for point in expected if point.vocabulary == cost_model.PLAIN_VOCABULARY)
    per_token = [expected[point] / (point.rows * point.length) for point in by_length]
    assert all(later > 0.97 * earlier > 0 for earlier, later in itertools.pairwise(per_token))


MACHINE = dict.fromkeys(("processor", "cores", "memory_gib", "date", "python", "command"), "-") | {
    "packages": {},
    "side": 2048,
    "float32_gflops": 100,
    "bfloat16_gflops": 400,
    "memory_gb_s": 20,
}
CASE = {"tokens_per_s": 3.0, "gflops": 50.0, "peak_memory_mib": 9, "compile_s": 2.0, "padding": 0.1, "shapes": 1}


def test_a_case_without_enough_memory_stops_no_other_case(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def too_much(repeat: int) -> dict[str, Any]:
        raise MemoryError("needs more memory than there is")

    large, small = "nmt, default sizes, float32, 9000 tokens", "nmt, default sizes, float32, 64 sentences"
    results = benchmark.alternate({large: too_much, small: lambda repeat: CASE}, 2)
    assert results == {large: [], small: [CASE, CASE]}
    assert capsys.readouterr().err.count("needs more memory than there is") == 1  # the case runs once only
    assert f"| {large} | needs more memory than there is |" in report.table(MACHINE, results)
    report.plot(results, tmp_path / "plot.png")
    assert (tmp_path / "plot.png").stat().st_size > 1000


@pytest.mark.parametrize("message", benchmark.OUT_OF_MEMORY)
def test_a_full_gpu_is_known_by_the_backends_message(tmp_path: Path, message: str) -> None:
    (tmp_path / "nmt").mkdir()
    (tmp_path / "nmt" / "__init__.py").write_text(f"raise ValueError('{message}: out of memory')")
    with pytest.raises(MemoryError):
        benchmark.measure_in_process({"machine": 1}, tmp_path)


def test_tables_name_the_gpu_and_the_kernel_of_the_recurrence() -> None:
    names = [f"nmt, default sizes, mixed_bfloat16{loop}, 64 sentences" for loop in ("", ", loop")]
    results = {name: [CASE | {"shapes": 24, "cudnn": name == names[0]}] for name in names}
    table = report.table(MACHINE | {"gpu": "a GPU"}, results)
    assert table.startswith("a GPU, -, - cores")
    assert f"| {names[0]} | 3 (3 to 3) | 12% | 9 MiB | 2.0 s, 24 shapes | 10.0% |" in table
    assert f"* {names[0]}: the encoder's recurrence is cuDNN's kernel\n" in table
    assert f"* {names[1]}: the encoder's recurrence is a loop" in table
    assert "cuDNN" not in report.table(MACHINE, results)


def test_batches_have_few_shapes_where_the_backend_compiles_for_each(monkeypatch: pytest.MonkeyPatch) -> None:
    from benchmarks.benchmarking import training
    from nmt.batches.arrays import Sequences

    class Pairs:
        source = target = Sequences.of([[4] * length for length in (1, 1, 2, 3, 5, 8, 8, 9)])

    def shapes(case: cases.Case) -> set[tuple[int, int]]:
        plan = training.make_plan(case, Pairs())
        return {(len(indices), plan.width(indices)) for indices in plan.batches(0)}

    of_two, of_twenty = (cases.Case("default", "float32", **batch) for batch in ({"sentences": 2}, {"tokens": 20}))
    assert shapes(of_two) == {(2, 0)}  # padded to the longest sentence of the batch
    monkeypatch.setattr(training, "batch_shapes", lambda wanted: 2)
    assert shapes(of_two) == {(2, 4), (2, 10)}
    assert shapes(of_twenty) == {(5, 4), (2, 10)}
    monkeypatch.undo()
    assert shapes(cases.Case("default", "float32", sentences=2, shapes=1)) == {
        (2, 10)
    }  # on every backend, if the case asks for it


def test_an_older_encoder_does_not_use_cudnn(monkeypatch: pytest.MonkeyPatch) -> None:
    from benchmarks.benchmarking import training
    from nmt.network.model import Seq2Seq

    model = Seq2Seq(ModelConfig(units=4, embedding=2, attention=AttentionConfig(units=3)), 7, 7)
    assert not training.uses_cudnn(model)
    monkeypatch.delattr(training.encoder, "fused_lstm")
    assert not training.uses_cudnn(model)


def test_a_loss_is_read_after_the_next_update_starts() -> None:
    from benchmarks.benchmarking import update_parts

    events = []

    class Loss(float):
        def __float__(self):
            events.append(f"read {self.real:g}")
            return self.real

    def step(batch):
        events.append(f"start {batch}")
        return Loss(batch)

    assert update_parts.run_updates(step, [1, 2]) == 2
    assert events == ["start 1", "start 2", "read 1", "read 2"]


@pytest.mark.slow
@pytest.mark.skipif(not importlib.util.find_spec("jax"), reason="jax is not installed: pip install -e .[jax]")
@pytest.mark.parametrize("precision", ["float32", "mixed_float16"])
def test_the_script_measures_on_jax(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, precision: str) -> None:
    monkeypatch.setenv("KERAS_BACKEND", "jax")
    found, table = measure_small_corpus(tmp_path, precision, "--shapes", "2")
    assert "jax" in found["machine"]["packages"]
    assert found["results"][f"nmt, demo sizes, {precision}, 2 shapes, 8 sentences"][0]["shapes"] == 2
    assert "shapes, 8 sentences | " in table


@pytest.mark.slow
def test_the_script_measures_a_small_corpus(tmp_path: Path) -> None:
    found, table = measure_small_corpus(tmp_path, "float32", "--split")
    (case,) = found["results"]["nmt, demo sizes, float32, 8 sentences"]
    assert 0 < case["gflops"] < found["machine"]["float32_gflops"]
    assert case["tokens_per_s"] > 0
    assert case["decoder_ms"] > 0
    kinds = [kind for kind, _, _ in case["operations"]]
    assert any("MatMul" in kind for kind in kinds)
    assert "Run" not in kinds  # the executor is not an operation
    assert "| nmt, demo sizes, float32, 8 sentences |" in table


def measure_small_corpus(tmp_path: Path, precision: str, *options: str) -> tuple[dict[str, Any], str]:
    """The JSON and the table of the script for 400 pairs of the demo corpus."""
    for side in ("en", "fr"):
        lines = (REPOSITORY / f"data/demo/train.{side}").read_text(encoding="utf-8").splitlines()[:400]
        (tmp_path / side).write_text("\n".join(lines) + "\n", encoding="utf-8")
    command = [sys.executable, str(REPOSITORY / "scripts/benchmarks/benchmark.py"), "--source", "en", "--target", "fr"]
    command += ["--vocabulary", "400", "--sizes", "demo", "--precision", precision, "--sentences", "8"]
    command += ["--updates", "1", "4", "--repeats", "1", "--output", "found", *options]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "found/benchmark.png").stat().st_size > 1000
    return json.loads((tmp_path / "found/benchmark.json").read_text()), result.stdout


LINES = [" ".join(words) for words in zip(*["abcdefgh", "efghijkl", "ijklmnop", "mnopqrst"], strict=True)]


@pytest.fixture(scope="module")
def vocabulary() -> Tokenizer:
    return Tokenizer.train(LINES, VocabularyConfig(type="word", size=30))


@pytest.fixture(scope="module")
def run(vocabulary, tmp_path_factory) -> Path:
    """A run directory with an untrained model."""
    from nmt.network.model import Seq2Seq
    from nmt.network.weights import variables_to_arrays

    config = config_from_dict(RunConfig, {"model": {"units": 8, "embedding": 8, "attention": {"units": 8}}})
    made = Run.create(tmp_path_factory.mktemp("models") / "run", config, vocabulary, vocabulary)
    model = Seq2Seq(config.model, vocabulary.size, vocabulary.size, seed=1)
    model.build()
    save_arrays(made.best, variables_to_arrays(model.trainable_variables))
    return made.directory


def test_peers_get_the_pieces_of_nmt(vocabulary, tmp_path):
    for name, lines in (("a", LINES), ("b", LINES[::-1])):
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    vocabulary.save(tmp_path / "shared.model")
    peers.write_text(tmp_path / "text", tmp_path / "a", tmp_path / "b", tmp_path / "shared.model")
    names = (tmp_path / "text" / "vocab.txt").read_text().splitlines()
    assert names[:4] == ["<unk>", "<pad>", "<s>", "</s>"]
    assert sorted(names) == sorted(vocabulary.pieces(range(vocabulary.size)))
    assert Tokenizer.load(tmp_path / "text" / "pieces.spm") == vocabulary
    assert (tmp_path / "text" / "train.trg").read_text().splitlines() == LINES[::-1]


def test_peers_get_the_beam_size_and_the_files(tmp_path):
    (tmp_path / "config.yaml").write_text(
        peers.JOEYNMT.format(directory="gone", model="gone", last=9, every=3, validate=3, sentences=64, seed=1)
    )
    joeynmt = translating.System("JoeyNMT", "joeynmt", "python", tmp_path, tmp_path)
    command, piped = joeynmt.command(4, tmp_path / "in", tmp_path / "out")
    settings = yaml.safe_load(Path(command[-1]).read_text())
    assert piped
    assert settings["testing"]["beam_size"] == 4
    assert settings["data"]["trg"]["voc_file"] == f"{tmp_path}/trg_vocab.txt"
    assert settings["data"]["trg"]["lang"] == "trg"
    assert "gone" not in json.dumps([settings["model_dir"], settings["data"]["src"]])
    marian = translating.System("Marian", "marian", "python", tmp_path, tmp_path)
    command, piped = marian.command(4, tmp_path / "in", tmp_path / "out")
    assert not piped
    assert " ".join(command).startswith("python -m pymarian decode --quiet --models ")
    assert " --beam-size 4 " in " ".join(command)
    assert command[-4:] == ["--input", f"{tmp_path}/in", "--output", f"{tmp_path}/out"]


def test_nmt_gets_its_short_list(tmp_path):
    ours = translating.System("nmt", "nmt", "python", tmp_path, tmp_path, short_list=20)
    assert ours.command(4, tmp_path / "in", tmp_path / "out")[0][-2:] == ["--short-list", "20"]
    assert ours.job(4)["short_list"] == 20


def test_versions_come_from_the_other_python():
    import numpy

    assert translating.versions(sys.executable, ["numpy"]) == {"numpy": numpy.__version__}


@pytest.mark.slow
def test_translation_is_measured_as_a_command_and_inside(run, tmp_path):
    """The command and the process translate equally, and their memory is measured for each process."""
    system = translating.System("nmt", "nmt", sys.executable, run, tmp_path)
    (tmp_path / "text").write_text("\n".join(LINES) + "\n")
    whole = translating.run_command(system, 2, tmp_path / "text")
    inside = translating.run_worker(system, 2, LINES, alone=3)
    assert whole["lines"] == inside["found"]
    assert len(inside["alone_s"]) == 3
    assert 0 < inside["p50_s"] <= inside["p95_s"] <= max(inside["alone_s"])
    assert whole["seconds"] > inside["batch_s"] > 0
    assert min(whole["peak_mib"], inside["peak_mib"]) > 100


def test_a_translator_that_fails_stops_the_benchmark(tmp_path):
    system = translating.System("nmt", "nmt", sys.executable, tmp_path / "nowhere", tmp_path)
    with pytest.raises(SystemExit, match=rf"ended with 2: see {tmp_path}/nmt.log"):
        translating.run_command(system, 2, Path(__file__))
    assert "no such run directory" in (tmp_path / "nmt.log").read_text()


@pytest.fixture
def lines_measured(tmp_path, monkeypatch):
    """Runs the benchmark of three sentences on files of four and eight lines; the command loses `lost` lines."""
    (tmp_path / "test").write_text("a\nb\nc\n")
    given = ["--test", tmp_path / "test", "--model", tmp_path / "run", "--output", tmp_path / "found"]
    monkeypatch.setattr(sys, "argv", ["benchmark_translation.py", "--lines", "4", "8", *map(str, given)])

    def measure(lost: int = 0) -> list[str]:
        seen = []

        def run_command(system, beam, text):
            assert (system.model, beam) == (tmp_path / "run", 1)
            seen.append(text.read_text())
            lines = seen[-1].splitlines()
            return {"seconds": 2.0, "peak_mib": 700.0 + len(lines), "lines": lines[lost:]}

        monkeypatch.setattr(translating, "run_command", run_command)
        benchmark_translation.main()
        return seen

    return measure


def test_memory_is_measured_for_each_number_of_lines(lines_measured, tmp_path, capsys):
    assert lines_measured() == ["a\nb\nc\na\n", "a\nb\nc\na\nb\nc\na\nb\n"]
    table = (tmp_path / "found" / "lines.md").read_text()
    assert "| 4 | 2 | 2 | 704 MiB |\n| 8 | 2 | 4 | 708 MiB |\n" in table
    assert capsys.readouterr().out == table


def test_lost_lines_stop_the_benchmark(lines_measured):
    with pytest.raises(SystemExit, match="4 lines went in and 3 came out"):
        lines_measured(lost=1)


def test_translation_tables_of_two_systems(vocabulary, tmp_path):
    """Two sentences of 4 + 1 pieces in 5 s are 0.4 sentences and 2 tokens per second. The peer takes 15 s."""
    vocabulary.save(tmp_path / "shared.model")

    def measured(seconds: float) -> dict[str, list[dict[str, object]]]:
        stages = ("batch_s", "p50_s", "p95_s", "loaded_s", "first_s")
        found = {"found": LINES[:2], "alone_s": [seconds]}
        whole = {"seconds": 2 * seconds, "peak_mib": 100.0, "lines": LINES[:4], "command": "translate"}
        return {
            "inside": [dict.fromkeys(stages, seconds * way) | found for way in (1, 0.5, 2)],
            "whole": [whole],
            "one_line": [whole],
        }

    results = {"nmt, joeynmt sizes, float32, beam 5": measured(5.0), "JoeyNMT, beam 5": measured(15.0)}
    results["JoeyNMT, beam 5"]["inside"][-1]["found"] = [LINES[0], "a"]
    quality = translation_report.quality(results, LINES[:4], tmp_path / "shared.model")
    assert quality["reference"] == {"words": 4, "pieces": 5}
    scores = {"bleu": pytest.approx(100), "tokens_inside": 7, "differing": 1}
    assert quality["JoeyNMT, beam 5"] == {"words": 4, "pieces": 5, **scores}
    machine = {name: name for name in ("processor", "cores", "memory_gib", "date", "python", "command")}
    found = {"machine": machine | {"packages": {}}, "results": results, "quality": quality}
    tables = translation_report.tables(found)
    row = "| 0.4 (0.2 to 0.8) | 2 (1 to 4) | 10.0 (10.0 to 10.0) | 0.4 (0.4 to 0.4) | 100 MiB |"
    assert f"| nmt, joeynmt sizes, float32, beam 5 {row}" in tables
    expected = "3.0 times inside, 3.0 times the command, 3.0 times one at a time"
    assert f"* nmt, joeynmt sizes, float32, beam 5, against JoeyNMT, speed: {expected}" in tables


def test_generated_pairs_are_many_and_different(tmp_path, monkeypatch):
    monkeypatch.chdir(REPOSITORY)
    source, target = startup.write_pairs(tmp_path, 3000)
    sides = [path.read_text(encoding="utf-8").splitlines() for path in (source, target)]
    assert [len(set(side)) for side in sides] == [3000, 3000]
    assert all(f" {number} " in side[number] for side in sides for number in (0, 2999))


@pytest.mark.slow
def test_a_warm_start_is_measured_beside_a_cold_one(monkeypatch):
    monkeypatch.chdir(REPOSITORY)
    cold, warm = startup.measure(0, 1)
    assert (cold["start"], warm["start"]) == ("cold", "warm")
    assert all(0 < one["prepared"] < one["first_step"] and one["peak_mib"] > 100 for one in (cold, warm))
    assert "| demo | warm |" in startup.table([cold, warm])


def test_another_checkout_is_measured(tmp_path):
    (tmp_path / "nmt").mkdir()
    (tmp_path / "nmt" / "__init__.py").write_text("raise ImportError('the nmt of yesterday')")
    with pytest.raises(SystemExit, match="the nmt of yesterday"):
        benchmark.measure_in_process({"machine": 1}, tmp_path)


@pytest.mark.parametrize("name", layouts.PLACES)
def test_a_name_is_at_its_first_place_today(name):
    assert layouts.find(name) is pkgutil.resolve_name(layouts.PLACES[name][0])


@pytest.mark.parametrize("name", layouts.METHODS)
def test_a_method_has_its_first_name_today(name):
    kind, older = layouts.METHODS[name]
    assert callable(getattr(layouts.find(kind), name)) and not hasattr(layouts.find(kind), older)


def test_the_names_of_a_flat_checkout_are_found(tmp_path):
    """A package tree with the older names only; each object is its own dotted name."""
    modules = {"__init__": "", "encoder": ""}
    for _, *older in layouts.PLACES.values():
        _, module, *name = older[-1].split(".")
        modules[module] = modules.get(module, "") + "".join(f"{n} = '{older[-1]}'\n" for n in name)
    (tmp_path / "nmt").mkdir()
    for module, text in modules.items():
        (tmp_path / "nmt" / f"{module}.py").write_text(text)
    program = "import json; from benchmarks.benchmarking import layouts\n"
    program += "found = {name: layouts.find(name) for name in layouts.PLACES}\n"
    program += "print(json.dumps({name: getattr(one, '__name__', one) for name, one in found.items()}))"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), str(REPOSITORY / "scripts")])}
    command = [sys.executable, "-c", program]
    result = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout) == {name: places[-1] for name, places in layouts.PLACES.items()}


def test_a_name_that_a_checkout_lacks_is_an_error(monkeypatch):
    monkeypatch.setitem(layouts.PLACES, "Seq2Seq", ("nmt.nowhere.Seq2Seq", "nmt.errors.Seq2Seq"))
    with pytest.raises(ImportError, match="nmt has no Seq2Seq: expected nmt.nowhere.Seq2Seq or"):
        layouts.find("Seq2Seq")


def test_a_method_of_an_older_checkout_is_found():
    class OldPlan:
        def waste(self, batches):
            return 0.25

    assert layouts.find_method(OldPlan(), "padding_share")([]) == 0.25
