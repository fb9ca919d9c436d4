"""The first model of a new user, with the commands of the guides: any size of text, no setting given."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from commands import REPOSITORY, nmt

from nmt.evaluation.bleu_and_chrf import bleu

DEMO = REPOSITORY / "data" / "demo"

SENTENCES = """\
The cat sleeps on the chair .|Die Katze schläft auf dem Stuhl .
The dog runs in the garden .|Der Hund läuft im Garten .
I drink a cup of tea .|Ich trinke eine Tasse Tee .
She reads an old book .|Sie liest ein altes Buch .
We are going home now .|Wir gehen jetzt nach Hause .
The children play football .|Die Kinder spielen Fußball .
It is raining today .|Heute regnet es .
My brother lives in Berlin .|Mein Bruder wohnt in Berlin .
The train is late again .|Der Zug hat wieder Verspätung .
He bought three apples .|Er hat drei Äpfel gekauft .
Where is the station ?|Wo ist der Bahnhof ?
What time is it ?|Wie spät ist es ?
The soup is too hot .|Die Suppe ist zu heiß .
They sing a beautiful song .|Sie singen ein schönes Lied .
I do not know him .|Ich kenne ihn nicht .
The window is open .|Das Fenster ist offen .
Her mother works in a hospital .|Ihre Mutter arbeitet in einem Krankenhaus .
We have no bread left .|Wir haben kein Brot mehr .
Please close the door .|Bitte schließe die Tür .
The sun shines every day .|Die Sonne scheint jeden Tag .
I write a letter to my friend .|Ich schreibe einen Brief an meinen Freund .
The water in the lake is cold .|Das Wasser im See ist kalt .
He plays the piano very well .|Er spielt sehr gut Klavier .
Tomorrow we visit the museum .|Morgen besuchen wir das Museum .
The small bird sits in the tree .|Der kleine Vogel sitzt im Baum .
""".splitlines()


def first_model(directory: Path, pairs: list[tuple[str, str]], new: list[str]) -> tuple[str, list[str]]:
    """Trains and translates as the guide on own text says; what training reported, and the translations."""
    for name, lines in (("my.en", [p[0] for p in pairs]), ("my.de", [p[1] for p in pairs]), ("new.en", new)):
        (directory / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    text = "--corpus.train.source my.en --corpus.train.target my.de"
    said = nmt(f"train --recipe auto --name mine {text}", directory).stderr
    nmt("translate --model saved_models/mine --input new.en --output new.de", directory)
    return said, (directory / "new.de").read_text(encoding="utf-8").splitlines()


def demo(name: str, count: int) -> list[tuple[str, str]]:
    sides = [(DEMO / f"{name}.{side}").read_text(encoding="utf-8").splitlines()[:count] for side in ("en", "fr")]
    return list(zip(*sides, strict=True))


def test_too_little_text_is_one_line(tmp_path, capsys):
    from nmt.cli import main

    for side in ("en", "de"):
        (tmp_path / side).write_text("one two\n" * 19)
    files = [f"--corpus.train.source={tmp_path}/en", f"--corpus.train.target={tmp_path}/de"]
    assert main(["train", "--recipe", "auto", "--directory", str(tmp_path / "runs"), *files]) == 2
    said = capsys.readouterr().err
    assert said == (
        f"nmt: error: {tmp_path}/en and {tmp_path}/de: the text has 19 pairs, and training needs 20 pairs of different "
        "sentences at least: add pairs\n"
    )
    assert not (tmp_path / "runs").exists()


@pytest.mark.slow
def test_25_pairs_are_learned(tmp_path):
    pairs = [tuple(line.split("|")) for line in SENTENCES]
    said, translations = first_model(tmp_path, pairs, [source for source, _ in pairs])  # type: ignore[arg-type]
    assert "recipe 100 is for fewer than 320 pairs: there are 21 to train on" in said
    assert "4 pairs held out for validation" in said
    assert len(translations) == 25
    assert bleu(translations, [target for _, target in pairs]).value > 60


@pytest.mark.slow
def test_200_pairs_are_learned(tmp_path):
    pairs = demo("train", 200)
    said, translations = first_model(tmp_path, pairs, [source for source, _ in pairs[:50]])
    assert "20 pairs held out for validation" in said
    assert "has not learned" not in said
    assert len(translations) == 50
    assert bleu(translations, [target for _, target in pairs[:50]]).value > 10


@pytest.mark.slow
def test_2000_pairs_translate_new_sentences(tmp_path):
    new = demo("test", 100)
    said, translations = first_model(tmp_path, demo("train", 2000), [source for source, _ in new])
    assert re.search(r"recipe 10k is for 1,500 to 17,000 pairs: there are 1,775 to train on", said)
    assert re.search(r"[0-9]+ new pairs made of their phrases.*; the first: .+ \| .+", said)
    assert len(translations) == 100
    assert bleu(translations, [target for _, target in new]).value > 20
