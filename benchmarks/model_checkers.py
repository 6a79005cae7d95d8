"""Models that come with Storm, solved by Storm and by painless: the table of docs/model-checkers.md.

Storm builds each model from its PRISM program and exports it as UMB, which painless loads. Both then answer the same question: the total
until a label is reached, or over a number of steps, with a limit on another total. Limits lie halfway between what the best policy without them has
and the least possible.

Storm is no dependency: `pip install stormpy` into an environment of your own first, then `python -m benchmarks.model_checkers`. Seconds are
CPU time of the solve alone, in one thread; building and reading models is not counted.
"""

import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

import painless
from painless.common.arrays import one_thread
from painless.solving.certificate_files import check_certificate, write_certificate

TOLERANCE = 1e-6
HEAD = (
    *("model", "states", "choices", "question", "proved interval", "price", "verified"),
    *("Storm", "distance", "s", "checked, s", "Storm, s"),
)


class Case(NamedTuple):
    """A program of Storm's own examples, its constants, the roles of its reward models, and what ends the sums."""

    program: str
    constants: dict
    roles: dict
    ends: dict  # {"end": label} or {"horizon": steps}

    @property
    def name(self):
        given = ", ".join(f"{name} = {value}" for name, value in self.constants.items())
        return f"{self.program.removesuffix('.nm')}{f' ({given})' if given else ''}"

    @property
    def sums(self):
        """What is summed, in Storm's language."""
        return f'F "{self.ends["end"]}"' if "end" in self.ends else f"C<={self.ends['horizon']}"


SENDING = {"reward": "time_sending", "constraint_cost": "time"}
CASES = (
    Case("two_dice.nm", {}, {"reward": "coinflips"}, {"end": "done"}),
    Case("coin2-2.nm", {}, {"cost": "steps"}, {"end": "finished"}),
    Case("csma2-2.nm", {}, {"cost": "time"}, {"end": "all_delivered"}),
    Case("leader4.nm", {}, {"cost": "rounds"}, {"end": "elected"}),
    Case("firewire3-0.5.nm", {}, SENDING, {"end": "elected"}),
    Case("firewire3-0.5.nm", {}, SENDING, {"horizon": 100}),
    Case("coin2.nm", {"K": 40}, {"cost": "steps"}, {"end": "finished"}),
    Case("coin2.nm", {"K": 120}, {"cost": "steps"}, {"end": "finished"}),
    Case("firewire.nm", {"delay": 8, "fast": 0.5}, {"cost": "time"}, {"end": "elected"}),
    Case("firewire.nm", {"delay": 8, "fast": 0.5}, SENDING, {"end": "elected"}),
)


def exported(case, path):
    """Let Storm build a model and export it; return it."""
    import stormpy
    import stormpy.examples.files
    import stormpy.io

    folder = Path(stormpy.examples.files.prism_mdp_firewire).parent
    program = stormpy.parse_prism_program(str(folder / case.program))
    if case.constants:
        program = stormpy.instantiate_constants(program, case.constants)[0]
    options = stormpy.BuilderOptions()
    options.set_build_all_reward_models()
    options.set_build_all_labels()
    options.set_build_choice_labels()
    model = stormpy.build_model(program, options=options)
    stormpy.io.export_to_umb(model, str(path))
    return model


def loaded(case, path):
    """Load the problem, with a limit halfway between what costs nothing and what no policy exceeds."""
    limited = [role for role in case.roles if role.startswith("constraint")]
    if not limited:
        return painless.load(path, **case.roles, **case.ends)
    (role,) = limited
    free = [np.inf if role.endswith("cost") else -np.inf]
    loose = painless.load(path, limit=free, **case.roles, **case.ends)
    spent = painless.solve(loose, tolerance=TOLERANCE).constraint_value[0]
    alone = {role.removeprefix("constraint_"): case.roles[role]}
    best = painless.solve(painless.load(path, **alone, **case.ends), tolerance=TOLERANCE).reward_value
    return loose.with_limits([float(f"{(spent + best) / 2:.6g}")])


def question(case, problem):
    """Return the question in Storm's language."""
    objective = "max" if "reward" in case.roles else "min"
    name = case.roles["reward" if objective == "max" else "cost"]
    asked = f'R{{"{name}"}}{objective}=? [{case.sums}]'
    for role, limit in zip((r for r in case.roles if r.startswith("constraint")), problem.limit, strict=True):
        sign = "<=" if role.endswith("cost") else ">="
        asked = f'multi({asked}, R{{"{case.roles[role]}"}}{sign}{float(limit)!r} [{case.sums}])'
    return asked


def by_storm(model, asked):
    """Return Storm's answer at the initial state, and the CPU seconds that it took."""
    import stormpy

    prop = stormpy.parse_properties(asked)[0]
    start = time.process_time()
    found = stormpy.model_checking(model, prop, only_initial_states=True)
    return found.get_value(model.initial_states[0]), time.process_time() - start


def compared(case, folder):
    """Return a row of the table, and the numbers that a test looks at."""
    path = Path(folder) / "model.umb"
    model = exported(case, path)
    problem = loaded(case, path)
    asked = question(case, problem)
    with one_thread():
        start = time.process_time()
        solution = painless.solve(problem, tolerance=TOLERANCE)
        ours = time.process_time() - start
        value, theirs = by_storm(model, asked)
    write_certificate(Path(folder) / "proof", solution, problem)
    start = time.process_time()
    verdict = check_certificate(Path(folder) / "proof", problem)
    checked = time.process_time() - start
    low, high = verdict.lower_bound, verdict.upper_bound
    distance = max(low - value, value - high, 0.0)
    states = problem.transition.shape[-1]
    choices = int(problem.actions.sum()) // (problem.horizon or 1)
    price = f"{solution.multiplier[0]:.5g}" if len(problem.limit) else ""
    row = (
        *(case.name, f"{states:,}", f"{choices:,}", f"`{asked}`", f"[{low:.9g}, {high:.9g}]", price),
        *("yes" if verdict.verified else "NO", f"{value:.9g}", f"{distance:.1e}"),
        *(f"{ours:.2f}", f"{checked:.2f}", f"{theirs:.2f}"),
    )
    return row, verdict, value


def main():
    painless.solve(painless.garnet(1000, dense=False))  # compiles
    print("|", " | ".join(HEAD), "|")
    print("|", "---|" * len(HEAD))
    for case in CASES:
        with tempfile.TemporaryDirectory() as folder:
            try:
                print("|", " | ".join(compared(case, folder)[0]), "|", flush=True)
            except Exception as error:  # Storm's own refusals, too
                print(f"| {case.name} | {type(error).__name__}: {str(error)[:150]} |", flush=True)


if __name__ == "__main__":
    main()
