"""Short lists: the table of model 1 against its formulas, the contents of lists, and search with them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import copy_task
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from keras.ops import convert_to_numpy

import nmt
from nmt.batches.arrays import Sequences
from nmt.config import ConfigError, SearchConfig
from nmt.run.directory import Run
from nmt.run.errors import RunError
from nmt.search import IMPOSSIBLE
from nmt.text.pieces import EOS, PAD, UNK
from nmt.translation import short_list as shortlist
from nmt.translation.inference.model_inference import ModelInference
from nmt.translation.inference.protocol import PieceConstraint, PieceForm, PieceTerm
from nmt.translation.short_list import KEPT, MULTIPLE, BatchLists, ShortList
from nmt.translation.translator import Translator

SIZE = 12
SOURCES = [[4, 7, 9, 5], [6], [10, 4, 4, 7, 11, 8, 5, 6]]
LISTS = [[4, 5, 6, 9], [9], [4, 5, 7, 8, 10, 11]]
BEAM = SearchConfig(beam_size=4, length_penalty=0.8, short_list=1)

sentences = st.lists(st.integers(4, 8), max_size=4)


def model_one(pairs: list[tuple[list[int], list[int]]], rounds: int) -> dict[tuple[int, int], float]:
    """t(target piece | source piece) of model 1 by its formulas; PAD stands for no source piece."""
    chance: dict[tuple[int, int], float] = defaultdict(lambda: 1.0)
    for _ in range(rounds):
        counts: dict[tuple[int, int], float] = defaultdict(float)
        for source, target in pairs:
            for t in target:
                total = sum(chance[s, t] for s in [PAD, *source])
                for s in [PAD, *source]:
                    counts[s, t] += chance[s, t] / total
        sums: dict[int, float] = defaultdict(float)
        for (s, _), count in counts.items():
            sums[s] += count
        chance = defaultdict(float, {(s, t): count / sums[s] for (s, t), count in counts.items()})
    return chance


@settings(deadline=None)
@given(st.lists(st.tuples(sentences, sentences), min_size=1, max_size=8).filter(lambda pairs: any(t for _, t in pairs)))
def test_the_table_is_that_of_model_one(pairs: list[tuple[list[int], list[int]]]) -> None:
    """The translations of a source piece are the pieces that it occurs with, by falling probability."""
    source, target = (Sequences.of(side) for side in zip(*pairs, strict=True))
    learned = ShortList.learn(source, target, SIZE, SIZE, shared=True)
    chance = model_one(pairs, shortlist.ROUNDS)
    for piece, translations in enumerate(learned.translations):
        found = [int(t) for t in translations if t != PAD]
        assert sorted(found) == sorted(t for s, t in chance if s == piece)
        assert np.diff([chance[piece, t] for t in found]).max(initial=-1) < 1e-9


def test_translations_and_frequent_pieces_of_three_pairs() -> None:
    """4 occurs alone with 8, which leaves 9 for 5 and 10 for 6. 8 occurs three times, 9 twice, 10 once."""
    source, target = Sequences.of([[4], [4, 5], [5, 4, 6]]), Sequences.of([[8], [8, 9], [9, 8, 10]])
    learned = ShortList.learn(source, target, SIZE, SIZE, shared=False)
    assert [learned.translations[piece][0] for piece in (4, 5, 6)] == [8, 9, 10]
    assert learned.translations.shape == (SIZE, KEPT)
    assert learned.frequent[:4].tolist() == [8, 9, 10, PAD]


def test_a_large_corpus_is_sampled_evenly(monkeypatch: pytest.MonkeyPatch) -> None:
    """40 pairs have two possible links each and 20 links are allowed, so every fourth pair is read."""
    monkeypatch.setattr(shortlist, "MOST_LINKS", 20)
    source, target = Sequences.of([[4]] * 40), Sequences.of([[5], [6], [7], [8]] * 10)
    learned = ShortList.learn(source, target, SIZE, SIZE, shared=False)
    assert learned.translations[4][:2].tolist() == [5, PAD]


@settings(deadline=None)
@given(st.permutations(range(3)), st.integers(1, 3), st.booleans())
def test_a_list_holds_the_pieces_for_its_own_sentence(order: list[int], count: int, shared: bool) -> None:
    """It holds translations, frequent pieces, needed pieces, the unknown piece and the end of sentence, and the source
    if the vocabulary is shared; batch mates change nothing."""
    translations = np.random.default_rng(0).integers(40, 60, (SIZE, KEPT)).astype(np.int32)
    frequent = np.append(np.arange(60, 100), np.full(60, PAD)).astype(np.int32)  # of 100 pieces 40 come
    table, needed = ShortList(translations, frequent, shared), [[20 + row] for row in range(3)]
    lists = table.of(Sequences.of(SOURCES), np.array(order), count, [needed[row] for row in order])
    assert (np.diff(lists.pieces) >= 0).all()
    assert len(lists.pieces) % MULTIPLE == 0
    for row, allowed in zip(order, lists.allowed, strict=True):
        expected = {UNK, EOS, *needed[row], *range(60, 60 + 10 * count), *translations[SOURCES[row], :count].ravel()}
        assert sorted(lists.pieces[allowed]) == sorted(expected | ({*SOURCES[row]} if shared else set()))


class Given(ShortList):
    """A table that gives the lists of the test."""

    def __init__(self, lists: list[list[int]]) -> None:
        super().__init__(np.zeros((SIZE, KEPT), np.int32), np.zeros(SIZE, np.int32), False)
        object.__setattr__(self, "lists", lists)

    def of(self, sources: Sequences, rows: np.ndarray, count: int, needed: Any, least: int = 0) -> BatchLists:
        allowed = np.zeros((len(rows), SIZE), bool)
        for row, index, more in zip(allowed, rows, needed, strict=True):
            row[[EOS, *self.lists[index], *more]] = True
        pieces = np.flatnonzero(allowed.any(axis=0)).astype(np.int32)
        pieces = np.pad(pieces, (-len(pieces) % MULTIPLE + max(0, -(-least // MULTIPLE) - 1) * MULTIPLE, 0))
        return BatchLists(pieces, allowed[:, pieces])


class Narrowed:
    """Models whose output bias makes all but some pieces impossible, behind one inference."""

    def __init__(self, *models: Any, **settings: Any) -> None:
        self.engine = ModelInference(*models, **settings)
        self.biases = [convert_to_numpy(model.output_bias.value) for model in models]

    def to(self, pieces: list[int]) -> ModelInference:
        others = ~np.isin(np.arange(SIZE), [EOS, *pieces])
        for model, bias in zip(self.engine.models, self.biases, strict=True):
            model.output_bias.assign(np.where(others, IMPOSSIBLE, bias))
        return self.engine


@pytest.mark.parametrize(
    "changes",
    [
        {},
        pytest.param({"beam_size": 1}, marks=pytest.mark.slow),
        pytest.param({"no_repeat_ngram": 2, "min_length_ratio": 1.0}, marks=pytest.mark.slow),
        pytest.param({"diversity": 0.5, "prune": 2.0}, marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_search_with_lists_equals_search_with_a_model_of_only_these_pieces(
    make_model: Callable[..., Any], changes: dict[str, Any]
) -> None:
    """All sentences together, each with its own list, against one model per sentence: the n best hypotheses agree in
    pieces, log-probabilities and attention."""
    config, nbest = replace(BEAM, **changes), min(2, changes.get("beam_size", 2))
    engine = ModelInference(make_model(3))
    found, oracle = engine.find(SOURCES, config, nbest, short_list=Given(LISTS)), Narrowed(make_model(3))
    for source, pieces, ours in zip(SOURCES, LISTS, found, strict=True):
        (theirs,) = oracle.to(pieces).find([source], replace(config, short_list=0), nbest)
        for one, two in zip(ours, theirs, strict=True):
            assert one.ids == two.ids
            assert {*one.ids} <= {*pieces}
            np.testing.assert_allclose(one.log_probability, two.log_probability, atol=1e-4)
            np.testing.assert_allclose(one.piece_log_probabilities, two.piece_log_probabilities, atol=1e-4)
            np.testing.assert_allclose(one.weights, two.weights, atol=1e-5)


@pytest.mark.parametrize("averaging", ["probability", pytest.param("log_probability", marks=pytest.mark.slow)])
def test_an_ensemble_averages_over_the_list(make_model: Callable[..., Any], averaging: Any) -> None:
    engine = ModelInference(make_model(3), make_model(4), averaging=averaging)
    oracle = Narrowed(make_model(3), make_model(4), averaging=averaging)
    for source, pieces, one in zip(SOURCES, LISTS, engine.translate(SOURCES, BEAM, Given(LISTS)), strict=True):
        (two,) = oracle.to(pieces).translate([source], replace(BEAM, short_list=0))
        assert one.ids == two.ids
        np.testing.assert_allclose(one.log_probability, two.log_probability, atol=1e-4)


def test_search_with_lists_in_half_precision_corrects_rounding(make_model: Callable[..., Any]) -> None:
    """The rounding errors of the most probable pieces are corrected at the right positions."""
    engine, oracle = ModelInference(make_model(3, "bfloat16")), Narrowed(make_model(3, "bfloat16"))
    for source, pieces, one in zip(SOURCES, LISTS, engine.translate(SOURCES, BEAM, Given(LISTS)), strict=True):
        (two,) = oracle.to(pieces).translate([source], replace(BEAM, short_list=0))
        assert one.ids == two.ids
        np.testing.assert_allclose(one.log_probability, two.log_probability, atol=2e-2)


@pytest.mark.parametrize("beam_size", [1, 4])
def test_a_list_is_wide_enough_for_terms_in_half_precision(make_model: Callable[..., Any], beam_size: int) -> None:
    """Terms and rounded logits need more candidates than hypotheses."""
    engine = ModelInference(make_model(3, "bfloat16"))
    constraints = [PieceConstraint(terms=[PieceTerm([PieceForm([7, 8])], [0], replaced=5)])] * len(SOURCES)
    found = engine.find(SOURCES, replace(BEAM, beam_size=beam_size), 1, constraints, short_list=Given(LISTS))
    assert all({*hypotheses[0].ids} <= {*pieces, 7, 8} for hypotheses, pieces in zip(found, LISTS, strict=True))


def test_constraints_are_met_with_pieces_outside_the_lists(make_model: Callable[..., Any]) -> None:
    engine = ModelInference(make_model(3))
    constraints = [PieceConstraint((10, 4), [[PieceForm([11, 8])], [PieceForm([5])]])] * len(SOURCES)
    for hypotheses in engine.find(SOURCES, BEAM, 1, constraints, short_list=Given(LISTS)):
        text = " ".join(map(str, hypotheses[0].ids))
        assert text.startswith("10 4")
        assert "11 8" in text
        assert "5" in text.split()


def test_a_suppressed_piece_does_not_occur(make_model: Callable[..., Any]) -> None:
    engine = ModelInference(make_model(3))
    before = [h.ids for h in engine.translate(SOURCES, BEAM, Given(LISTS))]
    piece = next(ids[0] for ids in before if ids)
    for hypotheses in engine.find(SOURCES, BEAM, suppressed=[piece], short_list=Given(LISTS)):
        assert piece not in hypotheses[0].ids


def test_a_search_with_lists_needs_a_table(make_model: Callable[..., Any]) -> None:
    with pytest.raises(ValueError, match="give the table"):
        ModelInference(make_model(3)).translate(SOURCES, BEAM)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"short_list": -1}, "0 or more"),
        ({"short_list": 101}, "100 at most"),
        ({"method": "sample"}, "leave one of the two out"),
    ],
)
def test_impossible_settings_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        SearchConfig(**{"short_list": 1, **changes})


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run over words that have one translation each."""
    directory = tmp_path_factory.mktemp("shortlist")
    copy_task.write_corpus(directory, train=600, validation=10)
    place = nmt.train(copy_task.config(directory, vocabulary={"shared": False}, model={"tie": "none"})).directory
    return Run.open(place)


def test_a_run_learns_its_table_once_and_every_word_has_its_translation_first(run: Run) -> None:
    run.short_list.unlink(missing_ok=True)
    learned, kept = ShortList.of_run(run), ShortList.of_run(run)
    assert run.short_list.exists()
    for one, two in zip((learned.translations, learned.frequent), (kept.translations, kept.frequent), strict=True):
        np.testing.assert_array_equal(one, two)
    for word, translation in copy_task.WORDS.items():
        ids = run.source.encode([word])[0] + run.target.encode([translation])[0]
        assert learned.translations[ids[0], 0] == ids[1], word


def test_a_translator_uses_the_short_list_of_its_run(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without frequent pieces, every target word is the translation of a source word."""
    monkeypatch.setattr(shortlist, "FREQUENT", 0)
    translator = Translator.load(run.directory)
    sources = copy_task.sentences(20, seed=7)
    full = [t.text for t in translator.translate(sources)]
    narrow = [t.text for t in translator.translate(sources, replace(translator.config.search, short_list=1))]
    assert full != narrow
    for source, text in zip(sources, narrow, strict=True):
        assert {*text.split()} <= {*copy_task.translation(source).split()}


def test_missing_training_pairs_and_a_damaged_table_are_reported(run: Run) -> None:
    run.short_list.write_bytes(b"damaged")
    with pytest.raises(RunError, match="damaged; delete it, and it is learned again"):
        ShortList.of_run(run)
    run.short_list.unlink()
    corpus = run.directory / "corpus"
    corpus.rename(run.directory / "elsewhere")
    try:
        with pytest.raises(RunError, match="search without a short list"):
            ShortList.of_run(run)
    finally:
        (run.directory / "elsewhere").rename(corpus)
