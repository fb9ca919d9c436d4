"""`nmt translate` as a user meets it: lines in, as many lines out."""

from __future__ import annotations

import gzip
import importlib.util
import os
import pty
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import commands
import fake_translator
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt.cli import main
from nmt.config import RunConfig, SearchConfig, TrainingConfig
from nmt.config.fields import settings_of
from nmt.text.lines import read_lines
from nmt.translation.minimum_bayes_risk import expected_utilities

REPOSITORY = Path(__file__).parents[2]


LINES = st.lists(st.text(st.characters(exclude_characters="\n\r", codec="utf-8"), max_size=30), max_size=12)


@settings(deadline=None)
@given(lines=LINES)
def test_as_many_lines_out_as_in(lines, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        fake_translator.install(patch.setattr)
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


def test_outputs_named_gz_or_zst_are_compressed(model, write, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    command = ["translate", "--model", model, "--input", write("in", "ein haus", "", "zwei"), "--output", "out.gz"]
    assert main(command) == 0
    assert gzip.decompress((tmp_path / "out.gz").read_bytes()) == b"EIN HAUS\n\nZWEI\n"
    for name in ("OUT.GZ", "out.zst"):
        pytest.importorskip("backports.zstd")
        assert main([*command[:-1], name]) == 0
        assert list(read_lines(name)) == ["EIN HAUS", "", "ZWEI"]
        capsys.readouterr()
        assert main([*command[:-1], name, "--resume"]) == 2
        assert "both plain files" in capsys.readouterr().err


@pytest.mark.parametrize("closed", ["stdin", "stdout", "stderr"])
def test_a_closed_standard_stream_is_empty(closed, model, write, tmp_path, monkeypatch):
    """Schedulers close standard streams; without input there are no lines."""
    monkeypatch.setattr(sys, closed, None)
    given = [] if closed == "stdin" else ["--input", write("in", "zwei")]
    assert main(["translate", "--model", model, *given, "--output", str(tmp_path / "out")]) == 0
    assert (tmp_path / "out").read_text() == ("" if closed == "stdin" else "ZWEI\n")


def test_a_stream_in_place_of_a_closed_one_stays_open():
    """The descriptor 2 would otherwise be free for the next file, and messages would be written into it."""
    program = (
        "import os, sys; os.close(2); sys.stderr = None\n"
        "from nmt.cli import main\n"
        "main(['--version']); main(['--version']); os.fstat(2)"
    )
    done = commands.run(["-W", "error::ResourceWarning", "-c", program], Path.cwd())
    assert done.returncode == 0, done.stdout


def test_alignments_are_those_of_the_translations(model, write, tmp_path):
    files = ["--input", write("in", "ein haus", "", "a b c"), "--alignments", str(tmp_path / "links")]
    assert main(["translate", "--model", model, *files, "--output", str(tmp_path / "out")]) == 0
    assert (tmp_path / "links").read_text() == "0-0 1-1\n\n0-0 1-1 2-2\n"
    assert len(fake_translator.Translator.searches) == 1


def test_search_flags_override_the_settings_of_the_run(model, write):
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


def test_nbest_lists(model, write, capsys):
    assert main(["translate", "--model", model, "--input", write("in", "a", "b"), "--nbest", "2"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "0 ||| A ||| log_probability= -1.5000 ||| -1.0000",
        "0 ||| A! ||| log_probability= -2.5000 ||| -1.0000",
        "1 ||| B ||| log_probability= -1.5000 ||| -1.0000",
        "1 ||| B! ||| log_probability= -2.5000 ||| -1.0000",
    ]


def test_minimum_bayes_risk_chooses_the_translation_that_agrees_most(model, write, capsys):
    """Hypotheses of a beam weigh by probability, samples weigh equally."""
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
    assert "have different numbers of lines" in capsys.readouterr().err


def piped(tmp_path: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """The command line in a shell, where files can be pipes."""
    environment = os.environ | {"PYTHONPATH": f"{REPOSITORY}{os.pathsep}{REPOSITORY / 'tests'}"}
    line = f"{sys.executable} -m fake_translator {' '.join(command)} --model {tmp_path}"
    return subprocess.run(["bash", "-c", line], capture_output=True, text=True, env=environment, cwd=tmp_path)


@pytest.mark.parametrize(("flag", "text"), [("--prefixes", "日本 rot"), ("--phrases", "rot\t日本 rot")])
def test_constraints_that_the_vocabulary_cannot_spell_are_refused_before_translation(
    flag, text, model, write, tmp_path, capsys
):
    lines = ["a"] * 9
    output = tmp_path / "out"
    command = ["translate", "--model", model, "--input", write("in", *lines), "--output", str(output)]
    assert main([*command, flag, write("held", *[""] * 7, text, "")]) == 2
    assert "held:8: '日本 rot' has characters that the target vocabulary does not have" in capsys.readouterr().err
    assert not output.exists() and not fake_translator.Translator.searches


def test_a_glossary_holds_for_every_sentence_with_its_terms(model, write, capsys):
    glossary = write("g.tsv", "rot\tred\treds", "das Haus\tthe house", "tor\t日本|門", "Ei\t卵")
    command = [
        "translate",
        "--model",
        model,
        "--input",
        write("in", "Das Haus", "a", "rot Rot ei"),
        "--glossary",
        glossary,
    ]
    assert main(command) == 0
    output = capsys.readouterr()
    assert output.out == "the house DAS HAUS\nA\nred ROT ROT EI\n"
    warning = "2 terms are ignored, because the target vocabulary lacks characters of the translation: 'tor', 'Ei'\n"
    assert f"nmt: {glossary}: {warning}" in output.err
    missing = "1 of 3 terms missing in the translations: 'rot' of line 3; --glossary-mode require demands them\n"
    assert f"nmt: {glossary}: {missing}" in output.err
    assert main([*command, "--method", "sample"]) == 2
    assert "--glossary is for a beam: leave it or --method sample out" in capsys.readouterr().err
    assert main([*command, "--prune", "1"]) == 2
    assert "--prune is for a search without --glossary: leave one out" in capsys.readouterr().err


def test_terms_in_tags_are_not_missing(model, write, capsys):
    lines = write("in", '<a title="rot">a</a>', '<i>rot</i> <a title="red">rot</a>')
    glossary = write("g.tsv", "rot\tred")
    assert main(["translate", "--model", model, "--input", lines, "--markup", "html", "--glossary", glossary]) == 0
    missing = "1 of 2 terms missing in the translations: 'rot' of line 2; "
    assert f"nmt: {glossary}: {missing}" in capsys.readouterr().err


def test_a_glossary_of_another_form_is_refused_before_translation(model, write, capsys):
    command = ["translate", "--model", model, "--input", write("in", "a")]
    assert main([*command, "--glossary", write("g.tsv", "rot red")]) == 2
    assert "g.tsv:1: expected a source term, a tab, its translation" in capsys.readouterr().err
    assert main([*command, "--glossary-mode", "require"]) == 2
    assert "--glossary-mode is for the terms of a glossary: give --glossary too" in capsys.readouterr().err
    assert not fake_translator.Translator.searches


def test_sampling_takes_no_phrases(model, write, capsys):
    files = ["--input", write("in", "a"), "--phrases", write("phrases", "b")]
    assert main(["translate", "--model", model, *files, "--method", "sample"]) == 2
    assert "--phrases is for a beam: leave it or --method sample out" in capsys.readouterr().err


@pytest.mark.parametrize("more", [["--beam-size", "1"], ["--method", "sample", "--nbest", "1"]])
def test_minimum_bayes_risk_needs_two_candidates(more, model, write, capsys):
    assert main(["translate", "--model", model, "--input", write("in", "a"), "--mbr", "bleu", *more]) == 2
    assert "(--mbr) chooses among several translations" in capsys.readouterr().err


def test_minimum_bayes_risk_needs_the_tokenizer_of_the_run(model, write, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "sacrebleu.tokenizers.tokenizer_ja_mecab", None)
    japanese = replace(fake_translator.Translator.config, training=TrainingConfig(tokenize="ja-mecab"))
    monkeypatch.setattr(fake_translator.Translator, "config", japanese)
    command = ["translate", "--model", model, "--input", write("in", "a"), "--output", str(tmp_path / "out")]
    assert main([*command, "--mbr", "bleu"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "tokenize is 'ja-mecab'" in line
    assert not list(tmp_path.glob("*out*")) and not fake_translator.Translator.searches


@pytest.mark.parametrize("flag", ["--source", "--output", "--alignments", "--model"])
def test_an_empty_name_is_refused(flag, model, write, capsys):
    """Such as the value of an unset shell variable."""
    assert main(["translate", "--model", model, "--input", write("in", "a"), flag, ""]) == 2
    assert f"{flag} is empty: expected the name of a" in capsys.readouterr().err


def test_a_circle_of_symbolic_links_is_overwritten(model, write, tmp_path):
    for one, other in ("ab", "ba"):
        (tmp_path / one).symlink_to(tmp_path / other)
    assert main(["translate", "--model", model, "--input", write("in", "a"), "--output", str(tmp_path / "a")]) == 0
    assert (tmp_path / "b").read_text() == "A\n"


def test_a_pipe_is_read_once(tmp_path, write):
    """The identity of a resumable output would need a second reading of the input."""
    write("in", "a", "b")
    assert piped(tmp_path, "translate --input <(cat in) --output out").returncode == 0
    assert (tmp_path / "out").read_text() == "A\nB\n"
    files = "--input in --output out --prefixes <(echo Da; echo Dort)"
    assert piped(tmp_path, f"translate {files}").returncode == 0
    assert (tmp_path / "out").read_text() == "Da A\nDort B\n"
    assert "both plain files" in piped(tmp_path, "translate --input <(cat in) --output out --resume").stderr


@pytest.mark.parametrize("command", ["score", "explain", "align", "evaluate", "tune"])
def test_standard_input_is_one_of_the_files_at_most(command, model, tmp_path, monkeypatch, capsys):
    other = "--reference" if command in ("evaluate", "tune") else "--target"
    monkeypatch.chdir(tmp_path)
    output = ["--output", "out"] if command in ("explain", "align") else []
    assert main([command, "--model", model, "--source", "-", other, "-", *output]) == 2
    assert "standard input (-) is named twice" in capsys.readouterr().err


def test_invalid_utf8_is_refused_in_texts_and_allowed_in_file_names(model, tmp_path, capsys):
    latin = "caf\udce9"  # as the system gives a byte that is not UTF-8
    assert main(["translate", "--model", model, "--suppress", latin]) == 2
    assert "argument 5 is not valid UTF-8" in capsys.readouterr().err
    (tmp_path / latin).write_text("ein haus\n")
    assert main(["translate", "--model", model, "--input", str(tmp_path / latin)]) == 0
    assert capsys.readouterr().out == "EIN HAUS\n"


def test_a_lexicon_is_a_word_a_tab_and_a_word(model, write, monkeypatch, capsys):
    command = ["translate", "--model", model, "--input", write("in", "a"), "--lexicon"]
    assert main([*command, write("l", "Wien\tVienna", "Rom"), "--copy-unknown"]) == 2
    assert "l:2: expected one source word, a tab" in capsys.readouterr().err
    assert main([*command, write("l", "New York\tYork"), "--copy-unknown"]) == 2
    assert "l:1: expected one source word, a tab" in capsys.readouterr().err
    assert main([*command, write("l", "Wien\tVienna")]) == 2
    assert "set copy_unknown (--copy-unknown) too" in capsys.readouterr().err
    own = replace(fake_translator.Translator.config, search=SearchConfig(copy_unknown=True))
    monkeypatch.setattr(fake_translator.Translator, "config", own)
    assert main([*command, write("l", "Wien\tVienna")]) == 0


def test_search_flags_are_checked_over_the_run_s_own_search_before_it_is_loaded(model, write, monkeypatch, capsys):
    """A least ratio of 3 fits a run whose greatest ratio is 4, and no run whose greatest is 2."""
    own = fake_translator.Translator.config
    command = ["translate", "--model", model, "--input", write("in", "a"), "--min-length-ratio", "3"]
    for greatest, code in ((4.0, 0), (2.0, 2)):
        search = replace(own.search, max_length_ratio=greatest)
        monkeypatch.setattr(fake_translator.Translator, "config", replace(own, search=search))
        monkeypatch.setattr(fake_translator.Translator, "loaded", [])
        assert main(command) == code
        assert len(fake_translator.Translator.loaded) == (code == 0)
    assert "--min-length-ratio is 3.0, above --max-length-ratio, 2.0: lower it" in capsys.readouterr().err
    assert main([*command[:5], "--min-length-ratio", "9"]) == 2
    assert "--min-length-ratio is 9.0, above --max-length-ratio, 2.0: lower it" in capsys.readouterr().err
    assert main([*command[:5], "--beam-size", "0"]) == 2
    assert "--beam-size is 0: expected more than 0" in capsys.readouterr().err
    assert not fake_translator.Translator.loaded


@pytest.mark.parametrize("flag", ["--temperature", "--top-k", "--top-p", "--seed"])
def test_settings_of_sampling_are_refused_for_a_beam(model, write, capsys, flag):
    command = ["translate", "--model", model, "--input", write("in", "a"), flag, "1"]
    assert main(command) == 2
    assert f"{flag} is for drawing translations: give --method sample too" in capsys.readouterr().err
    assert main([*command, "--method", "sample"]) == 0


def test_sampling_takes_no_beam_size(model, write, capsys):
    command = ["translate", "--model", model, "--input", write("in", "a"), "--method", "sample"]
    assert main([*command, "--beam-size", "3"]) == 2
    assert "--beam-size is for a beam: leave it or --method sample out" in capsys.readouterr().err


def test_the_search_of_the_run_gives_way_to_a_flag_and_is_named(model, write, capsys, monkeypatch):
    """`nmt tune --short-list 20 --save` leaves a short list, which only a beam can use."""
    command = ["translate", "--model", model, "--input", write("in", "a")]
    for search in (SearchConfig(short_list=20), SearchConfig(method="sample")):
        monkeypatch.setattr("nmt.translation.loading.config_of_run", lambda _, own=search: RunConfig(search=own))
        assert main([*command, "--method", "sample"]) == 0
    assert main([*command, "--beam-size", "5"]) == 2
    assert "--beam-size is for a beam: the run draws translations, give --method beam too" in capsys.readouterr().err
    assert main([*command, "--beam-size", "5", "--method", "beam"]) == 0


@pytest.mark.parametrize("flag", ["--diversity", "--prune"])
def test_settings_of_a_free_beam_are_refused_elsewhere(model, write, capsys, flag):
    command = ["translate", "--model", model, "--input", write("in", "a"), flag, "1"]
    assert main(command) == 0
    assert main([*command, "--method", "sample"]) == 2
    assert f"{flag} is for a beam" in capsys.readouterr().err
    assert main([*command, "--phrases", write("phrases", "b")]) == 2
    assert f"{flag} is for a search without --prefixes and --phrases" in capsys.readouterr().err


def test_drawings_of_an_earlier_call_are_removed(model, write, tmp_path):
    output = tmp_path / "out"
    command = ["align", "--model", model, "--output", str(output), "--source"]
    assert main([*command, write("three", "a b", "c d", "e f"), "--format", "png", "svg", "html"]) == 0
    kept = output / "notes.png"
    kept.write_bytes(b"mine")
    before = sorted(path.name for path in output.iterdir())
    gold = ["--target", write("target", "g h"), "--gold", write("gold", "7-7")]
    assert main([*command, write("one", "g h"), *gold]) == 2  # and nothing is lost by it
    assert sorted(path.name for path in output.iterdir()) == before
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
    how = {"averaging": "log_probability", "checkpoints": 2, "precision": "auto", "aligner": False}
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
def test_translation_uses_the_fastest_precision_and_measurements_use_float32(
    model, write, tmp_path, monkeypatch, command, given, expected
):
    write("a", "a b")
    monkeypatch.chdir(tmp_path)
    fake_translator.Translator.loaded.clear()
    assert main([command[0], "--model", model, *command[1:], *given]) == 0
    assert fake_translator.Translator.loaded[0][1]["precision"] == expected


def test_every_field_of_the_search_is_a_flag_with_its_help(model, write, capsys):
    """The search has the values of the flags."""
    with pytest.raises(SystemExit):
        main(["translate", "--help"])
    shown = " ".join(capsys.readouterr().out.split())
    assert all(setting.help in shown for setting in settings_of(SearchConfig))
    flags = "--method sample --temperature 0.5 --suppress <unk> x --no-repeat-ngram 3 --copy-unknown --top-p 0.9"
    assert main(["translate", "--model", model, "--input", write("in", "a"), *flags.split()]) == 0
    (search,) = fake_translator.Translator.searches
    assert (search.method, search.temperature, search.suppress) == ("sample", 0.5, ("<unk>", "x"))
    assert (search.no_repeat_ngram, search.copy_unknown, search.top_p) == (3, True, 0.9)
    assert search.length_penalty == 0.5  # the run's own


def test_invalid_input_is_found_before_anything_is_translated(model, tmp_path, capsys):
    (tmp_path / "in").write_bytes(b"one\ntw\xff\n")
    assert main(["translate", "--model", model, "--input", str(tmp_path / "in")]) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert "line 2" in output.err


def test_endless_input_streams_and_a_closed_pipe_ends_quietly(tmp_path):
    translate = f"{sys.executable} -m fake_translator translate --model {tmp_path}"
    command = f"yes haus | {translate} | head -n 3; echo ${{PIPESTATUS[@]}}"
    environment = os.environ | {"PYTHONPATH": f"{REPOSITORY}{os.pathsep}{REPOSITORY / 'tests'}"}
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
    environment = os.environ | {"PYTHONPATH": f"{REPOSITORY}{os.pathsep}{REPOSITORY / 'tests'}"}
    command = [sys.executable, "-m", "fake_translator", "translate", "--model", str(tmp_path)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, stdin=theirs, env=environment, text=True, **pipes) as process:
        for line, answer in (("ein haus", "EIN HAUS\n"), ("", "\n"), ("zwei", "ZWEI\n")):
            os.write(ours, f"{line}\n".encode())
            assert process.stdout.readline() == answer  # before the next line is typed
        os.write(ours, b"gr\xf6\xdfe\nvier\n")  # as a terminal sends it that does not speak UTF-8
        assert process.stdout.readline() == "VIER\n"
        os.write(ours, b"\x04")
        assert process.wait(timeout=10) == 0
        assert process.stderr.read() == (
            "nmt: one sentence per line; end with Ctrl-D\n> > > > nmt: not valid UTF-8 at byte 3: type the sentence "
            "again, or have the terminal send UTF-8\n> > \n"
        )
    os.close(ours)
    os.close(theirs)


@pytest.mark.parametrize(
    "command", ["translate --input in --output in", "translate --input in --output o --alignments in"]
)
def test_inputs_are_never_overwritten(command, model, write, tmp_path, monkeypatch, capsys):
    write("in", "ein haus")
    monkeypatch.chdir(tmp_path)
    assert main([*command.split(), "--model", model]) == 2
    assert "in: is named twice and would be overwritten" in capsys.readouterr().err
    assert (tmp_path / "in").read_text() == "ein haus\n"
    assert main(["score", "--model", model, "--source", "in", "--target", "in", "--output", "in"]) == 2
    assert (tmp_path / "in").read_text() == "ein haus\n"


def test_markup_is_warned_of_once(model, write, tmp_path, capsys):
    source = write("in", "a <b>b", "<i>c</i>", "d</b> <b>")
    output = str(tmp_path / "out")
    assert main(["translate", "--model", model, "--source", source, "--output", output, "--markup"]) == 0
    warnings = [line for line in capsys.readouterr().err.splitlines() if "warning" in line]
    assert warnings == [
        f"nmt: warning: {source}: 2 lines with tags that have no partner, such as in line 1, <b> is not closed; these "
        "tags are kept beside their words"
    ]
    assert main(["translate", "--model", model, "--source", source, "--output", output, "--markup", "none"]) == 0
    assert "warning" not in capsys.readouterr().err


def test_an_aligner_without_a_purpose_or_a_directory_is_refused(model, write, tmp_path, capsys):
    command = ["translate", "--model", model, "--source", write("in", "a"), "--aligner", str(tmp_path / "none")]
    assert main(command) == 2
    assert "--aligner makes the links for --markup, --alignments and --copy-unknown" in capsys.readouterr().err
    assert main([*command, "--markup"]) == 2
    assert str(tmp_path / "none") in capsys.readouterr().err


def test_bulk_translation_without_beam_says_how_to_install_it(model, write, monkeypatch, capsys):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert main(["bulk-translate", "--model", model, "--source", write("in", "a"), "--output", "out"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("nmt: error: apache_beam is not installed: bash scripts/beam.sh makes an environment")


def test_several_processes_are_for_files(model, monkeypatch, capsys):
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    assert main(["translate", "--model", model, "--processes", "2"]) == 2
    assert "--processes is for text that is not typed: give --source" in capsys.readouterr().err
