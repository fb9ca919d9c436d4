"""Soft attention between the words of a pair, with the hard links that follow from it.

Words and links are 0-based; a link is (source word, target word).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nmt.alignment.hard_links import hard_links, require
from nmt.alignment.links import AlignmentError, Links
from nmt.alignment.pharaoh_and_naacl import format_pharaoh

_UNDECIDED: Links = frozenset({(-1, -1)})


@dataclass(frozen=True, eq=False)
class WordAlignment:
    """How much each target word attended to each source word, and the links that follow from it.

    Raises:
        AlignmentError: shapes that do not fit the words, or weights that are negative or not finite.
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    weights: NDArray[np.float32]
    """[target words, source words]: attention mass; with `end_of_sentence` each row sums to 1, or to 0 where the
    target word has no piece."""
    end_of_sentence: NDArray[np.float32]
    """[target words]: attention mass on the source's end-of-sentence symbol."""
    links: Links = _UNDECIDED
    """Hard links; left out, they are decided from the weights by `hard_links`."""

    def __post_init__(self) -> None:
        shape = (len(self.target), len(self.source))
        for name, expected in (("weights", shape), ("end_of_sentence", shape[:1])):
            object.__setattr__(self, name, _masses(name, getattr(self, name), expected))
        if self.links is _UNDECIDED:
            object.__setattr__(self, "links", hard_links(self.weights, self.end_of_sentence))
        for s, t in self.links:
            require(
                0 <= s < len(self.source) and 0 <= t < len(self.target),
                f"link {s}-{t} is out of range: {len(self.source)} source and {len(self.target)} target words",
            )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, WordAlignment):
            return NotImplemented
        return (
            (self.source, self.target, self.links) == (other.source, other.target, other.links)
            and np.array_equal(self.weights, other.weights)
            and np.array_equal(self.end_of_sentence, other.end_of_sentence)
        )

    def __hash__(self) -> int:
        return hash((self.source, self.target, self.links))

    def pharaoh(self) -> str:
        """The hard links in Pharaoh format, such as `0-0 1-2`."""
        return format_pharaoh(self.links)

    def to_json(self) -> dict[str, Any]:
        """Plain lists, ready for `json.dumps`; weights are rounded to 4 decimals, so rows sum to 1 only nearly."""
        return {
            "source": list(self.source),
            "target": list(self.target),
            "weights": np.round(self.weights.astype(float), 4).tolist(),
            "end_of_sentence": np.round(self.end_of_sentence.astype(float), 4).tolist(),
            "links": [list(link) for link in sorted(self.links)],
        }

    @classmethod
    def from_json(cls, values: Any, where: str = "alignment") -> WordAlignment:
        """Reads back what `to_json` wrote; the links are those written, whatever rounding did to the weights.

        Raises:
            AlignmentError: something is missing, of the wrong kind or shape; the message begins with `where`.
        """
        try:
            require(isinstance(values, dict), f"expected a JSON object, got {type(values).__name__}")
            return cls(
                source=_words("source", values["source"]),
                target=_words("target", values["target"]),
                weights=values["weights"],
                end_of_sentence=values["end_of_sentence"],
                links=_links(values["links"]),
            )
        except KeyError as error:
            raise AlignmentError(f"{where}: '{error.args[0]}' is missing") from None
        except AlignmentError as error:
            raise AlignmentError(f"{where}: {error}") from None


def _masses(name: str, values: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.float32]:
    """`values` as a read-only float32 array, if it has this shape and could be attention mass."""
    try:
        array = np.array(values, dtype=np.float32)
    except (TypeError, ValueError):
        raise AlignmentError(f"{name}: expected numbers of shape {list(shape)}, one row a target word") from None
    if array.size == 0 and 0 in shape:
        array = array.reshape(shape)  # a list of no rows cannot say how many columns it has
    require(array.shape == shape, f"{name} has shape {list(array.shape)}: expected {list(shape)} for these words")
    require(bool(np.all(np.isfinite(array) & (array >= 0))), f"{name}: expected finite numbers, none below 0")
    array.setflags(write=False)
    return array


def _words(name: str, values: Any) -> tuple[str, ...]:
    require(
        isinstance(values, list) and all(isinstance(word, str) for word in values), f"{name}: expected a list of words"
    )
    return tuple(values)


def _links(values: Any) -> Links:
    require(
        isinstance(values, list)
        and all(isinstance(v, list) and len(v) == 2 and all(type(index) is int for index in v) for v in values),
        "links: expected a list of pairs of word numbers, such as [[0, 0], [1, 2]]",
    )
    return frozenset((s, t) for s, t in values)
