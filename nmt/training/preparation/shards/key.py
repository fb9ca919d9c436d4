"""The key of a prepared corpus: everything that its files depend on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import sentencepiece

from nmt.config import PairsConfig, RunConfig, config_to_dict
from nmt.errors import NmtError
from nmt.run.resuming import differing_settings
from nmt.text.pairs import PairReader
from nmt.training.preparation.shards import blocks
from nmt.training.preparation.shards.inputs import Inputs
from nmt.training.preparation.shards.parts import Part
from nmt.training.preparation.vocabularies import run_of_vocabularies
from nmt.version import __version__

FORMAT = 2
"""Version of the files."""
UNPREPARED = {"train": "", "validation": "", "prepared": ""}
"""Settings of a corpus that name its text, wherever it lies."""


def preparation_key(config: RunConfig, units: Sequence[tuple[Part, PairsConfig]], inputs: Inputs) -> dict[str, Any]:
    """Everything that the files depend on.

    Args:
        config: as it was given, before the text has decided anything.
        units: the files one by one, with their parts.
        inputs: knows the digests.

    Raises:
        CorpusError: a file cannot be read.
    """
    inputs.read([unit for _, unit in units])
    corpus, vocabulary = config.corpus, config_to_dict(config.vocabulary)
    if config.vocabulary.run:
        run = run_of_vocabularies(config)
        vocabulary["run"] = f"{run.source.fingerprint} {run.target.fingerprint}"
    return {
        "format": FORMAT,
        "nmt": __version__,
        "sentencepiece": sentencepiece.__version__,
        "text": [
            {"part": part.name, "weight": part.weight, **PairReader(unit).fingerprint(inputs.digest)}
            for part, unit in units
        ],
        "validation": PairReader(corpus.validation).fingerprint() if corpus.validation else {},
        "corpus": config_to_dict(corpus) | UNPREPARED,
        "vocabulary": vocabulary,
        "seed": config.training.seed,
        "rows": blocks.ROWS,
    }


def require_same(directory: Path, saved: dict[str, Any], own: dict[str, Any]) -> None:
    """Refuses a directory of another corpus.

    Raises:
        NmtError: names what differs.
    """
    if saved == own:
        return
    names = [name for name, _, _ in differing_settings(saved, own)] or ["settings"]
    shown = ", ".join("the text" if name == "text" else name for name in names[:3])
    raise NmtError(
        f"{directory}: was begun with something else ({shown} differs): give another --output, or delete this "
        "directory to prepare it anew"
    )
