"""What a training looks like while it runs: history.png, and a page with curves and sample translations over time."""

from nmt.drawing.training_view.charts import Chart, Curve, charts_of, measure_title
from nmt.drawing.training_view.history_picture import draw_history
from nmt.drawing.training_view.page import TrainingPage, training_page

__all__ = ["Chart", "Curve", "TrainingPage", "charts_of", "draw_history", "measure_title", "training_page"]
