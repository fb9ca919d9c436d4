"""Heat maps of one sentence pair: labels, cells, links, gold links, erasure, and the user's settings."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from drawn_pairs import COMPOUND, SMALL, alignment, check_layout, corners, erasure, extent, labels, made, meshes, texts
from hypothesis import example, given, settings
from hypothesis import strategies as st
from matplotlib.collections import QuadMesh
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

import nmt
from nmt.alignment.errors import AlignmentError
from nmt.alignment.hard_links import Linking, hard_links
from nmt.alignment.links import Gold
from nmt.alignment.word_alignment import WordAlignment
from nmt.drawing import (
    PlotError,
    heatmap,
    save_heatmap,
    show_heatmaps,
)
from nmt.drawing.canvas import contrast


def outlines(figure: Figure) -> set[tuple[int, int]]:
    """The column and row of each outlined cell."""
    grid = corners(meshes(figure)[0])
    start, size = grid[0, 0], grid[1, 1] - grid[0, 0]
    boxes = [patch for patch in figure.axes[0].patches if isinstance(patch, Rectangle)]
    cells = [np.array(box.get_xy()) for box in boxes if box.get_width() == pytest.approx(size[0])]
    return {(int(column), int(row)) for column, row in (np.round((cell - start) / size) for cell in cells)}


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
    assert [text for text in labels(figure) if text.startswith("link")] == [
        "link: the target word's largest share (%) of a source word's attention"
    ]
    assert "85 %" in labels(figure)  # 0.6 of the 0.61 that `c` receives and the floor of 0.1
    unlinked = heatmap(made(("a",), ("b",), [[0.02]], [0.98]))
    assert outlines(unlinked) == set()
    assert not [text for text in labels(unlinked) if text.startswith("link")]


def test_the_legend_names_the_rule_only_if_it_made_the_links() -> None:
    weights, end = [[0.6, 0.3], [0.5, 0.4]], [0.1, 0.1]
    most = Linking("argmax")
    linked = WordAlignment(("a", "b"), ("x", "y"), weights, end, hard_links(np.float32(weights), np.float32(end), most))
    assert "link: each target word's strongest attention" in labels(heatmap(linked, linking=most))
    assert not [text for text in labels(heatmap(linked, linking=most)) if text.endswith("%")]
    assert "link" in labels(heatmap(linked))
    assert "link: both models, merged by union" in labels(heatmap(linked, merged="union"))


def test_columns_run_from_right_to_left_where_the_source_does() -> None:
    pair = made(("الكتاب", "الجديد", "Linux"), ("new", "book"), [[0.1, 0.8, 0.0], [0.9, 0.0, 0.0]], [0.1, 0.1])
    figure = heatmap(pair, gold=Gold(frozenset({(0, 1)}), frozenset({(0, 1)})), erasure=[[1, 2, 3], [4, 5, 6]])
    check_layout(figure)
    where = {text.get_text(): text.get_window_extent() for text in texts(figure)}
    assert where["الكتاب"].x0 > where["الجديد"].x0 > where["Linux"].x0 > where["new"].x1
    end, words, erased = sorted(
        (mesh for mesh in figure.axes[0].collections if isinstance(mesh, QuadMesh)),
        key=lambda mesh: corners(mesh)[0, 0, 0],
    )
    np.testing.assert_array_equal(np.asarray(words.get_array()), pair.weights[:, ::-1])
    np.testing.assert_array_equal(np.asarray(end.get_array()), pair.end_of_sentence[:, None])
    np.testing.assert_array_equal(np.asarray(erased.get_array()), [[3, 2, 1], [6, 5, 4]])
    start, size = corners(words)[0, 0], corners(words)[1, 1] - corners(words)[0, 0]
    boxes = [patch for patch in figure.axes[0].patches if patch.get_width() == pytest.approx(size[0])]
    assert {tuple(np.round((box.get_xy() - start) / size).astype(int)) for box in boxes} == {(1, 0), (2, 1)}
    assert "← source" in labels(figure)


def test_a_long_pair_is_drawn_in_readable_parts() -> None:
    """200 words on each side: four by four parts, and the diagonal has all the attention."""
    words = tuple(f"w{place}" for place in range(200))
    pair = made(words, words, np.eye(200), np.zeros(200))
    figure = heatmap(pair, "long")
    cells = [mesh for mesh in figure.findobj(QuadMesh) if mesh.axes.get_label() != "<colorbar>"]
    shapes = [shape for mesh in cells if (shape := np.asarray(mesh.get_array()).shape) != (256, 1)]  # colour bars
    assert sorted(shapes) == [(50, 1)] * 4 + [(50, 50)] * 4
    assert {f"w{place}" for place in range(200)} <= set(labels(figure))
    said = " ".join(labels(figure))
    assert "long: target words 1–50 of 200, source words 1–50 of 200" in said
    assert "4 of 16 parts are drawn: the others have no link and no attention of 0.1" in said
    assert max(figure.get_size_inches()) * 200 <= 8000  # no part is made smaller


def test_the_parts_of_a_long_pair_with_erasure_are_chosen_by_erasure_too() -> None:
    words = tuple(f"w{place}" for place in range(200))
    pair, falls = made(words, words, np.eye(200), np.zeros(200)), np.zeros((200, 200))
    falls[0, 199] = -1
    said = " ".join(labels(heatmap(pair, erasure=falls)))
    assert "source words 151–200 of 200" in said
    assert "5 of 16 parts are drawn: the others have no link, no attention of 0.1 and no fall or rise of 1 nat" in said


def test_every_target_word_of_a_long_pair_has_a_part() -> None:
    flat = made(tuple("ab" * 40), tuple("xyz" * 30), np.full((90, 80), 0.01), np.full(90, 0.2))
    rows = [mesh for mesh in heatmap(flat).findobj(QuadMesh) if mesh.axes.get_label() != "<colorbar>"]
    assert sum(len(np.asarray(mesh.get_array())) for mesh in rows) >= 2 * 90


def test_large_cells_show_their_weights_except_zeros() -> None:
    written = labels(heatmap(made(("a", "b"), ("c",), [[0.87, 0.004]], [0.126])))
    assert "0.87" in written and "0.13" in written and "0.00" not in written
    many = " ".join(["w"] * 40)
    assert not [label for label in labels(heatmap(alignment(many, "a"))) if label.startswith("0.") and len(label) == 4]


def test_the_contrast_of_two_colours() -> None:
    assert contrast("black", "white") == pytest.approx(21)
    assert contrast("#767676", "white") == contrast("white", "#767676") == pytest.approx(4.54, abs=0.005)
    assert contrast("red", "red") == 1


@pytest.mark.parametrize("attention", np.arange(0.15, 0.9, 0.05))
def test_values_and_shares_read_well_on_every_colour(attention: float) -> None:
    weights = [[attention, 1 - attention], [1 - attention, attention]]
    figure = heatmap(made(("a", "b"), ("c", "d"), weights, [0.0, 0.0]), erasure=[[1, -attention], [attention, -1]])
    read = 0
    for mesh in (mesh for mesh in figure.axes[0].collections if isinstance(mesh, QuadMesh)):
        columns, rows = corners(mesh)[0, :, 0], corners(mesh)[:, 0, 1]
        for text in texts(figure):
            x, y = text.get_position()
            if text.axes is mesh.axes and columns[0] < x < columns[-1] and rows[0] < y < rows[-1]:
                place = np.searchsorted(rows, y) - 1, np.searchsorted(columns, x) - 1
                cell = mesh.to_rgba(np.asarray(mesh.get_array()))[place]
                assert contrast(text.get_color(), tuple(cell)) >= 3.6, (text.get_text(), attention)
                read += 1
    assert read == 8 + len([label for label in labels(figure) if label.endswith("%")])


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


def test_dollar_and_backslash_are_ordinary_characters() -> None:
    # As formulas, the second and third would be errors.
    figure = heatmap(alignment("$x_1$ $\\frac$ $_$", "a $5"), "from $5 to $6_")
    figure.canvas.draw()
    assert {"$x_1$", "$\\frac$", "$_$", "$5"} <= set(labels(figure))
    assert not any(text.get_parse_math() for text in texts(figure) if "$" in text.get_text())


def test_the_users_settings_are_restored() -> None:
    with matplotlib.rc_context({"font.size": 31, "svg.fonttype": "path"}):
        before = dict(matplotlib.rcParams)
        heatmap(SMALL)
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
    assert {"gold link, sure", "gold link, possible"} <= set(labels(figure))
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


def test_drawing_functions_are_exported_by_nmt() -> None:
    assert (nmt.heatmap, nmt.save_heatmap, nmt.show_heatmaps) == (heatmap, save_heatmap, show_heatmaps)
