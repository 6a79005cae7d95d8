"""Frontiers: the best value for every limit of a constraint, and for pairs of limits.

`frontier` computes one, `curve` is what it returns, `surface` samples two limits; `json_data` and `storage` write them.
"""

from painless.frontiers.curve import Frontier, FrontierPoint

__all__ = ["Frontier", "FrontierPoint"]
