"""First models of new users in other languages, with the commands of the guides; each text is of another kind."""

from __future__ import annotations

import gzip
import json
import os
from itertools import islice
from pathlib import Path

import pytest
from commands import nmt
from unspaced_pairs import JAPANESE, write_pairs

from nmt.evaluation.bleu_and_chrf import chrf

pytestmark = pytest.mark.slow

TRAIN = "train --recipe auto --name mine"
RUN = "--model saved_models/mine"


def pairs_of(language: str) -> list[tuple[str, str]]:
    """The pairs written for a language, English first."""
    path = Path(__file__).parent / "walks" / f"{language}.tsv"
    rows = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]
    return [(english, other) for english, other in rows]


def write(path: Path, lines: list[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def translated(directory: Path, name: str, targets: list[str]) -> float:
    """chrF of the translations of a file, which has as many lines as translations."""
    nmt(f"translate {RUN} --source {name} --output translated", directory)
    found = (directory / "translated").read_text(encoding="utf-8").splitlines()
    assert len(found) == len(targets)
    return chrf(found, targets).value


def test_arabic_to_english_from_a_table(tmp_path):
    """40 pairs in a TSV file whose first column is the target; the source runs from right to left."""
    pairs = pairs_of("arabic")
    write(tmp_path / "pairs.tsv", [f"{english}\t{arabic}" for english, arabic in pairs])
    columns = "--corpus.train.source_column 2 --corpus.train.target_column 1"
    said = nmt(f"{TRAIN} --corpus.train.tsv pairs.tsv {columns}", tmp_path).stderr
    assert "languages: und-Arab to und-Latn, by the script of the text" in said
    assert "no installed font" not in said or "Arabic" in said
    write(tmp_path / "new.ar", [arabic for _, arabic in pairs])
    assert translated(tmp_path, "new.ar", [english for english, _ in pairs]) > 70

    given = "--tsv pairs.tsv --source-column 2 --target-column 1"
    nmt(f"align {RUN} {given} --output aligned --limit 2", tmp_path)
    page = (tmp_path / "aligned" / "alignments.html").read_text(encoding="utf-8")
    assert page.count('"languages":["und-Arab","und-Latn"],"direction":"rtl"') == 2
    assert (tmp_path / "aligned" / "0001.png").exists()
    (warning,) = nmt(f"translate {RUN}", tmp_path, "The boy is at school.\n").stderr.splitlines()[:1]
    assert "letters are Latin or of another script" in warning
    (warning,) = nmt(f"translate {RUN} --source pairs.tsv", tmp_path).stderr.splitlines()[:1]
    assert "40 of 40 lines have columns with tabs between them" in warning


def test_english_to_hindi_from_compressed_files(tmp_path):
    """54 pairs, languages given."""
    pairs = pairs_of("hindi")
    for name, lines in zip(("my.en.gz", "my.hi.gz"), zip(*pairs, strict=True), strict=True):
        (tmp_path / name).write_bytes(gzip.compress("".join(f"{line}\n" for line in lines).encode()))
    files = "--corpus.train.source my.en.gz --corpus.train.target my.hi.gz"
    languages = "--corpus.source_language en --corpus.target_language hi"
    said = nmt(f"{TRAIN} {files} {languages}", tmp_path).stderr
    assert "languages: en to hi\n" in said
    assert "symbols or emoji" not in said
    assert translated(tmp_path, "my.en.gz", [hindi for _, hindi in pairs]) > 60
    nmt(f"evaluate {RUN} --source my.en.gz --target my.hi.gz --json scores.json", tmp_path)
    assert "tok:13a" in json.loads((tmp_path / "scores.json").read_text())["bleu"]["signature"]


def test_english_to_turkish_in_two_files(tmp_path):
    """64 pairs; many translations are one word, and both kinds of i are letters of their own."""
    pairs = pairs_of("turkish")
    write(tmp_path / "my.en", [english for english, _ in pairs])
    write(tmp_path / "my.tr", [turkish for _, turkish in pairs])
    said = nmt(f"{TRAIN} --corpus.train.source my.en --corpus.train.target my.tr", tmp_path).stderr
    assert ("last validation bleu 0.00" in said) is ("no phrase of four words is right" in said)
    assert translated(tmp_path, "my.en", [turkish for _, turkish in pairs]) > 60
    found = (tmp_path / "translated").read_text(encoding="utf-8")
    assert "İstanbul" in found and "ı" in found and "i\u0307" not in found


def test_finnish_to_english_from_an_editor_of_windows(tmp_path):
    """36 pairs with byte order marks and \\r\\n, and a language of long words."""
    pairs = pairs_of("finnish")
    for name, lines in zip(("my.fi", "my.en"), zip(*pairs, strict=True), strict=True):
        (tmp_path / name).write_bytes(b"\xef\xbb\xbf" + "".join(f"{line}\r\n" for line in lines).encode())
    nmt(f"{TRAIN} --corpus.train.source my.fi --corpus.train.target my.en", tmp_path)
    assert translated(tmp_path, "my.fi", [english for _, english in pairs]) > 60
    assert b"\r" not in (tmp_path / "translated").read_bytes()


def test_english_to_japanese_by_recipe_auto(tmp_path):
    """120 pairs without spaces in the target."""
    lines = write_pairs(tmp_path, JAPANESE)
    said = nmt(f"{TRAIN} --corpus.train.source en --corpus.train.target other", tmp_path).stderr
    assert "languages: und-Latn to ja, by the script of the text" in said
    assert "words of the target are cut by budoux's model ja" in said
    assert translated(tmp_path, "en", lines) > 60


def test_english_to_french_100000_pairs(tmp_path):
    """Tatoeba, one epoch of a small network: the text that the user's settings leave to recipe auto."""
    if "NMT_CORPORA" not in os.environ:
        pytest.skip("NMT_CORPORA is not set: it names the directory with tatoeba")
    with open(Path(os.environ["NMT_CORPORA"]) / "tatoeba" / "fra-eng.tsv", encoding="utf-8") as file:
        (tmp_path / "pairs.tsv").write_text("".join(islice(file, 100_000)), encoding="utf-8")
    small = "--model.units 64 --model.embedding 64 --model.attention.units 64 --training.passes 1"
    said = nmt(f"{TRAIN} --corpus.train.tsv pairs.tsv {small}", tmp_path).stderr
    assert "recipe 150k is for 67,000 to 390,000 pairs: there are " in said
    assert "1,000 pairs held out for validation, about 8,000 pieces, 1 epoch of batches of 1,600 tokens" in said
    assert "held out for validation: 1,000 pairs; " in said
    assert "training has ended: 1 epoch done" in said
    new = ["I am tired.", "Where is the station?", "Tom is my brother."]
    write(tmp_path / "new.en", new)
    nmt(f"translate {RUN} --source new.en --output new.fr", tmp_path)
    assert len((tmp_path / "new.fr").read_text(encoding="utf-8").splitlines()) == len(new)
