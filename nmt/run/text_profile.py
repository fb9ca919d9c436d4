"""The profile of a run's training text, in the run directory."""

from __future__ import annotations

import json
from pathlib import Path

from nmt.files.atomic_writing import write_atomically
from nmt.run.errors import RunError
from nmt.run.pack_storage import storage_of
from nmt.text.profile import TextProfile

PROFILE = "profile.json"
"""The file in a run directory."""

LARGEST = 2**26
"""Bytes of the largest profile that is read."""


def save_profile(directory: Path, profile: TextProfile) -> None:
    """Writes the profile of a run's training text."""
    write_atomically(directory / PROFILE, json.dumps(profile.to_json(), ensure_ascii=False).encode())


def load_profile(directory: Path, sizes: tuple[int, int] | None = None) -> TextProfile | None:
    """Reads the profile that `save_profile` wrote; None for a run without one, such as a run of version 0.1.

    Args:
        directory: the run directory, or a pack.
        sizes: of the source's and the target's vocabulary, to compare with; None: they are not compared.

    Raises:
        RunError: the file is damaged, or belongs to other vocabularies.
    """
    path = directory / PROFILE
    try:
        profile = TextProfile.from_json(json.loads(storage_of(directory).read(PROFILE, LARGEST)))
        counted = len(profile.source.pieces), len(profile.target.pieces)
        if sizes not in (None, counted):
            raise ValueError(f"it counts {counted} pieces, and the vocabularies have {sizes}")
        return profile
    except (FileNotFoundError, NotADirectoryError):
        return None
    except RunError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise RunError(
            f"{path}: damaged ({error}): delete it; input is then translated as it is, without warnings about it"
        ) from None
    except OSError as error:
        raise RunError(f"{path}: {error.strerror}") from None
