"""A line cut into its sentences.

sentencex (Wikimedia, MIT) knows the marks that end a sentence in some 300 languages, and their abbreviations. It cuts
half a million lines a second. It is imported on first use.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_INITIAL = re.compile(r"(?:^|[\s.])\w\.\s*$")
"""An initial such as `M.` before a name."""
_WORD_BEFORE_PRONOUN = re.compile(r"\b(?i:ill|me|no|may|miss|ok|id|con|art|fed)[.!?]\s+(?=(?:I|A)['’\s])")
"""The end of an English sentence that sentencex takes for an abbreviation before a letter: `Help me. I fell.`"""
_ENTITY = re.compile(r"&\w+;")
"""An escaped mark such as `&quot;` in tokenised text."""
_WIDE_SPACE = re.compile(r"[^\S\x00-\x7f]")
"""White space that is more than one byte in UTF-8."""
_QUOTED = re.compile("[」』]\\|[ぁ-ゖ]")
"""A cut, written |, behind a Japanese quotation that does not end its sentence."""


def split_sentences(line: str, language: str = "", unspaced: bool = False) -> list[str]:
    """The sentences of a line, each with the white space behind it: joined they are the line.

    A line too many in one piece does less harm than a sentence in two. So these cuts of sentencex are taken back:

    * behind a number, a bullet or an initial: fewer than two letters do not make a sentence,
    * before a lower-case letter if the line begins with an upper-case letter: the cut is behind an abbreviation,
    * between a Japanese quotation and hiragana: the sentence goes on behind the quotation,
    * without white space: the cut is within an address or a name such as `ASP.NET`, so no word is ever cut. Text
      without spaces between words keeps such a cut unless both characters around it are ASCII.

    Args:
        line: without line ends.
        language: its code as in BCP 47, for the abbreviations; empty: unknown.
        unspaced: whether the text has no spaces between words.
    """
    found: list[list[str]] = []
    starts_upper = _first_letter(line).isupper()
    letters, open_ended = 0, False
    for part in _parts(line, language.partition("-")[0].lower() or "en"):
        continues = starts_upper and _first_letter(part).islower()
        if found and (open_ended or continues or not _is_cut(found[-1][-1], part, unspaced)):
            found[-1].append(part)
        else:
            found.append([part])
            letters = 0
        letters += sum(map(str.isalpha, _ENTITY.sub("", part)))
        open_ended = letters < 2 or _INITIAL.search("".join(found[-1][-2:])) is not None
    if len(found) > 1 and open_ended:  # nothing follows that it could begin
        found[-2:] = [[*found[-2], *found[-1]]]
    sentences = ["".join(parts) for parts in found]
    return sentences if "".join(sentences) == line else [line]


def _parts(line: str, code: str) -> Iterator[str]:
    """The parts between the cuts of sentencex, and those between the sentences in English that it misses."""
    from sentencex import segment

    end = 0
    # sentencex looks for one byte of white space, and panics before a wider one, as in "B\u00a0.".
    for found in segment(code, _WIDE_SPACE.sub(" ", line)):
        part, start = line[end : end + len(found)], 0
        end += len(found)
        for match in _WORD_BEFORE_PRONOUN.finditer(part) if code == "en" else ():
            yield part[start : match.end()]
            start = match.end()
        yield part[start:]


def _is_cut(before: str, after: str, unspaced: bool) -> bool:
    """Whether a sentence may end between two parts of a line."""
    last, first = before[-1:], after[:1]
    if not after.strip() or _QUOTED.search(f"{last}|{first}"):
        return False
    return last.isspace() or first.isspace() or (unspaced and not (last + first).isascii())


def _first_letter(text: str) -> str:
    return next(filter(str.isalpha, text), "")
