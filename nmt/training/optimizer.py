"""Adam with one TensorFlow operation per weight, and with moving averages that suit short runs."""

from __future__ import annotations

from typing import Any

import keras

from nmt.backend.errors import BackendError

AVERAGED_EVERY = 8
"""Updates between two steps of the moving average. Each step reads all weights, and they change little in between."""

SHORT_RUN = 400
"""Updates below which every update enters the moving average, because the weights change much in a short run."""

MEAN_AGE = 1 / 20
"""The highest mean age of the averaged weights, as a share of the run."""


@keras.saving.register_keras_serializable("nmt")
class Adam(keras.optimizers.Adam):
    """Keras's Adam with a faster update, and with moving averages that are never older than a twentieth of the run.

    Only the weights of every eighth update enter the average, so seven of eight updates skip it. The n-th weights enter
    with the decay min(`ema_momentum`^8, n / (n + 19)). In a short run every update enters, with 1 in place of 8. A
    decay of n / (n + k) makes the mean age of the averaged weights n / (k + 1) updates. A constant decay would make it
    equally old after few and after many updates, which is too old for a short run.

    Args:
        averaged_every: updates between two steps of the moving average, from `averaging_interval`.
        summed: whether the caller adds the gradients of all replicas before an update. Keras's Adam would add them
            itself, after each replica has clipped its own.
        options: those of Keras's Adam.

    Raises:
        BackendError: not `summed`, and TensorFlow's strategy has several replicas (in `build` or in the first update).
    """

    def __init__(
        self, learning_rate: Any = 0.001, averaged_every: int = AVERAGED_EVERY, summed: bool = False, **options: Any
    ) -> None:
        super().__init__(learning_rate, **options)
        self.averaged_every, self.summed = averaged_every, summed
        if summed:
            assign_by_replica(self._iterations)

    def get_config(self) -> dict[str, Any]:
        return super().get_config() | {"averaged_every": self.averaged_every, "summed": self.summed}

    def build(self, variables: list[Any]) -> None:
        self._require_sums()
        super().build(variables)

    def _backend_update_step(self, grads: list[Any], trainable_variables: list[Any], learning_rate: Any) -> None:
        """Kingma and Ba (2015), algorithm 1, in the order of the last lines of section 2.

        TensorFlow's own kernel reads and writes weight, moments and gradient once. Keras's single operations move them
        between memory and processor several times. The values that all weights share are computed once.
        """
        if keras.backend.backend() != "tensorflow":
            super()._backend_update_step(grads, trainable_variables, learning_rate)
            return
        import tensorflow as tf

        self._require_sums()
        step = keras.ops.cast(self.iterations + 1, "float32")
        shared = {
            "beta1_power": self.beta_1**step,
            "beta2_power": self.beta_2**step,
            "lr": keras.ops.cast(learning_rate, "float32"),
            "beta1": tf.constant(self.beta_1),
            "beta2": tf.constant(self.beta_2),
            "epsilon": tf.constant(self.epsilon),
        }
        for gradient, variable in zip(grads, trainable_variables, strict=True):
            index = self._get_variable_index(variable)
            values = {"var": variable, "m": self._momentums[index], "v": self._velocities[index]}
            handles = {name: each.value.handle for name, each in values.items()}
            tf.raw_ops.ResourceApplyAdam(**handles, **shared, grad=tf.convert_to_tensor(gradient))

    def _use_weight_decay(self, variable: Any) -> bool:
        """Matrices decay. Biases and the factors of normalisations are few, and would only lose their scale."""
        return len(variable.shape) > 1

    def _apply_weight_decay(self, variables: list[Any]) -> None:
        """Loshchilov and Hutter (2019), algorithm 2: the decay is no part of the gradient, so Adam does not rescale it.

        On TensorFlow each replica changes its own copy of a weight, as in `_backend_update_step`.
        """
        if not self.weight_decay or keras.backend.backend() != "tensorflow":
            super()._apply_weight_decay(variables)
            return
        import tensorflow as tf

        share = keras.ops.cast(self.learning_rate, "float32") * self.weight_decay
        for variable in filter(self._use_weight_decay, variables):
            tf.raw_ops.AssignSubVariableOp(resource=variable.value.handle, value=share * variable.value)

    def _require_sums(self) -> None:
        """Refuses several replicas without sums: the copies of a weight would diverge."""
        if self.summed or keras.backend.backend() != "tensorflow":
            return
        import tensorflow as tf

        if (replicas := tf.distribute.get_strategy().num_replicas_in_sync) > 1:
            raise BackendError(
                f"this Adam does not add gradients, and TensorFlow's strategy has {replicas} replicas: train with "
                "training.devices, or outside of tf.distribute"
            )

    def _backend_increment_gradient_accumulators(self, grads: list[Any], acc_grads: list[Any]) -> None:
        if not self.summed:  # Keras would leave the replica, which TensorFlow refuses under a condition
            super()._backend_increment_gradient_accumulators(grads, acc_grads)
            return
        for gradient, total in zip(grads, acc_grads, strict=True):
            total.assign_add(gradient)

    def _backend_reset_gradient_accumulators(self) -> None:
        if not self.summed:
            super()._backend_reset_gradient_accumulators()
            return
        for total in self._accumulated_gradients:
            total.assign(keras.ops.zeros_like(total))

    def _clip_gradients(self, grads: list[Any]) -> list[Any]:
        """Keras's clipping, which costs less on TensorFlow.

        TensorFlow's norm does not write the squares to memory, and gradients within the norm are not scaled by one.
        """
        if keras.backend.backend() != "tensorflow" or not self.global_clipnorm:
            return super()._clip_gradients(grads)
        import tensorflow as tf

        norm = tf.linalg.global_norm(grads)

        def clipped() -> list[Any]:
            return tf.clip_by_global_norm(grads, self.global_clipnorm, use_norm=norm)[0]

        # A norm of NaN fails the comparison, and clipping by NaN spoils all weights, as it does with Keras's Adam.
        return tf.cond(norm <= self.global_clipnorm, lambda: grads, clipped)

    def _update_model_variables_moving_average(self, trainable_variables: list[Any]) -> None:
        if not self.use_ema:
            return
        batches = self.gradient_accumulation_steps or 1  # per update
        updates, rest = self._iterations // batches, (self._iterations + 1) % batches
        taken = keras.ops.cast(updates // self.averaged_every, "float32")
        share = 1 - keras.ops.minimum(self.ema_momentum**self.averaged_every, taken / (taken + 1 / MEAN_AGE - 1))
        due = keras.ops.logical_and(rest == 0, updates % self.averaged_every == 0)

        def average(share: Any) -> None:
            for variable, mean in zip(trainable_variables, self._model_variables_moving_average, strict=True):
                mean.assign_sub(share * (mean.value - variable.value))

        if keras.backend.backend() == "tensorflow":
            keras.ops.cond(due, lambda: average(share), lambda: None)
        else:  # on JAX variables cannot be assigned under a condition
            average(share * keras.ops.cast(due, "float32"))


def averaging_interval(updates: int) -> int:
    """Updates between two steps of the moving average, in a run of so many updates."""
    return 1 if updates < SHORT_RUN else AVERAGED_EVERY


@keras.saving.register_keras_serializable("nmt")
class LossScaleOptimizer(keras.optimizers.LossScaleOptimizer):
    """Keras's loss scaling for gradients that are already added over TensorFlow's replicas.

    Each replica then finds the same gradients finite or not, and makes the same update.
    """

    def _tf_apply(self, grads: list[Any], trainable_variables: list[Any] | None = None) -> None:
        self._common_apply(grads, trainable_variables)


def assign_by_replica(variable: keras.Variable) -> None:
    """Lets each of TensorFlow's replicas assign its own copy of a variable.

    Keras assigns the first replica's value of a counter to all, which TensorFlow refuses under a condition.
    """
    if hasattr(variable.value, "_aggregation"):  # a copy for each replica
        import tensorflow as tf

        variable.value._aggregation = tf.VariableAggregation.NONE
