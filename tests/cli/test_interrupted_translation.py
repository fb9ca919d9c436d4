"""An interrupted `nmt translate` keeps whole chunks, and --resume continues behind them."""

from __future__ import annotations

import fake_translator

from nmt.cli import main
from nmt.translation.translator import Translator

LONG = [f"word {number}" for number in range(10)]


def test_an_interrupted_translation_is_resumed(model, write, tmp_path, capsys):
    """The ninth of ten lines interrupts: two chunks of four lines are kept."""
    output, links = tmp_path / "out", tmp_path / "links"
    files = ["--output", str(output), "--alignments", str(links)]
    source = write("in", *LONG[:8], "interrupt", LONG[9])
    command = ["translate", "--model", model, "--input", source, *files]
    assert main(command) == 130
    assert "nmt: 8 lines are kept; repeat the command with --resume to continue there" in capsys.readouterr().err
    assert not output.exists()
    assert main(command) == 2  # not overwritten by mistake
    assert "an interrupted command left 8 lines: continue with --resume" in capsys.readouterr().err
    assert main([*command, "--resume"]) == 130
    assert "continuing behind line 8" in capsys.readouterr().err
    assert main([*command, "--resume", "--beam-size", "7"]) == 2
    assert "its model, input, search, precision, outputs or other flags were different" in capsys.readouterr().err
    fake_translator.Translator.interrupts = False
    try:
        assert main([*command, "--resume"]) == 0
    finally:
        fake_translator.Translator.interrupts = True
    said = capsys.readouterr().err
    assert "nmt: 2 lines in " in said and f", 10 in all, written to {output}" in said
    assert output.read_text() == "".join(f"{line.upper()}\n" for line in [*LONG[:8], "interrupt", LONG[9]])
    assert len(links.read_text().splitlines()) == 10
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in", "links", "out", "run"]


def test_an_interruption_within_the_first_chunk_keeps_nothing(model, write, tmp_path, capsys):
    files = ["--input", write("in", "one", "interrupt"), "--output", str(tmp_path / "out")]
    assert main(["translate", "--model", model, *files]) == 130
    assert "nmt: nothing is kept: lines are kept in blocks of 4" in capsys.readouterr().err
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in", "run"]


def test_an_incomplete_chunk_is_translated_again(model, write, tmp_path, capsys):
    """Lines of a killed process behind its last whole chunk are cut off."""
    source, output = write("in", *LONG), tmp_path / "out"
    command = ["translate", "--model", model, "--input", source, "--output", str(output)]
    assert main([*command[:4], write("bad", *LONG[:8], "interrupt"), *command[5:]]) == 130
    (tmp_path / ".out.part").write_text("".join(f"{line.upper()}\n" for line in LONG[:5]) + "WOR")
    assert main([*command, "--resume"]) == 2  # the input is another one
    (tmp_path / ".out.part").unlink()
    assert main([*command, "--resume"]) == 0
    assert "out: there is nothing to resume: starting at line 1" in capsys.readouterr().err
    assert output.read_text() == "".join(f"{line.upper()}\n" for line in LONG)


def test_an_interruption_keeps_whole_chunks_of_the_translator(model, write, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(Translator, "chunk_size", 3)
    source = write("in", *LONG[:8], "interrupt")
    assert main(["translate", "--model", model, "--input", source, "--output", str(tmp_path / "out")]) == 130
    assert "nmt: 6 lines are kept" in capsys.readouterr().err
