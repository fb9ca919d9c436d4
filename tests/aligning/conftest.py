"""A tiny language whose links are known, and an aligner of it."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

NOUNS = {"dog": "chien", "cat": "chat", "house": "maison", "tree": "arbre", "book": "livre", "bird": "oiseau"}
COLOURS = {"red": "rouge", "green": "vert", "old": "vieux", "small": "petit", "quiet": "calme"}
VERBS = {"sees": "voit", "finds": "trouve", "likes": "aime", "draws": "dessine"}


def pair(random: random.Random) -> tuple[str, str, set[tuple[int, int]]]:
    """A sentence, its translation with the adjective behind the noun, and their links."""
    source, target, links = [], [], set()
    for part in ("subject", "verb", "object"):
        start = len(source)
        if part == "verb":
            verb = random.choice(sorted(VERBS))
            source, target = [*source, verb], [*target, VERBS[verb]]
            links.add((start, start))
            continue
        colour, noun = random.choice(sorted(COLOURS)), random.choice(sorted(NOUNS))
        source, target = [*source, "the", colour, noun], [*target, "le", NOUNS[noun], COLOURS[colour]]
        links |= {(start, start), (start + 1, start + 2), (start + 2, start + 1)}
    return " ".join(source), " ".join(target), links


@pytest.fixture(scope="session")
def tiny() -> list[tuple[str, str, set[tuple[int, int]]]]:
    """Pairs with their links."""
    generator = random.Random(1)
    return [pair(generator) for _ in range(300)]


@pytest.fixture(scope="session")
def text(tmp_path_factory, tiny) -> Path:
    """A directory with the pairs as my.en and my.fr."""
    directory = tmp_path_factory.mktemp("aligner")
    (directory / "my.en").write_text("".join(f"{source}\n" for source, _, _ in tiny), encoding="utf-8")
    (directory / "my.fr").write_text("".join(f"{target}\n" for _, target, _ in tiny), encoding="utf-8")
    return directory
