"""Self-contained pages, for the browser and for notebooks; plain data in, HTML out."""

from painless.pages.html import render

__all__ = ["render"]
