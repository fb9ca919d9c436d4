"""A training step: gradients, of parts of a batch side by side, and the update."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any

import keras
import numpy as np

from nmt.backend import Tensor
from nmt.backend.compiling import snapshot
from nmt.backend.gather_scatter import scatter_add
from nmt.backend.machine import batches_at_once
from nmt.batches.arrays import Batch, GuidedBatch
from nmt.network.losses.label_smoothing import count_tokens
from nmt.network.model import Seq2Seq
from nmt.text.pieces import PAD

Inputs = Sequence[Any]
"""The tensors of a `Batch`, or of a `GuidedBatch` and the weight of its guidance."""


def _parts(inputs: Inputs, count: int) -> list[list[Any]]:
    """A batch in parts of as many sentences each, give or take one. Padding that a part does not need is cut off."""
    if count == 1:
        return [list(inputs)]
    rows, parts = keras.ops.shape(inputs[0])[0], []
    for index in range(count):
        own = slice(rows * index // count, rows * (index + 1) // count)
        source, target_in, target_out, *guide = inputs
        positions, steps = (slice(_longest(ids[own])) for ids in (source, target_out))
        if guide:
            links, weight = guide
            guide = [links[own, steps, positions], weight]
        parts.append([source[own, positions], target_in[own, steps], target_out[own, steps], *guide])
    return parts


def _longest(ids: Any) -> Any:
    """Of rows that end in padding the greatest length without it, int32; at least 1, also of no rows."""
    return keras.ops.max(keras.ops.sum(keras.ops.cast(ids != PAD, "int32"), axis=1), initial=1)


def _sum(gradient: Any, other: Any) -> Any:
    """The sum of a dense gradient and another one. Where that is one of rows, only these are gone over: TensorFlow
    would make a whole table of each lookup's."""
    import tensorflow as tf

    if isinstance(other, tf.IndexedSlices):
        return scatter_add(gradient, other.indices, other.values)
    return gradient + other


class TrainStep:
    """One optimizer step on a batch, compiled: model.loss, its gradient, and the update.

    Args:
        model: built model whose variables the step changes.
        optimizer: built Keras optimizer; a loss-scaling one scales the loss.
        smoothing: of the labels.
        slices: of the output layer and its loss, see `losses.output_loss`.
    """

    def __init__(
        self, model: Seq2Seq, optimizer: keras.optimizers.Optimizer, smoothing: float, slices: int = 1
    ) -> None:
        self.model, self.optimizer, self.smoothing = model, optimizer, smoothing
        self.slices = -(-slices // batches_at_once())  # of each part, and a part is a slice of the batch already

    def __call__(self, batch: Batch) -> Tensor:
        """Updates the model.

        Returns:
            The mean loss of the batch's tokens in nats, a scalar tensor. Converting it by `float` waits for the device.
        """
        return self._plain(*batch)[0]

    def guided(self, batch: GuidedBatch, weight: float) -> tuple[Tensor, Tensor]:
        """Updates the model by the loss of the translation plus `weight` times the loss of the attention.

        Returns:
            The mean loss of the batch's tokens, and of its linked steps, in nats; scalar tensors.
        """
        translation, attention = self._guided(*batch, np.float32(weight))
        return translation, attention

    @cached_property
    def _plain(self) -> Callable[..., Any]:
        return self._compiled(self._loss, guided=False)

    @cached_property
    def _guided(self) -> Callable[..., Any]:
        return self._compiled(self._guided_loss, guided=True)

    def _compiled(self, losses: Callable[..., Any], guided: bool) -> Callable[..., Any]:
        """The step as one program; `losses` gives what is minimised, and what is told."""
        return self._tensorflow(losses, guided) if keras.backend.backend() == "tensorflow" else self._jax(losses)

    def _loss(self, part: Inputs, whole: Inputs, kernel: Any = None) -> tuple[Any, tuple[Any, ...]]:
        """The share of a part of a batch in the mean loss of its tokens; `kernel` as in `Seq2Seq.total_loss`."""
        source, target_in, target_out = part
        total = self.model.total_loss(source, target_in, target_out, self.smoothing, self.slices, kernel)
        loss = total / count_tokens(whole[2])
        return loss, (loss,)

    def _guided_loss(self, part: Inputs, whole: Inputs, kernel: Any = None) -> tuple[Any, tuple[Any, ...]]:
        source, target_in, target_out, links, weight = part
        total, guided = self.model.guided_loss(
            source, target_in, target_out, links, self.smoothing, self.slices, kernel
        )
        # Rows sum to one or to zero: the sum of all is the number of linked steps.
        attention = guided / keras.ops.maximum(keras.ops.sum(whole[3]), 1.0)
        translation = total / count_tokens(whole[2])
        return translation + weight * attention, (translation, attention)

    def gradients(self, losses: Callable[..., Any], inputs: Inputs) -> tuple[Any, list[Any]]:
        """On TensorFlow: what `losses` tells of a batch, and the gradient of what it minimises by each weight."""
        import tensorflow as tf

        model, variables = self.model, self.model.trainable_variables
        with snapshot(variables) as scope, tf.GradientTape() as tape:
            weights = [scope.get_current_value(variable) for variable in variables]
            kernel = tf.identity(model.output_weights())  # apart from the embedding that it may be
            tape.watch([*weights, kernel])
            # Independent of each other up to the sum, so TensorFlow computes them at once.
            found = [losses(part, inputs, kernel) for part in _parts(inputs, batches_at_once())]
            loss, told = tf.nest.map_structure(lambda *values: tf.add_n(values), *found)
            scaled = self.optimizer.scale_loss(loss)
        for variable in model.non_trainable_variables:  # the state of what was drawn
            if (value := scope.get_current_value(variable)) is not None:
                variable.assign(value)
        by = [*weights, kernel]
        *found, by_kernel = tape.gradient(scaled, by, unconnected_gradients=tf.UnconnectedGradients.ZERO)
        (place,) = (place for place, variable in enumerate(variables) if variable is model.output_variable)
        found[place] = _sum(by_kernel, found[place])
        # Those of embeddings are dense from here on: clipping and Adam would each make them so for themselves.
        return told, [tf.convert_to_tensor(gradient) for gradient in found]

    def _tensorflow(self, losses: Callable[..., Any], guided: bool) -> Callable[..., Any]:
        import tensorflow as tf

        def step(*inputs: Any) -> Any:
            told, gradients = self.gradients(losses, inputs)
            self.optimizer.apply(gradients, self.model.trainable_variables)
            return told

        signature = [tf.TensorSpec([None, None], tf.int32)] * 3
        if guided:
            signature += [tf.TensorSpec([None, None, None], tf.float32), tf.TensorSpec([], tf.float32)]
        return tf.function(step, input_signature=signature, autograph=False)

    def _jax(self, losses: Callable[..., Any]) -> Callable[..., Any]:
        import jax

        model, optimizer = self.model, self.optimizer

        def scaled_loss(trainable: Any, fixed: Any, optimizer_values: Any, *inputs: Any) -> Any:
            variables = [*model.trainable_variables, *model.non_trainable_variables, *optimizer.variables]
            mapping = zip(variables, [*trainable, *fixed, *optimizer_values], strict=True)
            with keras.StatelessScope(state_mapping=list(mapping)) as scope:
                loss, told = losses(inputs, inputs)
                scaled = optimizer.scale_loss(loss)
            return scaled, (told, [scope.get_current_value(v) for v in model.non_trainable_variables])

        @partial(jax.jit, donate_argnums=(0, 1, 2))  # new values replace the old ones in place
        def step(trainable: Any, fixed: Any, optimizer_values: Any, *inputs: Any) -> Any:
            gradient = jax.value_and_grad(scaled_loss, has_aux=True)
            (_, (told, fixed)), gradients = gradient(trainable, fixed, optimizer_values, *inputs)
            trainable, optimizer_values = optimizer.stateless_apply(optimizer_values, gradients, trainable)
            return told, (trainable, fixed, optimizer_values)

        def update(*inputs: Any) -> Any:
            groups = (model.trainable_variables, model.non_trainable_variables, optimizer.variables)
            told, values = step(*([v.value for v in group] for group in groups), *inputs)
            for group, new in zip(groups, values, strict=True):
                for variable, value in zip(group, new, strict=True):
                    variable.assign(value)
            return told

        return update
