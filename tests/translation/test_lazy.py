"""Results that are computed as they are read, and one translation for a string."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count, islice

import pytest
from hand_written import LINES, Copier, make_run
from hypothesis import given
from hypothesis import strategies as st

import nmt
from nmt.errors import NmtError
from nmt.translation.lazy import Lazy
from nmt.translation.request import Constraint
from nmt.translation.translator import Translator


def numbers(limit: int | None = None) -> tuple[Lazy[int], list[int]]:
    """A lazy 0, 1, 2, ..., and the numbers that it has computed."""
    computed: list[int] = []

    def compute() -> Iterator[int]:
        for number in count() if limit is None else range(limit):
            computed.append(number)
            yield number

    return Lazy(compute(), "numbers"), computed


def test_an_index_computes_only_the_results_up_to_its_own():
    found, computed = numbers()
    assert (found[2], found[0], found[1:4]) == (2, 0, [1, 2, 3])
    assert computed == [0, 1, 2, 3]
    assert list(islice(found, 6)) == [0, 1, 2, 3, 4, 5]


def test_an_index_behind_the_end_is_an_index_error():
    found, _ = numbers(3)
    assert (found[-1], found[-3], found[1:], found[:-1], found[::2]) == (2, 0, [1, 2], [0, 1], [0, 2])
    with pytest.raises(IndexError):
        found[3]
    assert list(found) == [0, 1, 2]


@given(ends=st.tuples(*[st.none() | st.integers(-8, 8)] * 2), step=st.sampled_from([None, -3, -2, -1, 1, 2]))
def test_a_slice_is_that_of_a_list(ends, step):
    found, _ = numbers(5)
    assert found[slice(*ends, step)] == list(range(5))[slice(*ends, step)]


def test_a_slice_with_a_negative_step_computes_only_its_own_results():
    found, computed = numbers()
    assert found[4:1:-2] == [4, 2] and computed == [0, 1, 2, 3, 4]
    assert [next(found), next(found)] == [0, 1]
    assert found[3:1:-1] == [3, 2]
    with pytest.raises(NmtError, match="2 numbers have already been iterated over"):
        found[3:0:-1]


def test_an_error_of_the_source_comes_again():
    found = Lazy((1 // divisor for divisor in (1, 0, 1)), "quotients")
    assert found[0] == 1
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            found[2]
    assert next(found) == 1
    with pytest.raises(ZeroDivisionError):
        next(found)


def test_results_that_were_iterated_over_are_not_kept():
    found, _ = numbers(5)
    assert next(found) == 0
    assert (found[1], found[2:4]) == (1, [2, 3])
    for index in (0, -1, slice(0, 2), slice(1, None)):
        with pytest.raises(NmtError, match="1 numbers have already been iterated over .* make a list"):
            found[index]
    assert list(found) == [1, 2, 3, 4]


def test_a_lazy_result_says_so():
    found, computed = numbers()
    assert repr(found) == "<numbers, computed as they are read: iterate, take one by [0], or make a list>"
    with pytest.raises(AttributeError, match=r"so they have no 'text' together: take one of them, as in found\[0\]"):
        found.text  # noqa: B018
    assert not computed


@pytest.fixture
def translator() -> Translator:
    return Translator(make_run(beam_size=3), Copier())


def test_a_string_is_one_sentence(translator):
    assert translator.translate_one("ba ki ma").text == "ba ki ma"
    assert [one.text for one in translator.translate("ba ki ma")] == ["ba ki ma"]
    assert translator.translate("ba ki ma")[0].source == "ba ki ma"
    assert [[one.text for one in found] for found in translator.translate_nbest("ba ki", nbest=2)] == [
        ["ba ki", "ba ki ki"]
    ]
    assert [pair.alignment.pharaoh() for pair in translator.align("ba ki", "ba ma")] == ["0-0 1-1"]
    assert translator.translate_one("ba", constraints=[Constraint("le")]).text == "le ba"


def test_an_index_takes_one_of_several(translator):
    found = translator.translate(LINES)
    assert found[1].text == LINES[1]
    assert len(translator.inference.calls) == 1  # the sentences of a window are still searched together
    assert [one.text for one in found] == LINES


def test_a_translation_can_be_drawn(translator, tmp_path):
    translation = translator.translate_one("ba ki")
    nmt.save_heatmap(translation, tmp_path / "translation.svg")
    nmt.save_heatmap(translation.alignment, tmp_path / "alignment.svg")
    assert (tmp_path / "translation.svg").read_bytes() == (tmp_path / "alignment.svg").read_bytes()
    with pytest.raises(NmtError, match=r"expected one translation or alignment, such as the first: found\[0\]"):
        nmt.save_heatmap(translator.translate("ba ki"), tmp_path / "no.svg")
