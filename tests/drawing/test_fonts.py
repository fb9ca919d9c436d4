"""Fonts for any script, warnings about missing ones, and how fonts are embedded."""

from __future__ import annotations

import warnings
from pathlib import Path

import matplotlib
import pytest
from drawn_pairs import alignment, texts
from fontTools.ttLib import TTCollection, TTFont
from matplotlib import font_manager

from nmt.drawing import (
    fonts,
    heatmap,
    pixels,
    save_heatmap,
)
from nmt.drawing.canvas import text_sizes
from nmt.drawing.fonts import scripts_without_font


def only_bundled(monkeypatch: pytest.MonkeyPatch, *more: font_manager.FontEntry) -> None:
    monkeypatch.setattr(fonts, "_reported_packages", set())
    monkeypatch.setattr(fonts, "_add_new_fonts", lambda: False)
    bundled = str(Path(matplotlib.get_data_path()))
    listed = [font for font in font_manager.fontManager.ttflist if font.fname.startswith(bundled)]
    monkeypatch.setattr(font_manager.fontManager, "ttflist", [*listed, *more])


def test_each_package_of_missing_fonts_is_named_once(monkeypatch: pytest.MonkeyPatch) -> None:
    only_bundled(monkeypatch)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        heatmap(alignment("\U00012000 \U00012001 dog", "\u1200 Hund"))
    (warning,) = caught
    assert str(warning.message) == (
        "no installed font can draw Cuneiform, Ethiopic (such as U+1200), so boxes take the place of these "
        "characters: install a font, on Debian or Ubuntu with apt-get install fonts-noto-core"
    )
    assert warning.filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        heatmap(alignment("\U00012003 cat", "\u13a0 Katze"))  # another script of the same package
    with pytest.warns(UserWarning, match=r"can draw Han, Hangul .* apt-get install fonts-noto-cjk$"):
        heatmap(alignment("\U00012003 漢", "한 Katze"))


def test_punctuation_that_scripts_share_needs_no_font_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """The full stop of Hindi belongs to many scripts of India, the ideographic one to Chinese and Japanese."""
    only_bundled(monkeypatch)
    assert scripts_without_font("घर है।") == (["Devanagari"], ["fonts-noto-core"])
    assert scripts_without_font("漢字。") == (["Han"], ["fonts-noto-cjk"])
    assert scripts_without_font("\U0001f9ff") == (["symbols or emoji"], ["fonts-symbola"])


def test_an_image_of_missing_characters_gives_no_second_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    """matplotlib warns of each character when it draws, which training did at each validation."""
    only_bundled(monkeypatch)
    with pytest.warns(UserWarning):
        figure = heatmap(alignment("漢 字", "dog"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        image = pixels(figure)
    assert image.shape[2] == 4 and image.dtype == "uint8"


def test_saving_gives_no_second_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    only_bundled(monkeypatch)
    with pytest.warns(UserWarning) as caught:
        save_heatmap(alignment("\U00012000", "dog"), tmp_path / "plot.png")
    assert [str(warning.message).startswith("no installed font can draw Cuneiform") for warning in caught] == [True]


def test_a_glyph_missing_from_the_usual_font_comes_from_another(monkeypatch: pytest.MonkeyPatch) -> None:
    gone = font_manager.FontEntry(fname="/nowhere/gone.ttf", name="Noto Sans Gone", style="normal", weight=400)
    only_bundled(monkeypatch, gone)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = heatmap(alignment("\u210a a", "dog"))  # a script g, which is in STIX but missing from DejaVu Sans
        figure.canvas.draw()
    families = {text.get_text(): text.get_fontfamily() for text in texts(figure)}
    assert families["\u210a"] == ["DejaVu Sans", "STIXGeneral", "sans-serif"]


def test_fonts_with_postscript_outlines_are_recognised(tmp_path: Path) -> None:
    postscript, truetype = (TTFont(sfntVersion=version) for version in ("OTTO", "\0\1\0\0"))
    for name, font in (("a.otf", postscript), ("b.ttf", truetype)):
        font.save(tmp_path / name)
    for name, font in (("c.ttc", postscript), ("d.ttc", truetype)):
        collection = TTCollection()
        collection.fonts = [font, truetype]
        collection.save(tmp_path / name)
    (tmp_path / "broken.ttf").write_bytes(b"no font")
    names = ("a.otf", "b.ttf", "c.ttc", "d.ttc", "broken.ttf", "none.ttf")
    found = {name for name in names if fonts._has_postscript_outlines(str(tmp_path / name))}
    assert found == {"a.otf", "c.ttc"}
    assert fonts.pdf_font_type(["DejaVu Sans"]) == 42


def test_a_font_installed_after_matplotlib_listed_fonts_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    bundled = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
    listed = [f for f in font_manager.fontManager.ttflist if Path(f.fname).name == "DejaVuSans.ttf"]
    monkeypatch.setattr(font_manager.fontManager, "ttflist", listed)
    monkeypatch.setattr(font_manager, "findSystemFonts", lambda: [str(bundled / "STIXGeneral.ttf")])
    fonts._add_new_fonts.cache_clear()
    assert fonts.find_fonts(["\u210a"]) == ["DejaVu Sans", "STIXGeneral"]
    fonts._add_new_fonts.cache_clear()


def test_chinese_characters_take_the_form_of_the_language_beside_them() -> None:
    assert [fonts._han_region(text) for text in ("漢字 と かな", "漢字 한글", "漢字", "word")] == [
        "JP",
        "KR",
        "SC",
        "SC",
    ]


def test_arabic_letters_are_joined_and_run_from_right_to_left() -> None:
    def width(word: str) -> float:
        return float(text_sizes([word], ["DejaVu Sans"])[0, 0])

    joined, apart = width("ببب"), width("ب\u200cب\u200cب")  # with non-joiners between the letters
    assert joined < 0.8 * apart
    # Lam before alef becomes one glyph; in the reverse order they stay two.
    assert width("لا") < 0.8 * (width("ل") + width("ا"))
