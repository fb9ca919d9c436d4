"""The scores on a model card are those of its weights."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from nmt.config import AttentionConfig, ModelConfig, RunConfig, SearchConfig, TransformerConfig, VocabularyConfig
from nmt.run.directory import Run
from nmt.run.model_card import _scores, model_card

HISTORY = [
    {"step": "1", "validation_loss": "2.0", "validation_bleu": "30.001", "validation_aer": "0.3"},
    {"step": "2", "validation_loss": "1.5", "validation_bleu": "30.004", "validation_aer": "0.2"},
    {"step": "3", "validation_loss": "1.4", "validation_bleu": "20", "validation_aer": "0.4"},
    {"step": "4", "validation_loss": "nan", "validation_bleu": "", "validation_aer": ""},
]


@pytest.mark.parametrize(
    ("metric", "selected", "step"), [("bleu", True, 2), ("loss", True, 3), ("aer", False, 3), ("last", False, 3)]
)
def test_the_card_has_the_validation_of_the_weights(metric: str, selected: bool, step: int) -> None:
    run = SimpleNamespace(config=SimpleNamespace(training=SimpleNamespace(metric=metric)), read_history=lambda: HISTORY)
    expected = HISTORY[step - 1]
    assert dict(_scores(run, selected)) == {
        f"validation {name}": f"{float(expected[f'validation_{name}']):g}" for name in ("loss", "bleu", "aer")
    }


def test_a_run_without_a_validation_has_no_scores() -> None:
    run = SimpleNamespace(config=SimpleNamespace(training=SimpleNamespace(metric="bleu")), read_history=lambda: [])
    assert not list(_scores(run, True))


@pytest.mark.parametrize(
    ("model", "network"),
    [
        (ModelConfig(units=8, embedding=6), "BiLSTM encoder, Bahdanau decoder (GRU, 8 units), additive attention, "),
        (ModelConfig(attention=AttentionConfig(score="none")), " units), no attention, embeddings of "),
        (ModelConfig(architecture="mixed"), "Transformer encoder, Bahdanau decoder"),
        (
            ModelConfig(
                architecture="transformer",
                embedding=8,
                transformer=TransformerConfig(heads=2, encoder_layers=3, decoder_layers=4),
            ),
            "Transformer, 3 and 4 layers of width 8, 2 heads",
        ),
    ],
)
def test_the_card_names_the_network(model, network, tmp_path, tokenizer) -> None:
    run = Run.create(tmp_path, RunConfig(model=model), tokenizer, tokenizer)
    (line,) = [line for line in card(run).splitlines() if line.startswith("| network |")]
    assert network in line


def card(run: Run, checkpoints: int = 0) -> str:
    return model_card(run, {"a": np.zeros((40, 50)), "b": np.zeros(3)}, checkpoints, "free", "one.nmt")


def test_the_card_has_the_facts_of_the_run(tmp_path, tokenizer) -> None:
    run = Run.create(tmp_path, RunConfig(name="mine"), tokenizer, tokenizer)
    text = card(run)
    for part in (
        "# mine\n\nA translation model from ",
        "\nLicence: free\n",
        "| weights | best of all validations |",
        "| parameters | 2,003 |",
        "| vocabulary | 8 pieces (",
        "| search | beam of 5, length penalty ",
        "| made with | nmt ",
        "nmt verify one.nmt",
    ):
        assert part in text
    assert "training pairs" not in text and "scores" not in text
    run.write_history(HISTORY)
    assert "those of the validation pairs, which also selected the weights: other text" in card(run)
    text = card(run, checkpoints=3)
    assert "| weights | mean of the newest 3 checkpoints |" in text
    assert "The mean of these checkpoints was not scored" in text and "| validation" not in text


def test_the_card_names_two_vocabularies_and_another_search(tmp_path, tokenizer) -> None:
    config = RunConfig(vocabulary=VocabularyConfig(shared=False), model=ModelConfig(tie="target"),
                       search=SearchConfig(method="greedy"))  # fmt: skip
    text = card(Run.create(tmp_path, config, tokenizer, tokenizer))
    assert "| vocabulary | 8 and 8 pieces (" in text
    assert "| search | greedy |" in text
