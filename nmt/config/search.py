"""How a translation is searched for."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Literal

from nmt.config.checks import require, require_at_most, require_positive
from nmt.config.fields import setting


@dataclass(frozen=True)
class SearchConfig:
    """How a translation is searched for."""

    method: Literal["beam", "sample"] = setting(
        "beam", "Search for the most probable translation, or sample from the model's distribution."
    )
    beam_size: int = setting(5, "Hypotheses kept at each step of beam search; 1 is greedy search.")
    length_penalty: float = setting(1.0, "Exponent alpha of the length normalisation; 0: no normalisation.")
    normalization: Literal["wu", "power"] = setting(
        "wu",
        "Divisor of log-probabilities: wu is ((5 + length) / 6) ** alpha (Wu et al. 2016), power is length ** alpha.",
    )
    coverage_penalty: float = setting(
        0.0, "Weight of the penalty on source pieces that received little attention (Wu et al. 2016); 0: no penalty."
    )
    min_length_ratio: float = setting(0.0, "Shortest translation: this many pieces per source piece.")
    max_length_ratio: float = setting(2.0, "Longest translation: this many pieces per source piece, plus 10.")
    no_repeat_ngram: int = setting(
        0, "A sequence of this many pieces occurs at most once per translation; 0: no limit."
    )
    suppress: tuple[str, ...] = setting((), "Pieces that never occur in a translation, such as <unk>.")
    diversity: float = setting(
        0.0,
        "Penalty that makes n-best lists differ more (Li et al. 2016). The second-best continuation of a hypothesis "
        "pays it once, the third-best twice, and so on; 0: no penalty.",
    )
    prune: float = setting(
        0.0,
        "Beam search without constraints drops hypotheses that are more than this many nats behind the best one of "
        "the step, or the N-th of an n-best list of N (Freitag and Al-Onaizan 2017). They cost no time from there on; "
        "0: no pruning.",
    )
    short_list: int = setting(
        0,
        "Beam search considers only this many probable translations per source piece, and frequent target pieces. "
        "The output layer then computes hundreds of pieces instead of thousands, and log-probabilities are among "
        "these alone; 0: all pieces.",
    )
    temperature: float = setting(1.0, "Sampling divides the log-probabilities by this temperature.")
    top_k: int = setting(0, "Sampling draws from this many most probable pieces; 0: all pieces.")
    top_p: float = setting(
        1.0,
        "Sampling draws from the most probable pieces that together have this probability (Holtzman et al. 2020); "
        "1: all pieces.",
    )
    seed: int = setting(1, "Seed of sampling; the same seed and line give the same translation.")
    copy_unknown: bool = setting(
        False, "Replace each unknown piece by the source word aligned to it, or by that word's dictionary entry."
    )
    max_source: int = setting(
        400, "Longest source sentence in pieces and in words; longer sentences are cut, with a warning."
    )
    split_sentences: Literal["auto", "always", "never"] = setting(
        "auto",
        "Translate a line sentence by sentence; auto: lines with more sentences than nearly all lines of the training "
        "text, if these have one sentence each. Lines of more than 2,000 words stay whole.",
    )
    batch_tokens: int = setting(
        4000, "Largest batch: sentences times beam size times pieces of its longest source sentence."
    )

    def __post_init__(self) -> None:
        require_positive(self, "beam_size", "max_length_ratio", "temperature", "max_source", "batch_tokens")
        not_negative = (
            "length_penalty coverage_penalty min_length_ratio no_repeat_ngram diversity prune short_list top_k"
        )
        for name in not_negative.split():
            require(getattr(self, name) >= 0, f"{name} is {getattr(self, name)}: expected 0 or more")
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            require(not isinstance(value, float) or math.isfinite(value), f"{field.name} is {value}: expected a number")
        require_at_most(self, max_length_ratio=100, beam_size=1000, short_list=100, no_repeat_ngram=1000, top_k=10**6)
        require_at_most(self, max_source=10**6, batch_tokens=10**9)
        require(
            not self.short_list or self.method == "beam",
            "short_list is for beam search, but method is sample: leave one of the two out",
        )
        require(0 < self.top_p <= 1, f"top_p is {self.top_p}: expected a number above 0, at most 1")
        require(0 <= self.seed < 2**32, f"seed is {self.seed}: expected a number from 0 to {2**32 - 1}")
        ratio = f"min_length_ratio is {self.min_length_ratio}, above max_length_ratio, {self.max_length_ratio}"
        require(self.min_length_ratio <= self.max_length_ratio, f"{ratio}: lower it")
