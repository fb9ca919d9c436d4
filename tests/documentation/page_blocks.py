"""The pages of the documentation: their blocks of shell and Python, with the tier of each.

A comment above a block says how it is tested:

* `<!-- fast -->`: run in the default tests,
* `<!-- slow -->`: run in the slow tests; `<!-- slow; train --training.passes 1 -->` adds flags to `nmt train` there,
* `<!-- parse: REASON -->`: never run; its flags are parsed, and the files of the checkout that it names must exist,
* `<!-- hidden: SHELL LINE -->`: a line that runs before the next block and that readers do not see.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from commands import REPOSITORY

TIERS = ("fast", "slow", "parse")

LANGUAGES = ("bash", "python")
"""The languages of blocks that are tested; what a reader sees as output is `text`."""

_COMMENT = re.compile(
    r"^ *<!-- (?:(?P<tier>fast|slow|parse)(?:(?P<sign>[:;]) (?P<rest>.+))?|hidden: (?P<line>.+)) -->$"
)
_FENCE = re.compile(r"^(?P<indent> *)```(?P<language>\w*)$")


@dataclass(frozen=True)
class Block:
    """One block of a page."""

    page: str
    line: int
    """The line of the fence above the text, counted from 1."""
    language: str
    text: str
    tier: str
    """One of TIERS, or "" where the page gives none."""
    reason: str = ""
    """Why a block of the tier `parse` is not run."""
    added: str = ""
    """A command of nmt and flags that each call of it in the block gets in addition."""
    hidden: str = ""
    """Shell lines that run before the block."""

    @property
    def place(self) -> str:
        return f"{self.page}:{self.line}"


def pages() -> list[str]:
    """The paths of all pages from the root of the checkout."""
    written = [REPOSITORY / "README.md", REPOSITORY / "CONTRIBUTING.md", *sorted((REPOSITORY / "docs").rglob("*.md"))]
    return [str(path.relative_to(REPOSITORY)) for path in written]


def blocks(page: str, text: str | None = None) -> list[Block]:
    """The blocks of a page in order; `text` stands for the page's file."""
    lines = (text or (REPOSITORY / page).read_text(encoding="utf-8")).splitlines()
    return list(_blocks(page, lines))


def _blocks(page: str, lines: list[str]) -> Iterator[Block]:
    tier: re.Match[str] | None = None
    hidden: list[str] = []
    numbered = iter(enumerate(lines, start=1))
    for number, line in numbered:
        if fence := _FENCE.match(line):
            text = _until_end(numbered, fence["indent"])
            if fence["language"] in LANGUAGES:
                yield _block(page, number, fence["language"], text, tier, hidden)
                hidden = []
        found = _COMMENT.match(line)
        if found and found["line"]:
            hidden.append(found["line"])
        tier = found if found and found["tier"] else None
    if hidden:
        raise ValueError(f"{page}: no block follows the hidden line {hidden[-1]!r}")


def _until_end(numbered: Iterator[tuple[int, str]], indent: str) -> str:
    found = []
    for _, line in numbered:
        if line == f"{indent}```":
            break
        found.append(line.removeprefix(indent) + "\n")
    return "".join(found)


def _block(page: str, line: int, language: str, text: str, tier: re.Match[str] | None, hidden: list[str]) -> Block:
    sign, rest = (tier["sign"], tier["rest"]) if tier else ("", "")
    return Block(
        page,
        line,
        language,
        text,
        tier["tier"] if tier else "",
        reason=rest if sign == ":" else "",
        added=rest if sign == ";" else "",
        hidden="\n".join(hidden),
    )
