"""The loss that pulls attention towards given links."""

from __future__ import annotations

from keras import ops

from nmt.backend import Tensor
from nmt.network.losses.label_smoothing import TINY


def guided_alignment_losses(weights: Tensor, links: Tensor) -> Tensor:
    """Cross-entropy between links and attention weights, -sum_j links_ij ln(weights_ij) (Chen et al. 2016, Guided
    Alignment Training for Topic-Aware Neural Machine Translation, section 3).

    Args:
        weights: attention weights, float32 [..., positions].
        links: the same shape; each row sums to one, or is zero where a step has no link.

    Returns:
        float32 [...], in nats; zero where a step has no link.
    """
    return -ops.sum(links * ops.log(ops.maximum(weights, TINY)), axis=-1)
