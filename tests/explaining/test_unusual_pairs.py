"""The outliers of a corpus, against numbers worked out by hand, and the reasons in words."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from explained_pairs import pair, random_measures
from hypothesis import given
from hypothesis import strategies as st

from nmt.alignment.word_alignment import WordAlignment
from nmt.explaining.pair_measures import MEASURES, PairMeasures, measure_pair
from nmt.explaining.unusual_pairs import UNUSUAL, find_outliers, reason

NAMES = [measure.name for measure in MEASURES]


def column(name: str, values: list[float]) -> np.ndarray:
    numbers = np.zeros((len(values), len(MEASURES)))
    numbers[:, NAMES.index(name)] = values
    return numbers


def test_modified_z_scores_by_hand() -> None:
    # Median 3, deviations 2 1 0 1 97, their median 1.
    outliers = find_outliers(column("entropy", [1, 2, 3, 4, 100]))
    assert outliers.medians[NAMES.index("entropy")] == 3
    expected = 0.6745 * np.array([-2, -1, 0, 1, 97])
    np.testing.assert_allclose(outliers.z_scores[:, NAMES.index("entropy")], expected)
    np.testing.assert_allclose(outliers.scores, np.maximum(expected, 0))  # the other measures are 0 for all
    assert outliers.order.tolist() == [4, 3, 0, 1, 2]


def test_low_is_bad_for_a_log_probability_and_both_are_for_a_length() -> None:
    assert find_outliers(column("log_probability", [-1, -2, -3, -40, -2])).order[0] == 3
    assert find_outliers(column("log_probability", [-1, -2, -3, 40, -2])).z_scores[3, 0] < 0
    assert find_outliers(column("length_ratio", [0, 0.1, -0.1, -3, 0.2])).order[0] == 3
    assert find_outliers(column("length_ratio", [0, 0.1, -0.1, 3, 0.2])).order[0] == 3


def test_a_measure_that_is_equal_for_most_pairs_still_counts() -> None:
    """The median absolute deviation is 0; the mean one is 1 / 5, and no divisor is below 0.05."""
    assert find_outliers(column("unattended", [0, 0, 0, 0, 1])).scores[4] == pytest.approx(1 / (1.253314 * 0.2))
    assert find_outliers(column("unattended", [0] * 999 + [0.5])).scores[999] == pytest.approx(0.5 / 0.05)
    assert find_outliers(column("unattended", [0.3] * 5)).scores.tolist() == [0] * 5


def test_blank_sides_come_first_and_blank_pairs_last() -> None:
    pairs = [
        WordAlignment((), (), np.zeros((0, 0)), np.zeros(0)),
        pair("a b", "x y", [[1, 0], [0, 1]]),
        WordAlignment(("a",), (), np.zeros((0, 1)), np.zeros(0)),
        pair("a b", "x y z", [[0, 0], [0, 0], [0, 0]]),
        WordAlignment((), ("x",), np.zeros((1, 0)), np.zeros(1)),
    ]
    found = [measure_pair(p, -1.0, 0 if i in (0, 2, 4) else 2) for i, p in enumerate(pairs)]
    outliers = find_outliers([f.row() for f in found])
    assert outliers.order.tolist() == [2, 4, 1, 3, 0]  # pairs 1 and 3 are equally far from the median
    assert np.isinf(outliers.scores[[2, 4]]).all() and math.isnan(outliers.scores[0])
    words = [
        reason(f, z, outliers.medians.tolist(), p.source, p.target)
        for f, z, p in zip(found, outliers.z_scores, pairs, strict=True)
    ]
    assert words[0] == "both sides are blank"
    assert (words[2], words[4]) == ("the target is blank", "the source is blank")
    assert json.loads(json.dumps(found[4].to_json()))["length_ratio"] is None


def test_no_pairs_and_one_pair() -> None:
    assert find_outliers([]).order.tolist() == []
    assert find_outliers(column("entropy", [5])).scores.tolist() == [0]


@pytest.mark.slow
@given(st.lists(random_measures(), min_size=1, max_size=12), st.randoms())
def test_scores_do_not_depend_on_the_order_of_the_pairs(found: list[PairMeasures], random: object) -> None:
    order = list(range(len(found)))
    random.shuffle(order)  # type: ignore[attr-defined]
    numbers = np.array([f.row() for f in found])
    np.testing.assert_allclose(find_outliers(numbers[order]).scores, find_outliers(numbers).scores[order])
    assert sorted(find_outliers(numbers).order.tolist()) == sorted(order)
    assert (np.diff(find_outliers(numbers).scores[find_outliers(numbers).order]) <= 0).all()


def test_reasons_in_words() -> None:
    source, target = ["the", "red", "dog"], ["le", "chien", "le", "chien"]
    weights = [[1, 0, 0], [0, 0, 1], [1, 0, 0], [0.2, 0, 0.8]]
    found = measure_pair(pair("the red dog", "le chien le chien", weights), -20, 5)
    typical = [-0.5, 0.2, 0.02, 0.0, 0.0, 0.0, 0.0]

    def words(**z: float) -> str:
        return reason(found, [z.get(name, 0.0) for name in NAMES], typical, source, target)

    assert words() == "nothing unusual"
    assert words(entropy=UNUSUAL - 0.01) == "nothing unusual"
    assert words(log_probability=9) == "unlikely: -4.00 nats per piece, usually -0.50"
    assert words(unattended=5) == "too little attention, perhaps dropped: 'red'"
    assert words(overattended=5) == "too much attention, perhaps repeated: 'the'"
    assert words(repeated=5, overattended=6) == (
        "too much attention, perhaps repeated: 'the'; repeats earlier words: 'le chien'"
    )
    assert words(length_ratio=4) == "long: 4 words for 3, usually 3"
    assert words(entropy=UNUSUAL).startswith("attention is spread out: 0.13 nats")
    assert words(end_of_sentence=4) == "attention is on the end of sentence: 0.00 of it, usually 0.02"
    short = replace(found, length_ratio=0.5)
    assert reason(short, [0.0] * 6 + [7.0], typical, source, target[:1]) == "short: 1 word for 3, usually 3"


def test_constructed_faults_come_first() -> None:
    """Thirty pairs with noisy diagonal attention are followed by one pair for each fault."""
    random = np.random.default_rng(0)
    pairs = []
    for number in range(30):
        words = 5 + number % 4
        weights = 0.85 * np.eye(words) + 0.1 * random.dirichlet(np.ones(words), words)
        aligned = pair(" ".join("abcdefgh"[:words]), " ".join("stuvwxyz"[:words]), weights.tolist())
        pairs.append(measure_pair(aligned, -3, 9))
    flat = np.full((5, 5), 0.2).tolist()
    dropped = [[1, 0, 0, 0, 0], [0, 1, 0, 0, 0]]
    repeated = [[1, 0, 0], [0, 1, 0], [1, 0, 0], [0, 1, 0], [0.9, 0, 0.1]]
    faults = [
        measure_pair(pair("a b c d e", "v w x y z", flat), -3, 9),
        measure_pair(pair("a b c d e", "v w", dropped), -3, 9),
        measure_pair(pair("a b c", "x y x y z", repeated), -3, 9),
        measure_pair(pair("a b c d e", "v w x y z", np.eye(5).tolist()), -60, 9),
        measure_pair(pair("a b c d e", "v w x y z", (0.5 * np.eye(5)).tolist()), -3, 9),
    ]
    outliers = find_outliers([found.row() for found in pairs + faults])
    assert set(outliers.order[:5].tolist()) == {30, 31, 32, 33, 34}
    assert NAMES[outliers.z_scores[30].argmax()] == "entropy"
    assert NAMES[outliers.z_scores[33].argmax()] == "log_probability"
    assert NAMES[outliers.z_scores[34].argmax()] in ("end_of_sentence", "entropy")
