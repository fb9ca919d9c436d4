"""A translation memory is trained from and a PO file is translated, with the commands of the guides."""

from __future__ import annotations

from pathlib import Path

import polib
import pytest
from commands import nmt, run
from documents import PO_HEADER, tmx, tuv

from nmt.config import CorpusConfig, PairsConfig
from nmt.text.pairs import PairReader

pytestmark = pytest.mark.slow

NOUNS = {
    "garden": "Der Garten",
    "house": "Das Haus",
    "tractor": "Der Traktor",
    "cat": "Die Katze",
    "river": "Der Fluss",
    "wood": "Das Holz",
}
VERBS = {"is": "ist", "was": "war", "stays": "bleibt"}
WORDS = {"red": "rot", "old": "alt", "new": "neu", "quiet": "still", "empty": "leer", "small": "klein", "big": "gross"}
SETTINGS = (
    "--vocabulary.size 50 --corpus.held_out 10 --model.units 64 --model.embedding 48 --training.passes 20 "
    "--training.batch_tokens 300 --training.schedule.learning_rate 0.004 --model.dropout.embedding 0"
)


def sentences() -> list[tuple[str, str]]:
    return [
        (f"The {noun} {verb} {word}.", f"{NOUNS[noun]} {VERBS[verb]} {WORDS[word]}.")
        for noun in NOUNS
        for verb in VERBS
        for word in WORDS
    ]


def memory() -> bytes:
    """200 units: some with codes, a third language, no target, an empty segment, or without a language."""
    units = []
    for number, (english, german) in enumerate(sentences() * 2):
        source, target = tuv("en-US", english), tuv("de-DE", german)
        if number % 10 == 3:
            source = source.replace("The ", 'The <bpt i="1" x="1">&lt;b></bpt>').replace(
                ".</", '<ept i="1">&lt;/b></ept>.</'
            )
        if number % 20 == 4:
            source += tuv("fr-FR", "Le jardin.")
        if number % 40 == 5:
            target = tuv("de-DE", "")
        if number % 40 == 6:
            target = ""
        if number == 7:
            source = f"<tuv><seg>{english}</seg></tuv>"
        units.append(f"<prop type='x'>{number}</prop>{source}{target}")
    return tmx(
        *units[:200], header='creationtoolversion="1" segtype="sentence" o-tmf="x" adminlang="en" srclang="en-US"'
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A directory with a translation memory and the run saved_models/mine that was trained from it."""
    directory = tmp_path_factory.mktemp("documents")
    (directory / "memory.tmx").write_bytes(memory())
    languages = "--corpus.source_language en --corpus.target_language de"
    command = f"train --name mine --corpus.train.document memory.tmx {languages} {SETTINGS}"
    (directory / "train.log").write_text(nmt(command, directory).stderr)
    return directory


def test_the_data_report_counts_the_units_of_the_memory(folder):
    log = (folder / "train.log").read_text()
    assert (
        "200 pairs read, 189 kept; dropped: 10 with an empty side, 1 malformed (memory.tmx, line 13: a variant" in log
    )
    corpus = CorpusConfig(source_language="en", target_language="de")
    pairs = list(PairReader(PairsConfig(document=str(folder / "memory.tmx")), corpus))
    assert {pair[:2] for pair in pairs} <= set(sentences())


def test_a_po_file_is_filled_in_with_the_right_words(folder):
    asked = dict(sentences()[::5])
    messages = "".join(f'#: a.c:1\nmsgid "{text}"\nmsgstr ""\n\n' for text in asked)
    done = 'msgid "done"\nmsgstr "fertig"\n'
    (folder / "menu.po").write_text(PO_HEADER + messages + done)
    result = nmt("translate --model saved_models/mine --input menu.po --output menu.de.po", folder)
    assert f"{len(asked)} units filled in; 1 had a translation (--all-units replaces them)" in result.stderr
    filled = {entry.msgid: entry.msgstr for entry in polib.pofile(str(folder / "menu.de.po"))}
    assert filled.pop("done") == "fertig"
    assert sum(filled[text] == german for text, german in asked.items()) >= 0.9 * len(asked)
    written = (folder / "menu.de.po").read_text()
    for text, translation in filled.items():
        written = written.replace(f'msgid "{text}"\nmsgstr "{translation}"', f'msgid "{text}"\nmsgstr ""')
    assert written == PO_HEADER + messages + done


def test_the_run_names_the_language_that_it_adds(folder):
    (folder / "new.tmx").write_bytes(tmx(tuv("en", "The garden is red.")))
    nmt("translate --model saved_models/mine --input new.tmx --output new.de.tmx", folder)
    assert '<tuv xml:lang="de"><seg>Der Garten' in (folder / "new.de.tmx").read_text()


def test_a_broken_memory_is_one_line(folder):
    (folder / "broken.tmx").write_bytes(memory()[:5000])
    command = "-m nmt train --name b --corpus.train.document broken.tmx"
    languages = ["--corpus.source_language", "en", "--corpus.target_language", "de"]
    for flags, problem in ((languages, "broken XML (the file ends too early)"), ([], "has the language fr-FR beside")):
        result = run([*command.split(), *flags], folder)
        assert result.returncode == 2
        (line,) = result.stderr.splitlines()
        assert line.startswith("nmt: error: broken.tmx, line ") and problem in line
