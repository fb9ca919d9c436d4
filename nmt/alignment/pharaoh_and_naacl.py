"""The file formats of word links.

Pharaoh has a line for each sentence, such as `0-0 1-2 3p4`. NAACL has a line for each link, such as `1 3 2 S` (the
shared tasks of HLT-NAACL 2003 and WPT 2005).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

from nmt.alignment.errors import AlignmentError
from nmt.alignment.links import Gold, Link

GoldFormat = Literal["pharaoh", "naacl"]

_PHARAOH_LINK = re.compile(r"([0-9]{1,9})([-p])([0-9]{1,9})")
_NAACL_LINK = re.compile(r"([0-9]{1,9})\s+([0-9]{1,9})\s+([0-9]{1,9})(?:\s+([SP]))?(?:\s+[0-9.]+)?")


def parse_pharaoh(line: str, where: str) -> Gold:
    """Reads links such as `0-0 1-2 3p4`: source word, `-` for a sure or `p` for a possible link, target word.

    Args:
        line: one sentence.
        where: the place of the line, which begins the error message.

    Raises:
        AlignmentError: a token is malformed.
    """
    sure, possible = set(), set()
    for token in line.split():
        match = _PHARAOH_LINK.fullmatch(token)
        if match is None:
            raise AlignmentError(f"{where}: '{token}' is no link: expected one such as 1-2 (sure) or 3p4 (possible)")
        link = (int(match[1]), int(match[3]))
        possible.add(link)
        if match[2] == "-":
            sure.add(link)
    return Gold(frozenset(sure), frozenset(possible))


def format_pharaoh(links: Iterable[tuple[int, int]], possible: Iterable[tuple[int, int]] = ()) -> str:
    """Links in Pharaoh format, sorted by number. A link that is only in `possible` is written with `p`."""
    sure = set(links)
    return " ".join(f"{s}{'-' if (s, t) in sure else 'p'}{t}" for s, t in sorted(sure.union(possible)))


def read_gold(
    lines: Iterable[str],
    where: str,
    form: GoldFormat = "pharaoh",
    base: int | None = None,
    sentences: int | None = None,
) -> list[Gold]:
    """The gold links of each sentence of a file.

    Args:
        lines: the lines of the file. `pharaoh`: a line for each sentence, such as `0-0 1-2 3p4`. `naacl`: a line for
            each link, `sentence source target [S|P] [confidence]`. Sentences are counted from 1, and a link without a
            letter is sure.
        where: name of the file, for messages.
        form: the format.
        base: the number of the first word, 0 or 1; None: 0 for `pharaoh`, 1 for `naacl`.
        sentences: number of sentences; a `naacl` file omits sentences without links. None: the last sentence that the
            file names.

    Raises:
        AlignmentError: a line is malformed, or names an impossible word or sentence; the message has its place.
    """
    first = base if base is not None else int(form == "naacl")
    if form == "pharaoh":
        found = [parse_pharaoh(line, f"{where}:{number}") for number, line in enumerate(lines, start=1)]
        return [_shift_all(gold, first, f"{where}:{number}") for number, gold in enumerate(found, start=1)]
    return _parse_naacl(lines, where, first, sentences)


def _parse_naacl(lines: Iterable[str], where: str, base: int, sentences: int | None) -> list[Gold]:
    sure: dict[int, set[Link]] = {}
    possible: dict[int, set[Link]] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        match = _NAACL_LINK.fullmatch(line.strip())
        place = f"{where}:{number}"
        if match is None:
            raise AlignmentError(
                f"{place}: '{line.strip()}' is no link: expected sentence, source and target word, such as 1 3 2 S"
            )
        sentence = int(match[1])
        if sentence < 1 or (sentences is not None and sentence > sentences):
            known = f"1 to {sentences}" if sentences is not None else "1 or more"
            raise AlignmentError(f"{place}: there is no sentence {sentence}: expected {known}")
        link = _shift((int(match[2]), int(match[3])), base, place)
        possible.setdefault(sentence, set()).add(link)
        if match[4] != "P":
            sure.setdefault(sentence, set()).add(link)
    count = sentences if sentences is not None else max(possible, default=0)
    return [Gold(frozenset(sure.get(i, ())), frozenset(possible.get(i, ()))) for i in range(1, count + 1)]


def _shift_all(gold: Gold, base: int, where: str) -> Gold:
    if not base:
        return gold
    return Gold(*(frozenset(_shift(link, base, where) for link in links) for links in gold))


def _shift(link: Link, base: int, where: str) -> Link:
    source, target = link[0] - base, link[1] - base
    if source < 0 or target < 0:
        raise AlignmentError(
            f"{where}: link {link[0]}-{link[1]} names word 0, but words are counted from {base}: "
            "say so if they are counted from 0"
        )
    return source, target
