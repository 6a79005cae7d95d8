"""Pictures of solutions and runs."""

from painless.report.figures import grid_map, learning_curves, save_figure

__all__ = ["grid_map", "learning_curves", "save_figure"]
