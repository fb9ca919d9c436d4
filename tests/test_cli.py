"""The `nmt` command as a user meets it: what it reads, writes, says, and with which exit code it ends."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import fake_translator
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nmt
from nmt.alignment import Linking
from nmt.cli import main
from nmt.cli.configuration import load_config
from nmt.cli.files import whole_file
from nmt.config import RunConfig
from nmt.errors import NmtError

REPOSITORY = Path(__file__).parent.parent
HEAVY = {"jax", "jsonargparse", "keras", "matplotlib", "numpy", "sacrebleu", "sentencepiece", "tensorflow"}


@pytest.fixture
def model(tmp_path, monkeypatch) -> str:
    """A run directory, and the fake in place of the real translator."""
    monkeypatch.setitem(sys.modules, "nmt.translator", fake_translator)
    monkeypatch.setattr(fake_translator.Translator, "searches", [])
    (tmp_path / "run").mkdir()
    return str(tmp_path / "run")


@pytest.fixture
def write(tmp_path):
    def write_lines(name: str, *lines: str) -> str:
        path = tmp_path / name
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        return str(path)

    return write_lines


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
        assert all(command in result.stdout for command in ("train", "translate", "align", "evaluate"))
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
    assert (output / "alignments.pharaoh").read_text() == "0-0 1-1\n\n0-0 1-1 2-2\n"
    records = [json.loads(line) for line in (output / "alignments.jsonl").read_text().splitlines()]
    assert [r["line"] for r in records] == [1, 2, 3]
    assert records[0]["target"] == ["EIN", "HAUS"]
    assert records[0]["weights"] == [[1, 0], [0, 1]]
    assert records[0]["links"] == [[0, 0], [1, 1]]
    assert records[0]["log_probability"] == -1.5
    assert records[1]["source"] == records[1]["links"] == []
    assert sorted(path.name for path in output.glob("*.svg")) == ["0001.svg", "0003.svg"]


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
