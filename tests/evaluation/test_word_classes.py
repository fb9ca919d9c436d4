"""Word classes and their links."""

from __future__ import annotations

import pytest

from nmt.alignment.links import Gold
from nmt.evaluation.errors import EvaluationError
from nmt.evaluation.word_classes import read_word_classes

LINES = ["negation\tnot never\tne n' pas", "", "articles\tthe a"]
SOURCE, TARGET = ["The", "dog", "does", "Not", "bark"], ["Le", "chien", "n'", "aboie", "pas"]


def test_a_link_belongs_to_a_class_if_one_of_its_words_does() -> None:
    negation, articles = read_word_classes(LINES, "classes.tsv")
    links = frozenset({(0, 0), (1, 1), (2, 3), (3, 2), (3, 4), (1, 2), (3, 3)})
    assert negation.links(links, SOURCE, TARGET) == {(3, 2), (3, 4), (1, 2), (3, 3)}
    assert articles.links(links, SOURCE, TARGET) == {(0, 0)}
    gold = Gold(frozenset({(0, 0), (3, 2)}), frozenset({(0, 0), (3, 2), (3, 4), (1, 1)}))
    assert negation.gold(gold, SOURCE, TARGET) == Gold(frozenset({(3, 2)}), frozenset({(3, 2), (3, 4)}))


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["negation not"], "^classes.tsv:1: expected the name of a class, a tab"),
        (["a\tthe\tle\tla"], "^classes.tsv:1: expected"),
        (["a\t\t "], "^classes.tsv:1: expected"),
        (["a\tthe", "a\tan"], "^classes.tsv:2: 'a' is there twice"),
        ([""], "^classes.tsv: has no word classes"),
    ],
)
def test_other_lines_are_refused_with_their_place(lines: list[str], message: str) -> None:
    with pytest.raises(EvaluationError, match=message):
        read_word_classes(lines, "classes.tsv")
