"""The attention family: scores, windows, pooling, many heads; the parts of every mechanism in this package.

Queries ask, keys answer with energies, a masked softmax makes weights of these, and the context vector is the weighted
sum of the values. What differs between mechanisms is the score and the window.
"""

from nmt.network.attention.core import MASKED, by_rows, context_vectors, inner_products, masked_softmax, product_in
from nmt.network.attention.layer import Attention
from nmt.network.attention.multihead import KeysValues, MultiHeadAttention, causal_mask, sinusoids
from nmt.network.attention.pooling import FixedQueryPooling, average_pooling, max_pooling
from nmt.network.attention.scores import SCORES, Score, register_score
from nmt.network.attention.windows import WINDOWS, Moment, Window

__all__ = [
    "MASKED",
    "SCORES",
    "WINDOWS",
    "Attention",
    "FixedQueryPooling",
    "KeysValues",
    "Moment",
    "MultiHeadAttention",
    "Score",
    "Window",
    "average_pooling",
    "causal_mask",
    "by_rows",
    "context_vectors",
    "inner_products",
    "masked_softmax",
    "max_pooling",
    "product_in",
    "register_score",
    "sinusoids",
]
