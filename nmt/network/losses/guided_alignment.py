"""The loss of guided alignment, which trains attention towards given word alignments."""

from __future__ import annotations

from keras import ops

from nmt.backend import Tensor
from nmt.network.losses.label_smoothing import SMALLEST_PROBABILITY


def guided_alignment_losses(weights: Tensor, links: Tensor) -> Tensor:
    """Cross-entropy between links and attention weights, -sum_j links_ij ln(weights_ij).

    Source: Chen et al. 2016, Guided Alignment Training for Topic-Aware Neural Machine Translation, section 3.

    Args:
        weights: attention weights, float32 [..., positions].
        links: same shape; each row sums to one, or is zero for a step without a link.

    Returns:
        float32 [...], in nats; zero for a step without a link.
    """
    return -ops.sum(links * ops.log(ops.maximum(weights, SMALLEST_PROBABILITY)), axis=-1)
