"""The best length penalty of a model: lists with known scores, lists of a real search, and `nmt tune`."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import fake_translator
import numpy as np
import pytest

from nmt.alignment.word_alignment import WordAlignment
from nmt.cli import main
from nmt.config import RunConfig, SearchConfig
from nmt.evaluation.bleu_and_chrf import CorpusScore
from nmt.run.directory import Run
from nmt.translation import length_penalty_tuning as tuning
from nmt.translation.inference.model_inference import ModelInference
from nmt.translation.inference.protocol import Hypothesis
from nmt.translation.length_penalty_tuning import NbestLists, Penalty, PenaltyScore
from nmt.translation.result import Translation

SOURCES = [[4, 7, 9, 5], [6], [10, 4, 4, 7, 11, 8, 5, 6], [9, 9], [11, 5, 7]]


def translation(text: str, log_probability: float, score: float, ended: bool = True) -> Translation:
    """A translation whose pieces are its words."""
    pieces = (*text.split(), *["</s>"] * ended)
    empty = WordAlignment((), (), np.zeros((0, 0)), np.zeros(0))
    return Translation("", text, log_probability, score, empty, False, pieces)


def short_and_long(penalty: float = 0.0) -> list[Translation]:
    """Two pieces with -2 nats and five with -3, with the scores of `power` with this exponent."""
    return [
        translation(text, value, value / (len(text.split()) + 1) ** penalty)
        for text, value in [("a", -2), ("b b b b", -3)]
    ]


def test_the_penalty_decides_between_short_and_long_hypotheses() -> None:
    """-2 / 2^x equals -3 / 5^x for x = ln(3/2) / ln(5/2), which is 0.4425."""
    search = SearchConfig(normalization="power", length_penalty=0.5)
    lists = NbestLists.of([short_and_long(0.5)], search)
    assert lists.best(Penalty("power", 0.44)) == ["a"]
    assert lists.best(Penalty("power", 0.45)) == ["b b b b"]
    assert lists.best(Penalty("wu", 0)) == ["a"]


def test_hypotheses_without_an_end_rank_last() -> None:
    found = [translation("a", -9, -9), translation("b", -1, -1, ended=False), translation("c", -2, -2, ended=False)]
    search = SearchConfig(length_penalty=0)
    assert NbestLists.of([found, found[1:], found[:0:-1]], search).best(Penalty("wu", 2)) == ["a", "b", "b"]


def test_a_blank_sentence_stays_blank() -> None:
    lists = NbestLists.of(
        [[fake_translator.make_pair("", "", False)], short_and_long()], SearchConfig(length_penalty=0)
    )
    assert lists.best(Penalty("wu", 0)) == ["", "a"]


def test_the_coverage_penalty_counts_with_every_length_penalty() -> None:
    """The coverage of the long hypothesis is worth 2 nats: -2 against -3 + 2 without a length penalty."""
    short, long = short_and_long()
    search = SearchConfig(length_penalty=0, coverage_penalty=1)
    assert NbestLists.of([[short, replace(long, score=-1.0)]], search).best(Penalty("wu", 0)) == ["b b b b"]


def texts(found: list[Hypothesis]) -> list[Translation]:
    return [translation(" ".join(map(str, one.ids)), one.log_probability, one.score, one.finished) for one in found]


@pytest.mark.slow
@pytest.mark.parametrize("coverage", [pytest.param(0.0, marks=pytest.mark.slow), 1.0])
def test_one_search_has_the_translations_of_every_penalty(make_model, scramble, coverage: float) -> None:
    """The expected translations come from a search with the penalty. They have many lengths; some have no end."""
    model = make_model()
    scramble(model, 1, 1.0)
    engine = ModelInference(model)
    search = SearchConfig(beam_size=4, length_penalty=0.3, coverage_penalty=coverage)
    lists = NbestLists.of([texts(found) for found in engine.find(SOURCES, search, nbest=4)], search)
    kinds = set()
    for penalty in (Penalty("wu", 0), Penalty("wu", 3), Penalty("power", 1)):
        expected = [one.text for one in texts(engine.translate(SOURCES, penalty.within(search)))]
        assert lists.best(penalty) == expected
        kinds.add(tuple(expected))
    assert len(kinds) > 1


def test_among_equal_scores_the_penalty_of_the_search_is_best() -> None:
    found = [
        PenaltyScore(Penalty("wu", x), CorpusScore("BLEU", value, ""), 1.0)
        for x, value in [(1, 2.0), (0, 2.0), (2, 1.0)]
    ]
    assert tuning.best_penalty(found) == found[0]


def test_the_penalty_of_the_search_is_measured_first_and_once() -> None:
    for own in (Penalty("wu", 1.0), Penalty("power", 0.77)):
        tried = tuning.penalties(own.within(SearchConfig()))
        assert tried[0] == own
        assert len(tried) == len(set(tried)) == 26 + (own[1] == 0.77)


# The command


@pytest.fixture
def model(tmp_path, monkeypatch) -> str:
    """A run directory; a fake translator finds `a` and `b b b b`."""
    directory = tmp_path / "run"
    directory.mkdir()
    fake_translator.install(monkeypatch.setattr)
    monkeypatch.setattr(fake_translator.Translator, "config", RunConfig(search=SearchConfig(length_penalty=0)))
    run = Run(directory, fake_translator.Translator.config, fake_translator.Vocabulary(), fake_translator.Vocabulary())
    run.save_config()
    monkeypatch.setattr(fake_translator.Translator, "run", run, raising=False)
    monkeypatch.setattr(
        fake_translator.Translator, "translate_nbest", lambda _, lines, *__, **___: (short_and_long() for _ in lines)
    )
    return str(directory)


def command(model: str, write, reference: str, *more: str) -> list[str]:
    return ["tune", "--model", model, "--source", write("s", "x"), "--reference", write("r", reference), *more]


def search_of(model: str) -> dict[str, Any]:
    return json.loads((Path(model) / "config.json").read_text())["search"]


@pytest.mark.parametrize("metric", ["bleu", "chrf"])
def test_the_penalty_that_finds_the_reference_is_saved(model, write, capsys, metric) -> None:
    assert main(command(model, write, "b b b b", "--metric", metric, "--save", "--beam-size", "2")) == 0
    printed = capsys.readouterr()
    head, own, *rows = printed.out.splitlines()
    assert head.split() == ["normalization", "length-penalty", {"bleu": "BLEU", "chrf": "chrF2"}[metric], "length"]
    assert own.split() == ["wu", "0", "0.00", "0.250", "as", "it", "is"]
    assert ["power", "0.6", "100.00", "1.000"] in [row.split() for row in rows]
    # ((5 + 5) / (5 + 2)) ** x is 3 / 2 for x = 1.137
    assert "the best is --normalization wu --length-penalty 1.2: " in printed.err
    assert "the references have 4.000 words per source word" in printed.err
    assert f"saved in {model}" in printed.err
    saved = search_of(model)
    assert (saved["normalization"], saved["length_penalty"], saved["beam_size"]) == ("wu", 1.2, 2)


def test_nothing_is_saved_unless_asked(model, write, capsys) -> None:
    before = search_of(model)
    assert main(command(model, write, "a")) == 0
    assert "the penalty of the search is the best" in capsys.readouterr().err
    assert search_of(model) == before


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--beam-size", "1"], "a length penalty chooses among the hypotheses of a beam"),
        (["--method", "sample"], "a length penalty chooses among the hypotheses of a beam"),
        (["--save", "--model", "one", "two"], "--save is for one run"),
        (["--tokenize", "none-such"], "tokenize is 'none-such': expected one of"),
        (["--reference", "missing"], "missing: No such file"),
    ],
)
def test_mistakes(model, write, capsys, more, message) -> None:
    assert main([*command(model, write, "a"), *more]) == 2
    assert message in capsys.readouterr().err


def test_as_many_references_as_sentences(model, write, capsys) -> None:
    assert main(command(model, write, "a\nb")) == 2
    assert "1" in (error := capsys.readouterr().err)
    assert "2" in error
