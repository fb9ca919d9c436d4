"""The aligner that a run keeps in one file: aligner.npz, with the words and the part of the model that aligns new text.

The file is small, so that packs and exports carry it. Of the pairs of words it has those that training linked, at most
`MOST_PAIRS`, and only the words of these pairs. Probabilities are rounded to half precision, as logarithms.

Arrays, of which `forward.` and `backward.` exist for both directions:
    about                     settings as JSON, uint8
    source.words, target.words    the words by frequency, one per line in UTF-8, uint8
    partners                  uint32 [source ids]: the number of pairs of words of each source id
    targets                   uint32 [pairs of words]: the target ids of these pairs, in rising order for each source id
    forward.lexicon           float16 [pairs of words]: log t
    forward.support           bool [pairs of words]: whether the direction often linked the two words
    forward.empty             float32 [ids]
    forward.jumps             float32 [jumps]
    forward.ratios            float16 [ids of generating words, fertilities], or no rows
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nmt.aligning.aligner import Aligner
from nmt.aligning.cooccurrence import Cooccurrence
from nmt.aligning.directory import SIDES, words_of_aligner
from nmt.aligning.hidden_markov import TINY
from nmt.aligning.model import ENOUGH_SUPPORT, NAMES, AlignmentModel, DirectedModel
from nmt.aligning.vocabulary import FIRST, WordVocabulary
from nmt.config import config_from_dict, config_to_dict
from nmt.config.aligner import AlignerConfig
from nmt.errors import NmtError
from nmt.run.directory import ALIGNER
from nmt.run.errors import RunError
from nmt.run.storage import Storage

MOST_PAIRS = 2**19
"""Pairs of words in the file; beyond it those that training linked least often are left out."""
LEAST_LINKS = 0.05
"""Expected links of two words in training from which their pair is in the file."""

_FORMAT = 1

Ints = NDArray[np.int64]


def run_aligner_arrays(aligner: Aligner, most: int = MOST_PAIRS) -> dict[str, np.ndarray]:
    """The arrays of the file.

    Args:
        aligner: trained on words.
        most: pairs of words that are kept.

    Raises:
        NmtError: the aligner has the pieces of a run as its units.
    """
    vocabularies = _vocabularies(aligner)
    model, cooccurrence = aligner.model, aligner.cooccurrence
    kept = _kept(np.maximum(*(direction.support[:-1] for direction in model.directions)), most)
    ids = [cooccurrence.words(side)[kept] for side in (0, 1)]
    used = [_used(each, vocabulary.size) for each, vocabulary in zip(ids, vocabularies, strict=True)]
    source, target = (np.searchsorted(rows, each) for rows, each in zip(used, ids, strict=True))
    arrays: dict[str, np.ndarray] = {
        "about": _as_bytes(json.dumps({"format": _FORMAT, "settings": config_to_dict(aligner.config)})),
        "partners": np.bincount(source, minlength=len(used[0])).astype(np.uint32),
        "targets": target.astype(np.uint32),
    }
    for side, vocabulary, rows in zip(SIDES, vocabularies, used, strict=True):
        words = [vocabulary.words[number - FIRST] for number in rows if number >= FIRST]
        arrays[f"{side}.words"] = _as_bytes("".join(f"{word}\n" for word in words))
    for name, direction, generating, generated in zip(NAMES, model.directions, used, reversed(used), strict=True):
        arrays |= {
            f"{name}.lexicon": np.log(direction.lexicon[:-1][kept] + TINY).clip(-60000).astype(np.float16),
            f"{name}.support": direction.support[:-1][kept] >= ENOUGH_SUPPORT,
            f"{name}.empty": direction.empty[generated].astype(np.float32),
            f"{name}.jumps": direction.jumps.astype(np.float32),
            f"{name}.ratios": (direction.ratios[generating] if len(direction.ratios) else direction.ratios).astype(
                np.float16
            ),
        }
    return arrays


def _vocabularies(aligner: Aligner) -> tuple[WordVocabulary, WordVocabulary]:
    source, target = aligner.units
    if not (isinstance(source, WordVocabulary) and isinstance(target, WordVocabulary)):
        raise NmtError(f"{aligner.directory}: aligns pieces: expected an aligner of words, trained without --run")
    return source, target


def _kept(links: NDArray[np.float64], most: int) -> Ints:
    """The pairs of words that are kept, in rising order.

    Args:
        links: expected links of each pair of words in training.
        most: pairs that are kept.
    """
    enough = np.flatnonzero(links >= LEAST_LINKS)
    if len(enough) > most:
        enough = np.sort(enough[np.argsort(-links[enough], kind="stable")[:most]])
    return enough


def _used(ids: Ints, size: int) -> Ints:
    """The ids that are kept, in rising order: those of the kept pairs, and the special ids."""
    used = np.zeros(size, bool)
    used[:FIRST] = True
    used[ids] = True
    return np.flatnonzero(used)


def _as_bytes(text: str) -> NDArray[np.uint8]:
    return np.frombuffer(text.encode(), np.uint8)


def load_run_aligner(storage: Storage) -> Aligner | None:
    """The aligner of a run, a pack or an export; None if it has none.

    Raises:
        RunError: the file is damaged.
    """
    if not storage.exists(ALIGNER):
        return None
    arrays, path = storage.arrays(ALIGNER), storage.path / ALIGNER
    try:
        return _aligner(arrays, path)
    except (KeyError, ValueError, TypeError, RecursionError, NmtError):
        raise RunError(f"{path}: damaged, or of another version of nmt: {storage.advice()}") from None


def _aligner(arrays: Mapping[str, np.ndarray], path: Path) -> Aligner:
    """Inverse of `run_aligner_arrays`.

    Raises:
        KeyError, ValueError, TypeError, RecursionError, NmtError: the arrays are damaged.
    """
    about: Any = json.loads(arrays["about"].tobytes())
    if about["format"] != _FORMAT:
        raise ValueError("another format")
    config: AlignerConfig = config_from_dict(AlignerConfig, about["settings"])
    source, target = (
        WordVocabulary.from_bytes(arrays[f"{side}.words"].tobytes(), words, str(path))
        for side, words in zip(SIDES, words_of_aligner(config), strict=True)
    )
    cooccurrence = _cooccurrence(arrays, source.size, target.size)
    directions = [
        _direction(arrays, name, len(cooccurrence), sizes, config.empty_share)
        for name, sizes in zip(NAMES, ((source.size, target.size), (target.size, source.size)), strict=True)
    ]
    return Aligner(config, (source, target), cooccurrence, AlignmentModel((directions[0], directions[1])), path)


def _cooccurrence(arrays: Mapping[str, np.ndarray], source_size: int, target_size: int) -> Cooccurrence:
    partners, targets = arrays["partners"], arrays["targets"]
    if partners.dtype != np.uint32 or targets.dtype != np.uint32:
        raise ValueError("ids of another type")
    if partners.shape != (source_size,) or targets.shape != (int(partners.sum(dtype=np.uint64)),):
        raise ValueError("pairs of words of another number")
    keys = np.repeat(np.arange(source_size), partners) * target_size + targets
    if targets.max(initial=0) >= target_size or not np.all(np.diff(keys) > 0):
        raise ValueError("ids that are no words, or in another order")
    return Cooccurrence(keys, source_size, target_size)


def _direction(
    arrays: Mapping[str, np.ndarray], name: str, cells: int, sizes: tuple[int, int], empty_share: float
) -> DirectedModel:
    """One direction.

    Args:
        arrays: of the file.
        name: of the direction.
        cells: pairs of words.
        sizes: ids of generating words and of generated words.
        empty_share: prior probability of the empty word.
    """
    values = {part: arrays[f"{name}.{part}"] for part in ("lexicon", "support", "empty", "jumps", "ratios")}
    values = {part: array.astype(np.float64) for part, array in values.items()}
    if values["lexicon"].shape != (cells,) or not all(np.isfinite(array).all() for array in values.values()):
        raise ValueError("another shape, or values that are no numbers")
    lexicon = np.exp(np.minimum(values["lexicon"], 0))
    found = {
        "lexicon": np.append(lexicon, 1),  # the last entry is of unseen pairs, whose probability is the empty word's
        "support": np.append(values["support"] * ENOUGH_SUPPORT, 0),
        "empty": values["empty"],
        "jumps": values["jumps"],
        "ratios": values["ratios"],
    }
    model = DirectedModel(**found, empty_share=empty_share)
    model.require_shapes(cells, *sizes)
    if min(values["empty"].min(initial=1), values["jumps"].min(initial=1)) < 0:
        raise ValueError("a probability below 0")
    return model
