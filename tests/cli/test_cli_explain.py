"""The command `nmt explain`."""

from __future__ import annotations

import csv
import json
import os
import re
import sys
import weakref
from pathlib import Path

import fake_translator

from nmt.cli import main
from nmt.cli.explain import write_report


def explained(directory: Path) -> tuple[list[dict[str, str]], list[dict]]:
    """Rows of sentences.tsv and records of explanation.jsonl."""
    with open(directory / "sentences.tsv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    return rows, [json.loads(line) for line in (directory / "explanation.jsonl").read_text().splitlines()]


def test_a_spreadsheet_runs_no_sentence_as_a_formula(model, write, tmp_path):
    """Numbers stay numbers, and the records have the words as they are."""
    texts = ["=1+1", "- he said", "+x", "@SUM(A1)", "-5", "+1,000.5", "a = b"]
    command = ["explain", "--model", model, "--source", write("in", *texts), "--target", write("out", *texts)]
    assert main([*command, "--output", str(tmp_path / "o"), "--worst", "0"]) == 0
    rows, records = explained(tmp_path / "o")
    shown = {row["line"]: (row["source"], row["target"]) for row in rows}
    expected = ["'=1+1", "'- he said", "'+x", "'@SUM(A1)", "-5", "+1,000.5", "a = b"]
    assert shown == {str(line): (text, text) for line, text in enumerate(expected, start=1)}
    assert [" ".join(record["source"]) for record in records] == texts


PAIRS = [("a b c d", "s t u v"), ("a b c", "s t u"), ("a b c d", "s t"), ("a b c d", "s s t t"), ("a b", "t u")]


def test_a_reader_that_stops_early_leaves_the_report_complete(model, write, tmp_path, monkeypatch):
    """As in `nmt explain ... | head`."""

    reader, writer = os.pipe()
    os.close(reader)
    files = ["--source", write("in", *(s for s, _ in PAIRS)), "--target", write("out", *(t for _, t in PAIRS))]
    with open(writer, "w", buffering=1) as closed:
        monkeypatch.setattr(sys, "stdout", closed)
        main(["explain", "--model", model, *files, "--output", str(tmp_path / "o"), "--limit", "1"])
    rows, records = explained(tmp_path / "o")
    assert len(rows) == len(records) == len(PAIRS)
    assert (tmp_path / "o" / "explanation.html").exists()


def test_explain_given_pairs(model, write, tmp_path, capsys):
    """A target word of the fake attends to the source word at its position, so a short target leaves words out."""
    files = ["--source", write("in", *(s for s, _ in PAIRS)), "--target", write("out", *(t for _, t in PAIRS))]
    assert main(["explain", "--model", model, *files, "--output", str(tmp_path / "o"), "--worst", "2"]) == 0
    rows, records = explained(tmp_path / "o")
    assert [record["line"] for record in records] == [1, 2, 3, 4, 5]
    assert sorted(int(row["line"]) for row in rows) == [1, 2, 3, 4, 5]
    assert [row["line"] for row in rows[:2]] == ["3", "4"]
    dropped, repeated = rows[:2]
    assert "too little attention, perhaps dropped: 'c', 'd'" in dropped["reason"]
    assert "short: 2 words for 4, usually 4" in dropped["reason"]
    assert (dropped["unattended"], dropped["length_ratio"], dropped["source"]) == ("0.5", "0.5", "a b c d")
    assert float(dropped["log_probability"]) == -0.5  # -1.5 nats over two words and the end
    assert repeated["measure"] == "repeated"
    assert repeated["reason"] == "repeats earlier words: 's', 't'"
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
    assert re.search(r"source words with little attention \(share\) +0\.100 +0\.000\n", printed.out)
    assert printed.err.endswith(f"written to {tmp_path / 'o'}\n")


def test_explain_the_model_s_own_translations_with_erasure(model, write, tmp_path, capsys):
    output = tmp_path / "o"
    command = ["explain", "--model", model, "--source", write("in", "a b c", "", "a", "a b"), "--output", str(output)]
    assert main([*command, "--erase", "--worst", "0", "--beam-size", "2", "--max-source", "9"]) == 0
    assert fake_translator.Translator.searches[0].beam_size == 2
    assert fake_translator.Translator.searches[0].split_sentences == "never"
    assert fake_translator.erasures[-1] == 9  # the limit of the search
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


def test_explain_reads_each_line_as_a_whole(model, write, tmp_path, capsys):
    command = ["explain", "--model", model, "--source", write("in", "a b c"), "--output", str(tmp_path / "o")]
    assert main([*command, "--split-sentences", "always"]) == 2
    assert "--split-sentences is for translating: nmt explain reads each line as a whole" in capsys.readouterr().err


def test_explain_reads_standard_input_and_empty_files(model, write, tmp_path, monkeypatch):
    command = ["explain", "--model", model, "--output", str(tmp_path / "o"), "--source"]
    monkeypatch.setattr(sys, "stdin", open(write("in", "a b", "c")))  # noqa: SIM115
    assert main([*command, "-"]) == 0
    assert [record["source"] for record in explained(tmp_path / "o")[1]] == [["a", "b"], ["c"]]
    assert main([*command, write("none")]) == 0
    assert explained(tmp_path / "o") == ([], [])


def test_explain_removes_only_its_earlier_drawings(model, write, tmp_path):
    output = tmp_path / "o"
    command = ["explain", "--model", model, "--output", str(output), "--source"]
    assert main([*command, write("in", "a b", "c d", "e f"), "--worst", "3"]) == 0
    (output / "notes.png").write_bytes(b"mine")
    (output / "2024.png").write_bytes(b"mine too")
    assert main([*command, write("fewer", "a b"), "--worst", "0"]) == 0
    left = ["2024.png", "explanation.jsonl", "notes.png", "sentences.tsv"]
    assert sorted(path.name for path in output.iterdir()) == left


def test_explain_keeps_no_pair_in_memory(tmp_path, capsys):
    alive: weakref.WeakSet[fake_translator.Translation] = weakref.WeakSet()
    most = 0

    def pairs():
        nonlocal most
        for pair, erasure in fake_translator.erase(translator, translator.translate(["a b c"] * 50), "word"):
            alive.add(pair)
            most = max(most, len(alive))
            yield pair, erasure

    translator = fake_translator.Translator()
    write_report(pairs(), tmp_path, worst=3)
    assert most <= 3
    assert len(explained(tmp_path)[0]) == 50


def test_explain_reports_lines_that_were_cut(model, write, tmp_path, capsys):
    source = write("in", "a", "a b c d e f")
    for flags in ([], ["--erase"]):
        assert main(["explain", "--model", model, "--source", source, "--output", str(tmp_path / "o"), *flags]) == 0
        assert "nmt: line 2 is longer than the model takes" in capsys.readouterr().err


def test_a_failed_explanation_leaves_the_old_one(model, write, tmp_path):
    output = tmp_path / "o"
    command = ["explain", "--model", model, "--output", str(output), "--source"]
    assert main([*command, write("in", "a b")]) == 0
    before = {path.name: path.read_bytes() for path in output.iterdir()}
    assert main([*command, write("bad", "a", "b", "c", "d", "mendable")]) == 2
    assert {path.name: path.read_bytes() for path in output.iterdir()} == before


def test_the_page_has_the_score_and_the_reason_of_each_pair(model, write, tmp_path, capsys):
    output = tmp_path / "o"
    lines = [*(f"a{n} b c" for n in range(9)), "x y y y y y"]
    assert main(["explain", "--model", model, "--output", str(output), "--source", write("in", *lines)]) == 0
    page = (output / "explanation.html").read_text()
    (data,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page)
    shown = {(one["label"], one["note"]) for one in json.loads(data)["sentences"]}
    printed = re.findall(r"^(line \d+(?:, score [^:]*)?): (.*)$", capsys.readouterr().out, re.MULTILINE)
    assert printed and shown == set(printed)
    assert json.loads(data)["sentences"][0]["languages"] == ["und", "und"]
