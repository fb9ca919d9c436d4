"""`nmt distil` and `nmt back-translate`: which pairs they write, and that an interruption loses none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import fake_translator
import pytest

from nmt.cli import main
from nmt.cli.pair_files import GivenText
from nmt.config import TrainingConfig
from nmt.config.aligner import AlignerConfig


@pytest.fixture
def model(tmp_path, monkeypatch) -> str:
    """A run directory; a fake translator writes in capitals."""
    fake_translator.install(monkeypatch.setattr)
    (tmp_path / "run").mkdir()
    return str(tmp_path / "run")


def outputs(directory: Path) -> list[str]:
    return ["--output-source", str(directory / "out.en"), "--output-target", str(directory / "out.de")]


def written(directory: Path) -> list[tuple[str, str]]:
    sides = ((directory / f"out.{side}").read_text(encoding="utf-8").splitlines() for side in ("en", "de"))
    return list(zip(*sides, strict=True))


def distil(model: str, write, source: list[str], target: list[str]) -> list[str]:
    return ["distil", "--model", model, "--source", write("s", *source), "--target", write("t", *target)]


def test_each_pair_is_followed_by_its_source_and_the_translation_of_the_model(model, write, tmp_path, capsys):
    command = distil(model, write, ["a b", "", "c"], ["x y", "z", "w"])
    assert main([*command, *outputs(tmp_path)]) == 0
    assert written(tmp_path) == [("a b", "x y"), ("a b", "A B"), ("", "z"), ("", ""), ("c", "w"), ("c", "C")]
    shown = capsys.readouterr().err
    assert "; 6 pairs in " in shown and "--corpus.validation" not in shown


def test_the_given_pairs_can_be_left_out(model, write, tmp_path):
    assert main([*distil(model, write, ["a", "b"], ["x", "y"]), *outputs(tmp_path), "--only-translations"]) == 0
    assert written(tmp_path) == [("a", "A"), ("b", "B")]


@pytest.mark.parametrize("measure", ["bleu", "chrf"])
def test_closest_writes_the_hypothesis_most_similar_to_the_given_target(model, write, tmp_path, measure):
    """The beam of three for a sentence of four letters holds ABCD, ABCD! and ABCD!!"""
    command = distil(model, write, ["a b c d", "a b c d"], ["A B C D!!", "A B C D"])
    assert main([*command, *outputs(tmp_path), "--only-translations", "--closest", measure]) == 0
    assert [target for _, target in written(tmp_path)] == ["A B C D!!", "A B C D"]


def test_closest_counts_bleu_by_the_tokenizer_of_the_run(model, write, tmp_path, monkeypatch):
    """`ABCD!!` is as long as the target in characters, and too long in words and marks."""
    characters = replace(fake_translator.Translator.config, training=TrainingConfig(tokenize="char"))
    monkeypatch.setattr(fake_translator.Translator, "config", characters)
    command = distil(model, write, ["abcd"], ["ABCDEFGH!"])
    assert main([*command, *outputs(tmp_path), "--only-translations", "--closest", "bleu"]) == 0
    assert written(tmp_path) == [("abcd", "ABCD!!")]


@pytest.mark.parametrize("recombine", [[], ["--recombine", "1"]])
def test_both_sides_are_read_to_their_ends(model, write, tmp_path, monkeypatch, recombine):
    """The warnings about a text come there."""
    monkeypatch.setattr("nmt.aligning.aligner.Aligner.load", lambda directory: Diagonal())
    ended: list[int] = []
    checked_sides = GivenText.checked_sides

    def watched(self, *rest):
        def side(number, lines):
            yield from lines
            ended.append(number)

        return tuple(side(number, lines) for number, lines in enumerate(checked_sides(self, *rest)))

    monkeypatch.setattr(GivenText, "checked_sides", watched)
    assert main([*distil(model, write, *ANIMALS), *outputs(tmp_path), *recombine]) == 0
    assert sorted(ended) == [0, 1]


def test_an_input_may_be_remote(model, write, tmp_path):
    command = distil(model, write, ["a"], ["x"])
    command[command.index("--source") + 1] = f"file://{tmp_path / 's'}"
    assert main([*command, *outputs(tmp_path)]) == 0
    assert written(tmp_path) == [("a", "x"), ("a", "A")]


class Diagonal:
    """An aligner that links the first word to the first, and so on."""

    config, fingerprint, is_unfinished = AlignerConfig(), "diagonal", False

    def align(self, pairs: Iterable[tuple[str, str]]) -> Iterator[SimpleNamespace]:
        for source, _ in pairs:
            links = " ".join(f"{place}-{place}" for place in range(len(source.split())))
            yield SimpleNamespace(pharaoh=lambda links=links: links)


ANIMALS = (["a dog sleeps", "a cat sleeps here", "so"], ["un chien dort", "un chat dort ici", "si"])


def test_new_sentences_of_exchanged_phrases_are_translated_too(model, write, tmp_path, monkeypatch, capsys):
    """`dog` and `cat` stand between equal words. A pair without such a phrase takes the place of its new one."""
    monkeypatch.setattr("nmt.aligning.aligner.Aligner.load", lambda directory: Diagonal())
    command = [*distil(model, write, *ANIMALS), *outputs(tmp_path), "--recombine", "1"]
    assert main(command) == 0
    assert written(tmp_path) == [
        ("a dog sleeps", "un chien dort"),
        ("a dog sleeps", "A DOG SLEEPS"),
        ("a cat sleeps", "A CAT SLEEPS"),
        ("a cat sleeps here", "un chat dort ici"),
        ("a cat sleeps here", "A CAT SLEEPS HERE"),
        ("a dog sleeps here", "A DOG SLEEPS HERE"),
        ("so", "si"),
        ("so", "SO"),
        ("so", "SO"),
    ]
    shown = capsys.readouterr().err
    assert "--corpus.validation.source" in shown
    assert "; 9 pairs in " in shown
    assert "nmt: 2 of 3 new sentences were made; 1 translation of given sources repeated instead of the others" in shown
    assert main([*command, "--only-translations", "--closest", "bleu"]) == 0
    assert [source for source, _ in written(tmp_path)] == [
        "a dog sleeps", "a cat sleeps", "a cat sleeps here", "a dog sleeps here", "so", "so"
    ]  # fmt: skip


def test_a_sentence_that_is_repeated_is_translated_once(model, write, tmp_path, monkeypatch):
    """Also behind an interruption, where each sentence keeps its number, which decides samples."""
    monkeypatch.setattr("nmt.aligning.aligner.Aligner.load", lambda directory: Diagonal())
    asked: list[tuple[list[str], int]] = []
    translate = fake_translator.Translator.translate_nbest

    def watched(self, sentences, *rest, first=0, **more):
        given = [*sentences]
        asked.append((given, first))
        return translate(self, given, *rest, first=first, **more)

    monkeypatch.setattr(fake_translator.Translator, "translate_nbest", watched)
    lines = ["so", "a dog sleeps", "a cat sleeps here", "so", "interrupt"]
    command = [*distil(model, write, lines, lines), *outputs(tmp_path), "--recombine", "1"]
    assert main(command) == 130
    first = ["so", "a dog sleeps", "a cat sleeps", "a cat sleeps here", "a dog sleeps here", "so"]
    assert asked == [([*first, "interrupt"], 0)]
    monkeypatch.setattr(fake_translator.Translator, "interrupts", False)
    assert main([*command, "--resume"]) == 0
    assert asked[1:] == [(["interrupt"], 6)]
    assert [source for source, _ in written(tmp_path)].count("so") == 6


def test_lines_of_a_command_with_other_new_sentences_are_kept(model, write, tmp_path, monkeypatch, capsys):
    """The other command writes more lines for each line, so a block of its own would be longer."""
    monkeypatch.setattr("nmt.aligning.aligner.Aligner.load", lambda directory: Diagonal())
    lines = [*(f"a word {number}" for number in range(5)), "interrupt"]
    command = [*distil(model, write, lines, lines), *outputs(tmp_path)]
    assert main([*command, "--recombine", "1"]) == 130
    left = (tmp_path / ".out.en.part").read_text(encoding="utf-8")
    for other in (["--recombine", "9"], ["--recombine", "9", "--resume"], ["--resume"], []):
        assert main([*command, *other]) == 2
        assert "out.en: an interrupted command left 4 lines" in capsys.readouterr().err
    assert (tmp_path / ".out.en.part").read_text(encoding="utf-8") == left


def test_new_sentences_need_an_aligner(model, write, tmp_path, capsys):
    command = [*distil(model, write, *ANIMALS), *outputs(tmp_path)]
    for flags, message in (
        (["--recombine", "1"], f"{model}: holds no aligner: expected a directory that nmt aligner made, or a run"),
        (
            ["--recombine", "1", "--aligner", f"{model}/none"],
            f"{model}/none: no such directory: expected one that nmt aligner made",
        ),
        (["--recombine", "1", "--model", f"{model}/none"], f"{model}/none: no such run directory"),
        (["--aligner", model], "--aligner links words for --recombine: give --recombine, or leave it out"),
    ):
        assert main([*command, *flags]) == 2
        assert message in capsys.readouterr().err
    assert not (tmp_path / "out.en").exists()


@pytest.mark.parametrize(("tag", "sources"), [([], ["<bt> A B", "", "<bt> C"]), (["--tag", ""], ["A B", "", "C"])])
def test_text_of_the_target_language_gets_tagged_sources(model, write, tmp_path, capsys, tag, sources):
    command = ["back-translate", "--model", model, "--input", write("mono", "a b", "", "c"), *outputs(tmp_path), *tag]
    assert main(command) == 0
    assert written(tmp_path) == list(zip(sources, ["a b", "", "c"], strict=True))
    assert ("--vocabulary.symbols '<bt>'" in capsys.readouterr().err) == (not tag)


def test_one_translation_of_most_lines_is_a_warning(model, write, tmp_path, capsys):
    """Repeated lines are no reason to warn, and neither are few. The fake translator reads five words."""
    command = ["back-translate", "--model", model, "--source"]
    for lines, warned in ((["a"] * 30, False), ([f"a {n}" for n in range(30)], False), (["a"], False)):
        assert main([*command, write("mono", *lines), *outputs(tmp_path)]) == 0
        assert ("have one translation" in capsys.readouterr().err) == warned
    assert main([*command, write("mono", *(f"a b c d e {n}" for n in range(30))), *outputs(tmp_path)]) == 0
    said = capsys.readouterr().err
    assert "warning: 30 of the first 30 different lines have one translation, 'A B C D E': has the " in said


@pytest.mark.parametrize("name", ["distil", "distil --recombine", "back-translate"])
def test_an_interruption_keeps_whole_chunks_and_can_be_resumed(model, write, tmp_path, capsys, name, monkeypatch):
    """The ninth of ten lines interrupts: two chunks of four lines are kept."""
    monkeypatch.setattr("nmt.aligning.aligner.Aligner.load", lambda directory: Diagonal())
    lines = [*(f"a word {number}" for number in range(8)), "interrupt", "end" + " long" * 300]
    command = ["back-translate", "--model", model, "--input", write("mono", *lines)]
    command = [*(distil(model, write, lines, lines) if "distil" in name else command), *outputs(tmp_path)]
    command += ["--recombine", "2"] if "--recombine" in name else []
    assert main(command) == 130
    assert "nmt: 8 lines are kept; repeat the command with --resume to continue there" in capsys.readouterr().err
    assert not (tmp_path / "out.en").exists()
    assert main([*command, "--resume", "--beam-size", "7"]) == 2
    monkeypatch.setattr(fake_translator.Translator, "interrupts", False)
    assert main([*command, "--resume"]) == 0
    said = capsys.readouterr().err
    assert "continuing behind line 8" in said and "line 10 is longer than the model takes" in said
    assert "nmt: 2 lines in " in said and ", 10 in all; " in said
    resumed = written(tmp_path)
    assert main(command) == 0  # from the beginning
    assert written(tmp_path) == resumed
    assert len(resumed) == {"distil": 20, "distil --recombine": 40, "back-translate": 10}[name]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (["--output-target", "{s}"], "s: is named twice and would be overwritten"),
        (["--output-target", "{out}.en"], "is named twice"),
        (["--source", "-"], "-: expected a plain file"),
        (["--output-source", "-"], "-: expected a plain file"),
        (["--target", "{run}/no"], "no: No such file"),
        (["--target", "{run}/../short"], "have different numbers of lines"),
    ],
)
def test_impossible_files_are_refused_before_the_model_is_loaded(model, write, tmp_path, capsys, change, message):
    write("short", "x")
    places = {"s": str(tmp_path / "s"), "out": str(tmp_path / "out"), "run": model}
    command = [*distil(model, write, ["a", "b"], ["x", "y"]), *outputs(tmp_path)]
    loaded = len(fake_translator.Translator.loaded)
    assert main([*command, *(word.format(**places) for word in change)]) == 2
    assert message in capsys.readouterr().err
    assert len(fake_translator.Translator.loaded) == loaded
    assert not (tmp_path / "out.en").exists()


def test_a_tag_is_one_word(model, write, tmp_path, capsys):
    command = ["back-translate", "--model", model, "--input", write("mono", "a"), *outputs(tmp_path), "--tag", "a b"]
    assert main(command) == 2
    assert "--tag is 'a b': expected one word" in capsys.readouterr().err
