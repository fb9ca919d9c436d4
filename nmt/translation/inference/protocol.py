"""The interface between a `Translator` and the engine behind it: Keras models, or later an exported model.

Nothing here imports Keras. All ids are pieces without the end of sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Literal, NamedTuple, Protocol, runtime_checkable

import numpy as np

from nmt.config import SearchConfig
from nmt.text.pieces import PAD
from nmt.translation.erased_words import ErasureMethod
from nmt.translation.short_list import ShortList

Report = Callable[[int], None]
"""Called by any thread with the number of sentences that a batch has completed."""


class Hypothesis(NamedTuple):
    """A translation that a search found, or a given translation that was scored, in pieces."""

    ids: list[int]
    """Pieces, without the end of sentence."""
    log_probability: float
    """Sum over all pieces, and over the end of sentence if it was reached, in nats."""
    score: float
    """The search's ranking: log-probability over length penalty, plus the coverage penalty."""
    weights: np.ndarray
    """Attention weights, float32 [pieces (+ end of sentence), source pieces + end of sentence]."""
    finished: bool
    """Whether the end of sentence was reached."""
    piece_log_probabilities: np.ndarray
    """float32 [pieces (+ end of sentence)], in nats."""


class PieceForm(NamedTuple):
    """A text that may occur in a translation, in pieces."""

    pieces: Sequence[int]
    where: Literal["anywhere", "start", "inside", "unspaced"] = "anywhere"
    """Where it may begin: anywhere, at the start of the sentence, behind its start, or behind a piece that does not end
    in a letter or digit."""


class PieceTerm(NamedTuple):
    """A term of a glossary that occurs in a sentence."""

    forms: Sequence[PieceForm]
    """The forms of its translation; one of them is enough."""
    positions: Sequence[int]
    """Positions of its source pieces."""
    texts: tuple[str, ...] = ()
    """The forms as the vocabulary decodes them."""
    replaced: int = PAD
    """The first piece of the word that a form should replace; PAD: not known."""
    word: int = PAD
    """This piece if it is the whole word, else PAD."""
    attention: float = 0.0
    """Attention to `positions` from which on a form may begin."""


class PieceConstraint(NamedTuple):
    """The pieces that the translation of a sentence must or should contain."""

    prefix: Sequence[int] = ()
    """The first pieces."""
    phrases: Sequence[Sequence[PieceForm]] = ()
    """Phrases that occur somewhere, in any order, without overlap; of the forms of each, one is enough."""
    terms: Sequence[PieceTerm] = ()
    """Terms of which one form should occur."""
    require_terms: bool = False
    """Whether one form of each term must occur."""

    @property
    def is_hard(self) -> bool:
        """Whether some pieces must occur."""
        return bool(self.prefix or self.phrases or (self.terms and self.require_terms))

    @property
    def required(self) -> list[Sequence[PieceForm]]:
        """The forms of everything that must occur behind the prefix."""
        return self.forms if self.require_terms else [*self.phrases]

    @property
    def forms(self) -> list[Sequence[PieceForm]]:
        """The forms of everything that must or should occur behind the prefix."""
        return [*self.phrases, *(term.forms for term in self.terms)]


NO_CONSTRAINT = PieceConstraint()


class Inference(Protocol):
    """Search and scoring of batches. All methods may be called from several threads at once."""

    @property
    def fingerprint(self) -> str:
        """A digest of the models and of their averaging: equal fingerprints give equal translations."""
        ...

    @property
    def batches_at_once(self) -> int:
        """The number of batches that are computed side by side."""
        ...

    def find(
        self,
        sources: Sequence[Sequence[int]],
        search: SearchConfig,
        nbest: int = 1,
        constraints: Sequence[PieceConstraint] | None = None,
        suppressed: Sequence[int] = (),
        sentence_ids: Sequence[int] | np.ndarray | None = None,
        short_list: ShortList | None = None,
        report: Report | None = None,
    ) -> list[list[Hypothesis]]:
        """Finds the `nbest` hypotheses of each source, best first, in the order of the sources.

        A list is shorter than `nbest` if no more hypotheses are possible.

        Args:
            sources: pieces of each sentence.
            search: its `suppress` and `seed` are texts and a number; `suppressed` holds the pieces.
            nbest: at most the beam size; with sampling the number of samples.
            constraints: one for each sentence; None: no sentence has one.
            suppressed: pieces that never occur.
            sentence_ids: samples depend on them and on `search.seed`; None: 0, 1, 2, ...
            short_list: the table for `search.short_list`.
            report: called whenever a batch is complete.
        """
        ...

    def score(
        self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]], batch_tokens: int = 4000
    ) -> list[Hypothesis]:
        """Scores given pairs by teacher forcing: log-probabilities and attention, in the order of the pairs."""
        ...


@runtime_checkable
class ErasingInference(Protocol):
    """The part of an inference that scores a pair without some of its source pieces; not every inference has it."""

    def erase(
        self,
        sources: Sequence[Sequence[int]],
        targets: Sequence[Sequence[int]],
        erased: Sequence[Sequence[Collection[int]]],
        method: ErasureMethod = "word",
        batch_tokens: int = 4000,
    ) -> list[np.ndarray]:
        """Scores each pair by teacher forcing once for every set of erased source pieces.

        Args:
            sources, targets: pieces of the pairs.
            erased: for each pair, the sets of source positions to erase; the empty set leaves the source whole.
            method: see `ErasureMethod`.

        Returns:
            For each pair the log-probabilities of its pieces and its end, float32 [sets, target pieces + 1], in nats.
        """
        ...


@runtime_checkable
class EmbeddingInference(Protocol):
    """The part of an inference that shows its embeddings; not every inference has it."""

    def embeddings(self, side: Literal["source", "target"]) -> np.ndarray:
        """The embeddings of a side's pieces, float32 [pieces, width]."""
        ...
