"""A line cut into its sentences.

sentencex (Wikimedia, MIT) knows the marks that end a sentence in some 300 languages, and their abbreviations. It cuts
half a million lines a second. It is imported on first use.
"""

from __future__ import annotations

import re

_INITIAL = re.compile(r"(?:^|[\s.])\w\.\s*$")
"""An initial such as `M.` before a name."""
_ENTITY = re.compile(r"&\w+;")
"""An escaped mark such as `&quot;` in tokenised text."""
_QUOTED = re.compile("[」』]\\|[ぁ-ゖ]")
"""A cut, written |, behind a Japanese quotation that does not end its sentence."""


def split_sentences(line: str, language: str = "") -> list[str]:
    """The sentences of a line, each with the white space behind it: joined they are the line.

    A line too many in one piece does less harm than a sentence in two. So these cuts of sentencex are taken back:

    * behind a number, a bullet or an initial: fewer than two letters do not make a sentence,
    * before a lower-case letter if the line begins with an upper-case letter: the cut is behind an abbreviation,
    * between a Japanese quotation and hiragana: the sentence goes on behind the quotation.

    Args:
        line: without line ends.
        language: its code as in BCP 47, for the abbreviations; empty: unknown.
    """
    from sentencex import segment

    found: list[str] = []
    starts_upper = _first_letter(line).isupper()
    open_ended = False
    for part in segment(language.partition("-")[0].lower() or "en", line):
        continues = starts_upper and _first_letter(part).islower()
        if found and (open_ended or continues or not part.strip() or _QUOTED.search(f"{found[-1]}|{part}")):
            found[-1] += part
        else:
            found.append(part)
        open_ended = not _is_sentence(found[-1])
    if len(found) > 1 and open_ended:  # nothing follows that it could begin
        found[-2:] = ["".join(found[-2:])]
    return found if "".join(found) == line else [line]


def _is_sentence(text: str) -> bool:
    return sum(map(str.isalpha, _ENTITY.sub("", text))) > 1 and not _INITIAL.search(text)


def _first_letter(text: str) -> str:
    return next(filter(str.isalpha, text), "")
