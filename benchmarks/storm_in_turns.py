"""`python -m benchmarks.storm_in_turns`: Storm and painless asked in turns, the last table of docs/model-checkers.md.

Each model is exported once, and read by two processes, one of Storm's and one of painless. They answer one after the other, `--repeats` times; the least CPU seconds
of each count, to Storm's default precision and a proved gap of 1e-6. Storm's processes begin anew for each model, or, with `--warm`, after they
have solved a larger one, whose memory they keep. Models are the programs of `benchmarks.model_checkers`; with `--models FOLDER`, `.drn` files beside them.
"""

import argparse
import functools
import multiprocessing
import tempfile
import time
from pathlib import Path

import painless
from benchmarks.model_checkers import CASES, LARGE, OWN, PUBLISHED, TOLERANCE, exported, loaded, question
from painless.common.arrays import one_thread

STATES = 10_000  # smaller models are left out
FILES = {"multiobj_team3.nm": "team3.drn", "multiobj_scheduler05.nm": "scheduler05.drn"}
WARMING = ("drone.nm", {"N": 45, "B": 90})  # the larger model


def storm_answers(pipe, paths_asked):
    """Answer the last of some questions about models whenever it is asked; those before it are answered once."""
    import stormpy

    for path, asked in paths_asked:
        if path.suffix == ".drn":
            model = stormpy.build_model_from_drn(str(path))
        else:
            model = stormpy.build_model_from_umb(str(path))
        answer = functools.partial(
            stormpy.model_checking, model, stormpy.parse_properties(asked)[0], only_initial_states=True
        )
        answer()
    serve(pipe, answer)


def painless_answers(pipe, case, path):
    """Solve a problem of which nothing is known yet whenever it is asked."""
    problem = loaded(case, path)
    with one_thread():
        painless.solve(problem.with_limits(problem.limit), tolerance=TOLERANCE)  # compiles
        serve(pipe, lambda: painless.solve(problem.with_limits(problem.limit), tolerance=TOLERANCE))


def serve(pipe, answer):
    """Send the CPU seconds of an answer for every message, until one is false."""
    while pipe.recv():
        start = time.process_time()
        answer()
        pipe.send(time.process_time() - start)


def started(target, *arguments):
    """Return the end of a pipe to a new process."""
    ours, theirs = multiprocessing.Pipe()
    multiprocessing.Process(target=target, args=(theirs, *arguments), daemon=True).start()
    theirs.close()
    return ours


def in_turns(case, path, repeats, before):
    """Return the states of a model, and the least CPU seconds of painless and of Storm."""
    problem = loaded(case, path)
    if problem.shape[0] < STATES:
        return problem.shape[0], None
    pipes = (
        started(painless_answers, case, path),
        started(storm_answers, [*before, (path, question(case, problem))]),
    )
    taken = [[], []]
    for _ in range(repeats):
        for pipe, times in zip(pipes, taken, strict=True):
            pipe.send(True)
            times.append(pipe.recv())
    for pipe in pipes:
        pipe.send(False)
    return problem.shape[0], [min(times) for times in taken]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", help="a folder with team3.drn and scheduler05.drn")
    parser.add_argument("--only", default="", help="part of a program's name")
    parser.add_argument("--repeats", type=int, default=8)
    parser.add_argument("--warm", action="store_true", help="Storm has solved a larger model before")
    given = parser.parse_args()
    multiprocessing.set_start_method("spawn")
    chosen = [(case, OWN) for case in LARGE if "average" not in case.ends and case.program != "coins.nm"]
    chosen += [(case, None) for case in CASES if case.program == "firewire.nm"]
    chosen += [(case, given.models) for case in PUBLISHED if given.models and case.program in FILES]
    with tempfile.TemporaryDirectory() as folder:
        before = []
        if given.warm:
            large = next(case for case in LARGE if (case.program, case.constants) == WARMING)
            path = Path(folder) / "large.umb"
            exported(large, path, OWN)
            before = [(path, question(large, loaded(large, path)))]
        print("| model | states | seconds | Storm's | factor |\n|---|---|---|---|---|")
        for case, programs in chosen:
            if given.only not in case.program:
                continue
            path = Path(folder) / "model.umb"
            if case.program in FILES:
                path = Path(programs) / FILES[case.program]
            else:
                exported(case, path, programs)
            states, taken = in_turns(case, path, given.repeats, before)
            if taken is not None:
                own, theirs = taken
                limited = any(role.startswith("constraint") for role in case.roles)
                limit = f", limit {', '.join(map(str, case.limit)) or 'halfway'}" if limited else ""
                print(
                    f"| {case.name}{limit} | {states:,} | {own:.3g} | {theirs:.3g} | {theirs / own:.2g} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
