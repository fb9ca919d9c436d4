"""Whether the text of a run has changed since its pairs were prepared."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from nmt.config import RunConfig
from nmt.text.pairs import PairReader

TEXT_FINGERPRINTS = "corpus/text.json"
"""The file in a run directory with the fingerprints of its text."""


def text_fingerprints(config: RunConfig) -> dict[str, Any]:
    """Fingerprints of the training pairs, and of the validation pairs if the configuration names any."""
    corpus = config.corpus
    sides = {"train": PairReader(corpus.train, links=config.training.guided.links).fingerprint()}
    if corpus.validation:
        sides["validation"] = PairReader(corpus.validation).fingerprint()
    return sides


def text_changed(directory: Path, config: RunConfig) -> bool:
    """Whether the text of `config` differs from the text of the run in `directory`.

    False if it cannot be known: the text or its fingerprints are missing, or the text is a TensorFlow dataset, which
    might have to be downloaded again, or a prepared corpus, which resuming compares.
    """
    if config.corpus.prepared or config.corpus.train.tfds or (config.corpus.validation or config.corpus.train).tfds:
        return False
    try:
        saved = json.loads((directory / TEXT_FINGERPRINTS).read_text(encoding="utf-8"))
        return bool(saved != text_fingerprints(config))
    except (
        OSError,
        ValueError,
        RecursionError,
    ):  # an older run without fingerprints, or a run that was moved without its text
        return False
