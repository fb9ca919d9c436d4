"""Translations as the answers of the interface."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from nmt.explaining.erasure import Erasure
from nmt.serving.limits import Limits, RefusedError
from nmt.translation.result import Translation


def candidate(translation: Translation, alignment: bool) -> dict[str, Any]:
    """A translation as a `Candidate`."""
    return {
        "text": translation.text,
        "log_probability": translation.log_probability,
        "score": translation.score,
        "truncated": translation.truncated,
        "word_log_probabilities": _rounded(translation.word_log_probabilities),
        "alignment": translation.alignment.to_json() if alignment else None,
    }


def check_alignments(translations: Iterable[Translation], limits: Limits) -> None:
    """Refuses alignments that need too much memory: each cell becomes a number of Python and of JSON, 40 to 50 bytes.

    Raises:
        RefusedError: the alignments have too many cells.
    """
    cells, most = sum(one.alignment.weights.size for one in translations), limits.alignment_cells
    if cells > most:
        found = f"the alignments have {cells:,} cells, source words times target words: the limit is {most:,}"
        remedy = "ask without alignments, or send fewer or shorter texts"
        raise RefusedError(413, f"{found}; {remedy}", "alignment_cells", most)


def translated_text(source: str, words: list[str], translations: list[Translation], alignment: bool) -> dict[str, Any]:
    """The translations of a text as a `TranslatedText`."""
    return {
        "source": source,
        "source_words": words,
        "candidates": [candidate(translation, alignment) for translation in translations],
    }


def score(pair: Translation) -> dict[str, Any]:
    """A given translation as a `Score`."""
    return {
        "log_probability": pair.log_probability,
        "pieces": list(pair.pieces),
        "piece_log_probabilities": _rounded(pair.piece_log_probabilities),
        "words": list(pair.alignment.target),
        "word_log_probabilities": _rounded(pair.word_log_probabilities),
    }


def explanation(model: str, pair: Translation, erasure: Erasure) -> dict[str, Any]:
    """An erasure as an `ExplainAnswer`."""
    values = erasure.to_json()
    values["method"] = values.pop("way")
    return {"model": model, "translation": candidate(pair, alignment=True), **values}


def _rounded(values: tuple[float, ...]) -> list[float]:
    """Values with 4 decimals, as in the alignments."""
    rounded: list[float] = np.round(np.asarray(values, float), 4).tolist()
    return rounded
