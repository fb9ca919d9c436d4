"""The cases of the training benchmark: sizes, precisions, batches; and the operations of a batch."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.benchmarking.layouts import find
from nmt import AttentionConfig, DropoutConfig, ModelConfig

DROPOUT = DropoutConfig(embedding=0.3, encoder=0.3, state=0.0, context=0.0, readout=0.3)

PEERS: dict[str, Any] = {"tie": "none", "piece_in_query": False, "dropout": DROPOUT}
"""Settings that the networks of both peers share."""

if hasattr(ModelConfig, "words_in_readout"):  # an older checkout has no such option
    PEERS["words_in_readout"] = False

SIZES = {
    "default": ModelConfig(dropout=DROPOUT),
    "demo": ModelConfig(units=256, embedding=128, attention=AttentionConfig(units=256), dropout=DROPOUT),
    # JoeyNMT: the state reads embedding and context, the output layer is 512 x vocabulary, no weights are tied.
    "joeynmt": ModelConfig(units=512, attention=AttentionConfig(units=512), readout=512, **PEERS),
    # Marian: 512 units per encoder direction, an output layer of width 256. It applies its decoder cell twice per step.
    "marian": ModelConfig(units=512, memory=1024, attention=AttentionConfig(units=512), **PEERS),
    "transformer": find("load_config")(recipe="30k-transformer").model,
}
"""Sizes of our model by name. `joeynmt` and `marian` have the widths of the peer's layers, `transformer` has those of
recipe 30k-transformer."""


@dataclass(frozen=True)
class Case:
    """One configuration of training.

    Exactly one of `sentences` and `tokens` differs from 0.
    """

    size: str
    """A key of `SIZES`."""
    precision: str
    sentences: int = 0
    """Sentences per batch."""
    tokens: int = 0
    """Token budget of a batch, like `training.batch_tokens`."""
    vocabulary: int = 8000
    """Pieces."""
    loop: bool = False
    """Whether the encoder's recurrence is a loop even where cuDNN's kernel could run."""
    shapes: int = 0
    """Largest number of batch shapes, like `training.shapes`."""

    @property
    def name(self) -> str:
        batch = f"{self.sentences} sentences" if self.sentences else f"{self.tokens} tokens"
        more = f"{', loop' if self.loop else ''}{f', {self.shapes} shapes' if self.shapes else ''}"
        return f"nmt, {self.size} sizes, {self.precision}{more}, {batch}"

    def to_dict(self) -> dict[str, Any]:
        """The fields, for JSON."""
        return asdict(self)


def flops_per_batch(config: ModelConfig, vocabulary: int, rows: int, positions: int, steps: int) -> float:
    """Floating-point operations of the matrix products of one update: the forward pass, and twice that backward.

    Args:
        config: the model.
        vocabulary: pieces of the output layer.
        rows, positions, steps: sentences of the batch, its source and target lengths; padding counts.
    """
    if config.architecture == "transformer":
        return 3 * 2 * rows * _transformer_products(config, vocabulary, positions, steps)
    embedding, units, attention = config.embedding, config.units, config.attention.units
    memory, readout = config.memory_width, config.readout_width
    direction = memory // 2
    first = 2 * 4 * direction * (embedding + direction)
    further = (config.encoder_layers - 1) * 2 * 4 * direction * (memory + direction)
    source = first + further + memory * attention  # per position: LSTMs, keys
    query = units * attention + config.piece_in_query * embedding * attention
    read = positions * (attention + memory)  # energies and context vector
    gates = 3 * units * (embedding + memory + units)
    read_out = (units + memory + embedding) * readout + _words_products(config, positions)
    target = query + read + gates + read_out + readout * vocabulary  # per step
    return 3 * 2 * rows * (positions * source + steps * target + memory * units)


def _words_products(config: ModelConfig, positions: int) -> int:
    """Multiplications for the source words in the read-out of one step."""
    words = getattr(config, "words_in_readout", False)  # an older checkout has no such option
    return words * config.embedding * (positions + config.readout_width)


def _transformer_products(config: ModelConfig, vocabulary: int, positions: int, steps: int) -> float:
    """Multiplications of a Transformer's forward pass for one sentence."""
    width, sizes = config.embedding, config.transformer
    square, network = width * width, 2 * width * sizes.feed_forward

    def attention(queries: int, keys: int) -> int:  # query and output, key and value; energies and contexts
        return 2 * queries * square + 2 * keys * square + 2 * queries * keys * width

    encoder = attention(positions, positions) + positions * network
    decoder = attention(steps, steps) + attention(steps, positions) + steps * network
    read_out = steps * (_words_products(config, positions) + width * vocabulary)
    return sizes.encoder_layers * encoder + sizes.decoder_layers * decoder + read_out
