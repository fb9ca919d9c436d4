"""The page of the sentences that several systems translate most differently."""

from nmt.drawing.output_comparison.page import ComparedSentence, ComparisonPage, comparison_page

__all__ = ["ComparedSentence", "ComparisonPage", "comparison_page"]
