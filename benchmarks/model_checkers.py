"""Models that nobody here wrote, solved by Storm and by painless: the table of docs/model-checkers.md.

Storm builds each model from its PRISM program and exports it as UMB, which painless loads. Both then answer the same question. Programs are the examples
that come with stormpy, with limits halfway between what the best policy without them has and the least possible; and, with
`--programs FOLDER`, those of Storm's own tests of multi-objective properties with the questions that are asked there
(`resources/examples/testfiles/mdp` of its repository). With `--own`, the programs of `benchmarks/prism` take their place: they have constants that make them as
large as one likes. Then Storm is asked for its default precision, 1e-4, and for that of painless, 1e-6, each for at most `--limit` CPU seconds.

Storm is no dependency: `pip install stormpy` into an environment of your own first, then `python -m benchmarks.model_checkers`. Seconds are
CPU time of the solve alone, in one thread, the least of three runs if they are quick; building and reading models is not counted.
"""

import argparse
import multiprocessing
import resource
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np

import painless
from painless.common.arrays import one_thread
from painless.solving.certificate_files import check_certificate, write_certificate

TOLERANCE = 1e-6
# How often both are timed, since the machine may be busy with other work, unless a run takes more CPU seconds than this.
REPEATED, QUICK = 3, 2.0
LONG_DELAY = (
    20  # of models that are not solved beforehand, since smaller ones need the same compiled functions
)
HEAD = (
    *("model", "states", "choices", "question", "proved interval", "price", "verified"),
    *("Storm", "distance", "s", "checked, s", "Storm, s"),
)


class Case(NamedTuple):
    """A program, its constants, the roles of its reward models and labels, and how the steps add up."""

    program: str
    constants: dict
    roles: dict
    ends: dict  # {"end": label}, {"horizon": steps}, {"average": True}, or {"discount": 1.0} for totals without an end
    limit: tuple = ()  # of each constraint; else halfway between what costs nothing and the least possible
    asked: str = ""  # the question in Storm's language, if it is published
    labels: str = ""  # of the question, that the program lacks

    @property
    def name(self):
        given = ", ".join(f"{name} = {value}" for name, value in self.constants.items())
        return f"{self.program.rpartition('.')[0]}{f' ({given})' if given else ''}"

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
    Case("firewire.nm", {"delay": 36, "fast": 0.5}, {"cost": "time"}, {"end": "elected"}),
    Case("firewire.nm", {"delay": 36, "fast": 0.5}, SENDING, {"end": "elected"}),
)
ENERGY = {"cost": "time", "constraint_cost": "energy"}
GATHERING = {"GOLD_TO_COLLECT": 0, "GEM_TO_COLLECT": 0, "B": 0}
PUBLISHED = (
    Case(
        *("multiobj_dpm100.nm", {}, {"cost": "power", "constraint_cost": "queue"}, {"horizon": 100}, (70.0,)),
        'multi(R{"power"}min=? [C<=100], R{"queue"}<=70 [C<=100])',
    ),
    Case(
        *("multiobj_consensus2_3_2.nm", {}),
        {"reward": "reach(one_proc_err)", "constraint_cost": "reach(!one_coin_ok)"},
        *({"discount": 1.0}, (1 - 0.8916673903,)),
        'multi(Pmax=? [F "one_proc_err"], P>=0.8916673903 [G "one_coin_ok"])',
    ),
    Case(
        *("multiobj_zeroconf4.nm", {}, {"reward": "reach(four)", "constraint_cost": "reach(!fine)"}),
        *({"discount": 1.0}, (1 - 0.993141,)),
        'multi(Pmax=? [F "four"], P>=0.993141 [G "fine"])',
        'label "four" = l=4 & ip=1; label "fine" = error=0;',
    ),
    Case(
        *("multiobj_team3.nm", {}),
        {"reward": "reach(task1_compl)", "constraint_reward": ["w_1_total", "reach(task2_compl)"]},
        *({"discount": 1.0}, (2.210204082, 0.5)),
        'multi(Pmax=? [F "task1_compl"], R{"w_1_total"}>=2.210204082 [C], P>=0.5 [F "task2_compl"])',
    ),
    *(
        Case(
            *("multiobj_scheduler05.nm", {}, ENERGY, {"end": "tasks_complete"}, (limit,)),
            f'multi(R{{"time"}}min=? [F "tasks_complete"], R{{"energy"}}<={limit} [F "tasks_complete"])',
        )
        for limit in (1.45, 1.3)
    ),
    Case(
        *("resource-gathering.nm", GATHERING, {"reward": "rew_gold", "constraint_reward": "rew_gem"}),
        *({"average": True}, (0.03,)),
        'multi(R{"rew_gold"}max=? [LRA], R{"rew_gem"}>=0.03 [LRA])',
    ),
    Case(
        *("resource-gathering.nm", GATHERING, {"reward": "rew_gold", "constraint_cost": "attacks"}),
        *({"average": True}, (0.01,)),
        'multi(R{"rew_gold"}max=? [LRA], R{"attacks"}<=0.01 [LRA])',
    ),
)


OWN = Path(__file__).parent / "prism"
MONEY = {"cost": "time", "constraint_cost": "money"}
WEAR = {"cost": "time", "constraint_cost": "wear"}
FEE = {"cost": "steps", "constraint_cost": "fee"}
WAITING = {"cost": "power", "constraint_cost": "waiting"}
HOME = {"reward": "reach(home)", "constraint_cost": "reach(crash)"}
LARGE = (
    *(
        Case("crews.nm", {"JOBS": jobs, "SIZE": 8}, MONEY, {"end": "finished"}, (limit,))
        for jobs, limit in ((34, 515.0), (300, 4545.0))
    ),
    *(
        Case("rover.nm", {"N": side}, WEAR, {"end": "goal"}, (limit,))
        for side, limit in ((100, 100.0), (320, 289.0))
    ),
    *(Case("coins.nm", {"K": most}, FEE, {"end": "agreed"}, (limit,)) for most, limit in ((600, 7500.0),)),
    *(
        Case(
            *("drone.nm", {"N": side, "B": 2 * side}, HOME, {"discount": 1.0}, (0.02,)),
            'multi(Pmax=? [F "home"], P<=0.02 [F "crash"])',
        )
        for side in (20, 45)
    ),
    *(Case("queues.nm", {"N": most}, WAITING, {"horizon": 100}, (1500.0,)) for most in (99, 319)),
    Case(
        *("queues.nm", {"N": 99}, WAITING, {"average": True}, (5.0,)),
        'multi(R{"power"}min=? [LRA], R{"waiting"}<=5 [LRA])',
    ),
)
LARGE_HEAD = (
    "model",
    "states",
    "choices",
    "question",
    "value",
    "price",
    "s",
    "read, s",
    "Storm, s",
    "to 1e-6",
)


def exported(case, path, programs=None):
    """Let Storm build a model and export it; return it."""
    import stormpy
    import stormpy.examples.files
    import stormpy.io

    folder = Path(programs or Path(stormpy.examples.files.prism_mdp_firewire).parent)
    source = Path(path).with_name(case.program)
    source.write_text(f"{(folder / case.program).read_text()}\n{case.labels}\n")
    program = stormpy.parse_prism_program(str(source))
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
    if case.limit:
        return painless.load(path, limit=[*case.limit], **case.roles, **case.ends)
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
    if case.asked:
        return case.asked
    objective = "max" if "reward" in case.roles else "min"
    name = case.roles["reward" if objective == "max" else "cost"]
    asked = f'R{{"{name}"}}{objective}=? [{case.sums}]'
    for role, limit in zip((r for r in case.roles if r.startswith("constraint")), problem.limit, strict=True):
        sign = "<=" if role.endswith("cost") else ">="
        asked = f'multi({asked}, R{{"{case.roles[role]}"}}{sign}{float(limit)!r} [{case.sums}])'
    return asked


def by_storm(model, asked, precision=None):
    """Return Storm's answer at the initial state, and the CPU seconds that it took, the least of three if it is quick, to its default precision if none is given."""
    import stormpy

    prop, given = stormpy.parse_properties(asked)[0], {}
    if precision is not None:  # an environment of one's own also changes how Storm iterates
        given["environment"] = environment = stormpy.Environment()
        environment.modelchecker().multi().precision = stormpy.Rational(precision)
        environment.solver().min_max().precision = stormpy.Rational(0.01 * precision)
    taken = []
    for _ in range(REPEATED):
        start = time.process_time()
        found = stormpy.model_checking(model, prop, only_initial_states=True, **given)
        taken.append(time.process_time() - start)
        if taken[-1] > QUICK:
            break
    return found.get_value(model.initial_states[0]), min(taken)


def within(limit, model, asked, precision=None):
    """Run Storm in a process of its own, for at most `limit` CPU seconds: its value and CPU seconds, or not a number and as many."""
    forked = multiprocessing.get_context("fork")
    ours, theirs = forked.Pipe(duplex=False)

    def run():
        spent = int(time.process_time() + limit + 1)
        resource.setrlimit(resource.RLIMIT_CPU, (spent, spent))
        theirs.send(by_storm(model, asked, precision))

    worker = forked.Process(target=run)
    worker.start()
    theirs.close()
    try:
        return ours.recv()
    except EOFError:
        return np.nan, limit
    finally:
        worker.join()


def by_painless(problem):
    """Return the solution and its CPU seconds, the least of three, each of a problem of which nothing is known yet."""
    taken, solution = [], None
    while len(taken) < REPEATED and max(taken, default=0.0) <= QUICK:
        fresh, solution = problem.with_limits(problem.limit), None  # the memory of the last one is free again
        start = time.process_time()
        solution = painless.solve(fresh, tolerance=TOLERANCE)
        taken.append(time.process_time() - start)
    return solution, min(taken)


def beside(case, folder, limit):
    """Return a row for a large model: what painless proves and takes, and what Storm takes."""
    path = Path(folder) / "model.umb"
    model = exported(case, path, OWN)
    start = time.process_time()
    problem = loaded(case, path)
    read, asked = time.process_time() - start, question(case, problem)
    with one_thread():
        solution, ours = by_painless(problem)
        found = [within(limit, model, asked, precision) for precision in (None, TOLERANCE)]
    assert solution.status.kind == "solved", solution.status
    for (value, _), precision in zip(found, (1e-4, 1e-5), strict=True):
        assert np.isnan(value) or abs(value - solution.reward_value) <= precision * (1 + abs(value)), value
    taken = [f"> {limit:.0f}" if np.isnan(value) else f"{spent:.2f}" for value, spent in found]
    return (
        *(case.name, f"{model.nr_states:,}", f"{model.nr_choices:,}", f"`{asked}`"),
        *(
            f"{solution.reward_value:.7g}",
            solution.shown_prices[0],
            f"{ours:.2f}",
            f"{read:.2f}",
            *taken,
        ),
    )


def compared(case, folder, programs=None):
    """Return a row of the table, and the numbers that a test looks at."""
    path = Path(folder) / "model.umb"
    model = exported(case, path, programs)
    problem = loaded(case, path)
    asked = question(case, problem)
    with one_thread():
        solution, ours = by_painless(problem)
        value, theirs = by_storm(model, asked)
    write_certificate(Path(folder) / "proof", solution, problem)
    start = time.process_time()
    verdict = check_certificate(Path(folder) / "proof", problem)
    checked = time.process_time() - start
    low, high = verdict.lower_bound, verdict.upper_bound
    distance = max(low - value, value - high, 0.0)
    price = ", ".join(solution.shown_prices)
    row = (
        *(
            case.name,
            f"{model.nr_states:,}",
            f"{model.nr_choices:,}",
            f"`{asked}`",
            f"[{low:.9g}, {high:.9g}]",
            price,
        ),
        *("yes" if verdict.verified else "NO", f"{value:.9g}", f"{distance:.1e}"),
        *(f"{ours:.2f}", f"{checked:.2f}", f"{theirs:.2f}"),
    )
    return row, verdict, value


def compare_own(arguments):
    """Print the table of the programs of `benchmarks/prism`."""
    chosen = [case for case in LARGE if arguments.only in case.program]
    with tempfile.TemporaryDirectory() as folder:
        for case in chosen:  # compiles
            small = {name: value if name == "SIZE" else 40 for name, value in case.constants.items()}
            path = Path(folder) / "model.umb"
            exported(case._replace(constants=small), path, OWN)
            painless.solve(loaded(case, path), tolerance=TOLERANCE)
    print("|", " | ".join(LARGE_HEAD), "|")
    print("|", "---|" * len(LARGE_HEAD))
    for case in chosen:
        with tempfile.TemporaryDirectory() as folder:
            print("|", " | ".join(beside(case, folder, arguments.limit)), "|", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs", help="resources/examples/testfiles/mdp of Storm's repository")
    parser.add_argument("--only", default="", help="part of a program's name")
    parser.add_argument("--own", action="store_true", help="the programs of benchmarks/prism")
    parser.add_argument("--limit", type=float, default=60.0, help="CPU seconds for Storm")
    arguments = parser.parse_args()
    (compare_own if arguments.own else compare_others)(arguments)


def compare_others(arguments):
    """Print the table of Storm's programs."""
    cases = [(case, None) for case in CASES]
    cases += [(case, arguments.programs) for case in PUBLISHED if arguments.programs]
    for case, programs in cases:  # compiles, or loads what is compiled
        if arguments.only in case.program and case.constants.get("delay", 0) < LONG_DELAY:
            with tempfile.TemporaryDirectory() as folder, suppress(Exception):
                compared(case, folder, programs)
    print("|", " | ".join(HEAD), "|")
    print("|", "---|" * len(HEAD))
    for case, programs in cases:
        if arguments.only not in case.program:
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                print("|", " | ".join(compared(case, folder, programs)[0]), "|", flush=True)
            except Exception as error:  # Storm's own refusals, too
                print(f"| {case.name} | {type(error).__name__}: {str(error)[:150]} |", flush=True)


if __name__ == "__main__":
    main()
