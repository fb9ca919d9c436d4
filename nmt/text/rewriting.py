"""Text that the normalisation of a vocabulary changes: the number of lines, and an example."""

from __future__ import annotations

from collections.abc import Sequence

from nmt.progress import counted

_SHOWN = 12
"""Characters of an example at most."""


class Rewriting:
    """The lines of one side that normalisation changes.

    Args:
        side: names the lines in the report, such as "target".
    """

    def __init__(self, side: str) -> None:
        self.side = side
        self.lines = 0
        self.example = ("", "")
        """The first text that is changed, as written and as normalised."""

    def note(self, rewritten: Sequence[tuple[str, str]]) -> None:
        """Counts sentences that are changed; each is given as written and as normalised."""
        if rewritten and not self.lines:
            self.example = _changed_part(*rewritten[0])
        self.lines += len(rewritten)

    def summary(self) -> str:
        """The number of lines and the example."""
        written, normalized = self.example
        return (
            f"normalisation changes {counted(self.lines, f'{self.side} line')}, such as '{written}' to '{normalized}'"
        )

    def report(self, keeps_characters: bool) -> str:
        """One line for the user who trains.

        Args:
            keeps_characters: whether the normalisation keeps characters that only look like others.
        """
        if self.side == "source" or keeps_characters:
            return self.summary()
        return f"{self.summary()}; translations never have such characters: --vocabulary.normalization nfc keeps them"


def _changed_part(written: str, normalized: str) -> tuple[str, str]:
    """Both texts without their common beginning and end, shortened."""
    begin = 0
    while begin < min(len(written), len(normalized)) and written[begin] == normalized[begin]:
        begin += 1
    end = 0
    while end < min(len(written), len(normalized)) - begin and written[-1 - end] == normalized[-1 - end]:
        end += 1
    parts = written[begin : len(written) - end], normalized[begin : len(normalized) - end]
    return _shortened(parts[0]), _shortened(parts[1])


def _shortened(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
