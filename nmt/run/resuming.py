"""What a run may be resumed with: settings that must stay, and text that has changed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from nmt.config import RunConfig, config_to_dict
from nmt.run.errors import RunError
from nmt.text.pairs import PairReader

TEXT_FINGERPRINTS = "corpus/text.json"
"""Of a run directory: fingerprints of the text that its pairs were made from."""


MAY_CHANGE = {"name", "directory", "search", "training.passes", "training.log_every", "training.checkpoints"} | {
    f"training.{name}" for name in ("validate_every", "patience", "precision", "schedule.more_passes")
}
"""Settings that may differ from those of the run that is resumed. (Precision is kept as it was decided.)"""


def require_resumable(saved: RunConfig, wanted: RunConfig, directory: Path) -> None:
    """Refuses to resume a run with settings that would make it another one.

    Raises:
        RunError: names the first field that differs, and both values.
    """
    for name, old, new in differing_settings(config_to_dict(saved), config_to_dict(wanted)):
        if not any(name == free or name.startswith(free + ".") for free in MAY_CHANGE):
            raise RunError(
                f"{directory} was begun with {name} = {old!r}, now it is {new!r}: "
                "give this run another name, set the old value, or delete the directory"
            )


def differing_settings(old: dict[str, Any], new: dict[str, Any], prefix: str = "") -> list[tuple[str, Any, Any]]:
    """Name, old and new value of each field that two configurations (`config_to_dict`) do not have in common."""
    found = []
    for name, value in old.items():
        if isinstance(value, dict):
            found += differing_settings(value, new.get(name) or {}, f"{prefix}{name}.")
        elif value != new.get(name):
            found.append((f"{prefix}{name}", value, new.get(name)))
    return found


def text_fingerprints(config: RunConfig) -> dict[str, Any]:
    """Fingerprints of the training pairs, and of the validation pairs where they are given."""
    corpus = config.corpus
    sides = {"train": PairReader(corpus.train, links=config.training.guided.links).fingerprint()}
    if corpus.validation:
        sides["validation"] = PairReader(corpus.validation).fingerprint()
    return sides


def text_changed(directory: Path, config: RunConfig) -> bool:
    """Whether the text is there and is another one than the run in `directory` was made from, as far as that is
    known."""
    if config.corpus.train.tfds or (config.corpus.validation or config.corpus.train).tfds:
        return False  # it might have to be downloaded again
    try:
        then = json.loads((directory / TEXT_FINGERPRINTS).read_text(encoding="utf-8"))
        return bool(then != text_fingerprints(config))
    except (OSError, ValueError):  # an older run, or one that was moved without its text
        return False
