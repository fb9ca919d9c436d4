"""Every command that reads sentence pairs takes two files, compressed or not, a TSV file, and standard input."""

from __future__ import annotations

import gzip
import io
import sys
from pathlib import Path

import pytest

from nmt.cli import main

SOURCES, TARGETS = ["ein haus", "", "zwei katzen"], ["A HOUSE", "X", "TWO CATS"]


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch) -> None:
    """The same three pairs as two files, compressed files and TSV files with other columns around them."""
    monkeypatch.chdir(tmp_path)
    for name, lines in (("s", SOURCES), ("t", TARGETS)):
        text = "".join(f"{line}\n" for line in lines)
        Path(name).write_text(text)
        Path(f"{name}.gz").write_bytes(gzip.compress(text.encode()))
    rows = "".join(f"7\t{target}\t{source}\n" for source, target in zip(SOURCES, TARGETS, strict=True))
    Path("pairs.tsv").write_text(rows)
    Path("pairs.tsv.gz").write_bytes(gzip.compress(rows.encode()))


COLUMNS = ["--source-column", "3", "--target-column", "2"]
WAYS = {
    "files": ["--source", "s", "--target", "t"],
    "other names": ["--input", "s", "--reference", "t"],
    "compressed": ["--source", "s.gz", "--target", "t.gz"],
    "tsv": ["--tsv", "pairs.tsv", *COLUMNS],
    "compressed tsv": ["--tsv", "pairs.tsv.gz", *COLUMNS],
    "a stream": ["--source", "-", "--target", "t"],
    "a tsv stream": ["--tsv", "-", *COLUMNS],
}
COMMANDS = {
    "score": ["--output", "out"],
    "evaluate": ["--json", "out"],
    "tune": [],
    "align": ["--output", "out", "--limit", "0"],
    "explain": ["--output", "out", "--limit", "0"],
}


def results(output: str) -> dict[str, bytes]:
    """Everything that a command printed and wrote."""
    found = {str(path): path.read_bytes() for path in Path("out").rglob("*")}
    if Path("out").is_file():
        found["out"] = Path("out").read_bytes()
    return found | {"printed": output.encode()}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_reads_the_same_pairs_in_every_way(command, model, monkeypatch, capsys):
    expected = None
    for way, flags in WAYS.items():
        if "-" in flags:
            stream = Path("s" if "--source" in flags else "pairs.tsv")
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stream.read_bytes())))
        assert main([command, "--model", model, *flags, *COMMANDS[command]]) == 0, capsys.readouterr().err
        found = results(capsys.readouterr().out)
        expected = expected or found
        assert found == expected, way


def test_pairs_are_cleaned_and_distilled_from_a_tsv_file(model, capsys):
    outputs = ["--output-source", "o.s", "--output-target", "o.t"]
    assert main(["clean", *WAYS["tsv"], *outputs]) == 0
    assert Path("o.s").read_text() == "ein haus\nzwei katzen\n"
    assert Path("o.t").read_text() == "A HOUSE\nTWO CATS\n"
    assert main(["distil", "--model", model, *WAYS["tsv"], *outputs]) == 0
    assert Path("o.t").read_text().splitlines() == ["A HOUSE", "EIN HAUS", "X", "", "TWO CATS", "ZWEI KATZEN"]


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ([], "no sentence pairs are given: name --source and --target, or --tsv"),
        (["--source", "s"], "source and target go together: --target is missing"),
        (["--tsv", "pairs.tsv", "--source", "s", "--target", "t"], "pairs are given in more than one way"),
        (["--tsv", "pairs.tsv", "--source-column", "2"], "--source-column and --target-column are both 2"),
        (["--tsv", "pairs.tsv", "--source-column", "9"], "pairs.tsv, line 1: 3 columns, expected at least 9"),
        (["--source", "s", "--target", "t", "--source-column", "2"], "--source-column is for a TSV file"),
        (["--source", "s", "--target", "pairs.tsv.gz", "--sources", "a"], "--sources, did you mean --source?"),
    ],
)
def test_wrong_flags_are_named(flags, message, model, capsys):
    assert main(["score", "--model", model, *flags, "--output", "out"]) == 2
    assert message in capsys.readouterr().err
    assert not Path("out").exists()


@pytest.mark.parametrize("command", COMMANDS)
def test_a_row_that_is_no_pair_stops_a_command_that_answers_line_by_line(command, model, capsys):
    Path("bad.tsv").write_text("a\tb\nno tab\nc\td\n")
    assert main([command, "--model", model, "--tsv", "bad.tsv", *COMMANDS[command]]) == 2
    message = "bad.tsv, line 2: 1 column, expected at least 2 separated by tabs; "
    assert message in (said := capsys.readouterr().err) and "(nmt clean leaves such rows out)" in said


def test_held_out_pairs_are_drawn_around_bad_rows_or_refused(capsys):
    Path("bad.tsv").write_bytes(
        b"a\tb\nno tab\nc\td\n\xff\te\ne\t\n" + b"".join(b"f%d\tg%d\n" % (n, n) for n in range(9))
    )
    outputs = ["--output-source", "o.s", "--output-target", "o.t", "--rest-source", "r.s", "--rest-target", "r.t"]
    command = ["hold-out", "--tsv", "bad.tsv", "--pairs", "1", *outputs]
    assert main([*command, "--on-invalid", "drop"]) == 0
    said = capsys.readouterr().err
    assert "14 pairs read, 11 kept; dropped: 1 with an empty side, 1 not valid UTF-8" in said and "1 malformed" in said
    for flags, place in (
        (["--on-malformed", "stop"], "bad.tsv, line 2: 1 column"),
        (["--corpus.on_malformed", "stop"], "bad.tsv, line 2: 1 column"),
        (["--on-invalid", "stop"], "bad.tsv, line 4: not valid UTF-8"),
        (["--on-invalid", "drop", "--on-empty", "stop"], "bad.tsv, line 5: no sentence"),
    ):
        assert main([*command, *flags]) == 2
        assert place in capsys.readouterr().err


def test_subtitles_have_no_pairs(model, capsys):
    Path("film.srt").write_text("1\n00:00:01,000 --> 00:00:02,000\nein haus\n")
    for flags, message in (
        (["--document", "film.srt"], "film.srt: subtitles are in one language, so they have no pairs: write the"),
        (["--source", "film.srt", "--target", "t"], "film.srt: is an SRT file, expected one sentence per line: write"),
    ):
        assert main(["score", "--model", model, *flags, "--output", "out"]) == 2
        assert message in capsys.readouterr().err
    train = ["train", "--corpus.train.document", "film.srt", "--directory", "runs"]
    assert main(train) == 2
    assert "subtitles are in one language, so they have no pairs" in capsys.readouterr().err


def test_text_that_is_not_utf8_is_named_with_its_line(model, capsys):
    Path("bad.tsv").write_bytes(b"a\tb\n\xff\tb\n")
    assert main(["score", "--model", model, "--tsv", "bad.tsv", "--output", "out"]) == 2
    assert "bad.tsv, line 2: not valid UTF-8 from its byte 1 on" in capsys.readouterr().err
    assert not Path("out").exists()


def test_the_search_is_refused_where_the_translations_are_given(model, capsys):
    assert main(["align", "--model", model, *WAYS["tsv"], "--output", "out", "--beam-size", "2"]) == 2
    assert "--beam-size is for a search: with --target or --tsv nothing is searched for" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["--source", "--input"])
@pytest.mark.parametrize("command", ["translate", "back-translate"])
def test_the_text_to_translate_has_two_names(command, name, model, capsys):
    outputs = ["--output", "o"] if command == "translate" else ["--output-source", "o", "--output-target", "p"]
    assert main([command, "--model", model, name, "s", *outputs]) == 0
    assert Path("o").read_text().splitlines()[1] == ""


def test_explain_limits_the_pairs_that_it_shows_under_two_names(model, capsys):
    for name in ("--limit", "--worst"):
        assert main(["explain", "--model", model, *WAYS["files"], "--output", "out", name, "1"]) == 0
        assert capsys.readouterr().out.count("\nline ") == 1


def test_the_pairs_of_a_document_are_counted_and_not_its_lines(model, capsys):
    Path("menu.po").write_text(
        'msgid ""\nmsgstr ""\n\n' + "".join(f'msgid "ein {n}"\nmsgstr "A {n}"\n\n' for n in "ab")
    )
    outputs = ["--output-source", "o.s", "--output-target", "o.t"]
    assert main(["distil", "--model", model, "--document", "menu.po", *outputs]) == 0
    said = capsys.readouterr().err
    assert "nmt: 2 lines in " in said and "; 4 pairs in o.s and o.t" in said
    assert Path("o.t").read_text().splitlines() == ["A a", "EIN A", "A b", "EIN B"]
