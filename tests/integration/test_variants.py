"""Other corpora and vocabularies, end to end: a TSV file, separate vocabularies, characters, no validation set."""

from __future__ import annotations

import copy_task
import pytest

from nmt.cli import main

SMALL = (
    "--model.units 16 --model.embedding 16 --model.attention.units 16 --training.passes 2 --training.batch_tokens 400"
)


def run_command(command: str) -> None:
    assert main(command.split()) == 0


@pytest.fixture
def pairs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sentences = copy_task.sentences(150, seed=3)
    copy_task.write_lines(tmp_path / "in", sentences[:7])
    return [(sentence, copy_task.translation(sentence)) for sentence in sentences]


@pytest.mark.slow
def test_tsv_with_separate_vocabularies_and_held_out_validation(pairs, tmp_path, capfd):
    copy_task.write_lines(tmp_path / "pairs.tsv", [f"{target}\tnote\t{source}" for source, target in pairs])
    corpus = "--corpus.train.tsv pairs.tsv --corpus.train.source_column 3 --corpus.train.target_column 1"
    vocabulary = "--vocabulary.shared false --vocabulary.type bpe --vocabulary.size 50 --vocabulary.target_size 40"
    command = f"train --name tsv --directory . {corpus} --corpus.held_out 10 {vocabulary} --model.tie target {SMALL}"
    run_command(command)
    said = capfd.readouterr().err
    assert "vocabularies: 50 source and 40 target bpe pieces" in said
    assert "10 validation pairs" in said
    run_command("translate --model tsv --input in --output out --alignments links")
    run_command("align --model tsv --source in --target in --output given --limit 1")
    for path in ("out", "links", "given/alignments.pharaoh"):
        assert len((tmp_path / path).read_text().splitlines()) == 7


@pytest.mark.slow
def test_characters_with_untied_embeddings_and_two_encoder_layers(pairs, tmp_path, capfd):
    for side, name in enumerate(("a", "b")):
        copy_task.write_lines(tmp_path / name, [pair[side] for pair in pairs])
    corpus = "--corpus.train.source a --corpus.train.target b --corpus.held_out 10"
    vocabulary = "--vocabulary.type char --vocabulary.size 40"
    command = f"train --name run --directory . {corpus} {vocabulary} --model.tie none {SMALL} --model.encoder_layers 2"
    run_command(command)
    run_command("evaluate --model run --source in --reference in")
    assert "BLEU = " in capfd.readouterr().out
