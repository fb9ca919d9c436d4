"""Gold alignments in the Pharaoh and NAACL formats."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt.alignment.errors import AlignmentError
from nmt.alignment.links import Gold, Links, require_in_range
from nmt.alignment.pharaoh_and_naacl import format_pharaoh, parse_pharaoh, read_gold


def gold(sure: set[tuple[int, int]], possible: set[tuple[int, int]]) -> Gold:
    return Gold(frozenset(sure), frozenset(possible))


def test_pharaoh_has_sure_and_possible_links() -> None:
    gold = parse_pharaoh("0-0 1-2\t3p4 0p0\n", "gold.txt, line 1")
    assert gold == Gold(sure=frozenset({(0, 0), (1, 2)}), possible=frozenset({(0, 0), (1, 2), (3, 4)}))
    assert parse_pharaoh("", "gold.txt, line 2") == Gold(frozenset(), frozenset())


@pytest.mark.parametrize("token", ["1:2", "1-", "-1-2", "1-2-3", "a-1", "1P2", "1.0-2", "٣-1", "1-" + "9" * 5000])
def test_a_malformed_token_is_named_with_its_place(token: str) -> None:
    with pytest.raises(AlignmentError) as error:
        parse_pharaoh(f"0-0 {token} 2-2", "gold.txt, line 7")
    expected = f"gold.txt, line 7: '{token}' is no link: expected one such as 1-2 (sure) or 3p4 (possible)"
    assert str(error.value) == expected


def test_pharaoh_is_written_sorted_by_number() -> None:
    assert format_pharaoh({(10, 1), (2, 3), (2, 0)}) == "2-0 2-3 10-1"
    assert format_pharaoh({(1, 1)}, possible={(1, 1), (0, 4)}) == "0p4 1-1"


link_sets = st.frozensets(st.tuples(st.integers(0, 99), st.integers(0, 99)), max_size=8)


@given(link_sets, link_sets)
def test_pharaoh_links_survive_writing_and_reading(
    sure: frozenset[tuple[int, int]], more: frozenset[tuple[int, int]]
) -> None:
    assert parse_pharaoh(format_pharaoh(sure, more), "here") == Gold(sure, sure | more)


def test_pharaoh_files_have_a_line_per_sentence_and_may_count_from_one() -> None:
    expected = [gold({(0, 1)}, {(0, 1), (2, 0)}), gold(set(), set())]
    assert read_gold(["0-1 2p0", ""], "gold") == expected
    assert read_gold(["1-2 3p1", ""], "gold", base=1) == expected


def test_naacl_files_have_a_line_per_link_counted_from_one() -> None:
    """Sentences 2 and 4 have no links. A link without a letter is sure; a fifth column is a confidence."""
    lines = ["1 1 2 S", "0001 3 1 P", "", "3 1 1", "3 2 2 S 0.75"]
    expected = [gold({(0, 1)}, {(0, 1), (2, 0)}), gold(set(), set()), gold({(0, 0), (1, 1)}, {(0, 0), (1, 1)})]
    assert read_gold(lines, "gold", "naacl") == expected
    assert read_gold(lines, "gold", "naacl", sentences=4) == [*expected, gold(set(), set())]
    assert read_gold([], "gold", "naacl") == []
    assert read_gold(["1 0 1"], "gold", "naacl", base=0) == [gold({(0, 1)}, {(0, 1)})]


@pytest.mark.parametrize(
    ("lines", "options", "message"),
    [
        (["0-1", "1-0"], {"base": 1}, "g:1: link 0-1 names word 0, but words are counted from 1"),
        (["1 1 1", "1 0 2"], {"form": "naacl"}, "g:2: link 0-2 names word 0, but words are counted from 1"),
        (["0-0 1:1"], {}, "g:1: '1:1' is no link"),
        (["1 1 1", "1 2"], {"form": "naacl"}, "g:2: '1 2' is no link: expected sentence, source and target word"),
        (["1 1 1 X"], {"form": "naacl"}, "g:1: '1 1 1 X' is no link"),
        (["0 1 1"], {"form": "naacl"}, "g:1: there is no sentence 0: expected 1 or more"),
        (["3 1 1"], {"form": "naacl", "sentences": 2}, "g:1: there is no sentence 3: expected 1 to 2"),
    ],
)
def test_an_impossible_gold_file_is_refused_with_its_line(lines: list[str], options: dict, message: str) -> None:
    with pytest.raises(AlignmentError) as error:
        read_gold(lines, "g", **options)
    assert str(error.value).startswith(message)


def test_links_out_of_range_are_named() -> None:
    require_in_range(gold({(1, 0)}, {(1, 0)}), ["a", "b"], ["c"], "gold, sentence 3")
    with pytest.raises(
        AlignmentError, match=r"^gold, sentence 3: link 2-0, counted from 0, is out of range: .* 2 source"
    ):
        require_in_range(gold({(1, 0)}, {(1, 0), (2, 0)}), ["a", "b"], ["c"], "gold, sentence 3")


@given(st.lists(st.tuples(link_sets, link_sets), max_size=4))
def test_naacl_links_survive_writing_and_reading(sentences: list[tuple[Links, Links]]) -> None:
    golds = [Gold(sure, sure | more) for sure, more in sentences]
    lines = [
        f"{number} {s + 1} {t + 1} {'S' if (s, t) in found.sure else 'P'}"
        for number, found in enumerate(golds, start=1)
        for s, t in found.possible
    ]
    assert read_gold(lines, "gold", "naacl", sentences=len(golds)) == golds
