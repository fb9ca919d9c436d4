"""Heat maps, their fonts, files and pages, and grids of heat maps."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import threading
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.dom import minidom
from xml.etree import ElementTree

import matplotlib
import numpy as np
import pytest
from fontTools.ttLib import TTCollection, TTFont
from hypothesis import example, given, settings
from hypothesis import strategies as st
from matplotlib import font_manager
from matplotlib.collections import QuadMesh
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.text import Text
from matplotlib.transforms import Bbox

import nmt
from nmt.alignment.errors import AlignmentError
from nmt.alignment.links import Gold
from nmt.alignment.word_alignment import WordAlignment
from nmt.drawing import (
    Picture,
    PlotError,
    fonts,
    heatmap,
    heatmap_pages,
    save_figure,
    save_heatmap,
    save_pages,
    show_heatmaps,
)
from nmt.drawing.canvas import text_sizes
from nmt.drawing.pdf_pages import MARGIN, PAGE, place_on_pages


def made(source: Any, target: Any, weights: Any, end_of_sentence: Any) -> WordAlignment:
    return WordAlignment(source, target, np.asarray(weights, np.float32), np.asarray(end_of_sentence, np.float32))


def alignment(source: str, target: str) -> WordAlignment:
    s, t = tuple(source.split()), tuple(target.split())
    weights = np.random.default_rng(len(s)).dirichlet(np.full(len(s) + 1, 0.3), size=len(t))
    return made(s, t, weights[:, :-1], weights[:, -1])


def erasure(pair: WordAlignment) -> np.ndarray:
    return np.random.default_rng(1).normal(0.5, 1.0, pair.weights.shape)


SMALL = alignment("ein kleiner Hund", "a small dog")
COMPOUND = "Donaudampfschifffahrtsgesellschaftsgesetz"


def texts(figure: Figure) -> list[Text]:
    """All visible texts, the ticks of the colour bar included."""
    found = [artist for artist in figure.findobj(Text) if isinstance(artist, Text)]
    return [text for text in found if text.get_text() and text.get_visible()]


def labels(figure: Figure) -> list[str]:
    return [text.get_text() for text in texts(figure)]


def corners(mesh: QuadMesh) -> np.ndarray:
    """[rows + 1, columns + 1, (x, y)] in inches."""
    return np.asarray(mesh.get_coordinates())


def meshes(figure: Figure) -> tuple[QuadMesh, QuadMesh]:
    """The cells of the words, and the cells of the end of sentence to their right."""
    found = [mesh for mesh in figure.axes[0].collections if isinstance(mesh, QuadMesh)]
    words, end = sorted(found, key=lambda mesh: corners(mesh)[0, 0, 0])
    return words, end


def outlines(figure: Figure) -> set[tuple[int, int]]:
    """The column and row of each outlined cell."""
    grid = corners(meshes(figure)[0])
    start, size = grid[0, 0], grid[1, 1] - grid[0, 0]
    boxes = [patch for patch in figure.axes[0].patches if isinstance(patch, Rectangle)]
    cells = [np.array(box.get_xy()) for box in boxes if box.get_width() == pytest.approx(size[0])]
    return {(int(column), int(row)) for column, row in (np.round((cell - start) / size) for cell in cells)}


def extent(mesh: QuadMesh) -> Bbox:
    """The extent of the cells in pixels from the lower left corner."""
    points = mesh.get_window_extent().get_points()
    return Bbox([points.min(axis=0), points.max(axis=0)])


def check_layout(figure: Figure) -> None:
    """Checks that no text is cut, that texts do not overlap, and that labels do not cover cells.

    A figure may have several heat maps, which must not overlap either.
    """
    figure.canvas.draw()
    width, height = figure.canvas.get_width_height()
    boxes = [(text.get_text(), text.get_window_extent()) for text in texts(figure)]
    for name, box in boxes:
        assert 0 <= box.x0 < box.x1 <= width and 0 <= box.y0 < box.y1 <= height, f"{name} is cut"
    for (one, box), (other, other_box) in itertools.combinations(boxes, 2):
        assert not box.overlaps(other_box), f"{one} overlaps {other}"
    all_cells = [extent(mesh) for mesh in figure.findobj(QuadMesh) if mesh.axes.get_label() != "<colorbar>"]
    assert not any(one.overlaps(other) for one, other in itertools.combinations(all_cells, 2))
    for cells in all_cells:
        for name, box in boxes:
            inside = cells.x0 <= box.x0 and box.x1 <= cells.x1 and cells.y0 <= box.y0 and box.y1 <= cells.y1
            assert inside or not box.overlaps(cells), f"{name} lies over the cells"


@pytest.mark.parametrize(
    ("source", "target", "title"),
    [
        ("Hallo", "Hello", ""),
        ("Hallo", "Hello", "A title that is a good deal longer than the two words below it are"),
        ("Hallo", "Hello", COMPOUND),
        (COMPOUND, "law", ""),
        ("law", COMPOUND, "law"),
        ("ein kleiner Hund", "a small dog", "a small dog"),
        (f"das umstrittene {COMPOUND} trotz erheblicher Bedenken", "the controversial Danube law despite concerns", ""),
        (" ".join("a" * 40), "a b c", ""),
        ("a", " ".join(f"word{i}" for i in range(60)), "sixty words"),
        (" ".join(f"Wort{i}" for i in range(60)), " ".join(f"word{i}" for i in range(60)), "sixty words"),
        (" ".join(["Å\u0302\u0302\u0302\u0302\u0323y"] * 60), " ".join(["Å\u0302\u0302\u0302\u0302\u0323y"] * 60), ""),
        ("gjpqy Ǻç̣ مرحبا", "ÁÅ̱ ไม่ good", ""),
        ("$x_1$ \\alpha_{2} ^", "$ 5$ a_b", "cost $5 and $6"),
    ],
)
@pytest.mark.parametrize("more", [False, True])
@pytest.mark.filterwarnings("ignore:no installed font")
@pytest.mark.filterwarnings("ignore:Glyph:UserWarning")
def test_labels_are_complete_and_do_not_overlap(source: str, target: str, title: str, more: bool) -> None:
    pair = alignment(source, target)
    gold = Gold(frozenset({(0, 0)}), frozenset({(0, 0), (len(pair.source) - 1, len(pair.target) - 1)}))
    check_layout(heatmap(pair, title, gold, erasure(pair)) if more else heatmap(pair, title))


sentences = st.lists(st.text("abcmwIl.,ÄjgQ", min_size=1, max_size=18), min_size=1, max_size=12).map(" ".join)


@settings(max_examples=10, deadline=None)
@given(sentences, sentences, sentences)
@example(" ".join(["mm"] * 12), "a", "")
def test_labels_of_any_words_are_complete_and_do_not_overlap(source: str, target: str, title: str) -> None:
    check_layout(heatmap(alignment(source, target), title))


def test_there_is_a_cell_for_every_pair_of_words_and_for_every_end_of_sentence() -> None:
    example = alignment("a b c d", "e f g")
    words, end = meshes(heatmap(example))
    np.testing.assert_array_equal(np.asarray(words.get_array()), example.weights)
    np.testing.assert_array_equal(np.asarray(end.get_array()), example.end_of_sentence[:, None])
    assert words.get_clim() == end.get_clim() == (0, 1)
    assert corners(end)[..., 0].min() > corners(words)[..., 0].max()
    assert np.ptp(corners(end)[0, :, 0]) < np.ptp(corners(words)[0, :2, 0])


def test_source_words_run_along_the_top_and_target_words_down_the_rows() -> None:
    figure = heatmap(SMALL)
    words, _ = meshes(figure)
    cells = extent(words)
    where = {text.get_text(): text.get_window_extent() for text in texts(figure)}
    assert all(where[word].y0 > cells.y1 for word in SMALL.source)
    assert where["ein"].x0 < where["kleiner"].x0 < where["Hund"].x0
    assert all(where[word].x1 < cells.x0 for word in SMALL.target)
    assert where["a"].y0 > where["small"].y0 > where["dog"].y0


def test_hard_links_have_outlines_and_a_legend() -> None:
    linked = made(("a", "b", "c"), ("d", "e"), [[0.01, 0.01, 0.01], [0.1, 0.3, 0.6]], [0.97, 0.0])
    figure = heatmap(linked)
    assert outlines(figure) == {(2, 1)}
    assert "link" in labels(figure)
    unlinked = heatmap(made(("a",), ("b",), [[0.02]], [0.98]))
    assert outlines(unlinked) == set()
    assert "link" not in labels(unlinked)


def test_large_cells_show_their_weights_except_zeros() -> None:
    written = labels(heatmap(made(("a", "b"), ("c",), [[0.87, 0.004]], [0.126])))
    assert "0.87" in written and "0.13" in written and "0.00" not in written
    many = " ".join(["w"] * 40)
    assert not [label for label in labels(heatmap(alignment(many, "a"))) if label.startswith("0.") and len(label) == 4]


@pytest.mark.parametrize("many", [2, 60])
def test_only_the_label_of_the_end_of_sentence_is_italic(many: int) -> None:
    words = " ".join(["sentence"] * many)
    by_style: dict[str, set[str]] = {"italic": set(), "normal": set()}
    for text in texts(heatmap(alignment(words, words))):
        by_style[text.get_fontstyle()].add(" ".join(text.get_text().split()))
    assert by_style["italic"] == {"end of sentence"}
    assert "sentence" in by_style["normal"]


def test_very_long_words_lose_their_middle_and_control_characters_are_shown() -> None:
    url = "https://" + "a" * 500 + ".html"
    shown = labels(heatmap(alignment(f"{url} b\x08ell", "word")))
    (short,) = [label for label in shown if label.startswith("https://")]
    assert len(short) == 64 and short.endswith("aaa.html") and "…" in short
    assert "b\N{REPLACEMENT CHARACTER}ell" in shown


@pytest.mark.parametrize(("side", "words"), [("source", ((), ("a",))), ("target", (("a",), ()))])
def test_a_side_without_words_or_with_too_many_is_refused(
    side: str, words: tuple[tuple[str, ...], tuple[str, ...]]
) -> None:
    empty = made(*words, np.zeros((len(words[1]), len(words[0]))), np.ones(len(words[1])))
    with pytest.raises(PlotError, match=f"^nothing to draw: the {side} has no words$"):
        heatmap(empty)
    longest = tuple(word or ("a",) * 1000 for word in words)
    heatmap(made(*longest, np.zeros((len(longest[1]), len(longest[0]))), np.ones(len(longest[1]))))
    longer = tuple(word or ("a",) * 1001 for word in words)
    with pytest.raises(PlotError, match=f"^the {side} has 1001 words: a heat map has room for 1000$"):
        heatmap(made(*longer, np.zeros((len(longer[1]), len(longer[0]))), np.ones(len(longer[1]))))


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


def test_dollar_and_backslash_are_ordinary_characters() -> None:
    # As formulas, the second and third would be errors.
    figure = heatmap(alignment("$x_1$ $\\frac$ $_$", "a $5"), "from $5 to $6_")
    figure.canvas.draw()
    assert {"$x_1$", "$\\frac$", "$_$", "$5"} <= set(labels(figure))
    assert not any(text.get_parse_math() for text in texts(figure) if "$" in text.get_text())


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


def only_bundled(monkeypatch: pytest.MonkeyPatch, *more: font_manager.FontEntry) -> None:
    monkeypatch.setattr(fonts, "_reported_scripts", set())
    monkeypatch.setattr(fonts, "_add_new_fonts", lambda: False)
    bundled = str(Path(matplotlib.get_data_path()))
    listed = [font for font in font_manager.fontManager.ttflist if font.fname.startswith(bundled)]
    monkeypatch.setattr(font_manager.fontManager, "ttflist", [*listed, *more])


def test_each_script_without_a_font_is_reported_once(monkeypatch: pytest.MonkeyPatch) -> None:
    only_bundled(monkeypatch)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        heatmap(alignment("\U00012000 \U00012001 dog", "\u1200 Hund"))
    (warning,) = caught
    assert str(warning.message) == (
        "no installed font can draw Cuneiform, Ethiopic (such as U+1200): install one, for example of the Noto family"
    )
    assert warning.filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        heatmap(alignment("\U00012003 cat", "\u1201 Katze"))
    with pytest.warns(UserWarning, match=r"can draw Cherokee \(such as U\+13A0\)"):  # Cuneiform was reported before
        heatmap(alignment("\U00012003 cat", "\u13a0 Katze"))


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


def test_the_users_settings_are_restored() -> None:
    with matplotlib.rc_context({"font.size": 31, "svg.fonttype": "path"}):
        before = dict(matplotlib.rcParams)
        heatmap(SMALL)
        assert dict(matplotlib.rcParams) == before


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


def test_import_loads_no_matplotlib_and_drawing_loads_no_pyplot() -> None:
    code = (
        "import sys, numpy as np, nmt.drawing as p; from nmt.alignment.word_alignment import WordAlignment; "
        "assert 'matplotlib' not in sys.modules; "
        "p.heatmap(WordAlignment(('a',), ('b',), np.ones((1, 1)), np.zeros(1))); "
        "assert 'matplotlib' in sys.modules and 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(nmt.__file__).parents[1])


def test_gold_links_are_marked_inside_the_cells_and_in_the_legend() -> None:
    linked = made(("a", "b", "c"), ("d", "e"), [[0.9, 0.0, 0.0], [0.1, 0.3, 0.6]], [0.1, 0.0])
    gold = Gold(frozenset({(2, 1)}), frozenset({(2, 1), (1, 0)}))
    figure = heatmap(linked, gold=gold)
    assert outlines(figure) == {(0, 0), (2, 1)}  # the links of the model stay
    assert marks(figure) == ({(2, 1)}, {(1, 0)})
    assert {"link", "gold link, sure", "gold link, possible"} <= set(labels(figure))
    sure_alone = heatmap(linked, gold=Gold(gold.sure, gold.sure))
    assert marks(sure_alone) == ({(2, 1)}, set())
    assert "gold link, possible" not in labels(sure_alone)
    assert "gold link, sure" not in labels(heatmap(linked))


def marks(figure: Figure) -> tuple[set[tuple[int, int]], set[tuple[int, int]]]:
    """The column and row of the cells marked as sure, and of those marked as possible."""
    grid = corners(meshes(figure)[0])
    start, size = grid[0, 0], grid[1, 1] - grid[0, 0]
    found: dict[str, set[tuple[int, int]]] = {"-": set(), "--": set()}
    for box in figure.axes[0].patches:
        if (
            isinstance(box, Rectangle)
            and 0.12 < box.get_width() < size[0] - 0.01
            and box.get_edgecolor()[:3] != (1, 1, 1)
        ):
            column, row = np.floor((np.array(box.get_xy()) - start) / size)
            found["-" if box.get_linestyle() in ("-", "solid") else "--"].add((int(column), int(row)))
    return found["-"], found["--"]


def test_a_gold_link_to_a_missing_word_is_refused() -> None:
    with pytest.raises(AlignmentError, match="gold links: link 3-0, counted from 0, is out of range"):
        heatmap(SMALL, gold=Gold(frozenset(), frozenset({(3, 0)})))


def test_erasure_is_drawn_beside_attention_around_zero() -> None:
    fall = np.array([[2.5, -0.5, 0.0], [0.0, 0.0, 1.0], [-0.25, 0.0, 12.5]])
    figure = heatmap(SMALL, erasure=fall)
    words, _, erased = sorted(
        (mesh for mesh in figure.axes[0].collections if isinstance(mesh, QuadMesh)),
        key=lambda mesh: corners(mesh)[0, 0, 0],
    )
    np.testing.assert_array_equal(np.asarray(words.get_array()), SMALL.weights)
    np.testing.assert_array_equal(np.asarray(erased.get_array()), fall)
    assert erased.get_clim() == (-12.5, 12.5)
    red, green, blue, _ = erased.get_cmap()(0.5)
    assert min(red, green, blue) > 0.95  # white at 0
    assert corners(erased)[0, :, 1] == pytest.approx(corners(words)[0, :, 1])
    shown = labels(figure)
    assert {"attention", "nats", "2.50", "−0.50", "12.5", "−0.25"} <= set(shown)
    assert [shown.count(word) for word in SMALL.source] == [2, 2, 2]
    assert "fall of log-probability" in " ".join(shown)


def test_colour_bars_increase_upwards() -> None:
    bars = heatmap(SMALL, erasure=np.ones((3, 3))).axes[1:]
    assert [bar.get_ylim() for bar in bars] == [(0, 1), (-1, 1)]


@pytest.mark.parametrize("matrix", [np.ones((2, 3)), np.full((3, 3), np.nan)])
def test_an_erasure_matrix_that_does_not_fit_is_refused(matrix: np.ndarray) -> None:
    with pytest.raises(PlotError, match=r"erasure has shape \[.*\]: expected finite numbers of shape \[3, 3\]"):
        heatmap(SMALL, erasure=matrix)


def test_an_erasure_of_zeros_can_be_drawn() -> None:
    check_layout(heatmap(SMALL, erasure=np.zeros((3, 3))))


inches = st.floats(0.5, 25.0)


@given(st.lists(st.tuples(inches, inches), min_size=1, max_size=30))
def test_pages_have_every_heat_map_once_in_order_without_overlap(sizes: list[tuple[float, float]]) -> None:
    maps: list[Any] = [SimpleNamespace(layout=SimpleNamespace(width=width, height=height)) for width, height in sizes]
    placed = list(place_on_pages(maps))
    assert [where.heat_map for where in placed] == maps
    assert placed[0].begins_page
    pages: list[list[Bbox]] = []
    for where in placed:
        if where.begins_page:
            pages.append([])
        pages[-1].append(
            Bbox.from_bounds(where.left, where.top, where.heat_map.layout.width, where.heat_map.layout.height)
        )
    for page in pages:
        assert not any(one.overlaps(other) for one, other in itertools.combinations(page, 2))
        assert all(box.x0 >= MARGIN and box.y0 >= MARGIN for box in page)
        # Only a heat map that is larger than a page may cross the margins.
        assert len(page) == 1 or all(box.x1 <= PAGE[0] - MARGIN and box.y1 <= PAGE[1] - MARGIN for box in page)


def test_a_pair_larger_than_a_page_gets_a_larger_page() -> None:
    sizes_of = [tuple(page.get_size_inches()) for page in heatmap_pages([Picture(alignment("a " * 90, "b"))] * 2)]
    assert len(sizes_of) == 2
    assert all(width > PAGE[0] and height == PAGE[1] for width, height in sizes_of)


def test_a_page_shows_several_small_pairs_completely() -> None:
    (page,) = heatmap_pages([Picture(SMALL, f"pair {i}", None, erasure(SMALL)) for i in range(4)])
    check_layout(page)


def test_pages_are_one_pdf_and_equal_input_gives_equal_bytes(tmp_path: Path) -> None:
    pictures = [Picture(alignment("a " * 90, "b"), f"pair {i}") for i in range(3)]
    seen: list[Picture] = []
    path = save_pages(pictures, tmp_path / "new" / "a.pdf", lambda some: (seen.append(p) or p for p in some))
    assert seen == pictures
    assert path.read_bytes().count(b"/Type /Page\n") + path.read_bytes().count(b"/Type /Page ") == 3
    assert save_pages(pictures, tmp_path / "b.pdf").read_bytes() == path.read_bytes()
    assert list(path.parent.iterdir()) == [path]


def test_pages_without_pairs_or_with_another_suffix_are_refused(tmp_path: Path) -> None:
    with pytest.raises(PlotError, match=r"a.png: expected a name that ends in .pdf"):
        save_pages([Picture(SMALL)], tmp_path / "a.png")
    with pytest.raises(PlotError, match="nothing to draw: no sentence pairs"):
        save_pages([], tmp_path / "a.pdf")
    assert list(tmp_path.iterdir()) == []


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


def test_a_picture_of_many_words_has_a_bounded_size(tmp_path: Path) -> None:
    path = save_heatmap(alignment(" ".join(["word"] * 250), "a b"), tmp_path / "plot.png")
    width = int.from_bytes(path.read_bytes()[16:20], "big")  # the first number of the PNG header
    assert 7900 <= width <= 8000


MATRICES = np.random.default_rng(0).dirichlet(np.ones(6), size=(2, 3, 5))  # [rows, columns, queries, keys]


def test_show_heatmaps_draws_a_grid_with_one_colour_scale(tmp_path: Path) -> None:
    figure = show_heatmaps(MATRICES, "Keys", "Queries", ["Head 1", "Head 2", "$3"])
    *grid, bar = figure.axes
    images = [axes.images[0] for axes in grid]
    for image, matrix in zip(images, MATRICES.reshape(6, 5, 6), strict=True):
        np.testing.assert_array_equal(np.asarray(image.get_array()), matrix)
        assert image.get_clim() == bar.get_ylim() == (0, MATRICES.max())
    assert [axes.get_title() for axes in grid] == ["Head 1", "Head 2", "$3", "", "", ""]
    assert [axes.get_xlabel() for axes in grid] == ["", "", "", "Keys", "Keys", "Keys"]
    assert [axes.get_ylabel() for axes in grid] == ["Queries", "", "", "Queries", "", ""]
    assert save_figure(figure, tmp_path / "grid.png").read_bytes().startswith(b"\x89PNG")


def test_show_heatmaps_takes_negative_values_and_other_colour_maps() -> None:
    image = show_heatmaps(MATRICES - 0.5, "Keys", "Queries", cmap="Reds").axes[0].images[0]
    assert image.get_clim() == (MATRICES.min() - 0.5, MATRICES.max() - 0.5)
    assert image.get_cmap().name == "Reds"


def test_show_heatmaps_refuses_unknown_colour_maps_and_infinite_values() -> None:
    with pytest.raises(PlotError, match="^matplotlib has no colour map 'blue'"):
        show_heatmaps(MATRICES, "Keys", "Queries", cmap="blue")
    with pytest.raises(PlotError, match="^matrices: expected finite numbers"):
        show_heatmaps(np.full((1, 1, 2, 2), np.inf), "Keys", "Queries")


def test_drawing_functions_are_exported_by_nmt() -> None:
    assert (nmt.heatmap, nmt.save_heatmap, nmt.show_heatmaps) == (heatmap, save_heatmap, show_heatmaps)


@pytest.mark.parametrize("matrices", [np.ones((2, 2)), np.ones((1, 1, 0, 3))])
def test_show_heatmaps_refuses_other_shapes(matrices: Any) -> None:
    with pytest.raises(PlotError, match=r"^matrices have shape \[.*\]: expected \[rows, columns, queries, keys\]"):
        show_heatmaps(matrices, "Keys", "Queries")


def test_show_heatmaps_needs_a_title_for_each_column() -> None:
    with pytest.raises(PlotError, match="^2 titles for 3 columns"):
        show_heatmaps(MATRICES, "Keys", "Queries", ["a", "b"])
