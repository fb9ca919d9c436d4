"""Finds installed fonts that have the glyphs of a text, whatever its script.

matplotlib reads the characters of a font, in half the time that fontTools needs. fontTools names scripts and recognises
the format of outlines.
"""

from __future__ import annotations

import unicodedata
import warnings
from collections.abc import Iterable
from contextlib import suppress
from functools import cache

import numpy as np
from numpy.typing import NDArray

from nmt.drawing.canvas import FONT, LOCK

_PACKAGES = {
    "fonts-noto-cjk": {"Hani", "Hira", "Kana", "Hang", "Bopo", "Yiii"},
    "fonts-symbola": {"Zyyy", "Zinh"},
}
"""Debian packages with fonts for these scripts that matplotlib can draw; fonts-noto-core has the other scripts."""

_reported_packages: set[str] = set()
"""Packages that this process has named in a warning: each is named once."""


def find_fonts(texts: Iterable[str], stacklevel: int = 3) -> list[str]:
    """The font families that the texts need together, matplotlib's own first.

    Warns:
        UserWarning: no installed font has the glyphs of some script. A process names each package of fonts once.
    """
    families, missing = _fonts_for("".join(texts))
    _report(missing, stacklevel + 1)
    return families


def scripts_without_font(text: str) -> tuple[list[str], list[str]]:
    """The scripts of a text that no installed font can draw, and the Debian packages that have fonts for them."""
    _, missing = _fonts_for(text)
    return _script_names(missing), sorted({_package(code) for code in missing})


def _fonts_for(text: str) -> tuple[list[str], list[int]]:
    """The font families that a text needs together, and the characters that no installed font has."""
    # Control, format and surrogate characters, spaces and variation selectors have no glyph of their own.
    shown = {ord(c) for c in text if unicodedata.category(c)[0] not in "CZ" and not 0xFE00 <= ord(c) <= 0xFE0F}
    missing = np.array(sorted(shown), dtype=int)
    with LOCK:
        families, missing = _covering(missing, [FONT], text)
        if missing.size and _add_new_fonts():
            families, missing = _covering(missing, families, text)
    return families, missing.tolist()


def _report(missing: list[int], stacklevel: int) -> None:
    """Warns of characters without a font, unless this process has named the packages with such fonts before."""
    unreported = [code for code in missing if _package(code) not in _reported_packages]
    if not unreported:
        return
    packages = sorted({_package(code) for code in unreported})
    _reported_packages.update(packages)
    warnings.warn(
        f"no installed font can draw {', '.join(_script_names(unreported))} (such as U+{unreported[0]:04X}), so boxes "
        f"take the place of these characters: install a font, on Debian or Ubuntu with "
        f"apt-get install {' '.join(packages)}",
        stacklevel=stacklevel,
    )


def _package(code: int) -> str:
    """The Debian package whose fonts have a character."""
    found = _scripts(code)
    return next((package for package, scripts in _PACKAGES.items() if found & scripts), "fonts-noto-core")


def _scripts(code: int) -> set[str]:
    """The scripts of a character: one, or those that share it, such as the full stop of Hindi and Bengali."""
    from fontTools.unicodedata import script, script_extension  # type: ignore[import-untyped]  # comes with matplotlib

    shared: set[str] = script_extension(chr(code)) - {"Zyyy", "Zinh"}
    return shared or {script(chr(code))}


def _covering(missing: NDArray[np.int_], families: list[str], text: str) -> tuple[list[str], NDArray[np.int_]]:
    """Adds families that have some of the missing characters; returns the families and the characters still missing."""
    for family, file in _installed_fonts(text):
        if missing.size == 0:
            break
        found = np.isin(missing, _characters(file))
        if found.any() and family not in families:
            families = [*families, family]
        missing = missing[~found]
    return families, missing


def _script_names(codes: Iterable[int]) -> list[str]:
    """The names of the scripts; a character that scripts share counts as another missing one of them, if any."""
    from fontTools.unicodedata import script_name

    names = {"Common": "symbols or emoji", "Inherited": "combining marks"}
    scripts = sorted((_scripts(code) for code in codes), key=len)
    found: set[str] = set()
    for shared in scripts:
        if not shared & found:
            found.add(min(shared))
    return sorted(names.get(name, name) for name in map(script_name, found))


def _installed_fonts(text: str) -> list[tuple[str, str]]:
    """Upright fonts of normal weight as (family, file): matplotlib's own, then Noto Sans, then all others."""
    from matplotlib.font_manager import fontManager

    # TeX's fonts lack characters that they claim to have; Last Resort has a box for every character.
    fonts = {
        (font.name, font.fname)
        for font in fontManager.ttflist
        if font.style == "normal" and font.weight == 400 and not font.name.startswith(("cm", "Last Resort"))
    }
    han = f"Noto Sans CJK {_han_region(text)}"
    return sorted(fonts, key=lambda f: (f[0] != FONT, f[0] != han, not f[0].startswith("Noto Sans"), f))


def _han_region(text: str) -> str:
    """The region whose forms Chinese characters take: Japan beside kana, Korea beside hangul, else mainland China."""
    from fontTools.unicodedata import script

    scripts = {script(character) for character in set(text)}
    return "JP" if scripts & {"Hira", "Kana"} else "KR" if "Hang" in scripts else "SC"


def pdf_font_type(families: Iterable[str]) -> int:
    """The font type of a PDF file: TrueType (42), or 3 where a family has PostScript outlines, which only 3 embeds."""
    wanted = set(families)
    return 3 if any(_has_postscript_outlines(file) for family, file in _installed_fonts("") if family in wanted) else 42


@cache
def _has_postscript_outlines(file: str) -> bool:
    """Whether a font, or the first font of a collection, has PostScript (CFF) outlines."""
    from fontTools.ttLib import TTFont, TTLibError  # type: ignore[import-untyped]

    try:
        with open(file, "rb") as opened, TTFont(opened, fontNumber=0, lazy=True) as font:
            return bool(font.sfntVersion == "OTTO")
    except (OSError, TTLibError):  # removed since matplotlib listed it, or broken
        return False


@cache
def _add_new_fonts() -> bool:
    """Adds fonts to matplotlib's list, which it keeps from run to run, that were installed since it was made."""
    from matplotlib.font_manager import findSystemFonts, fontManager

    new = set(findSystemFonts()) - {font.fname for font in fontManager.ttflist}
    for file in sorted(new):
        # Broken fonts, and fonts of coloured pictures, which matplotlib cannot draw.
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
