"""`nmt clean`: files in and out, the report, a model's scores, errors."""

from __future__ import annotations

import csv
import gzip
import io
from dataclasses import replace
from pathlib import Path

import fake_translator
import pytest

from nmt.cli import main


def unpacked(path: str) -> bytes:
    return gzip.decompress(Path(path).read_bytes())


@pytest.fixture
def files(tmp_path, monkeypatch):
    """A source and a target of six pairs, two of them good."""
    monkeypatch.chdir(tmp_path)
    source = ["A first  sentence .", "", "A third\tsentence .", "A first  sentence .", "A sentence .", "Fine ."]
    target = ["Une phrase .", "Rien .", "x" * 90, "Une phrase .", "", "Bien ."]
    Path("s.txt").write_bytes(b"\xef\xbb\xbf" + "\r\n".join(source).encode() + b"\r\n")
    with gzip.open("t.gz", "wb") as file:
        file.write("\n".join(target[:4]).encode() + b"\n\xff\n" + target[5].encode())
    return ["clean", "--source", "s.txt", "--target", "t.gz", "--output-source", "o.gz", "--output-target", "o.txt"]


def test_a_pipe_is_read_once(files, monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"one\n\nthree\n")))
    Path("t").write_text("un\ndeux\ntrois\n")
    assert main([*files, "--source", "-", "--target", "t"]) == 0
    assert Path("o.txt").read_text() == "un\ntrois\n"
    assert main([*files, "--source", "-", "--target", "t", "--model", "run"]) == 2
    assert "-: can be read only once" in capsys.readouterr().err


def test_rows_that_are_no_pairs_are_dropped_and_reported_at_their_lines(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("p.tsv").write_text("one\tein\nno tab\ntwo\tzwei\nthree\tdrei\n")
    command = ["clean", "--tsv", "p.tsv", "--output-source", "o.s", "--output-target", "o.t", "--report", "r.tsv"]
    assert main(command) == 0
    assert Path("o.t").read_text() == "ein\nzwei\ndrei\n"
    (row,) = [line.split("\t") for line in Path("r.tsv").read_text().splitlines()[1:]]
    assert row[:2] == ["2", "malformed"] and row[2].startswith("p.tsv, line 2: 1 column, expected at least 2")
    assert "4 pairs read, 3 kept, 1 dropped" in capsys.readouterr().err

    assert main([*command, "--no-malformed"]) == 2
    assert "p.tsv, line 2: 1 column, expected at least 2" in capsys.readouterr().err
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"no tab\n" * 3 + b"a\tb\n")))
    assert main([*command, "--tsv", "-"]) == 2
    assert "standard input, line 1: 1 column" in (said := capsys.readouterr().err) and "(3 of 4 rows" in said
    assert Path("o.t").read_text() == "ein\nzwei\ndrei\n"


@pytest.mark.parametrize("full", ["--output-source", "--output-target", "--report"])
def test_after_a_write_error_all_files_keep_their_content(files, capsys, full):
    Path("r.tsv").write_text("old")
    before = {path.name: path.read_bytes() for path in Path().iterdir()}
    assert main([*files, "--report", "r.tsv", full, "/dev/full"]) == 2
    assert "/dev/full: No space left on device" in capsys.readouterr().err
    assert {path.name: path.read_bytes() for path in Path().iterdir()} == before


def test_the_command_writes_good_pairs_and_reports_bad_ones(files, capsys):
    assert main([*files, "--report", "r.tsv"]) == 0
    assert unpacked("o.gz") == b"A first  sentence .\nFine .\n"
    assert Path("o.txt").read_bytes() == b"Une phrase .\nBien .\n"
    with open("r.tsv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    assert [(row["line"], row["rule"], row["value"], row["target"][:5]) for row in rows] == [
        ("2", "empty", "source", "Rien ."[:5]),
        ("3", "ratio", rows[1]["value"], "xxxxx"),
        ("4", "duplicate", "pair", "Une p"),
        ("5", "invalid", "target, byte 1", "\ufffd"),
    ]
    assert rows[1]["source"] == "A third sentence ." and float(rows[1]["value"]) > float(rows[1]["threshold"]) == 1.5
    said = capsys.readouterr().err
    assert "nmt: 6 pairs read, 2 kept, 4 dropped\n" in said
    for rule in ("empty", "ratio", "duplicate", "invalid"):
        assert f"nmt:   {rule:9}         1  (16.67%)\n" in said
    assert said.endswith("nmt: the kept pairs are in o.gz and o.txt; the dropped pairs are in r.tsv\n")


def test_many_invalid_pairs_may_have_another_encoding(files, capsys):
    """One bad line of a hundred has other reasons."""
    command = "clean --source t.fr --target t.en --output-source o.fr --output-target o.en"
    remedy = "not valid UTF-8: if the text has another encoding, convert it to UTF-8 (if it is Latin-1: iconv "
    for bad, warned in ((1, False), (2, True)):
        lines = [f"la rue {number} \u00e9tait vide" for number in range(100)]
        text = [line.encode("latin1" if number < bad else "utf-8") for number, line in enumerate(lines)]
        Path("t.fr").write_bytes(b"".join(line + b"\n" for line in text))
        Path("t.en").write_text("".join(f"the street {number} was empty\n" for number in range(100)))
        assert main(command.split()) == 0
        assert (f"nmt: {bad} pairs {remedy}" in capsys.readouterr().err) == warned


def test_every_rule_can_be_switched_off(files):
    off = "--no-invalid --no-empty --longest 0 --ratio 0 --identical 0 --script 0 --language 0 --spelling 0"
    off += " --duplicates off"
    assert main([*files, *off.split()]) == 0
    assert unpacked("o.gz").count(b"\n") == 6
    assert Path("o.txt").read_bytes() == unpacked("t.gz") + b"\n"


class Model(fake_translator.Translator):
    """A translator that finds line n less probable for larger n: n nats per piece."""

    def align(self, sources, targets):
        for pair in super().align(sources, targets):
            yield replace(pair, log_probability=-int(pair.source.strip("x")) * len(pair.pieces))


@pytest.fixture
def modelled(tmp_path, monkeypatch):
    """A hundred pairs, each with its number; the targets of lines 1 and 2 are empty."""
    fake_translator.install(monkeypatch.setattr)
    monkeypatch.setattr("nmt.cli.clean.load_models", lambda arguments: Model())
    monkeypatch.chdir(tmp_path)
    Path("s").write_text("".join(f"x{n}\n" for n in range(1, 101)))
    Path("t").write_text("\n\n" + "".join(f"y{n}\n" for n in range(3, 101)))
    command = "clean --source s --target t --output-source o.s --output-target o.t --report r --model run"
    return command.split()


@pytest.mark.parametrize("flags, kept", [([], 93), (["--worst", "0.5"], 49), (["--worst", "0"], 98)])
def test_a_model_drops_the_most_unusual_pairs_that_the_rules_keep(modelled, flags, kept):
    assert main([*modelled, *flags]) == 0
    assert Path("o.t").read_text().splitlines() == [f"y{n}" for n in range(3, 3 + kept)]
    rows = [row.split("\t") for row in Path("r").read_text().splitlines()[1:]]
    assert [row[:2] for row in rows] == [
        [str(n), rule] for n, rule in [(1, "empty"), (2, "empty"), *((n, "unusual") for n in range(3 + kept, 101))]
    ]


def test_the_warning_of_other_text_counts_the_kept_pairs(modelled, monkeypatch):
    found = []
    monkeypatch.setattr("nmt.cli.pair_files.checked", lambda lines, *options: found.append(options[-1]) or lines)
    assert main(modelled) == 0
    assert found == ["kept pair", "kept pair"]


def test_the_score_equals_that_of_explain(modelled):
    """Lines 3 to 100: the median is 51.5 nats per piece, and half of the lines are within 24.5 of it."""
    limit = 0.6745 * (80 - 51.5) / 24.5
    assert main([*modelled, "--threshold", str(limit + 0.001)]) == 0
    rows = [row.split("\t") for row in Path("r").read_text().splitlines()[3:]]
    assert [int(row[0]) for row in rows] == list(range(81, 101))
    assert float(rows[0][2]) == pytest.approx(0.6745 * (81 - 51.5) / 24.5, abs=1e-3)


def test_a_model_can_judge_by_likelihood_alone(modelled):
    assert main([*modelled, "--by", "unlikely", "--threshold", "80"]) == 0
    rows = [row.split("\t")[:4] for row in Path("r").read_text().splitlines()[3:]]
    assert rows == [[str(n), "unlikely", str(n), "80"] for n in range(81, 101)]


def test_a_model_ignores_pairs_with_an_empty_side(modelled):
    assert main([*modelled, "--no-empty", "--worst", "0.5", "--duplicates", "target"]) == 0
    assert Path("o.t").read_text().splitlines() == ["", "", *(f"y{n}" for n in range(3, 52))]


@pytest.mark.parametrize(
    "flags, message",
    [
        (["--target", "short"], "s.txt has 6 lines, short has 1 line:"),
        (["--source", "missing"], "missing: No such file or directory"),
        (["--output-source", "s.txt"], "s.txt: is named twice"),
        (["--output-source", "./linked"], "./linked: is named twice"),
        (["--output-target", "o.gz"], "o.gz: is named twice"),
        (["--report", "t.gz"], "t.gz: is named twice"),
        (["--output-source", "nowhere/o"], "nowhere: no such directory"),
        (["--worst", "0.1"], "--worst is for the pairs that a model drops"),
        (["--worst", "2", "--model", "run"], "expected a share"),
        (["--worst", "0.1", "--threshold", "-1", "--model", "run"], "not allowed with"),
        (["--model", "run", "--source", "missing"], "missing: No such file or directory"),
        (["--model", "run"], "run: no such run directory"),
        (["--ratio", "0.5"], "ratio is 0.5"),
    ],
)
def test_user_errors_are_one_line_and_nothing_is_written(files, flags, message, capsys):
    Path("short").write_text("one\n")
    Path("linked").symlink_to("s.txt")
    before = {path: path.read_bytes() for path in Path().iterdir()}
    assert main([*files, *flags]) == 2
    said = capsys.readouterr().err
    assert message in said and said.count("\n") == 1
    assert {path: path.read_bytes() for path in Path().iterdir()} == before
