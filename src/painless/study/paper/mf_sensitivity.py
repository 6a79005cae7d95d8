"""How much the settings matter with TD(0)."""

from __future__ import annotations

from collections.abc import Sequence

from painless.study.paper.experiment import Analysis, Experiment
from painless.study.paper.grids import GRIDWORLD, ITERATIONS, SAMPLED, SAMPLES
from painless.study.paper.mb_sensitivity import sensitivity
from painless.study.paper.scale import Scale
from painless.study.setting_results import SettingResults
from painless.study.sweep import Sweep


def sweep(scale: Scale) -> Sweep:
    """Return every setting of the three algorithms."""
    return scale.sweep(GRIDWORLD, SAMPLED, ITERATIONS, {"name": "td", "samples": SAMPLES})


def analyse(settings: Sequence[SettingResults]) -> Analysis:
    """Draw all settings, and compare the spread of their last OG."""
    caption = "OG and CV of every setting with TD(0), 2000 samples; the best of each algorithm dark with its 95 % band, the paper's dotted where it is another, the others light."
    return sensitivity(settings, "mf", "TD(0)", caption)


EXPERIMENT = Experiment(
    "mf-sensitivity",
    "Sensitivity to the settings, TD(0)",
    "Gridworld, γ = 0.9, TD(0) with 2000 samples for each pair and iteration, T = 1500; CRPO with η = 0.",
    sweep,
    analyse,
)
