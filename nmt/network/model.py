"""The translation model: embeddings, encoder, decoder and output layer."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from nmt.backend import Tensor
from nmt.backend.gather_scatter import gather
from nmt.config import ModelConfig
from nmt.network.architectures import make_decoder, make_encoder
from nmt.network.dropout import Dropout
from nmt.network.losses.guided_alignment import guided_alignment_losses
from nmt.network.losses.output_loss import output_loss
from nmt.network.output_layer import OutputLayer, logit_rounding_errors, output_logits
from nmt.network.weights import MODEL
from nmt.text.pieces import PAD


class Seq2Seq(keras.Model):
    """The translation model over piece ids. Training, scoring and search share its forward computation.

    Args:
        config: sizes, tying and dropout.
        source_size, target_size: sizes of the vocabularies; equal if all embeddings are tied.
        seed: seed of the dropout masks. Initial weights follow Keras's global seed.
        dtype: Keras precision policy.
    """

    def __init__(
        self, config: ModelConfig, source_size: int, target_size: int, seed: int = 0, dtype: str = "float32"
    ) -> None:
        # No autocast: each product casts its factors itself.
        super().__init__(dtype=dtype, name=MODEL, autocast=False)
        if config.tie == "all" and source_size != target_size:
            raise ValueError(f"tied embeddings need one vocabulary; got {source_size} and {target_size} pieces")
        self.config, self.target_size = config, target_size
        rates = config.dropout
        # `embed` scales by sqrt(width), so embeddings have unit variance at first, and so have logits if tied.
        initializer = keras.initializers.RandomNormal(stddev=config.embedding**-0.5)
        self.target_embedding = self._embedding(target_size, initializer, "target_embedding")
        tied = self.target_embedding if config.tie == "all" else None
        self.source_embedding = tied or self._embedding(source_size, initializer, "source_embedding")
        self.encoder = make_encoder(config, seed + 1, self.dtype_policy)
        self.decoder = make_decoder(config, seed + 2, self.dtype_policy)
        self.embedding_dropout = Dropout(rates.embedding, seed=seed + 4, dtype=self.dtype_policy)
        self.readout_dropout = Dropout(rates.readout, seed=seed + 5, dtype=self.dtype_policy)

    def _embedding(self, size: int, initializer: Any, name: str) -> keras.layers.Embedding:
        width, policy = self.config.embedding, self.dtype_policy
        return keras.layers.Embedding(size, width, initializer.clone(), dtype=policy, name=name)

    def build(self, *_: Any) -> None:
        width, memory = self.config.embedding, self.config.memory_width
        for embedding in (self.source_embedding, self.target_embedding):
            if not embedding.built:
                embedding.build((None, None))
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

    def call(self, source: Tensor, target: Tensor, training: bool = False) -> tuple[Tensor, Tensor]:
        """Teacher forcing: the logits of all steps of known target sentences.

        Args:
            source: ids with end of sentence, padded with PAD, [batch, positions].
            target: ids shifted right, beginning of sentence first, padded with PAD, [batch, steps].

        Returns:
            Logits, float32 [batch, steps, target vocabulary], and attention weights, float32 [batch, steps, positions].
        """
        readouts, weights = self.readouts(source, target, training)
        return self.logits(readouts), weights

    def readouts(self, source: Tensor, target: Tensor, training: bool) -> tuple[Tensor, Tensor]:
        """`call` without the output layer: read-outs [batch, steps, readout] in the compute type, and weights."""
        encoded = self.encode(source, training)
        embedded = self.embed(target, self.target_embedding, training)
        readouts, weights = self.decoder(embedded, *encoded, training=training)
        return self.readout_dropout(readouts, training=training), weights

    def encode(self, source: Tensor, training: bool = False) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Encodes source ids [batch, positions] with end of sentence, padded with PAD.

        Returns:
            Memory, final state, mask and embeddings of the pieces; shapes as in `decoder.RecurrentDecoder.call`.
        """
        mask = source != PAD
        lengths = ops.sum(ops.cast(mask, "int32"), axis=1)
        words = self.embed(source, self.source_embedding, training)
        encoded = self.encoder(words, lengths, training=training)
        return encoded.memory, encoded.final, mask, words

    def embed(self, ids: Tensor, layer: keras.layers.Embedding, training: bool) -> Tensor:
        """ids [batch, steps] -> embeddings [batch, steps, embedding], scaled to unit variance at first."""
        # Cast after the lookup; the Keras layer casts the whole table.
        embedded = ops.cast(gather(ops.convert_to_tensor(layer.embeddings), ids), self.compute_dtype)
        return self.embedding_dropout(embedded * self.config.embedding**0.5, training=training)

    def total_loss(
        self,
        source: Tensor,
        target_in: Tensor,
        target_out: Tensor,
        smoothing: float,
        slices: int = 1,
        kernel: Tensor | None = None,
    ) -> Tensor:
        """The sum of the label-smoothed losses of all target pieces, with dropout, in nats.

        Args:
            source, target_in: `source` and `target` of `call`.
            target_out: ids with end of sentence, [batch, steps].
            smoothing, slices: as in `losses.output_loss`.
            kernel: kernel of the output layer; None: the model's own. A copy has a gradient apart from the embedding.
        """
        readouts, _ = self.readouts(source, target_in, training=True)
        return self._output_loss(readouts, target_out, smoothing, slices, kernel)

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
        """`total_loss`, and the sum of the guided alignment losses of the same attention.

        The attention of a step is compared with the links of the piece that the step emits.

        Args:
            links: float32 [batch, steps, positions], see `losses.guided_alignment`.
        """
        readouts, weights = self.readouts(source, target_in, training=True)
        total = self._output_loss(readouts, target_out, smoothing, slices, kernel)
        return total, ops.sum(guided_alignment_losses(weights, links))

    def _output_loss(
        self, readouts: Tensor, target_out: Tensor, smoothing: float, slices: int, kernel: Tensor | None
    ) -> Tensor:
        rows, targets = ops.reshape(readouts, (-1, self.config.readout_width)), ops.reshape(target_out, (-1,))
        kernel, bias = self.output_weights() if kernel is None else kernel, ops.convert_to_tensor(self.output_bias)
        return output_loss(rows, kernel, bias, targets, smoothing, slices)

    def limit_attention_memory(self, cells: int) -> int:
        """Limits the memory that attention takes in training; see `attention.scores.Score.limit_memory`.

        Args:
            cells: greatest number of sentences x source positions x target steps of a batch.
        """
        attention = getattr(self.decoder, "attention", None)
        return 0 if attention is None else attention.score.limit_memory(cells)

    @property
    def output_variable(self) -> keras.Variable:
        """Kernel of the output layer, [target vocabulary, readout]; the target embedding if tied."""
        return self.output_kernel if self.config.tie == "none" else self.target_embedding.embeddings

    def output_weights(self) -> Tensor:
        """The value of `output_variable`."""
        return ops.convert_to_tensor(self.output_variable)

    def output_layer(self, pieces: Tensor | None = None) -> OutputLayer:
        """The output layer of the whole vocabulary, or of some pieces, int32 [pieces]."""
        kernel, bias = self.output_weights(), ops.convert_to_tensor(self.output_bias)
        if pieces is not None:
            kernel, bias = gather(kernel, pieces), gather(bias, pieces)
        return OutputLayer(ops.cast(kernel, self.compute_dtype), bias)

    def logits(self, readouts: Tensor, parts: int = 1, output: OutputLayer | None = None) -> Tensor:
        """Logits of the whole vocabulary, or of the pieces of `output`; see `output_layer.output_logits`."""
        return output_logits(ops.cast(readouts, self.compute_dtype), output or self.output_layer(), parts)

    def rounding_errors(
        self, readouts: Tensor, columns: Tensor, logits: Tensor, output: OutputLayer | None = None
    ) -> Tensor:
        """Rounding errors of some `logits`; see `output_layer.logit_rounding_errors`."""
        output = output or OutputLayer(self.output_weights(), ops.convert_to_tensor(self.output_bias))
        return logit_rounding_errors(ops.cast(readouts, self.compute_dtype), output, columns, logits)

    def start(self, source: Tensor, longest: Tensor = 0) -> tuple[Any, Any]:
        """Encodes source ids [batch, positions] for search.

        Args:
            longest: greatest number of steps, which limits the state of a Transformer.

        Returns:
            First state of the decoder, and the encoded source that each step reads.
        """
        memory, final, mask, words = self.encode(source)
        encoded = self.decoder.source(memory, final, mask, words)
        return self.decoder.initial_state(final, encoded, longest), encoded

    def step(self, pieces: Tensor, state: Any, source: Any) -> tuple[Tensor, Any]:
        """One step of search.

        Args:
            pieces: last piece of each hypothesis, int32 [rows].
            state: decoder state, one row per hypothesis.
            source: encoded source, one row per hypothesis.

        Returns:
            Read-outs, [rows, readout], from which `logits` computes the next piece, and the new state.
        """
        embedded = self.embed(pieces[:, None], self.target_embedding, training=False)[:, 0]
        state = self.decoder.step(state, self.decoder.project_input(embedded), source)
        return self.decoder.readout(state, embedded, source), state
