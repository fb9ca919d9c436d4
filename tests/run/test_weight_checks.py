"""Weights that do not fit a run, or cannot be computed with, are refused with the name of the difference."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from nmt.config import ModelConfig, RunConfig, TransformerConfig, VocabularyConfig
from nmt.network.model import Seq2Seq
from nmt.network.weights import variables_to_arrays
from nmt.run.arrays import save_arrays
from nmt.run.directory import Run
from nmt.run.errors import RunError
from nmt.text.tokenizer import Tokenizer

SMALL = ModelConfig(units=8, embedding=8, transformer=TransformerConfig(heads=2, feed_forward=16))


def with_weights(directory, model: ModelConfig, tokenizer: Tokenizer) -> Run:
    """A run with weights as they are before training."""
    network = Seq2Seq(model, tokenizer.size, tokenizer.size)
    network.build()
    run = Run.create(directory, RunConfig(model=model), tokenizer, tokenizer)
    save_arrays(run.best, variables_to_arrays(network.trainable_variables))
    return run


@pytest.mark.parametrize(
    ("begun", "changes", "message"),
    [
        ({}, {"units": 512}, "says model.units 512, best.npz has 8"),
        ({}, {"embedding": 16}, "says model.embedding 16, best.npz has 8"),
        ({}, {"memory": 64}, "says model.memory 64, best.npz has 8"),
        ({"memory": 64}, {"memory": 0}, "says model.memory 0, which is 8, best.npz has 64"),
        ({"tie": "none", "readout": 4}, {"readout": 6}, "says model.readout 6, best.npz has 4"),
        ({}, {"encoder_layers": 100}, "says model.encoder_layers 100, best.npz has 1"),
        ({}, {"attention": replace(SMALL.attention, units=9)}, "says model.attention.units 9, best.npz has 256"),
        *(
            (
                {"architecture": "transformer"},
                {"transformer": replace(SMALL.transformer, **{field: value})},
                f"says model.transformer.{field} {value}, best.npz has {before}",
            )
            for field, value, before in (("decoder_layers", 100, 3), ("encoder_layers", 4, 3), ("feed_forward", 32, 16))
        ),
    ],
)
def test_sizes_are_compared_when_a_run_is_opened(begun, changes, message, tmp_path, tokenizer):
    run = with_weights(tmp_path, replace(SMALL, **begun), tokenizer)
    assert Run.open(tmp_path).config == run.config
    replace(run, config=replace(run.config, model=replace(run.config.model, **changes))).save_config()
    with pytest.raises(RunError) as error:
        Run.open(tmp_path)
    assert f"{tmp_path / 'config.json'} {message}: the files belong to different runs" in str(error.value)


def test_sizes_of_the_newest_checkpoint_are_compared_too(tmp_path, tokenizer):
    run = with_weights(tmp_path, SMALL, tokenizer)
    run.save_checkpoint(7, run.weights())
    run.best.unlink()
    replace(run, config=replace(run.config, model=replace(SMALL, units=10))).save_config()
    with pytest.raises(RunError, match=r"config\.json says model\.units 10, 000000007\.npz has 8"):
        Run.open(tmp_path)


def test_a_vocabulary_of_another_size_is_refused(tmp_path, tokenizer):
    with_weights(tmp_path, SMALL, tokenizer)
    (tmp_path / "manifest.json").unlink()
    Tokenizer.train(["a b c d e f g h"] * 3, VocabularyConfig(type="word", size=12)).save(tmp_path / "shared.model")
    with pytest.raises(RunError, match=r"shared\.model has 12 pieces, best\.npz has 8: the files belong to different"):
        Run.open(tmp_path)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_weights_that_are_no_numbers_are_refused(value, tmp_path, tokenizer):
    run = with_weights(tmp_path, SMALL, tokenizer)
    arrays = run.weights()
    arrays["seq2seq/decoder/state_kernel"][3, 2] = value
    save_arrays(run.best, arrays)
    with pytest.raises(RunError, match=r"best\.npz: the array seq2seq/decoder/state_kernel has values that are NaN"):
        run.weights()
    run.save_checkpoint(1, arrays)
    with pytest.raises(RunError, match=r"000000001\.npz: the array seq2seq/decoder/state_kernel has values that"):
        run.averaged_checkpoints(1, arrays)


def test_weights_of_text_are_refused(tmp_path, tokenizer):
    run = with_weights(tmp_path, SMALL, tokenizer)
    save_arrays(run.best, run.weights() | {"seq2seq/output_bias": np.array(["a"] * 8)})
    with pytest.raises(RunError, match="the array seq2seq/output_bias has values that are NaN, infinite or no numbers"):
        run.weights()


def test_a_damaged_file_of_weights_still_lets_the_run_open(tmp_path, tokenizer):
    run = with_weights(tmp_path, SMALL, tokenizer)
    run.best.write_bytes(run.best.read_bytes()[:500])
    assert Run.open(tmp_path) == run
