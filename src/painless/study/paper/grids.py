"""The settings of the paper's experiments (its appendices C.4 and D), as data."""

from __future__ import annotations

from typing import Any

Settings = dict[str, Any]

ITERATIONS, LINEAR_ITERATIONS, CARTPOLE_ITERATIONS = 1500, 400, 200
SAMPLES = 2000  # of TD(0), for each pair and iteration
TILES = {40: 10, 56: 14, 80: 20}  # d = 4 actions × tiles
LINEAR_SAMPLES = 300
ENTROPIES = [0.0, 0.1, 0.01, 0.001]  # ν
CARTPOLE_BOUND = 50.0  # U: a slack of 4 of the 6.6 that are possible, 2/(4·(1−γ))
RELEASED_BOUNDS = {0.0: 40.0, 0.1: 80.0, 0.01: 50.0, 0.001: 140.0}  # U of the released code, by ν

GRIDWORLD: Settings = {"name": "gridworld", "discount": 0.9}
CARTPOLE: Settings = {"name": "cartpole"}

CBP: Settings = {"name": "cbp", "alpha": [1.0, 2.0, 5.0, 8.0, 15.0, 50.0, 100.0, 300.0, 500.0]}
GDA: Settings = {
    "name": "gda",
    "policy_rate": [0.001, 0.01, 0.1, 1.0],
    "multiplier_rate": [0.0001, 0.001, 0.01, 0.1, 1.0],
}
CRPO: Settings = {
    "name": "crpo",
    "rate": [0.001, 0.01, 0.05, 0.1, 0.5, 0.75],
    "tolerance": [0.0, 0.25],
}
CRPO_STRICT: Settings = {**CRPO, "tolerance": 0.0}
TABULAR = [CBP, GDA, CRPO]
SAMPLED = [CBP, GDA, CRPO_STRICT]
LINEAR = [{**CBP, "alpha": [0.25, *CBP["alpha"]]}, GDA, CRPO_STRICT]


def chosen(
    alpha: float, policy_rate: float, multiplier_rate: float, rate: float, tolerance: float = 0.0
) -> list[Settings]:
    """Return a setting of each algorithm: α of CBP, both rates of GDA, rate and η of CRPO."""
    return [
        {"name": "cbp", "alpha": alpha},
        {"name": "gda", "policy_rate": policy_rate, "multiplier_rate": multiplier_rate},
        {"name": "crpo", "rate": rate, "tolerance": tolerance},
    ]


# Table 1 of the paper: the settings that the experiments with other discounts and sample sizes keep.
TABLE_1 = chosen(8.0, 1.0, 0.1, 0.75)
# Table 2, by d.
TABLE_2 = {
    40: chosen(0.25, 1.0, 0.1, 0.75),
    56: chosen(0.25, 1.0, 1.0, 0.75),
    80: chosen(0.1, 1.0, 0.1, 0.75),
}
# Table 3, by ν.
TABLE_3 = {
    0.0: chosen(0.1, 0.01, 0.001, 0.1, 10.0),
    0.1: chosen(0.1, 0.001, 0.001, 0.1),
    0.01: chosen(5.0, 0.1, 0.1, 0.5, 10.0),
    0.001: chosen(0.5, 0.01, 0.0001, 0.5),
}
THEORY: list[Settings] = [{"name": "gda-theory"}, {"name": "cbp-theory"}]


def cartpole(entropy: float) -> list[Settings]:
    """Return the grids of CartPole with entropy regularisation ν."""
    return [
        {"name": "cbp", "alpha": [0.1, 0.5, 5.0, 50.0, 250.0, 500.0, 750.0, 1000.0], "entropy": entropy},
        {
            "name": "gda",
            "policy_rate": [0.1, 0.01, 0.001, 0.0001],
            "multiplier_rate": [0.1, 0.01, 0.001, 0.0001],
            "entropy": entropy,
        },
        {
            "name": "crpo",
            "rate": [0.001, 0.005, 0.01, 0.05, 0.1, 0.5],
            "tolerance": [0.0, 10.0],
            "entropy": entropy,
        },
    ]


def with_nu(settings: list[Settings], entropy: float) -> list[Settings]:
    """Return settings with entropy regularisation ν."""
    return [{**one, "entropy": entropy} for one in settings]
