"""The settings of the rules."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Literal

from nmt.config.fields import setting
from nmt.errors import NmtError


@dataclass(frozen=True)
class Rules:
    """The settings of the rules. A number of 0 switches its rule off."""

    malformed: bool = setting(
        True,
        "Drop rows that are no pair, such as a TSV line with too few columns; if off, such a row stops nmt clean.",
    )
    invalid: bool = setting(True, "Drop pairs with a side that is invalid UTF-8.")
    empty: bool = setting(True, "Drop pairs with an empty side; if off, these pairs are kept without further checks.")
    shortest: int = setting(1, "Fewest words of each side; 1 drops nothing.")
    longest: int = setting(100, "Most words of each side.")
    ratio: float = setting(
        1.5, "Largest ratio of the sides' lengths, relative to the corpus's usual ratio, in characters without spaces."
    )
    slack: int = setting(10, "Characters taken off the longer side first, so that short sentences may differ more.")
    identical: int = setting(
        20, "Drop pairs with equal sides of at least this many letters; case and spaces do not count."
    )
    script: float = setting(
        0.5, "Largest share of a side's letters that are not in the script of most letters of that side of the corpus."
    )
    language: float = setting(
        0.5, "Drop pairs with a side whose words are this much more probable on the other side, in nats per word."
    )
    spelling: float = setting(
        1.0,
        "Largest surprise of a side's spelling above the usual on that side of the corpus, in nats per character. The "
        "limit is higher where the corpus's sentences vary more.",
    )
    numbers: bool = setting(False, "Drop pairs whose sides have different digits.")
    duplicates: Literal["off", "pair", "source", "target", "either"] = setting(
        "pair", "Drop all but the first pair with the same two sides (pair), source, target, or any one side (either)."
    )
    sample: int = setting(
        10_000, "Most pairs that the usual values are learned from: spread over the files, or the first ones of a pipe."
    )

    def __post_init__(self) -> None:
        for name in ("shortest", "longest", "ratio", "slack", "identical", "script", "language", "spelling"):
            if not getattr(self, name) >= 0:
                raise NmtError(f"{name} is {getattr(self, name)}: expected 0, which switches the rule off, or more")
        if 0 < self.ratio < 1:
            raise NmtError(f"ratio is {self.ratio}: expected 1 or more, or 0, which switches the rule off")
        if self.script > 1:
            raise NmtError(f"script is {self.script}: expected a share, 0 to 1")
        if self.sample < 1:
            raise NmtError(f"sample is {self.sample}: expected 1 pair or more")
        if self.sample > sys.maxsize:
            raise NmtError(f"sample is {self.sample}: is too large")
