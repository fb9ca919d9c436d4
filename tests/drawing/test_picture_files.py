"""Pictures as files: formats, equal bytes, failed writes, and any characters."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any
from xml.dom import minidom
from xml.etree import ElementTree

import matplotlib
import pytest
from drawn_pairs import SMALL, alignment
from matplotlib.figure import Figure

from nmt.drawing import (
    PlotError,
    save_heatmap,
)


@pytest.mark.parametrize(
    ("suffix", "magic"), [(".png", b"\x89PNG"), (".pdf", b"%PDF"), (".svg", b"<?xml"), (".PNG", b"\x89PNG")]
)
def test_the_suffix_chooses_the_format_and_equal_input_gives_equal_bytes(
    tmp_path: Path, suffix: str, magic: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = save_heatmap(SMALL, tmp_path / f"one{suffix}", "title").read_bytes()
    assert first.startswith(magic)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    with matplotlib.rc_context({"font.size": 30, "savefig.bbox": "tight", "text.usetex": True}):
        second = save_heatmap(SMALL, str(tmp_path / f"two{suffix}"), "title").read_bytes()
    assert first == second
    assert matplotlib.__version__.encode() not in first
    assert save_heatmap(SMALL, tmp_path / f"three{suffix}", "other title").read_bytes() != first


def test_svg_with_any_words_is_valid_and_keeps_its_text(tmp_path: Path) -> None:
    path = save_heatmap(alignment("<b> & $x_1$ \x01", '"quoted" Straße'), tmp_path / "a.svg")
    written = {"".join(node.itertext()).strip() for node in ElementTree.parse(path).iter() if node.tag.endswith("text")}
    assert {"<b>", "&", "$x_1$", '"quoted"', "Straße", "\N{REPLACEMENT CHARACTER}"} <= written
    styles = [node.get("style", "") for node in ElementTree.parse(path).iter() if node.tag.endswith("text")]
    assert styles and all("sans-serif" in style for style in styles)  # for a reader who has no such font


def test_pdf_embeds_truetype(tmp_path: Path) -> None:
    assert b"/CIDFontType2" in save_heatmap(SMALL, tmp_path / "a.pdf").read_bytes()


@pytest.mark.parametrize("name", ["plot.jpg", "plot", "plot.png.gz"])
def test_an_unknown_suffix_is_refused_with_a_list_of_the_known(tmp_path: Path, name: str) -> None:
    path = tmp_path / "new" / name
    with pytest.raises(PlotError) as error:
        save_heatmap(SMALL, path)
    assert str(error.value) == f"{path}: expected a name that ends in .png, .pdf, .svg"
    assert not path.parent.exists()


def test_directories_are_made_and_a_path_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    path = save_heatmap(SMALL, tmp_path / "a" / "b" / "plot.png")
    assert [p.name for p in path.parent.iterdir()] == ["plot.png"]
    with pytest.raises(
        PlotError, match=r"plot.png/below.png cannot be written: .*; make room there, or choose another place$"
    ):
        save_heatmap(SMALL, path / "below.png")


def test_a_failed_write_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "plot.png"
    path.write_bytes(b"before")

    def fail_half_way(self: Figure, file: Path, **_: Any) -> None:
        Path(file).write_bytes(b"half")
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(Figure, "savefig", fail_half_way)
    with pytest.raises(PlotError, match="cannot be written: No space left on device"):
        save_heatmap(SMALL, path)
    assert path.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [path]


def test_every_word_can_be_drawn_in_every_format(tmp_path: Path) -> None:
    """Byte order marks inside a text, noncharacters and control characters are drawn."""
    drawn = alignment("a \ufeffman\uffff \x07 \U0001ffff", "ein \ufdd0 Mann")
    for suffix in ("pdf", "svg", "png"):
        save_heatmap(drawn, tmp_path / f"plot.{suffix}", title="\ufeffa title")
    minidom.parse(str(tmp_path / "plot.svg"))


@pytest.mark.slow
def test_a_picture_of_many_parts_has_a_bounded_size(tmp_path: Path) -> None:
    path = save_heatmap(alignment(" ".join(["word"] * 1000), " ".join(["a"] * 300)), tmp_path / "plot.png")
    width = int.from_bytes(path.read_bytes()[16:20], "big")  # the first number of the PNG header
    assert 7900 <= width <= 8000


def test_threads_draw_equal_bytes_and_restore_the_settings(tmp_path: Path) -> None:
    before = dict(matplotlib.rcParams)
    paths = [tmp_path / f"{i}.svg" for i in range(6)]
    threads = [threading.Thread(target=save_heatmap, args=(SMALL, path)) for path in paths]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({path.read_bytes() for path in paths}) == 1
    assert dict(matplotlib.rcParams) == before
