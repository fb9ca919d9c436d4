"""The network."""

from __future__ import annotations

from dataclasses import dataclass, field
from operator import attrgetter
from typing import Literal

from nmt.config.checks import require, require_positive, require_rate


@dataclass(frozen=True)
class DropoutConfig:
    """Share of values set to zero in training, place by place."""

    embedding: float = 0.3
    """Source and target embeddings."""
    encoder: float = 0.3
    """Outputs of every layer of a recurrent encoder, so of the memory too."""
    state: float = 0.0
    """Decoder state where the recurrence reads it; one mask a sentence (Gal and Ghahramani 2016)."""
    context: float = 0.0
    """Context vector (of a Luong decoder: attentional vector) where the recurrence reads it, not where the read-out
    does; one mask a sentence. Without input feeding no recurrence reads it."""
    readout: float = 0.3
    """Read-out, before the output layer."""
    residual: float = 0.1
    """Transformer: what each of its sublayers adds to its input."""

    def __post_init__(self) -> None:
        require_rate(self, "embedding", "encoder", "state", "context", "readout", "residual")


@dataclass(frozen=True)
class AttentionConfig:
    """How a recurrent decoder attends to the encoded source."""

    score: Literal["none", "additive", "dot", "scaled_dot", "general", "gaussian", "location"] = "additive"
    """What a query and a key are compared by: the hidden layer of Bahdanau et al. (2015); the dot, general or location
    score of Luong et al. (2015); scaled dot products (Vaswani et al. 2017); a Gaussian kernel of learned width; or
    none, no attention, every step reads the encoder's final state."""
    window: Literal["global", "local_m", "local_p", "hard"] = "global"
    """Where it may look: everywhere; around the step's own position or a predicted one (Luong et al. 2015); or at one
    position alone."""
    units: int = 256
    """Width of the additive score's hidden layer, and of the one that predicts a position."""
    reach: int = 5
    """Positions that a local window reaches to either side of its centre."""
    positions: int = 128
    """Positions that the location score can tell apart; it never looks behind them."""
    coverage: bool = False
    """Whether the score knows how much attention each position has had so far (Tu et al. 2016)."""

    def __post_init__(self) -> None:
        require_positive(self, "units", "reach", "positions")
        require(
            not self.coverage or self.score not in ("none", "location"),
            f"coverage is on, but score {self.score} compares with no key that could know it: choose another score, "
            "or leave coverage off",
        )
        require(
            self.score != "none" or self.window == "global",
            f"window is {self.window}, but score none attends to nothing: leave window global, or choose a score",
        )


@dataclass(frozen=True)
class TransformerConfig:
    """Sizes of Transformer layers (Vaswani et al. 2017); their width is that of the embeddings."""

    encoder_layers: int = 3
    """Layers of the encoder."""
    decoder_layers: int = 3
    """Layers of the decoder."""
    heads: int = 4
    """Heads of each attention; they divide the width of the embeddings."""
    feed_forward: int = 1024
    """Width of the hidden layer of each position's own network."""
    positions: Literal["sinusoidal", "learned"] = "sinusoidal"
    """How a position is told: by sines and cosines, or by a learned embedding."""
    longest: int = 512
    """Positions that have an embedding, where it is learned; those behind share the last one's."""
    alignment_layer: int = 0
    """Decoder layer whose attention to the source, its heads averaged, is the alignment, counted from 1; 0: the
    last."""

    def __post_init__(self) -> None:
        require_positive(self, "encoder_layers", "decoder_layers", "heads", "feed_forward", "longest")
        require(
            0 <= self.alignment_layer <= self.decoder_layers,
            f"alignment_layer is {self.alignment_layer}: expected 0, or a layer from 1 to {self.decoder_layers}",
        )


@dataclass(frozen=True)
class ModelConfig:
    """The network."""

    architecture: Literal["rnn", "transformer", "mixed"] = "rnn"
    """BiLSTM encoder and recurrent decoder; Transformer encoder and decoder; or Transformer encoder and recurrent
    decoder."""
    decoder: Literal["bahdanau", "luong"] = "bahdanau"
    """Recurrent decoder: attends with its previous state, the context enters the recurrence (Bahdanau et al. 2015); or
    attends with its new state, after the recurrence (Luong et al. 2015)."""
    cell: Literal["gru", "lstm"] = "gru"
    """Cell of the recurrent decoder."""
    units: int = 512
    """Width of the recurrent decoder's state."""
    memory: int = 0
    """Width of the BiLSTM's memory, half of it for each direction; 0: as wide as the decoder state."""
    embedding: int = 256
    """Width of the embeddings, and of a Transformer."""
    readout: int = 0
    """Width of the read-out, which the output layer multiplies; 0: as wide as the embeddings, as it must be where the
    output layer is tied to them, and in a Transformer."""
    attention: AttentionConfig = field(default_factory=AttentionConfig)
    """Attention of the recurrent decoder."""
    piece_in_query: bool = True
    """Whether a Bahdanau decoder asks with the previous target piece besides its previous state (without: Bahdanau et
    al. 2015 to the letter)."""
    words_in_readout: bool = True
    """Whether the read-out reads the source pieces that are attended to, besides what is remembered of them: a
    dictionary that is learned with the model (Nguyen and Chiang 2018). A Transformer's reads those of the layer that
    aligns."""
    input_feeding: bool = True
    """Whether a Luong decoder reads the attentional vector of the step before."""
    encoder_layers: int = 1
    """Bidirectional LSTM layers, one on top of the other."""
    transformer: TransformerConfig = field(default_factory=TransformerConfig)
    """Transformer layers."""
    tie: Literal["none", "target", "all"] = "all"
    """Embeddings that share their weights: none; target and output; or source, target and output."""
    dropout: DropoutConfig = field(default_factory=DropoutConfig)
    """Dropout rates."""

    @property
    def attends(self) -> bool:
        """Whether there is any attention to the source."""
        return self.architecture == "transformer" or self.attention.score != "none"

    @property
    def unread(self) -> list[str]:
        """Fields that are not as they are by default, and that such a network does not read: they change nothing."""
        encoder = ["memory", "encoder_layers", "dropout.encoder"]
        decoder = ["decoder", "cell", "units", "attention", "piece_in_query", "input_feeding"]
        names = {
            "rnn": ["transformer", "dropout.residual"],
            "mixed": encoder,
            "transformer": [*encoder, *decoder, "dropout.state", "dropout.context"],
        }[self.architecture]
        if self.architecture != "transformer":
            names.append("input_feeding" if self.decoder == "bahdanau" else "piece_in_query")
        usual = ModelConfig()
        return [name for name in names if attrgetter(name)(self) != attrgetter(name)(usual)]

    @property
    def memory_width(self) -> int:
        """Width of the encoder's output."""
        return self.memory or self.units if self.architecture == "rnn" else self.embedding

    @property
    def readout_width(self) -> int:
        """Width of what the output layer multiplies."""
        return self.readout or self.embedding

    def __post_init__(self) -> None:
        require_positive(self, "units", "embedding", "encoder_layers")
        require(self.memory >= 0 and self.readout >= 0, "memory and readout: expected 0 or more")
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
