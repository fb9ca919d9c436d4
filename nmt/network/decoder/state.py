"""The inputs and the state of a step of a recurrent decoder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from nmt.backend import Tensor
from nmt.network.recurrence.deferred_gradient import DeferredGradientKernel


class Source(NamedTuple):
    """An encoded source sentence as the decoder reads it, the same at every step."""

    memory: Tensor
    """[batch, positions, memory width]."""
    keys: Tensor
    """Keys of the attention, [batch, positions, key width]. Without attention: the encoder's final state, float32
    [batch, width]."""
    mask: Tensor
    """Boolean [batch, positions], true at real positions."""
    words: Tensor | tuple[()] = ()
    """Embeddings of the source pieces, [batch, positions, embedding]; () if the read-out does not use them."""


class LoopConstants(NamedTuple):
    """Inputs that stay the same at all steps of a teacher-forced sentence. A step of search has none of them."""

    state_mask: Tensor | None = None
    """Dropout factors of the state as the recurrence reads it, float32 [batch, units]; None: no dropout."""
    context_mask: Tensor | None = None
    """Dropout factors of the context vector as the recurrence reads it, float32 [batch, width]; None: no dropout.
    Luong's decoder applies them to its attentional vector."""
    seeds: Tensor | None = None
    """Seed of each sentence's noise, uint32 [batch], for attention that samples; None: no noise."""
    kernels: Mapping[str, DeferredGradientKernel] = {}
    """Kernels whose gradients are formed outside the loop: `state_kernel`, `context_kernel`, `query_projection` and
    `memory`."""


NO_CONSTANTS = LoopConstants()


class InputProjection(NamedTuple):
    """The contribution of the previous target piece to a step. It does not depend on the state, so it is computed for
    all steps at once.

    The last three fields also connect the backward pass of the loop to kernels whose gradients are formed outside it.
    """

    gates: Tensor
    """Addend of the cell's gates, float32 [..., gates x units]."""
    query: Tensor | None = None
    """Addend of the projected query, float32 [..., attention width]; None: no addend."""
    candidate_bias: Tensor | None = None
    """Bias of a GRU's candidate for each step, float32 [..., units]; None: the decoder's `state_bias`."""
    context: Tensor | None = None
    """Zeros that are added to the context vector, float32 [..., memory width]; None: no addend. Their gradient is the
    gradient by the context vectors, which gives the gradient by the memory."""


class DecoderState(NamedTuple):
    """The state after one step. Search reorders it along the batch and reads `weights`. A part that a decoder does not
    have is ()."""

    hidden: Tensor
    """State s_i of the cell, float32 [batch, units]."""
    context: Tensor
    """Context vector c_i of this step, float32 [batch, memory width]."""
    weights: Tensor
    """Attention weights alpha_ij of this step, float32 [batch, positions]."""
    cell: Tensor | tuple[()] = ()
    """Cell state of an LSTM, float32 [batch, units]."""
    attentional: Tensor | tuple[()] = ()
    """Luong's attentional vector, which the next step reads (input feeding), float32 [batch, readout units]."""
    time: Tensor | tuple[()] = ()
    """Number of completed steps, int32 [batch]; for windows that need it and for noise."""
    coverage: Tensor | tuple[()] = ()
    """Sum of the attention weights of all completed steps, float32 [batch, positions]; for attention with coverage."""
