"""Classes of words, such as articles or negation, and the links of each class."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from nmt.alignment.links import Gold, Links
from nmt.evaluation.errors import EvaluationError


class WordClass(NamedTuple):
    """Words of both languages, in lower case. A link belongs to the class if one of its words does."""

    name: str
    source: frozenset[str]
    target: frozenset[str]

    def links(self, links: Links, source: Sequence[str], target: Sequence[str]) -> Links:
        """The links that belong to the class.

        Args:
            links: between these words; links to other words are left out.
            source, target: the words of the pair.
        """
        ours = {place for place, word in enumerate(source) if word.lower() in self.source}
        theirs = {place for place, word in enumerate(target) if word.lower() in self.target}
        return frozenset((s, t) for s, t in links if s in ours or t in theirs)

    def gold(self, gold: Gold, source: Sequence[str], target: Sequence[str]) -> Gold:
        """The gold links that belong to the class."""
        return Gold(*(self.links(links, source, target) for links in gold))


def read_word_classes(lines: Iterable[str], where: str) -> list[WordClass]:
    """The classes of a file: on each line the name, a tab, source words, a tab, target words.

    Spaces stand between words. Blank lines are skipped.

    Raises:
        EvaluationError: a line of another form, or a second line for a class.
    """
    classes: dict[str, WordClass] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        name, *sides = (cell.strip() for cell in line.split("\t"))
        if not name or len(sides) not in (1, 2) or not any(sides):
            raise EvaluationError(
                f"{where}:{number}: expected the name of a class, a tab, its source words, a tab and its target words"
            )
        if name in classes:
            raise EvaluationError(f"{where}:{number}: '{name}' is there twice: give all its words on one line")
        source, target = (frozenset(side.lower().split()) for side in [*sides, ""][:2])
        classes[name] = WordClass(name, source, target)
    if not classes:
        raise EvaluationError(f"{where}: has no word classes: expected a line for each, such as: negation, a tab, not")
    return list(classes.values())
