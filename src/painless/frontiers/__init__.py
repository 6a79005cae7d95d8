"""What `frontier` and `frontier_surface` return, and their files."""

from painless.frontiers.curve import Frontier, FrontierPoint

__all__ = ["Frontier", "FrontierPoint"]
