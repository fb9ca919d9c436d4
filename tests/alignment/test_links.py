"""Gold alignments in their formats, and two directions made one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt.alignment.links import AlignmentError, Gold, Links, require_in_range
from nmt.alignment.pharaoh_and_naacl import format_pharaoh, parse_pharaoh, read_gold
from nmt.alignment.symmetrizing import symmetrize


def gold(sure: set[tuple[int, int]], possible: set[tuple[int, int]]) -> Gold:
    return Gold(frozenset(sure), frozenset(possible))


def test_pharaoh_has_sure_and_possible_links() -> None:
    gold = parse_pharaoh("0-0 1-2\t3p4 0p0\n", "gold.txt, line 1")
    assert gold == Gold(sure=frozenset({(0, 0), (1, 2)}), possible=frozenset({(0, 0), (1, 2), (3, 4)}))
    assert parse_pharaoh("", "gold.txt, line 2") == Gold(frozenset(), frozenset())


@pytest.mark.parametrize("token", ["1:2", "1-", "-1-2", "1-2-3", "a-1", "1P2", "1.0-2", "٣-1", "1-" + "9" * 5000])
def test_a_token_that_is_no_link_is_named_with_its_place(token: str) -> None:
    with pytest.raises(AlignmentError) as error:
        parse_pharaoh(f"0-0 {token} 2-2", "gold.txt, line 7")
    expected = f"gold.txt, line 7: '{token}' is no link: expected one such as 1-2 (sure) or 3p4 (possible)"
    assert str(error.value) == expected


def test_pharaoh_is_written_sorted_by_number() -> None:
    assert format_pharaoh({(10, 1), (2, 3), (2, 0)}) == "2-0 2-3 10-1"
    assert format_pharaoh({(1, 1)}, possible={(1, 1), (0, 4)}) == "0p4 1-1"


link_sets = st.frozensets(st.tuples(st.integers(0, 99), st.integers(0, 99)), max_size=8)


@given(link_sets, link_sets)
def test_pharaoh_reads_what_it_wrote(sure: frozenset[tuple[int, int]], more: frozenset[tuple[int, int]]) -> None:
    assert parse_pharaoh(format_pharaoh(sure, more), "here") == Gold(sure, sure | more)


def test_pharaoh_files_have_a_line_a_sentence_and_may_count_from_one() -> None:
    expected = [gold({(0, 1)}, {(0, 1), (2, 0)}), gold(set(), set())]
    assert read_gold(["0-1 2p0", ""], "gold") == expected
    assert read_gold(["1-2 3p1", ""], "gold", base=1) == expected


def test_naacl_files_have_a_line_a_link_counted_from_one() -> None:
    """Sentence 2 has none, sentence 4 neither; without a letter a link is sure; a fifth column is a confidence."""
    lines = ["1 1 2 S", "0001 3 1 P", "", "3 1 1", "3 2 2 S 0.75"]
    expected = [gold({(0, 1)}, {(0, 1), (2, 0)}), gold(set(), set()), gold({(0, 0), (1, 1)}, {(0, 0), (1, 1)})]
    assert read_gold(lines, "gold", "naacl") == expected
    assert read_gold(lines, "gold", "naacl", sentences=4) == [*expected, gold(set(), set())]
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
def test_a_gold_file_that_cannot_be_is_named_with_its_line(lines: list[str], options: dict, message: str) -> None:
    with pytest.raises(AlignmentError) as error:
        read_gold(lines, "g", **options)
    assert str(error.value).startswith(message)


def test_links_out_of_range_are_named() -> None:
    require_in_range(gold({(1, 0)}, {(1, 0)}), ["a", "b"], ["c"], "gold, sentence 3")
    with pytest.raises(
        AlignmentError, match=r"^gold, sentence 3: link 2-0, counted from 0, is out of range: .* 2 source"
    ):
        require_in_range(gold({(1, 0)}, {(1, 0), (2, 0)}), ["a", "b"], ["c"], "gold, sentence 3")


# Two directions. Rows are source words:
#     forward       backward
#     x . . .       x . . .        0-0 in both, 1-1 beside it in one, 2-1 and 2-2 in the other, 4-4 far from all,
#     . x . .       . . . .        4-0 far from all too, whose target word 0 has a link, whose source word has none
#     . . . .       . x x .
FORWARD: Links = frozenset({(0, 0), (1, 1), (4, 4)})
BACKWARD: Links = frozenset({(0, 0), (2, 1), (2, 2), (5, 0)})


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("intersection", {(0, 0)}),
        ("union", {(0, 0), (1, 1), (4, 4), (2, 1), (2, 2), (5, 0)}),
        # 1-1 is diagonal to 0-0; then 2-1 is below it, its source word is free; then 2-2 beside that, its target word.
        ("grow-diag", {(0, 0), (1, 1), (2, 1), (2, 2)}),
        ("grow-diag-final", {(0, 0), (1, 1), (2, 1), (2, 2), (4, 4), (5, 0)}),
        ("grow-diag-final-and", {(0, 0), (1, 1), (2, 1), (2, 2), (4, 4)}),
    ],
)
def test_symmetrization_by_hand(method: str, expected: set[tuple[int, int]]) -> None:
    assert symmetrize(FORWARD, BACKWARD, method) == expected
    assert symmetrize(BACKWARD, FORWARD, method) == expected


small_sets = st.frozensets(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=10)


@given(small_sets, small_sets)
def test_symmetrizations_lie_between_intersection_and_union(forward: Links, backward: Links) -> None:
    methods = ("intersection", "grow-diag", "grow-diag-final-and", "grow-diag-final", "union")
    found = [symmetrize(forward, backward, method) for method in methods]
    assert found[0] <= found[1] <= found[2] <= found[4]
    assert found[1] <= found[3] <= found[4]
    # Every word that has a link in either direction keeps one under grow-diag-final.
    for side in (0, 1):
        assert {link[side] for link in found[3]} == {link[side] for link in found[4]}


@given(small_sets)
def test_two_equal_directions_are_left_alone(links: Links) -> None:
    for method in ("intersection", "union", "grow-diag", "grow-diag-final", "grow-diag-final-and"):
        assert symmetrize(links, links, method) == links


def test_an_unknown_way_is_refused() -> None:
    with pytest.raises(AlignmentError, match="'grow' is no way to symmetrize: expected intersection, union"):
        symmetrize(FORWARD, BACKWARD, "grow")  # type: ignore[arg-type]


@given(st.lists(st.tuples(link_sets, link_sets), max_size=4))
def test_naacl_lines_are_read_back(sentences: list[tuple[Links, Links]]) -> None:
    golds = [Gold(sure, sure | more) for sure, more in sentences]
    lines = [
        f"{number} {s + 1} {t + 1} {'S' if (s, t) in found.sure else 'P'}"
        for number, found in enumerate(golds, start=1)
        for s, t in found.possible
    ]
    assert read_gold(lines, "gold", "naacl", sentences=len(golds)) == golds
