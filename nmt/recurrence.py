"""What recurrences are made of: the cells, and kernels whose gradients are formed once for all steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
from keras import ops

from nmt.attention import Tensor
from nmt.operations import with_gradient


def gru(inputs: Tensor, recurrent: Tensor, bias: Tensor, hidden: Tensor) -> Tensor:
    """The state after a step of a GRU (Cho et al. 2014), its reset gate applied after the recurrent product, as cuDNN
    does, so that the state is multiplied once.

    Here and in `lstm` the gradient is written out: TensorFlow's asks at each step how shapes were made alike.

    Args:
        inputs, recurrent: shares of input and state in update gate, reset gate and candidate, [batch, 3 units].
        bias: of the state's share in the candidate, [units] or [batch, units].
        hidden: state before, [batch, units].
    """

    def forward(inputs: Tensor, recurrent: Tensor, bias: Tensor, hidden: Tensor) -> tuple[Tensor, Any]:
        input_update, input_reset, input_candidate = ops.split(inputs, 3, axis=-1)
        state_update, state_reset, state_candidate = ops.split(recurrent, 3, axis=-1)
        update, reset = ops.sigmoid(input_update + state_update), ops.sigmoid(input_reset + state_reset)
        seen = state_candidate + bias
        candidate = ops.tanh(input_candidate + reset * seen)

        def gradient(upstream: Tensor) -> tuple[Tensor, ...]:
            by_candidate = upstream * update * (1 - candidate * candidate)
            by_update = upstream * (candidate - hidden) * update * (1 - update)
            by_reset = by_candidate * seen * reset * (1 - reset)
            by_seen = by_candidate * reset
            by_inputs = ops.concatenate([by_update, by_reset, by_candidate], axis=-1)
            by_recurrent = ops.concatenate([by_update, by_reset, by_seen], axis=-1)
            by_bias = by_seen if len(bias.shape) == 2 else ops.sum(by_seen, axis=0)
            return by_inputs, by_recurrent, by_bias, upstream * (1 - update)

        return (1 - update) * hidden + update * candidate, gradient

    return with_gradient(forward, inputs, recurrent, ops.cast(bias, "float32"), hidden)


def lstm(gates: Tensor, carry: Tensor) -> tuple[Tensor, Tensor]:
    """State and carry after a step of an LSTM (Hochreiter and Schmidhuber 1997, with forget gates).

    Args:
        gates: input, forget, candidate and output, [batch, 4 units].
        carry: before, [batch, units].
    """

    def forward(gates: Tensor, carry: Tensor) -> tuple[tuple[Tensor, Tensor], Any]:
        into, keep, new, out = ops.split(gates, 4, axis=-1)
        into, keep, new, out = ops.sigmoid(into), ops.sigmoid(keep), ops.tanh(new), ops.sigmoid(out)
        carried = keep * carry + into * new
        shown = ops.tanh(carried)

        def gradient(by_hidden: Tensor, by_carried: Tensor) -> tuple[Tensor, Tensor]:
            by_carried = by_carried + by_hidden * out * (1 - shown * shown)
            by_gates = [
                by_carried * new * into * (1 - into),
                by_carried * carry * keep * (1 - keep),
                by_carried * into * (1 - new * new),
                by_hidden * shown * out * (1 - out),
            ]
            return ops.concatenate(by_gates, axis=-1), by_carried * keep

        return (out * shown, carried), gradient

    return with_gradient(forward, gates, carry)


class LoopKernel:
    """A kernel as the body of a scan uses it.

    In y_t = share_t + x_t K, where share_t was computed outside of the loop, the gradient by share_t is that by y_t. So
    that of K, the sum over t of x_t^T dy_t, is one product of what was stacked over all steps: `give_gradient` hangs it
    on the shares. Inside the loop K is a constant. Left to TensorFlow, each step of the way back forms a gradient as
    large as the kernel and adds it up in memory, and each step casts the kernel anew. On JAX, whose compiler takes
    constants out of loops, this is a plain kernel.

    The memory that attention sums up at every step is such a kernel too, one for each sentence.

    Args:
        kernel: [inputs, outputs], or [batch, inputs, outputs], another for each row.
        dtype: that products are formed in.
    """

    def __init__(self, kernel: Any, dtype: str) -> None:
        self.kernel = ops.convert_to_tensor(kernel)
        self.apart = keras.backend.backend() == "tensorflow"
        self.constant = ops.cast(ops.stop_gradient(self.kernel) if self.apart else self.kernel, dtype)
        # oneDNN would turn a float32 kernel anew in each step of the way back, which takes half as long as the product.
        self.turned = ops.transpose(self.constant) if self.apart and dtype == "float32" else None
        self.inputs: Tensor | None = None

    def product(self, values: Tensor) -> Tensor:
        """values [batch, inputs] @ kernel, float32 [batch, outputs]."""
        if self.turned is None:
            return self._product(values, self.constant)

        def forward(values: Tensor) -> tuple[Tensor, Callable[[Tensor], Tensor]]:
            return self._product(values, self.constant), lambda upstream: self._product(upstream, self.turned)

        return with_gradient(forward, values)

    @staticmethod
    def _product(values: Tensor, kernel: Tensor) -> Tensor:
        return ops.cast(ops.matmul(ops.cast(values, kernel.dtype), kernel), "float32")

    def give_gradient(
        self, shares: Tensor, of_outputs: Callable[[Tensor], Tensor] = lambda gradient: gradient
    ) -> Tensor:
        """The shares [steps, batch, width] as they are; their gradient gives the kernel its own.

        Args:
            shares: what products with the kernel are added to.
            of_outputs: takes the gradient by the outputs [..., outputs] from that by the shares [..., width].
        """
        if not self.apart:
            return shares

        def forward(shares: Tensor, kernel: Tensor) -> tuple[Tensor, Callable[[Tensor], tuple[Tensor, Tensor]]]:
            def gradient(upstream: Tensor) -> tuple[Tensor, Tensor]:
                # Called on the way back, when the inputs of all steps are known.
                by_outputs = ops.cast(of_outputs(upstream), self.constant.dtype)
                by_kernel = self._outer(ops.cast(self.inputs, self.constant.dtype), by_outputs)
                return upstream, ops.cast(by_kernel, kernel.dtype)

            return shares, gradient

        return ops.custom_gradient(forward)(shares, self.kernel)

    def _outer(self, inputs: Tensor, outputs: Tensor) -> Tensor:
        """Sum over steps of inputs^T outputs, [steps, batch, ...] each, shaped as the kernel."""
        if len(self.kernel.shape) == 3:
            return ops.matmul(ops.transpose(inputs, (1, 2, 0)), ops.transpose(outputs, (1, 0, 2)))
        rows, columns = (ops.reshape(values, (-1, values.shape[-1])) for values in (inputs, outputs))
        return ops.matmul(ops.transpose(rows), columns)

    def saw(self, inputs: Tensor) -> None:
        """Tells what it multiplied, [steps, batch, inputs], after the scan."""
        self.inputs = inputs


def before(states: Tensor, first: Tensor) -> Tensor:
    """Of states after each step, [steps, batch, width], those before each step."""
    return ops.concatenate([first[None], states[:-1]], axis=0)
