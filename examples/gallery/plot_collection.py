"""
What each method promises, and keeps
====================================

Every algorithm of the collection comes with a claim of its paper. Here is each of them in kind, on the paper's gridworld (limit 1.5, optimal value 1.6527) or on a Garnet: what the claim is about in blue, what it is
compared with in orange. :doc:`The page on the collection </collection>` has the sources.
"""

import matplotlib.pyplot as plt
import numpy as np

import painless
from painless.loop.batch import solve_batch
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
    npg_pd_bounds,
)

world, limit = painless.gridworld(), 1.5
optimum = painless.solve(world, painless.LinearProgram()).reward_value
BLUE, ORANGE, GREEN = "#0072B2", "#D55E00", "#009E73"


def traces(*algorithms, problem=world, iterations=500):
    """Return the runs of several algorithms on one problem."""
    return solve_batch(problem, algorithms, iterations=iterations)


def constraint(axis, runs, title):
    """Draw the constraint's value of the iterates; the limit is dotted."""
    for (label, colour), trace in runs.items():
        axis.plot(trace.constraint_value[:, 0], color=colour, label=label, linewidth=1.1)
    axis.axhline(limit, color="black", linewidth=0.8, linestyle=":")
    axis.set(title=title, ylabel="$V_c$ of the iterate")


def error(axis, runs, title):
    """Draw how far the iterates are from the optimum, in reward and constraint together."""
    for (label, colour), trace in runs.items():
        missed = np.maximum(limit - trace.constraint_value[:, 0], 0)
        far = np.abs(optimum - trace.reward_value) + missed
        axis.semilogy(np.maximum(far, 1e-12), color=colour, label=label, linewidth=1.1)
    axis.set(title=title, ylabel="error of the last iterate")


figure, axes = plt.subplots(2, 5, figsize=(17, 6.4), layout="constrained")
axes = axes.flat

integral, pid = traces(PIDLagrangian(0.0, 0.3, 0.0), PIDLagrangian(1.0, 0.3, 0.0))
constraint(axes[0], {("integral alone", ORANGE): integral, ("PID", BLUE): pid}, "PID dampens the integral")

ascent, nupi = traces(NuPILagrangian(0.3, 0.0), NuPILagrangian(0.3, 3.0))
constraint(axes[1], {("gradient ascent", ORANGE): ascent, ("νPI", BLUE): nupi}, "νPI dampens gradient ascent")

gda, opg, reload = traces(painless.GDA(1.0, 0.1), OPGPD(0.3), ReLOAD(1.0, 0.1))
error(axes[2], {("GDA", ORANGE): gda, ("OPG-PD", BLUE): opg}, "OPG-PD: linear, in the last iterate")
error(axes[3], {("GDA", ORANGE): gda, ("ReLOAD", BLUE): reload}, "ReLOAD: the last iterate converges")

strong, weak = traces(RPGPD(0.2, 0.1), RPGPD(0.2, 0.05), iterations=1200)
error(axes[4], {("τ = 0.1", ORANGE): strong, ("τ = 0.05", BLUE): weak}, "RPG-PD: to within O(τ)")
axes[4].set_ylim(bottom=1e-3)

(augmented,) = traces(AugmentedLagrangianMethod(1.0, 4))
error(axes[5], {("GDA", ORANGE): gda, ("augmented", BLUE): augmented}, "Augmented Lagrangian")

far, near = traces(LogBarrierMethod(0.01, 0.3), LogBarrierMethod(0.001, 0.3))
constraint(axes[6], {("μ = 0.1", ORANGE): far, ("μ = 0.01", BLUE): near}, "Log barrier: inside, once it is")
axes[6].set_ylim(1.2, 2.4)

plain, margin = traces(FlexDOME(margin=1e-9), FlexDOME())
for (label, colour), trace in {("no margin", ORANGE): plain, ("decaying margin", BLUE): margin}.items():
    axes[7].plot(np.maximum(limit - trace.constraint_value[:, 0], 0).cumsum(), color=colour, label=label)
axes[7].set(title="FlexDOME's margin", ylabel="strong violation Σ[b − V_c]₊")

small = painless.garnet(8, 3, 3, seed=1, discount=0.5)
best = painless.solve(small, painless.LinearProgram()).reward_value
horizons = np.array([25, 50, 100, 200, 400])
gaps = [
    best - traces(NPGPD(), problem=small, iterations=int(count))[0].reward_value.mean() for count in horizons
]
axes[8].loglog(
    horizons, [npg_pd_bounds(int(count), 0.5, 1.0)[0] for count in horizons], color=ORANGE, label="bound"
)
axes[8].loglog(horizons, np.abs(gaps), "o-", color=BLUE, label="NPG-PD")
axes[8].set(title="NPG-PD: |average gap| below its bound", xlabel="T")
axes[8].set_xticks(horizons, [str(count) for count in horizons], minor=False)
axes[8].minorticks_off()

three = painless.gridworld(constraints=3)
(vaidya,) = traces(DualVaidya(0.002, 10), problem=three)
price = painless.solve(three, painless.LinearProgram()).multiplier
for i, colour in enumerate((BLUE, ORANGE, GREEN)):
    axes[9].plot(vaidya.multiplier[:, i], color=colour, drawstyle="steps", label=f"λ of constraint {i + 1}")
    axes[9].axhline(price[i], color=colour, linewidth=0.8, linestyle=":")
axes[9].set(title="Dual Vaidya: cuts find the prices", yscale="log")

for axis in axes:
    axis.legend(frameon=False, fontsize=8)
    axis.set_xlabel(axis.get_xlabel() or "iteration")
plt.show()
