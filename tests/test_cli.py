"""The `nmt` command as a user meets it: what it reads, writes, says, and with which exit code it ends."""

from __future__ import annotations

import csv
import dataclasses
import json
import os
import pty
import re
import subprocess
import sys
import time
import weakref
from dataclasses import replace
from pathlib import Path

import fake_translator
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nmt
from nmt.alignment import Linking
from nmt.cli import main, parser, translation
from nmt.cli.files import whole_file
from nmt.cli.report import write_report
from nmt.config import RunConfig, SearchConfig
from nmt.configuration import load_config
from nmt.errors import NmtError
from nmt.mbr import expected_utilities

REPOSITORY = Path(__file__).parent.parent
HEAVY = {"jax", "jsonargparse", "keras", "matplotlib", "numpy", "sacrebleu", "sentencepiece", "tensorflow"}


@pytest.fixture
def model(tmp_path, monkeypatch) -> str:
    """A run directory, and the fake in place of the real translator."""
    monkeypatch.setitem(sys.modules, "nmt.translator", fake_translator)
    monkeypatch.setattr(fake_translator.Translator, "searches", [])
    (tmp_path / "run").mkdir()
    return str(tmp_path / "run")


def python(*arguments: str, **options) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(REPOSITORY / "tests")}
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, cwd=REPOSITORY, env=environment, **options
    )


# Start


def test_help_answers_at_once():
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        result = python("-m", "nmt", "--help")
        seconds.append(time.perf_counter() - start)
        assert result.returncode == 0
        assert all(command in result.stdout for command in ("train", "translate", "align", "evaluate", "explain"))
    assert min(seconds) < 0.4


@pytest.mark.parametrize(
    "statement", ["import nmt; nmt.RunConfig", "from nmt.cli import main; main(['translate', '--help'])"]
)
def test_nothing_heavy_is_imported_before_it_is_needed(statement):
    code = f"import sys\ntry:\n  {statement}\nexcept SystemExit: pass\nprint('loaded', *sys.modules)"
    loaded = python("-c", code).stdout.splitlines()[-1].split()
    assert loaded[0] == "loaded"
    assert HEAVY.isdisjoint(loaded)


def test_public_names():
    assert nmt.RunConfig is RunConfig
    assert nmt.load_config is load_config
    assert nmt.NmtError is NmtError
    assert set(nmt.__all__) <= set(dir(nmt))
    with pytest.raises(AttributeError, match="no attribute 'Transformer'"):
        _ = nmt.Transformer


def test_version(capsys):
    with pytest.raises(SystemExit) as end:
        main(["--version"])
    assert end.value.code == 0
    assert capsys.readouterr().out == f"nmt {nmt.__version__}\n"


def test_tensorflow_is_quiet_unless_the_user_says_otherwise(monkeypatch):
    for given_level, level in ((None, "3"), ("0", "0")):
        monkeypatch.delenv("TF_CPP_MIN_LOG_LEVEL", raising=False)
        if given_level is not None:
            monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", given_level)
        main(["align"])
        assert os.environ["TF_CPP_MIN_LOG_LEVEL"] == level


# Errors


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("", "COMMAND"),
        ("transalte", "invalid choice: 'transalte'"),
        ("translate", "--model"),
        ("translate --model nowhere --input setup.cfg", "nowhere: no such run directory"),
        ("translate --mod nowhere", "--model"),
        ("translate --model nowhere --beam 3", "unrecognized arguments: --beam 3"),
        ("translate --model nowhere --input nowhere.txt", "nowhere.txt"),
        ("translate --model nowhere --beam-size 0 --input setup.cfg", "beam_size is 0"),
        ("translate --model nowhere --input setup.cfg --output nmt", "nmt: is a directory"),
        ("translate --model nowhere --input setup.cfg --output nowhere/out", "nowhere: no such directory"),
        ("translate --model nowhere --input setup.cfg --output o --alignments o", "--alignments needs a file"),
        ("align --model m --source setup.cfg --output o --format gif", "'gif'"),
        ("align --model m --source setup.cfg --output o --limit -1", "-1: expected 0 or more"),
        ("align --model m --source setup.cfg --output o --gold setup.cfg", "--target"),
        ("align --model m --source setup.cfg --target setup.cfg --output o --beam-size 4", "nothing is searched for"),
        ("evaluate --model m --source setup.cfg --reference LICENSE", "setup.cfg has"),
        ("evaluate --model m --source setup.cfg --reference setup.cfg --tokenize 14a", "14a"),
        ("evaluate --model m --source LICENSE --reference LICENSE --gold LICENSE", "LICENSE:1"),
        ("explain --model m --output o", "--source"),
        ("explain --model m --source setup.cfg --target LICENSE --output o", "setup.cfg has"),
        ("explain --model m --source setup.cfg --output o --worst -1", "-1: expected 0 or more"),
        ("explain --model m --source setup.cfg --output o --erase sentence", "'sentence'"),
        ("explain --model m --source setup.cfg --target setup.cfg --output o --beam-size 4", "nothing is searched for"),
        ("explain --model nowhere --source setup.cfg --output o", "nowhere: no such run directory"),
        ("train --config nowhere.yaml", "nowhere.yaml: No such file"),
        ("train --model.unit 3", "unrecognized arguments: --model.unit 3"),
        ("train --model.units 3", "units is 3: expected an even number"),
    ],
)
def test_user_errors_are_one_line_and_exit_code_2(command, message, capsys, monkeypatch):
    monkeypatch.chdir(REPOSITORY)
    assert main(command.split()) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.startswith("nmt: error: ")
    assert message in output.err
    assert output.err.count("\n") == 1
    assert not Path("o").exists()


def test_user_error_of_the_installed_command():
    result = python("-m", "nmt", "translate", "--model", "nowhere", input="")
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == "nmt: error: nowhere: no such run directory; nmt train makes one\n"


def test_mendable_error_is_one_line(model, write, capsys):
    assert main(["translate", "--model", model, "--input", write("in", "mendable")]) == 2
    assert capsys.readouterr().err == "nmt: error: a sentence that can be mended\n"


def test_bug_keeps_its_traceback(model, write):
    with pytest.raises(ValueError, match="a bug"):
        main(["translate", "--model", model, "--input", write("in", "bug")])


def test_interrupt(model, write, capsys, tmp_path):
    output = tmp_path / "out"
    assert main(["translate", "--model", model, "--input", write("in", "interrupt"), "--output", str(output)]) == 130
    assert capsys.readouterr().err == "nmt: interrupted\n"
    assert not output.exists()


# Translate

LINES = st.lists(st.text(st.characters(exclude_characters="\n\r", codec="utf-8"), max_size=30), max_size=12)


@settings(deadline=None)
@given(lines=LINES)
def test_as_many_lines_out_as_in(lines, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "nmt.translator", fake_translator)
        directory = tmp_path_factory.mktemp("lines")
        (directory / "in").write_bytes("".join(f"{line}\n" for line in lines).encode())
        arguments = ["--model", str(directory), "--input", str(directory / "in"), "--output", str(directory / "out")]
        assert main(["translate", *arguments]) == 0
        written = (directory / "out").read_bytes().decode()
    assert written == "".join(" ".join(line.split()[:5]).upper() + "\n" for line in lines)


def test_translate_to_standard_output(model, write, capsys):
    assert main(["translate", "--model", model, "--input", write("in", "ein haus", "", "  ", "zwei")]) == 0
    output = capsys.readouterr()
    assert output.out == "EIN HAUS\n\n\nZWEI\n"
    assert output.err.startswith("nmt: 4 lines in ")
    assert output.err.endswith("written to standard output\n")


def test_alignments_are_those_of_the_translations(model, write, tmp_path):
    files = ["--input", write("in", "ein haus", "", "a b c"), "--alignments", str(tmp_path / "links")]
    assert main(["translate", "--model", model, *files, "--output", str(tmp_path / "out")]) == 0
    assert (tmp_path / "links").read_text() == "0-0 1-1\n\n0-0 1-1 2-2\n"
    assert len(fake_translator.Translator.searches) == 1


def test_search_flags_go_over_the_model_s_own(model, write):
    command = ["translate", "--model", model, "--input", write("in", "a")]
    own = fake_translator.Translator.config.search
    assert main(command) == 0
    assert main([*command, "--beam-size", "7"]) == 0
    assert main([*command, "--length-penalty", "0"]) == 0
    assert fake_translator.Translator.searches == [own, replace(own, beam_size=7), replace(own, length_penalty=0.0)]


def test_cut_sentence_is_reported_with_its_line(model, write, capsys):
    assert main(["translate", "--model", model, "--input", write("in", "a", "", "a b c d e f", "a")]) == 0
    assert "nmt: line 3 is longer than the model takes" in capsys.readouterr().err


def test_failure_leaves_the_old_output(model, write, tmp_path):
    source, output = write("in", "a", "b", "mendable"), tmp_path / "out"
    output.write_text("old\n")
    before = sorted(tmp_path.iterdir())
    assert main(["translate", "--model", model, "--input", source, "--output", str(output)]) == 2
    assert output.read_text() == "old\n"
    assert sorted(tmp_path.iterdir()) == before


def test_input_may_be_the_output(model, write):
    path = write("text", "a b", "c")
    assert main(["translate", "--model", model, "--input", path, "--output", path]) == 0
    assert Path(path).read_text() == "A B\nC\n"


@pytest.fixture
def windows_of_four(monkeypatch):
    monkeypatch.setattr(translation, "WINDOW", fake_translator.WINDOW)


LONG = [f"word {number}" for number in range(10)]


def test_an_interrupted_translation_is_gone_on_with(model, write, tmp_path, capsys, windows_of_four):
    """Of ten lines the ninth is where it is interrupted: two windows of four are kept."""
    output, links = tmp_path / "out", tmp_path / "links"
    files = ["--output", str(output), "--alignments", str(links)]
    source = write("in", *LONG[:8], "interrupt", LONG[9])
    command = ["translate", "--model", model, "--input", source, *files]
    assert main(command) == 130
    assert "nmt: 8 lines are kept; the same command with --resume goes on there" in capsys.readouterr().err
    assert not output.exists()
    assert main(command) == 2  # not overwritten by mistake
    assert "8 lines of an interrupted translation are there: go on with --resume" in capsys.readouterr().err
    assert main([*command, "--resume"]) == 130
    assert "going on behind line 8" in capsys.readouterr().err
    assert main([*command, "--resume", "--beam-size", "7"]) == 2
    assert "made from another model, input, search or precision" in capsys.readouterr().err
    fake_translator.Translator.interrupts = False
    try:
        assert main([*command, "--resume"]) == 0
    finally:
        fake_translator.Translator.interrupts = True
    assert output.read_text() == "".join(f"{line.upper()}\n" for line in [*LONG[:8], "interrupt", LONG[9]])
    assert len(links.read_text().splitlines()) == 10
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in", "links", "out", "run"]


def test_half_a_window_is_not_gone_on_with(model, write, tmp_path, windows_of_four):
    """What a killed process left behind its last whole window is cut off."""
    source, output = write("in", *LONG), tmp_path / "out"
    command = ["translate", "--model", model, "--input", source, "--output", str(output)]
    assert main([*command[:4], write("bad", *LONG[:8], "interrupt"), *command[5:]]) == 130
    (tmp_path / ".out.part").write_text("".join(f"{line.upper()}\n" for line in LONG[:5]) + "WOR")
    assert main([*command, "--resume"]) == 2  # the input is another one
    (tmp_path / ".out.part").unlink()
    assert main(command) == 0
    assert output.read_text() == "".join(f"{line.upper()}\n" for line in LONG)


def test_the_window_is_the_translator_s():
    from nmt.translator import WINDOW

    assert translation.WINDOW == WINDOW


def test_nbest_lists(model, write, capsys):
    assert main(["translate", "--model", model, "--input", write("in", "a", "b"), "--nbest", "2"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "0 ||| A ||| log_probability= -1.5000 ||| -1.0000",
        "0 ||| A! ||| log_probability= -2.5000 ||| -1.0000",
        "1 ||| B ||| log_probability= -1.5000 ||| -1.0000",
        "1 ||| B! ||| log_probability= -2.5000 ||| -1.0000",
    ]


def test_minimum_bayes_risk_chooses_what_the_others_agree_with(model, write, capsys):
    """A list of the best counts by probability, samples count alike."""
    command = ["translate", "--model", model, "--input", write("in", "word"), "--mbr", "chrf", "--nbest", "3"]
    assert main(command) == 0
    assert main([*command, "--method", "sample"]) == 0
    candidates = ["WORD", "WORD!", "WORD!!"]
    expected = []
    for chances in ([-1.5, -2.5, -3.5], None):
        values = expected_utilities(candidates, "chrf", chances)
        expected.append(candidates[values.index(max(values))])
    assert capsys.readouterr().out.splitlines() == expected
    assert expected[0] != expected[1]


def test_prefixes_and_phrases_go_line_by_line(model, write, capsys):
    files = ["--prefixes", write("p", "Da", ""), "--phrases", write("w", "rot\tgrün", "")]
    assert main(["translate", "--model", model, "--input", write("in", "a", "b"), *files]) == 0
    assert capsys.readouterr().out == "Da rot grün A\nB\n"
    assert main(["translate", "--model", model, "--input", write("in", "a"), *files]) == 2
    assert "differ in lines" in capsys.readouterr().err


def test_a_lexicon_is_a_word_a_tab_and_a_word(model, write, capsys):
    command = ["translate", "--model", model, "--input", write("in", "a"), "--lexicon"]
    assert main([*command, write("l", "Wien\tVienna", "Rom"), "--copy-unknown"]) == 2
    assert "l:2: expected a source word, a tab" in capsys.readouterr().err
    assert main([*command, write("l", "Wien\tVienna")]) == 2
    assert "give --copy-unknown too" in capsys.readouterr().err


@pytest.mark.parametrize("flag", ["--temperature", "--top-k", "--top-p", "--seed"])
def test_what_a_beam_does_not_read_is_not_taken_in_silence(model, write, capsys, flag):
    command = ["translate", "--model", model, "--input", write("in", "a"), flag, "1"]
    assert main(command) == 2
    assert f"{flag} is for drawing translations: give --method sample too" in capsys.readouterr().err
    assert main([*command, "--method", "sample"]) == 0


def test_drawings_of_an_earlier_call_do_not_stay(model, write, tmp_path):
    output = tmp_path / "out"
    command = ["align", "--model", model, "--output", str(output), "--source"]
    assert main([*command, write("three", "a b", "c d", "e f"), "--format", "png", "svg", "html"]) == 0
    kept = output / "notes.png"
    kept.write_bytes(b"mine")
    assert main([*command, write("one", "g h"), "--format", "png"]) == 0
    assert sorted(path.name for path in output.iterdir()) == [
        "0001.png",
        "alignments.jsonl",
        "alignments.pharaoh",
        "notes.png",
    ]


def test_several_models_are_an_ensemble(model, write):
    fake_translator.Translator.loaded.clear()
    command = ["translate", "--model", model, model, "--averaging", "log_probability", "--checkpoints", "2"]
    assert main([*command, "--input", write("in", "a")]) == 0
    how = {"averaging": "log_probability", "checkpoints": 2, "precision": "auto"}
    assert fake_translator.Translator.loaded == [((model, model), how)]


@pytest.mark.parametrize(
    ("command", "given", "expected"),
    [
        (["translate", "--input", "a"], [], "auto"),
        (["translate", "--input", "a"], ["--precision", "float32"], "float32"),
        (["distil", "--source", "a", "--target", "a", "--output-source", "b", "--output-target", "c"], [], "auto"),
        (["evaluate", "--source", "a", "--reference", "a"], [], "float32"),
        (["score", "--source", "a", "--target", "a"], [], "float32"),
        (["score", "--source", "a", "--target", "a"], ["--precision", "auto"], "auto"),
    ],
)
def test_what_translates_takes_the_fastest_precision_and_what_measures_float32(
    model, write, tmp_path, monkeypatch, command, given, expected
):
    write("a", "a b")
    monkeypatch.chdir(tmp_path)
    fake_translator.Translator.loaded.clear()
    assert main([command[0], "--model", model, *command[1:], *given]) == 0
    assert fake_translator.Translator.loaded[0][1]["precision"] == expected


def test_every_field_of_the_search_is_a_flag_with_its_help(model, write):
    """And what a flag says arrives."""
    for field in dataclasses.fields(SearchConfig):
        assert parser.field_help(SearchConfig)[field.name]
    flags = "--method sample --temperature 0.5 --suppress <unk> x --no-repeat-ngram 3 --copy-unknown --top-p 0.9"
    assert main(["translate", "--model", model, "--input", write("in", "a"), *flags.split()]) == 0
    (search,) = fake_translator.Translator.searches
    assert (search.method, search.temperature, search.suppress) == ("sample", 0.5, ("<unk>", "x"))
    assert (search.no_repeat_ngram, search.copy_unknown, search.top_p) == (3, True, 0.9)
    assert search.length_penalty == 0.5  # the run's own


def test_score_prints_log_probabilities_and_the_perplexity(model, write, capsys):
    files = ["--source", write("s", "a b", "", "c"), "--target", write("t", "x y", "z", "w")]
    assert main(["score", "--model", model, *files]) == 0
    output = capsys.readouterr()
    assert output.out == "-1.5000\t3\n-1.5000\t0\n-1.5000\t2\n"
    # exp(4.5 / 5) and exp(4.5 / 4).
    assert "log-probability -4.50 in 5 pieces and 4 words: perplexity 2.460 a piece, 3.08 a word" in output.err
    assert main(["score", "--model", model, *files, "--format", "jsonl"]) == 0
    first = json.loads(capsys.readouterr().out.splitlines()[0])
    assert first == {
        "line": 1,
        "log_probability": -1.5,
        "pieces": ["x", "y", "</s>"],
        "piece_log_probabilities": [-0.5, -0.5, -0.5],
    }


def test_invalid_input_is_found_before_anything_is_translated(model, tmp_path, capsys):
    (tmp_path / "in").write_bytes(b"one\ntw\xff\n")
    assert main(["translate", "--model", model, "--input", str(tmp_path / "in")]) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert "line 2" in output.err


def test_endless_input_streams_and_a_closed_pipe_ends_quietly(tmp_path):
    translate = f"{sys.executable} -m fake_translator translate --model {tmp_path}"
    command = f"yes haus | {translate} | head -n 3; echo ${{PIPESTATUS[@]}}"
    environment = os.environ | {"PYTHONPATH": str(REPOSITORY / "tests")}
    result = subprocess.run(["bash", "-c", command], capture_output=True, text=True, env=environment, timeout=30)
    assert result.stdout.split() == ["HAUS", "HAUS", "HAUS", "141", "141", "0"]
    assert result.stderr == ""


def test_output_is_utf8_whatever_the_locale_says(tmp_path):
    environment = os.environ | {"PYTHONPATH": str(REPOSITORY / "tests"), "PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-m", "fake_translator", "translate", "--model", str(tmp_path)]
    result = subprocess.run(command, input="größe".encode(), capture_output=True, env=environment)
    assert result.stdout.decode() == "GRÖSSE\n"


def test_conversation_on_a_terminal(tmp_path):
    ours, theirs = pty.openpty()
    environment = os.environ | {"PYTHONPATH": str(REPOSITORY / "tests")}
    command = [sys.executable, "-m", "fake_translator", "translate", "--model", str(tmp_path)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, stdin=theirs, env=environment, text=True, **pipes) as process:
        for line, answer in (("ein haus", "EIN HAUS\n"), ("", "\n"), ("zwei", "ZWEI\n")):
            os.write(ours, f"{line}\n".encode())
            assert process.stdout.readline() == answer  # before the next line is typed
        os.write(ours, b"\x04")
        assert process.wait(timeout=10) == 0
        assert process.stderr.read() == "nmt: a sentence a line; end with Ctrl-D\n> > > > \n"
    os.close(ours)
    os.close(theirs)


# Align


def test_align_the_model_s_own_translations(model, write, tmp_path):
    output = tmp_path / "alignments"
    source = write("in", "ein haus", "", "a b c")
    assert main(["align", "--model", model, "--source", source, "--output", str(output), "--format", "svg"]) == 0
    assert not (output / "alignments.html").exists()
    assert (output / "alignments.pharaoh").read_text() == "0-0 1-1\n\n0-0 1-1 2-2\n"
    records = [json.loads(line) for line in (output / "alignments.jsonl").read_text().splitlines()]
    assert [r["line"] for r in records] == [1, 2, 3]
    assert records[0]["target"] == ["EIN", "HAUS"]
    assert records[0]["weights"] == [[1, 0], [0, 1]]
    assert records[0]["links"] == [[0, 0], [1, 1]]
    assert records[0]["log_probability"] == -1.5
    assert records[1]["source"] == records[1]["links"] == []
    assert sorted(path.name for path in output.glob("*.svg")) == ["0001.svg", "0003.svg"]


def test_by_default_there_are_a_page_and_pictures(model, write, tmp_path):
    output = tmp_path / "o"
    source = write("in", "ein haus", "", "<b> c", "d")
    assert main(["align", "--model", model, "--source", source, "--output", str(output), "--limit", "2"]) == 0
    names = ["0001.png", "0003.png", "alignments.html", "alignments.jsonl", "alignments.pharaoh"]
    assert sorted(path.name for path in output.iterdir()) == names
    page = (output / "alignments.html").read_text()
    assert '"line 1"' in page and '"line 3"' in page and '"line 4"' not in page
    assert "EIN" in page and "<b> c" not in page


def test_pdf_is_one_file_and_formats_can_be_several(model, write, tmp_path):
    output = tmp_path / "o"
    command = ["align", "--model", model, "--source", write("in", "ein haus", "c"), "--output", str(output)]
    assert main([*command, "--format", "pdf", "svg"]) == 0
    names = ["0001.svg", "0002.svg", "alignments.jsonl", "alignments.pdf", "alignments.pharaoh"]
    assert sorted(path.name for path in output.iterdir()) == names
    assert (output / "alignments.pdf").read_bytes().startswith(b"%PDF")


def test_gold_links_are_drawn(model, write, tmp_path, capsys):
    files = ["--source", write("in", "a b"), "--target", write("out", "x y"), "--gold", write("gold", "0-1 1p1")]
    command = ["align", "--model", model, *files, "--output", str(tmp_path / "o"), "--format", "svg", "html"]
    assert main(command) == 0
    assert "AER" in capsys.readouterr().out
    picture = (tmp_path / "o" / "0001.svg").read_text()
    assert "gold link, sure" in picture and "gold link, possible" in picture
    assert '"gold":{"sure":[[0,1]],"possible":[[0,1],[1,1]]}' in (tmp_path / "o" / "alignments.html").read_text()


def test_forced_alignment_against_gold(model, write, tmp_path, capsys):
    files = ["--source", write("in", "a b", "c"), "--target", write("out", "x y", "z"), "--limit", "0"]
    command = ["align", "--model", model, *files, "--output", str(tmp_path / "o")]
    assert main([*command, "--gold", write("gold", "0-0 1-0", "0-0")]) == 0
    # 3 links, 3 sure ones, 2 in common: AER = 1 - (2 + 2) / 6.
    assert "AER = 0.333 (precision 0.667, recall 0.667" in capsys.readouterr().out
    assert json.loads((tmp_path / "o" / "alignments.jsonl").read_text().splitlines()[0])["target"] == ["x", "y"]


def test_gold_in_the_format_of_the_shared_tasks(model, write, tmp_path, capsys):
    files = ["--source", write("in", "a b", "c"), "--target", write("out", "x y", "z"), "--limit", "0"]
    command = ["align", "--model", model, *files, "--output", str(tmp_path / "o"), "--gold"]
    gold = write("gold", "1 1 1 S", "1 1 2 P", "2 1 1 S")
    assert main([*command, gold, "--gold-format", "naacl"]) == 0
    # 3 links, 2 sure ones, both found; the third is not even possible: AER = 1 - (2 + 2) / 5.
    assert "AER = 0.200 (precision 0.667, recall 1.000" in capsys.readouterr().out
    assert main([*command, gold, "--gold-format", "naacl", "--gold-base", "0"]) == 2
    assert f"{gold}, sentence 1: link 1-2, counted from 0, is out of range" in capsys.readouterr().err
    assert main([*command, write("one", "1-1 2-1", "1-1"), "--gold-base", "1"]) == 0
    assert "AER = 0.333" in capsys.readouterr().out
    assert main([*command, write("three", "3 1 1"), "--gold-format", "naacl"]) == 2
    assert "there is no sentence 3: expected 1 to 2" in capsys.readouterr().err
    evaluate = ["evaluate", "--model", model, "--source", write("in", "a b"), "--reference", write("ref", "A B")]
    assert main([*evaluate, "--gold", write("far", "0-0 2-1")]) == 2
    assert "far, sentence 1: link 2-1, counted from 0, is out of range" in capsys.readouterr().err


def test_a_file_where_a_directory_is_wanted_is_said_so(model, write, tmp_path, capsys):
    source = write("in", "a")
    assert main(["align", "--model", model, "--source", source, "--output", source]) == 2
    assert f"{source}: is a file; name a directory to write into" in capsys.readouterr().err
    assert main(["align", "--model", source, "--source", source, "--output", str(tmp_path / "o")]) == 2
    assert f"{source}: is a file, not a run directory" in capsys.readouterr().err


def test_how_to_read_a_gold_file_needs_one(model, write, tmp_path, capsys):
    command = ["align", "--model", model, "--source", write("in", "a"), "--output", str(tmp_path / "o")]
    assert main([*command, "--gold-base", "1"]) == 2
    assert "--gold-format and --gold-base say how to read --gold" in capsys.readouterr().err
    assert main([*command, "--symmetrize", "union"]) == 2
    assert "give --reverse" in capsys.readouterr().err


def test_how_links_are_read_off_is_passed_on(model, write, tmp_path, capsys):
    command = ["align", "--model", model, "--source", write("in", "a"), "--output", str(tmp_path / "o"), "--limit", "0"]
    fake_translator.Translator.linkings.clear()
    assert main(command) == 0
    assert main([*command, "--links", "argmax", "--links-of", "source", "--attention", "read"]) == 0
    assert main([*command, "--links", "threshold", "--threshold", "0.25", "--target", write("out", "A")]) == 0
    assert fake_translator.Translator.linkings == [
        Linking(),
        Linking("argmax", "source", step="read"),
        Linking("threshold", threshold=0.25),
    ]
    assert main([*command, "--threshold", "0.25"]) == 2
    assert "--threshold is for --links shares and threshold" in capsys.readouterr().err
    assert main([*command, "--links", "threshold", "--threshold", "7"]) == 2
    assert "threshold is 7.0: expected more than 0, up to 1" in capsys.readouterr().err


def test_limit_is_of_the_plots_alone(model, write, tmp_path):
    output = tmp_path / "o"
    command = ["align", "--model", model, "--source", write("in", "a", "b", "c"), "--output", str(output)]
    assert main([*command, "--limit", "2"]) == 0
    assert sorted(path.name for path in output.glob("*.png")) == ["0001.png", "0002.png"]
    assert len((output / "alignments.pharaoh").read_text().splitlines()) == 3


def test_files_that_do_not_agree_are_refused_before_loading(write, tmp_path, capsys):
    source, target = write("in", "a", "b"), write("out", "x")
    command = ["align", "--model", "nowhere", "--source", source, "--output", str(tmp_path / "o")]
    assert main([*command, "--target", target]) == 2
    assert f"{source} has 2, {target} has 1" in capsys.readouterr().err
    assert main([*command, "--target", source, "--gold", write("gold", "0-0")]) == 2
    assert "gold has 1" in capsys.readouterr().err


# Evaluate


def test_evaluate_prints_and_writes_the_scores(model, write, tmp_path, capsys):
    files = [
        "--source",
        write("in", "das ist ein haus", "", "ja"),
        "--reference",
        write("ref", "DAS IST EIN HAUS", "", "JA"),
    ]
    outputs = ["--output", str(tmp_path / "out"), "--json", str(tmp_path / "scores")]
    gold = ["--gold", write("gold", "0-0 1-1 2-2 3-3", "", "0-0")]
    assert main(["evaluate", "--model", model, *files, *outputs, *gold, "--tokenize", "none", "--beam-size", "2"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].startswith("BLEU = 100.00 (nrefs:1|")
    assert "tok:none" in printed[0]
    assert printed[1].startswith("chrF2 = 100.00 (")
    assert printed[2].startswith("AER = 0.000")
    scores = json.loads((tmp_path / "scores").read_text())
    assert scores["bleu"]["value"] == pytest.approx(100)
    assert scores["alignment"]["aer"] == 0
    assert (scores["sentences"], scores["search"]["beam_size"]) == (3, 2)
    assert (tmp_path / "out").read_text() == "DAS IST EIN HAUS\n\nJA\n"


# Explain


def explained(directory: Path) -> tuple[list[dict[str, str]], list[dict]]:
    """Rows of sentences.tsv and records of explanation.jsonl."""
    with open(directory / "sentences.tsv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    return rows, [json.loads(line) for line in (directory / "explanation.jsonl").read_text().splitlines()]


PAIRS = [("a b c d", "s t u v"), ("a b c", "s t u"), ("a b c d", "s t"), ("a b c d", "s s t t"), ("a b", "t u")]


def test_explain_given_pairs(model, write, tmp_path, capsys):
    """The fake attends to the word at the same place: what a short target leaves out is attended to by nothing."""
    files = ["--source", write("in", *(s for s, _ in PAIRS)), "--target", write("out", *(t for _, t in PAIRS))]
    assert main(["explain", "--model", model, *files, "--output", str(tmp_path / "o"), "--worst", "2"]) == 0
    rows, records = explained(tmp_path / "o")
    assert [record["line"] for record in records] == [1, 2, 3, 4, 5]
    assert sorted(int(row["line"]) for row in rows) == [1, 2, 3, 4, 5]
    assert [row["line"] for row in rows[:2]] == ["3", "4"]
    dropped, repeated = rows[:2]
    assert "hardly attended to, perhaps dropped: 'c', 'd'" in dropped["reason"]
    assert "short: 2 words for 4, usually 4" in dropped["reason"]
    assert (dropped["unattended"], dropped["length_ratio"], dropped["source"]) == ("0.5", "0.5", "a b c d")
    assert float(dropped["log_probability"]) == -0.5  # -1.5 nats over two words and the end
    assert repeated["measure"] == "repeated"
    assert repeated["reason"] == "says again: 's', 't'"
    assert [row["reason"] for row in rows[2:]] == ["nothing unusual"] * 3
    assert all("rank_correlation" not in row for row in rows)
    assert records[2]["measures"]["unattended"] == [2, 3]
    assert records[0]["weights"] == [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    assert sorted(path.name for path in (tmp_path / "o").iterdir()) == [
        "0003.png",
        "0004.png",
        "explanation.html",
        "explanation.jsonl",
        "sentences.tsv",
    ]
    printed = capsys.readouterr()
    assert printed.out.startswith("5 pairs, 2 of them unusual (score 3.5 or more)\n\nline 3, score ")
    assert printed.out.count("\nline ") == 2
    assert re.search(r"source words hardly attended to \(share\) +0\.100 +0\.000\n", printed.out)
    assert printed.err.endswith(f"written to {tmp_path / 'o'}\n")


def test_explain_the_model_s_own_translations_with_erasure(model, write, tmp_path, capsys):
    output = tmp_path / "o"
    command = ["explain", "--model", model, "--source", write("in", "a b c", "", "a", "a b"), "--output", str(output)]
    assert main([*command, "--erase", "--worst", "0", "--beam-size", "2"]) == 0
    assert fake_translator.Translator.searches[0].beam_size == 2
    rows, records = explained(output)
    assert [record["erasure"]["way"] for record in records] == ["word"] * 4
    assert records[0]["target"] == ["A", "B", "C"]
    assert records[0]["erasure"]["falls"] == [[2, 0, 0], [0.01, 2, 0], [0, 0.01, 2]]
    # Attention 1 0 0 of each word against the falls: ranks 3 1.5 1.5, and 1.5 3 1.5 against 2 3 1.
    assert records[0]["erasure"]["rank_correlations"] == [1, 0.866, 0.866]
    assert records[0]["erasure"]["same_first"] == [1, 1, 1]
    assert records[2]["erasure"]["rank_correlations"] == [None]  # one source word has no order
    correlations = {row["line"]: row["rank_correlation"] for row in rows}
    assert correlations == {"1": "0.9107", "2": "", "3": "", "4": "1"}
    assert (rows[-1]["line"], rows[-1]["score"], rows[-1]["reason"]) == ("2", "", "both sides are blank")
    out = capsys.readouterr().out
    assert "rank correlation of attention with erasure: 0.946 (Spearman, mean over 5 target words)" in out
    assert "for 100.0% of them" in out
    assert "not always the reason" in out
    assert not list(output.glob("*.png"))
    assert main([*command, "--erase", "attention"]) == 0
    assert {record["erasure"]["way"] for record in explained(output)[1]} == {"attention"}


def test_explain_standard_input_and_no_lines_at_all(model, write, tmp_path, monkeypatch):
    command = ["explain", "--model", model, "--output", str(tmp_path / "o"), "--source"]
    monkeypatch.setattr(sys, "stdin", open(write("in", "a b", "c")))  # noqa: SIM115
    assert main([*command, "-"]) == 0
    assert [record["source"] for record in explained(tmp_path / "o")[1]] == [["a", "b"], ["c"]]
    assert main([*command, write("none")]) == 0
    assert explained(tmp_path / "o") == ([], [])


def test_explain_keeps_no_pair_in_memory(tmp_path, capsys):
    alive: weakref.WeakSet[fake_translator.Translation] = weakref.WeakSet()
    most = 0

    def pairs():
        nonlocal most
        for pair, erasure in translator.erase(translator.translate(["a b c"] * 50)):
            alive.add(pair)
            most = max(most, len(alive))
            yield pair, erasure

    translator = fake_translator.Translator()
    write_report(pairs(), tmp_path, worst=3)
    assert most <= 3
    assert len(explained(tmp_path)[0]) == 50


def test_explain_says_which_line_was_cut(model, write, tmp_path, capsys):
    source = write("in", "a", "a b c d e f")
    for flags in ([], ["--erase"]):
        assert main(["explain", "--model", model, "--source", source, "--output", str(tmp_path / "o"), *flags]) == 0
        assert "nmt: line 2 is longer than the model takes" in capsys.readouterr().err


def test_explanation_that_fails_leaves_the_old_one(model, write, tmp_path):
    output = tmp_path / "o"
    command = ["explain", "--model", model, "--output", str(output), "--source"]
    assert main([*command, write("in", "a b")]) == 0
    before = {path.name: path.read_bytes() for path in output.iterdir()}
    assert main([*command, write("bad", "a", "b", "c", "d", "mendable")]) == 2
    assert {path.name: path.read_bytes() for path in output.iterdir()} == before


# Files


def test_whole_file_appears_at_the_end(tmp_path):
    place = tmp_path / "out"
    with whole_file(str(place)) as file:
        file.write("x\n")
        assert not place.exists()
    assert place.read_text() == "x\n"
    assert list(tmp_path.iterdir()) == [place]


def test_whole_file_behind_a_link_and_into_a_device(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "place")
    with whole_file(str(tmp_path / "link")) as file:
        file.write("x\n")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "place").read_text() == "x\n"
    with whole_file("/dev/null") as file:
        file.write("x\n")
    assert Path("/dev/null").is_char_device()
