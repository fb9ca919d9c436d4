"""Seq2Seq = embeddings + encoder + decoder + output layer; one forward path for training, scoring and search."""

from __future__ import annotations

from typing import Any, NamedTuple

import keras
from keras import ops

from nmt.backend import Tensor
from nmt.backend.gather_scatter import gather
from nmt.config import ModelConfig
from nmt.network.decoder import BahdanauDecoder, LuongDecoder
from nmt.network.dropout import Dropout
from nmt.network.encoder import Encoder
from nmt.network.losses.guided_alignment import guided_alignment_losses
from nmt.network.losses.output_loss import output_loss
from nmt.network.transformer import TransformerDecoder, TransformerEncoder
from nmt.text.pieces import PAD

MOST_KEPT = 48 * 2**20
"""Most numbers of a batch that attention keeps for the way back, beside weights and states: 192 MiB in float32."""


class Output(NamedTuple):
    """The output layer of some target pieces."""

    kernel: Tensor
    """[pieces, readout], in the compute type."""
    bias: Tensor
    """float32 [pieces]."""


class Seq2Seq(keras.Model):
    """The translation model over ids.

    Args:
        config: sizes, tying and dropout.
        source_size, target_size: pieces in the vocabularies; equal where all embeddings are tied.
        seed: of the dropout masks (initial weights follow Keras's global seed).
        dtype: Keras precision policy.
    """

    def __init__(
        self, config: ModelConfig, source_size: int, target_size: int, seed: int = 0, dtype: str = "float32"
    ) -> None:
        # As in the decoder, types are chosen where a product is formed; Keras casts nothing behind our back.
        super().__init__(dtype=dtype, name="seq2seq", autocast=False)
        if config.tie == "all" and source_size != target_size:
            raise ValueError(f"tied embeddings need one vocabulary; got {source_size} and {target_size} pieces")
        self.config, self.target_size = config, target_size
        rates = config.dropout
        # Unit variance after the scaling by sqrt(width) in `embed`, and logits of unit variance where tied.
        initializer = keras.initializers.RandomNormal(stddev=config.embedding**-0.5)

        def embedding(size: int, name: str) -> keras.layers.Embedding:
            return keras.layers.Embedding(
                size, config.embedding, embeddings_initializer=initializer.clone(), dtype=self.dtype_policy, name=name
            )

        self.target_embedding = embedding(target_size, "target_embedding")
        tied = config.tie == "all"
        self.source_embedding = self.target_embedding if tied else embedding(source_size, "source_embedding")
        self.encoder = self._encoder(seed + 1)
        self.decoder = self._decoder(seed + 2)
        self.embedding_dropout = Dropout(rates.embedding, seed=seed + 4, dtype=self.dtype_policy)
        self.readout_dropout = Dropout(rates.readout, seed=seed + 5, dtype=self.dtype_policy)

    def _encoder(self, seed: int) -> Any:
        config = self.config
        kwargs: dict[str, Any] = {"dtype": self.dtype_policy, "name": "encoder"}
        if config.architecture == "rnn":
            return Encoder(config.memory_width, config.encoder_layers, config.dropout.encoder, seed, **kwargs)
        # Of several seeds, one a layer: all are kept apart from those of other layers.
        return TransformerEncoder(config.transformer, config.dropout.residual, seed + 10_000, **kwargs)

    def _decoder(self, seed: int) -> Any:
        config = self.config
        kwargs: dict[str, Any] = {"dtype": self.dtype_policy, "name": "decoder"}
        kwargs["words_in_readout"] = config.words_in_readout
        if config.architecture == "transformer":
            return TransformerDecoder(config.transformer, config.dropout.residual, seed + 20_000, **kwargs)
        kwargs |= {"state_dropout": config.dropout.state, "context_dropout": config.dropout.context, "seed": seed}
        sizes = config.units, config.attention, config.readout_width, config.cell
        if config.decoder == "luong":
            return LuongDecoder(*sizes, input_feeding=config.input_feeding, **kwargs)
        return BahdanauDecoder(*sizes, piece_in_query=config.piece_in_query, **kwargs)

    def build(self, *_: Any) -> None:
        width, memory = self.config.embedding, self.config.memory_width
        self.source_embedding.build((None, None))
        if not self.target_embedding.built:
            self.target_embedding.build((None, None))
        self.encoder.build((None, None, width))
        self.decoder.build((None, None, width), (None, None, memory), (None, memory))
        self.output_bias = self.add_weight(
            shape=(self.target_size,), initializer="zeros", dtype="float32", autocast=False, name="output_bias"
        )
        if self.config.tie == "none":
            self.output_kernel = self.add_weight(
                shape=(self.target_size, self.config.readout_width), autocast=False, name="output_kernel"
            )
        self.built = True

    def embed(self, ids: Tensor, layer: keras.layers.Embedding, training: bool) -> Tensor:
        """ids [batch, steps] -> [batch, steps, embedding], scaled to unit variance as first drawn."""
        # Taken first and cast then: the layer itself would cast the whole table.
        embedded = ops.cast(gather(ops.convert_to_tensor(layer.embeddings), ids), self.compute_dtype)
        return self.embedding_dropout(embedded * self.config.embedding**0.5, training=training)

    def limit_attention_memory(self, cells: int) -> int:
        """Decides whether training computes what attention would keep for the way back a second time there.

        Args:
            cells: sentences x source positions x target steps of a batch, about the most that there are.

        Returns:
            Numbers that are not kept at once; 0 where they all are.
        """
        attention = getattr(self.decoder, "attention", None)
        kept = 0 if attention is None else attention.score.kept * cells
        if attention is not None:
            attention.score.recompute = kept > MOST_KEPT
        return kept if kept > MOST_KEPT else 0

    def output(self, pieces: Tensor | None = None) -> Output:
        """The output layer of all target pieces, or of some, int32 [pieces]."""
        kernel, bias = self.output_weights(), ops.convert_to_tensor(self.output_bias)
        if pieces is not None:
            kernel, bias = gather(kernel, pieces), gather(bias, pieces)
        return Output(ops.cast(kernel, self.compute_dtype), bias)

    def logits(self, readout: Tensor, parts: int = 1, output: Output | None = None) -> Tensor:
        """Read-out [..., readout] -> float32 [..., target vocabulary].

        Args:
            parts: of the vocabulary that are computed side by side.
            output: instead of all pieces, those that it has; then in one part.
        """
        readout = ops.cast(readout, self.compute_dtype)
        kernel, bias = output or self.output()

        def product(kernel: Tensor, bias: Tensor) -> Tensor:
            return ops.cast(ops.matmul(readout, ops.transpose(kernel)), "float32") + bias

        if parts == 1:
            return product(kernel, bias)
        edges = [self.target_size * part // parts for part in range(1, parts)]
        return ops.concatenate(list(map(product, ops.split(kernel, edges), ops.split(bias, edges))), axis=-1)

    def rounding_error(self, readout: Tensor, places: Tensor, output: Output | None = None) -> Tensor:
        """What rounding to the compute type took from `logits`: read-out [rows, readout] and places in the last axis of
        these, integer [rows, any] -> float32 [rows, any]. A sum half-way between two numbers may have become the other
        one."""
        weights = self.output_weights() if output is None else output.kernel
        kernel = ops.cast(gather(weights, places), self.compute_dtype)
        readout = ops.cast(ops.cast(readout, self.compute_dtype), "float32")
        products = readout[:, None] * ops.cast(kernel, "float32")  # [rows, any, readout]
        sums = ops.sum(products, axis=-1)
        return sums - ops.cast(ops.cast(sums, self.compute_dtype), "float32")

    @property
    def output_variable(self) -> keras.Variable:
        """Kernel of the output layer, [target vocabulary, readout]; where tied, the target embedding."""
        return self.output_kernel if self.config.tie == "none" else self.target_embedding.embeddings

    def output_weights(self) -> Tensor:
        """The value of `output_variable`."""
        return ops.convert_to_tensor(self.output_variable)

    def encode(self, source: Tensor, training: bool = False) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Source ids [batch, positions], end of sentence included, padded with 0 -> memory, final states, mask, and the
        embeddings of the pieces."""
        mask = source != PAD
        lengths = ops.sum(ops.cast(mask, "int32"), axis=1)
        words = self.embed(source, self.source_embedding, training)
        encoded = self.encoder(words, lengths, training=training)
        return encoded.memory, encoded.final, mask, words

    def call(self, source: Tensor, target: Tensor, training: bool = False) -> tuple[Tensor, Tensor]:
        """Teacher forcing.

        Args:
            source: ids with end of sentence, padded with 0, [batch, positions].
            target: ids shifted right (beginning of sentence first), padded with 0, [batch, steps].

        Returns:
            Logits, float32 [batch, steps, target vocabulary], and attention weights, float32 [batch, steps, positions].
        """
        readout, weights = self.read(source, target, training)
        return self.logits(readout), weights

    def read(self, source: Tensor, target: Tensor, training: bool) -> tuple[Tensor, Tensor]:
        """Teacher forcing up to the read-out: [batch, steps, readout] in the compute type, and attention weights."""
        encoded = self.encode(source, training)
        embedded = self.embed(target, self.target_embedding, training)
        readout, weights = self.decoder(embedded, *encoded, training=training)
        return self.readout_dropout(readout, training=training), weights

    def total_loss(
        self,
        source: Tensor,
        target_in: Tensor,
        target_out: Tensor,
        smoothing: float,
        slices: int = 1,
        kernel: Tensor | None = None,
    ) -> Tensor:
        """Training's loss: the sum of `token_losses` of the logits, with dropout, by way of `losses.output_loss`.

        Args:
            kernel: of the output layer, where it is to have a gradient apart from the embedding that it may be.
        """
        readout, _ = self.read(source, target_in, training=True)
        return self._output_loss(readout, target_out, smoothing, slices, kernel)

    def guided_loss(
        self,
        source: Tensor,
        target_in: Tensor,
        target_out: Tensor,
        links: Tensor,
        smoothing: float,
        slices: int = 1,
        kernel: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """`total_loss`, and the sum of `losses.guided_alignment_losses` of the attention paid on the way.

        The attention of a step answers for the piece that the step emits.

        Args:
            links: float32 [batch, steps, positions], see `batching.GuidedBatch`.
        """
        readout, weights = self.read(source, target_in, training=True)
        total = self._output_loss(readout, target_out, smoothing, slices, kernel)
        return total, ops.sum(guided_alignment_losses(weights, links))

    def _output_loss(
        self, readout: Tensor, target_out: Tensor, smoothing: float, slices: int, kernel: Tensor | None
    ) -> Tensor:
        flat = ops.reshape(readout, (-1, self.config.readout_width))
        targets = ops.reshape(target_out, (-1,))
        kernel = self.output_weights() if kernel is None else kernel
        return output_loss(flat, kernel, ops.convert_to_tensor(self.output_bias), targets, smoothing, slices)

    def start(self, source: Tensor, longest: Tensor = 0) -> tuple[Any, Any]:
        """Encodes source ids [batch, positions]: the decoder's first state and what each step reads.

        Args:
            longest: greatest number of steps; a Transformer's state has room for no more.
        """
        memory, final, mask, words = self.encode(source)
        encoded = self.decoder.source(memory, final, mask, words)
        return self.decoder.initial_state(final, encoded, longest), encoded

    def step(self, tokens: Tensor, state: Any, source: Any) -> tuple[Tensor, Any]:
        """One step of search: last pieces [rows] -> read-out, which `logits` makes the next piece of, and the state."""
        embedded = self.embed(tokens[:, None], self.target_embedding, training=False)[:, 0]
        state = self.decoder.step(state, self.decoder.piece_share(embedded), source)
        return self.decoder.readout(state, embedded, source), state
