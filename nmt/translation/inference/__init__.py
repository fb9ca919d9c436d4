"""Batches of ids through the compiled search and the compiled forward pass, for validation and translator alike.

Several models together are an ensemble: at each step their distributions are averaged.
"""

from nmt.batches.windows import windows
from nmt.translation.inference.core import Inference
from nmt.translation.inference.distributions import Averaging, averaged
from nmt.translation.inference.questions import Demand, Hypothesis, longest_translations

__all__ = ["Averaging", "Demand", "Hypothesis", "Inference", "averaged", "longest_translations", "windows"]
