"""`nmt compare-outputs`: translations of several systems against one reference."""

from __future__ import annotations

import gzip
import io
import json
import sys

import pytest

from nmt.cli import main

FILES = {
    "r": "the black cat sat down\na dog\n\n",
    "a": "the black cat sat down\nno\n\n",
    "b": "the cat sat\na dog\n\n",
    "c": "the black cat sat\na\n\n",
    "s": "le chat\t=noir\n-x\n\n",
    "short": "a\nb\n",
    "empty": "",
}


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def compare(words: str) -> int:
    return main(["compare-outputs", *words.split()])


def test_two_systems_are_compared_in_words_table_page_and_json(files, capsys):
    flags = "--samples 20 --names one two --table t --page p.html --json j"
    assert compare(f"a b --reference r --source s {flags}") == 0
    printed = capsys.readouterr()
    head, one, two, *notes = printed.out.splitlines()
    assert head.split() == ["system", "BLEU", "p", "chrF2", "p", "words", "length"]
    assert one.startswith("one ") and len(one.split()) == 9 and len(two.split()) == 11
    assert notes[1].startswith("BLEU: nrefs:1|bs:20|seed:12345") and "3 sentences are few" in printed.err
    heads, *rows = [line.split("\t") for line in (files / "t").read_text().splitlines()]
    assert heads[:4] == ["line", "difference", "one chrF2", "two chrF2"] and heads[-4:] == [
        "source",
        "reference",
        "one",
        "two",
    ]
    assert [len(row) for row in rows] == [len(heads)] * 3
    assert rows[0][-4] == "le chat =noir" and rows[1][-4] == "'-x"  # a spreadsheet would run it
    found = json.loads((files / "j").read_text())
    assert [one["name"] for one in found["systems"]] == ["one", "two"] and found["sentences"] == 3
    assert found["systems"][0]["bleu"]["p_value"] is None and 0 < found["systems"][1]["chrf"]["p_value"] <= 1
    page = (files / "p.html").read_text()
    assert page.index("line 2 ") < page.index("line 1 ") and "line 3 " not in page  # the larger difference first


def test_three_systems_compressed_files_and_standard_input(files, capsys, monkeypatch):
    (files / "b.gz").write_bytes(gzip.compress((files / "b").read_bytes()))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO((files / "c").read_bytes())))
    assert compare("a b.gz - --reference r --samples 20 --test randomization --page p.html --sentences 1") == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()[1:4]] == ["a", "b.gz", "-"]
    assert (files / "p.html").read_text().count("<article") == 1


def test_the_target_language_chooses_the_tokenizer_as_for_a_run(files, capsys):
    (files / "zh").write_text("黑猫坐下\n")
    assert compare("zh zh2 --reference zh --samples 2".replace("zh2", "./zh")) == 0
    assert "tok:zh" in capsys.readouterr().out
    assert compare("a b --reference r --target-language ko --samples 2") == 0
    assert "tok:ko-mecab" in (out := capsys.readouterr().out) or "tok:char" in out  # the analyser may be missing
    assert compare("a b --reference r --tokenize none --samples 2") == 0
    assert "tok:none" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("a --reference r", "a is one file of translations: name two or more"),
        ("a a --reference r", "a file is named twice"),
        ("a b --reference r --names x", "--names: expected one name per file"),
        ("a short --reference r", "different numbers of lines: a has 3, short has 2, r has 3"),
        ("empty ./empty --reference empty", "empty: is empty"),
        ("a b --reference r --source s", "--source is shown beside translations"),
        ("a b --reference r --sentences 3", "--sentences is for the page"),
        ("a b --reference r --source-language fr", "--source-language is for --source"),
        ("a b --reference r --json -", "standard output (-) has the scores"),
        ("a b --reference r --json a", "a: is named twice and would be overwritten"),
        ("a b --reference r --tokenize moses", "tokenize is 'moses'"),
        ("a b --reference r --target-language x!", "target-language"),
        ("a missing --reference r", "missing: No such file"),
        ("a b", "--reference"),
    ],
)
def test_a_mistake_is_one_line_and_writes_nothing(files, capsys, words, message):
    before = sorted(files.iterdir())
    assert compare(words) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1, error
    assert sorted(files.iterdir()) == before
