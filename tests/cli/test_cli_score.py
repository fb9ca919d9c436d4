"""`nmt score`: log-probabilities and perplexity of given translations."""

from __future__ import annotations

import json
from dataclasses import replace

import fake_translator

from nmt.cli import main


def test_score_prints_log_probabilities_and_the_perplexity(model, write, capsys):
    files = ["--source", write("s", "a b", "", "c"), "--target", write("t", "x y", "z", "w")]
    assert main(["score", "--model", model, *files]) == 0
    output = capsys.readouterr()
    assert output.out == "-1.5000\t3\n-1.5000\t0\n-1.5000\t2\n"
    # exp(4.5 / 5) and exp(4.5 / 3): "z" was not looked at, its source being blank.
    assert "log-probability -4.50 in 5 pieces and 3 words: perplexity 2.460 per piece, 4.48 per word" in output.err
    assert "pairs with a side without words: 1" in output.err
    assert output.err.endswith("written to standard output\n")
    assert main(["score", "--model", model, *files, "--format", "jsonl"]) == 0
    first = json.loads(capsys.readouterr().out.splitlines()[0])
    assert first == {
        "line": 1,
        "log_probability": -1.5,
        "pieces": ["x", "y", "</s>"],
        "piece_log_probabilities": [-0.5, -0.5, -0.5],
    }


def test_one_long_word_has_a_perplexity(model, write, monkeypatch, capsys):
    """Text without spaces is one word, whose perplexity can be too large for a float."""
    pair = fake_translator.make_pair("a", "x", truncated=False)
    monkeypatch.setattr(fake_translator.Translator, "align", lambda *_: iter([replace(pair, log_probability=-800.0)]))
    assert main(["score", "--model", model, "--source", write("s", "a"), "--target", write("t", "x")]) == 0
    assert "inf per word" in capsys.readouterr().err
