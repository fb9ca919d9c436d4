"""Text that a model cannot read, and text in another form, through the commands: on a model of the demo corpus."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import nmt, run
from demo_sides import lines

pytestmark = pytest.mark.slow

SIZES = (
    "--vocabulary.type bpe --vocabulary.size 1000 --model.units 64 --model.embedding 64 --model.attention.units 64 "
    "--training.passes 1 --training.batch_tokens 1200"
)
PAIRS = "--corpus.train.source train.en --corpus.train.target train.fr"


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    """A working directory with text of the demo corpus, and a run in `runs/demo`."""
    directory = tmp_path_factory.mktemp("reading")
    for name, count in (("train", 3000), ("validation", 100), ("test", 60)):
        for side in ("en", "fr"):
            (directory / f"{name}.{side}").write_text("".join(f"{line}\n" for line in lines(f"{name}.{side}", count)))
    validation = "--corpus.validation.source validation.en --corpus.validation.target validation.fr"
    said = nmt(f"train --name demo --directory runs {PAIRS} {validation} {SIZES}", directory).stderr
    assert "warning" not in said
    return directory


def warnings(said: str) -> list[str]:
    return [line for line in said.splitlines() if line.startswith("nmt: warning: ")]


def test_swapped_files_are_named_in_training(place):
    validation = "--corpus.validation.source validation.fr --corpus.validation.target validation.en"
    (warning,) = warnings(nmt(f"train --name bad --directory runs {PAIRS} {validation} {SIZES}", place).stderr)
    assert "each side of the validation pairs looks like the other side of the training pairs" in warning


def test_swapped_files_are_named_beside_the_initial_run(place):
    initial = "--training.initial runs/demo --vocabulary.run runs/demo --corpus.held_out 200"
    swapped = "--corpus.train.source train.fr --corpus.train.target train.en"
    said = nmt(f"train --name tuned --directory runs {swapped} {initial} {SIZES}", place).stderr
    (warning,) = warnings(said)
    assert "each side of the pairs looks like the other side of runs/demo" in warning


def test_swapped_files_are_named_in_translate_evaluate_and_score(place):
    said = nmt("translate --model runs/demo --input test.fr --output out", place).stderr
    assert ["test.fr: this looks like the target language of the run" in line for line in warnings(said)] == [True]
    said = nmt("evaluate --model runs/demo --source test.fr --reference test.en", place).stderr
    assert [line.split()[2] for line in warnings(said)] == ["test.en:", "test.fr:"]
    said = nmt("score --model runs/demo --source test.fr --target test.en --output out", place).stderr
    assert sorted(line.split()[2] for line in warnings(said)) == ["test.en:", "test.fr:"]
    assert len((place / "out").read_text().splitlines()) == 60


def test_the_right_files_give_no_warning(place):
    files = "--source test.en --target test.fr --output out"
    for command in (
        "translate --input test.en --output out",
        "evaluate --source test.en --reference test.fr",
        f"score {files}",
    ):
        name, _, flags = command.partition(" ")
        assert not warnings(nmt(f"{name} --model runs/demo {flags}", place).stderr)


def test_russian_is_named_once_and_lines_stay_lines(place):
    (place / "russian").write_text("Старый сад пуст .\n\nОливье не видит трактор .\n" * 20, encoding="utf-8")
    result = nmt("translate --model runs/demo --input russian", place)
    assert len(result.stdout.splitlines()) == 60
    (warning,) = warnings(result.stderr)
    assert "letters are Cyrillic" in warning
    assert "such as 'Старый сад пуст .' in line 1: the model cannot read them" in warning


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            "café\n".encode("latin-1"),
            "text, line 1: not valid UTF-8 from its byte 4 on: convert it to UTF-8 (if it is",
        ),
        ("\ufeffcafé\n".encode("utf-16-le"), "text, line 1: this is UTF-16 text by its byte order mark"),
    ],
)
def test_another_encoding_is_one_line(content, message, place):
    (place / "text").write_bytes(content)
    for command in (
        "translate --model runs/demo --input text",
        "train --name new --corpus.train.source text --corpus.train.target train.fr",
    ):
        result = run(["-m", "nmt", *command.split()], place)
        assert result.returncode == 2
        assert result.stderr.splitlines()[-1].startswith(f"nmt: error: {message}")
        assert "iconv -f" in result.stderr


def test_a_pasted_paragraph_is_translated_sentence_by_sentence(place):
    sentences = lines("test.en", 3)
    (place / "paragraph").write_text(" ".join(sentences) + "\n\n" + sentences[0] + "\n", encoding="utf-8")
    (place / "sentences").write_text("".join(f"{line}\n" for line in sentences), encoding="utf-8")
    command = "translate --model runs/demo --precision float32 --input"
    alone = nmt(f"{command} sentences", place).stdout.splitlines()
    assert nmt(f"{command} paragraph --alignments links", place).stdout.splitlines() == [" ".join(alone), "", alone[0]]
    links = [
        [tuple(map(int, link.split("-"))) for link in line.split()]
        for line in (place / "links").read_text().splitlines()
    ]
    assert max(source for source, _ in links[0]) < sum(len(line.split()) for line in sentences)
    assert max(target for _, target in links[0]) >= len(" ".join(alone[:2]).split())
    assert nmt(f"{command} paragraph --split-sentences never", place).stdout.splitlines()[1:] == ["", alone[0]]


def test_plain_text_is_read_as_the_tokenised_training_text(place):
    tokenised = [line for line in lines("test.en", 40) if line.endswith(" .") and line.count(" ,") <= 1][:10]
    plain = [line.replace(" ,", ",").replace(" .", ".") for line in tokenised]
    for name, text in (("tokenised", tokenised), ("plain", plain)):
        (place / name).write_text("".join(f"{line}\n" for line in text), encoding="utf-8")
    command = "translate --model runs/demo --precision float32 --input"
    found = [nmt(f"{command} {name}", place) for name in ("tokenised", "plain")]
    assert found[0].stdout == found[1].stdout
    assert [len(warnings(one.stderr)) for one in found] == [0, 1]
    assert "the training text is tokenised ('garden .'), this is not" in found[1].stderr


def test_the_run_records_the_profile(place):
    profile = json.loads((place / "runs" / "demo" / "profile.json").read_text())
    assert profile["source"]["lines"] == 3000
    assert profile["source"]["sentences"] == 1
