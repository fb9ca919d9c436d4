"""What a recurrent decoder is: its source, its state, its step, and the scan of it over a target sentence."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, NamedTuple

import keras
from keras import ops

from nmt.backend import Tensor
from nmt.backend.gumbel import gumbel
from nmt.backend.loops import scan
from nmt.config import AttentionConfig
from nmt.network.attention import Attention, product_in
from nmt.network.dropout import Dropout
from nmt.network.readout import with_words, words_layer
from nmt.network.recurrence import LoopKernel, before, gru, lstm


class Source(NamedTuple):
    """An encoded source sentence as the decoder reads it; the same at every step."""

    memory: Tensor
    """[batch, positions, width]."""
    keys: Tensor
    """What the score compares queries with, [batch, positions, any width]; without attention the encoder's final
    state, [batch, width]."""
    mask: Tensor
    """Boolean [batch, positions], true at real positions."""
    words: Tensor | tuple[()] = ()
    """Embeddings of the source pieces, [batch, positions, embedding]; () where the read-out does not read them."""


class Loop(NamedTuple):
    """What training adds to a step, the same for all steps of a sentence; None: nothing."""

    hidden: Tensor | None = None
    """Dropout on the state where the recurrence reads it, float32 [batch, units]."""
    context: Tensor | None = None
    """Dropout on the context vector (or on what stands in its place) where the recurrence reads it, float32 [batch,
    width]."""
    numbers: Tensor | None = None
    """Of the sentences, uint32 [batch], for attention that draws where to look."""
    kernels: Mapping[str, LoopKernel] = {}
    """Kernels whose gradients are formed outside of the loop, by name."""


NO_LOOP = Loop()


class PieceShare(NamedTuple):
    """What the previous target piece contributes to a step: no part of the recurrence, so computed outside of it."""

    gates: Tensor
    """Its share of the cell's gates, float32 [..., gates x units]."""
    query: Tensor | None = None
    """Its share of the attention's query, float32 [..., attention width]; None where attention asks without it. Zeros
    where it has none and a gradient is known step by step."""
    bias: Tensor | None = None
    """A GRU's bias on its state's share in the candidate, float32 [..., units], where it is given step by step so that
    a gradient is known step by step; None: the decoder's own."""
    context: Tensor | None = None
    """Zeros that are added to the context vector, float32 [..., memory width], for the same reason; None: nothing."""


class DecoderState(NamedTuple):
    """What one step hands to the next; search reorders it along the batch and reads `weights`. () where a decoder has
    no such part."""

    hidden: Tensor
    """State s_i of the cell, float32 [batch, units]."""
    context: Tensor
    """Context vector c_i of this step, float32 [batch, memory width]."""
    weights: Tensor
    """Attention weights alpha_ij of this step, float32 [batch, positions]."""
    carry: Tensor | tuple[()] = ()
    """An LSTM's second state, float32 [batch, units]."""
    fed: Tensor | tuple[()] = ()
    """Luong's attentional vector, which the next step reads too, float32 [batch, readout units]."""
    time: Tensor | tuple[()] = ()
    """Steps made, int32 [batch]; where attention counts them or draws."""
    covered: Tensor | tuple[()] = ()
    """Sums of the attention weights so far, float32 [batch, positions]; where attention knows its coverage."""


class RecurrentDecoder(keras.layers.Layer):
    """What both recurrent decoders have: cell, attention, bridge, read-out, and the scan over a target sentence.

    Args:
        units: width of the state.
        attention: how to attend; a score of "none" is no attention at all: every step reads the encoder's final
            state, the fixed vector that attention was invented against (Cho et al. 2014).
        readout_units: width of the read-out.
        cell: "gru" or "lstm".
        piece_in_query: whether attention asks with the previous piece besides the state.
        words_in_readout: whether the read-out reads the source pieces that are attended to, besides the memory.
        state_dropout, context_dropout: rates of dropout on the state and on the context vector where the recurrence
            reads them, one mask a sentence (Gal and Ghahramani 2016).
        seed: of what is random in training.
    """

    def __init__(
        self,
        units: int,
        attention: AttentionConfig,
        readout_units: int,
        cell: str = "gru",
        piece_in_query: bool = False,
        words_in_readout: bool = False,
        state_dropout: float = 0.0,
        context_dropout: float = 0.0,
        seed: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(autocast=False, **kwargs)
        self.units, self.readout_units, self.cell, self.seed = units, readout_units, cell, seed
        self.attention_config = attention
        self.gates = {"gru": 3, "lstm": 4}[cell] * units
        self.attention: Attention | None = None
        if attention.score != "none":
            self.attention = Attention(
                attention.score,
                attention.window,
                attention.units,
                attention.reach,
                attention.positions,
                attention.coverage,
                dtype=self.dtype_policy,
                name="attention",
            )
        self.piece_in_query = piece_in_query and self.attention is not None
        self.words_in_readout = words_in_readout and self.attention is not None
        self.draws = self.attention is not None and self.attention.window.draws
        self.covers = self.attention is not None and attention.coverage
        self.counts = self.draws or (self.attention is not None and self.attention.window.counts)
        self.state_dropout, self.context_dropout = state_dropout, context_dropout
        self.bridge = keras.layers.Dense(units, activation="tanh", dtype=self.dtype_policy, name="bridge")
        self.readout_layer = keras.layers.Dense(
            readout_units, activation="tanh", dtype=self.dtype_policy, name="readout"
        )
        if self.words_in_readout:
            self.words_layer = words_layer(readout_units, self.dtype_policy)
        self.drop_hidden = Dropout(state_dropout, seed=seed, dtype="float32")
        self.drop_context = Dropout(context_dropout, seed=seed + 1, dtype="float32")
        self.generator = keras.random.SeedGenerator(seed + 2) if self.draws else None

    def build(self, embedded_shape: tuple, memory_shape: tuple, final_shape: tuple, *_: Any) -> None:
        embedded, memory = embedded_shape[-1], memory_shape[-1]
        self.bridge.build((None, final_shape[-1]))
        self.readout_layer.build((None, self._readout_inputs(embedded, memory)))
        if self.words_in_readout:
            self.words_layer.build((None, embedded))
        self.embedding_kernel = self._weight("embedding_kernel", embedded, self.gates)
        if self.attention is not None:
            self.attention.build((None, None, self.units), (None, None, memory))
            if self.piece_in_query:
                self.query_kernel = self._weight("query_kernel", embedded, self.attention.width)
        if self._read_width(memory):
            self.context_kernel = self._weight("context_kernel", self._read_width(memory), self.gates)
        self.state_kernel = self._weight("state_kernel", self.units, self.gates, initializer=_orthogonal)
        self.gate_bias = self._weight("gate_bias", self.gates, initializer="zeros", dtype="float32")
        if self.cell == "gru":
            self.state_bias = self._weight("state_bias", self.units, initializer="zeros", dtype="float32")
        else:  # forgetting is learned, not given
            self.gate_bias.assign(ops.repeat(ops.convert_to_tensor([0.0, 1.0, 0.0, 0.0]), self.units))
        self.built = True

    def _weight(self, name: str, *shape: int, initializer: Any = "glorot_uniform", dtype: str | None = None) -> Any:
        return self.add_weight(shape=shape, initializer=initializer, dtype=dtype, autocast=False, name=name)

    def _readout_inputs(self, embedded: int, memory: int) -> int:
        """Width of what the read-out reads."""
        raise NotImplementedError

    def _read_width(self, memory: int) -> int:
        """Width of what the recurrence reads besides state and piece; 0: nothing."""
        raise NotImplementedError

    def source(self, memory: Tensor, final: Tensor, mask: Tensor, words: Tensor | None = None) -> Source:
        """What a step reads of the source sentence, computed once."""
        keys = ops.cast(final, "float32") if self.attention is None else self.attention.keys(memory)
        return Source(memory, keys, mask, words if self.words_in_readout else ())

    def initial_state(self, final: Tensor, source: Source, longest: Tensor = 0) -> DecoderState:
        """s_0 = tanh(W_s [forward; backward]) from the encoder's final states [batch, width].

        Args:
            longest: greatest number of steps; of no interest to a recurrence.
        """
        hidden = ops.cast(self.bridge(ops.cast(final, self.compute_dtype)), "float32")
        batch, nothing = ops.shape(hidden)[0], ops.zeros_like(ops.cast(source.mask, "float32"))
        return DecoderState(
            hidden,
            context=ops.zeros_like(ops.cast(source.memory[:, 0], "float32")),
            weights=nothing,
            carry=ops.zeros_like(hidden) if self.cell == "lstm" else (),
            fed=self._first_fed(batch),
            time=ops.zeros((batch,), "int32") if self.counts else (),
            covered=nothing if self.covers else (),
        )

    def _first_fed(self, batch: Tensor) -> Tensor | tuple[()]:
        return ()

    def piece_share(self, embedded: Tensor) -> PieceShare:
        """Embedding of the previous piece, [..., embedding] -> its share of a step."""
        gates = product_in(self.compute_dtype, embedded, self.embedding_kernel, self.gate_bias)
        if not self.piece_in_query:
            return PieceShare(gates)
        return PieceShare(gates, product_in(self.compute_dtype, embedded, self.query_kernel))

    def step(self, state: DecoderState, piece: PieceShare, source: Source, loop: Loop = NO_LOOP) -> DecoderState:
        """One step of the recurrence, the same in training and in search.

        Args:
            state: of the step before.
            piece: `piece_share` of the previous target piece.
            source: encoded source sentence.
            loop: what training adds.

        Returns:
            The state after this step, whose weights are the attention that it paid.
        """
        raise NotImplementedError

    def attend(
        self, hidden: Tensor, state: DecoderState, piece: PieceShare, source: Source, loop: Loop
    ) -> tuple[Tensor, Tensor]:
        """Context vector and weights for the query `hidden`; without attention the final state and no weights."""
        if self.attention is None:
            return source.keys, ops.zeros_like(ops.cast(source.mask, "float32"))
        noise = None
        if loop.numbers is not None:
            noise = gumbel(loop.numbers, state.time, 1, ops.shape(source.mask)[1])[:, 0]
        projection, memory = (loop.kernels.get(name) for name in ("projection", "memory"))
        projected = None if projection is None else projection.product(hidden)
        moment = piece.query, state.time, noise, projected, state.covered
        if memory is None:
            return self.attention(hidden, source.memory, source.keys, source.mask, *moment)
        weights = self.attention.weigh(hidden, source.keys, source.mask, *moment)
        return memory.product(weights) + piece.context, weights

    def _covered(self, state: DecoderState, weights: Tensor) -> Tensor | tuple[()]:
        """Coverage after a step that paid these weights."""
        return ops.add(state.covered, weights) if self.covers else ()

    def _multiplied(self, values: Tensor, name: str, loop: Loop) -> Tensor:
        """values @ the kernel of that name, float32."""
        kernel = loop.kernels.get(name)
        if kernel is None:
            return product_in(self.compute_dtype, values, getattr(self, name))
        return kernel.product(values)

    def advance(
        self, state: DecoderState, gates: Tensor, piece: PieceShare, loop: Loop
    ) -> tuple[Tensor, Tensor | tuple[()], Tensor | tuple[()]]:
        """Hidden state, carry and time after a step of the cell whose inputs' share of the gates is given."""
        read = state.hidden if loop.hidden is None else state.hidden * loop.hidden
        recurrent = self._multiplied(read, "state_kernel", loop)
        time = ops.add(state.time, 1) if self.counts else ()
        if self.cell == "lstm":
            return (*lstm(gates + recurrent, state.carry), time)
        bias = self.state_bias if piece.bias is None else piece.bias
        return gru(gates, recurrent, bias, state.hidden), (), time

    def random(self, start: DecoderState) -> Loop:
        """Draws what is random for a batch, for training."""
        read = start.context if isinstance(start.fed, tuple) else start.fed
        numbers = None
        if self.draws:
            drawn = keras.random.randint(ops.shape(start.hidden)[:1], 0, 2**31 - 1, seed=self.generator)
            numbers = ops.cast(drawn, "uint32")
        return Loop(
            self.drop_hidden(ops.ones_like(start.hidden), training=True) if self.state_dropout else None,
            self.drop_context(ops.ones_like(read), training=True) if self.context_dropout else None,
            numbers,
        )

    def readout(self, state: DecoderState, embedded: Tensor, source: Source) -> Tensor:
        """t_i from a step's state and the embedding of the piece before, each [..., width] -> [..., readout units] in
        the compute type; with `words_in_readout` see `readout.with_words`."""
        read = self._readout(state, embedded)
        return with_words(read, self.words_layer, state.weights, source.words) if self.words_in_readout else read

    def _readout(self, state: DecoderState, embedded: Tensor) -> Tensor:
        """The part of the read-out that each decoder has its own way of."""
        raise NotImplementedError

    def _read(self, *parts: Tensor) -> Tensor:
        return self.readout_layer(ops.concatenate([ops.cast(part, self.compute_dtype) for part in parts], axis=-1))

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
            embedded: embeddings of the target shifted right, [batch, steps, embedding].
            memory, final: of the encoder, [batch, positions, width] and [batch, width].
            mask: boolean [batch, positions].
            words: embeddings of the source pieces, [batch, positions, embedding]; for a read-out that reads them.

        Returns:
            Read-outs [batch, steps, readout units] and attention weights, float32 [batch, steps, positions].
        """
        source = self.source(memory, final, mask, words)
        start = self.initial_state(final, source)
        loop = self.random(start) if training else NO_LOOP
        names = [name for name in ("state_kernel", "context_kernel") if hasattr(self, name)]
        kernels = {name: LoopKernel(getattr(self, name), self.compute_dtype) for name in names}
        if self.attention is not None:
            kernels["memory"] = LoopKernel(source.memory, source.memory.dtype)
            if self.attention.score.projection is not None:
                kernels["projection"] = LoopKernel(self.attention.score.projection, self.compute_dtype)
        loop = loop._replace(kernels=kernels)
        shares = self._shares(ops.transpose(embedded, (1, 0, 2)), loop)
        given = [share for share in shares if share is not None]

        def step(state: DecoderState, given: list[Tensor]) -> DecoderState:
            parts = iter(given)
            piece = PieceShare(*(share if share is None else next(parts) for share in shares))
            return self.step(state, piece, source, loop)

        states = scan(step, start, given)
        self._told(loop, start, states)
        states = keras.tree.map_structure(lambda values: ops.swapaxes(values, 0, 1), states)
        return self.readout(states, embedded, source), states.weights

    def _shares(self, embedded: Tensor, loop: Loop) -> PieceShare:
        """`piece_share` of all steps, [steps, batch, embedding], on which the gradients of the loop's kernels hang."""
        share, units = self.piece_share(embedded), self.units
        gates, kernels = share.gates, loop.kernels
        if "memory" in kernels:
            zeros = ops.zeros((*ops.shape(gates)[:2], kernels["memory"].kernel.shape[-1]))
            share = share._replace(context=kernels["memory"].give_gradient(zeros)[0])
        if "projection" in kernels:
            query = share.query
            if query is None:
                query = ops.zeros((*ops.shape(gates)[:2], kernels["projection"].kernel.shape[-1]))
            share = share._replace(query=kernels["projection"].give_gradient(query)[0])
        if "context_kernel" in kernels:
            gates = kernels["context_kernel"].give_gradient(gates)[0]
        if self.cell == "lstm":
            return share._replace(gates=kernels["state_kernel"].give_gradient(gates)[0])
        # In a GRU the candidate's product is not added to the gates but to the bias, inside of the reset gate.
        bias = ops.broadcast_to(self.state_bias, (*ops.shape(gates)[:2], units))
        gates, bias = kernels["state_kernel"].give_gradient(
            gates, bias, of_outputs=lambda gates, bias: ops.concatenate([gates[..., : 2 * units], bias], axis=-1)
        )
        return share._replace(gates=gates, bias=bias)

    def _told(self, loop: Loop, start: DecoderState, states: DecoderState) -> None:
        """Tells the loop's kernels what they multiplied."""
        hidden, read = before(states.hidden, start.hidden), self._reads(start, states)
        loop.kernels["state_kernel"].saw(hidden if loop.hidden is None else hidden * loop.hidden)
        if "memory" in loop.kernels:
            loop.kernels["memory"].saw(states.weights)
        if "projection" in loop.kernels:
            loop.kernels["projection"].saw(self._asks(start, states))
        if "context_kernel" in loop.kernels:
            loop.kernels["context_kernel"].saw(read if loop.context is None else read * loop.context)

    def _reads(self, start: DecoderState, states: DecoderState) -> Tensor:
        """What the recurrence reads besides state and piece at each step, [steps, batch, width]."""
        raise NotImplementedError

    def _asks(self, start: DecoderState, states: DecoderState) -> Tensor:
        """What attention asks with at each step, the piece aside, [steps, batch, units]."""
        raise NotImplementedError

    def get_config(self) -> dict[str, Any]:
        names = ("units", "readout_units", "cell", "piece_in_query", "words_in_readout")
        own = {name: getattr(self, name) for name in (*names, "state_dropout", "context_dropout", "seed")}
        return {**super().get_config(), **own, "attention": dataclasses.asdict(self.attention_config)}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> RecurrentDecoder:
        return cls(**{**config, "attention": AttentionConfig(**config["attention"])})


def _orthogonal(shape: tuple, dtype: Any = None) -> Tensor:
    """Keras's initializer of that name, for types that its decomposition does not take too."""
    return ops.cast(keras.initializers.Orthogonal()(shape, "float32"), dtype)
