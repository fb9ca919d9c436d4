"""What recurrences are made of: the cells, and kernels whose gradients are formed once for all steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import keras
from keras import ops

from nmt.backend import Tensor
from nmt.backend.arithmetic import batched_matmul
from nmt.backend.gradients import with_gradient
from nmt.backend.loops import scan

ALIASED = 1024
"""Columns of a float32 kernel, or a multiple, whose rows begin 4,096 bytes apart: a processor's first cache has few
places for all of these, and a product of few rows with it takes a fifth longer."""

SPARE = 16
"""Columns more, of zeros, with which it does not."""


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


class _Memory(NamedTuple):
    """State of an LSTM and the gates that made it, each float32 [batch, units]."""

    hidden: Tensor
    carry: Tensor
    into: Tensor
    keep: Tensor
    new: Tensor
    out: Tensor


class _Slopes(NamedTuple):
    """What an LSTM's step has by which gradients go back through it, of one step or of all."""

    gates: Tensor
    """By the four gates: the gradient by the carry goes into three of them, that by the state into the last."""
    carry: Tensor
    """Of the state by the carry."""
    keep: Tensor
    """Of the carry by the one before."""


class _Back(NamedTuple):
    """Gradients by a step's gates and by the carry before it, float32."""

    gates: Tensor
    carry: Tensor


def _lstm_step(gates: Tensor, carry: Tensor) -> _Memory:
    into, keep, new, out = ops.split(gates, 4, axis=-1)
    into, keep, new, out = ops.sigmoid(into), ops.sigmoid(keep), ops.tanh(new), ops.sigmoid(out)
    carry = keep * carry + into * new
    return _Memory(out * ops.tanh(carry), carry, into, keep, new, out)


def _lstm_slopes(memory: _Memory, carry: Tensor) -> _Slopes:
    """From what a step made, and the carry before it."""
    _, carried, into, keep, new, out = memory
    shown = ops.tanh(carried)
    gates = [new * into * (1 - into), carry * keep * (1 - keep), into * (1 - new * new), shown * out * (1 - out)]
    return _Slopes(ops.concatenate(gates, axis=-1), out * (1 - shown * shown), keep)


def _lstm_back(by_hidden: Tensor, by_carry: Tensor, slopes: _Slopes) -> _Back:
    by_carry = by_carry + by_hidden * slopes.carry
    by_gates = ops.concatenate([by_carry, by_carry, by_carry, by_hidden], axis=-1) * slopes.gates
    return _Back(by_gates, by_carry * slopes.keep)


def lstm(gates: Tensor, carry: Tensor) -> tuple[Tensor, Tensor]:
    """State and carry after a step of an LSTM (Hochreiter and Schmidhuber 1997, with forget gates).

    Args:
        gates: input, forget, candidate and output, [batch, 4 units].
        carry: before, [batch, units].
    """

    def forward(gates: Tensor, carry: Tensor) -> tuple[tuple[Tensor, Tensor], Any]:
        memory = _lstm_step(gates, carry)

        def gradient(by_hidden: Tensor, by_carry: Tensor) -> tuple[Tensor, ...]:
            return tuple(_lstm_back(by_hidden, by_carry, _lstm_slopes(memory, carry)))

        return (memory.hidden, memory.carry), gradient

    return with_gradient(forward, gates, carry)


def lstm_states(shares: Tensor, kernel: Tensor, dtype: str) -> Tensor:
    """All states of an LSTM from zeros on.

    Its way back is written out (Werbos 1990): what does not go from step to step, the slopes of the gates and the
    kernel's gradient, is computed for all steps at once, so that a step is a product and five small operations.

    Args:
        shares: of the inputs in input gate, forget gate, candidate and output gate, float32 [steps, batch, 4 units].
        kernel: that multiplies states, [units, 4 units].
        dtype: that products are formed in.

    Returns:
        float32 [steps, batch, units].
    """

    def forward(shares: Tensor, kernel: Tensor) -> tuple[Tensor, Any]:
        multiplied = LoopKernel(kernel, dtype)
        zeros = ops.zeros((ops.shape(shares)[1], kernel.shape[0]))

        def step(state: _Memory, share: Tensor) -> _Memory:
            return _lstm_step(share + multiplied.product(state.hidden), state.carry)

        states = scan(step, _Memory(*[zeros] * 6), shares)

        def gradient(upstream: Tensor) -> tuple[Tensor, Tensor]:
            def back(later: _Back, given: tuple[Tensor, _Slopes]) -> _Back:
                by_hidden, slopes = given
                return _lstm_back(by_hidden + multiplied.product_back(later.gates), later.carry, slopes)

            given = upstream, _lstm_slopes(states, before(states.carry, zeros))
            end = _Back(ops.zeros_like(shares[0]), zeros)
            by_gates = scan(back, end, given, output=lambda back: back.gates, reverse=True)
            return by_gates, multiplied.outer(states.hidden[:-1], by_gates[1:])  # the first step has seen zeros

        return states.hidden, gradient

    return with_gradient(forward, shares, kernel)


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
        self.there, self.turned = self.constant, None
        if self.apart and dtype == "float32":
            # oneDNN would turn a float32 kernel anew in each step of the way back, half as long as the product takes.
            self.there, self.turned = _spread(self.constant), _spread(ops.swapaxes(self.constant, -1, -2))
        self.inputs: Tensor | None = None

    def product(self, values: Tensor) -> Tensor:
        """values [batch, inputs] @ kernel, float32 [batch, outputs]."""
        columns = self.kernel.shape[-1]
        return with_gradient(lambda values: (self._product(values, self.there, columns), self.product_back), values)

    def product_back(self, values: Tensor) -> Tensor:
        """values [batch, outputs] @ kernel^T, float32 [batch, inputs]."""
        columns = self.kernel.shape[-2]
        if self.turned is not None:
            return self._product(values, self.turned, columns)
        return self._product(values, self.constant, columns, turned=True)

    @staticmethod
    def _product(values: Tensor, kernel: Tensor, columns: int | None, turned: bool = False) -> Tensor:
        values = ops.cast(values, kernel.dtype)
        if len(kernel.shape) == 3:
            return ops.cast(ops.squeeze(batched_matmul(values[:, None], kernel, turned), axis=1), "float32")
        product = ops.cast(ops.matmul(values, ops.transpose(kernel) if turned else kernel), "float32")
        return product if product.shape[-1] == columns else product[:, :columns]

    def outer(self, inputs: Tensor, outputs: Tensor) -> Tensor:
        """Sum over steps of inputs^T outputs, [steps, batch, ...] each, shaped as the kernel and of its type."""
        inputs, outputs = (ops.cast(values, self.constant.dtype) for values in (inputs, outputs))
        if len(self.kernel.shape) == 3:
            products = ops.matmul(ops.transpose(inputs, (1, 2, 0)), ops.transpose(outputs, (1, 0, 2)))
        else:
            rows, columns = (ops.reshape(values, (-1, values.shape[-1])) for values in (inputs, outputs))
            products = ops.matmul(ops.transpose(rows), columns)
        return ops.cast(products, self.kernel.dtype)

    def give_gradient(
        self, *shares: Tensor, of_outputs: Callable[..., Tensor] = lambda gradient: gradient
    ) -> tuple[Tensor, ...]:
        """The shares [steps, batch, width] as they are; their gradients give the kernel its own.

        Args:
            shares: what products with the kernel are added to.
            of_outputs: takes the gradient by the outputs [..., outputs] from those by the shares [..., width].
        """
        if not self.apart:
            return shares

        def forward(*values: Tensor) -> tuple[tuple[Tensor, ...], Callable[..., tuple[Tensor, ...]]]:
            *shares, _ = values

            def gradient(*upstream: Tensor) -> tuple[Tensor, ...]:
                # Called on the way back, when the inputs of all steps are known.
                by_outputs = of_outputs(*(ops.cast(values, self.constant.dtype) for values in upstream))
                return *upstream, self.outer(self.inputs, by_outputs)

            return tuple(shares), gradient

        return with_gradient(forward, *shares, self.kernel)

    def saw(self, inputs: Tensor) -> None:
        """Tells what it multiplied, [steps, batch, inputs], after the scan."""
        self.inputs = inputs


def _spread(kernel: Tensor) -> Tensor:
    """A float32 kernel, with spare columns where those that it has would lie badly."""
    if len(kernel.shape) == 3 or kernel.shape[-1] % ALIASED:
        return kernel
    return ops.pad(kernel, ((0, 0), (0, SPARE)))


def before(states: Tensor, first: Tensor) -> Tensor:
    """Of states after each step, [steps, batch, width], those before each step."""
    return ops.concatenate([first[None], states[:-1]], axis=0)
