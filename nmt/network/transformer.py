"""The Transformer (Vaswani et al. 2017): encoder and decoder of attention alone.

Layer normalisation stands before each sublayer and once behind the last one (Xiong et al. 2020), which needs no long
warm-up; all else is the paper's.
"""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar, NamedTuple

import keras
from keras import ops

from nmt.backend import Tensor
from nmt.backend.arithmetic import add_same_shape
from nmt.backend.gradients import with_gradient
from nmt.backend.key_value_cache import append_step, initial_length
from nmt.backend.shapes import axis_length
from nmt.config import TransformerConfig
from nmt.network.attention import KeysValues, MultiHeadAttention, by_rows, causal_mask, context_vectors, sinusoids
from nmt.network.dropout import Dropout
from nmt.network.encoder import Encoded
from nmt.network.readout import with_words, words_layer


class TransformerSource(NamedTuple):
    """An encoded source sentence as the decoder reads it; the same at every step."""

    layers: tuple[KeysValues, ...]
    """The memory's keys and values for the attention of each decoder layer."""
    mask: Tensor
    """Boolean [batch, positions], true at real positions."""
    words: Tensor | tuple[()] = ()
    """Embeddings of the source pieces, [batch, positions, width]; () where the read-out does not read them."""


class TransformerState(NamedTuple):
    """What one step hands to the next; search reorders it along the batch and reads `weights`."""

    output: Tensor
    """Of the last layer at this step, [batch, width]."""
    weights: Tensor
    """Attention to the source, heads averaged, float32 [batch, positions]."""
    time: Tensor
    """Steps made, int32 [batch]."""
    layers: tuple[KeysValues, ...]
    """Keys and values of the steps so far, for each layer, each [batch, heads, steps, width / heads]; see
    `backend.key_value_cache` for the number of its positions."""


class Positions(keras.layers.Layer):
    """Adds to a sequence where in it each vector stands.

    Args:
        kind: "sinusoidal" or "learned".
        longest: positions that have an embedding where it is learned; those behind share the last one's.
    """

    def __init__(self, kind: str, longest: int, **kwargs: Any) -> None:
        super().__init__(autocast=False, **kwargs)
        self.kind, self.longest = kind, longest

    def build(self, values_shape: tuple) -> None:
        if self.kind == "learned":
            shape = (self.longest, values_shape[-1])
            self.table = self.add_weight(shape=shape, initializer="random_normal", autocast=False, name="table")
        self.built = True

    def call(self, values: Tensor, positions: Tensor) -> Tensor:
        """values [..., width], positions integer [...] or broadcastable -> their sum, in the compute type."""
        if self.kind == "learned":
            told = ops.take(self.table, ops.minimum(positions, self.longest - 1), axis=0)
        else:
            told = sinusoids(positions, values.shape[-1])
        return ops.cast(values, self.compute_dtype) + ops.cast(told, self.compute_dtype)


@keras.saving.register_keras_serializable("nmt")
class LayerNormalization(keras.layers.LayerNormalization):
    """Over the last axis, in float32 (Ba et al. 2016, eq. 4). The gradient is written out: TensorFlow's asks at each of
    its steps how shapes were made alike, and is three times as many operations."""

    def __init__(self, dtype: Any = None, **kwargs: Any) -> None:
        # Scale and shift are kept in the type that they are used in, so that no step of a search converts them.
        policy = keras.dtype_policies.get(dtype)
        if policy.compute_dtype in ("float16", "bfloat16"):
            policy = f"mixed_{policy.compute_dtype}"
        super().__init__(autocast=False, dtype=policy, **kwargs)

    def call(self, values: Tensor, training: bool = False) -> Tensor:
        """values [..., width] -> the same shape, in the compute type."""
        given = values, *(ops.cast(weight, "float32") for weight in (self.gamma, self.beta))
        return with_gradient(self._forward, *given) if training else self._forward(*given)[0]

    def _forward(self, values: Tensor, scale: Tensor, shift: Tensor) -> tuple[Tensor, Any]:
        wide = ops.cast(values, "float32")
        centred = wide - ops.mean(wide, axis=-1, keepdims=True)
        rate = ops.rsqrt(ops.mean(ops.square(centred), axis=-1, keepdims=True) + self.epsilon)
        unit = centred * rate

        def gradient(upstream: Tensor) -> tuple[Tensor, Tensor, Tensor]:
            upstream = ops.cast(upstream, "float32")
            by_unit, others = upstream * scale, tuple(range(len(values.shape) - 1))
            shared = ops.mean(by_unit, axis=-1, keepdims=True) + unit * ops.mean(by_unit * unit, axis=-1, keepdims=True)
            by_values = ops.cast(rate * (by_unit - shared), values.dtype)
            return by_values, ops.sum(upstream * unit, axis=others), ops.sum(upstream, axis=others)

        return ops.cast(unit * scale + shift, self.compute_dtype), gradient


class Sublayers(keras.layers.Layer):
    """What layers of encoder and decoder have in common: normalisation before a sublayer, dropout on what it adds.

    Args:
        config: sizes.
        names: of the sublayers, each of which gets a normalisation of its own.
        dropout: rate, on what a sublayer adds.
        seed: of the dropout masks.
    """

    def __init__(
        self, config: TransformerConfig, names: tuple[str, ...], dropout: float, seed: int, **kwargs: Any
    ) -> None:
        super().__init__(autocast=False, **kwargs)
        self.config = config
        policy = self.dtype_policy
        self.norms = {name: LayerNormalization(dtype=policy, name=f"{name}_norm") for name in names}
        self.attentions = {
            name: MultiHeadAttention(config.heads, dtype=policy, name=name) for name in names if name != "feed_forward"
        }
        self.hidden = keras.layers.Dense(config.feed_forward, activation="relu", dtype=policy, name="hidden")
        self.drop = Dropout(dropout, seed=seed, dtype=policy)

    def build(self, values_shape: tuple, *_: Any) -> None:
        for norm in self.norms.values():
            norm.build(values_shape)
        for attention in self.attentions.values():
            attention.build(values_shape, values_shape)
        self.output_layer = keras.layers.Dense(values_shape[-1], dtype=self.dtype_policy, name="output")
        self.hidden.build(values_shape)
        self.output_layer.build((*values_shape[:-1], self.config.feed_forward))
        self.built = True

    def normalized(self, values: Tensor, name: str) -> Tensor:
        """The values as the sublayer of that name reads them."""
        return self.norms[name](values)

    def added(self, values: Tensor, change: Tensor, training: bool) -> Tensor:
        """The values with what a sublayer makes of them."""
        return add_same_shape(values, self.drop(change, training=training))

    def feed_forward(self, values: Tensor, training: bool) -> Tensor:
        """Each position's own network, two layers with a rectifier between (eq. 2)."""
        change = by_rows(lambda rows: self.output_layer(self.hidden(rows)), self.normalized(values, "feed_forward"))
        return self.added(values, change, training)


class EncoderLayer(Sublayers):
    """Self-attention over the source, then each position's own network."""

    def __init__(self, config: TransformerConfig, dropout: float, seed: int, **kwargs: Any) -> None:
        super().__init__(config, ("self_attention", "feed_forward"), dropout, seed, **kwargs)

    def call(self, values: Tensor, mask: Tensor, training: bool) -> Tensor:
        """values [batch, positions, width], mask broadcastable to [batch, heads, positions, positions] -> as the
        values."""
        attention = self.attentions["self_attention"]
        queries, memory = attention.read(self.normalized(values, "self_attention"))
        change, _ = attention.attend(queries, memory, mask)
        return self.feed_forward(self.added(values, change, training), training)


class DecoderLayer(Sublayers):
    """Self-attention over the target so far, attention to the source, then each position's own network."""

    def __init__(self, config: TransformerConfig, dropout: float, seed: int, **kwargs: Any) -> None:
        super().__init__(config, ("self_attention", "attention", "feed_forward"), dropout, seed, **kwargs)

    def project_memory(self, memory: Tensor) -> KeysValues:
        """Keys and values of the encoded source."""
        return self.attentions["attention"].project_memory(memory)

    def remember(self, values: Tensor) -> tuple[Tensor, KeysValues]:
        """The queries of target steps, [batch, steps, width], to themselves and those before, and their keys and
        values."""
        return self.attentions["self_attention"].read(self.normalized(values, "self_attention"))

    def call(
        self,
        values: Tensor,
        queries: Tensor,
        past: KeysValues,
        past_mask: Tensor,
        source: KeysValues,
        mask: Tensor,
        training: bool,
    ) -> tuple[Tensor, Tensor]:
        """
        Args:
            values: steps, [batch, steps, width].
            queries: of `remember` of these steps.
            past: of `remember` of all steps that may be seen.
            past_mask: boolean, which step sees which, broadcastable to [batch, heads, steps, all steps].
            source: `project_memory` of the source.
            mask: of the source, boolean, broadcastable to [batch, heads, steps, positions].

        Returns:
            As the values, and attention to the source, float32 [batch, heads, steps, positions].
        """
        change, _ = self.attentions["self_attention"].attend(queries, past, past_mask)
        values = self.added(values, change, training)
        read = self.normalized(values, "attention")
        change, weights = self.attentions["attention"](read, source, mask)
        values = self.added(values, change, training)
        return self.feed_forward(values, training), weights


class Stack(keras.layers.Layer):
    """What encoder and decoder have in common: positions, layers on top of each other, a normalisation behind them.

    Args:
        config: sizes.
        dropout: rate, on what each sublayer adds.
        seed: of the dropout masks; each layer has one, counted on from here.
    """

    kind: ClassVar[type[EncoderLayer | DecoderLayer]]
    """Of the layers."""

    def __init__(self, config: TransformerConfig, dropout: float = 0.0, seed: int = 0, **kwargs: Any) -> None:
        super().__init__(autocast=False, **kwargs)
        self.config, self.rate, self.seed = config, dropout, seed
        policy = self.dtype_policy
        self.positions = Positions(config.positions, config.longest, dtype=policy, name="positions")
        self.layers = [
            self.kind(config, dropout, seed + i, dtype=policy, name=f"layer_{i + 1}") for i in range(self.depth)
        ]
        self.norm = LayerNormalization(dtype=policy, name="norm")

    @property
    def depth(self) -> int:
        """Number of layers."""
        raise NotImplementedError

    def build(self, values_shape: tuple, *_: Any) -> None:
        for layer in (self.positions, *self.layers, self.norm):
            layer.build(values_shape)
        self.built = True

    def get_config(self) -> dict[str, Any]:
        own = {"config": dataclasses.asdict(self.config), "dropout": self.rate, "seed": self.seed}
        return {**super().get_config(), **own}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Stack:
        return cls(**{**config, "config": TransformerConfig(**config["config"])})


@keras.saving.register_keras_serializable("nmt")
class TransformerEncoder(Stack):
    """Layers of self-attention over the embedded source."""

    kind = EncoderLayer

    @property
    def depth(self) -> int:
        return self.config.encoder_layers

    def call(self, values: Tensor, lengths: Tensor, training: bool = False) -> Encoded:
        """Embedded source [batch, positions, width] and lengths [batch] -> `Encoded`; the final state is the memory's
        average, for a recurrent decoder to begin with."""
        places = ops.arange(ops.shape(values)[1], dtype="int32")
        mask = places[None, :] < ops.cast(lengths, "int32")[:, None]
        values = self.positions(values, places)
        real = mask[:, None, None]
        for layer in self.layers:
            values = layer(values, real, training=training)
        memory = self.norm(values)
        shares = ops.cast(mask, "float32") / ops.maximum(ops.cast(lengths, "float32"), 1.0)[:, None]
        return Encoded(memory, ops.squeeze(context_vectors(shares[:, None], memory), axis=1))


@keras.saving.register_keras_serializable("nmt")
class TransformerDecoder(Stack):
    """Layers of self-attention over the target so far and of attention to the source.

    Training runs all steps at once; a step of search reads the keys and values of the steps before from its state.

    Args:
        words_in_readout: whether the read-out reads the source pieces that the attention of the layer that aligns is
            paid to (`readout.with_words`), besides what the last layer says.
    """

    kind = DecoderLayer

    def __init__(self, *args: Any, words_in_readout: bool = False, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.words_in_readout = words_in_readout

    def build(self, values_shape: tuple, *_: Any) -> None:
        if self.words_in_readout:
            self.words_layer = words_layer(values_shape[-1], self.dtype_policy)
            self.words_layer.build(values_shape)
        super().build(values_shape)

    @property
    def depth(self) -> int:
        return self.config.decoder_layers

    @property
    def aligned(self) -> int:
        """Place of the layer whose attention is the alignment."""
        return (self.config.alignment_layer or self.depth) - 1

    def source(self, memory: Tensor, final: Tensor, mask: Tensor, words: Tensor | None = None) -> TransformerSource:
        """What a step reads of the source sentence, computed once; the final state is of no interest."""
        layers = tuple(layer.project_memory(memory) for layer in self.layers)
        return TransformerSource(layers, mask, words if self.words_in_readout else ())

    def initial_state(self, final: Tensor, source: TransformerSource, longest: Tensor) -> TransformerState:
        """No steps yet; there will be `longest` at most."""
        batch, width = ops.shape(final)[0], final.shape[-1]
        shape = (batch, self.config.heads, initial_length(longest), width // self.config.heads)
        layers = tuple(
            KeysValues(ops.zeros(shape, self.compute_dtype), ops.zeros(shape, self.compute_dtype)) for _ in self.layers
        )
        weights = ops.zeros_like(ops.cast(source.mask, "float32"))
        return TransformerState(
            ops.zeros((batch, width), self.compute_dtype), weights, ops.zeros((batch,), "int32"), layers
        )

    def piece_share(self, embedded: Tensor) -> Tensor:
        """What a step reads of the previous piece: its embedding as it is."""
        return embedded

    def step(self, state: TransformerState, embedded: Tensor, source: TransformerSource) -> TransformerState:
        """One step of search.

        Args:
            state: of the step before.
            embedded: embedding of the previous piece, [batch, width].
            source: encoded source sentence.
        """
        values, past, weights = self.positions(embedded, state.time)[:, None], [], []
        real = source.mask[:, None, None]
        for layer, before, memory in zip(self.layers, state.layers, source.layers, strict=True):
            queries, new = layer.remember(values)
            past.append(KeysValues(*(append_step(old, one, state.time) for old, one in zip(before, new, strict=True))))
            if len(past) == 1:  # all layers have as many steps
                seen = _until(state.time, axis_length(past[0].keys, 2))
            values, paid = layer(values, queries, past[-1], seen, memory, real, training=False)
            weights.append(paid)
        attention = ops.mean(weights[self.aligned][:, :, 0], axis=1)
        return TransformerState(self.norm(values)[:, 0], attention, state.time + 1, tuple(past))

    def readout(self, state: TransformerState, embedded: Tensor, source: TransformerSource) -> Tensor:
        """What the output layer multiplies, in the compute type."""
        return self._readout(state.output, state.weights, source)

    def _readout(self, output: Tensor, weights: Tensor, source: TransformerSource) -> Tensor:
        return with_words(output, self.words_layer, weights, source.words) if self.words_in_readout else output

    def call(
        self,
        embedded: Tensor,
        memory: Tensor,
        final: Tensor,
        mask: Tensor,
        words: Tensor | None = None,
        training: bool = False,
    ) -> tuple[Tensor, Tensor]:
        """Teacher forcing: all steps of a target sentence whose pieces are known.

        Args:
            embedded: embeddings of the target shifted right, [batch, steps, width].
            memory, final: of the encoder, [batch, positions, width] and [batch, width].
            mask: boolean [batch, positions].
            words: embeddings of the source pieces, [batch, positions, width]; for a read-out that reads them.

        Returns:
            Read-outs [batch, steps, width] and attention weights, float32 [batch, steps, positions].
        """
        source = self.source(memory, final, mask, words)
        steps = ops.shape(embedded)[1]
        values, weights = self.positions(embedded, ops.arange(steps, dtype="int32")), []
        seen, real = causal_mask(steps), mask[:, None, None]
        for layer, heard in zip(self.layers, source.layers, strict=True):
            values, paid = layer(values, *layer.remember(values), seen, heard, real, training=training)
            weights.append(paid)
        attention = ops.mean(weights[self.aligned], axis=1)
        return self._readout(self.norm(values), attention, source), attention

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "words_in_readout": self.words_in_readout}


def _until(time: Tensor, steps: Tensor) -> Tensor:
    """Which of so many steps are not behind this one, int32 [batch]: bool [batch, 1, 1, steps]."""
    return (ops.arange(steps, dtype="int32") <= time[:, None])[:, None, None, :]
