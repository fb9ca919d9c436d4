"""The gold links in data/multi30k/links and data/tatoeba/links are well-formed."""

from __future__ import annotations

from pathlib import Path

import pytest

from nmt.alignment.pharaoh_and_naacl import format_pharaoh, parse_pharaoh

DATA = Path(__file__).parents[2] / "data"


@pytest.mark.parametrize(
    ("name", "pairs", "lines", "sure"),
    [
        ("multi30k/links/val", 150, 1014, 1763),
        ("multi30k/links/test_2016_flickr", 150, 1000, 1693),
        ("tatoeba/links/fra-eng", 100, 142787, 595),
    ],
)
def test_each_line_has_the_number_of_a_pair_and_its_sorted_links(name, pairs, lines, sure):
    rows = [row.split("\t") for row in (DATA / f"{name}.tsv").read_text(encoding="utf-8").splitlines()]
    numbers = [int(number) for number, _ in rows]
    assert numbers == sorted(set(numbers)) and len(numbers) == pairs
    assert numbers[0] >= 1 and numbers[-1] <= lines
    found = [parse_pharaoh(links, f"{name}, line {number}") for number, links in rows]
    assert [format_pharaoh(gold.sure, gold.possible) for gold in found] == [links for _, links in rows]
    assert sum(len(gold.sure) for gold in found) == sure
