"""The experiments of the paper, each a file with its sweep and its analysis."""

from __future__ import annotations

from painless.study.paper import (
    algorithm_1,
    cartpole,
    cartpole_entropy,
    coreset,
    gridworld_map,
    lfa_dimension,
    lfa_sensitivity,
    mb_best,
    mb_discount,
    mb_sensitivity,
    mb_theory,
    mf_discount,
    mf_samples,
    mf_sensitivity,
    rates,
    table_1,
    table_2,
    table_3,
)

EXPERIMENTS = {
    module.EXPERIMENT.id: module.EXPERIMENT
    for module in (
        gridworld_map,
        mb_sensitivity,
        mb_best,
        mb_theory,
        mb_discount,
        rates,
        mf_samples,
        mf_sensitivity,
        mf_discount,
        lfa_dimension,
        lfa_sensitivity,
        coreset,
        algorithm_1,
        cartpole,
        cartpole_entropy,
        table_1,
        table_2,
        table_3,
    )
}
