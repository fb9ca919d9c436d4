"""What a mistyped name may have meant."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Sequence


def did_you_mean(name: str, names: Collection[str], prefix: str = "") -> str:
    """For the end of a message about a name that is none of `names`: the nearest, behind `prefix`, if any is near.
    One that has the same last part, such as `--model.units` has of `--units`, is nearer than any other."""
    same = [other for other in names if _last(other) == _last(name)]
    near = difflib.get_close_matches(name, same, n=1, cutoff=0) or difflib.get_close_matches(name, names, n=1)
    return f", did you mean {prefix}{near[0]}?" if near else ""


def _last(name: str) -> str:
    return name.removeprefix("--").rpartition(".")[2]


def unknown_flags(argv: Sequence[str], known: Collection[str]) -> list[str]:
    """The flags of a command line, without their values, that are not known."""
    words = argv[: argv.index("--")] if "--" in argv else argv
    flags = [word.partition("=")[0] for word in words if word.startswith("--")]
    return [flag for flag in flags if flag not in known]
