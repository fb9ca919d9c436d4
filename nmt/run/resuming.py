"""The settings with which a run may be resumed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nmt.config import RunConfig, config_to_dict
from nmt.config.relative_paths import path_settings, same_path
from nmt.run.errors import RunError

MAY_CHANGE = (
    {"name", "directory", "search", "training.passes", "training.log_every", "training.checkpoints"}
    | {"training.live_view", "training.devices", "corpus.prepared"}
    | {f"training.{name}" for name in ("validate_every", "patience", "precision", "schedule.more_passes")}
    | {f"corpus.{side}_{what}" for side in ("source", "target") for what in ("language", "words")}
)
"""Settings that may differ from the settings of the run. A resumed run keeps its precision in any case."""

_GUIDANCE = ("training.guided.weight", "training.guided.decay")
"""Settings without effect on a run whose attention nothing guides. Such a run takes another default of a newer nmt."""

_OPEN: dict[str, tuple[Any, ...]] = {
    **{f"corpus.{side}_{what}": ("", "auto") for side in ("source", "target") for what in ("language", "words")},
    "training.tokenize": ("auto",),
    "vocabulary.normalization": ("auto",),
    "vocabulary.character_coverage": (0,),
    "vocabulary.longest_piece": (0,),
}
"""Values by which a setting is left open: the text has decided it when the run was begun."""


def with_saved_values(saved: dict[str, Any], requested: dict[str, Any]) -> dict[str, Any]:
    """The requested settings, with the saved value of each that is left open or names the same file by another path.

    The settings of the vocabulary are the saved ones if another run has brought the vocabulary.

    Args:
        saved, requested: results of `config_to_dict`; `saved` may lack settings that older versions did not have.
    """
    paths = path_settings()

    def kept(old: dict[str, Any], new: dict[str, Any], prefix: str) -> dict[str, Any]:
        return new | {name: one(old[name], new[name], prefix + name) for name in new if name in old}

    def one(old: Any, new: Any, name: str) -> Any:
        if isinstance(old, dict) and isinstance(new, dict):
            return kept(old, new, f"{name}.")
        same = name in paths and isinstance(old, str) and same_path(old, new)
        return old if same or new in _OPEN.get(name, ()) else new

    found = kept(saved, requested, "")
    run, other = (each.get("vocabulary", {}).get("run", "") for each in (saved, found))
    return found | {"vocabulary": saved["vocabulary"]} if run and same_path(run, other) else found


def require_resumable(saved: RunConfig, requested: RunConfig, directory: Path) -> None:
    """Refuses to resume a run with settings that would make it another run.

    Raises:
        RunError: a setting outside of `MAY_CHANGE` differs; the message has its name and both values.
    """
    idle = () if saved.training.guided.links or saved.training.aligner else _GUIDANCE
    for name, old, new in differing_settings(config_to_dict(saved), config_to_dict(requested)):
        if not may_change(name) and name not in idle:
            forgotten = not new and name in path_settings()
            first = "repeat the flags of the first command, or " if forgotten else ""
            raise RunError(
                f"{directory} was begun with {name} = {old!r}, now it is {new!r}: "
                f"{first}give this run another name, set the old value, or delete the directory"
            )


def may_change(name: str) -> bool:
    """Whether the setting of this dotted name may differ when a run is resumed."""
    return any(name == free or name.startswith(free + ".") for free in MAY_CHANGE)


def differing_settings(old: dict[str, Any], new: dict[str, Any], prefix: str = "") -> list[tuple[str, Any, Any]]:
    """The fields that differ between two configurations, as (dotted name, old value, new value).

    Args:
        old, new: results of `config_to_dict`.
        prefix: put before each name.
    """
    found = []
    for name, value in old.items():
        if isinstance(value, dict):
            found += differing_settings(value, new.get(name) or {}, f"{prefix}{name}.")
        elif value != new.get(name):
            found.append((f"{prefix}{name}", value, new.get(name)))
    return found
