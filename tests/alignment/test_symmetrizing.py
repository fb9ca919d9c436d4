"""Symmetrizing the alignments of two directions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt.alignment.errors import AlignmentError
from nmt.alignment.links import Links
from nmt.alignment.symmetrizing import symmetrize

# Two directions. Rows are source words:
#     forward       backward
#     x . . .       x . . .        0-0 in both, 1-1 beside it in one, 2-1 and 2-2 in the other, 4-4 far from all,
#     . x . .       . . . .        5-0 far from all too, whose target word 0 has a link, whose source word has none
#     . . . .       . x x .
FORWARD: Links = frozenset({(0, 0), (1, 1), (4, 4)})
BACKWARD: Links = frozenset({(0, 0), (2, 1), (2, 2), (5, 0)})


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("intersection", {(0, 0)}),
        ("union", {(0, 0), (1, 1), (4, 4), (2, 1), (2, 2), (5, 0)}),
        # 1-1 is diagonal to 0-0. Then 2-1 is below 1-1 with an unlinked source word, and 2-2 beside it.
        ("grow-diag", {(0, 0), (1, 1), (2, 1), (2, 2)}),
        ("grow-diag-final", {(0, 0), (1, 1), (2, 1), (2, 2), (4, 4), (5, 0)}),
        ("grow-diag-final-and", {(0, 0), (1, 1), (2, 1), (2, 2), (4, 4)}),
    ],
)
def test_each_method_of_symmetrizing(method: str, expected: set[tuple[int, int]]) -> None:
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
def test_two_equal_directions_stay_unchanged(links: Links) -> None:
    for method in ("intersection", "union", "grow-diag", "grow-diag-final", "grow-diag-final-and"):
        assert symmetrize(links, links, method) == links


def test_an_unknown_method_is_refused() -> None:
    with pytest.raises(AlignmentError, match="cannot symmetrize by 'grow': expected intersection, union"):
        symmetrize(FORWARD, BACKWARD, "grow")  # type: ignore[arg-type]
