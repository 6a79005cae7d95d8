"""Pictures of solutions and runs."""

from painless.report.figures import grid_map, learning_curves, save_figure
from painless.report.frontier_figure import frontier_figure

__all__ = ["frontier_figure", "grid_map", "learning_curves", "save_figure"]
