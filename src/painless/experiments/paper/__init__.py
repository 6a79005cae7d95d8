"""The experiments of the paper, each a folder with its sweep and its analysis."""

from __future__ import annotations

from painless.experiments.paper.cartpole import EXPERIMENT as CARTPOLE
from painless.experiments.paper.cartpole_entropy import EXPERIMENT as CARTPOLE_ENTROPY
from painless.experiments.paper.coreset import EXPERIMENT as CORESET
from painless.experiments.paper.gridworld_map import EXPERIMENT as GRIDWORLD_MAP
from painless.experiments.paper.lfa_dimension import EXPERIMENT as LFA_DIMENSION
from painless.experiments.paper.lfa_sensitivity import EXPERIMENT as LFA_SENSITIVITY
from painless.experiments.paper.mb_best import EXPERIMENT as MB_BEST
from painless.experiments.paper.mb_discount import EXPERIMENT as MB_DISCOUNT
from painless.experiments.paper.mb_sensitivity import EXPERIMENT as MB_SENSITIVITY
from painless.experiments.paper.mb_theory import EXPERIMENT as MB_THEORY
from painless.experiments.paper.mf_discount import EXPERIMENT as MF_DISCOUNT
from painless.experiments.paper.mf_samples import EXPERIMENT as MF_SAMPLES
from painless.experiments.paper.mf_sensitivity import EXPERIMENT as MF_SENSITIVITY
from painless.experiments.paper.rates import EXPERIMENT as RATES
from painless.experiments.paper.table_1 import EXPERIMENT as TABLE_1
from painless.experiments.paper.table_2 import EXPERIMENT as TABLE_2
from painless.experiments.paper.table_3 import EXPERIMENT as TABLE_3

EXPERIMENTS = {
    experiment.id: experiment
    for experiment in (
        GRIDWORLD_MAP,
        MB_SENSITIVITY,
        MB_BEST,
        MB_THEORY,
        MB_DISCOUNT,
        RATES,
        MF_SAMPLES,
        MF_SENSITIVITY,
        MF_DISCOUNT,
        LFA_DIMENSION,
        LFA_SENSITIVITY,
        CORESET,
        CARTPOLE,
        CARTPOLE_ENTROPY,
        TABLE_1,
        TABLE_2,
        TABLE_3,
    )
}
