"""A vocabulary file is measured before SentencePiece reads it."""

from __future__ import annotations

import re

import pytest
from protocol_buffers import field, number

from nmt.config import ConfigError, VocabularyConfig
from nmt.text import model_sizes
from nmt.text.model_sizes import require_sizes

MOST = model_sizes.PIECES


@pytest.fixture(autouse=True)
def small_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """At most 4 pieces and 100 bytes of settings."""
    monkeypatch.setattr(model_sizes, "PIECES", 4)
    monkeypatch.setattr(model_sizes, "SETTINGS", 100)


PIECES = field(1, b"abc") * 2 + field(1, bytes(127)) + field(1, b"\x07" * 128)
"""Four pieces: three sizes take one byte, and the last one takes two."""
NUMBERS = number(9 << 3 | 0) + number(10**9) + number(9 << 3 | 1) + bytes(8) + number(9 << 3 | 5) + bytes(4)
"""Settings that are numbers: of variable length, of eight bytes, and of four bytes."""


@pytest.mark.parametrize(
    "model",
    [
        PIECES,
        PIECES + NUMBERS + field(2, bytes(88)),
        NUMBERS + field(2, bytes(88)) + PIECES,
        field(2, bytes(50)) + field(700, bytes(50)),
        number(9 << 3 | 0) + number(2**63) + PIECES,
    ],
)
def test_models_within_the_bounds_are_accepted(model: bytes) -> None:
    require_sizes(model)


TOO_MANY = "more pieces or settings than any vocabulary has"


@pytest.mark.parametrize(
    ("model", "problem"),
    [
        (PIECES + field(1, b"a"), TOO_MANY),
        (PIECES + field(1, bytes(200)), TOO_MANY),
        (NUMBERS + field(2, bytes(89)), TOO_MANY),
        (field(2, bytes(50)) + field(3, bytes(51)), TOO_MANY),
        (PIECES[:-1], "a field is cut off"),
        (PIECES + b"\x0a", "a number is cut off"),
        (PIECES + b"\x12\xff", "a number is cut off"),
        (PIECES + b"\x48" + b"\xff" * 10 + b"\x01", "a number is too long"),
        (PIECES + number(9 << 3 | 3), "a field of an unknown kind"),
        (PIECES + b"\x0b\x01a", "a field of an unknown kind"),
    ],
)
def test_other_models_are_refused(model: bytes, problem: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(problem)}$"):
        require_sizes(model)


def test_a_short_model_is_left_to_sentencepiece() -> None:
    """Eight bytes cannot have more than four pieces."""
    require_sizes(bytes([7] * 8))
    with pytest.raises(ValueError, match="unknown kind"):
        require_sizes(bytes([7] * 9))


def test_the_largest_vocabulary_of_the_settings_is_accepted() -> None:
    assert VocabularyConfig(size=MOST).size == MOST
    with pytest.raises(ConfigError, match="expected a million at most"):
        VocabularyConfig(size=MOST + 1)
