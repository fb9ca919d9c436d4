"""How sentences are cut into pieces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from nmt.config.checks import require
from nmt.config.fields import setting

LEAST = 5
"""Pieces of the smallest vocabulary: the four special pieces, and one of the text."""


@dataclass(frozen=True)
class VocabularyConfig:
    """How sentences are cut into pieces."""

    run: str = setting(
        "", "Run directory whose vocabularies are used; empty: new ones are learned from the training pairs.", "DIR"
    )
    type: Literal["unigram", "bpe", "char", "word"] = setting("unigram", "Type of SentencePiece model.")
    size: int = setting(
        8000, "Pieces of the source, or of both languages if the vocabulary is shared; special symbols are included."
    )
    adapt_size: bool = setting(
        False, "Take another number of pieces where the text does not allow `size`; recipe auto sets it."
    )
    target_size: int = setting(
        0, "Pieces of the target if the vocabularies are separate; 0: as many as for the source."
    )
    shared: bool = setting(True, "Use one vocabulary for both languages; tying all embeddings needs it.")
    normalization: Literal["auto", "nfc", "nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf", "identity"] = setting(
        "auto",
        "Unicode normalisation of source and target. nfc keeps characters as written and composes accents; names with "
        "nfkc also replace full-width letters, ligatures and other compatibility characters, so translations never "
        "have them; names that end in cf also fold case; auto: nfc.",
    )
    character_coverage: float = setting(
        0.0,
        "Share of the text's characters that get their own piece; 0: 0.9995 for Chinese, Japanese and Korean, whose "
        "rarest characters become unknown pieces, else 1.",
    )
    longest_piece: int = setting(
        0,
        "Characters of the longest piece of type unigram or bpe; 0: 8 for text without spaces between words, where "
        "longer pieces would be phrases, else 16.",
    )
    symbols: tuple[str, ...] = setting((), "Strings that are always one piece, such as <de> or a placeholder.")

    def __post_init__(self) -> None:
        require(self.size >= LEAST, f"size is {self.size}: a vocabulary needs at least {LEAST} pieces")
        for name in ("size", "target_size"):
            require(getattr(self, name) <= 10**6, f"{name} is {getattr(self, name)}: expected a million at most")
        coverage = self.character_coverage
        require(
            coverage == 0 or 0.98 <= coverage <= 1,
            f"character_coverage is {coverage}: expected a number from 0.98 to 1, or 0",
        )
        require(self.target_size >= 0, "target_size: expected 0 or more")
        require(0 <= self.longest_piece <= 512, f"longest_piece is {self.longest_piece}: expected a number up to 512")
        require(
            not self.longest_piece or self.type in ("unigram", "bpe"),
            f"longest_piece is {self.longest_piece}: pieces of type {self.type} have no such limit; leave it out",
        )
        require(not (self.shared and self.target_size), "target_size is for separate vocabularies: set shared to false")
