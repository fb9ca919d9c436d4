"""How a word aligner learns, and how its links are made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from nmt.config.checks import require, require_at_most, require_positive, require_rate
from nmt.config.corpus import LANGUAGE_TAG, WordRule
from nmt.config.fields import setting

ENOUGH_PAIRS = 60_000
"""Readings of pairs, over all epochs but the first two, that teach an aligner."""
MOST_EPOCHS = 40


@dataclass(frozen=True)
class AlignerConfig:
    """All settings of an aligner, saved in its directory."""

    epochs: int = setting(
        0,
        f"Passes over the pairs; 0: by the number of pairs, from 3 for {ENOUGH_PAIRS:,} pairs or more to "
        f"{MOST_EPOCHS} for few.",
    )
    uniform_epochs: int = setting(
        1, "First epochs, in which each source word is equally probable (IBM model 1); they learn the lexicon."
    )
    words: int = setting(16000, "Most different words of each side; rarer words share one entry.")
    max_words: int = setting(200, "Words of a sentence that are read; training leaves longer pairs out.")
    embedding: int = setting(128, "Width of word vectors.")
    units: int = setting(128, "Width of the LSTM in each direction.")
    dropout: float = setting(0.1, "Share of values that dropout sets to zero.")
    agreement: float = setting(0.5, "Weight of the agreement of both directions; the likelihood's is 1.")
    learning_rate: float = setting(0.002, "Highest learning rate, from which a cosine falls to a twentieth.")
    batch_tokens: int = setting(800, "Largest batch: pairs times words of the longest sentence, source or target.")
    window: int = setting(20000, "Pairs that are sorted by length together before they are cut into batches.")
    threshold: float = setting(0.4, "Least probability of a link, the mean of both directions.")
    seed: int = setting(1, "Seed of the initial weights, the order of the pairs and dropout.")
    deterministic: bool = setting(False, "The same seed gives the same weights to the bit; some operations are slower.")
    source_language: str = setting(
        "", "Language of the source as a BCP 47 tag, such as en or ja; empty: by the script of the text."
    )
    target_language: str = setting("", "Language of the target, likewise.")
    source_words: WordRule = setting(
        "auto",
        "Words of the source. spaces: spaces separate them; cut: a model or rule of the language cuts the text into "
        "words; auto: cut if the language writes no spaces and the text has none.",
    )
    target_words: WordRule = setting("auto", "Words of the target, likewise.")
    unit: Literal["word", "piece"] = setting(
        "word",
        "Unit that is aligned. piece: the pieces of a run's vocabularies; links are between words in both cases.",
    )

    def __post_init__(self) -> None:
        require_positive(self, "words", "max_words", "embedding", "units", "learning_rate", "batch_tokens", "window")
        require_rate(self, "dropout")
        for name in ("epochs", "uniform_epochs", "agreement"):
            require(getattr(self, name) >= 0, f"{name} is {getattr(self, name)}: expected 0 or more")
        require_at_most(self, epochs=10**6, uniform_epochs=10**6, words=10**7, max_words=10**4, embedding=10**5)
        require_at_most(self, units=10**5, learning_rate=1000, batch_tokens=10**9, window=10**9, agreement=10**6)
        require(0 < self.threshold < 1, f"threshold is {self.threshold}: expected a number between 0 and 1")
        require(0 <= self.seed < 2**31, f"seed is {self.seed}: expected a number from 0 to {2**31 - 1}")
        for name in ("source_language", "target_language"):
            tag = getattr(self, name)
            tagged = not tag or LANGUAGE_TAG.fullmatch(tag)
            require(bool(tagged), f"{name} is '{tag}': expected a BCP 47 tag such as en, pt-BR or zh-Hant")

    def epochs_for(self, pairs: int) -> int:
        """The epochs of a training on so many pairs."""
        return self.epochs or min(MOST_EPOCHS, 2 + -(-ENOUGH_PAIRS // max(pairs, 1)))
