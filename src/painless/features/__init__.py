"""Features of states and actions, and designs over them: which pairs to sample so that least squares predicts the others.

`base` has the interface `FeatureMap`. Policies and linear evaluators see a large or continuous state through it.
"""

from painless.features.base import BinaryFeatures, FeatureMap, feature_matrix, linear_action_value
from painless.features.coreset import Coreset, Single, greedy_coreset
from painless.features.design import Design, design_norm, extrapolation_bound
from painless.features.fourier import Fourier
from painless.features.g_optimal import g_optimal_design
from painless.features.one_hot import OneHot
from painless.features.sklearn import Transformed
from painless.features.tile_coding import TileCoding

__all__ = [
    "BinaryFeatures",
    "Coreset",
    "Design",
    "FeatureMap",
    "Fourier",
    "OneHot",
    "Single",
    "TileCoding",
    "Transformed",
    "design_norm",
    "extrapolation_bound",
    "feature_matrix",
    "g_optimal_design",
    "greedy_coreset",
    "linear_action_value",
]
