"""What people look at: pages and figures of solutions, frontiers, trainings and sweeps.

A page is one HTML file: `html` makes it from plain data, the `page_*` files from results, and `saved_pages` from a
saved folder. To add a kind of page, write a file and add a line to `saved_pages.PAGES`. Figures are drawn in the style of
`figures`; `saved_figures` draws those of a saved folder.
"""

from painless.report.comparison_figure import comparison_figure
from painless.report.figures import grid_map, learning_curves, save_figure
from painless.report.frontier_figure import frontier_figure

__all__ = ["comparison_figure", "frontier_figure", "grid_map", "learning_curves", "save_figure"]
