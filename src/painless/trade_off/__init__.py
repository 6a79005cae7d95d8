"""What `frontier` and `frontier_surface` return, and their files."""

from painless.trade_off.curve import Frontier, Point

__all__ = ["Frontier", "Point"]
