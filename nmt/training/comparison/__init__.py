"""Variants of a configuration, trained and measured side by side: same text, same budget, several seeds."""

from nmt.training.comparison.plan import ComparisonError, Plan, Trial, read_plan
from nmt.training.comparison.report import chosen_line, write_report
from nmt.training.comparison.trials import Commands, Outcome, read_outcomes, run_trials, settle_precision, shared_cores

__all__ = [
    "Commands",
    "ComparisonError",
    "Outcome",
    "Plan",
    "Trial",
    "chosen_line",
    "read_outcomes",
    "read_plan",
    "run_trials",
    "settle_precision",
    "shared_cores",
    "write_report",
]
