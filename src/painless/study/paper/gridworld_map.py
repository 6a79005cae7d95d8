"""A map of the gridworld with its optimal policies, from the linear program."""

from __future__ import annotations

from collections.abc import Sequence

from painless.bellman import occupancy
from painless.planning import LinearProgram
from painless.problem import CMDP
from painless.problems.gridworld import A_NEXT, B_NEXT, MOVES, SIDE, A, B, gridworld
from painless.solving.solution import Solution
from painless.solving.solve import solve
from painless.study.paper.experiment import Analysis, Experiment, Table
from painless.study.paper.pictures import GridPanel, Picture
from painless.study.paper.scale import Scale
from painless.study.setting_results import SettingResults
from painless.study.sweep import Sweep

LABELS = {A: "A", A_NEXT: "A'", B: "B", B_NEXT: "B'"}
UNCONSTRAINING = -1.0  # every policy has more


def sweep(scale: Scale) -> Sweep:
    """Return no units at all: a picture of the problem needs no run."""
    del scale
    return Sweep(())


def analyse(settings: Sequence[SettingResults]) -> Analysis:
    """Solve the gridworld with and without its constraint."""
    del settings
    problems = {"without the constraint": gridworld(threshold=UNCONSTRAINING), "V_c ≥ 1.5": gridworld()}
    optima = {name: solve(problem, LinearProgram()) for name, problem in problems.items()}
    titles = ("Without the constraint", "With V_c ≥ 1.5")
    panels = tuple(
        _panel(title, problem, optimum)
        for title, problem, optimum in zip(titles, problems.values(), optima.values(), strict=True)
    )
    picture = Picture(
        "gridworld-map",
        "The gridworld: all actions in A lead to A' with r = 1 and c = 0.1, in B to B' with r = 0.5 and c = 1. Colour is how "
        "often a state is visited, arrows are the optimal policy; where two are shown, it is random.",
        (panels,),
    )
    rows = tuple(
        (name, *(f"{value:.7f}" for value in (one.reward_value, one.constraint_value[0], one.multiplier[0])))
        for name, one in optima.items()
    )
    return Analysis((picture,), (Table("The optimal values, exactly.", ("", "V_r", "V_c", "λ*"), rows),))


def _panel(title: str, problem: CMDP, optimum: Solution) -> GridPanel:
    policy = optimum.policy.probabilities
    return GridPanel(title, occupancy(problem, policy), policy, tuple(MOVES.values()), SIDE, LABELS)


EXPERIMENT = Experiment(
    "gridworld-map",
    "The gridworld",
    "The environment of the paper's appendix C.3, with the optimal policy without and with the constraint.",
    sweep,
    analyse,
)
