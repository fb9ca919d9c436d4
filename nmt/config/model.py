"""The network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from nmt.config.checks import changed_fields, require, require_at_most, require_positive, require_rate
from nmt.config.fields import group, setting

WIDEST = 2**14
"""Largest width of a layer."""

DEEPEST = 100
"""Largest number of layers of an encoder or decoder."""


@dataclass(frozen=True)
class DropoutConfig:
    """Dropout rates: shares of values that training sets to zero."""

    embedding: float = setting(0.3, "Dropout of the source and target embeddings.")
    encoder: float = setting(0.3, "Dropout of the outputs of every recurrent encoder layer, and so of the memory.")
    state: float = setting(
        0.0,
        "Dropout of the decoder state as the recurrence reads it; one mask per sentence (Gal and Ghahramani 2016).",
    )
    context: float = setting(
        0.0,
        "Dropout of the context vector (Luong decoder: attentional vector) as the recurrence reads it; one mask per "
        "sentence. The read-out reads it whole. A Luong decoder without input feeding does not use it.",
    )
    readout: float = setting(0.3, "Dropout of the read-out, before the output layer.")
    residual: float = setting(
        0.1, "Dropout of the output of each Transformer sublayer, before it is added to its input."
    )

    def __post_init__(self) -> None:
        require_rate(self, "embedding", "encoder", "state", "context", "readout", "residual")


@dataclass(frozen=True)
class AttentionConfig:
    """How a recurrent decoder attends to the encoded source."""

    score: Literal["none", "additive", "dot", "scaled_dot", "general", "gaussian", "location"] = setting(
        "additive",
        "Score of a query and a key: the hidden layer of Bahdanau et al. (2015); the dot, general or location score of "
        "Luong et al. (2015); scaled dot products (Vaswani et al. 2017); a Gaussian kernel of learned width; or none: "
        "no attention, every step reads the encoder's final state.",
    )
    window: Literal["global", "local_m", "local_p", "hard"] = setting(
        "global",
        "Source positions that attention sees: all; those around the step's own position (local_m) or around a "
        "predicted one (local_p), both of Luong et al. (2015); or a single one (hard).",
    )
    units: int = setting(
        256, "Width of the additive score's hidden layer, and of the hidden layer that predicts a position."
    )
    reach: int = setting(5, "Positions that a local window covers on either side of its centre.")
    positions: int = setting(
        128,
        "Positions that the location score distinguishes. Beyond them it attends only where a local window has no "
        "other position, and there equally.",
    )
    coverage: bool = setting(
        False, "The score also reads how much attention each position has received (Tu et al. 2016)."
    )

    @property
    def unread(self) -> list[str]:
        """The sizes of layers that this score and this window lack."""
        readers = {
            "units": self.score == "additive" or self.window == "local_p",
            "reach": self.window in ("local_m", "local_p"),
            "positions": self.score == "location",
        }
        return [name for name, is_read in readers.items() if not is_read]

    def __post_init__(self) -> None:
        require_positive(self, "units", "reach", "positions")
        require_at_most(self, units=WIDEST, reach=10**6, positions=2**16)
        require(
            not self.coverage or self.score not in ("none", "location"),
            f"coverage is on, but score {self.score} reads no keys that could carry it: choose another score, or leave "
            "coverage off",
        )
        require(
            self.score != "none" or self.window == "global",
            f"window is {self.window}, but score none attends to nothing: leave window global, or choose a score",
        )


@dataclass(frozen=True)
class TransformerConfig:
    """Sizes of Transformer layers (Vaswani et al. 2017); the width of the embeddings is also theirs."""

    encoder_layers: int = setting(3, "Layers of the Transformer encoder.")
    decoder_layers: int = setting(3, "Layers of the Transformer decoder.")
    heads: int = setting(4, "Heads of each attention; they divide the width of the embeddings.")
    feed_forward: int = setting(1024, "Width of the hidden layer of each position's feed-forward network.")
    positions: Literal["sinusoidal", "learned"] = setting(
        "sinusoidal", "Encoding of positions: sines and cosines, or a learned embedding."
    )
    longest: int = setting(512, "Number of learned position embeddings; later positions share the last one.")
    alignment_layer: int = setting(
        0,
        "Decoder layer whose attention to the source, averaged over its heads, is the alignment, counted from 1; 0: "
        "the last layer.",
    )

    def __post_init__(self) -> None:
        require_positive(self, "encoder_layers", "decoder_layers", "heads", "feed_forward", "longest")
        require_at_most(self, encoder_layers=DEEPEST, decoder_layers=DEEPEST, heads=1024)
        require_at_most(self, feed_forward=4 * WIDEST, longest=2**16)
        require(
            0 <= self.alignment_layer <= self.decoder_layers,
            f"alignment_layer is {self.alignment_layer}: expected 0, or a layer from 1 to {self.decoder_layers}",
        )


@dataclass(frozen=True)
class ModelConfig:
    """The network."""

    architecture: Literal["rnn", "transformer", "mixed"] = setting(
        "rnn",
        "Encoder and decoder: rnn is a BiLSTM encoder and a recurrent decoder; transformer is a Transformer on both "
        "sides; mixed is a Transformer encoder and a recurrent decoder.",
    )
    decoder: Literal["bahdanau", "luong"] = setting(
        "bahdanau",
        "Recurrent decoder: bahdanau attends with its previous state, and the context enters the recurrence (Bahdanau "
        "et al. 2015); luong attends with its new state, after the recurrence (Luong et al. 2015).",
    )
    cell: Literal["gru", "lstm"] = setting("gru", "Cell of the recurrent decoder.")
    units: int = setting(512, "Width of the recurrent decoder's state.")
    memory: int = setting(
        0, "Width of the BiLSTM's memory, half of it for each direction; 0: as wide as the decoder state."
    )
    embedding: int = setting(256, "Width of the embeddings, and of a Transformer.")
    readout: int = setting(
        0,
        "Width of the read-out, the input of the output layer; 0: as wide as the embeddings. A Transformer and tied "
        "output layers need 0.",
    )
    attention: AttentionConfig = group(AttentionConfig, "Attention of the recurrent decoder.")
    piece_in_query: bool = setting(
        True,
        "The query of a Bahdanau decoder includes the previous target piece. Without it, the query is exactly the one "
        "of Bahdanau et al. (2015).",
    )
    words_in_readout: bool = setting(
        True,
        "The read-out also reads the embeddings of the attended source pieces, a lexicon learned with the model "
        "(Nguyen and Chiang 2018). A Transformer takes them from its alignment layer.",
    )
    input_feeding: bool = setting(True, "A Luong decoder reads the attentional vector of the previous step.")
    encoder_layers: int = setting(1, "Stacked bidirectional LSTM layers.")
    transformer: TransformerConfig = group(TransformerConfig, "Transformer layers.")
    tie: Literal["none", "target", "all"] = setting(
        "all", "Embeddings that share their weights: none; target and output; or source, target and output."
    )
    dropout: DropoutConfig = group(DropoutConfig, "Dropout rates.")

    @property
    def attends_hard(self) -> bool:
        """Whether the decoder attends to a single source position at a time, which has no gradient."""
        return self.architecture != "transformer" and self.attention.window == "hard"

    @property
    def attends(self) -> bool:
        """Whether the decoder attends to the source."""
        return self.architecture == "transformer" or self.attention.score != "none"

    @property
    def unread(self) -> list[str]:
        """Fields that differ from their defaults although this network does not read them."""
        encoder = ["memory", "encoder_layers", "dropout.encoder"]
        decoder = ["decoder", "cell", "units", "attention", "piece_in_query", "input_feeding"]
        names = {
            "rnn": ["transformer", "dropout.residual"],
            "mixed": [*encoder, "transformer.decoder_layers", "transformer.alignment_layer"],
            "transformer": [*encoder, *decoder, "dropout.state", "dropout.context"],
        }[self.architecture]
        if self.architecture != "transformer":
            names += self._unread_by_recurrent_decoder()
        if self.architecture != "rnn" and self.transformer.positions == "sinusoidal":
            names.append("transformer.longest")
        return changed_fields(self, names)

    def _unread_by_recurrent_decoder(self) -> list[str]:
        names = ["input_feeding"] if self.decoder == "bahdanau" else ["piece_in_query"]
        if self.decoder == "luong" and not self.input_feeding:
            names.append("dropout.context")
        if self.attention.score == "none":
            names += ["words_in_readout", *(["piece_in_query"] if self.decoder == "bahdanau" else [])]
        return names + [f"attention.{name}" for name in self.attention.unread]

    @property
    def memory_width(self) -> int:
        """Width of the encoder's output."""
        return self.memory or self.units if self.architecture == "rnn" else self.embedding

    @property
    def readout_width(self) -> int:
        """Width of the output layer's input."""
        return self.readout or self.embedding

    def __post_init__(self) -> None:
        require_positive(self, "units", "embedding", "encoder_layers")
        require(self.memory >= 0 and self.readout >= 0, "memory and readout: expected 0 or more")
        require_at_most(self, units=WIDEST, memory=WIDEST, embedding=WIDEST, readout=WIDEST, encoder_layers=DEEPEST)
        if self.architecture == "rnn":
            name, width = ("memory", self.memory) if self.memory else ("units", self.units)
            halves = "half for each direction of the encoder"
            require(width % 2 == 0, f"{name} is {width}: expected an even number, {halves}")
        else:
            heads = self.transformer.heads
            require(
                self.embedding % (2 * heads) == 0,
                f"embedding is {self.embedding}: a Transformer of {heads} heads needs a multiple of {2 * heads}",
            )
        free = self.tie == "none" and self.architecture != "transformer"
        require(
            free or self.readout in (0, self.embedding),
            f"readout is {self.readout}, but the output layer is tied to embeddings of width {self.embedding}: "
            "leave readout 0, or set tie to none",
        )
        equal = self.attention.score in ("dot", "scaled_dot", "gaussian")
        require(
            not equal or self.architecture == "transformer" or self.memory_width == self.units,
            f"attention.score {self.attention.score} compares a state of {self.units} with a memory of "
            f"{self.memory_width}: give them one width (units, and memory or, in a Transformer encoder, embedding), or "
            "choose general",
        )
