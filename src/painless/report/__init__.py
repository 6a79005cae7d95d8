"""Pictures of solutions and runs."""

from painless.report.comparison_figure import comparison_figure
from painless.report.figures import grid_map, learning_curves, save_figure
from painless.report.frontier_figure import frontier_figure

__all__ = ["comparison_figure", "frontier_figure", "grid_map", "learning_curves", "save_figure"]
