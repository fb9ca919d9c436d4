"""Strings through a trained model: order, blanks, cuts, and alignments that are those of the translation."""

from __future__ import annotations

from dataclasses import replace
from itertools import count, islice
from pathlib import Path

import copy_task
import numpy as np
import pytest

import nmt
from nmt import translator as room
from nmt.alignment import WordAlignment
from nmt.corpus import CorpusError
from nmt.run import RunError
from nmt.translator import Translation, Translator

SENTENCES = copy_task.sentences(30, seed=5, longest=9)


@pytest.fixture(scope="module")
def directory(tmp_path_factory) -> Path:
    """A run that has learned enough to be sure of its pieces."""
    directory = tmp_path_factory.mktemp("translator")
    copy_task.write_corpus(directory, train=1200, validation=10)
    return nmt.train(copy_task.config(directory, training={"passes": 8, "batch_tokens": 200})).directory


@pytest.fixture(scope="module")
def translator(directory) -> Translator:
    return Translator.load(directory)


def same(first: Translation, second: Translation) -> bool:
    return (first.source, first.text, first.truncated) == (second.source, second.text, second.truncated) and bool(
        np.isclose(first.log_probability, second.log_probability, atol=1e-4)
        and np.allclose(first.alignment.weights, second.alignment.weights, atol=1e-4)
    )


def test_readme_example(directory):
    translator = nmt.Translator.load(directory)
    for translation in translator.translate(["ba ki ma", "le"]):
        assert translation.text == copy_task.translation(translation.source)
        assert translation.alignment.pharaoh() == copy_task.links(translation.source)


def test_each_sentence_gets_its_own_translation_in_order(translator):
    translations = list(translator.translate(SENTENCES))
    assert [t.source for t in translations] == SENTENCES
    right = [t.text == copy_task.translation(t.source) for t in translations if len(t.source.split()) <= 6]
    assert sum(right) >= 0.6 * len(right)
    for t in translations:
        assert t.alignment.source == tuple(t.source.split())
        assert t.alignment.target == tuple(t.text.split())
        assert t.log_probability < 0
        np.testing.assert_allclose(t.alignment.weights.sum(axis=1) + t.alignment.end_of_sentence, 1, atol=1e-5)


@pytest.mark.parametrize("beam_size", [1, 4])
def test_batch_mates_and_order_change_nothing(beam_size, translator):
    search = replace(translator.config.search, beam_size=beam_size)
    together = list(translator.translate(SENTENCES, search))
    turned = list(translator.translate(SENTENCES[::-1], search))[::-1]
    alone = list(translator.translate(SENTENCES, replace(search, batch_tokens=1)))
    for ours in (turned, alone):
        assert [same(a, b) for a, b in zip(together, ours, strict=True)] == [True] * len(SENTENCES)


@pytest.mark.parametrize("beam_size", [1, 4])
def test_forced_alignment_of_a_translation_is_that_of_the_search(beam_size, translator):
    found = list(translator.translate(SENTENCES, replace(translator.config.search, beam_size=beam_size)))
    forced = list(translator.align(SENTENCES, [t.text for t in found]))
    for ours, theirs in zip(found, forced, strict=True):
        assert ours.text == theirs.text
        np.testing.assert_allclose(ours.alignment.weights, theirs.alignment.weights, atol=1e-5)
        assert ours.alignment.links == theirs.alignment.links
        assert ours.log_probability == pytest.approx(theirs.log_probability, abs=1e-4)


def test_score_is_the_log_probability_over_the_length_penalty(translator):
    found = list(translator.translate(SENTENCES, replace(translator.config.search, length_penalty=0.7)))
    for t in found:
        length = len(t.text.split()) + 1  # each word is one piece, and the end counts
        assert t.score == pytest.approx(t.log_probability / ((5 + length) / 6) ** 0.7, rel=1e-5)


def test_search_of_the_run_is_the_default(translator):
    own = list(translator.translate(SENTENCES[:5]))
    assert all(map(same, own, translator.translate(SENTENCES[:5], translator.config.search)))


@pytest.mark.parametrize("blank", ["", "   ", "\t", "\u2028"])
def test_blank_sentence_has_a_blank_translation(blank, translator):
    first, middle, last = translator.translate(["ba", blank, "ki"])
    assert (middle.text, middle.source, middle.log_probability, middle.alignment.pharaoh()) == ("", blank, 0.0, "")
    assert (first.source, last.source) == ("ba", "ki")


def test_pair_with_a_blank_side_has_no_links(translator):
    pairs = list(translator.align(["ba", "", "ki", ""], ["", "abo", "iko", ""]))
    assert [pair.alignment.pharaoh() for pair in pairs] == ["", "", "0-0", ""]
    assert [pair.alignment.weights.shape for pair in pairs] == [(0, 1), (1, 0), (1, 1), (0, 0)]
    assert [pair.log_probability == 0 for pair in pairs] == [True, True, False, True]


def test_nothing_in_nothing_out(translator):
    assert list(translator.translate([])) == []
    assert list(translator.align([], [])) == []


def test_long_source_is_cut_and_says_so(translator):
    search = replace(translator.config.search, max_source=3)
    short, long = translator.translate(["ba ki ma", "ba ki ma le"], search)
    assert (short.truncated, long.truncated) == (False, True)
    assert long.text == short.text
    assert long.source == "ba ki ma le"
    assert long.alignment.source == ("ba", "ki", "ma", "le")
    np.testing.assert_allclose(long.alignment.weights[:, :3], short.alignment.weights, atol=1e-5)
    assert not long.alignment.weights[:, 3].any()


def test_longest_translation(translator):
    search = replace(translator.config.search, max_length_ratio=0.01)
    noise = " ".join(["ba"] * 40)
    (found,) = translator.translate([noise], search)
    assert len(found.text.split()) <= 11  # ceil(0.01 * 41 + 10)


def test_stream_is_read_a_window_at_a_time(translator, monkeypatch):
    monkeypatch.setattr(room, "WINDOW", 3)
    taken = []

    def endless():
        for number in count():
            taken.append(number)
            yield "ba"

    stream = translator.translate(endless())
    assert taken == []
    assert len(list(islice(stream, 4))) == 4
    assert taken == list(range(6))


def test_windows_are_seamless(translator, monkeypatch):
    whole = list(translator.translate(SENTENCES))
    forced = list(translator.align(SENTENCES, SENTENCES))
    monkeypatch.setattr(room, "WINDOW", 7)
    assert all(map(same, whole, translator.translate(SENTENCES)))
    assert all(map(same, forced, translator.align(SENTENCES, SENTENCES)))


def test_sides_of_different_lengths_are_refused(translator):
    for sources, targets in ((["ba"], []), (["ba"], ["abo", "iko"])):
        with pytest.raises(CorpusError, match="one side has more sentences than the other"):
            list(translator.align(sources, targets))


def test_run_without_weights_is_refused(directory, tmp_path):
    for name in ("config.json", "shared.model"):
        (tmp_path / name).write_bytes((directory / name).read_bytes())
    with pytest.raises(RunError, match=r"best\.npz: no such file; has the run been trained\?"):
        Translator.load(tmp_path)


def test_weights_of_another_model_are_refused(directory, tmp_path):
    for name in ("config.json", "shared.model", "best.npz"):
        (tmp_path / name).write_bytes((directory / name).read_bytes())
    config = (tmp_path / "config.json").read_text()
    (tmp_path / "config.json").write_text(config.replace('"attention": 32', '"attention": 16'))
    with pytest.raises(ValueError, match=r"best\.npz: .* has shape \(32, 32\); the model needs \(32, 16\)"):
        Translator.load(tmp_path)


def test_symmetrized_pairs_have_the_links_of_both_directions(translator, monkeypatch):
    """The other direction gets each pair turned around, window by window, and its links are turned back."""
    monkeypatch.setattr(room, "WINDOW", 2)
    asked = []

    class Reverse:
        def align(self, sources, targets, linking):
            asked.append((sources, targets))
            assert linking == nmt.Linking(rule="argmax")
            for pair in translator.align(targets, sources):
                words = pair.alignment
                links = frozenset({(len(words.target) - 1, 0)})  # its last source word, our first
                weights = np.zeros((len(words.source), len(words.target)), np.float32)
                turned = WordAlignment(words.target, words.source, weights, weights.sum(axis=1), links)
                yield replace(pair, source=pair.text, text=pair.source, alignment=turned)

    sources, targets = ["ba ki ma", "le", "me ko"], ["abo iko omo", "elo", "emo oko"]
    plain = list(translator.align(sources, targets))
    union = list(nmt.symmetrized(iter(plain), Reverse(), "union", nmt.Linking(rule="argmax")))
    assert asked == [(targets[:2], sources[:2]), (targets[2:], sources[2:])]
    for before, after in zip(plain, union, strict=True):
        last = len(before.alignment.target) - 1
        assert after.alignment.links == before.alignment.links | {(0, last)}
        np.testing.assert_array_equal(after.alignment.weights, before.alignment.weights)
        assert (after.text, after.log_probability) == (before.text, before.log_probability)


def test_links_follow_the_rule_and_the_step_that_are_asked_for(translator):
    """At half of a row's attention no row has two links; attention of the step behind is another word's."""
    pair = ("ba ki ma le", "abo iko omo elo")
    ((plain,), (strict,), (later,)) = (
        list(translator.align(pair[:1], pair[1:], linking))
        for linking in (nmt.Linking(), nmt.Linking("threshold", threshold=0.5), nmt.Linking(step="read"))
    )
    weights = plain.alignment.weights
    assert strict.alignment.links == {(int(s), int(t)) for t, s in np.argwhere(weights >= 0.5)}
    np.testing.assert_array_equal(later.alignment.weights[:-1], weights[1:])  # each word is one piece
    assert later.alignment.weights[-1].sum() + later.alignment.end_of_sentence[-1] == pytest.approx(1, abs=1e-5)


def test_links_of_a_search_are_read_as_asked_for(translator):
    linking = nmt.Linking("threshold", side="source", threshold=0.4)
    found = list(translator.translate(SENTENCES[:6], linking=linking))
    forced = list(translator.align(SENTENCES[:6], [t.text for t in found], linking))
    assert [t.alignment.links for t in found] == [t.alignment.links for t in forced]
    for t in found:
        shares = t.alignment.weights / np.maximum(t.alignment.weights.sum(axis=0), 0.05)
        near = np.abs(shares - 0.4) < 1e-4
        expected = {(int(s), int(t)) for t, s in np.argwhere(shares >= 0.4)}
        assert near.any() or expected >= t.alignment.links
