"""A training step as one compiled program: the loss and its gradient, for parts of a batch at once, and the update."""

from __future__ import annotations

from collections.abc import Callable
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
from nmt.training.batch_parts import Inputs, split_batch
from nmt.training.distribution.replicas import Replicas
from nmt.training.distribution.seeds import common_seed, replica_seed


class TrainStep:
    """One optimizer step on a batch: the loss, its gradient and the update, compiled as one program.

    Args:
        model: a built model; the step updates its variables.
        optimizer: a built Keras optimizer; `LossScaleOptimizer` scales the loss.
        smoothing: label smoothing.
        slices: slices of the output layer and its loss, see `losses.output_loss`.
        replicas: copies of the model that train on parts of the batch; None: one.
    """

    def __init__(
        self,
        model: Seq2Seq,
        optimizer: keras.optimizers.Optimizer,
        smoothing: float,
        slices: int = 1,
        replicas: Replicas | None = None,
    ) -> None:
        self.model, self.optimizer, self.smoothing = model, optimizer, smoothing
        self.replicas = replicas or Replicas()
        self.parts = max(1, batches_at_once() // self.replicas.local)  # of each replica, computed at once
        # Per part, and each part is a slice of the batch already.
        self.slices = -(-slices // (self.parts * self.replicas.count))

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
        """The step as one program.

        Args:
            losses: `_loss` or `_guided_loss`. They return the loss to minimise, and the losses to report.
        """
        if self.replicas.count > 1:
            return self.replicas.program(self, losses, guided)
        return self._tensorflow(losses, guided) if keras.backend.backend() == "tensorflow" else self._jax(losses)

    def _loss(self, part: Inputs, counts: Any, kernel: Any = None) -> tuple[Any, tuple[Any, ...]]:
        """The share of one part of a batch in the mean loss of the batch's tokens.

        Args:
            part: the inputs of the part.
            counts: `divisors` of the whole batch.
            kernel: the kernel of the output layer, as in `Seq2Seq.total_loss`.
        """
        source, target_in, target_out = part
        total = self.model.total_loss(source, target_in, target_out, self.smoothing, self.slices, kernel)
        loss = total / counts[0]
        return loss, (loss,)

    def _guided_loss(self, part: Inputs, counts: Any, kernel: Any = None) -> tuple[Any, tuple[Any, ...]]:
        """`_loss` plus the weighted share of the part in the mean attention loss of the batch's linked steps."""
        source, target_in, target_out, links, weight = part
        total, guided = self.model.guided_loss(
            source, target_in, target_out, links, self.smoothing, self.slices, kernel
        )
        attention = guided / counts[1]
        translation = total / counts[0]
        return translation + weight * attention, (translation, attention)

    def gradients(
        self, losses: Callable[..., Any], inputs: Inputs, counts: Any = None, replica: int = 0
    ) -> tuple[Any, list[Any]]:
        """On TensorFlow: the losses to report, and the gradient of the loss by each trainable variable.

        Args:
            losses: as in `_compiled`.
            inputs: the whole batch, or the rows of a replica.
            counts: `divisors` of the whole batch; None: those of `inputs`.
            replica: number of the replica, which has dropout masks of its own.
        """
        import tensorflow as tf

        model, variables = self.model, self.model.trainable_variables
        counts = divisors(inputs) if counts is None else counts
        seeds = [(each, replica_seed(each.value, replica)) for each in model.non_trainable_variables if replica]
        with snapshot(variables, seeds) as scope, tf.GradientTape() as tape:
            weights = [scope.get_current_value(variable) for variable in variables]
            # A tensor of its own, so that a tied embedding's lookups and the output layer get separate gradients.
            kernel = tf.identity(model.output_weights())
            tape.watch([*weights, kernel])
            # The parts depend on each other only in their sum, so TensorFlow computes them at once.
            by_part = [losses(part, counts, kernel) for part in split_batch(inputs, self.parts)]
            loss, reported = tf.nest.map_structure(lambda *values: tf.add_n(values), *by_part)
            scaled = self.optimizer.scale_loss(loss)
        for variable in model.non_trainable_variables:  # the states of random generators
            if (value := scope.get_current_value(variable)) is not None:
                variable.assign(common_seed(value, replica) if replica else value)
        by = [*weights, kernel]
        *gradients, by_kernel = tape.gradient(scaled, by, unconnected_gradients=tf.UnconnectedGradients.ZERO)
        (index,) = (index for index, variable in enumerate(variables) if variable is model.output_variable)
        gradients[index] = _add_gradients(by_kernel, gradients[index])
        # Dense from here on, because clipping and Adam would each convert the rows of embeddings again.
        return reported, [tf.convert_to_tensor(gradient) for gradient in gradients]

    def _tensorflow(self, losses: Callable[..., Any], guided: bool) -> Callable[..., Any]:
        import tensorflow as tf

        def step(*inputs: Any) -> Any:
            reported, gradients = self.gradients(losses, inputs)
            self.optimizer.apply(gradients, self.model.trainable_variables)
            return reported

        signature = [tf.TensorSpec([None, None], tf.int32)] * 3
        if guided:
            signature += [tf.TensorSpec([None, None, None], tf.float32), tf.TensorSpec([], tf.float32)]
        return tf.function(step, input_signature=signature, autograph=False)

    def _jax(self, losses: Callable[..., Any]) -> Callable[..., Any]:
        import jax

        model, optimizer, scaled_loss = self.model, self.optimizer, self.scaled_loss(losses)

        @partial(jax.jit, donate_argnums=(0, 1, 2))  # new values replace the old ones in place
        def step(trainable: Any, fixed: Any, optimizer_values: Any, *inputs: Any) -> Any:
            gradient = jax.value_and_grad(scaled_loss, has_aux=True)
            (_, (reported, fixed)), gradients = gradient(trainable, fixed, optimizer_values, divisors(inputs), *inputs)
            trainable, optimizer_values = optimizer.stateless_apply(optimizer_values, gradients, trainable)
            return reported, (trainable, fixed, optimizer_values)

        def update(*inputs: Any) -> Any:
            groups = (model.trainable_variables, model.non_trainable_variables, optimizer.variables)
            reported, values = step(*([v.value for v in group] for group in groups), *inputs)
            for group, new in zip(groups, values, strict=True):
                for variable, value in zip(group, new, strict=True):
                    variable.assign(value)
            return reported

        return update

    def scaled_loss(self, losses: Callable[..., Any]) -> Callable[..., Any]:
        """On JAX: the scaled loss as a function of the values of all variables, `divisors` and the batch.

        The function returns, beside the scaled loss, the losses to report and the new states of random generators.
        """
        model, optimizer = self.model, self.optimizer

        def scaled_loss(trainable: Any, fixed: Any, optimizer_values: Any, counts: Any, *inputs: Any) -> Any:
            variables = [*model.trainable_variables, *model.non_trainable_variables, *optimizer.variables]
            mapping = zip(variables, [*trainable, *fixed, *optimizer_values], strict=True)
            with keras.StatelessScope(state_mapping=list(mapping)) as scope:
                loss, reported = losses(inputs, counts)
                scaled = optimizer.scale_loss(loss)
            return scaled, (reported, [scope.get_current_value(v) for v in model.non_trainable_variables])

        return scaled_loss


def divisors(inputs: Inputs) -> tuple[Any, ...]:
    """The divisors of the mean losses of a batch: its target tokens, and its linked steps if it has links."""
    tokens, *links = inputs[2:4]
    # A row of links sums to one if its step has links, else to zero, so the sum counts the linked steps.
    return count_tokens(tokens), *(keras.ops.maximum(keras.ops.sum(each), 1.0) for each in links)


def _add_gradients(dense: Any, other: Any) -> Any:
    """The sum of a dense gradient, and of a dense gradient or one of single rows.

    TensorFlow would convert the gradient of each embedding lookup to the size of the whole table.
    """
    import tensorflow as tf

    if isinstance(other, tf.IndexedSlices):
        return scatter_add(dense, other.indices, other.values)
    return dense + other
