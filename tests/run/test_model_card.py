"""The scores on a model card are those of its weights."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from nmt.run.model_card import _scores

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
