"""Label-smoothed cross-entropy over real tokens."""

from __future__ import annotations

from keras import ops

from nmt.attention import Tensor
from nmt.tokenizer import PAD


def token_losses(logits: Tensor, targets: Tensor, smoothing: float = 0.0) -> Tensor:
    """Cross-entropy with the right piece's probability 1 - smoothing + smoothing / V (Szegedy et al. 2016, section 7).

    Args:
        logits: [..., vocabulary]; computed in float32.
        targets: integer [...].
        smoothing: mass spread evenly over the whole vocabulary, the right piece included.

    Returns:
        float32 [...], in nats; zero where the target is padding.
    """
    logits = ops.cast(logits, "float32")
    # The backend's fused cross-entropy: the gradient of a gather over the vocabulary is several times as slow.
    losses = (1 - smoothing) * ops.sparse_categorical_crossentropy(targets, logits, from_logits=True)
    if smoothing:
        losses = losses + smoothing * (ops.logsumexp(logits, axis=-1) - ops.mean(logits, axis=-1))
    return ops.where(targets != PAD, losses, 0.0)


def count_tokens(targets: Tensor) -> Tensor:
    """Number of tokens that are not padding, float32, at least 1."""
    return ops.maximum(ops.sum(ops.cast(targets != PAD, "float32")), 1.0)
