"""What `nmt aligner` reads and leaves: streams, documents, unfinished aligners, and directories of other things."""

from __future__ import annotations

import io
import shutil
import threading

import pytest
from commands import contents, nmt

import nmt as package
from nmt.cli import main

TEXT = "--source my.en --target my.fr"
SHORT = "--lexicon-epochs 2 --jump-epochs 1 --fertility-epochs 1"


@pytest.fixture(scope="module")
def trained(text):
    """The text's directory, with an aligner of it from a stream in `short` and its links in `short.links`."""
    nmt(f"aligner --tsv - --output short --links short.links {SHORT}", text, as_tsv(text))
    return text


def as_tsv(directory):
    lines = zip((directory / "my.en").open(), (directory / "my.fr").open(), strict=True)
    return "".join(f"{source.strip()}\t{target}" for source, target in lines)


def given(monkeypatch, text):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))


def test_a_stream_is_linked_by_an_aligner_of_another_stream(trained, monkeypatch, capsys):
    monkeypatch.chdir(trained)
    given(monkeypatch, "The red dog\tle chien rouge\n")
    assert main(["aligner", "--model", "short", "--tsv", "-"]) == 0
    assert capsys.readouterr().out == "0-0 1-2 2-1\n"


def test_another_stream_leaves_the_text_of_an_aligner(trained, monkeypatch, capsys):
    monkeypatch.chdir(trained)
    before = contents(trained / "short")
    given(monkeypatch, "my text\tmon texte\n")
    assert main(f"aligner --tsv - --output short {SHORT}".split()) == 2
    assert "this aligner was begun with other text" in capsys.readouterr().err
    assert contents(trained / "short") == before


@pytest.mark.parametrize("name", ["text", "corpus", "source.words", "manifest.json"])
def test_a_directory_with_files_of_the_same_names_is_not_taken(trained, tmp_path, monkeypatch, capsys, name):
    monkeypatch.chdir(trained)
    (tmp_path / "own" / name).mkdir(parents=True)
    (tmp_path / "own" / name / "source.txt").write_text("mine")
    assert main(f"aligner {TEXT} --output {tmp_path / 'own'} {SHORT}".split()) == 2
    assert "is not empty and holds no aligner" in capsys.readouterr().err
    assert contents(tmp_path) == {f"own/{name}/source.txt": b"mine"}


def test_a_preparation_that_was_killed_begins_again(trained, tmp_path, monkeypatch):
    monkeypatch.chdir(trained)
    shutil.copytree(trained / "short" / "text", tmp_path / "begun" / "text")
    (tmp_path / "begun" / "preparing").touch()
    assert main(f"aligner {TEXT} --output {tmp_path / 'begun'} --links {tmp_path / 'links'} {SHORT}".split()) == 0
    assert (tmp_path / "links").read_text() == (trained / "short.links").read_text()
    assert not (tmp_path / "begun" / "preparing").exists()


def test_an_interrupted_preparation_leaves_nothing(trained, tmp_path):
    interrupted = threading.Event()
    interrupted.set()
    pairs = package.PairsConfig(source=str(trained / "my.en"), target=str(trained / "my.fr"))
    with pytest.raises(KeyboardInterrupt):
        package.Aligner.train(pairs, tmp_path / "new", interrupted=interrupted)
    assert not (tmp_path / "new").exists()


def test_a_text_without_words_leaves_nothing(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    given(monkeypatch, "\tle chat\n")
    assert main(["aligner", "--tsv", "-", "--output", "new"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
    assert not (tmp_path / "new").exists()


def test_an_unfinished_aligner_says_so(trained, tmp_path, monkeypatch, capsys):
    """Its directory has a checkpoint; the same command would resume."""
    monkeypatch.chdir(trained)
    shutil.copytree(trained / "short", tmp_path / "made")
    (tmp_path / "made" / "checkpoint.npz").touch()
    command = f"aligner {TEXT} --links {tmp_path / 'links'} --model"
    assert main([*command.split(), str(tmp_path / "made")]) == 0
    assert "the training of this aligner is unfinished" in capsys.readouterr().err
    assert main([*command.split(), "short"]) == 0
    assert "training of this aligner" not in capsys.readouterr().err


TMX = """<tmx version="1.4"><header srclang="en"/><body>
<tu><tuv xml:lang="fr"><seg>le chien rouge</seg></tuv><tuv xml:lang="en"><seg>The red dog</seg></tuv></tu>
</body></tmx>"""


def test_a_document_is_linked_by_a_trained_aligner(trained, monkeypatch, capsys):
    monkeypatch.chdir(trained)
    (trained / "my.tmx").write_text(TMX)
    assert (
        main(
            [
                "aligner",
                "--model",
                "short",
                "--document",
                "my.tmx",
                "--source-language",
                "en",
                "--target-language",
                "fr",
            ]
        )
        == 0
    )
    assert capsys.readouterr().out == "0-0 1-2 2-1\n"


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("--output new --links new", "new: is named twice"),
        ("--output new --run none --stem-weight 3", "--stem-weight is of words: leave it out, or --run"),
        ("--for none --config decided.yaml", "none: no such run directory"),
    ],
)
def test_mistakes_are_named_before_the_work(trained, monkeypatch, capsys, command, message):
    monkeypatch.chdir(trained)
    assert main(f"aligner {TEXT} {command}".split()) == 2
    assert message in capsys.readouterr().err
    assert not (trained / "new").exists()


def test_gold_links_of_a_stream_may_lack_the_last_sentences(trained, monkeypatch, capsys):
    """NAACL has no lines for sentences without links; one sentence too many is refused."""
    monkeypatch.chdir(trained)
    (trained / "gold").write_text("1 1 1\n1 2 3\n1 3 2\n")
    command = ["aligner", "--model", "short", "--tsv", "-", "--gold", "gold", "--gold-format", "naacl"]
    text = "The red dog\tle chien rouge\n\tle chat\n"
    given(monkeypatch, text)
    assert main(command) == 0
    output = capsys.readouterr()
    assert output.out == "0-0 1-2 2-1\n\n" and "AER = 0.000" in output.err
    assert "2 sentences are few" in output.err
    (trained / "gold").write_text("3 1 1\n")
    given(monkeypatch, text)
    assert main(command) == 2
    assert "gold: has links of sentence 3, but - has 2 sentences" in capsys.readouterr().err
