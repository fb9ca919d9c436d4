"""Attention between pieces becomes attention and hard links between words, in text and in JSON."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt.alignment.errors import AlignmentError
from nmt.alignment.hard_links import DEFAULT_LINKING, Linking, hard_links, link_shares
from nmt.alignment.pharaoh_and_naacl import parse_pharaoh
from nmt.alignment.pieces_to_words import piece_links, word_alignment
from nmt.alignment.word_alignment import WordAlignment


class Words(NamedTuple):
    words: list[str]
    word_of_piece: list[int]
    divided: tuple[tuple[int, tuple[float, ...]], ...] = ()


SOURCE = Words(["ein", "Hund"], [0, 1, 1])
TARGET = Words(["a", "dog"], [0, 0, 1])
PIECES = np.array(
    [
        [0.5, 0.2, 0.1, 0.2],
        [0.7, 0.0, 0.1, 0.2],
        [0.1, 0.3, 0.4, 0.2],
    ]
)


def test_source_pieces_are_summed_and_target_pieces_averaged() -> None:
    alignment = word_alignment(PIECES, SOURCE, TARGET)
    np.testing.assert_allclose(alignment.weights, [[0.6, 0.2], [0.1, 0.7]], atol=1e-7)
    np.testing.assert_allclose(alignment.end_of_sentence, [0.2, 0.2], atol=1e-7)
    assert (alignment.source, alignment.target) == (("ein", "Hund"), ("a", "dog"))
    assert alignment.weights.dtype == alignment.end_of_sentence.dtype == np.float32
    assert alignment.links == {(0, 0), (1, 1)}


def test_memory_grows_linearly_with_the_length_of_a_line() -> None:
    """A document on one line whose beginning the model has read. A matrix of words by words would take 29 GB."""
    long = Words([f"w{word}" for word in range(60_000)], [0, 1])
    alignment = word_alignment([[0.5, 0.25, 0.25]], long, Words(["a"], [0]))
    assert alignment.weights.shape == (1, 60_000)
    assert alignment.weights[0, :3].tolist() == [0.5, 0.25, 0.0]


def test_the_row_of_the_targets_end_of_sentence_is_dropped() -> None:
    with_end = np.vstack([PIECES, [0.0, 0.0, 0.0, 1.0]])
    assert word_alignment(with_end, SOURCE, TARGET) == word_alignment(PIECES, SOURCE, TARGET)


def test_words_without_pieces_have_no_attention_and_no_link() -> None:
    source, target = Words(["ein", "\u200b", "Hund"], [0, 2, 2]), Words(["a", "\u200b", "dog"], [0, 0, 2])
    alignment = word_alignment(PIECES, source, target)
    np.testing.assert_allclose(alignment.weights, [[0.6, 0.0, 0.2], [0.0, 0.0, 0.0], [0.1, 0.0, 0.7]], atol=1e-7)
    np.testing.assert_allclose(alignment.end_of_sentence, [0.2, 0.0, 0.2], atol=1e-7)
    assert alignment.links == {(0, 0), (2, 2)}


def test_a_piece_that_covers_several_words_counts_by_its_shares() -> None:
    """The second source piece covers both words by halves, the first target piece the first word and a third."""
    source = Words(["ein", "Hund"], [0, 0, 1], ((1, (0.5, 0.5)),))
    target = Words(["a", "dog"], [0, 1, 1], ((0, (0.75, 0.25)),))
    alignment = word_alignment(PIECES, source, target)
    of_words = np.array([[0.6, 0.2, 0.2], [0.7, 0.1, 0.2], [0.25, 0.55, 0.2]])  # [pieces, words and end]
    dog = (0.25 * of_words[0] + of_words[1] + of_words[2]) / 2.25
    np.testing.assert_allclose(alignment.weights, [of_words[0, :2], dog[:2]], atol=1e-7)
    np.testing.assert_allclose(alignment.end_of_sentence, [0.2, 0.2], atol=1e-7)


def test_a_piece_that_covers_several_words_has_the_links_of_all() -> None:
    source = Words(["ein", "Hund"], [0, 0, 1], ((1, (0.5, 0.5)),))
    assert piece_links(frozenset({(1, 1)}), source, TARGET) == [(2, 1), (2, 2)]
    assert piece_links(frozenset({(0, 1), (1, 1)}), source, TARGET) == [(2, 0), (2, 1), (2, 2)]


def segmented(pieces_per_word: list[int]) -> Words:
    return Words(
        [f"w{i}" for i in range(len(pieces_per_word))], [i for i, n in enumerate(pieces_per_word) for _ in range(n)]
    )


pieces_per_word = st.lists(st.integers(0, 3), max_size=6)


@given(pieces_per_word, pieces_per_word, st.integers(0, 2**32 - 1))
def test_rows_keep_their_mass_and_agree_with_loops(source: list[int], target: list[int], seed: int) -> None:
    s, t = segmented(source), segmented(target)
    weights = np.random.default_rng(seed).dirichlet(np.ones(sum(source) + 1), size=sum(target))
    alignment = word_alignment(weights, s, t)
    assert alignment.weights.shape == (len(target), len(source))
    mass = alignment.weights.sum(axis=1) + alignment.end_of_sentence
    np.testing.assert_allclose(mass, [float(n > 0) for n in target], atol=1e-5)
    for i in range(len(target)):
        for j in range(len(source)):
            block = [
                [weights[p, q] for q, word in enumerate(s.word_of_piece) if word == j]
                for p, word in enumerate(t.word_of_piece)
                if word == i
            ]
            expected = sum(map(sum, block)) / len(block) if block else 0.0
            assert alignment.weights[i, j] == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize(
    ("weights", "source", "message"),
    [
        (PIECES[:, :3], SOURCE, r"shape \[3, 3\]: expected \[3 or 4, 4\], for 3 target and 3 source pieces"),
        (PIECES[:2], SOURCE, r"shape \[2, 4\]"),
        (PIECES[0], SOURCE, r"shape \[4\]"),
        (PIECES, Words(["ein"], [0, 1, 1]), r"source: word_of_piece names a word outside 0\.\.0"),
        (PIECES, Words(["ein"], [0, -1, 0]), "source: word_of_piece names a word outside"),
        (PIECES * np.nan, SOURCE, "expected finite numbers, none below 0"),
        (-PIECES, SOURCE, "expected finite numbers, none below 0"),
    ],
)
def test_weights_that_do_not_fit_are_refused(weights: Any, source: Words, message: str) -> None:
    with pytest.raises(AlignmentError, match=message):
        word_alignment(weights, source, TARGET)


def links(
    weights: list[list[float]], end_of_sentence: list[float], linking: Linking = DEFAULT_LINKING
) -> set[tuple[int, int]]:
    return set(hard_links(np.array(weights, np.float32), np.array(end_of_sentence, np.float32), linking))


def test_words_compete_for_a_source_word() -> None:
    # The second row attends more to word 0, but the first row claims it: shares 0.9/1.6 and 0.6/1.6 of word 0,
    # 0.1/0.6 and 0.4/0.6 of word 1.
    assert links([[0.9, 0.1], [0.6, 0.4]], [0.0, 0.0]) == {(0, 0), (1, 1)}


def test_several_words_may_share_a_source_word() -> None:
    assert links([[0.9, 0.1, 0.0], [0.9, 0.0, 0.1], [0.0, 0.9, 0.1]], [0.0] * 3) == {(0, 0), (0, 1), (1, 2)}


def test_a_source_word_with_little_attention_is_not_linked() -> None:
    # Word 1 receives 0.02 in all. Without the floor the share of it would be 1; with the floor it is 0.17 against 0.91.
    assert links([[0.98, 0.02]], [0.0]) == {(0, 0)}


def test_the_first_of_equals_is_linked() -> None:
    assert links([[0.5, 0.5]], [0.0]) == {(0, 0)}


def test_a_word_that_attends_only_to_the_end_of_sentence_stays_unlinked() -> None:
    assert links([[0.03, 0.01], [0.04, 0.02]], [0.96, 0.94]) == {(0, 1)}


def test_no_source_words_no_links() -> None:
    assert links([[], []], [1.0, 1.0]) == set()


# Two target words attend most to source word 0. Source word 2 gets little; half of the third row goes to no word.
ROWS = [[0.6, 0.3, 0.1], [0.5, 0.4, 0.1], [0.1, 0.1, 0.2]]
END = [0.0, 0.0, 0.6]


@pytest.mark.parametrize(
    ("linking", "expected"),
    [
        (Linking("argmax"), {(0, 0), (0, 1)}),
        (Linking("threshold", threshold=0.3), {(0, 0), (1, 0), (0, 1), (1, 1)}),
        (Linking("threshold", threshold=0.35), {(0, 0), (0, 1), (1, 1)}),
        # Columns hold 1.2, 0.8 and 0.4: shares 0.5 and 0.42, 0.375 and 0.5, 0.25, 0.25 and 0.5.
        (Linking("threshold", "source", threshold=0.45), {(0, 0), (1, 1), (2, 2)}),
        (Linking("threshold", "source", threshold=0.4), {(0, 0), (0, 1), (1, 1), (2, 2)}),
        (Linking("argmax", "source"), {(0, 0), (1, 1), (2, 2)}),
        (Linking("share", "source"), {(0, 0), (1, 1), (2, 2)}),
        # With the floor of 0.1 columns hold 1.3, 0.9 and 0.5: shares 0.46 and 0.38, 0.33 and 0.44, 0.2, 0.2 and 0.4.
        (Linking("share"), {(0, 0), (1, 1), (2, 2)}),
        (Linking("shares", threshold=0.38), {(0, 0), (0, 1), (1, 1), (2, 2)}),
        (Linking("shares", threshold=0.39), {(0, 0), (1, 1), (2, 2)}),
        (Linking("shares", "source", threshold=0.5), {(0, 0), (1, 1), (2, 2)}),
    ],
)
def test_rules_and_sides(linking: Linking, expected: set[tuple[int, int]]) -> None:
    assert links(ROWS, END, linking) == expected


@pytest.mark.parametrize("rule", ["share", "shares", "argmax", "threshold"])
def test_with_side_source_a_source_word_with_little_attention_is_not_linked(rule: Any) -> None:
    assert links([[0.97, 0.03]], [0.0], Linking(rule, "source")) == {(0, 0)}


LINKINGS = st.builds(
    Linking,
    st.sampled_from(["share", "shares", "argmax", "threshold"]),
    st.sampled_from(["target", "source"]),
    st.floats(0.01, 1),
    st.sampled_from(["emit", "read"]),
)


@given(pieces_per_word, pieces_per_word, st.integers(0, 2**32 - 1), LINKINGS, st.booleans())
def test_links_are_in_range_and_survive_every_format(
    source: list[int], target: list[int], seed: int, linking: Linking, finished: bool
) -> None:
    rows = np.random.default_rng(seed).dirichlet(np.ones(sum(source) + 1), size=sum(target) + finished)
    alignment = word_alignment(rows, segmented(source), segmented(target), linking)
    for s, t in alignment.links:
        assert source[s] > 0 and target[t] > 0
    for side, index in (("target", 1), ("source", 0)):
        if linking.rule in ("share", "argmax") and linking.side == side:
            assert len({link[index] for link in alignment.links}) == len(alignment.links)
    mass = alignment.weights.sum(axis=1) + alignment.end_of_sentence
    np.testing.assert_allclose(mass, [float(n > 0) for n in target], atol=1e-5)
    assert parse_pharaoh(alignment.pharaoh(), "here").sure == alignment.links
    assert WordAlignment.from_json(json.loads(json.dumps(alignment.to_json()))).links == alignment.links


def test_a_lower_threshold_gives_more_links() -> None:
    random = np.random.default_rng(0)
    weights = random.dirichlet(np.full(7, 0.3), 9).astype(np.float32)
    for side in ("target", "source"):
        found = [hard_links(weights, np.zeros(9, np.float32), Linking("threshold", side, x)) for x in (0.1, 0.3, 0.6)]  # type: ignore[arg-type]
        assert found[0] > found[1] > found[2]


def test_the_step_that_reads_a_piece_is_the_next_row() -> None:
    rows = np.vstack([PIECES, [0.0, 0.0, 0.0, 1.0]])
    read = word_alignment(rows, SOURCE, TARGET, Linking(step="read"))
    assert read == word_alignment(rows[1:], SOURCE, TARGET)
    # Without a row for the end of sentence the last piece keeps its own row.
    cut = word_alignment(PIECES, SOURCE, TARGET, Linking(step="read"))
    assert cut == word_alignment(PIECES[[1, 2, 2]], SOURCE, TARGET)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"rule": "most"}, "rule is 'most': expected one of share, shares, argmax, threshold"),
        ({"side": "both"}, "side is 'both': expected one of target, source"),
        ({"step": "next"}, "step is 'next': expected one of emit, read"),
        ({"threshold": 0.0}, "threshold is 0.0: expected more than 0, up to 1"),
        ({"threshold": 1.5}, "threshold is 1.5: expected more than 0, up to 1"),
    ],
)
def test_impossible_settings_of_linking_are_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(AlignmentError, match=message):
        Linking(**values)


def test_piece_links_of_two_words() -> None:
    """Source word 1 has pieces 1 and 2; target word 0 has pieces 0 and 1."""
    assert piece_links(frozenset({(1, 0)}), SOURCE, TARGET) == [(0, 1), (0, 2), (1, 1), (1, 2)]
    assert piece_links(frozenset({(0, 1), (1, 1)}), SOURCE, TARGET) == [(2, 0), (2, 1), (2, 2)]
    assert piece_links(frozenset({(1, 0)}), Words(["ein", "x"], [0]), TARGET) == []


@given(pieces_per_word, pieces_per_word, st.data())
def test_attention_on_piece_links_gives_back_the_word_links(
    source: list[int], target: list[int], data: st.DataObject
) -> None:
    """Rows with equal weights on their linked pieces, read with a threshold below every weight."""
    words = [(s, t) for s, n in enumerate(source) for t, m in enumerate(target) if n and m]
    chosen = frozenset(data.draw(st.lists(st.sampled_from(words)))) if words else frozenset()
    rows = np.zeros((sum(target), sum(source) + 1))
    for t, s in piece_links(chosen, segmented(source), segmented(target)):
        rows[t, s] = 1
    rows[:, -1] = rows.sum(axis=1) == 0
    rows /= np.maximum(rows.sum(axis=1, keepdims=True), 1)
    linking = Linking("threshold", threshold=0.01)
    assert word_alignment(rows, segmented(source), segmented(target), linking).links == chosen


@given(pieces_per_word, pieces_per_word, st.integers(0, 2**32 - 1))
def test_json_restores_the_alignment(source: list[int], target: list[int], seed: int) -> None:
    weights = np.random.default_rng(seed).dirichlet(np.ones(sum(source) + 1), size=sum(target))
    alignment = word_alignment(weights, segmented(source), segmented(target))
    text = json.dumps(alignment.to_json())
    back = WordAlignment.from_json(json.loads(text))
    assert (back.source, back.target, back.links) == (alignment.source, alignment.target, alignment.links)
    np.testing.assert_allclose(back.weights, alignment.weights, atol=5.1e-5)
    np.testing.assert_allclose(back.end_of_sentence, alignment.end_of_sentence, atol=5.1e-5)
    assert json.dumps(back.to_json()) == text


def test_json_is_short_and_readable() -> None:
    assert word_alignment(PIECES / 3, SOURCE, TARGET).to_json() == {
        "source": ["ein", "Hund"],
        "target": ["a", "dog"],
        "weights": [[0.2, 0.0667], [0.0333, 0.2333]],
        "end_of_sentence": [0.0667, 0.0667],
        "links": [[0, 0], [1, 1]],
        "linked_by": "attention",
    }


def test_links_survive_rounded_weights() -> None:
    alignment = WordAlignment(("a", "b"), ("c",), np.array([[0.40001, 0.40002]]), np.array([0.2]))
    assert alignment.links == {(1, 0)}
    assert WordAlignment.from_json(alignment.to_json()).links == {(1, 0)}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"weights": [[0.5, 0.5]]}, r"line 3: weights has shape \[1, 2\]: expected \[2, 2\]"),
        ({"weights": [[0.5], [0.5, 0.5]]}, r"line 3: weights: expected numbers of shape \[2, 2\]"),
        ({"weights": "much"}, "line 3: weights: expected numbers"),
        ({"end_of_sentence": [0.1]}, r"line 3: end_of_sentence has shape \[1\]: expected \[2\]"),
        ({"end_of_sentence": [0.1, float("nan")]}, "line 3: end_of_sentence: expected finite numbers"),
        ({"source": "ein Hund"}, "line 3: source: expected a list of words"),
        ({"target": ["a", 1]}, "line 3: target: expected a list of words"),
        ({"links": [[0, 2]]}, "line 3: link 0-2 is out of range: 2 source and 2 target words"),
        ({"links": [[-1, 0]]}, "line 3: link -1-0 is out of range"),
        ({"links": [[0, 1, 2]]}, "line 3: links: expected a list of pairs"),
        ({"links": "0-0"}, "line 3: links: expected a list of pairs"),
    ],
)
def test_broken_json_is_refused_with_its_place(change: dict[str, Any], message: str) -> None:
    good = word_alignment(PIECES, SOURCE, TARGET).to_json()
    with pytest.raises(AlignmentError, match=message) as error:
        WordAlignment.from_json({**good, **change}, "line 3")
    assert "\n" not in str(error.value)


def test_incomplete_json_is_refused() -> None:
    good = word_alignment(PIECES, SOURCE, TARGET).to_json()
    del good["links"]
    with pytest.raises(AlignmentError, match="^here: 'links' is missing$"):
        WordAlignment.from_json(good, "here")
    with pytest.raises(AlignmentError, match="^here: expected a JSON object, got list$"):
        WordAlignment.from_json([good], "here")


def test_alignments_are_equal_by_value_and_immutable() -> None:
    one, same = word_alignment(PIECES, SOURCE, TARGET), word_alignment(PIECES, SOURCE, TARGET)
    other = word_alignment(PIECES[[0, 1, 1]], SOURCE, TARGET)
    assert one == same and hash(one) == hash(same)
    assert one != other
    with pytest.raises(ValueError, match="read-only"):
        one.weights[0, 0] = 1


def test_links_are_shown_in_pharaoh_format() -> None:
    assert word_alignment(PIECES, SOURCE, TARGET).pharaoh() == "0-0 1-1"


@pytest.mark.parametrize(
    ("linking", "legend"),
    [
        (Linking("argmax"), "each target word's strongest attention"),
        (Linking("argmax", "source"), "each source word's strongest attention"),
        (Linking("threshold", "source", threshold=0.25), "at least 25 % of the source word's attention"),
        (Linking("share"), "the target word's largest share (%) of a source word's attention"),
        (
            Linking("shares", "source", 0.5),
            "the source word's largest share (%) of a target word's attention, or a share of 50 %",
        ),
    ],
)
def test_a_legend_names_the_rule(linking: Linking, legend: str) -> None:
    assert linking.in_words == legend


def test_shares_of_attention_are_those_that_the_rule_compares() -> None:
    """With the floor of 0.1 the columns hold 0.6 and 0.14. Source word 1 receives less than 0.05."""
    weights = np.array([[0.4, 0.03], [0.1, 0.01]], np.float32)
    np.testing.assert_allclose(link_shares(weights), [[0.4 / 0.6, 0.03 / 0.14], [0.1 / 0.6, 0.01 / 0.14]], atol=1e-6)
    of_source = link_shares(weights, Linking(side="source"))
    np.testing.assert_allclose(of_source, [[0.4 / 0.5, 0], [0.1 / 0.2, 0]], atol=1e-6)


def test_alignments_differ_by_each_part() -> None:
    one = word_alignment(PIECES, SOURCE, TARGET)
    changes: list[dict[str, Any]] = [
        {"source": ("ein", "Hut")},
        {"target": ("a", "hat")},
        {"weights": np.array([[0.6, 0.2], [0.2, 0.6]])},
        {"end_of_sentence": np.array([0.2, 0.1])},
        {"links": frozenset({(0, 0)})},
        {"linked_by": "aligner"},
    ]
    for change in changes:
        assert replace(one, **change) != one
    assert replace(one, weights=one.weights.copy()) == one
    assert one != "a dog"
