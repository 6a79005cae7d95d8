"""What `frontier` and `frontier_surface` return, and their files."""

from painless.trade_off.curve import Frontier, FrontierPoint

__all__ = ["Frontier", "FrontierPoint"]
