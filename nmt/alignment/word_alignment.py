"""Soft attention between the words of a pair, with hard links, which follow from it or come from an aligner.

Words and links are 0-based; a link is (source word, target word).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nmt import notebook
from nmt.alignment.errors import AlignmentError, require
from nmt.alignment.hard_links import BY_ATTENTION, LinkedBy, hard_links
from nmt.alignment.links import Links
from nmt.alignment.pharaoh_and_naacl import format_pharaoh

_UNDECIDED: Links = frozenset({(-1, -1)})
"""Stands for links that are not given."""


@dataclass(frozen=True, eq=False)
class WordAlignment:
    """The attention of each target word to each source word, and the links between words.

    The words are those that the model read. The words behind the cut of a long sentence are absent, so memory follows
    the length that the model reads.

    Raises:
        AlignmentError: shapes do not fit the words, or a weight is negative or not finite.
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    weights: NDArray[np.float32]
    """[target words, source words]: attention mass. With `end_of_sentence` each row sums to 1, or to 0 for a target
    word without pieces."""
    end_of_sentence: NDArray[np.float32]
    """[target words]: attention mass on the source's end-of-sentence symbol."""
    links: Links = _UNDECIDED
    """Hard links; by default those of `hard_links` on the weights."""
    linked_by: LinkedBy = BY_ATTENTION
    """What made the links: attention or an aligner."""

    def __post_init__(self) -> None:
        shape = (len(self.target), len(self.source))
        for name, expected in (("weights", shape), ("end_of_sentence", shape[:1])):
            object.__setattr__(self, name, _attention_mass(name, getattr(self, name), expected))
        if self.links is _UNDECIDED:
            object.__setattr__(self, "links", hard_links(self.weights, self.end_of_sentence))
        for s, t in self.links:
            require(
                self.has(s, t),
                f"link {s}-{t} is out of range: {len(self.source)} source and {len(self.target)} target words",
            )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, WordAlignment):
            return NotImplemented
        return (
            (self.source, self.target, self.links) == (other.source, other.target, other.links)
            and self.linked_by == other.linked_by
            and np.array_equal(self.weights, other.weights)
            and np.array_equal(self.end_of_sentence, other.end_of_sentence)
        )

    def __hash__(self) -> int:
        return hash((self.source, self.target, self.links))

    def has(self, source: int, target: int) -> bool:
        """Whether both words of a link are in the alignment."""
        return 0 <= source < len(self.source) and 0 <= target < len(self.target)

    def _repr_html_(self) -> str:
        """The attention as a notebook shows it."""
        return notebook.attention_table(self.source, self.target, self.weights, self.end_of_sentence, self.links)

    def pharaoh(self) -> str:
        """The hard links in Pharaoh format, such as `0-0 1-2`."""
        return format_pharaoh(self.links)

    def to_json(self) -> dict[str, Any]:
        """Plain lists for `json.dumps`. Weights are rounded to 4 decimals, so the sum of a row is close to 1."""
        return {
            "source": list(self.source),
            "target": list(self.target),
            "weights": np.round(self.weights.astype(float), 4).tolist(),
            "end_of_sentence": np.round(self.end_of_sentence.astype(float), 4).tolist(),
            "links": [list(link) for link in sorted(self.links)],
            "linked_by": self.linked_by,
        }

    @classmethod
    def from_json(cls, values: Any, where: str = "alignment") -> WordAlignment:
        """Reads the result of `to_json`. The links are read too: rounded weights could give different links.

        Args:
            values: the parsed JSON.
            where: the place of the JSON, which begins error messages.

        Raises:
            AlignmentError: a value is missing, or has the wrong type or shape.
        """
        try:
            require(isinstance(values, dict), f"expected a JSON object, got {type(values).__name__}")
            return cls(
                source=_words("source", values["source"]),
                target=_words("target", values["target"]),
                weights=values["weights"],
                end_of_sentence=values["end_of_sentence"],
                links=_links(values["links"]),
                linked_by=_linked_by(values.get("linked_by", BY_ATTENTION)),
            )
        except KeyError as error:
            raise AlignmentError(f"{where}: '{error.args[0]}' is missing") from None
        except AlignmentError as error:
            raise AlignmentError(f"{where}: {error}") from None


def _attention_mass(name: str, values: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.float32]:
    """`values` as a read-only float32 array of attention mass.

    Raises:
        AlignmentError: another shape, or a negative or infinite value.
    """
    try:
        array = np.array(values, dtype=np.float32)
    except (TypeError, ValueError, OverflowError):
        raise AlignmentError(f"{name}: expected numbers of shape {list(shape)}, one row per target word") from None
    if array.size == 0 and 0 in shape:
        array = array.reshape(shape)  # an empty list has no columns
    require(array.shape == shape, f"{name} has shape {list(array.shape)}: expected {list(shape)} for these words")
    require(bool(np.all(np.isfinite(array) & (array >= 0))), f"{name}: expected finite numbers, none below 0")
    array.setflags(write=False)
    return array


def _words(name: str, values: Any) -> tuple[str, ...]:
    require(
        isinstance(values, list) and all(isinstance(word, str) for word in values), f"{name}: expected a list of words"
    )
    return tuple(values)


def _linked_by(value: Any) -> LinkedBy:
    require(value in get_args(LinkedBy), f"linked_by: expected one of {', '.join(get_args(LinkedBy))}")
    return cast(LinkedBy, value)


def _links(values: Any) -> Links:
    require(
        isinstance(values, list)
        and all(isinstance(v, list) and len(v) == 2 and all(type(index) is int for index in v) for v in values),
        "links: expected a list of pairs of word numbers, such as [[0, 0], [1, 2]]",
    )
    return frozenset((s, t) for s, t in values)
