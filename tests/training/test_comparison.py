"""Comparing variants: the plan and its errors, continuing, the numbers of the report, the command end to end."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, TextIO

import copy_task
import numpy as np
import pytest
import yaml

from nmt.cli import main
from nmt.config import VocabularyConfig
from nmt.run.directory import Run
from nmt.text.tokenizer import Tokenizer
from nmt.training.comparison import ComparisonError, read_plan, settle_precision
from nmt.training.comparison.length_buckets import length_buckets
from nmt.training.comparison.outcomes import Outcome, Paths, measure_outcome, saved_outcome
from nmt.training.comparison.plan import fields_of, fields_to_train
from nmt.training.comparison.running import pair_flags
from nmt.training.comparison.tables import difference, mean_and_range
from nmt.training.processes import CommandRunner


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("comparison")
    copy_task.write_corpus(directory, train=300)
    fields = copy_task.fields(directory)
    (directory / "config.yaml").write_text(yaml.safe_dump(fields))
    return directory


def write_variants(corpus: Path, **changes: Any) -> Path:
    values = {
        "about": "Two decoders.",
        "config": str(corpus / "config.yaml"),
        "common": {"training": {"passes": 1}, "model": {"units": 16, "embedding": 16, "attention": {"units": 8}}},
        "test": {
            "source": str(corpus / "validation.source"),
            "target": str(corpus / "validation.target"),
            "alignment": str(corpus / "validation.align"),
        },
        "variants": {"additive": None, "none": {"model": {"attention": {"score": "none"}}}},
    } | changes
    path = corpus / "variants.yaml"
    path.write_text(yaml.safe_dump({name: value for name, value in values.items() if value != "absent"}))
    return path


def test_a_plan_has_every_variant_with_every_seed_and_its_changes_over_the_common_fields(corpus: Path) -> None:
    plan = read_plan(write_variants(corpus, seeds=2), Path("out"))
    assert [run.name for run in plan.runs] == ["additive-1", "none-1", "additive-2", "none-2"]
    assert [run.config.training.seed for run in plan.runs] == [1, 1, 2, 2]
    attention = [run.config.model.attention for run in plan.runs[:2]]
    assert [(a.score, a.units) for a in attention] == [("additive", 8), ("none", 8)]
    assert {run.config.training.passes for run in plan.runs} == {1}
    assert {run.config.directory for run in plan.runs} == {"out/runs"}
    assert {run.config.corpus.train.source for run in plan.runs} == {f"{corpus}/train.source"}
    assert len(read_plan(write_variants(corpus), Path("out"), seeds=5).runs) == 10


def test_a_run_is_trained_with_the_given_fields_alone(corpus: Path) -> None:
    """A default beside them would count as given: a fine-tuning would not take it from its initial run."""
    run = read_plan(write_variants(corpus, variants={"tuned": {"training": {"initial": "x"}}}), Path("out")).runs[0]
    fields, base = fields_to_train(run), copy_task.fields(corpus)
    assert (fields["name"], fields["directory"]) == ("tuned-1", "out/runs")
    assert fields["training"].keys() == {*base["training"], "passes", "initial", "seed", "precision"}
    assert fields.get("search") == base.get("search")


def test_an_outcome_of_another_precision_is_refused(corpus: Path, tmp_path: Path) -> None:
    variants = {"exact": {"training": {"precision": "float32"}}, "open": {"training": {"precision": "auto"}}}
    plan = read_plan(write_variants(corpus, variants=variants), tmp_path)
    for run in plan.runs:
        paths, saved = Paths.of(tmp_path, run.name), fields_of(run)
        saved["training"] |= {"precision": "mixed_bfloat16"}
        outcome = asdict(Outcome(run.variant, 1, 30.0, 50.0, None, 100, 2.0, 10, 500, 1000, "mixed_bfloat16", 1))
        paths.outcome.parent.mkdir(exist_ok=True)
        paths.outcome.write_text(json.dumps(outcome | {"settings": saved}))
    of_float32, of_auto = plan.runs
    assert saved_outcome(of_auto, plan, tmp_path) is not None  # the comparison settles it itself
    with pytest.raises(ComparisonError, match="with training.precision = 'mixed_bfloat16', now it is 'float32'"):
        saved_outcome(of_float32, plan, tmp_path)


def test_a_test_set_in_one_file_is_the_same_text(corpus: Path) -> None:
    sides = [(corpus / f"validation.{side}").read_text().splitlines() for side in ("source", "target")]
    (corpus / "test.tsv").write_text("".join(f"{t}\t{s}\n" for s, t in zip(*sides, strict=True)))
    test = {"tsv": "test.tsv", "source_column": 2, "target_column": 1}
    one = read_plan(write_variants(corpus, test=test), Path("out")).test
    two = read_plan(write_variants(corpus), Path("out")).test
    assert one.sides == two.sides == tuple(sides)
    assert (one.languages, one.tokenizer) == (two.languages, two.tokenizer)
    assert pair_flags(one) == ["--tsv", f"{corpus}/test.tsv", "--source-column", "2", "--target-column", "1"]
    assert pair_flags(two) == ["--source", two.source, "--target", two.target]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"test": {"tsv": "t", "source": "s", "target": "t"}}, "test: pairs are given in more than one way"),
        ({"test": {"tsv": "t", "source_column": "2"}}, "test: source_column is '2': expected a number"),
        ({"variants": {}}, "variants: expected names and what each of them changes"),
        ({"variants": {"a/b": {}}}, "variant a/b: expected a name without /"),
        ({"variants": {"x": {"model": {"heads": 2}}}}, "variant x: model: unknown field heads"),
        ({"variants": {"x": {"model": {"units": 7}}}}, "variant x: model.units is 7: expected an even number"),
        ({"test": {"source": "x"}}, "test: expected source and target"),
        ({"variants": {"x": 5}}, "variant x is 5: expected fields, indented below it"),
        ({"variants": {"x": {"model": {"cell": "lstmm"}}}}, "model.cell is 'lstmm': expected one of gru, lstm"),
        ({"variants": {"x": {"training": {"seed": 3}}}}, "variant x: training.seed: every variant is trained with"),
        ({"common": [1]}, "common is [1]: expected fields"),
        ({"seeds": 0}, "seeds is 0: expected a number from 1"),
        ({"variant": {}}, "unknown field variant, did you mean variants?"),
        ({"config": 5}, "config is 5: expected the name of a file"),
        ({"test": {"source": "a", "target": "b", "tokenize": None}}, "test: tokenize is None: expected text"),
        ({"common": {"model": 5}}, "variant additive: model: expected fields and their values"),
        ({"variants": {"x": {"model": {5: 1}}}}, "variant x: model: unknown field 5"),
    ],
)
def test_an_invalid_file_of_variants_is_refused_in_one_line(corpus: Path, changes: Any, message: str) -> None:
    with pytest.raises(ComparisonError) as caught:
        read_plan(write_variants(corpus, **changes), Path("out"))
    assert message in str(caught.value)
    assert "variants.yaml" in str(caught.value)


def test_numbers_are_read_as_in_a_configuration(corpus: Path) -> None:
    """YAML reads 1e-4, which has no point, as text."""
    plan = read_plan(write_variants(corpus, common={"training": {"schedule": {"learning_rate": "1e-4"}}}), Path("out"))
    assert plan.runs[0].config.training.schedule.learning_rate == 1e-4


def test_common_fields_may_be_commented_out(corpus: Path) -> None:
    assert len(read_plan(write_variants(corpus, common=None), Path("out")).runs) == 2


def test_buckets_contain_every_sentence_once_and_none_is_small() -> None:
    lengths = [3] * 30 + [8] * 25 + [13] * 4 + [27] * 2
    found = length_buckets(lengths)
    assert [label for label, _ in found] == ["1-5", "6-30"]
    assert sorted(row for _, rows in found for row in rows) == list(range(61))
    assert length_buckets([2] * 3) == [("1-5", [0, 1, 2])]
    assert [label for label, _ in length_buckets([7] * 20 + [12] * 20)] == ["6-10", "11-15"]


@pytest.mark.slow
def test_automatic_precision_is_the_same_for_all_runs(
    corpus: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The precision of the machine on which the comparison began also holds where it continues. TensorFlow's start-up
    messages are not shown."""
    exact = {"training": {"precision": "float32"}}
    variants = {"additive": {}, "exact": exact, "open": {}}
    changes = {"common": {"training": {"precision": "auto"}}, "variants": variants}
    plan = read_plan(write_variants(corpus, **changes), tmp_path)

    def settled() -> list[str]:
        return [run.config.training.precision for run in settle_precision(plan, tmp_path).runs]

    first = settled()
    assert capfd.readouterr().err == ""
    assert first == [first[0], "float32", first[0]]
    assert first[0] in ("float32", "mixed_bfloat16", "mixed_float16")
    (tmp_path / "precision").write_text("mixed_float16")
    assert settled() == ["mixed_float16", "float32", "mixed_float16"]
    plan = read_plan(write_variants(corpus, variants={"exact": exact}), tmp_path)
    assert settle_precision(plan, tmp_path) is plan


def test_an_interrupted_comparison_says_how_to_continue(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("nmt.training.comparison.run_variants", interrupted)
    assert main(["compare", "--variants", str(write_variants(corpus)), "--output", str(tmp_path / "new")]) == 130
    assert "nmt: repeat the command to continue the comparison\n" in capsys.readouterr().err


@pytest.mark.parametrize("rows", [[], [{"step": 1, "seconds": "long", "tokens_per_second": 1, "peak_memory_mib": 1}]])
def test_a_history_that_was_changed_is_named(corpus: Path, tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    plan = read_plan(write_variants(corpus), tmp_path)
    pieces = Tokenizer.train(["ein haus und ein baum"] * 3, VocabularyConfig(type="word", size=8))
    Run.create(plan.runs[0].directory, plan.runs[0].config, pieces, pieces).write_history(rows)
    with pytest.raises(ComparisonError, match="history.csv: the last row lacks speed, time or memory: delete"):
        measure_outcome(plan.runs[0], plan.test, Paths.of(tmp_path, plan.runs[0].name), 1)


def test_a_finished_comparison_of_version_0_1_continues(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Version 0.1 had other defaults, fewer settings, and paths from the working directory."""
    monkeypatch.chdir(corpus)
    plan = read_plan(write_variants(corpus), tmp_path)
    run, paths = plan.runs[0], Paths.of(tmp_path, plan.runs[0].name)
    trained_with = fields_of(run)
    trained_with["vocabulary"] |= {"normalization": "nmt_nfkc", "character_coverage": 1.0}
    trained_with["training"] |= {"live_view": not run.config.training.live_view}
    trained_with["corpus"]["train"]["source"] = "train.source"
    del trained_with["corpus"]["source_language"], trained_with["training"]["tokenize"]
    outcome = Outcome("additive", 1, 30.0, 50.0, None, 100, 2.0, 10, 500, 1000, "float32", 1)
    for path, values in ((paths.config, trained_with), (paths.outcome, asdict(outcome))):
        path.parent.mkdir()
        path.write_text(json.dumps(values))
    assert saved_outcome(run, plan, tmp_path) == outcome
    trained_with["vocabulary"]["size"] = 9
    paths.config.write_text(json.dumps(trained_with))
    with pytest.raises(ComparisonError, match="additive-1 was trained with vocabulary.size = 9, now it is "):
        saved_outcome(run, plan, tmp_path)


def test_ranges_and_differences() -> None:
    assert mean_and_range([36.0, 37.0, 38.0], "{:.1f}") == "37.0 (36.0 to 38.0)"
    assert mean_and_range([None, None], "{:.1f}") == "-"
    assert mean_and_range([0.125], "{:.3f}") == "0.125"
    assert difference([30.0, 31.0], [33.0, 35.0], "{:.1f}") == "-3.5"
    assert difference([30.0, 33.5], [33.0, 35.0], "{:.1f}") == "-2.2 (=)"
    assert difference([30.0], [28.0], "{:.1f}") == "+2.0 (?)"
    assert difference([None], [0.1], "{:.1f}") == "-"


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The names of the commands that `run_variants` runs, here in this process, which has loaded the backend."""
    ran: list[str] = []

    def run(self: object, arguments: list[object], log: TextIO) -> int:
        ran.append(str(arguments[0]))
        return main([*map(str, arguments)])

    monkeypatch.setattr(CommandRunner, "run", run)
    yield ran


def failing(monkeypatch: pytest.MonkeyPatch, *failing_runs: str) -> None:
    """Makes the commands of these runs end with exit code 2."""
    run = CommandRunner.run

    def fail_some(self: CommandRunner, arguments: list[object], log: TextIO) -> int:
        if any(f"configs/{name}.json" in str(part) for name in failing_runs for part in arguments):
            print("nmt: 1 pass done\nnmt: error: there is a reason", file=log, flush=True)
            return 2
        return run(self, arguments, log)

    monkeypatch.setattr(CommandRunner, "run", fail_some)


@pytest.mark.slow
def test_the_command_trains_measures_reports_and_continues(
    corpus: Path,
    tmp_path: Path,
    commands: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    output = tmp_path / "out"
    command = ["compare", "--variants", str(write_variants(corpus)), "--output", str(output)]
    with monkeypatch.context() as patched:
        failing(patched, "none-1")
        assert main(command) == 2
    said = capfd.readouterr().err
    assert f"2/2 none-1: nmt train ended with 2, see {output}/logs/none-1.log: there is a reason" in said
    assert f"the report is {output}/report.md" in said
    assert said.splitlines()[-1].startswith("nmt: error: 1 of 2 trainings failed, and the report lacks them: none-1: ")
    assert "| none |" not in (output / "report.md").read_text()
    assert main(command) == 0
    assert commands == ["train", "evaluate"] * 2
    assert f"the report is {output}/report.md" in capfd.readouterr().err
    outcome = json.loads((output / "outcomes" / "additive-1.json").read_text())
    with np.load(output / "runs" / "additive-1" / "best.npz") as weights:
        assert outcome["parameters"] == sum(weights[name].size for name in weights.files)
    assert 0 <= outcome["aer"] <= 1
    report = (output / "report.md").read_text()
    for expected in ("Two decoders.", "| additive | 1 |", '| none | `{"model": {"attention": {"score": "none"}}}` |'):
        assert expected in report
    for name in ("by_length.png", "attention.png"):
        assert (output / name).read_bytes().startswith(b"\x89PNG")
    assert len((output / "outcomes.csv").read_text().splitlines()) == 3
    before = {path: path.stat().st_mtime_ns for path in (output / "outcomes").iterdir()}
    assert main(command) == 0
    assert len(commands) == 4
    assert "2 trainings, 2 of them done already" in capfd.readouterr().err
    assert {path: path.stat().st_mtime_ns for path in before} == before
    other = {"additive": {"training": {"passes": 9}}, "none": {"model": {"attention": {"score": "none"}}}}
    for changes, message in (
        ({"variants": other}, "additive-1 was trained with training.passes = 1, now it is 9: delete "),
        ({"test": shorter(corpus)}, "additive-1 was measured on another test set: delete "),
    ):
        write_variants(corpus, **changes)
        for more in ([], ["--report-only"]):
            assert main([*command, *more]) == 2
            assert message in capfd.readouterr().err
    write_variants(corpus, test={"source": "-", "target": str(corpus / "validation.target")})
    assert main(command) == 2
    assert "test: standard input and pipes can be read only once: name files" in capfd.readouterr().err
    write_variants(corpus)
    kept = (output / "outcomes" / "none-1.json").read_text()
    for damage in ("{", "[]", '{"variant": "none"}'):
        (output / "outcomes" / "none-1.json").write_text(damage)
        assert main([*command, "--report-only"]) == 2
        assert "none-1.json is damaged: delete " in capfd.readouterr().err
    (output / "outcomes" / "none-1.json").write_text(kept)
    text = (corpus / "train.source").read_text()
    (corpus / "train.source").write_text(text.replace("a", "b"))
    assert main([*command, "--seeds", "2"]) == 2
    assert "additive-1 was trained on other text than its files hold now: delete " in capfd.readouterr().err
    (corpus / "train.source").write_text(text)
    assert len(commands) == 4


def shorter(corpus: Path) -> dict[str, str]:
    """A test set of the first ten pairs."""
    for side in ("source", "target"):
        lines = (corpus / f"validation.{side}").read_text().splitlines(keepends=True)[:10]
        (corpus / f"shorter.{side}").write_text("".join(lines))
    return {side: str(corpus / f"shorter.{side}") for side in ("source", "target")}


def test_stopping_ends_the_running_command_and_starts_no_other(tmp_path: Path) -> None:
    commands, ended = CommandRunner(dict(os.environ)), []
    os.mkfifo(tmp_path / "pipe")  # nothing writes to it, so the command waits
    inputs = ["--source", tmp_path / "pipe", "--target", tmp_path / "pipe"]
    waiting = ["clean", *inputs, "--output-source", tmp_path / "s", "--output-target", tmp_path / "t"]
    with open(tmp_path / "log", "w") as log:
        thread = threading.Thread(target=lambda: ended.append(commands.run(waiting, log)))
        thread.start()
        while not commands._running:
            time.sleep(0.01)
        commands.stop()
        thread.join(timeout=60)
        assert ended and ended[0] != 0
        assert commands.run(["--version"], log) == -signal.SIGTERM
    assert (tmp_path / "log").read_text() in ("", "nmt: interrupted\n")


def test_if_the_first_run_fails_the_others_do_not_start(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(CommandRunner, "run", lambda self, arguments, log: 2)
    assert main(["compare", "--variants", str(write_variants(corpus)), "--output", str(tmp_path)]) == 2
    said = capfd.readouterr().err
    assert "additive-1: nmt train ended with 2, see" in said.splitlines()[-1]
    assert "none-1" not in said
    assert (
        main(["compare", "--variants", str(corpus / "variants.yaml"), "--output", str(tmp_path), "--report-only"]) == 2
    )
    assert "no training is done yet" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("test", "more", "message"),
    [
        ({"tokenize": "no"}, [], "tokenize is 'no': expected one of"),
        ({"alignment": "far.align"}, [], "far.align, sentence 1: "),
        ({}, ["--sentence", "999"], "--sentence 999: the test set has"),
    ],
)
def test_an_invalid_test_set_is_refused_before_any_training(
    corpus: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    test: dict[str, str],
    more: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = (corpus / "validation.source").read_text().splitlines()
    Path("far.align").write_text("99-99\n" * len(lines))
    both = {side: str(corpus / f"validation.{side}") for side in ("source", "target")}
    variants = str(write_variants(corpus, test=both | test))
    assert main(["compare", "--variants", variants, "--output", "new", *more]) == 2
    assert message in capfd.readouterr().err
    assert not Path("new").exists()


@pytest.mark.parametrize("more", [[], ["--report-only"]])
def test_a_comparison_that_is_refused_leaves_no_directory(
    corpus: Path, tmp_path: Path, more: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "one.source").write_text("one line\n", encoding="utf-8")
    test = {"source": str(tmp_path / "one.source"), "target": str(corpus / "validation.target")}
    variants = write_variants(corpus, test=test)
    assert main(["compare", "--variants", str(variants), "--output", str(tmp_path / "new"), *more]) == 2
    assert "one.source" in capfd.readouterr().err
    assert not (tmp_path / "new").exists()
