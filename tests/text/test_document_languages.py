"""Tags of languages in documents."""

from __future__ import annotations

import pytest
from documents import PO_HEADER, languages

from nmt.config import CorpusConfig
from nmt.text.documents import declared_languages
from nmt.text.languages.matching import best_match, same_language, spelled


@pytest.mark.parametrize(
    ("tag", "expected"),
    [
        ("en_US", "en-US"),
        ("sr@latin", "sr-Latn"),
        ("sr_RS.UTF-8@cyrillic", "sr-Cyrl-RS"),
        ("ca@valencia", "ca"),
        ("de_DE.UTF-8", "de-DE"),
        ("x-none", "und"),
        ("x-klingon", "und"),
        ("English", "und"),
        ("C", "und"),
        ("", "und"),
    ],
)
def test_a_tag_is_a_language_that_a_run_can_record(tmp_path, tag, expected):
    assert spelled(tag).tag == expected
    CorpusConfig(source_language=spelled(tag).tag)
    (tmp_path / "a.po").write_text(PO_HEADER.replace("fr", tag))
    assert declared_languages(str(tmp_path / "a.po"), languages()).target.tag == expected


def test_tags_of_no_language_differ():
    assert same_language("x-one", "X_One")
    assert not same_language("x-one", "x-two")
    assert best_match("x-two", ["x-one", "x-two"]) == 1
    assert best_match("de", ["x-one"]) is None
