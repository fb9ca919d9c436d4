"""How a word aligner learns, and how its links are made."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from nmt.config.checks import require, require_at_most, require_positive
from nmt.config.corpus import LANGUAGE_TAG, CorpusConfig, WordRule
from nmt.config.fields import setting


@dataclass(frozen=True)
class AlignerConfig:
    """All settings of an aligner, saved in its directory."""

    lexicon_epochs: int = setting(
        5, "First epochs, in which each place of a word is equally probable (IBM model 1); they learn the lexicon."
    )
    jump_epochs: int = setting(2, "Epochs after them, which also learn the order of words (a hidden Markov model).")
    fertility_epochs: int = setting(8, "Last epochs, which also learn how many words a word generates.")
    concentration: float = setting(
        0.1, "Dirichlet prior of each translation of a word; the smaller, the fewer translations share a word."
    )
    stem_weight: float = setting(
        20.0,
        "Words of evidence that the translations of all words with equal stems add to each word; helps rare words. 0: "
        "none.",
    )
    stem_letters: int = setting(4, "Letters of a stem: words that begin with the same letters have one stem.")
    jump_power: float = setting(
        0.4, "Power of the probabilities of jumps; below 1 the lexicon weighs more against the order of words."
    )
    empty_share: float = setting(0.1, "Prior probability that a word comes from no word of the other side.")
    rounds: int = setting(2, "Rounds in which the words of a sentence settle how many of them a word generates.")
    symmetrize: Literal["supported", "intersection", "union", "grow-diag", "grow-diag-final", "grow-diag-final-and"] = (
        setting(
            "supported",
            "Method that merges the links of both directions. supported: links of both directions, and links of one "
            "direction between words that it linked in other pairs too.",
        )
    )
    words: int = setting(200_000, "Most different words of each side; rarer words share one entry. Case is ignored.")
    max_words: int = setting(
        200, "Words of a sentence that are read, or pieces with --run; training leaves longer pairs out."
    )
    batch_tokens: int = setting(
        4096, "Largest batch: pairs times words of the longest sentence, source or target; decides on memory and speed."
    )
    window: int = setting(20000, "Pairs that are sorted by length together before they are cut into batches.")
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
        require_positive(self, "words", "max_words", "batch_tokens", "window", "concentration", "lexicon_epochs")
        require_positive(self, "jump_power", "stem_letters")
        require(self.stem_weight >= 0, f"stem_weight is {self.stem_weight}: expected 0 or more")
        for name in ("jump_epochs", "fertility_epochs", "rounds"):
            require(getattr(self, name) >= 0, f"{name} is {getattr(self, name)}: expected 0 or more")
        require_at_most(self, lexicon_epochs=10**6, jump_epochs=10**6, fertility_epochs=10**6, rounds=10**3)
        require_at_most(
            self, words=10**7, max_words=10**4, batch_tokens=10**9, window=10**9, concentration=10**6, jump_power=100
        )
        require_at_most(self, stem_weight=10**6, stem_letters=10**3)
        require(0 < self.empty_share < 1, f"empty_share is {self.empty_share}: expected a number between 0 and 1")
        for name in ("source_language", "target_language"):
            tag = getattr(self, name)
            tagged = not tag or LANGUAGE_TAG.fullmatch(tag)
            require(bool(tagged), f"{name} is '{tag}': expected a BCP 47 tag such as en, pt-BR or zh-Hant")

    def in_languages_of(self, corpus: CorpusConfig) -> AlignerConfig:
        """The same settings with the languages and kinds of words of a corpus."""
        names = [f"{side}_{what}" for side in ("source", "target") for what in ("language", "words")]
        return replace(self, **{name: getattr(corpus, name) for name in names})

    @property
    def epochs(self) -> int:
        """All epochs."""
        return self.lexicon_epochs + self.jump_epochs + self.fertility_epochs
