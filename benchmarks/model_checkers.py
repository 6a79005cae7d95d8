"""Models that come with Storm, solved by Storm and by painless: the table of docs/model-checkers.md.

Storm builds each model from its PRISM program and exports it as UMB, which painless loads. Storm then gets the discounted problem as a
`.drn` file, and the question that stands in it. Limits lie halfway between what the best policy without them has and the best possible.

Storm is no dependency: `pip install stormpy` into an environment of your own first, then `python -m benchmarks.model_checkers`. Seconds are
CPU time of the solve alone, in one thread; building and reading models is not counted.
"""

import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

import painless
from benchmarks.storm import by_storm
from painless.common.arrays import one_thread
from painless.solving.certificate_files import check_certificate, write_certificate

DISCOUNT = 0.99
TOLERANCE = 1e-6


class Case(NamedTuple):
    """A program of Storm's own examples, its constants, and the roles of its reward models."""

    program: str
    constants: dict
    roles: dict

    @property
    def name(self):
        given = ", ".join(f"{name} = {value}" for name, value in self.constants.items())
        return f"{self.program}{f' ({given})' if given else ''}"

    @property
    def question(self):
        words = {"reward": "max", "cost": "min", "constraint_reward": "≥", "constraint_cost": "≤"}
        return ", ".join(
            f"{words[role]} {name}" if role in ("reward", "cost") else f"{name} {words[role]} …"
            for role, name in self.roles.items()
        )


CASES = (
    Case("two_dice.nm", {}, {"reward": "coinflips"}),
    Case("csma2-2.nm", {}, {"cost": "time"}),
    Case("leader4.nm", {}, {"cost": "rounds"}),
    Case("firewire3-0.5.nm", {}, {"reward": "time_sending", "constraint_cost": "time"}),
    Case("firewire.nm", {"delay": 36, "fast": 0.5}, {"reward": "time_sending", "constraint_cost": "time"}),
)


def exported(case, path):
    """Let Storm build a model and export it."""
    import stormpy
    import stormpy.examples.files
    import stormpy.io

    folder = Path(stormpy.examples.files.prism_mdp_firewire).parent
    program = stormpy.parse_prism_program(str(folder / case.program))
    if case.constants:
        program = stormpy.instantiate_constants(program, case.constants)[0]
    options = stormpy.BuilderOptions()
    options.set_build_all_reward_models()
    options.set_build_choice_labels()
    stormpy.io.export_to_umb(stormpy.build_model(program, options=options), str(path))


def loaded(case, path):
    """Load the problem, with a limit halfway between what costs nothing and what no policy exceeds."""
    roles = {role: name for role, name in case.roles.items() if role in ("reward", "cost")}
    free = painless.load(path, discount=DISCOUNT, **roles)
    limited = {role: name for role, name in case.roles.items() if role not in roles}
    if not limited:
        return free
    (role, name), *_ = limited.items()
    loose = painless.load(
        path, discount=DISCOUNT, limit=[np.inf if role.endswith("cost") else -np.inf], **case.roles
    )
    spent = painless.solve(loose, tolerance=TOLERANCE).constraint_value[0]
    alone = {role.removeprefix("constraint_"): name}
    best = painless.solve(painless.load(path, discount=DISCOUNT, **alone), tolerance=TOLERANCE).reward_value
    return loose.with_limits([float(f"{(spent + best) / 2:.6g}")])


def compared(case, folder):
    """Return a row of the table."""
    path = Path(folder) / "model.umb"
    exported(case, path)
    problem = loaded(case, path)
    with one_thread():
        start = time.process_time()
        solution = painless.solve(problem, tolerance=TOLERANCE)
        ours = time.process_time() - start
        value, theirs = by_storm(problem)
    write_certificate(Path(folder) / "proof", solution, problem)
    verdict = check_certificate(Path(folder) / "proof", problem)
    limit = f" {problem.limit[0]:g}" if len(problem.limit) else ""
    price = f"{solution.multiplier[0]:.5g}" if len(problem.limit) else ""
    inside = verdict.lower_bound <= value <= verdict.upper_bound
    beside = (
        "inside"
        if inside
        else f"{min(abs(value - verdict.lower_bound), abs(value - verdict.upper_bound)):.1e} outside"
    )
    return (
        *(
            case.name,
            f"{problem.shape[0]:,}",
            f"{problem.actions.sum():,}",
            case.question.replace(" …", limit),
        ),
        *(
            f"[{verdict.lower_bound:.9g}, {verdict.upper_bound:.9g}]",
            "yes" if verdict.verified else "NO",
            price,
        ),
        *(f"{value:.9g}", beside, f"{ours:.2f}", f"{theirs:.2f}"),
    )


def main():
    painless.solve(painless.garnet(1000, dense=False))  # compiles
    head = (
        "model",
        "states",
        "choices",
        "question",
        "proved interval",
        "verified",
        "price",
        "Storm",
        "Storm's value is",
        "s",
        "Storm, s",
    )
    print("|", " | ".join(head), "|")
    print("|", "---|" * len(head))
    for case in CASES:
        with tempfile.TemporaryDirectory() as folder:
            print("|", " | ".join(compared(case, folder)), "|", flush=True)


if __name__ == "__main__":
    main()
