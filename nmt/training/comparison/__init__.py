"""Trains variants of a configuration and compares them: the same text, the same budget, several seeds."""

from nmt.training.comparison.outcomes import Measured, Outcome, read_outcomes
from nmt.training.comparison.plan import ComparisonError, ComparisonPlan, VariantRun, read_plan
from nmt.training.comparison.report import line_to_draw, write_report
from nmt.training.comparison.running import run_variants, settle_precision

__all__ = [
    "ComparisonError",
    "ComparisonPlan",
    "Measured",
    "Outcome",
    "VariantRun",
    "line_to_draw",
    "read_outcomes",
    "read_plan",
    "run_variants",
    "settle_precision",
    "write_report",
]
