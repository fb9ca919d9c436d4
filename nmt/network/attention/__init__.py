"""The attention family: scores, windows, pooling and multi-head attention, built from the same parts.

A score compares a query with each key and gives an energy per position. A masked softmax turns the energies into
attention weights. The context vector is the sum of the values, weighted by attention. Mechanisms differ in the score
and in the window, which limits the positions that a query may attend to.
"""

from nmt.network.attention.context import context_vectors
from nmt.network.attention.layer import Attention
from nmt.network.attention.masked_softmax import MASKED_ENERGY, masked_softmax
from nmt.network.attention.multi_head import KeysValues, MultiHeadAttention, causal_mask
from nmt.network.attention.pooling import FixedQueryPooling, average_pooling, max_pooling
from nmt.network.attention.scores import SCORES, Score, inner_products, register_score
from nmt.network.attention.windows import WINDOWS, Window, WindowInputs

__all__ = [
    "MASKED_ENERGY",
    "SCORES",
    "WINDOWS",
    "Attention",
    "FixedQueryPooling",
    "KeysValues",
    "MultiHeadAttention",
    "Score",
    "Window",
    "WindowInputs",
    "average_pooling",
    "causal_mask",
    "context_vectors",
    "inner_products",
    "masked_softmax",
    "max_pooling",
    "register_score",
]
