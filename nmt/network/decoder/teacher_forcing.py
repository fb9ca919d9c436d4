"""Teacher forcing of a recurrent decoder: one scan over all steps of a target sentence.

The gradients of the kernels inside the scan are formed once for all steps, see `recurrence.deferred_gradient`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from keras import ops

from nmt.backend import Tensor
from nmt.backend.loops import scan
from nmt.network.decoder.state import DecoderState, InputProjection, LoopConstants, Source
from nmt.network.recurrence.deferred_gradient import DeferredGradientKernel
from nmt.network.recurrence.states import previous_states

if TYPE_CHECKING:
    from nmt.network.decoder.recurrent import RecurrentDecoder

Kernels = dict[str, DeferredGradientKernel]


def forced_states(
    decoder: RecurrentDecoder, start: DecoderState, embedded: Tensor, source: Source, constants: LoopConstants
) -> DecoderState:
    """The states after each step of a target sentence.

    Args:
        decoder: the decoder whose `step` is scanned.
        start: state before the first step.
        embedded: embeddings of the previous pieces, [batch, steps, embedding].
        source: encoded source sentence.
        constants: dropout masks and seeds; the kernels are added here.

    Returns:
        States with the leading axes [steps, batch].
    """
    kernels = _deferred_kernels(decoder, source)
    constants = constants._replace(kernels=kernels)
    projections = _input_projections(decoder, ops.transpose(embedded, (1, 0, 2)), kernels)
    present = [values for values in projections if values is not None]

    def step(state: DecoderState, inputs: list[Tensor]) -> DecoderState:
        values = iter(inputs)
        projection = InputProjection(*(None if field is None else next(values) for field in projections))
        return decoder.step(state, projection, source, constants)

    states = scan(step, start, present)
    _record_inputs(decoder, start, states, constants)
    return states


def _deferred_kernels(decoder: RecurrentDecoder, source: Source) -> Kernels:
    """The kernels that the step multiplies by, with deferred gradients."""
    names = [name for name in ("state_kernel", "context_kernel") if hasattr(decoder, name)]
    kernels = {name: DeferredGradientKernel(getattr(decoder, name), decoder.compute_dtype) for name in names}
    if decoder.attention is not None:
        kernels["memory"] = DeferredGradientKernel(source.memory, source.memory.dtype)
        query_kernel = decoder.attention.score.loop_kernel
        if query_kernel is not None:
            kernels["query_projection"] = DeferredGradientKernel(query_kernel, decoder.compute_dtype)
    return kernels


def _input_projections(decoder: RecurrentDecoder, embedded: Tensor, kernels: Kernels) -> InputProjection:
    """`RecurrentDecoder.project_input` of all steps, with the gradients of the kernels attached.

    Args:
        embedded: [steps, batch, embedding].
    """
    projection, units = decoder.project_input(embedded), decoder.units
    gates = projection.gates
    if "memory" in kernels:
        zeros = ops.zeros((*ops.shape(gates)[:2], kernels["memory"].kernel.shape[-1]))
        projection = projection._replace(context=kernels["memory"].attach_gradient(zeros)[0])
    if "query_projection" in kernels:
        query = projection.query
        if query is None:
            query = ops.zeros((*ops.shape(gates)[:2], kernels["query_projection"].kernel.shape[-1]))
        projection = projection._replace(query=kernels["query_projection"].attach_gradient(query)[0])
    if "context_kernel" in kernels:
        gates = kernels["context_kernel"].attach_gradient(gates)[0]
    if decoder.cell == "lstm":
        return projection._replace(gates=kernels["state_kernel"].attach_gradient(gates)[0])
    # A GRU adds the candidate's recurrent product to the bias inside the reset gate, and not to the gates.
    bias = ops.broadcast_to(decoder.state_bias, (*ops.shape(gates)[:2], units))
    gates, bias = kernels["state_kernel"].attach_gradient(
        gates, bias, by_outputs=lambda gates, bias: ops.concatenate([gates[..., : 2 * units], bias], axis=-1)
    )
    return projection._replace(gates=gates, candidate_bias=bias)


def _record_inputs(
    decoder: RecurrentDecoder, start: DecoderState, states: DecoderState, constants: LoopConstants
) -> None:
    """Gives each kernel the values that it multiplied, for its gradient."""
    kernels, hidden = constants.kernels, previous_states(states.hidden, start.hidden)
    kernels["state_kernel"].record_inputs(_masked(hidden, constants.state_mask))
    if "memory" in kernels:
        kernels["memory"].record_inputs(states.weights)
    if "query_projection" in kernels:
        kernels["query_projection"].record_inputs(decoder.queries(start, states))
    if "context_kernel" in kernels:
        inputs = decoder.recurrent_inputs(start, states)
        kernels["context_kernel"].record_inputs(_masked(inputs, constants.context_mask))


def _masked(values: Tensor, mask: Tensor | None) -> Tensor:
    return values if mask is None else values * mask
