"""HTML from templates, which may stand in `report/templates` and build on `base.html`."""

from painless.pages.html import data_block, plain, render

__all__ = ["data_block", "plain", "render"]
