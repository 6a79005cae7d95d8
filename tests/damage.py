"""Damaged files: every stored kind, changed at random, is refused with a sentence or loads to what it was.

`run(count, seed)` returns what went wrong, nothing if all is well; `python -m tests.damage --count 3000 --seed 1` does it from
a terminal. Case i of a seed is always the same. Three kinds of damage:

- bytes of a file: bits flipped, cut off, added; the file gone, or a folder, a pipe or another's file in its place;
- entries of a file: dropped, renamed, added, of other types, shapes or numbers;
- the same with all checksums computed anew, as a faulty program would: then it must be refused, or be something valid.

Problem files carry no checksum; a changed one must be refused, or be a valid problem.
"""

import argparse
import io
import json
import os
import shutil
import tempfile
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import painless
from painless import CBP, CRPO, GDA, PRM, InputError
from painless.features import Fourier, OneHot, TileCoding
from painless.learners import CoinBetting, ExponentiatedGradient, RegretMatching
from painless.policies import MixturePolicy, start_policy
from painless.policies.linear_q import LinearQ
from painless.report.page_training import TrainingRecord
from painless.report.saved_pages import read_frontier
from painless.simulation.simulator import TableSimulator
from painless.storage import files, results
from painless.study import Store, Sweep, run_sweep
from painless.study.store import read_unit


class Stored(NamedTuple):
    """A kind of thing that is stored: how to make one into a folder, and how to read it back, all of it."""

    make: Callable[[Path, int], None]  # the second argument tells two of a kind apart
    read: Callable[[Path], Any]
    sealed: bool = True


def world(which: int) -> Any:
    return painless.garnet(5, 2, 2, 1, seed=which)


# What is stored


def make_solution(folder: Path, which: int) -> None:
    painless.solve(world(which), CBP(), iterations=5).save(folder, world(which))


def make_infeasible(folder: Path, which: int) -> None:
    problem = painless.gridworld(threshold=9.0 + which)
    painless.solve(problem).save(folder, problem)


def read_solution(folder: Path) -> Any:
    solution = painless.Solution.load(folder)
    assert solution.__repr__()
    trace = None if solution.trace is None else vars(solution.trace)
    problem = read_problem(painless.load(folder / "problem.npz"))
    csv = (folder / "policy.csv").read_bytes()
    return solution.as_dict(), solution.policy.probabilities, dict(solution.policy.names), trace, problem, csv


def make_frontier(folder: Path, which: int) -> None:
    painless.frontier(world(which)).save(folder)


def read_saved_frontier(folder: Path) -> Any:
    frontier, content = painless.Frontier.load(folder), read_frontier(folder)
    for vertex in range(len(frontier)):
        require_distributions(frontier.policy(vertex).probabilities)
    return frontier.as_dict(), content, read_problem(frontier.problem)


def make_policy(learner: Any, features: Any) -> Callable[[Path, int], None]:
    def make(folder: Path, which: int) -> None:
        rng = np.random.default_rng(which)
        policies = [start_policy(learner, features)]
        for _ in range(6):
            q = LinearQ(features, rng.normal(size=(1, 2, features.dimension)))
            policies.append(policies[-1].advance(np.ones((1, 2)), q))
        mixture = MixturePolicy((policies[2], policies[6]), np.array([0.25, 0.75]))
        painless.save_policy(mixture, folder / "policy.npz")

    return make


def read_policy(folder: Path) -> Any:
    mixture = painless.load_policy(folder / "policy.npz")
    features = mixture.policies[0].features
    states = np.arange(2) if isinstance(features, OneHot) else np.zeros((2, len(features.lower)))
    try:
        played = [policy.at(states)[0] for policy in mixture.policies]
    except InputError:  # a table of fewer states
        played = []
    for table in played:
        require_distributions(table)
    return mixture.weights, played, [policy.updates for policy in mixture.policies]


def trained(algorithm: Any, folder: Path, which: int, *, resume: bool) -> Any:
    simulator = TableSimulator(world(which), time_limit=5)
    return painless.train(
        simulator,
        algorithm,
        features=OneHot(5, 2),
        iterations=4,
        multiplier_bound=5.0,
        episodes=2,
        seed=which,
        checkpoint=folder / "checkpoint.npz",
        resume=resume,
    )


def checkpoint(algorithm: Any) -> Stored:
    def read(folder: Path) -> Any:
        training = trained(algorithm, folder, 1, resume=(folder / "checkpoint.npz").exists())
        return {**training.as_dict(), "seconds": 0}, vars(training.trace)

    return Stored(lambda folder, which: trained(algorithm, folder, which, resume=False) and None, read)


def make_training(folder: Path, which: int) -> None:
    run = painless.train(painless.CartPole(), iterations=2 + which, episodes=2, multiplier_bound=[5.0, 5.0])
    run.save(folder, {"simulator": "cartpole"})


def read_training(folder: Path) -> Any:
    record = TrainingRecord.load(folder)
    mixture = painless.load_policy(folder / "policy.npz")
    return (
        vars(record.estimate),
        vars(record.trace),
        record.standard_error,
        record.status,
        mixture.weights,
        files.read(folder / "problem.json"),
    )


def plan(which: int) -> Sweep:
    return Sweep.of([{"name": "gridworld"}], [{"name": "cbp"}], iterations=2 + which)


def make_store(folder: Path, which: int) -> None:
    run_sweep(plan(which), Store(folder))
    (folder / "manifest.json").unlink()  # nobody reads it


def read_store(folder: Path) -> Any:
    Store(folder).costs()
    found = [read_unit(path) for path in sorted((folder / "units").iterdir())]
    return found, Store(folder).read(plan(1).units[0].settings)


def make_problem(suffix: str, **options: Any) -> Callable[[Path, int], None]:
    def make(folder: Path, which: int) -> None:
        names = {"states": ["a", "b", "c"], "actions": ["go", "stay"], "constraints": ["fuel"]}
        plain = painless.garnet(3, 2, 2, 1, seed=which, **options)
        problem = painless.CMDP(
            plain.transition,
            cost=plain.reward,
            initial=plain.initial,
            discount=0.9,
            constraint_cost=plain.constraint_reward,
            budget=plain.limit,
            names=names,
        )
        problem.save(folder / f"problem{suffix}")

    return make


FOREIGN = """@type: MDP
@parameters

@reward_models
steps energy
@nr_states
{0}
@nr_choices
{1}
@model
state 0 [0, 1] init
	action go [1, 0]
		0 : 0.25
		1 : 0.75
	action stay
		0 : 1
state 1
	action go [1, 1/2]
		1 : 1
"""


def make_foreign(folder: Path, which: int) -> None:
    more = "".join(f"state {i}\n\taction go\n\t\t{i} : 1\n" for i in range(2, 1 + which))
    files.write_text(folder / "problem.drn", FOREIGN.format(1 + which, 2 + which) + more)


def read_problem_file(folder: Path) -> Any:
    path = next(folder.iterdir(), folder / "problem.npz")
    given = {"discount": 0.9, "reward": "steps"} if b"painless" not in head(path) else {}
    return read_problem(painless.load(path, **(given if path.suffix == ".drn" else {})))


def head(path: Path) -> bytes:
    return files.read_bytes(path)[:400]


def read_problem(problem: Any) -> Any:
    """Return all of a problem, once it is seen to be valid."""
    kernel = problem.transition
    dense = kernel if isinstance(kernel, np.ndarray) else kernel.toarray().reshape(*problem.shape[:2], -1)
    require_distributions(dense[problem.actions])
    require_distributions(problem.initial)
    assert 0 <= problem.discount < 1
    assert problem.actions.any(1).all()
    assert np.isfinite(problem.utility).all()
    assert (problem.threshold < np.inf).all()  # −∞ is no limit
    parts = (problem.reward, problem.constraint_reward, problem.limit, problem.initial, problem.actions)
    return dense, *parts, problem.discount, problem.sense, problem.minimise, dict(problem.names)


def require_distributions(table: Any) -> None:
    assert np.isfinite(table).all()
    assert (table >= 0).all()
    assert (np.abs(table.sum(-1) - 1) < 1e-5).all()


TILES = TileCoding([-1.0, -1.0], [1.0, 1.0], tiles=3, tilings=2, actions=2)
HASHED = TileCoding([-1.0], [1.0], tiles=4, tilings=2, actions=2, size=12)
KINDS = {
    "solution": Stored(make_solution, read_solution),
    "infeasible solution": Stored(make_infeasible, read_solution),
    "frontier": Stored(make_frontier, read_saved_frontier),
    "replayed policy": Stored(make_policy(CoinBetting(20.0, 30), TILES), read_policy),
    "replayed table": Stored(make_policy(CoinBetting(20.0), OneHot(3, 2)), read_policy),
    "folded policy": Stored(make_policy(RegretMatching(2.0), HASHED), read_policy),
    "folded basis": Stored(make_policy(CoinBetting(), Fourier([0.0], [1.0], 2, 2)), read_policy),
    "summed policy": Stored(make_policy(ExponentiatedGradient(0.1, 0.01), TILES), read_policy),
    "replayed checkpoint": checkpoint(CBP()),
    "folded checkpoint": checkpoint(PRM()),
    "summed checkpoint": checkpoint(GDA(0.01, 0.001)),
    "switching checkpoint": checkpoint(CRPO(0.1)),
    "training": Stored(make_training, read_training),
    "store": Stored(make_store, read_store),
    "dense problem": Stored(make_problem(".npz"), read_problem_file, sealed=False),
    "sparse problem": Stored(make_problem(".npz", dense=False), read_problem_file, sealed=False),
    "JSON problem": Stored(make_problem(".json"), read_problem_file, sealed=False),
    "sparse JSON problem": Stored(make_problem(".json", dense=False), read_problem_file, sealed=False),
    "model": Stored(make_problem(".drn"), read_problem_file, sealed=False),
    "sparse model": Stored(make_problem(".drn", dense=False), read_problem_file, sealed=False),
    "foreign model": Stored(make_foreign, read_problem_file, sealed=False),
}


# Damage


def damage_bytes(path: Path, other: Path, rng: np.random.Generator) -> str:
    """Change bytes of a file, or what stands in its place; return what was done."""
    data = bytearray(path.read_bytes())
    size = len(data)
    at, end = sorted(int(i) for i in rng.integers(0, size + 1, 2))
    changes: dict[str, Callable[[], Any]] = {
        "flip": lambda: data.__setitem__(at % size, data[at % size] ^ (1 << int(rng.integers(8)))),
        "byte": lambda: data.__setitem__(at % size, int(rng.integers(256))),
        "digit": lambda: data.__setitem__(at % size, int(rng.choice(list(b'0123456789.eE-,[]{}": \n')))),
        "zero": lambda: data.__setitem__(slice(at, end), bytes(end - at)),
        "cut": lambda: data.__delitem__(slice(at, end)),
        "truncate": lambda: data.__delitem__(slice(at, None)),
        "append": lambda: data.extend(rng.bytes(9)),
        "repeat": lambda: data.__setitem__(slice(end, end), data[at:end]),
        "shuffle": lambda: data.__setitem__(
            slice(None), rng.permutation(np.frombuffer(data, np.uint8)).tobytes()
        ),
    }
    places: dict[str, Callable[[], Any]] = {
        "empty": lambda: path.write_bytes(b""),
        "gone": path.unlink,
        "folder": lambda: (path.unlink(), path.mkdir()),
        "pipe": lambda: (path.unlink(), os.mkfifo(path)),
        "another": lambda: shutil.copyfile(other, path),
    }
    name = str(rng.choice([*changes, *changes, *changes, *places]))
    if name in places:
        places[name]()
    else:
        changes[name]()
        path.write_bytes(data)
    return name


def damage_entries(path: Path, rng: np.random.Generator) -> str:
    """Change entries of an archive or a JSON file; return what was done."""
    content = dict(np.load(path)) if path.suffix == ".npz" else json.loads(path.read_text())
    key = str(rng.choice(list(content)))
    name = str(rng.choice(["drop", "rename", "add", "swap", *["value"] * 6]))
    if name == "drop":
        del content[key]
    elif name == "rename":
        content[f"{key}s"] = content.pop(key)
    elif name == "add":
        content["more"] = np.zeros(3)
    elif name == "swap":
        with_key = str(rng.choice(list(content)))
        content[key], content[with_key] = content[with_key], content[key]
    else:
        damaged = damaged_array if isinstance(content[key], np.ndarray) else damaged_json
        content[key] = damaged(content[key], rng)
    if path.suffix == ".json":
        path.write_text(json.dumps(content, default=files.plain))
    else:
        write_archive(path, content)
    return f"{name} {key}"


def write_archive(path: Path, content: dict[str, Any]) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for key, value in content.items():
            buffer = io.BytesIO()
            np.lib.format.write_array(buffer, np.asanyarray(value))
            archive.writestr(f"{key}.npy", buffer.getvalue())


ODD = [np.nan, np.inf, -np.inf, -1.0, 0.0, 1.0, 0.5, 2.0, 1e9, -1e9, 1e300, 7e-310]
ODD_TEXTS = ["", "painless", '{"a": 1}', "[" * 50, "9" * 5000, "\u2028", "nan", "\0"]


def damaged_array(array: Any, rng: np.random.Generator) -> Any:
    if array.dtype.kind == "U" and not array.shape and rng.random() < 0.8:
        text = str(array)
        with_json = text.startswith("{") and rng.random() < 0.8
        if with_json:
            return np.array(json.dumps(damaged_json(json.loads(text), rng)))
        return np.array(rng.choice(ODD_TEXTS))
    changed = array.copy()
    ways: list[Callable[[], Any]] = [
        lambda: retyped(array, str(rng.choice(["f4", "i4", "i8", "u1", "?", "c16", "U9", ">f8", "S3"]))),
        lambda: array[None],
        lambda: array.ravel()[: max(0, array.size - int(rng.integers(1, 4)))],
        lambda: array.T,
        lambda: np.concatenate([array.ravel(), array.ravel()]),
        lambda: np.zeros((0, *array.shape[1:]), array.dtype),
        lambda: array.reshape(-1, 1),
        lambda: np.array(5),
    ]
    if array.size and array.dtype.kind in "fiu" and rng.random() < 0.7:
        odd = rng.choice(ODD)
        kept = odd if array.dtype.kind == "f" else np.clip(np.nan_to_num(odd), -(2.0**62), 2.0**62)
        step = array.flat[0] + rng.choice([-1, 1])
        with np.errstate(all="ignore"):
            value = np.asarray(rng.choice([kept, step])).astype(array.dtype)
        changed.flat[int(rng.integers(array.size))] = value
        return changed
    return ways[int(rng.integers(len(ways)))]()


def retyped(array: Any, dtype: str) -> Any:
    try:
        return array.astype(dtype)
    except ValueError:  # text that is no number
        return np.ones(array.shape, dtype)


def damaged_json(value: Any, rng: np.random.Generator) -> Any:
    """Return a JSON value with something changed somewhere in it."""
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = str(rng.choice(list(value)))
        if rng.random() < 0.15:
            return {name: one for name, one in value.items() if name != key}
        return {**value, key: damaged_json(value[key], rng)}
    if isinstance(value, list) and value and rng.random() < 0.9:
        at = int(rng.integers(len(value)))
        if rng.random() < 0.2:
            return value[:at] + value[at + 1 :]
        return [*value[:at], damaged_json(value[at], rng), *value[at + 1 :]]
    odd = [
        *ODD,
        *ODD_TEXTS,
        None,
        True,
        False,
        0,
        1,
        -1,
        3,
        10**9,
        10**30,
        [],
        {},
        [[]],
        [1, [2]],
        {"a": None},
    ]
    return odd[int(rng.integers(len(odd)))]


def seal_anew(folder: Path) -> None:
    """Compute the checksums of all files of a folder anew, heads of folders last."""
    paths = sorted(folder.rglob("*.*"), key=lambda path: (is_head(path), path.name))
    for path in paths:
        if path.is_file() and path.suffix in (".npz", ".json"):
            archive = path.suffix == ".npz"
            content = dict(np.load(path)) if archive else json.loads(path.read_text())
            if "checksum" not in content:
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                content["files"] = digests(content.get("files", {}), path.parent)
            if "format" in content and "version" in content:
                content["checksum"] = results.checksum(content)
            if archive:
                write_archive(path, content)
            else:
                path.write_text(json.dumps(content, default=files.plain))


def is_head(path: Path) -> bool:
    return path.name in ("solution.json", "training.json", "arrays.npz")


def digests(listed: Any, folder: Path) -> Any:
    """Return a list of files with the digests that they have now."""
    packed = isinstance(listed, np.ndarray)
    try:
        names = json.loads(str(listed)) if packed else listed
        found = {name: files.digest(folder / name) for name in names}
    except Exception:  # it is what was damaged
        return listed
    return np.array(json.dumps(found)) if packed else found


# The cases


class Case:
    """The stored things, made once; `check(i)` damages a copy of one of them, and returns what went wrong."""

    def __init__(self, root: Path, seed: int) -> None:
        self.root, self.seed = root, seed
        self.expected: dict[str, str] = {}
        for name, stored in KINDS.items():
            for which in (1, 2):
                (root / name / str(which)).mkdir(parents=True)
                stored.make(root / name / str(which), which)
            self.expected[name] = text_of(stored.read(self.copy(name)))

    def copy(self, name: str) -> Path:
        target = self.root / "damaged"
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(self.root / name / "1", target)
        return target

    def check(self, i: int) -> str | None:
        rng = np.random.default_rng((self.seed, i))
        name = list(KINDS)[i % len(KINDS)]
        stored, folder = KINDS[name], self.copy(name)
        paths = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != ".lock"]
        path = paths[int(rng.integers(len(paths)))]
        way = str(rng.choice(["bytes", "entries", "anew"]))
        if way == "bytes" or path.suffix not in (".npz", ".json"):
            way = "bytes"
            done = damage_bytes(path, self._other(name, path, rng), rng)
        else:
            done = damage_entries(path, rng)
            if way == "anew":
                seal_anew(folder)
        # Another's policy is a policy; no checkpoint, a start
        whole = len(paths) == 1 and done in ("another", "gone")
        wrong = self._read(name, folder, may_differ=way == "anew" or not stored.sealed or whole)
        return wrong and f"{name}, seed {self.seed}, case {i}: {way}, {done}, {path.name}: {wrong}"

    def _other(self, name: str, path: Path, rng: np.random.Generator) -> Path:
        """Return the file of another that could stand in a file's place."""
        if rng.random() < 0.7:
            twin = self.root / name / "2" / path.relative_to(self.root / "damaged")
            if twin.exists():
                return twin
        others = sorted(
            p for p in self.root.rglob(f"*{path.suffix}") if "damaged" not in p.parts and p.is_file()
        )
        return others[int(rng.integers(len(others)))]

    def _read(self, name: str, folder: Path, *, may_differ: bool) -> str | None:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                found = text_of(KINDS[name].read(folder))
        except InputError as error:
            return f"not one line: {error}" if "\n" in str(error).strip() else None
        except Exception as error:  # whatever it is, it is a defect
            return f"{type(error).__name__}: {error}"
        return None if may_differ or found == self.expected[name] else "loads to something else"


def text_of(content: Any) -> str:
    """Return content as text that differs where the content does."""
    with np.printoptions(threshold=10**9, floatmode="unique"):
        return repr(content)


def run(count: int, seed: int) -> list[str]:
    """Damage stored things `count` times; return what went wrong."""
    with tempfile.TemporaryDirectory() as folder:
        case = Case(Path(folder), seed)
        return [wrong for i in range(count) if (wrong := case.check(i)) is not None]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    found = run(arguments.count, arguments.seed)
    print(*found, f"{len(found)} of {arguments.count} went wrong", sep="\n")
    raise SystemExit(bool(found))
