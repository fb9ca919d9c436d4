"""How sentences are cut into pieces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from nmt.config.checks import require


@dataclass(frozen=True)
class VocabularyConfig:
    """How sentences are cut into pieces."""

    run: str = ""
    """Run directory whose vocabularies are taken; empty: new ones are made from the training pairs, as the other fields
    here say."""
    type: Literal["unigram", "bpe", "char", "word"] = "unigram"
    """Kind of SentencePiece model."""
    size: int = 8000
    """Pieces of the source, or of both languages where the vocabulary is shared, special symbols included."""
    target_size: int = 0
    """Pieces of the target where the vocabularies are separate; 0: as many as the source."""
    shared: bool = True
    """One vocabulary for both languages (needed to tie all embeddings), or one for each."""
    normalization: Literal["nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf", "identity"] = "nmt_nfkc"
    """Unicode normalisation; cf folds case."""
    character_coverage: float = 1.0
    """Share of the text's characters that get a piece of their own; 0.9995 suits Chinese and Japanese."""
    symbols: tuple[str, ...] = ()
    """Strings that are always one piece, such as <de> or a placeholder."""

    def __post_init__(self) -> None:
        require(self.size >= 8, f"size is {self.size}: a vocabulary needs at least 8 pieces")
        for name in ("size", "target_size"):
            require(getattr(self, name) <= 10**6, f"{name} is {getattr(self, name)}: expected a million at most")
        coverage = self.character_coverage
        require(0.98 <= coverage <= 1, f"character_coverage is {coverage}: expected a number from 0.98 to 1")
        require(self.target_size >= 0, "target_size: expected 0 or more")
        require(not (self.shared and self.target_size), "target_size is for separate vocabularies: set shared to false")
