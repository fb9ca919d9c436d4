"""One step of an LSTM, and an LSTM over a whole sequence with its backward pass written out."""

from __future__ import annotations

from typing import Any, NamedTuple

from keras import ops

from nmt.backend import Tensor
from nmt.backend.gradients import with_gradient
from nmt.backend.loops import scan
from nmt.network.recurrence.deferred_gradient import DeferredGradientKernel
from nmt.network.recurrence.states import previous_states


class _Step(NamedTuple):
    """Hidden state, cell state and gates of one step, each float32 [batch, units]."""

    hidden: Tensor
    cell: Tensor
    input_gate: Tensor
    forget_gate: Tensor
    candidate: Tensor
    output_gate: Tensor


class _Derivatives(NamedTuple):
    """Derivatives of one step, or of all steps, that the backward pass multiplies by."""

    gates: Tensor
    """By the four gates before their nonlinearities, [..., 4 units]: of the cell state by the first three, of the
    hidden state by the last."""
    hidden_by_cell: Tensor
    """Of the hidden state by the cell state."""
    cell_by_previous: Tensor
    """Of the cell state by the previous one."""


class _Gradients(NamedTuple):
    """Gradients of the loss by a step's gates and by the cell state before the step, float32."""

    gates: Tensor
    cell: Tensor


def _lstm_step(gates: Tensor, cell: Tensor) -> _Step:
    input_gate, forget_gate, candidate, output_gate = ops.split(gates, 4, axis=-1)
    input_gate, forget_gate = ops.sigmoid(input_gate), ops.sigmoid(forget_gate)
    candidate, output_gate = ops.tanh(candidate), ops.sigmoid(output_gate)
    cell = forget_gate * cell + input_gate * candidate
    return _Step(output_gate * ops.tanh(cell), cell, input_gate, forget_gate, candidate, output_gate)


def _derivatives(step: _Step, previous_cell: Tensor) -> _Derivatives:
    _, cell, input_gate, forget_gate, candidate, output_gate = step
    activated = ops.tanh(cell)
    gates = [
        candidate * input_gate * (1 - input_gate),
        previous_cell * forget_gate * (1 - forget_gate),
        input_gate * (1 - candidate * candidate),
        activated * output_gate * (1 - output_gate),
    ]
    return _Derivatives(ops.concatenate(gates, axis=-1), output_gate * (1 - activated * activated), forget_gate)


def _backward_step(by_hidden: Tensor, by_cell: Tensor, derivatives: _Derivatives) -> _Gradients:
    """Gradients through one step, from the gradients by its hidden state and its cell state."""
    by_cell = by_cell + by_hidden * derivatives.hidden_by_cell
    by_gates = ops.concatenate([by_cell, by_cell, by_cell, by_hidden], axis=-1) * derivatives.gates
    return _Gradients(by_gates, by_cell * derivatives.cell_by_previous)


def lstm(gates: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
    """Hidden state and cell state after one step of an LSTM (Hochreiter and Schmidhuber 1997, with forget gates).

    The gradient is written out, because TensorFlow's own compares the shapes of operands at each step.

    Args:
        gates: input gate, forget gate, candidate and output gate before their nonlinearities, [batch, 4 units].
        cell: cell state before the step, [batch, units].
    """

    def forward(gates: Tensor, cell: Tensor) -> tuple[tuple[Tensor, Tensor], Any]:
        step = _lstm_step(gates, cell)

        def gradient(by_hidden: Tensor, by_cell: Tensor) -> tuple[Tensor, ...]:
            return tuple(_backward_step(by_hidden, by_cell, _derivatives(step, cell)))

        return (step.hidden, step.cell), gradient

    return with_gradient(forward, gates, cell)


def lstm_states(inputs: Tensor, kernel: Tensor, dtype: str) -> Tensor:
    """All hidden states of an LSTM that starts from zeros.

    The backward pass is written out (Werbos 1990). The derivatives of all gates and the kernel's gradient are computed
    for all steps at once. One step of the backward pass is then one product and five small operations.

    Args:
        inputs: the inputs' shares in input gate, forget gate, candidate and output gate, float32 [steps, batch, 4
            units].
        kernel: recurrent kernel, which multiplies states, [units, 4 units].
        dtype: type of the products' factors.

    Returns:
        float32 [steps, batch, units].
    """

    def forward(inputs: Tensor, kernel: Tensor) -> tuple[Tensor, Any]:
        recurrent = DeferredGradientKernel(kernel, dtype)
        zeros = ops.zeros((ops.shape(inputs)[1], kernel.shape[0]))

        def step(state: _Step, gates: Tensor) -> _Step:
            return _lstm_step(gates + recurrent.product(state.hidden), state.cell)

        steps = scan(step, _Step(*[zeros] * 6), inputs)

        def gradient(upstream: Tensor) -> tuple[Tensor, Tensor]:
            def backward(later: _Gradients, step: tuple[Tensor, _Derivatives]) -> _Gradients:
                by_hidden, derivatives = step
                return _backward_step(by_hidden + recurrent.transposed_product(later.gates), later.cell, derivatives)

            derivatives = _derivatives(steps, previous_states(steps.cell, zeros))
            end = _Gradients(ops.zeros_like(inputs[0]), zeros)
            by_gates = scan(backward, end, (upstream, derivatives), output=lambda state: state.gates, reverse=True)
            # The state before the first step is zero, so the first step adds nothing to the kernel's gradient.
            return by_gates, recurrent.summed_outer_products(steps.hidden[:-1], by_gates[1:])

        return steps.hidden, gradient

    return with_gradient(forward, inputs, kernel)
