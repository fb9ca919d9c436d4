"""A Transformer as a model of CTranslate2.

CTranslate2 fuses projections, takes positions from a table, scales embeddings by the square root of their width, and
gives the mean of the first heads of one layer as alignment. A table with our sinusoids replaces its own, which begin at
position 1 and have all sines first.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import ctranslate2
import numpy as np

from nmt.config import ModelConfig
from nmt.exporting.errors import ExportError
from nmt.exporting.weights import EPSILON, Weights, exceeds_half, sinusoid_rates
from nmt.run.directory import Run
from nmt.text.pieces import BOS, EOS, PAD, SPECIAL_PIECES, UNK
from nmt.text.tokenizer import Tokenizer

POSITIONS = 1024
"""Positions in the table: CTranslate2 refuses longer sentences."""

QUANTIZATION = {"float32": "float32", "float16": "float16", "int8": "int8_float32"}
"""CTranslate2's names of the precisions."""

NEVER = -1e4
"""Bias of padding and beginning of sentence, which search never chooses. Half precision can express it."""

PARTS = "query", "key", "value"


def require_expressible(config: ModelConfig) -> None:
    """Refuses networks that CTranslate2 cannot compute.

    Raises:
        ExportError: says why, and what to do.
    """
    remedy = (
        "export it in onnx, or train a Transformer with model.words_in_readout false on the translations of this model "
        "(nmt distil)"
    )
    if config.architecture != "transformer":
        raise ExportError(f"CTranslate2 computes Transformers, and this model has a recurrent decoder: {remedy}")
    if config.words_in_readout:
        raise ExportError(f"CTranslate2 cannot add source words to the read-out, as this model does: {remedy}")


def write_model(run: Run, arrays: Mapping[str, np.ndarray], precision: str, directory: Path) -> None:
    """Writes the files of CTranslate2 into a directory.

    Raises:
        ExportError: see `require_expressible`; or a weight exceeds the precision.
    """
    config = run.config.model
    require_expressible(config)
    if precision == "float16" and (large := [name for name, array in arrays.items() if exceeds_half(array)]):
        raise ExportError(f"{large[0]} has values beyond 65,504, the largest of float16: export in float32 or int8")
    specification = transformer(config, Weights(arrays))
    specification.register_source_vocabulary(_pieces(run.source))
    specification.register_target_vocabulary(_pieces(run.target))
    settings = specification.config
    settings.layer_norm_epsilon, settings.add_source_eos = EPSILON, True
    settings.unk_token, settings.bos_token, settings.eos_token = (SPECIAL_PIECES[i] for i in (UNK, BOS, EOS))
    settings.decoder_start_token = SPECIAL_PIECES[BOS]
    specification.validate()
    specification.optimize(quantization=QUANTIZATION[precision])
    directory.mkdir()
    specification.save(str(directory))


def transformer(config: ModelConfig, weights: Weights) -> Any:
    """The specification of a Transformer with these weights."""
    sizes = config.transformer
    specification = ctranslate2.specs.TransformerSpec.from_config(
        (sizes.encoder_layers, sizes.decoder_layers),
        sizes.heads,
        alignment_layer=(sizes.alignment_layer or sizes.decoder_layers) - 1,
        alignment_heads=sizes.heads,
    )
    encoder, decoder = specification.encoder, specification.decoder
    target = weights["target_embedding/embeddings"]
    encoder.embeddings[0].weight = target if config.tie == "all" else weights["source_embedding/embeddings"]
    decoder.embeddings.weight = target
    _stack(encoder, weights.part("encoder"), config)
    _stack(decoder, weights.part("decoder"), config)
    for number, layer in enumerate(decoder.layer, 1):
        part = weights.part(f"decoder/layer_{number}")
        attention = part.part("attention")
        _linears(layer.attention.linear, attention, PARTS[:1], PARTS[1:], ("output",))
        _norm(layer.attention.layer_norm, part.part("attention_norm"))
    bias = weights["output_bias"].copy()
    bias[[PAD, BOS]] = NEVER
    decoder.projection.weight = weights["output_kernel"] if config.tie == "none" else target
    decoder.projection.bias = bias
    return specification


def _stack(stack: Any, weights: Weights, config: ModelConfig) -> None:
    """The parts that encoder and decoder have."""
    stack.scale_embeddings = True
    stack.position_encodings.encodings = _positions(weights, config)
    _norm(stack.layer_norm, weights.part("norm"))
    for number, layer in enumerate(stack.layer, 1):
        part = weights.part(f"layer_{number}")
        _linears(layer.self_attention.linear, part.part("self_attention"), PARTS, ("output",))
        _norm(layer.self_attention.layer_norm, part.part("self_attention_norm"))
        _norm(layer.ffn.layer_norm, part.part("feed_forward_norm"))
        for linear, name in ((layer.ffn.linear_0, "hidden"), (layer.ffn.linear_1, "output")):
            linear.weight, linear.bias = part[f"{name}/kernel"].T, part[f"{name}/bias"]


def _linears(linears: Any, weights: Weights, *groups: tuple[str, ...]) -> None:
    """The projections of an attention; those of a group are one product."""
    for linear, names in zip(linears, groups, strict=True):
        linear.weight = np.concatenate([weights[f"{name}_kernel"].T for name in names])
        linear.bias = np.concatenate([weights[f"{name}_bias"] for name in names])


def _norm(norm: Any, weights: Weights) -> None:
    norm.gamma, norm.beta = weights["gamma"], weights["beta"]


def _positions(weights: Weights, config: ModelConfig) -> np.ndarray:
    """The encodings of all positions, float32 [positions, width]."""
    numbers = np.arange(POSITIONS)
    if config.transformer.positions == "learned":
        return weights["positions/table"][np.minimum(numbers, config.transformer.longest - 1)]
    angles = numbers[:, None].astype(np.float32) * sinusoid_rates(config.embedding)
    return np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(POSITIONS, config.embedding)


def _pieces(vocabulary: Tokenizer) -> list[str]:
    return vocabulary.pieces(range(vocabulary.size))
