"""Translations as the answers of the interface."""

from __future__ import annotations

from typing import Any

import numpy as np

from nmt.explaining.erasure import Erasure
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
