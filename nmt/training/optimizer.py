"""Adam in one operation a weight, with moving averages for short runs."""

from __future__ import annotations

from typing import Any

import keras

AVERAGED_EVERY = 8
"""Updates between two steps of the moving average: a step goes over all weights, and neighbours hardly differ."""

SHARE_OF_RUN = 1 / 20
"""How old the moving average is: what is in it was made, on average, this share of the run ago."""


@keras.saving.register_keras_serializable("nmt")
class Adam(keras.optimizers.Adam):
    """Keras's Adam, with moving averages whose weights are a twentieth of the run old on average, at most.

    Every eighth update's weights enter the average, so that the others need not go over it: the n-th of them with the
    decay min(`ema_momentum`^8, n / (n + 19)). With a decay of n / (n + k) what is averaged is n / (k + 1) steps old on
    average; with a constant one it would be as old after few steps as after many, and a short run has few.
    """

    def _backend_update_step(self, grads: list[Any], trainable_variables: list[Any], learning_rate: Any) -> None:
        """Kingma and Ba (2015), algorithm 1, in the order of section 2's last lines.

        On TensorFlow by its own kernel, which goes through weight, moments and gradient once; as single operations, as
        Keras writes it, they travel between memory and processor several times. What is the same for all weights is
        computed once.
        """
        if keras.backend.backend() != "tensorflow":
            super()._backend_update_step(grads, trainable_variables, learning_rate)
            return
        import tensorflow as tf

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
            place = self._get_variable_index(variable)
            values = (variable.value, self._momentums[place].value, self._velocities[place].value)
            handles = {name: value.handle for name, value in zip(("var", "m", "v"), values, strict=True)}
            tf.raw_ops.ResourceApplyAdam(**handles, **shared, grad=tf.convert_to_tensor(gradient))

    def _clip_gradients(self, grads: list[Any]) -> list[Any]:
        """As Keras does, going over what is not to be clipped once: TensorFlow's norm does not write the squares into
        memory, and a scale of one is not multiplied with."""
        if keras.backend.backend() != "tensorflow" or not self.global_clipnorm:
            return super()._clip_gradients(grads)
        import tensorflow as tf

        norm = tf.linalg.global_norm(grads)

        def clipped() -> list[Any]:
            return tf.clip_by_global_norm(grads, self.global_clipnorm, use_norm=norm)[0]

        # A norm that is no number is not within it either: clipping by it spoils all weights, as Keras's does.
        return tf.cond(norm <= self.global_clipnorm, lambda: grads, clipped)

    def _update_model_variables_moving_average(self, trainable_variables: list[Any]) -> None:
        if not self.use_ema:
            return
        batches = self.gradient_accumulation_steps or 1  # an update
        updates, rest = self._iterations // batches, (self._iterations + 1) % batches
        taken = keras.ops.cast(updates // AVERAGED_EVERY, "float32")
        part = 1 - keras.ops.minimum(self.ema_momentum**AVERAGED_EVERY, taken / (taken + 1 / SHARE_OF_RUN - 1))

        due = keras.ops.logical_and(rest == 0, updates % AVERAGED_EVERY == 0)

        def average(part: Any) -> None:
            for variable, mean in zip(trainable_variables, self._model_variables_moving_average, strict=True):
                mean.assign_sub(part * (mean.value - variable.value))

        if keras.backend.backend() == "tensorflow":
            keras.ops.cond(due, lambda: average(part), lambda: None)
        else:  # where variables are values that are handed on, none can be assigned under a condition
            average(part * keras.ops.cast(due, "float32"))
