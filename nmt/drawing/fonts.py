"""Installed fonts that have the glyphs of a text, whatever its script."""

from __future__ import annotations

import unicodedata
import warnings
from collections.abc import Iterable
from contextlib import suppress
from functools import cache

import numpy as np
from numpy.typing import NDArray

from nmt.drawing.canvas import FONT, LOCK

_told: set[str] = set()
"""Scripts whose lack of a font was said in this process: once is enough."""


def find_fonts(texts: Iterable[str], stacklevel: int = 3) -> list[str]:
    """The font families that the texts need together, matplotlib's own first.

    Warns:
        UserWarning: no installed font has the glyphs of some script; each script is named once in a process.
    """
    text = "".join(texts)
    # Control, format and surrogate characters, spaces and variation selectors have no glyph of their own.
    shown = {ord(c) for c in text if unicodedata.category(c)[0] not in "CZ" and not 0xFE00 <= ord(c) <= 0xFE0F}
    missing = np.array(sorted(shown), dtype=int)
    with LOCK:
        families, missing = _chosen(missing, [FONT], text)
        if missing.size and _add_new_fonts():
            families, missing = _chosen(missing, families, text)
    untold = [code for code in missing if not _told.issuperset(_scripts([code]))]
    if untold:
        scripts = _scripts(untold)
        _told.update(scripts)
        warnings.warn(
            f"no installed font can draw {', '.join(scripts)} (such as U+{untold[0]:04X}): "
            "install one, for example of the Noto family",
            stacklevel=stacklevel,
        )
    return families


def _chosen(missing: NDArray[np.int_], families: list[str], text: str) -> tuple[list[str], NDArray[np.int_]]:
    """The families and those that have some of the missing characters, and the characters still missing."""
    for family, file in _installed_fonts(text):
        if missing.size == 0:
            break
        known = np.isin(missing, _characters(file))
        if known.any() and family not in families:
            families = [*families, family]
        missing = missing[~known]
    return families, missing


def _scripts(codes: Iterable[int]) -> list[str]:
    from fontTools.unicodedata import script, script_name  # type: ignore[import-untyped]  # comes with matplotlib

    names = {"Common": "symbols or emoji", "Inherited": "combining marks"}
    found = {script_name(script(chr(code))) for code in codes}
    return sorted(names.get(name, name) for name in found)


def _installed_fonts(text: str) -> list[tuple[str, str]]:
    """Upright fonts of normal weight as (family, file): matplotlib's own, then Noto Sans, then any other."""
    from matplotlib.font_manager import fontManager

    # TeX's fonts do not hold the characters that they claim; Last Resort has a box for every character.
    fonts = {
        (font.name, font.fname)
        for font in fontManager.ttflist
        if font.style == "normal" and font.weight == 400 and not font.name.startswith(("cm", "Last Resort"))
    }
    han = f"Noto Sans CJK {_han_region(text)}"
    return sorted(fonts, key=lambda f: (f[0] != FONT, f[0] != han, not f[0].startswith("Noto Sans"), f))


def _han_region(text: str) -> str:
    """Whose form Chinese characters have: Japan's beside kana, Korea's beside hangul, else those of mainland China."""
    if any("\u3040" <= c <= "\u30ff" for c in text):
        return "JP"
    return "KR" if any("\uac00" <= c <= "\ud7a3" for c in text) else "SC"


def pdf_font_type(families: Iterable[str]) -> int:
    """How fonts go into a PDF file: as TrueType (42), unless one has PostScript outlines, which only 3 embeds right."""
    wanted = set(families)
    return 3 if any(_is_postscript(file) for family, file in _installed_fonts("") if family in wanted) else 42


@cache
def _is_postscript(file: str) -> bool:
    """Whether an OpenType font, or the first of a collection, has PostScript (CFF) outlines."""
    try:
        with open(file, "rb") as font:
            start = font.read(16)
            if start.startswith(b"ttcf"):
                font.seek(int.from_bytes(start[12:16], "big"))
                start = font.read(4)
            return start.startswith(b"OTTO")
    except OSError:
        return False


@cache
def _add_new_fonts() -> bool:
    """Lets matplotlib know the fonts that were installed after it made its list, which it keeps from run to run."""
    from matplotlib.font_manager import findSystemFonts, fontManager

    new = set(findSystemFonts()) - {font.fname for font in fontManager.ttflist}
    for file in sorted(new):
        # Broken, or made of coloured pictures, which matplotlib cannot draw.
        with suppress(OSError, RuntimeError, NotImplementedError):
            fontManager.addfont(file)
    return bool(new)


@cache
def _characters(file: str) -> NDArray[np.int32]:
    from matplotlib.font_manager import get_font

    try:
        return np.fromiter(get_font(file).get_charmap(), dtype=np.int32)
    except (OSError, RuntimeError):  # removed since matplotlib listed it, or broken
        return np.array([], dtype=np.int32)
