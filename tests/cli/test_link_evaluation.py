"""`nmt evaluate --links`: files of links are measured without a model."""

from __future__ import annotations

import io
import json

import pytest

from nmt.cli import main

FILES = {
    "gold": "0-0 1-1\n0-0 1p1\n",
    "good": "0-0 1-1\n0-0\n",
    "bad": "0-1 1-0\n0-0\n",
    "en": "the dog\nno dog\n",
    "fr": "le chien\npas chien\n",
    "classes": "articles\tthe\tle\n",
}


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def test_two_files_are_measured_and_compared(files, capsys):
    words = "--source en --target fr --classes classes --picture links.svg"
    assert main(f"evaluate --links good bad --gold gold --json scores {words}".split()) == 0
    output = capsys.readouterr()
    printed = output.out.splitlines()
    assert "are few: intervals and p-values say little below 50" in output.err
    # good: 3 links, 3 sure ones, all right. bad: 1 of 3 links right, 1 of 3 sure ones found: AER = 1 - 2 / 6.
    assert printed[0].startswith("good: AER = 0.000 (precision 1.000, recall 1.000")
    assert printed[1].startswith("  articles: AER = 0.000")
    assert printed[2].startswith("bad: AER = 0.667 (precision 0.333")
    assert printed[3].startswith("  articles: AER = 1.000")
    assert printed[4].startswith("difference of AER: -0.667, 95 % interval ")
    scores = json.loads((files / "scores").read_text())
    assert [one["file"] for one in scores["links"]] == ["good", "bad"]
    assert scores["links"][1]["classes"]["articles"]["links"] == 2
    assert scores["links"][0]["interval"] == [0, 0]
    assert scores["comparison"]["difference"] == pytest.approx(-2 / 3)
    assert 0 < scores["comparison"]["p_value"] <= 1
    assert (files / "links.svg").read_text().startswith("<?xml")


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ("", "--model is missing"),
        ("--links good", "--links are measured against gold links: give --gold"),
        ("--links good bad good --gold gold", "--links names 3 files"),
        ("--links good --gold gold --beam-size 3", "--beam-size is for a model"),
        ("--links good --gold gold --model run", "--model is for a model"),
        ("--links good --gold gold --picture a.png", "--picture draws two files of links"),
        ("--links good bad --gold gold --picture a.png", "read the words of the pairs"),
        ("--links good bad --gold gold --source en --target fr --picture a.txt", "a.txt: expected a name"),
        ("--links good --gold gold --classes classes", "read the words of the pairs"),
        ("--links good --gold gold --source none.en", "--target is missing"),
        ("--links good --gold gold --source-language zh", "--source-language is for text that the command line names"),
        ("--links good bad --gold gold --source en --target fr --picture none/a.png", "none: no such directory"),
        ("--links en --gold gold", "en:1: 'the' is no link"),
        ("--model run --picture a.png", "--picture is for two files of links"),
        ("--model run --classes classes", "--classes is for the links of --gold"),
    ],
)
def test_wrong_flags_are_refused(files, capsys, flags, message):
    assert main(["evaluate", *flags.split()]) == 2
    assert message in capsys.readouterr().err


def test_a_stream_of_another_length_is_named(files, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"0-0\n")))
    assert main(["evaluate", "--links", "-", "--gold", "gold"]) == 2
    output = capsys.readouterr()
    assert output.out == "" and "different numbers of lines: - has 1, gold has 2" in output.err


def test_a_link_beyond_the_sentence_is_refused_with_its_line(files, capsys):
    (files / "good").write_text("0-0\n0-7\n")
    assert main(["evaluate", "--links", "good", "--gold", "gold", "--source", "en", "--target", "fr"]) == 2
    assert "good:2: link 0-7, counted from 0, is out of range" in capsys.readouterr().err


def test_words_of_a_language_without_spaces_are_counted(files, capsys):
    (files / "zh").write_text("我喜欢猫。\n你好吗？\n")
    (files / "x").write_text("I like cats .\nHow are you ?\n")
    (files / "of").write_text("0-0 1-2 2-3\n1-3\n")
    words = "--source zh --target x --classes classes --source-language zh"
    assert main(f"evaluate --links of --gold of {words}".split()) == 0
    assert "of: AER = 0.000" in capsys.readouterr().out
