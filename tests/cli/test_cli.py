"""The `nmt` command: its start, its messages about mistakes, its files."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import fake_translator
import pytest

import nmt
from nmt.cli import main
from nmt.config import RunConfig
from nmt.errors import NmtError
from nmt.files.outputs import open_output
from nmt.training.settings import load_config

REPOSITORY = Path(__file__).parents[2]
HEAVY = {"jax", "keras", "matplotlib", "numpy", "sacrebleu", "sentencepiece", "tensorflow"}


def python(*arguments: str, **options) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(REPOSITORY / "tests")}
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, cwd=REPOSITORY, env=environment, **options
    )


# Start


def test_help_names_the_commands():
    result = python("-m", "nmt", "--help")
    assert result.returncode == 0
    assert all(command in result.stdout for command in ("train", "translate", "align", "evaluate", "explain"))


@pytest.mark.parametrize(
    "statement",
    [
        "import nmt; nmt.RunConfig",
        "from nmt.cli import main; main(['--help'])",
        "from nmt.cli import main; main(['translate', '--help'])",
    ],
)
def test_nothing_heavy_is_imported_before_it_is_needed(statement):
    code = f"import sys\ntry:\n  {statement}\nexcept SystemExit: pass\nprint('loaded', *sys.modules)"
    loaded = python("-c", code).stdout.splitlines()[-1].split()
    assert loaded[0] == "loaded"
    assert HEAVY.isdisjoint(loaded)


def test_a_comparison_that_waits_for_trainings_loads_no_tensorflow():
    loaded = python("-c", "import nmt.training.comparison, sys; print(*sys.modules)").stdout.split()
    assert "nmt.training.comparison.running" in loaded
    assert {"tensorflow", "keras"}.isdisjoint(loaded)


def test_public_names():
    assert nmt.RunConfig is RunConfig
    assert nmt.load_config is load_config
    assert nmt.NmtError is NmtError
    assert dir(nmt) == sorted(["__version__", *nmt.__all__])
    with pytest.raises(AttributeError, match="no attribute 'Transformer'"):
        _ = nmt.Transformer


def test_version(capsys):
    with pytest.raises(SystemExit) as end:
        main(["--version"])
    assert end.value.code == 0
    assert capsys.readouterr().out.startswith(f"nmt {nmt.__version__}, Python ")


def test_tensorflow_is_quiet_by_default(monkeypatch):
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
        ("transalte", "unknown command: transalte, did you mean translate? (see nmt --help)"),
        ("translate", "--model"),
        ("translate --model nowhere --input setup.cfg", "nowhere: no such run directory"),
        ("info --model nowhere", "unrecognized argument: --model: give RUN without a flag (see nmt info --help)"),
        ("translate --mod nowhere", "unrecognized argument: --mod, did you mean --model? (see nmt translate --help)"),
        ("translate --model nowhere --beem-size=3", "unrecognized argument: --beem-size, did you mean --beam-size?"),
        (
            "translate --model nowhere --batch-size 3",
            "argument: --batch-size, did you mean --batch-tokens?",
        ),
        ("translate --model nowhere --alpha 1", "unrecognized argument: --alpha, did you mean --length-penalty?"),
        ("translate --model nowhere --zzz 3", "unrecognized argument: --zzz (see nmt translate --help)"),
        ("translate 3 --model nowhere", "unrecognized arguments: 3 (see nmt translate --help)"),
        ("translate --model nowhere --input nowhere.txt", "nowhere.txt"),
        ("translate --model nowhere --input setup.cfg --output nmt", "nmt: is a directory"),
        ("translate --model nowhere --input setup.cfg --output nowhere/out", "nowhere: no such directory"),
        ("translate --model nowhere --input setup.cfg --output o --alignments o", "--alignments needs a file"),
        (
            "clean --source setup.cfg --target setup.cfg --output-source o --output-target p --ratio -1",
            "--ratio is -1.0",
        ),
        (
            "hold-out --tsv a --pairs 1 --target-column 1 --output-source o --output-target p --rest-source q "
            "--rest-target r",
            "--source-column and --target-column are both 1",
        ),
        (
            "clean --source setup.cfg --target setup.cfg --output-source - --output-target -",
            "standard output (-) is named twice",
        ),
        (
            "clean --source setup.cfg --target setup.cfg --output-source o --output-target p --model m --threshold nan",
            "nan: expected a number",
        ),
        ("embeddings --model m --plot a.svg --export a.svg", "a.svg: is named twice"),
        ("embeddings --model m --export nowhere/a", "nowhere: no such directory"),
        ("embeddings --model m --export -", "standard output (-) has the answers: name files for --plot and --export"),
        ("evaluate --model m --source setup.cfg --reference setup.cfg --json -", "standard output (-) has the scores"),
        ("align --model m --source setup.cfg --output", "expected one argument"),
        (f"embeddings --model m --neighbours a --count {10**20}", "is too large"),
        ("align --model m --source setup.cfg --output o --format gif", "'gif'"),
        ("align --model m --source setup.cfg --output o --format htm", "pdf; did you mean html?"),
        ("align --model m --source setup.cfg --output o --limit -1", "-1: expected 0 or more"),
        ("align --model m --source setup.cfg --output o --limit few", "few: expected 0 or more"),
        ("align --model m --source setup.cfg --output o --threshold x", "x: expected a number"),
        (f"align --model m --source setup.cfg --output o --limit {'9' * 5000}", "9...9"),
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
        ("train --model.unit 3", "unrecognized argument: --model.unit, did you mean --model.units? (see nmt train"),
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


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("align --model m --source setup.cfg --output o --format png --nbest 3", "--nbest is for the page: add html"),
        ("align --model m --source setup.cfg --output o --symmetrize union", "--symmetrize makes one alignment of two"),
        ("align --model m --source setup.cfg --output o --threshold 0.3", "--threshold is for --links shares and thr"),
        ("align --model m --source setup.cfg --output o --gold-format naacl", "--gold-format says how to read --gold"),
        ("translate --model m --input setup.cfg --averaging log_probability", "--averaging is for an ensemble: leave"),
        ("translate --model m --input setup.cfg --prefixes setup.cfg --prune 2", "--prune is for a search without"),
        (
            "tune --model m --source setup.cfg --reference setup.cfg --metric chrf --tokenize zh",
            "--tokenize is for BLEU",
        ),
        (
            "clean --source s --target t --output-source o --output-target p --by unlikely",
            "--by is for the pairs that a model drops",
        ),
        (
            "clean --source s --target t --output-source o --output-target p --checkpoints 2",
            "--checkpoints is for a mo",
        ),
        ("embeddings --model m --neighbours a --words b", "--words chooses the words that --plot draws: give --plot"),
        ("embeddings --model m --export o --count 3", "--count says which answers are printed: give --neighbours"),
        ("embeddings --model m --plot o.svg --pieces", "--pieces says how words are given: give --neighbours"),
        (
            "compare --variants data/demo/variants.yaml --output o --report-only --jobs 2",
            "--jobs is for training: leave",
        ),
        (
            "hold-out --source s --target t --source-column 3 --pairs 1 --output-source o --output-target p "
            "--rest-source q --rest-target r",
            "--source-column is for a TSV file: give --tsv",
        ),
        (
            "hold-out --tsv a --split dev --pairs 1 --output-source o --output-target p --rest-source q "
            "--rest-target r",
            "--split is for a TensorFlow dataset: give --tfds",
        ),
    ],
)
def test_an_option_without_effect_is_refused(command, message, capsys, monkeypatch):
    test_user_errors_are_one_line_and_exit_code_2(command, message, capsys, monkeypatch)


def test_an_empty_name_is_refused_wherever_it_stands(capsys):
    """An unset variable of the shell leaves it."""
    for command in (
        ["runs", ""],
        ["compare-outputs", "", "b", "--reference", "r"],
        ["info", ""],
        ["score", "--model", ""],
    ):
        assert main(command) == 2
        line = capsys.readouterr().err
        assert " is empty: expected the name of a " in line and line.count("\n") == 1


def test_an_option_with_its_default_value_is_accepted(capsys, monkeypatch):
    monkeypatch.chdir(REPOSITORY)
    assert main(["translate", "--model", "nowhere", "--input", "setup.cfg", "--averaging", "probability"]) == 2
    assert "nowhere: no such run directory" in capsys.readouterr().err


@pytest.mark.parametrize("flag", ["--beam-size", "--beam_size", "--search.beam_size", "--search.beam-size"])
def test_a_setting_of_the_search_has_one_meaning_under_all_its_names(flag, model, write):
    assert main(["translate", "--model", model, "--input", write("in", "a"), flag, "7"]) == 0
    assert fake_translator.Translator.searches[-1].beam_size == 7
    pair = ["--source", write("in", "a"), "--target", write("out", "b")]
    assert main(["align", "--model", model, *pair, "--output", "o", f"{flag}=7"]) == 2  # nothing is searched for


def test_user_error_of_the_installed_command():
    result = python("-m", "nmt", "translate", "--model", "nowhere", input="")
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == "nmt: error: nowhere: no such run directory; nmt train makes one, and nmt runs lists all\n"


def test_the_error_about_a_bare_run_name_names_its_folder(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "saved_models" / "mine").mkdir(parents=True)
    (tmp_path / "saved_models" / "mine" / "config.json").touch()
    assert main(["translate", "--model", "mine", "--input", os.devnull]) == 2
    assert capsys.readouterr().err == "nmt: error: mine: no such run directory; did you mean saved_models/mine?\n"
    assert main(["translate", "--model", "saved_models/mnie", "--input", os.devnull]) == 2
    assert capsys.readouterr().err.endswith("no such run directory; did you mean saved_models/mine?\n")


def test_a_users_mistake_in_the_input_is_one_line(model, write, capsys):
    assert main(["translate", "--model", model, "--input", write("in", "mendable")]) == 2
    assert capsys.readouterr().err == "nmt: error: a sentence that can be mended\n"


def test_a_bug_keeps_its_traceback(model, write):
    with pytest.raises(ValueError, match="a bug"):
        main(["translate", "--model", model, "--input", write("in", "bug")])


@pytest.mark.parametrize(
    ("name", "start", "place"),
    [
        ("keras", "keras is not installed, and without it nmt only works with exports", "-e ."),
        ("jax", "the backend jax needs jax: ", "-e '.[jax]'"),
    ],
)
def test_without_its_backend_a_command_is_refused_in_one_line(name, start, place, model, write, capsys, monkeypatch):
    """As in the small environment of an export."""

    def absent(*_, **__):
        raise ModuleNotFoundError(f"No module named '{name}'", name=name)

    monkeypatch.setattr(fake_translator.Translator, "answer", absent)
    assert main(["translate", "--model", model, "--input", write("in", "a")]) == 2
    message = capsys.readouterr().err.splitlines()[-1]
    assert message.startswith(f"nmt: error: {start}")
    assert message.endswith(f"-m pip install --constraint constraints.txt {place}")


def test_interrupt(model, write, capsys, tmp_path):
    output = tmp_path / "out"
    assert main(["translate", "--model", model, "--input", write("in", "interrupt"), "--output", str(output)]) == 130
    assert capsys.readouterr().err.splitlines()[-1] == "nmt: interrupted"
    assert not output.exists()


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        OSError(errno.ENOMEM, os.strerror(errno.ENOMEM)),
        ImportError("libtensorflow.so: failed to map segment from shared object"),
        type("ResourceExhaustedError", (Exception,), {})("OOM when allocating tensor"),
        RuntimeError("RESOURCE_EXHAUSTED: Out of memory while trying to allocate 9 bytes."),
    ],
    ids=lambda error: type(error).__name__,
)
def test_too_little_memory_is_one_line_with_advice(error, model, write, capsys, monkeypatch):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr(fake_translator.Translator, "answer", fail)
    assert main(["translate", "--model", model, "--input", write("in", "a")]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("nmt: error: not enough memory: give smaller batches (batch_tokens), shorter lines")


# Standard streams

FAKE_NMT = """
import sys, fake_translator
from nmt.cli import main
fake_translator.install(setattr)
sys.exit(main())
"""


def shell(redirection: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs `nmt ARGUMENTS REDIRECTION` with a fake translator."""
    environment = os.environ | {"PYTHONPATH": f"{REPOSITORY}:{REPOSITORY / 'tests'}"}
    command = ["sh", "-c", f'exec "$0" "$@" {redirection}', sys.executable, "-c", FAKE_NMT, *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment)


@pytest.mark.parametrize("redirection", ["2>/dev/full", "2>&-"])
def test_messages_that_cannot_be_written_do_not_stop_the_work(redirection, model, write, tmp_path):
    command = ["translate", "--model", model, "--input", write("in", "a", " ".join("a" * 99)), "--output"]
    result = shell(redirection, *command, str(tmp_path / "out"))
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    assert (tmp_path / "out").read_text().startswith("A\n")
    assert shell(redirection, "translate", "--model", "nowhere", "--input", "in").returncode == 2


@pytest.mark.parametrize(
    ("redirection", "problem"), [(">&-", "Bad file descriptor"), (">/dev/full", "No space left on device")]
)
def test_translations_that_cannot_be_written_are_an_error(redirection, problem, model, write, tmp_path):
    command = ["translate", "--model", model, "--input", write("in", "a")]
    result = shell(redirection, *command)
    assert result.returncode == 2
    assert f"nmt: error: standard output: {problem}" in result.stderr.splitlines()[-1]
    assert shell(redirection, *command, "--output", str(tmp_path / "out")).returncode == 0


# Files


def test_whole_file_appears_at_the_end(tmp_path):
    place = tmp_path / "out"
    with open_output(str(place)) as file:
        file.write("x\n")
        assert not place.exists()
    assert place.read_text() == "x\n"
    assert list(tmp_path.iterdir()) == [place]


def test_a_whole_file_is_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch):
    def no_space(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("os.fsync", no_space)
    with pytest.raises(OSError, match="No space left") as caught, open_output(str(tmp_path / "out")) as file:
        file.write("x\n")
    assert caught.value.filename == str(tmp_path / "out")
    assert not list(tmp_path.iterdir())


def test_a_full_standard_output_is_reported(model, write, capsys, monkeypatch):
    def write_nothing(text: str) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(sys.stdout, "write", write_nothing)
    assert main(["translate", "--model", model, "--input", write("in", "a")]) == 2
    assert capsys.readouterr().err == (
        "nmt: error: standard output: No space left on device: make room there, then repeat the command\n"
    )


def test_a_read_only_directory_is_reported_before_the_model_is_loaded(write, capsys, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    source = write("in", "a")
    assert main(["translate", "--model", "nowhere", "--input", source, "--output", f"{source}.out"]) == 2
    assert capsys.readouterr().err == (
        f"nmt: error: {Path(source).parent}: Permission denied: choose a directory with write permission\n"
    )


def test_a_full_disk_is_reported_with_the_file(model, write, capsys, monkeypatch, tmp_path):
    command = ["translate", "--model", model, "--input", write("in", "a")]
    assert main([*command, "--output", "/dev/full"]) == 2
    told = "No space left on device: make room there, then repeat the command\n"
    assert capsys.readouterr().err.endswith(f"nmt: error: /dev/full: {told}")
    with open("/dev/full", "w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        assert main(command) == 2
        assert capsys.readouterr().err.endswith(f"nmt: error: standard output: {told}")
        with suppress(OSError):
            full.close()


def test_a_failed_write_leaves_no_file_and_names_the_final_file(tmp_path):
    program = """
import resource, sys
from pathlib import Path
from nmt.files.outputs import open_output
from nmt.files.atomic_writing import write_atomically
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    if sys.argv[2] == "bytes":
        write_atomically(Path(sys.argv[1]), bytes(2000))
    else:
        with open_output(sys.argv[1]) as file:
            file.write("a" * 2000)
except OSError as error:
    print(error.filename)
"""
    for kind in ("bytes", "text"):
        assert python("-c", program, str(tmp_path / "out"), kind).stdout == f"{tmp_path / 'out'}\n"
        assert not list(tmp_path.iterdir())


def test_whole_file_behind_a_link_and_into_a_device(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "place")
    with open_output(str(tmp_path / "link")) as file:
        file.write("x\n")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "place").read_text() == "x\n"
    with open_output("/dev/null") as file:
        file.write("x\n")
    assert Path("/dev/null").is_char_device()
