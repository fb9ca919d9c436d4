"""Erasure of source words in the pairs of a trained model."""

from __future__ import annotations

from dataclasses import replace

import copy_task
import numpy as np
import pytest

from nmt.explaining import erasure as erasing
from nmt.explaining.erasure import erase, joined
from nmt.translation.translator import Translator

SENTENCES = copy_task.sentences(30, seed=5, longest=9)


@pytest.fixture(scope="module")
def translator(copier_run) -> Translator:
    return Translator.load(copier_run)


def test_erasure_on_the_copy_task_finds_its_alignment(translator):
    """Each word comes from one source word; without that, its translation falls most."""
    sources = [sentence for sentence in SENTENCES if 2 <= len(set(sentence.split())) == len(sentence.split()) <= 6]
    targets = [copy_task.translation(sentence) for sentence in sources]
    own = total = 0
    for pair, erasure in erase(translator, translator.align(sources, targets), "attention"):
        assert (erasure.source, erasure.target) == (pair.alignment.source, pair.alignment.target)
        assert erasure.falls.shape == pair.alignment.weights.shape
        own += int((erasure.falls.argmax(axis=1) == np.arange(len(erasure.target))).sum())
        total += len(erasure.target)
    assert own >= 0.8 * total


def test_erasure_cuts_a_source_where_the_search_cut_it(translator):
    search = replace(translator.config.search, max_source=4)
    sentence = "ba ki ma " * 3
    (pair,) = translator.translate([sentence], search)
    ((_, cut),), ((_, whole),) = (erase(translator, [pair], max_source=most) for most in (4, None))
    read = translator.run.source.segment(sentence).word_of_piece[3] + 1  # words
    assert pair.truncated and cut.falls.shape[1] == read and whole.falls[:, read:].any()
    assert cut.log_probabilities.sum() > whole.log_probabilities.sum()


def test_parts_of_an_erasure_together_are_the_whole(translator):
    pairs = list(translator.align(SENTENCES[:3], map(copy_task.translation, SENTENCES[:3])))
    whole = [erasure for _, erasure in erase(translator, pairs)]
    spans = [range(0, 2), range(2, 3), range(3, 99)]
    parts = [[erasure for _, erasure in erase(translator, pairs, words=[span] * 3)] for span in spans]
    for expected, *some in zip(whole, *parts, strict=True):
        assert not some[1].falls[:, :2].any() and not some[1].falls[:, 3:].any()
        np.testing.assert_allclose(joined(some).falls, expected.falls, atol=1e-4)
        np.testing.assert_allclose(joined(some).log_probabilities, expected.log_probabilities, atol=1e-4)


@pytest.mark.slow
def test_erasure_of_a_cut_pair_has_the_words_of_its_alignment(translator):
    (pair,) = translator.align(["ba \u200b " * 500], ["abo " * 2000])
    ((_, erasure),) = erase(translator, [pair])
    assert pair.truncated
    assert (erasure.source, erasure.target) == (pair.alignment.source, pair.alignment.target)


@pytest.mark.parametrize("method", ["word", "attention"])
def test_erasure_does_not_depend_on_order_or_windows_of_pairs(method, translator, monkeypatch):
    pairs = list(translator.align(SENTENCES, map(copy_task.translation, SENTENCES)))
    together = list(erase(translator, pairs, method))
    turned = list(erase(translator, pairs[::-1], method))[::-1]
    monkeypatch.setattr(erasing, "PAIRS_TOGETHER", 7)
    windows = list(erase(translator, iter(pairs), method))
    for ours, theirs, others in zip(together, turned, windows, strict=True):
        assert ours[0] is theirs[0] is others[0]
        assert (ours[1].method, ours[1].source) == (method, ours[0].alignment.source)
        np.testing.assert_allclose(ours[1].falls, theirs[1].falls, atol=1e-4)
        np.testing.assert_allclose(ours[1].falls, others[1].falls, atol=1e-4)


def test_falls_are_differences_of_log_probabilities(translator):
    """The sum over the words and the end of sentence equals teacher forcing, with the word and without it."""
    (pair,) = translator.align(["ba ki ma"], ["abo iko omo"])
    ((_, erasure),) = erase(translator, [pair])
    ends = []
    for rest in ("ba ki ma", "ki ma", "ba ma", "ba ki"):
        (forced,) = translator.align([rest], ["abo iko omo"])
        (whole,) = translator.inference.erase(
            [translator.run.source.segment(rest).ids], [translator.run.target.segment("abo iko omo").ids], [[()]]
        )
        ends.append((forced.log_probability, whole[0, -1]))
    for word in range(3):
        (before, end), (after, end_after) = ends[0], ends[word + 1]
        assert erasure.falls[:, word].sum() == pytest.approx(before - end - (after - end_after), abs=1e-3)
    assert erasure.log_probabilities.sum() == pytest.approx(ends[0][0] - ends[0][1], abs=1e-3)


def test_erasing_unread_words_changes_nothing(translator, monkeypatch):
    """A word without pieces, and words beside a blank side. A word behind the longest source is absent."""
    monkeypatch.setattr(
        translator, "config", replace(translator.config, search=replace(translator.config.search, max_source=3))
    )
    pairs = list(translator.align(["ba \u200b ki ma", "", "ba"], ["abo iko", "abo", " "]))
    (long, blank_source, blank_target) = (erasure for _, erasure in erase(translator, pairs))
    assert long.source == ("ba", "\u200b", "ki")
    assert long.falls[:, [0, 2]].any(axis=0).all()
    assert not long.falls[:, 1].any()
    assert (blank_source.falls.shape, blank_target.falls.shape) == ((1, 0), (0, 1))
    assert not blank_source.log_probabilities.any()
