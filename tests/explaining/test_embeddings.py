"""Neighbours, analogies and axes of vectors with known answers, the map of words, and the command on a run."""

from __future__ import annotations

import math
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import copy_task
import numpy as np
import pytest
from commands import forked
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import nmt
from nmt.batches.arrays import Sequences
from nmt.explaining.embeddings import EmbeddingError, Embeddings, WordCounts, principal_axes
from nmt.network.model import Seq2Seq
from nmt.network.weights import variables_to_arrays
from nmt.run.arrays import save_arrays
from nmt.training.preparation.prepare import prepare

# Directions in a plane: the angle to ▁east in degrees, and the length.
COMPASS = {"▁east": (0, 1), "▁near": (10, 5), "▁north": (90, 2), "▁south": (-90, 1), "▁west": (180, 3), "far": (25, 9)}


def compass(**changes: Any) -> Embeddings:
    vectors = [(r * math.cos(math.radians(a)), r * math.sin(math.radians(a))) for a, r in COMPASS.values()]
    return Embeddings(list(COMPASS), vectors, **changes)


def grid() -> Embeddings:
    """Words that are the sum of a stem and an ending: three stems and two endings, all at right angles."""
    stems, endings = np.eye(5)[:3], np.eye(5)[3:]
    pieces = [f"▁{stem}{ending}" for stem in "abc" for ending in ("", "s")]
    return Embeddings(pieces, [stem + ending for stem in stems for ending in endings])


# Neighbours


def test_neighbours_are_ordered_by_angle_whatever_their_length():
    found = compass().neighbours("east")
    assert [piece for piece, _, _ in found] == ["▁near", "far", "▁north", "▁south", "▁west"]
    expected = [math.cos(math.radians(angle)) for angle in (10, 25, 90, 90, 180)]
    np.testing.assert_allclose([cosine for _, cosine, _ in found], expected, atol=1e-12)
    assert [seen for _, _, seen in found] == [None] * 5


def test_neighbours_of_a_vector_include_all_pieces_up_to_the_count():
    assert [piece for piece, _, _ in compass().neighbours([0.1, 2.0], count=2)] == ["▁north", "far"]


@settings(max_examples=50, deadline=None)
@given(arrays.arrays(np.float32, st.tuples(st.integers(2, 9), st.integers(1, 5)), elements=st.floats(-8, 8, width=32)))
def test_neighbours_equal_those_of_numpy(vectors):
    query = vectors[0].astype(float)
    pieces = [f"▁{i}" for i in range(len(vectors))]
    embeddings = Embeddings(pieces, vectors)
    if not query.any():
        with pytest.raises(EmbeddingError, match="length 0"):
            embeddings.neighbours("0")
        return
    cosines = {}
    for piece, vector in zip(pieces[1:], vectors[1:].astype(float), strict=True):
        lengths = math.sqrt(query @ query) * math.sqrt(vector @ vector)
        cosines[piece] = query @ vector / lengths if vector.any() else 0.0
    found = embeddings.neighbours("0", count=100)
    assert {piece for piece, _, _ in found} == set(cosines)
    np.testing.assert_allclose([cosine for _, cosine, _ in found], sorted(cosines.values(), reverse=True), atol=1e-6)
    for piece, cosine, _ in found:
        assert cosine == pytest.approx(cosines[piece], abs=1e-6)


def test_a_word_of_several_pieces_is_their_mean_and_has_other_pieces_as_neighbours():
    embeddings = compass(encode=lambda word: [list(COMPASS).index(p) for p in {"ne": ["▁north", "▁east"]}[word]])
    entry = embeddings.find("ne")
    assert entry.pieces == ("▁north", "▁east")
    np.testing.assert_allclose(entry.vector, [0.5, 1.0], atol=1e-12)
    assert [piece for piece, _, _ in embeddings.neighbours("ne")] == ["far", "▁near", "▁west", "▁south"]


def test_pieces_and_words_are_told_apart():
    embeddings = compass()
    assert embeddings.find("far").pieces == ("far",)
    assert embeddings.find("far", piece=True).pieces == ("far",)
    with pytest.raises(EmbeddingError, match="'east' is no piece"):
        embeddings.find("east", piece=True)
    with pytest.raises(EmbeddingError, match="'up' is unknown"):
        embeddings.find("up")


def test_special_pieces_are_no_neighbours():
    embeddings = Embeddings(["<pad>", "</s>", "▁a", "▁b"], [[1, 0], [1, 0], [1, 0], [0, 1]])
    assert [piece for piece, _, _ in embeddings.neighbours("a")] == ["▁b"]


@pytest.mark.parametrize(
    ("pieces", "vectors", "message"),
    [
        (["a", "b"], [[1.0]], r"shape \[1, 1\]: expected \[2, width\]"),
        (["a"], [1.0], r"shape \[1\]"),
        (["a", "a"], [[1.0], [2.0]], "a duplicate"),
        (["a", ""], [[1.0], [2.0]], "empty"),
        (["a"], [[math.nan]], "not finite"),
    ],
)
def test_vectors_that_do_not_fit_the_pieces_are_refused(pieces, vectors, message):
    with pytest.raises(EmbeddingError, match=message):
        Embeddings(pieces, vectors)
    with pytest.raises(EmbeddingError, match=r"shape \[3\]: expected \[2\]"):
        compass().neighbours([1, 2, 3])


# Analogies


def test_an_analogy_adds_the_difference_of_two_words_to_the_third():
    (first, *rest) = grid().analogy("as", "a", "b")
    assert first.piece == "▁bs"
    # For unit vectors as - a + b = b + s, which is bs.
    assert first.cosine == pytest.approx(1.0)
    assert {"▁as", "▁a", "▁b"}.isdisjoint(neighbour.piece for neighbour in rest)
    assert [neighbour.piece for neighbour in rest] == ["▁cs", "▁c"]
    np.testing.assert_allclose([neighbour.cosine for neighbour in rest], [0.5, 0.0], atol=1e-12)


def test_the_length_of_vectors_does_not_change_an_analogy():
    first = grid()
    longer = Embeddings(first.pieces, first.vectors * np.array([[1], [30], [0.2], [5], [7], [11]]))
    for ours, theirs in zip(first.analogy("bs", "b", "c"), longer.analogy("bs", "b", "c"), strict=True):
        assert ours.piece == theirs.piece
        assert ours.cosine == pytest.approx(theirs.cosine)


# Axes


@settings(max_examples=50, deadline=None)
@given(arrays.arrays(np.float64, st.tuples(st.integers(3, 8), st.integers(1, 6)), elements=st.floats(-9, 9)))
def test_axes_are_the_eigenvectors_of_the_covariance(vectors):
    points, shares = principal_axes(vectors)
    values = np.sort(np.linalg.eigvalsh(np.atleast_2d(np.cov(vectors.T))))[::-1]
    two = np.append(values, 0.0)[:2].clip(0)
    np.testing.assert_allclose(points.var(axis=0, ddof=1), two, atol=1e-8)
    assert points.mean(axis=0) == pytest.approx([0, 0], abs=1e-8)
    assert points[:, 0] @ points[:, 1] == pytest.approx(0, abs=1e-8)
    if values.sum() > 1e-6:
        np.testing.assert_allclose(shares, two / values.sum(), atol=1e-8)


def test_points_in_any_plane_keep_their_distances():
    random = np.random.default_rng(3)
    flat = random.normal(size=(7, 2)) * [3, 1]
    basis, _ = np.linalg.qr(random.normal(size=(6, 6)))
    points, shares = principal_axes(flat @ basis[:2] + 4)
    for a in range(7):
        for b in range(7):
            assert np.linalg.norm(points[a] - points[b]) == pytest.approx(np.linalg.norm(flat[a] - flat[b]))
    assert sum(shares) == pytest.approx(1)
    assert (np.abs(points.max(axis=0)) >= np.abs(points.min(axis=0))).all()


def test_two_vectors_are_too_few_for_a_map():
    with pytest.raises(EmbeddingError, match="2 vectors: a map of two axes needs three"):
        compass().project(["east", "west"])
    points, shares = compass().project(["east", "north", "south"])
    assert shares[0] + shares[1] == pytest.approx(1)
    assert points.shape == (3, 2)


# Counts: pieces 4 "▁a", 5 "▁b", 6 "x" (continues a word), 7 "."


TEXT = [[4, 6, 5, 7], [], [4, 4, 6, 6], [5, 4], [6]]


def counted(monkeypatch, sentences: int) -> WordCounts:
    monkeypatch.setattr("nmt.explaining.embeddings.word_counts._SENTENCES_PER_BLOCK", sentences)
    return WordCounts([Sequences.of(TEXT), Sequences.of([[5, 5]])], [False] * 6 + [True, False])


@pytest.mark.parametrize("sentences", [1, 2, 100])
def test_whole_words_are_counted_without_the_pieces_of_longer_words(sentences, monkeypatch):
    seen = counted(monkeypatch, sentences)
    assert seen.pieces.tolist() == [0, 0, 0, 0, 4, 4, 4, 1]
    assert seen.whole_words.tolist() == [0, 0, 0, 0, 2, 4, 1, 1]
    assert seen.of_word([4]) == [2, 0]  # [.. 4, 4 6 6] and [5, 4]
    assert seen.of_word([4, 6]) == [1, 0]  # not in [4, 6, 6]
    assert seen.of_word([4, 6, 6]) == [1, 0]
    assert seen.of_word([5, 4]) == [1, 0]
    assert seen.of_word([4, 6, 5, 7, 4]) == [0, 0]  # not across the end of a sentence
    assert seen.of_word([5, 5]) == [0, 1]


def test_rare_pieces_are_no_neighbours(monkeypatch):
    vectors = np.array([[0, 1]] * 4 + [[1, 0], [1, 0.1], [1, 0.2], [1, 0.3]], float)
    names = [*"0123", "▁a", "▁b", "x", "."]
    embeddings = Embeddings(names, vectors, counts=counted(monkeypatch, 2))
    # Pieces 0 to 3 never occur.
    assert [tuple(n)[::2] for n in embeddings.neighbours("a")] == [
        ("▁b", 4),
        ("x", 4),
        (".", 1),
    ]
    assert [n.piece for n in embeddings.neighbours("a", minimum=2)] == ["▁b", "x"]
    assert {n.piece for n in embeddings.neighbours("a", minimum=0)} == {*names} - {"▁a"}
    assert embeddings.frequent(9) == ["▁b", "▁a", "x"]
    assert embeddings.frequent(1) == ["▁b"]
    assert embeddings.find("a").rare and embeddings.find("a")[4:] == ((4,), 2, "source")
    assert embeddings.find("▁a", piece=True).word_count == 4
    with pytest.raises(EmbeddingError, match="not known"):
        compass().frequent(3)


def test_a_word_is_of_the_side_that_has_it_more_often():
    texts = [Sequences.of([[4], [5, 6]]), Sequences.of([[5], [6, 5]])]
    names = [*"0123", "▁a", "▁b", "▁c"]
    both, one = (Embeddings(names, np.eye(7), counts=WordCounts(texts[:count], [False] * 7)) for count in (2, 1))
    assert [both.find(word).side for word in "abc"] == ["source", "target", None]  # c is once in each
    assert [one.find(word).side for word in "abc"] == [None] * 3
    assert compass().find("east").side is None


def test_a_text_of_another_vocabulary_is_refused():
    with pytest.raises(EmbeddingError, match="has piece 6, the vocabulary 5 pieces"):
        WordCounts([Sequences.of([[4, 6]])], [False] * 5)


# Export


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_exported_vectors_are_read_back_exactly(tmp_path_factory, data):
    pieces = data.draw(st.lists(st.text(min_size=1, max_size=6), min_size=1, max_size=5, unique=True))
    numbers = st.floats(width=32, allow_nan=False, allow_infinity=False)
    shape = len(pieces), data.draw(st.integers(1, 4))
    vectors = data.draw(arrays.arrays(np.float32, shape, elements=numbers))
    path = Embeddings(pieces, vectors).export(tmp_path_factory.getbasetemp() / "round.txt")
    text = path.read_bytes().decode()
    assert text.split("\n")[0] == f"{len(pieces)} {shape[1]}"
    # Other readers may split lines at any line break, and fields at any space.
    assert [len(line.split()) for line in text.splitlines()] == [2] + [shape[1] + 1] * len(pieces)
    back = Embeddings.read(path)
    assert back.pieces == pieces
    assert back.vectors.tobytes() == vectors.tobytes()


@pytest.mark.parametrize(
    ("piece", "written"),
    [("▁a", "▁a"), ("a b", r"a\u{20}b"), ("\n", r"\u{a}"), ("\\u{20}", r"\u{5c}u{20}"), ("\x85", r"\u{85}")],
)
def test_characters_that_break_lines_are_escaped(piece, written, tmp_path):
    path = Embeddings([piece], [[0.5, -2]]).export(tmp_path / "new" / "vectors.txt")
    assert path.read_text(encoding="utf-8") == f"1 2\n{written} 0.5 -2\n"
    assert Embeddings.read(path).pieces == [piece]


def test_a_file_of_another_program_is_read(tmp_path):
    (tmp_path / "other.txt").write_bytes(b"2 2\r\na 1 2 \r\nb -.5 1e-3 \r\n")
    found = Embeddings.read(tmp_path / "other.txt")
    assert found.pieces == ["a", "b"]
    np.testing.assert_array_equal(found.vectors, np.array([[1, 2], [-0.5, 1e-3]], np.float32))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "line 1: expected the number of pieces"),
        (b"a 1 2\n", "line 1"),
        (b"2 2\na 1 2\n", "1 pieces, but line 1 says 2"),
        (b"1 2\na 1\n", "line 2: 1 numbers, expected 2"),
        (b"1 1\na one\n", "line 2: expected a piece and 1 numbers"),
        (b"1 1\n\\u{110000} 1\n", "line 2"),
        (b"1 1\n\xff 1\n", "not valid UTF-8"),
    ],
)
def test_a_file_of_another_format_is_refused(text, message, tmp_path):
    (tmp_path / "bad.txt").write_bytes(text)
    with pytest.raises(EmbeddingError, match=message):
        Embeddings.read(tmp_path / "bad.txt")


def test_export_behind_a_link_and_into_a_device(tmp_path):
    """The link stays a link, and the device stays a device."""
    found = Embeddings(["a", "b"], np.eye(2, dtype=np.float32))
    (tmp_path / "link").symlink_to(tmp_path / "there")
    found.export(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "there").read_text().startswith("2 2\n")
    found.export("/dev/null")
    assert Path("/dev/null").is_char_device()


def test_a_failed_export_keeps_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "vectors.txt"
    path.write_text("old")

    def full(_: str) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("nmt.explaining.embeddings.word2vec_format._escaped", full)
    with pytest.raises(EmbeddingError, match="No space left on device"):
        compass().export(path)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["vectors.txt"]


# A run, and the command


def begin_run(directory: Path, **changes: Any) -> Path:
    """A run with its initial weights, which is enough for commands that only read the weights."""
    small = {"units": 8, "embedding": 8, "attention": {"units": 8}}
    config = copy_task.config(directory, **copy_task.merged({"name": "copy", "model": small}, changes))
    run = prepare(config, "float32", lambda line: None).run
    model = Seq2Seq(run.config.model, run.source.size, run.target.size)
    model.build()
    save_arrays(run.best, variables_to_arrays(model.trainable_variables))
    return run.directory


@pytest.fixture(scope="module")
def playground(tmp_path_factory) -> Path:
    """A run in runs/copy with separate embeddings for each side; one word of each side occurs once."""
    directory = tmp_path_factory.mktemp("embeddings")
    copy_task.write_corpus(directory, train=300, validation=5)
    for side, rare in (("source", "zu"), ("target", "uzo")):
        with open(directory / f"train.{side}", "a") as file:
            file.write(f"{rare}\n")
    begin_run(directory, model={"tie": "target"}, vocabulary={"shared": False})
    return directory


def command(line: str, directory: Path) -> subprocess.CompletedProcess[str]:
    return forked(["-m", "nmt", "embeddings", *line.split()], directory)


def main(line: str, directory: Path, monkeypatch, capfd) -> tuple[int, str, str]:
    """Runs the command in this process."""
    from nmt.cli import main

    monkeypatch.chdir(directory)
    code = main(["embeddings", *line.split()])
    return code, *capfd.readouterr()


@pytest.mark.parametrize(("side", "other"), [("source", "target"), ("target", "source")])
def test_embeddings_of_a_run_are_its_weights_with_the_counts_of_its_text(side, other, playground):
    translator = nmt.Translator.load(playground / "runs" / "copy")
    found = Embeddings.of(translator, side)
    saved = np.load(playground / "runs" / "copy" / "best.npz")
    (name,) = [key for key in saved.files if f"{side}_embedding" in key]
    np.testing.assert_array_equal(found.vectors, saved[name])
    words = (playground / f"train.{side}").read_text().split()
    for word in {*words}:
        entry = found.find(word)
        assert entry.pieces == (f"▁{word}",)
        assert entry.word_count == entry.piece_counts[0] == words.count(word)
        assert entry.rare == (words.count(word) < 20)
    with pytest.raises(EmbeddingError, match="is unknown"):
        found.find((playground / f"train.{other}").read_text().split()[0])
    assert Embeddings.of(translator).pieces == Embeddings.of(translator, "source").pieces


def test_shared_embeddings_count_the_chosen_side(tmp_path):
    copy_task.write_corpus(tmp_path, train=60, validation=5)
    translator = nmt.Translator.load(begin_run(tmp_path))
    both, source, target = (Embeddings.of(translator, side) for side in (None, "source", "target"))
    np.testing.assert_array_equal(source.vectors, target.vectors)
    assert both.counts.pieces.tolist() == (source.counts.pieces + target.counts.pieces).tolist()
    first, second = (path.read_text().split() for path in (tmp_path / "train.source", tmp_path / "train.target"))
    answers = {
        side: {n.piece.lstrip("▁") for n in found.neighbours(first[0], count=100)}
        for side, found in (("both", both), ("source", source), ("target", target))
    }
    assert answers["source"] == {*first} - {first[0]}
    assert answers["target"] == {*second}
    assert answers["both"] == {*first, *second} - {first[0]}


@pytest.mark.slow
def test_the_command_as_a_user_runs_it(playground):
    (playground / "out").mkdir()
    result = command(
        "--model runs/copy --side source --neighbours ba zu --analogy ba da fa --count 3 --minimum 20 "
        "--plot out/words.png --most-frequent 12 --export out/vectors.txt",
        playground,
    )
    assert result.returncode == 0, result.stderr
    words = (playground / "train.source").read_text().split()
    found = Embeddings.of(nmt.Translator.load(playground / "runs" / "copy"), "source")
    lines = result.stdout.splitlines()
    count = f"{words.count('ba')} times"
    assert lines[0] == f"ba = ▁ba (seen {count}; as a whole word {count})"
    for line, (piece, cosine, seen) in zip(lines[2:5], found.neighbours("ba", 3, 20), strict=True):
        assert line.split() == [f"{cosine:.3f}", str(seen), piece]
        assert seen == words.count(piece[1:]) >= 20
    assert lines[5] == "zu = ▁zu (seen once; as a whole word once)"
    assert lines[10] == "ba - da + fa, these left out of the answers"
    assert [line.split()[2] for line in lines[15:]] == [n.piece for n in found.analogy("ba", "da", "fa", 3, 20)]
    said = result.stderr.splitlines()
    assert all(line.startswith("nmt: ") for line in said)
    assert f"nmt: the source side of the training text is {len(words):,} pieces long" in result.stderr
    (warning,) = [line for line in said if "fewer than 20 times: " in line]
    assert warning.startswith("nmt: 'zu' was seen once in training")
    assert re.search(r"12 words drawn, \d+ of them without their names for lack of space", result.stderr)
    assert (playground / "out" / "words.png").read_bytes().startswith(b"\x89PNG")
    back = Embeddings.read(playground / "out" / "vectors.txt")
    assert back.pieces == found.pieces
    np.testing.assert_array_equal(back.vectors, found.vectors)


def test_a_run_without_its_text_reports_unknown_counts(playground, tmp_path, monkeypatch, capfd):
    shutil.copytree(playground / "runs" / "copy", tmp_path / "bare", ignore=shutil.ignore_patterns("corpus"))
    code, out, err = main("--model bare --neighbours ba --count 1", tmp_path, monkeypatch, capfd)
    assert code == 0
    assert "counts in the training text are unknown: bare has no corpus/" in err
    assert out.splitlines()[0] == "ba = ▁ba"
    assert out.splitlines()[2].split()[1] == "?"
    code, _, _ = main("--model bare --plot new.png --words ba da fa", tmp_path, monkeypatch, capfd)
    assert code == 0 and (tmp_path / "new.png").exists()


def test_a_word_that_training_never_saw_has_no_answers(playground, monkeypatch, capfd):
    code, out, _ = main("--model runs/copy --pieces --neighbours <unk> ▁ba --count 2", playground, monkeypatch, capfd)
    assert code == 0
    assert out.splitlines()[1] == (
        "  no answers: training never saw '<unk>'; give words of the training text, or --minimum 0"
    )
    assert out.count("cosine") == 1
    _, out, _ = main("--model runs/copy --pieces --neighbours <unk> --minimum 0", playground, monkeypatch, capfd)
    assert out.count("cosine") == 1


MISTAKES = [
    ("--model nowhere --neighbours ba", "nowhere: no such run directory"),
    ("--model runs/copy", "there is no question: give --neighbours, --analogy, --plot or --export"),
    ("--model runs/copy --neighbours nothing", "'nothing' is unknown: the vocabulary has no pieces for it"),
    ("--model runs/copy --neighbours ba nothing --export new", "'nothing' is unknown"),
    ("--model runs/copy --side target --neighbours ba", "'ba' is unknown"),
    ("--model runs/copy --pieces --neighbours ba", "'ba' is no piece of the vocabulary; words begin with ▁"),
    ("--model runs/copy --analogy ba da", "expected 3 arguments"),
    ("--model runs/copy --neighbours ba --count 0", "0: expected 1 or more"),
    ("--model runs/copy --neighbours ba --words da", "--words chooses the words that --plot draws"),
    ("--model runs/copy --plot new.png --words ba da fa --most-frequent 3", "give one of them"),
    ("--model runs/copy --plot new.jpg", "new.jpg: expected a name that ends in .png, .pdf, .svg"),
    ("--model runs/copy --plot new.png --words ba da --neighbours ba", "a map of two axes needs three"),
    ("--model runs/copy --export runs", "runs: is a directory; name a file to write"),
]


@pytest.mark.parametrize(("line", "message"), MISTAKES)
def test_a_mistake_is_one_line(line, message, playground, monkeypatch, capfd):
    before = {path for path in playground.rglob("*") if path.is_file()}
    code, out, err = main(line, playground, monkeypatch, capfd)
    assert (code, out) == (2, "")
    errors = [line for line in err.splitlines() if line.startswith("nmt: error: ")]
    assert len(errors) == 1 and message in errors[0] and err.endswith(errors[0] + "\n")
    assert {path for path in playground.rglob("*") if path.is_file()} == before


def test_minimum_needs_counts(playground, tmp_path, monkeypatch, capfd):
    shutil.copytree(playground / "runs" / "copy", tmp_path / "bare", ignore=shutil.ignore_patterns("corpus"))
    code, out, err = main("--model bare --neighbours ba --minimum 5", tmp_path, monkeypatch, capfd)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "--minimum needs the counts of the training text: bare has no corpus/" in err
