"""A map of the gridworld with its optimal policies, from the linear program."""

from __future__ import annotations

from collections.abc import Sequence

from painless.bellman import occupancy
from painless.experiments.paper.experiment import Analysis, Table
from painless.experiments.paper.pictures import GridPanel, Picture
from painless.experiments.settings import Setting
from painless.planners import LinearProgram
from painless.problem import CMDP
from painless.problems.gridworld import A_NEXT, B_NEXT, MOVES, SIDE, A, B, gridworld
from painless.solve import solve

LABELS = {A: "A", A_NEXT: "A'", B: "B", B_NEXT: "B'"}
UNCONSTRAINING = -1.0  # every policy has more


def analyse(settings: Sequence[Setting]) -> Analysis:
    """Solve the gridworld with and without its constraint."""
    del settings
    free, bound = gridworld(threshold=UNCONSTRAINING), gridworld()
    panels = (_panel("Without the constraint", free), _panel("With V_c ≥ 1.5", bound))
    picture = Picture(
        "gridworld-map",
        "The gridworld: all actions in A lead to A' with r = 1 and c = 0.1, in B to B' with r = 0.5 and c = 1. Colour is how "
        "often a state is visited, arrows are the optimal policy; where two are shown, it is random.",
        (panels,),
    )
    return Analysis((picture,), (_table(free, bound),))


def _panel(title: str, problem: CMDP) -> GridPanel:
    policy = solve(problem, LinearProgram()).policy.probabilities
    return GridPanel(title, occupancy(problem, policy), policy, tuple(MOVES.values()), SIDE, LABELS)


def _table(free: CMDP, bound: CMDP) -> Table:
    rows = []
    for name, problem in (("without the constraint", free), ("V_c ≥ 1.5", bound)):
        answer = solve(problem, LinearProgram())
        rows.append(
            (
                name,
                f"{answer.reward_value:.7f}",
                f"{answer.constraint_value[0]:.7f}",
                f"{answer.multiplier[0]:.7f}",
            )
        )
    return Table("The optimal values, exactly.", ("", "V_r", "V_c", "λ*"), tuple(rows))
