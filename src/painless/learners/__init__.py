"""Online learners: pure `init` and `update` over a small state. They maximise gains, and know nothing of MDPs.

`base` has the interface. To add a learner, write a file; an algorithm that plays it has a line in `painless.loop.algorithms`.
"""

from painless.learners.base import Learner, LearnerState
from painless.learners.cocob import Cocob, CocobState, Winnings
from painless.learners.coin_betting import LOG_FLOOR, CoinBetting, CoinBettingState, coin_betting_regret
from painless.learners.decaying import Decaying, DecayingState
from painless.learners.exponentiated_gradient import ExponentiatedGradient, ExponentiatedGradientState
from painless.learners.extrapolated import Extrapolated, ExtrapolatedState
from painless.learners.half_line import HalfLine
from painless.learners.nu_pi import NuPI, NuPIState
from painless.learners.optimistic_gradient import OptimisticGradient, OptimisticState
from painless.learners.optimistic_hedge import OptimisticHedge, OptimisticHedgeState
from painless.learners.optimistic_projection import OptimisticProjection, OptimisticProjectionState
from painless.learners.projected_gradient import ProjectedGradient, ProjectedGradientState
from painless.learners.regret_matching import RegretMatching, RegretMatchingState, regret_matching_regret
from painless.learners.regularised_gradient import RegularisedGradient
from painless.learners.scale_free_gradient import (
    ScaleFreeGradient,
    ScaleFreeGradientState,
    gradient_regret,
)
from painless.learners.sigmoid_betting import SigmoidBetting, SigmoidBettingState, sigmoid_betting_regret

__all__ = [
    "LOG_FLOOR",
    "Cocob",
    "CocobState",
    "CoinBetting",
    "CoinBettingState",
    "Decaying",
    "DecayingState",
    "ExponentiatedGradient",
    "ExponentiatedGradientState",
    "Extrapolated",
    "ExtrapolatedState",
    "HalfLine",
    "Learner",
    "LearnerState",
    "NuPI",
    "NuPIState",
    "OptimisticGradient",
    "OptimisticHedge",
    "OptimisticHedgeState",
    "OptimisticProjection",
    "OptimisticProjectionState",
    "OptimisticState",
    "ProjectedGradient",
    "ProjectedGradientState",
    "RegretMatching",
    "RegretMatchingState",
    "RegularisedGradient",
    "ScaleFreeGradient",
    "ScaleFreeGradientState",
    "SigmoidBetting",
    "SigmoidBettingState",
    "Winnings",
    "coin_betting_regret",
    "gradient_regret",
    "regret_matching_regret",
    "sigmoid_betting_regret",
]
