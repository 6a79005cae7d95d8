"""The algorithms, the paper's, PRM and the collection, as presets of learners and duals.

A preset is data. `build` makes the learner and the dual for one situation: a problem in normalised units,
its multiplier bounds and the horizon. Combine other pieces with `PrimalDual`. `ALGORITHMS` lists them by name; to add
one, write a class and add a line there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from difflib import get_close_matches
from typing import Any, ClassVar, TypeVar

import numpy as np

from painless.common import arguments, registry
from painless.common.arguments import as_floats
from painless.common.arrays import Array, Setting
from painless.common.errors import InputError, shown
from painless.duals import Alternating, Dual, Lagrangian, Switching
from painless.learners import (
    LOG_FLOOR,
    Cocob,
    CoinBetting,
    Decaying,
    ExponentiatedGradient,
    Learner,
    ProjectedGradient,
    RegretMatching,
    ScaleFreeGradient,
    SigmoidBetting,
)
from painless.loop.collection import (
    NPGPD,
    OPGPD,
    RPGPD,
    AugmentedLagrangianMethod,
    DualVaidya,
    FlexDOME,
    LogBarrierMethod,
    NuPILagrangian,
    PIDLagrangian,
    ReLOAD,
)
from painless.loop.situation import Algorithm as Algorithm
from painless.loop.situation import Pieces, require_entropy, require_positive
from painless.loop.situation import Situation as Situation
from painless.planning import PLANNERS


@dataclass(frozen=True)
class CBP:
    """Coin-Betting Politex: coin betting for the policy, COCOB for the multipliers. Nothing to tune.

    Arguments:
        alpha: COCOB's α; above 2, larger values slow the first steps of the multipliers. On the gridworld the average gap
            after 1500 iterations is at most 0.022 for α from 1 to 500. It matters more if a constraint is expensive: on the
            Garnet of the gallery the average violation after 500 iterations is 0.021 for α = 1, 0.029 for 8 and 0.29 for
            500. None selects the sigmoid bettor of the paper's theory.
        entropy: ν ≥ 0, the strength of entropy regularisation, in units of the reward's span.

    >>> CBP(), CBP.theoretical()
    (CBP(alpha=8.0, entropy=0.0), CBP(alpha=None, entropy=0.0))
    """

    alpha: Setting | None = 8.0
    entropy: Setting = 0.0

    @classmethod
    def theoretical(cls, entropy: Setting = 0.0) -> CBP:
        """Return CBP with the dual of the paper's analysis (eq. cb-dual)."""
        return cls(None, entropy)

    @property
    def name(self) -> str:
        """The name in tables and files."""
        return "cbp-theory" if self.alpha is None else "cbp"

    def build(self, situation: Situation) -> Pieces:
        """Return the learner and the dual."""
        learner: Learner[Any]
        if self.alpha is None:
            learner = SigmoidBetting(situation.shortfall_bound)
        else:
            require_positive("alpha", self.alpha)
            learner = Cocob(self.alpha)
        require_entropy(self.entropy)
        normaliser = situation.normaliser - LOG_FLOOR * self.entropy
        primal = CoinBetting(normaliser, situation.iterations, self.entropy)
        return primal, Lagrangian(learner, situation.multiplier_bound)


@dataclass(frozen=True)
class PRM:
    """Predictive regret matching⁺ for the policy, scale-free gradient ascent for the multipliers. Nothing to tune.

    The default algorithm of `solve` with `iterations`. The multipliers start at 1, react to each shortfall before the policy
    moves, and need no bound U; the policy needs no normaliser. `painless score` compares it with tuned baselines. In `train`,
    where values come from episodes, it makes no predictions, which would follow the noise of the latest ones.

    Arguments:
        growth: k; the n-th iterate has the weight n^k in the policy's update.

    >>> PRM()
    PRM(growth=1.0)
    """

    name: ClassVar[str] = "prm"
    growth: Setting = 1.0

    def build(self, situation: Situation) -> Pieces:
        """Return the learner and the dual."""
        values = as_floats("growth", self.growth)
        if not (np.isfinite(values) & (values >= 0)).all():
            raise InputError(f"growth is {self.growth}; it must be a number of at least 0")
        learner = RegretMatching(self.growth, predictive=not situation.simulated)
        return learner, Alternating(ScaleFreeGradient(), start=1.0)


@dataclass(frozen=True)
class GDA:
    """Gradient descent-ascent (Ding et al. 2020): exponentiated gradient against projected gradient.

    Arguments:
        policy_rate: η₁, the policy's step size. None for both is the paper's theoretical choice.
        multiplier_rate: η₂, the multipliers' step size.
        entropy: ν ≥ 0, the strength of entropy regularisation, in units of the reward's span.
    """

    policy_rate: Setting | None = 1.0
    multiplier_rate: Setting | None = 0.1
    entropy: Setting = 0.0

    @classmethod
    def theoretical(cls, entropy: Setting = 0.0) -> GDA:
        """Return GDA with the constant steps of its analysis; they need a known horizon."""
        return cls(None, None, entropy)

    @property
    def name(self) -> str:
        """The name in tables and files."""
        return "gda-theory" if self.policy_rate is None else "gda"

    def build(self, situation: Situation) -> Pieces:
        """Return the learner and the dual."""
        policy_rate: Setting
        multiplier_rate: Setting
        if self.policy_rate is None or self.multiplier_rate is None:
            policy_rate, multiplier_rate = theoretical_rates(situation)
        else:
            require_positive("policy_rate", self.policy_rate)
            require_positive("multiplier_rate", self.multiplier_rate)
            policy_rate, multiplier_rate = self.policy_rate, self.multiplier_rate
        require_entropy(self.entropy, policy_rate)
        dual = Lagrangian(ProjectedGradient(multiplier_rate), situation.multiplier_bound)
        return ExponentiatedGradient(policy_rate, self.entropy), dual


@dataclass(frozen=True)
class PrintedGDA:
    """GDA with the step sizes as the paper prints them: η₁ and η₂ of its theory with √t in place of √T. For study.

    They need no horizon. The analysis that the paper cites is for constant steps, so that its bound says nothing of these.
    """

    name: ClassVar[str] = "gda-printed"

    def build(self, situation: Situation) -> Pieces:
        """Return the learner and the dual."""
        policy_rate, multiplier_rate = theoretical_rates(replace(situation, iterations=1))
        dual = Decaying(ProjectedGradient(multiplier_rate))
        learner = Decaying(ExponentiatedGradient(policy_rate))
        return learner, Lagrangian(dual, situation.multiplier_bound)


def theoretical_rates(situation: Situation) -> tuple[float, Array]:
    """η₁ = √(2 ln A/T)/N and η₂ = U(1−γ)/√T (paper, section 4.2.1, with T for the printed t)."""
    if situation.iterations is None:
        raise InputError("the theoretical rates of GDA need a known horizon; give iterations")
    root = np.sqrt(situation.iterations)
    policy_rate = float(np.sqrt(2 * np.log(situation.actions)) / root / situation.normaliser)
    return policy_rate, (situation.multiplier_bound * situation.step / root)[None]


@dataclass(frozen=True)
class CRPO:
    """Constraint-rectified policy optimisation (Xu et al. 2021): improve the reward, or a violated constraint.

    Arguments:
        rate: the policy's step size.
        tolerance: η, the shortfall that is tolerated, in units of the constraint's span.
        seed: None repairs the first violated constraint; a number is a random seed to choose one.
        entropy: ν ≥ 0, the strength of entropy regularisation, in units of the reward's span.
    """

    name: ClassVar[str] = "crpo"
    rate: Setting = 0.75
    tolerance: Setting = 0.0
    seed: int | None = None
    entropy: Setting = 0.0

    def build(self, situation: Situation) -> Pieces:
        """Return the learner and the dual."""
        del situation
        require_positive("rate", self.rate)
        if not (as_floats("tolerance", self.tolerance) >= 0).all():
            raise InputError(f"tolerance is {self.tolerance}; it must be at least 0")
        for seed in [] if self.seed is None else np.ravel(self.seed).tolist():
            arguments.seed(seed)
        require_entropy(self.entropy, self.rate)
        return ExponentiatedGradient(self.rate, self.entropy), Switching(self.tolerance, self.seed)


@dataclass(frozen=True)
class PrimalDual:
    """Your own algorithm: a learner for the policy and a dual for the constraints, built for a situation.

    >>> from painless.learners import Winnings
    >>> printed = PrimalDual(
    ...     primal=lambda s: CoinBetting(s.normaliser, s.iterations),
    ...     dual=lambda s: Lagrangian(Cocob(8.0, Winnings.PRINTED), s.multiplier_bound),
    ...     name="CBP as printed",
    ... )
    """

    primal: Callable[[Situation], Learner[Any]]
    dual: Callable[[Situation], Dual[Any]]
    name: str = "custom"

    def build(self, situation: Situation) -> Pieces:
        """Return the learner and the dual."""
        return self.primal(situation), self.dual(situation)


# By their names in tables, files and the command line. A setting is a number, or an array with one entry per run of a batch.
ALGORITHMS: dict[str, Callable[..., Algorithm]] = {
    "prm": PRM,
    "cbp": CBP,
    "cbp-theory": CBP.theoretical,
    "gda": GDA,
    "gda-theory": GDA.theoretical,
    "gda-printed": PrintedGDA,
    "crpo": CRPO,
    "npg-pd": NPGPD,
    "pid": PIDLagrangian,
    "nupi": NuPILagrangian,
    "opg-pd": OPGPD,
    "rpg-pd": RPGPD,
    "reload": ReLOAD,
    "augmented-lagrangian": AugmentedLagrangianMethod,
    "log-barrier": LogBarrierMethod,
    "flexdome": FlexDOME,
    "vaidya": DualVaidya,
}


def algorithms_and_planners() -> dict[str, Callable[..., Any]]:
    """Return the algorithms and planners that `solve` takes, by name."""
    return {**ALGORITHMS, **PLANNERS}


def find_algorithm(name: object) -> Callable[..., Algorithm]:
    """Return the class of a registered algorithm; reject planners, which have no iterations."""
    if name in PLANNERS:
        raise InputError(
            f"{name} is a planner, which needs a table and has no iterations; use painless solve"
        )
    return registry.find("algorithm", name, ALGORITHMS)


def is_registered(algorithm: object) -> bool:
    """Whether an algorithm is of a registered class, so that `stack` can combine its settings."""
    return is_dataclass(algorithm) and type(algorithm) in {
        getattr(make, "__self__", make) for make in ALGORITHMS.values()
    }


def require_single(algorithm: Algorithm) -> None:
    """Reject a preset whose settings are arrays, which are for several runs."""
    for name, value in _settings(algorithm).items():
        if np.ndim(value):
            raise InputError(f"{name} is an array; give one number, or several algorithms to solve_batch")


def _settings(algorithm: Any) -> dict[str, Any]:
    if not is_registered(algorithm):
        return {}
    return {field.name: getattr(algorithm, field.name) for field in fields(algorithm)}


def require_algorithm(given: Any) -> Algorithm:
    """Reject objects that are not algorithms, such as names."""
    if not isinstance(given, type) and callable(getattr(given, "build", None)) and hasattr(given, "name"):
        found: Algorithm = given
        return found
    if isinstance(given, type):
        raise InputError(
            f"algorithm is the class {given.__name__}; give an object: painless.{given.__name__}()"
        )
    meant = _meant(given) if isinstance(given, str) else PRM
    raise InputError(f"algorithm is {shown(given)}; give an object, such as painless.{meant.__qualname__}()")


def _meant(name: str) -> Callable[..., Any]:
    """Return the class that a name, of a registry or of a class, probably means."""
    known = algorithms_and_planners()
    known |= {make.__qualname__.lower(): make for make in known.values()}
    near = get_close_matches(name.lower(), known, n=1)
    return known[near[0]] if near else PRM


A = TypeVar("A")


def stack(algorithms: Sequence[A]) -> A:
    """Return one algorithm whose settings are arrays, a row for each of several of the same kind.

    >>> stack([CBP(1.0), CBP(8.0)])
    CBP(alpha=array([1., 8.]), entropy=array([0., 0.]))
    """
    first: Any = algorithms[0]
    if all(one is first for one in algorithms):
        return algorithms[0]
    settings = {field.name: [getattr(one, field.name) for one in algorithms] for field in fields(first)}
    stacked = {
        name: values[0] if values[0] is None else np.array(values) for name, values in settings.items()
    }
    result: A = type(first)(**stacked)
    return result


def kind(algorithm: Any) -> tuple[object, ...]:
    """Return a key that is equal for algorithms which `stack` can put together."""
    if is_registered(algorithm):
        return (type(algorithm), *(value is None for value in _settings(algorithm).values()))
    return (id(algorithm),)
