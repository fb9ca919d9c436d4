"""`nmt translate` with documents, and documents as pairs of other commands."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path

import pytest
from documents import PO_HEADER, tmx, tuv, xliff

from nmt.cli import main
from nmt.config import CorpusConfig, RunConfig
from nmt.translation import loading

PO = PO_HEADER + 'msgid "ein haus"\nmsgstr ""\n\nmsgid "da %s"\nmsgstr ""\n\nmsgid "zwei"\nmsgstr "Two"\n'


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in.po").write_text(PO)
    units = [tuv("de", "ein haus") + tuv("en", "A HOUSE"), tuv("de", "zwei"), tuv("de", "x") + tuv("en", "X")]
    Path("in.tmx").write_bytes(tmx(*units, header='srclang="de"'))
    Path("in.xlf").write_bytes(xliff("<source>ein haus</source>", attributes='source-language="de"'))
    Path("in.srt").write_text("1\n00:00:01,000 --> 00:00:02,000\nein\nhaus\n")


def translate(model: str, *flags: str) -> int:
    return main(["translate", "--model", model, *flags])


def test_a_po_file_is_filled_in_and_reported(model, capsys):
    assert translate(model, "--input", "in.po", "--output", "out.po") == 0
    assert Path("out.po").read_text() == PO.replace('haus"\nmsgstr ""', 'haus"\nmsgstr "EIN HAUS"')
    assert capsys.readouterr().err.splitlines()[-1] == (
        "nmt: 1 unit filled in; 1 had a translation (--all-units replaces them); 1 left untranslated: 1 whose "
        "placeholders the translation lost (line 9); written to out.po"
    )
    assert translate(model, "--input", "in.po", "--output", "out.po", "--all-units") == 0
    assert 'msgid "zwei"\nmsgstr "ZWEI"' in Path("out.po").read_text()


def test_compressed_documents_and_standard_output(model, capsysbinary):
    Path("in.srt.gz").write_bytes(gzip.compress(Path("in.srt").read_bytes()))
    assert translate(model, "--input", "in.srt.gz", "--output", "out.srt.gz") == 0
    expected = b"1\n00:00:01,000 --> 00:00:02,000\nEIN HAUS\n"
    assert gzip.decompress(Path("out.srt.gz").read_bytes()) == expected
    assert translate(model, "--input", "in.srt") == 0
    assert capsysbinary.readouterr().out == expected


def test_the_target_language_is_named_by_a_flag(model, capsys):
    assert translate(model, "--input", "in.tmx", "--output", "out.tmx", "--target-language", "en") == 0
    assert tuv("de", "zwei") + tuv("en", "ZWEI") in Path("out.tmx").read_text()
    assert translate(model, "--input", "in.xlf", "--output", "out.xlf", "--target-language", "en") == 0
    assert 'source-language="de" target-language="en"' in Path("out.xlf").read_text()
    assert translate(model, "--input", "in.tmx", "--output", "other.tmx") == 2
    assert "in.tmx: the language to add is unknown: give --target-language, such as de" in capsys.readouterr().err
    assert not Path("other.tmx").exists()


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--input", "in.po", "--output", "out.txt"], "out.txt: the output of a PO file is a PO file: name it so"),
        (["--input", "in.po", "--output", "in.po"], "in.po: is named twice and would be overwritten"),
        (["--input", "in.po", "--nbest", "2"], "--nbest is for lines of text, and in.po is a PO file: leave it out"),
        (["--input", "in.po", "--resume"], "--resume is for lines of text"),
        (["--input", "in.tmx", "--target-language", "f r"], "--target-language is 'f r': expected a BCP 47 tag"),
        (["--input", "in.txt", "--output", "out.po"], "out.po: a PO file is written from a PO file: name another"),
        (["--input", "in.txt", "--all-units"], "--all-units is for documents: give a PO, XLIFF, TMX or SRT file"),
        (["--input", "in.po", "--glossary-mode", "require"], "--glossary-mode is for the terms of a glossary: give"),
        (["--input", "in.po", "--glossary", "g.tsv", "--prune", "1"], "--prune is for a search without --glossary"),
        (["--input", "in.po", "--glossary", "g.tsv", "--diversity", "1"], "--diversity is for a search without"),
        (["--input", "in.po", "--target-language", "fr"], "--target-language has no effect on PO files: leave it out"),
        (["--input", "in.xlf", "--source-language", "de"], "--source-language has no effect on XLIFF files"),
        (["--input", "in.srt", "--all-units"], "--all-units has no effect on SRT files: leave it out"),
        (["--input", "no.po"], "no.po: No such file or directory"),
    ],
)
def test_mistakes_are_one_line(model, capsys, flags, message):
    Path("in.txt").write_text("ein\n")
    Path("g.tsv").write_text("haus\thouse\n")
    before = sorted(Path().iterdir())
    assert translate(model, *flags) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"nmt: error: {message}") or line.startswith(f"nmt: {message}")
    assert sorted(Path().iterdir()) == before


def test_a_document_for_another_language_is_named(model, monkeypatch, capsys):
    run = replace(RunConfig(), corpus=CorpusConfig(source_language="fr", target_language="en"))
    monkeypatch.setattr(loading, "config_of_run", lambda _: run)
    Path("in.xlf").write_bytes(xliff("<source>ein</source>", "<source>haus</source>"))
    for name in ("in.po", "in.xlf"):
        assert translate(model, "--input", name, "--output", "out" + Path(name).suffix) == 0
        warning = f"nmt: {name} declares the target language fr, but its units are translated into en"
        assert capsys.readouterr().err.splitlines().count(warning) == 1
    flags = ["--input", "in.xlf", "--output", "out.xlf", "--target-language", "fr-CA"]
    assert translate(model, *flags) == 0
    assert "declares" not in capsys.readouterr().err


def test_warnings_name_lines_of_the_document(model, capsys):
    messages = ("eins</i>", "rot Rot")
    Path("in.po").write_text(PO_HEADER + "\n".join(f'msgid "{text}"\nmsgstr ""\n' for text in messages))
    Path("g.tsv").write_text("rot\tred\n")
    assert translate(model, "--input", "in.po", "--output", "out.po", "--glossary", "g.tsv") == 0
    warnings = capsys.readouterr().err
    assert "in.po: 1 line with tags that have no partner, such as in line 6" in warnings
    assert "g.tsv: 1 of 2 terms missing in the translations: 'rot' of line 9" in warnings


@pytest.mark.parametrize("command", ["align", "explain", "back-translate"])
def test_a_document_is_not_read_as_lines(command, model, capsys):
    outputs = ["--output", "out"] if command != "back-translate" else ["--output-source", "a", "--output-target", "b"]
    for name in ("in.po", "in.tmx", "in.xlf", "in.srt"):
        assert main([command, "--model", model, "--source", name, *outputs]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert f"{name}: is " in line
        assert ", expected text with one sentence per line" in line


def test_a_failure_leaves_the_old_output(model):
    Path("in.po").write_text(PO.replace("ein haus", "mendable"))
    Path("out.po").write_text("old")
    assert translate(model, "--input", "in.po", "--output", "out.po") == 2
    assert Path("out.po").read_text() == "old"


@pytest.mark.parametrize("command", ["score", "evaluate"])
def test_a_document_is_pairs_of_other_commands(command, model, capsys):
    flags = ["--document", "in.tmx", "--source-language", "de", "--target-language", "en"]
    assert main([command, "--model", model, *flags]) == 0
    output = capsys.readouterr()
    Path("s").write_text("ein haus\nzwei\nx\n")
    Path("t").write_text("A HOUSE\n\nX\n")
    assert main([command, "--model", model, "--source", "s", "--target", "t"]) == 0
    assert capsys.readouterr().out == output.out
    assert main([command, "--model", model, "--source", "s", "--target", "t", "--target-language", "en"]) == 2
    assert "--target-language is for a document: give --document, or leave it out" in capsys.readouterr().err


def test_pairs_are_held_out_of_a_document(capsys):
    Path("in.tmx").write_bytes(tmx(*(tuv("de", f"haus {n}") + tuv("en", f"house {n}") for n in range(9))))
    outputs = "--output-source a --output-target b --rest-source c --rest-target d"
    flags = "--document in.tmx --source-language de --target-language en --pairs 2"
    assert main(f"hold-out {flags} {outputs}".split()) == 0
    assert len(Path("a").read_text().splitlines()) == 2
    assert all(line.startswith("house") for line in Path("b").read_text().splitlines())


def test_units_with_codes_inside_are_translated_unless_markup_is_switched_off(model, capsys):
    Path("in.xlf").write_bytes(xliff('<source>ein <x id="1"/> haus</source>'))
    assert translate(model, "--input", "in.xlf", "--output", "out.xlf") == 0
    assert "1 unit filled in" in capsys.readouterr().err
    assert translate(model, "--input", "in.xlf", "--output", "out.xlf", "--markup", "none") == 0
    assert "1 with markup inside the text" in capsys.readouterr().err
