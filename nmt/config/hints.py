"""Hints for mistyped names."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable


def did_you_mean(name: str, names: Collection[str], prefix: str = "") -> str:
    """The end of a message about an unknown name: the most similar known name, if one is similar enough.

    A known name with the same last part comes first, such as `--model.units` for `--units`.

    Args:
        name: the unknown name.
        names: the known names.
        prefix: stands before the known name in the message.
    """
    same = [other for other in names if _last_part(other) == _last_part(name)]
    near = difflib.get_close_matches(name, same, n=1, cutoff=0) or difflib.get_close_matches(name, names, n=1)
    return f", did you mean {prefix}{near[0]}?" if near else ""


def expected_one_of(value: object, choices: Iterable[object]) -> str:
    """The end of a message about a value that is none of the choices."""
    names = [str(choice) for choice in choices]
    return f"expected one of {', '.join(names)}{did_you_mean(str(value), names).replace(',', ';', 1)}"


def _last_part(name: str) -> str:
    return name.removeprefix("--").rpartition(".")[2].replace("-", "_")
