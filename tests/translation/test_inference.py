"""Inference: search and scoring of real models, batch by batch."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import keras
import numpy as np
import pytest

from nmt.config import AttentionConfig, SearchConfig, TransformerConfig
from nmt.text.pieces import BOS, EOS, PAD
from nmt.translation.inference import batched_inference, search_batch, search_programs, side_by_side
from nmt.translation.inference.distributions import averaged
from nmt.translation.inference.ensemble import Ensemble
from nmt.translation.inference.exported_inference import ExportedInference
from nmt.translation.inference.model_inference import ModelInference
from nmt.translation.inference.protocol import Hypothesis, PieceConstraint, PieceForm
from nmt.translation.inference.search_programs import program_settings

SOURCES = [[4, 7, 9, 5], [6], [10, 4, 4, 7, 11, 8, 5, 6], [9, 9], [11, 5, 7], []]
GREEDY = SearchConfig(beam_size=1, length_penalty=0.8)
BEAM = SearchConfig(beam_size=4, length_penalty=0.8)


def close(one: Hypothesis, two: Hypothesis) -> None:
    assert one.ids == two.ids
    assert one.finished == two.finished
    np.testing.assert_allclose(one[1:3], two[1:3], atol=1e-4)
    np.testing.assert_allclose(one.weights, two.weights, atol=1e-5)


@pytest.mark.parametrize("config", [GREEDY, BEAM])
def test_rescoring_a_hypothesis_gives_the_numbers_of_the_search(engine: ModelInference, config: SearchConfig) -> None:
    """Teacher forcing gives the log-probability and the attention of the search."""
    found = engine.translate(SOURCES, config)
    assert sum(hypothesis.finished for hypothesis in found) >= 4
    assert len({len(hypothesis.ids) for hypothesis in found}) >= 3
    forced = engine.score(SOURCES, [hypothesis.ids for hypothesis in found])
    for source, one, two in zip(SOURCES, found, forced, strict=True):
        assert EOS not in one.ids
        steps = len(one.ids) + one.finished
        assert one.weights.shape == (steps, len(source) + 1)
        np.testing.assert_allclose(one.weights, two.weights[:steps], atol=1e-5)
        np.testing.assert_allclose(one.weights.sum(axis=1), 1.0, atol=1e-5)
        penalty = ((5 + steps) / 6) ** config.length_penalty
        np.testing.assert_allclose(one.score, one.log_probability / penalty, rtol=1e-5)
        np.testing.assert_allclose(one.piece_log_probabilities, two.piece_log_probabilities[:steps], atol=1e-4)
        np.testing.assert_allclose(one.piece_log_probabilities.sum(), one.log_probability, atol=1e-4)
        if one.finished:
            np.testing.assert_allclose(one.log_probability, two.log_probability, atol=1e-4)


@pytest.mark.slow
def test_batches_side_by_side_give_the_results_of_batches_one_by_one(
    engine: ModelInference, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Batches of two or three sentences; the first batches of an engine wait for its tracing."""

    def everything() -> list[Hypothesis]:
        fresh, small = ModelInference(*engine.models), replace(BEAM, batch_tokens=40)
        found = fresh.translate(SOURCES * 3, small)
        return found + fresh.score(SOURCES * 3, [hypothesis.ids for hypothesis in found], batch_tokens=10)

    alone = everything()
    erased = [[(), (0,)] if source else [()] for source in SOURCES]
    falls = engine.erase(SOURCES, SOURCES, erased, batch_tokens=10)
    monkeypatch.setattr(side_by_side, "batches_at_once", lambda: 3)
    for one, two in zip(alone, everything(), strict=True):
        close(one, two)
    for one, two in zip(falls, engine.erase(SOURCES, SOURCES, erased, batch_tokens=10), strict=True):
        np.testing.assert_allclose(one, two, atol=1e-5)


def test_no_batch_begins_after_one_has_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    begun = []

    def compute(rows: np.ndarray) -> None:
        begun.append(len(rows))
        time.sleep(0.01)  # as long as the others need to be called off
        raise MemoryError(f"batch of {len(rows)}")

    monkeypatch.setattr(side_by_side, "batches_at_once", lambda: 2)
    with pytest.raises(MemoryError, match="batch of 1"):
        side_by_side.compute_side_by_side(compute, [np.zeros(count) for count in range(1, 500)])
    assert len(begun) < 400


def test_greedy_search_takes_the_most_probable_piece_of_each_step(engine: ModelInference) -> None:
    model = engine.models[0]
    for source, hypothesis in zip(SOURCES[:4], engine.translate(SOURCES[:4], GREEDY), strict=True):
        state, encoded = model.start(np.array([[*source, EOS]]))
        pieces, last = [], BOS
        while len(pieces) < len(hypothesis.ids) + hypothesis.finished:
            readout, state = model.step(np.array([last]), state, encoded)
            last = int(np.argmax(np.where(np.isin(np.arange(12), [PAD, BOS]), -np.inf, model.logits(readout))))
            pieces.append(last)
        assert pieces == hypothesis.ids + [EOS] * hypothesis.finished


@pytest.mark.parametrize(
    ("search", "changes"),
    [
        (BEAM, {"seed": 7, "max_source": 9, "batch_tokens": 99, "copy_unknown": True, "max_length_ratio": 1.5}),
        (BEAM, {"split_sentences": "always"}),
        (BEAM, {"temperature": 2.0, "top_k": 3, "top_p": 0.5, "suppress": ("a",)}),
        (SearchConfig(method="sample"), {"seed": 7, "beam_size": 2, "diversity": 1.0, "prune": 1.0}),
        (replace(BEAM, min_length_ratio=0.5), {"min_length_ratio": 0.7}),
        (replace(BEAM, short_list=3), {"short_list": 4}),
    ],
)
def test_settings_that_the_graph_does_not_read_share_a_program(search: SearchConfig, changes: dict[str, Any]) -> None:
    for name, value in changes.items():
        assert program_settings(replace(search, **{name: value})) == program_settings(search), name


def test_settings_that_the_graph_reads_have_programs_of_their_own() -> None:
    """Every field of the search is read by one graph or listed above."""
    read: dict[str, Any] = {
        "method": "sample",
        "beam_size": 3,
        "length_penalty": 0.1,
        "normalization": "power",
        "coverage_penalty": 0.1,
        "min_length_ratio": 0.1,
        "no_repeat_ngram": 2,
        "diversity": 0.1,
        "prune": 0.1,
        "short_list": 1,
    }
    sampled: dict[str, Any] = {"temperature": 2.0, "top_k": 3, "top_p": 0.5}
    for search, changes in ((BEAM, read), (SearchConfig(method="sample"), sampled)):
        for name, value in changes.items():
            assert program_settings(replace(search, **{name: value})) != program_settings(search), name
    unread = {"max_length_ratio", "suppress", "seed", "copy_unknown", "max_source", "batch_tokens", "split_sentences"}
    assert {field.name for field in dataclasses.fields(SearchConfig)} == {*read, *sampled, *unread}
    constrained = [program_settings(replace(BEAM, prune=value), constrained=True) for value in (0.0, 1.0)]
    assert constrained[0] == constrained[1] != program_settings(BEAM)
    assert program_settings(BEAM, nbest=2) != program_settings(BEAM) != program_settings(BEAM, suppressed=[3])


def test_searches_are_compiled_once_and_the_least_recently_used_are_dropped(
    make_model: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled: list[Any] = []
    monkeypatch.setattr(search_programs, "compile_function", lambda function, _: compiled.append(function) or function)
    programs = ModelInference(make_model()).programs
    compiled.clear()
    for seed in range(50):
        programs.program(program_settings(replace(BEAM, seed=seed)))
    assert len(compiled) == len(programs) == 1
    for size in range(5, 55):
        programs.program(program_settings(replace(BEAM, beam_size=size)))
        programs.program(program_settings(BEAM))
    assert len(compiled) == 51
    assert len(programs) == search_programs.KEPT == 32


VARIANTS: dict[str, dict[str, Any]] = {
    "bahdanau": {},
    "lstm": {"cell": "lstm", "tie": "none", "piece_in_query": False},
    "luong": {"decoder": "luong", "attention": AttentionConfig("general", "local_p", units=5, reach=2)},
    "bottleneck": {"attention": AttentionConfig("none")},
    "transformer": {
        "architecture": "transformer",
        "embedding": 8,
        "transformer": TransformerConfig(2, 2, heads=2, feed_forward=16, positions="learned"),
    },
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("half", "kind"),
    [
        ("bfloat16", "bahdanau"),
        ("bfloat16", "transformer"),
        *(pytest.param("bfloat16", kind, marks=pytest.mark.slow) for kind in ("lstm", "luong", "bottleneck")),
        *(pytest.param("float16", kind, marks=pytest.mark.slow) for kind in ("lstm", "transformer")),
    ],
)
def test_weights_stored_in_half_precision_translate_like_weights_rounded_at_each_step(
    make_model: Callable, half: str, kind: str
) -> None:
    one, two = (make_model(dtype=dtype, **VARIANTS[kind]) for dtype in (f"mixed_{half}", half))
    kernels = [v for v in two.decoder.trainable_variables if v.name.endswith("kernel") and v.shape[-1] > 1]
    assert {v.dtype for v in (*kernels, two.target_embedding.embeddings)} == {half}
    for first, second in zip(
        ModelInference(one).translate(SOURCES, BEAM), ModelInference(two).translate(SOURCES, BEAM), strict=True
    ):
        np.testing.assert_allclose(first.log_probability, second.log_probability, atol=0.05)


@pytest.mark.parametrize("averaging", ["probability", "log_probability"])
@pytest.mark.parametrize("count", [1, 2])
def test_search_ranks_by_unrounded_logits(make_model: Callable, averaging: Any, count: int) -> None:
    """With logits so large that bfloat16 rounds them by half a nat, a step still gives log-probabilities of products
    in float32."""
    models = [make_model(seed=seed, dtype="bfloat16", tie="none") for seed in range(count)]
    for model in models:
        model.output_kernel.assign(model.output_kernel * 60)
    starts = [model.start(np.array([[4, 7, 9, EOS], [6, EOS, PAD, PAD]])) for model in models]
    tokens, states = keras.ops.array([BOS, BOS]), tuple(state for state, _ in starts)
    said, *_ = Ensemble(models, averaging).step(tokens, states, *(encoded for _, encoded in starts))
    exact = []
    for model, (state, encoded) in zip(models, starts, strict=True):
        readout, _ = model.step(tokens, state, encoded)
        readout, kernel = (keras.ops.cast(values, "float32") for values in (readout, model.output_kernel))
        exact.append(keras.ops.log_softmax(readout @ keras.ops.transpose(kernel) + model.output_bias))
    together = np.asarray(averaged(exact, averaging))
    likeliest = np.argsort(-together, axis=-1)[:, :6].astype(np.int32)
    wanted = np.take_along_axis(together, likeliest, axis=-1)
    rough = np.take_along_axis(np.asarray(said.logits - said.normalizer), likeliest, axis=-1)
    assert np.abs(rough - wanted).max() > 0.1
    np.testing.assert_allclose(said.exact(likeliest), wanted, atol=1e-3)


@pytest.mark.slow
def test_search_never_finds_padding_or_a_second_beginning_of_sentence(make_model: Callable) -> None:
    """Even if the model prefers them; the other pieces keep their probabilities."""
    model = make_model(seed=1)
    model.output_bias.assign(np.where(np.isin(np.arange(12), [PAD, BOS]), 20.0, 0.0))
    engine = ModelInference(model)
    for config in (GREEDY, BEAM, SearchConfig(method="sample")):
        for hypothesis in engine.translate(SOURCES, config):
            assert not {PAD, BOS} & set(hypothesis.ids)
            assert hypothesis.log_probability < -10 * len(hypothesis.weights)
    constraints = [PieceConstraint(phrases=[[PieceForm([5, 7])]])] * len(SOURCES)
    for (hypothesis,) in engine.find(SOURCES, BEAM, constraints=constraints):
        assert not {PAD, BOS} & set(hypothesis.ids)


def test_a_beam_scores_above_greedy_search(engine: ModelInference) -> None:
    """In sum over all sentences."""
    greedy, beam = (sum(h.score for h in engine.translate(SOURCES * 2, config)) for config in (GREEDY, BEAM))
    assert beam >= greedy


@pytest.mark.parametrize("config", [GREEDY, BEAM])
def test_order_and_batch_mates_change_nothing(engine: ModelInference, config: SearchConfig) -> None:
    """Sentences in reverse order, alone, or in batches of one or two have equal hypotheses."""
    together = engine.translate(SOURCES, config)
    backwards = engine.translate(SOURCES[::-1], config)[::-1]
    alone = [engine.translate([source], config)[0] for source in SOURCES]
    narrow = engine.translate(SOURCES, SearchConfig(**{**vars(config), "batch_tokens": 12}))
    for others in (backwards, alone, narrow):
        for one, two in zip(together, others, strict=True):
            close(one, two)


SEARCHES = {
    "sample": SearchConfig(method="sample", temperature=1.3, top_k=9, top_p=0.95),
    "no repeats": replace(BEAM, no_repeat_ngram=2, min_length_ratio=1.0, coverage_penalty=0.3),
    "power, diverse": replace(BEAM, normalization="power", diversity=0.5),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SEARCHES)
def test_no_search_depends_on_order_or_batch_mates(engine: ModelInference, name: str) -> None:
    """Three hypotheses of each sentence, with constraints on some; samples depend on the sentence id."""
    config, ids = SEARCHES[name], np.arange(len(SOURCES)) + 40
    constraints = [
        PieceConstraint(),
        PieceConstraint((5,), [[PieceForm([6, 7])]]),
        PieceConstraint((), [[PieceForm([4])], [PieceForm([8, 9])]]),
        PieceConstraint(),
        PieceConstraint((9,)),
        PieceConstraint(),
    ]

    def found(rows: Sequence[int], config: SearchConfig) -> list[list[Hypothesis]]:
        chosen = [SOURCES[row] for row in rows], config, 3, [constraints[row] for row in rows]
        return engine.find(*chosen, suppressed=[10], sentence_ids=ids[list(rows)])

    together = found(range(6), config)
    backwards = found(range(5, -1, -1), config)[::-1]
    narrow = found(range(6), replace(config, batch_tokens=12))
    for row, hypotheses in enumerate(together):
        for others in (backwards[row], narrow[row]):
            assert len(others) == len(hypotheses)
            for one, two in zip(hypotheses, others, strict=True):
                close(one, two)
        for hypothesis in hypotheses:
            assert 10 not in hypothesis.ids
            assert tuple(hypothesis.ids[: len(constraints[row].prefix)]) == tuple(constraints[row].prefix)
            text = ",".join(map(str, hypothesis.ids)) + ","
            for (form,) in constraints[row].phrases if hypothesis.finished else ():
                assert ",".join(map(str, form.pieces)) + "," in text


@pytest.mark.slow
def test_rescoring_constrained_and_sampled_translations_gives_their_log_probability(engine: ModelInference) -> None:
    """Constraints and restrictions leave the probabilities of the model unchanged."""
    constraints = [PieceConstraint((5,), [[PieceForm([6, 7])]])] * len(SOURCES)
    for config in SEARCHES.values():
        found = [h[0] for h in engine.find(SOURCES, config, constraints=constraints)]
        forced = engine.score(SOURCES, [h.ids for h in found])
        for one, two in zip(found, forced, strict=True):
            steps = len(one.piece_log_probabilities)
            np.testing.assert_allclose(one.piece_log_probabilities, two.piece_log_probabilities[:steps], atol=1e-4)


@pytest.mark.parametrize("kind", [ModelInference, ExportedInference])
def test_the_fingerprint_depends_on_the_averaging(make_model: Callable, kind: Any) -> None:
    models = [make_model(seed=1), make_model(seed=2)]
    if kind is ExportedInference:
        models = [SimpleNamespace(target_size=12, fingerprint="a"), SimpleNamespace(target_size=12, fingerprint="b")]
    averagings = "probability", "log_probability"
    assert len({kind(*models, averaging=averaging).fingerprint for averaging in averagings}) == 2
    assert kind(*models).fingerprint == kind(*models).fingerprint


def test_the_fingerprint_depends_on_settings_that_change_no_shape(make_model: Callable) -> None:
    narrow, wide = (make_model(attention=AttentionConfig(units=5, window="local_m", reach=reach)) for reach in (1, 4))
    for one, two in zip(narrow.trainable_variables, wide.trainable_variables, strict=True):
        np.testing.assert_array_equal(one, two)
    assert ModelInference(narrow).fingerprint != ModelInference(wide).fingerprint


def test_samples_depend_on_the_seed_alone(engine: ModelInference) -> None:
    def drawn(seed: int) -> list[list[int]]:
        return [h.ids for h in engine.translate(SOURCES * 3, replace(SEARCHES["sample"], seed=seed))]

    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)


def test_nbest_hypotheses_differ_and_their_scores_fall(engine: ModelInference) -> None:
    for hypotheses in engine.find(SOURCES, BEAM, nbest=4):
        assert len({tuple(h.ids) for h in hypotheses}) == len(hypotheses) > 1
        scores = [h.score for h in hypotheses if h.finished]
        assert scores == sorted(scores, reverse=True)


@pytest.mark.slow
@pytest.mark.parametrize("averaging", ["probability", pytest.param("log_probability", marks=pytest.mark.slow)])
def test_an_ensemble_averages_at_every_step(make_model: Callable, averaging: str) -> None:
    """The log-probabilities of the search equal averages of the models, computed piece by piece in NumPy."""
    models = [make_model(seed=seed) for seed in (1, 2, 3)]
    both = ModelInference(*models, averaging=averaging)
    found = both.translate(SOURCES[:3], BEAM)
    scored = both.score(SOURCES[:3], [h.ids for h in found])
    for source, one, two in zip(SOURCES[:3], found, scored, strict=True):
        target_in = np.array([[BOS, *one.ids]])
        each = [np.array(model(np.array([[*source, EOS]]), target_in)[0][0], float) for model in models]
        each = [logits - np.log(np.exp(logits).sum(-1, keepdims=True)) for logits in each]
        mean = np.log(np.mean(np.exp(each), axis=0)) if averaging == "probability" else np.mean(each, axis=0)
        mean -= np.log(np.exp(mean).sum(-1, keepdims=True))
        expected = mean[np.arange(len(one.ids) + 1), [*one.ids, EOS]]
        steps = len(one.piece_log_probabilities)
        np.testing.assert_allclose(one.piece_log_probabilities, expected[:steps], atol=1e-4)
        np.testing.assert_allclose(two.piece_log_probabilities, expected, atol=1e-4)
        np.testing.assert_allclose(one.weights, two.weights[:steps], atol=1e-5)


def test_an_ensemble_of_one_model_twice_is_that_model(engine: ModelInference) -> None:
    twice = ModelInference(*engine.models, *engine.models)
    for one, two in zip(engine.translate(SOURCES, BEAM), twice.translate(SOURCES, BEAM), strict=True):
        close(one, two)


def test_scoring_does_not_depend_on_order_or_batch_mates(engine: ModelInference) -> None:
    targets = [[5, 6], [7, 8, 9, 4], [], [11], [4, 4, 4], [5]]
    together = engine.score(SOURCES, targets)
    for place, one in enumerate(together):
        assert one.ids == targets[place]
        close(one, engine.score([SOURCES[place]], [targets[place]], batch_tokens=1)[0])
        assert one.weights.shape == (len(targets[place]) + 1, len(SOURCES[place]) + 1)


def test_no_sentences_give_no_hypotheses(engine: ModelInference) -> None:
    assert engine.translate([], BEAM) == []
    assert engine.score([], []) == []


@pytest.mark.parametrize(("beam", "budget"), [(1, 20), (4, 40), (4, 1)])
def test_the_batch_budget_counts_sentences_beams_and_the_longest_source(
    engine: ModelInference, monkeypatch: pytest.MonkeyPatch, beam: int, budget: int
) -> None:
    shapes = []
    original = search_batch.source_rows

    def spy(*arguments: Any) -> np.ndarray:
        rows = original(*arguments)
        shapes.append(rows.shape)
        return rows

    monkeypatch.setattr(search_batch, "source_rows", spy)
    engine.translate(SOURCES * 3, SearchConfig(beam_size=beam, length_penalty=0.8, batch_tokens=budget))
    assert sum(rows for rows, _ in shapes) == len(SOURCES) * 3
    assert all(rows == 1 or rows * positions * beam <= budget for rows, positions in shapes)
    assert budget == 1 or any(rows > 1 for rows, _ in shapes)


@pytest.mark.parametrize(("sentences", "beam", "batches"), [(12, 1, 1), (12, 5, 3), (3, 5, 1), (6, 5, 3), (0, 5, 0)])
def test_the_sentences_of_one_batch_are_shared_among_processors(
    engine: ModelInference, monkeypatch: pytest.MonkeyPatch, sentences: int, beam: int, batches: int
) -> None:
    """Each of three processors gets more than eight hypotheses, or one processor gets all."""
    seen: list[np.ndarray] = []
    monkeypatch.setattr(side_by_side, "batches_at_once", lambda: 3)
    monkeypatch.setattr(batched_inference, "compute_side_by_side", lambda _, batches, __: seen.extend(batches))
    engine.find([[4, 5]] * sentences, SearchConfig(beam_size=beam))
    assert len(seen) == batches
    assert sorted(index for rows in seen for index in rows) == list(range(sentences))


def test_a_hypothesis_without_an_end_is_cut_at_its_own_limit(make_model: Callable) -> None:
    """The limit is the ratio times the source's pieces, plus 10."""
    model = make_model(seed=1)
    model.output_bias.assign(np.where(np.arange(12) == EOS, -100.0, 0.0))
    engine = ModelInference(model)
    for slots, ratio in [(1, 2.0), (2, 0.5), (2, 2.0)]:
        config = SearchConfig(beam_size=slots, length_penalty=1.0, max_length_ratio=ratio)
        for source, hypothesis in zip(SOURCES, engine.translate(SOURCES, config), strict=True):
            assert not hypothesis.finished
            assert len(hypothesis.ids) == len(hypothesis.weights) == math.ceil(ratio * len(source) + 10)


@pytest.mark.slow
def test_new_weights_are_used_by_the_compiled_search(make_model: Callable, scramble: Callable) -> None:
    """Validation searches repeatedly with changing weights."""
    model = make_model(seed=1)
    engine = ModelInference(model)
    before = engine.score(SOURCES, SOURCES)[0], engine.translate(SOURCES, GREEDY)[0]
    scramble(model, 2)
    after = engine.score(SOURCES, SOURCES)[0], engine.translate(SOURCES, GREEDY)[0]
    fresh = ModelInference(model)
    close(after[0], fresh.score(SOURCES, SOURCES)[0])
    close(after[1], fresh.translate(SOURCES, GREEDY)[0])
    assert all(abs(one.log_probability - two.log_probability) > 1e-3 for one, two in zip(before, after, strict=True))


def test_sentences_too_long_for_the_memory_are_refused_before_the_computation(
    model: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A search keeps the attention weights of all its hypotheses, an erasure a copy of the source for each word."""

    def require_memory(size: int) -> None:
        if size > 100_000:
            raise MemoryError

    monkeypatch.setattr(batched_inference, "require_memory", require_memory)
    engine, length = ModelInference(model), 120
    with pytest.raises(MemoryError):
        engine.translate([[4] * length], BEAM)
    with pytest.raises(MemoryError):
        engine.erase([[4] * length], [[5]], [[(place,) for place in range(length)]])
    assert len(engine.erase([[4] * length], [[5]], [[()]])[0]) == 1


KINDS: dict[str, dict[str, Any]] = {
    "luong": {"decoder": "luong", "attention": AttentionConfig("general")},
    "lstm, local-m": {"cell": "lstm", "attention": AttentionConfig(window="local_m", units=5, reach=2)},
    "local-p": {"attention": AttentionConfig("general", "local_p", units=5, reach=2)},
    "hard": {"attention": AttentionConfig(window="hard", units=5)},
    "location": {"attention": AttentionConfig("location", positions=4)},
    "coverage": {"attention": AttentionConfig(units=5, coverage=True)},
    "none": {"attention": AttentionConfig("none")},
    "transformer": {"architecture": "transformer", "embedding": 8, "transformer": TransformerConfig(2, 2, 2, 10)},
    "mixed": {"architecture": "mixed", "embedding": 8, "transformer": TransformerConfig(1, 1, 2, 10, "learned", 4)},
}
"""Models that search has to be right for, whatever their states hold."""


DEFAULT_KINDS = ("luong", "coverage", "transformer")
"""The default tests take these; the slow tests take the others."""


@pytest.mark.parametrize(
    "kind", [kind if kind in DEFAULT_KINDS else pytest.param(kind, marks=pytest.mark.slow) for kind in KINDS]
)
def test_search_agrees_with_scoring_for_every_architecture(make_model: Callable, kind: str) -> None:
    """Log-probability and attention equal those under teacher forcing; batch mates change nothing."""
    model = make_model(**KINDS[kind])
    engine, sources = ModelInference(model), [[4, 7, 9, 5, 11], [6, 8], [10]]
    config = SearchConfig(beam_size=3, max_length_ratio=1.0)
    found = engine.translate(sources, config)
    scored = engine.score(sources, [h.ids for h in found])
    for hypothesis, forced in zip(found, scored, strict=True):
        steps = len(hypothesis.piece_log_probabilities)
        np.testing.assert_allclose(
            hypothesis.piece_log_probabilities, forced.piece_log_probabilities[:steps], atol=2e-5
        )
        np.testing.assert_allclose(hypothesis.weights, forced.weights[:steps], atol=2e-5)
    alone = engine.translate(sources[1:2], config)[0]
    assert alone.ids == found[1].ids
    np.testing.assert_allclose(alone.weights, found[1].weights, atol=1e-5)
