"""One step function for several models: at each step their distributions are averaged. One model is the usual case."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from nmt import search
from nmt.backend import ops
from nmt.backend.capabilities import rounds_products
from nmt.backend.gather_scatter import gather_within
from nmt.backend.machine import batches_at_once
from nmt.text.pieces import BOS, PAD
from nmt.translation.inference.distributions import Averaging, averaged, mean, unrounded
from nmt.translation.inference.side_by_side import FEW_ROWS

if TYPE_CHECKING:
    from nmt.network.model import Seq2Seq
    from nmt.network.output_layer import OutputLayer
    from nmt.translation.inference.exported_model import ExportedModel

IMPOSSIBLE_PIECES = PAD, BOS
"""Pieces that never follow."""


class Ensemble:
    """Several models over one vocabulary, as one model.

    Args:
        models: built models, or exported models.
        averaging: mean of the probabilities, or normalised geometric mean.
    """

    def __init__(
        self, models: Sequence[Seq2Seq] | Sequence[ExportedModel], averaging: Averaging = "probability"
    ) -> None:
        self.models: tuple[Any, ...] = tuple(models)
        self.averaging = averaging

    @property
    def weights(self) -> list[Any]:
        """The trainable variables of all models."""
        return [weight for model in self.models for weight in model.trainable_variables]

    def start(self, source: Any, longest: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """The models' first states and encoded sources.

        Args:
            source: int32 [batch, positions], end of sentence included.
            longest: number of steps to come.
        """
        starts = [model.start(source, longest) for model in self.models]
        return tuple(state for state, _ in starts), tuple(encoded for _, encoded in starts)

    def step(self, tokens: Any, states: Any, *encoded: Any) -> tuple[search.Distribution, Any, Any]:
        """One step: distribution of the next piece, states, attention weights.

        Padding and a second beginning of sentence are impossible. Their mass, which label smoothing leaves, is not
        redistributed, so that scoring a hypothesis gives the log-probability of the search.
        """
        logits, readouts, states, attention = self._steps(tokens, states, encoded, [None] * len(self.models))
        return self._distribution(logits, readouts), states, attention

    def step_among(self, pieces: Any) -> search.Step:
        """A step function over some pieces alone.

        The step reads one more array behind the encoded sources: the pieces that are possible for each row, bool
        [rows, pieces]. The probabilities of a row's possible pieces sum to one.

        Args:
            pieces: ids in rising order, int32 [pieces].
        """
        outputs = [model.output_layer(pieces) for model in self.models]
        subset = search.PieceSubset(pieces, self.models[0].target_size)

        def step(tokens: Any, states: Any, *read: Any) -> tuple[search.Distribution, Any, Any]:
            *encoded, allowed = read
            logits, readouts, states, attention = self._steps(tokens, states, encoded, outputs)
            logits = [ops.where(allowed, values, search.IMPOSSIBLE) for values in logits]
            return self._distribution(logits, readouts, outputs)._replace(subset=subset), states, attention

        return step

    def score(self, source: Any, target_in: Any, target_out: Any) -> tuple[Any, Any]:
        """Teacher forcing: log-probabilities of the target's pieces [batch, steps], 0 at padding, and attention."""
        forced = [model(source, target_in, training=False) for model in self.models]
        values = self._log_probabilities([logits for logits, _ in forced], target_out)
        return values, mean([weights for _, weights in forced])

    def score_seen(self, source: Any, seen: Any, target_in: Any, target_out: Any) -> Any:
        """Log-probabilities as `score` gives them, with attention restricted to `seen`, bool [batch, positions]."""
        logits = []
        for model in self.models:
            memory, final, mask, words = model.encode(source)
            embedded = model.embed(target_in, model.target_embedding, training=False)
            readout, _ = model.decoder(embedded, memory, final, ops.logical_and(mask, seen), words)
            logits.append(model.logits(readout))
        return self._log_probabilities(logits, target_out)

    def _log_probabilities(self, logits: Sequence[Any], target_out: Any) -> Any:
        from nmt.network.losses.label_smoothing import token_losses

        if len(logits) == 1:
            return -token_losses(logits[0], target_out)
        together = averaged([ops.log_softmax(values, axis=-1) for values in logits], self.averaging)
        values = ops.take_along_axis(together, target_out[:, :, None], axis=-1)[:, :, 0]
        return ops.where(target_out == PAD, 0.0, values)

    def _steps(
        self, tokens: Any, states: Any, encoded: Sequence[Any], outputs: Sequence[Any]
    ) -> tuple[list[Any], list[Any], tuple[Any, ...], Any]:
        """The models' logits, read-outs and states after these pieces, and their mean attention.

        Args:
            outputs: the output layers over some pieces; None for one over all pieces.
        """
        stepped = [
            self._step(model, tokens, state, read, output)
            for model, state, read, output in zip(self.models, states, encoded, outputs, strict=True)
        ]
        logits, readouts, new = ([*values] for values in zip(*stepped, strict=True))
        return logits, readouts, tuple(new), mean([state.weights for state in new])

    def _step(self, model: Any, tokens: Any, state: Any, read: Any, output: Any) -> tuple[Any, Any, Any]:
        if ops.is_numpy(tokens):  # the graph of an exported model has the output layer inside
            logits, state = model.step(tokens, state, read, output)
            return logits, None, state
        readout, state = model.step(tokens, state, read)
        logits = self._logits(model, readout) if output is None else model.logits(readout, output=output)
        return logits, readout, state

    def _logits(self, model: Seq2Seq, readout: Any) -> Any:
        """Logits of the next piece; with few rows, the processors share the reading of the kernel."""
        parts = batches_at_once()
        if parts == 1:
            return model.logits(readout)
        few = ops.shape(readout)[0] <= FEW_ROWS
        return ops.cond(few, lambda: model.logits(readout, parts), lambda: model.logits(readout))

    def _distribution(
        self, logits: Sequence[Any], readouts: Sequence[Any], outputs: Sequence[OutputLayer | None] | None = None
    ) -> search.Distribution:
        """The averaged distribution of the next piece.

        Args:
            logits: of each model, float32 [rows, pieces].
            readouts: of each model; in half precision they restore the digits that rounding takes from the logits.
            outputs: the output layers of a `step_among`; None: those over all pieces.
        """
        outputs = outputs or [None] * len(self.models)
        log_sums = [search.log_sum_exp(values) for values in logits]
        together, log_sum = logits[0], log_sums[0]
        if len(self.models) > 1:
            alone = [values - total for values, total in zip(logits, log_sums, strict=True)]
            together, log_sum = averaged(alone, self.averaging), 0.0

        def sharp(places: Any) -> Any:
            chosen = [gather_within(values, places) for values in logits]
            lost = [
                # Pieces outside of a row's list have no computed logit.
                ops.where(rough > search.IMPOSSIBLE / 2, model.rounding_errors(readout, places, rough, output), 0.0)
                for model, readout, rough, output in zip(self.models, readouts, chosen, outputs, strict=True)
            ]
            if self.averaging == "log_probability":
                return unrounded(gather_within(together, places) - log_sum, mean(lost))
            shifted = [
                unrounded(rough - total, taken) for rough, total, taken in zip(chosen, log_sums, lost, strict=True)
            ]
            return averaged(shifted, self.averaging)

        impossible: tuple[int, ...] = IMPOSSIBLE_PIECES
        if ops.is_numpy(together) and outputs[0] is None:  # the array is used here alone
            for piece in impossible:
                together[:, piece] = search.IMPOSSIBLE
            impossible = ()
        rounded = any(model.compute_dtype != "float32" for model in self.models) and rounds_products()
        return search.Distribution(together, log_sum, sharp if rounded else None, impossible)
