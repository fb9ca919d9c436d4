"""How a translation is searched for."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Literal

from nmt.config.checks import require, require_positive


@dataclass(frozen=True)
class SearchConfig:
    """How a translation is searched for."""

    method: Literal["beam", "sample"] = "beam"
    """Search for the likeliest, or draw from the model's distribution."""
    beam_size: int = 5
    """Hypotheses kept at each step of beam search; 1 is greedy search."""
    length_penalty: float = 1.0
    """Alpha of the length normalisation; 0: none."""
    normalization: Literal["wu", "power"] = "wu"
    """Log-probabilities are divided by ((5 + length) / 6) ** alpha (Wu et al. 2016), or by length ** alpha."""
    coverage_penalty: float = 0.0
    """Weight of the penalty on source pieces that got little attention (Wu et al. 2016); 0: none."""
    min_length_ratio: float = 0.0
    """Shortest translation in pieces: this many times the source's pieces."""
    max_length_ratio: float = 2.0
    """Longest translation in pieces: this many times the source's pieces, plus 10."""
    no_repeat_ngram: int = 0
    """No run of this many pieces comes twice in a translation; 0: any may."""
    suppress: tuple[str, ...] = ()
    """Pieces that never come, such as <unk>."""
    diversity: float = 0.0
    """What the second, third, ... best continuation of one hypothesis pays, once, twice, ..., in the choice, so that
    n-best lists differ more (Li et al. 2016); 0: none."""
    prune: float = 0.0
    """Of beam search without constraints: what falls more than so many nats behind the best hypothesis of its step is
    given up, and costs nothing from then on; 0: nothing is (Freitag and Al-Onaizan 2017)."""
    short_list: int = 0
    """Of beam search: only so many likely translations of each source piece can come, the target's ten times as many
    most frequent pieces, and with a shared vocabulary the source's own: the output layer then has hundreds of pieces
    instead of thousands; 0: all pieces can come."""
    temperature: float = 1.0
    """Of sampling: log-probabilities are divided by it."""
    top_k: int = 0
    """Of sampling: only this many of the likeliest pieces; 0: all."""
    top_p: float = 1.0
    """Of sampling: only the likeliest pieces that together have this probability (Holtzman et al. 2020); 1: all."""
    seed: int = 1
    """Of sampling: the same seed draws the same translation of the same line."""
    copy_unknown: bool = False
    """Write the source word that it is aligned to, or what a dictionary says of that, for an unknown piece."""
    max_source: int = 400
    """Longest source sentence in pieces; a longer one is cut there, and said so."""
    batch_tokens: int = 4000
    """Largest batch to translate at once: sentences times beam size times the longest source in pieces."""

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
        require(self.max_length_ratio <= 100, f"max_length_ratio is {self.max_length_ratio}: expected 100 at most")
        require(self.beam_size <= 1000, f"beam_size is {self.beam_size}: expected 1000 at most")
        require(self.short_list <= 100, f"short_list is {self.short_list}: expected 100 at most")
        require(
            not self.short_list or self.method == "beam",
            "short_list is for beam search, and method is sample, which draws from all pieces: leave one out",
        )
        require(0 < self.top_p <= 1, f"top_p is {self.top_p}: expected a number above 0, at most 1")
        require(0 <= self.seed < 2**32, f"seed is {self.seed}: expected a number from 0 to {2**32 - 1}")
        ratio = f"min_length_ratio is {self.min_length_ratio}, above max_length_ratio, {self.max_length_ratio}"
        require(self.min_length_ratio <= self.max_length_ratio, f"{ratio}: lower it")
