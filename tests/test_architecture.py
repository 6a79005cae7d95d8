"""docs/architecture.md is true: its rooms, the walks of the data, and one more of each kind added from outside by one line."""

import ast
import importlib
import json
import re
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
import pytest
from scipy.optimize import linprog

import painless
from painless.backends import BACKENDS
from painless.backends.base import attempt
from painless.duals import Lagrangian
from painless.duals.base import with_reward
from painless.engines.engine import ENGINES, Response, engine_of
from painless.engines.factorised import Factorised
from painless.evaluators import EVALUATORS
from painless.features import OneHot
from painless.learners import Cocob, CoinBetting, ExponentiatedGradient
from painless.loop.algorithms import ALGORITHMS
from painless.planning import PLANNERS
from painless.planning.game import Aim, Game, SlackGame
from painless.policies import KINDS, FoldedPolicy, LinearQ, MixturePolicy, start_policy
from painless.policies.description import LEARNERS
from painless.policies.storage import READERS
from painless.problem.formats.registry import FORMATS, Format
from painless.report.saved_pages import PAGES, Page
from tests.test_import_order import ROOMS, ROOT
from tests.test_registry import Shifted, read_numbers

PAGE = (Path(__file__).parent.parent / "docs" / "architecture.md").read_text(encoding="utf-8")
HOP = re.compile(r"(⇄ )?`([\w/]+\.py): ([\w.]+)`")
SWEEP = """
iterations = 10
seeds = [0, 1]

[[problem]]
name = "gridworld"

[[algorithm]]
name = "cbp"
"""


def section(title):
    """Return the part of the page below a heading, up to the next one."""
    return re.split(r"^#+ ", PAGE.split(f"{title}\n", 1)[1], maxsplit=1, flags=re.MULTILINE)[0]


def rows(text):
    """Return the cells of a table's rows, without its header."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def _targets(node):
    return getattr(node, "targets", [getattr(node, "target", None)])


def defined(file, name):
    """Whether a file defines a function, class, method or variable, such as `Game.play`."""
    body: Sequence[ast.AST] = ast.parse((ROOT / file).read_text(encoding="utf-8")).body
    for part in name.split("."):
        found = [
            node
            for node in body
            if getattr(node, "name", None) == part
            or part in {getattr(target, "id", None) for target in _targets(node)}
        ]
        if not found:
            return False
        body = getattr(found[0], "body", [])
    return True


def is_protocol(file, name):
    module = importlib.import_module("painless." + file.removesuffix(".py").replace("/", "."))
    owner = getattr(module, name.split(".")[0])
    return isinstance(owner, type) and Protocol in owner.__mro__ and owner._is_protocol


# ---------------------------------------------------------------- the rooms


def test_the_picture_shows_the_rooms_in_order():
    picture = PAGE.split("```text\n")[1].split("```")[0]
    inside = [line for line in picture.splitlines() if "│" in line]
    assert re.findall(r"\w+", " ".join(inside)) == ROOMS


def test_every_room_has_a_line():
    assert [row[0].strip("`") for row in rows(PAGE.split("## How")[0])] == ROOMS
    assert all(row[1] for row in rows(PAGE.split("## How")[0]))


def test_every_name_on_the_page_exists():
    found = HOP.findall(PAGE)
    assert len(found) > 50
    for _, file, name in found:
        assert defined(file, name), f"{file}: {name}"


# ---------------------------------------------------------------- the walks


def calls(work):
    """Return the functions of the package that are called meanwhile, as (file, qualified name)."""
    found = set()

    def note(frame, event, _):
        if event == "call" and frame.f_code.co_filename.startswith(str(ROOT)):
            found.add((Path(frame.f_code.co_filename).relative_to(ROOT).as_posix(), frame.f_code.co_qualname))

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return found


WALKS = {
    "solve": [("solve", "{model}", "--report", "{page}"), ("solve", "{model}", "--algorithm", "lp")],
    "train": [
        (
            *("train", "cartpole", "--iterations", "2", "--rollouts", "2", "--episodes", "5"),
            *(
                "--multiplier-bound",
                "5",
                "--multiplier-bound",
                "5",
                "--save",
                "{folder}",
                "--report",
                "{page}",
            ),
        )
    ],
    "frontier": [("frontier", "{model}", "--report", "{page}")],
    "sweep": [("sweep", "{file}", "--out", "{folder}"), ("report", "{folder}")],
}
LEARNING = ("solve", "{model}", "--algorithm", "cbp", "--iterations", "3")


@pytest.mark.parametrize("verb", WALKS)
def test_data_go_on_to_later_rooms_or_back_through_a_protocol(verb):
    for step in re.split(r"^\d\. ", section(f"### `{verb}`"), flags=re.MULTILINE)[1:]:
        assert HOP.search(step)
    room = 0
    for back, file, name in HOP.findall(section(f"### `{verb}`").split("With an algorithm")[0]):
        there = ROOMS.index(file.split("/")[0].removesuffix(".py"))
        if there < room:
            assert back, f"{file}: {name} is a step back"
            assert is_protocol(file, name)
        else:
            room = there


@pytest.mark.parametrize("verb", WALKS)
def test_the_commands_pass_through_every_hop(verb, run, tmp_path):
    painless.gridworld().save(tmp_path / "model.npz")
    (tmp_path / "sweep.toml").write_text(SWEEP)
    places = {"model": "model.npz", "page": "page.html", "folder": "folder", "file": "sweep.toml"}
    places = {name: tmp_path / place for name, place in places.items()}

    def work():
        for command in [*WALKS[verb], *([LEARNING] if verb == "solve" else [])]:
            code, _, err = run(*(word.format(**places) for word in command))
            assert code == 0, err

    called = calls(work)
    methods = {name.split(".")[-1] for _, name in called}
    owners = {(file, name.split(".")[0]) for file, name in called}
    for _, file, name in HOP.findall(section(f"### `{verb}`")):
        if is_protocol(file, name):
            assert name.split(".")[1] in methods, name
        else:
            assert (file, name) in called or (file, name) in owners, f"{verb} does not call {file}: {name}"


PASSES = """
import sys
from pathlib import Path

import painless
from painless import cli

root, page = str(Path(painless.__file__).parent), sys.argv[1]
world, found = painless.gridworld(), set()
sys.argv = ["painless", "solve", "gridworld", "--report", page]


def note(frame, event, _):
    code = frame.f_code
    if event == "call" and code.co_filename.startswith(root) and not code.co_qualname.endswith(">"):
        found.add((code.co_filename, code.co_qualname))


sys.setprofile(note)
try:
    cli.main() if page else painless.solve(world)
except SystemExit as end:
    assert not end.code
finally:
    sys.setprofile(None)
print(len(found), len({file for file, _ in found}))
"""


@pytest.mark.parametrize("page", ["", "page.html"], ids=["solve", "report"])
def test_a_solve_passes_through_no_more_functions_and_files_than_the_page_says(page, tmp_path):
    command = [sys.executable, "-c", PASSES, str(tmp_path / page) if page else ""]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    functions, files = map(int, ran.stdout.split()[-2:])
    told = re.findall(r"through (\d+)(?: functions)? in (\d+)", section("### `solve`"))
    most_functions, most_files = map(int, told[bool(page)])
    assert functions <= most_functions
    assert files <= most_files


# ---------------------------------------------------------------- one more of each, from outside


class SoftLeaderState(NamedTuple):
    decision: np.ndarray
    gain_sum: np.ndarray


@dataclass(frozen=True)
class SoftLeader:
    """A learner: probabilities in proportion to exp(rate · the sum of all gains)."""

    rate: float

    def init(self, prior):
        return SoftLeaderState(prior, np.zeros_like(prior))

    def update(self, gain, state):
        total = state.gain_sum + gain
        power = np.exp(self.rate * (total - total.max(-1, keepdims=True)))
        return SoftLeaderState(power / power.sum(-1, keepdims=True), total)


@dataclass(frozen=True)
class SoftLeaderAlgorithm:
    rate: float = 1.0
    name = "soft-leader"

    def build(self, situation):
        return SoftLeader(self.rate), Lagrangian(Cocob(8.0), situation.multiplier_bound)


def test_add_a_learner(monkeypatch, run):
    monkeypatch.setitem(ALGORITHMS, "soft-leader", SoftLeaderAlgorithm)
    options = ("--set", "rate=2", "--iterations", "50", "--json")
    code, out, _ = run("solve", "gridworld", "--algorithm", "soft-leader", *options)
    assert code == 0
    assert json.loads(out)["algorithm"] == "soft-leader"
    pair = SoftLeaderAlgorithm(2.0)
    own = painless.PrimalDual(lambda s: pair.build(s)[0], lambda s: pair.build(s)[1])
    solution = painless.solve(painless.gridworld(), own, iterations=50)
    assert json.loads(out)["reward_value"] == solution.reward_value
    assert solution.feasible


def test_policies_of_an_added_learner_are_saved(monkeypatch, tmp_path):
    monkeypatch.setitem(LEARNERS, "SoftLeader", SoftLeader)
    features = OneHot(2, 3)
    first = start_policy(SoftLeader(2.0), features)
    second = first.advance(np.ones((1, 1)), LinearQ(features, np.arange(6.0)[None, None]))
    painless.save_policy(MixturePolicy.uniform((first, second)), tmp_path / "policy.npz")
    again = painless.load_policy(tmp_path / "policy.npz").policies[1]
    assert again.learner == SoftLeader(2.0)
    assert np.array_equal(again.at(np.arange(2)), second.at(np.arange(2)))
    assert second.at(np.arange(2))[0, 0].argmax() == 2


@dataclass(frozen=True)
class Fixed:
    """A dual: the same multiplier for ever."""

    price: float

    def init(self, multiplier):
        return np.full_like(multiplier, self.price)

    def play(self, shortfall, state):
        return with_reward(state), state


@dataclass(frozen=True)
class FixedPrice:
    price: float = 1.0
    name = "fixed-price"

    def build(self, situation):
        return CoinBetting(situation.normaliser, situation.iterations), Fixed(self.price)


def test_add_a_dual(monkeypatch, run, tmp_path):
    monkeypatch.setitem(ALGORITHMS, "fixed-price", FixedPrice)
    path = tmp_path / "sweep.toml"
    path.write_text(SWEEP.replace('"cbp"', '"fixed-price"\nprice = [0.5, 2.0]'))
    code, out, _ = run("sweep", path, "--out", tmp_path / "store")
    assert code == 0
    assert "fixed-price price=0.5" in out
    assert "fixed-price price=2" in out


def test_add_an_evaluator(monkeypatch, run, tmp_path):
    monkeypatch.setitem(EVALUATORS, "shifted", Shifted)
    path = tmp_path / "sweep.toml"
    path.write_text(SWEEP + '\n[evaluator]\nname = "shifted"\nsamples = 3\n')
    code, out, _ = run("sweep", path, "--out", tmp_path / "store")
    assert code == 0
    assert "shifted samples=3 evaluation" in out


class Counting(Factorised):
    """An engine: that of small models, with a count of its best responses."""

    count = 0

    def best(self, weight, tolerance, precision):
        Counting.count += 1
        return super().best(weight, tolerance, precision)


def test_add_an_engine(monkeypatch):
    monkeypatch.setattr(Counting, "count", 0)
    monkeypatch.setitem(ENGINES, "counting", lambda problem, _: Counting(problem))
    solution = painless.solve(painless.gridworld(), tolerance=1e-6)
    assert solution.reward_value == pytest.approx(1.6527218430, abs=1e-8)
    assert Counting.count >= solution.best_responses > 0


@dataclass(frozen=True)
class Renamed:
    """A planner: the linear program under another name."""

    name = "renamed"

    def answer(self, case, task):
        return PLANNERS["lp"]().answer(case, task)._replace(planner=self.name)


def test_add_a_planner(monkeypatch, run):
    monkeypatch.setitem(PLANNERS, "renamed", Renamed)
    code, out, _ = run("solve", "gridworld", "--algorithm", "renamed", "--json")
    assert code == 0
    assert json.loads(out)["algorithm"] == "renamed"
    assert painless.solve(painless.gridworld(), Renamed()).feasible


class Ending(painless.CMDP):
    """A problem whose utilities add up without a discount until its last state, which pays nothing and is never left."""


class TotalReward:
    """An engine of another criterion: V = u + PV before the end. It tries every policy, of which there are few."""

    exact, rounding = True, 1e-12

    def __init__(self, problem):
        self.problem = problem
        self.plans = np.array([*product(range(problem.shape[1]), repeat=problem.shape[0])])
        lengths = np.array([self._value(plan, np.ones((1, *problem.shape[:2]))) for plan in self.plans])
        self.values = np.array([self._value(plan, problem.utility) for plan in self.plans])
        self.unit = float(lengths.max())
        self.extent = (self.values.min(0), self.values.max(0))

    def _value(self, plan, utility):
        before = np.arange(len(plan) - 1)
        chain = self.problem.transition[before, plan[before]][:, before]
        value = np.linalg.solve(np.eye(len(before)) - chain, utility[:, before, plan[before]].T)
        return self.problem.initial[before] @ value

    def best(self, weight, tolerance, precision):
        k = (self.values @ weight).argmax()
        value, best = self.values[k], float(self.values[k] @ weight)
        return Response(self.plans[k], value, value, best, best, self.rounding)


def optimal_total(problem):
    """The linear program over the pairs before the end: how often each is taken."""
    states, actions, _ = problem.shape
    before = (states - 1) * actions
    leaves = np.kron(np.eye(states - 1), np.ones(actions))
    flow = leaves - problem.transition.reshape(-1, states)[:before, :-1].T
    utility = problem.utility.reshape(-1, states * actions)[:, :before]
    return -linprog(-utility[0], -utility[1:], -problem.threshold, flow, problem.initial[:-1]).fun


def test_add_a_criterion(monkeypatch):
    monkeypatch.setitem(ENGINES, "total", lambda p, _: TotalReward(p) if isinstance(p, Ending) else None)
    rng = np.random.default_rng(0)
    transition = rng.dirichlet(np.ones(4), (4, 2))
    transition[3] = np.eye(4)[3]
    utility = rng.random((3, 4, 2))
    utility[:, 3] = 0.0
    problem = Ending(
        *(transition, utility[0]),
        **{"initial": [0.5, 0.5, 0.0, 0.0], "discount": 0.5},
        **{"constraint_cost": utility[1:], "budget": [5.0, 5.0]},
    )
    game: Game = SlackGame(engine_of(problem))
    assert game.play(lambda: game.mixture.value > 0.01)  # a mixture that meets both limits
    aim = Aim(np.eye(3)[0], np.array([1, 2]), problem.threshold, problem.threshold)
    game = Game(engine_of(problem), aim, game.columns, safe=game.mixture.weights)
    assert game.play(lambda: game.open <= 1e-9)
    assert game.mixture.value == pytest.approx(optimal_total(problem), abs=1e-8)
    assert game.price.max() > 0.01  # the limits matter
    assert isinstance(engine_of(painless.gridworld()), Factorised)


@dataclass(frozen=True)
class Always:
    """A policy of another kind: one action for ever."""

    action: int
    updates: int = 0

    def at(self, states):
        return np.eye(4)[np.full((1, len(states)), self.action)]

    def description(self):
        return {"kind": "always"}

    @classmethod
    def parts(cls, iterates):
        return {"action": np.array([one.action for one in iterates])}


def test_add_a_policy(monkeypatch, tmp_path):
    monkeypatch.setitem(READERS, "always", lambda about, content, updates: [*map(Always, content["action"])])
    path = tmp_path / "policy.npz"
    painless.save_policy(MixturePolicy.uniform((Always(0), Always(2))), path)
    policy = painless.load_policy(path)
    assert [one.action for one in policy.policies] == [0, 2]
    estimate = painless.evaluate(policy, painless.gridworld(), episodes=5)
    assert len(estimate.mean) == 2


class Remembered(FoldedPolicy):
    """A policy over features, for one learner."""

    @classmethod
    def serves(cls, learner, features):
        return isinstance(learner, ExponentiatedGradient)


def test_add_a_policy_over_features(monkeypatch):
    monkeypatch.setattr("painless.policies.KINDS", kinds := [*KINDS])
    kinds.insert(0, Remembered)
    features = painless.CartPole().features()
    assert isinstance(start_policy(ExponentiatedGradient(1.0), features), Remembered)
    assert not isinstance(start_policy(CoinBetting(1.0), features), Remembered)


def test_add_a_file_format(monkeypatch, run, tmp_path):
    monkeypatch.setitem(FORMATS, ".numbers", Format(read_numbers, parameters={"slope": float}))
    path = tmp_path / "bandit.numbers"
    path.write_text("1 3 2")
    assert painless.load(path, slope=2.0).reward.tolist() == [[2.0, 6.0, 4.0]]
    code, out, _ = run("solve", path, "--json")
    assert code == 0
    assert json.loads(out)["reward_value"] == pytest.approx(6.0)


def diary_page(folder, title):
    return f"<h1>{title}</h1>{(folder / 'diary.txt').read_text()}"


def test_add_a_page(monkeypatch, run, tmp_path):
    monkeypatch.setitem(PAGES, "diary", Page("diary.txt", diary_page))
    (tmp_path / "diary.txt").write_text("Nothing happened.")
    code, _, _ = run("report", tmp_path, "--title", "Monday")
    assert code == 0
    assert (tmp_path / "report.html").read_text() == "<h1>Monday</h1>Nothing happened."
    code, out, _ = run("plot", tmp_path)
    assert code == 0
    assert "nothing to draw" in out


@dataclass(frozen=True)
class Threads:
    """A backend: threads of this process."""

    workers: int = 1
    remote = False

    def __enter__(self):
        return self

    def __exit__(self, *ignored):
        pass

    def map(self, function, pieces):
        work = [*pieces]
        with ThreadPoolExecutor(self.workers) as pool:
            yield from zip(work, pool.map(lambda piece: attempt(function, piece), work), strict=True)


def test_add_a_backend(monkeypatch, run, tmp_path):
    monkeypatch.setitem(BACKENDS, "threads", Threads)
    path = tmp_path / "sweep.toml"
    path.write_text(SWEEP)
    code, out, _ = run("sweep", path, "--out", tmp_path / "there", "--backend", "threads", "--workers", "2")
    assert code == 0
    code, here, _ = run("sweep", path, "--out", tmp_path / "here")
    assert out.replace("there", "here") == here
    code, _, err = run("sweep", path, "--out", tmp_path / "no", "--backend", "thread")
    assert code == 2
    assert "unknown backend 'thread'" in err.lower()


def test_there_is_an_addition_for_every_row():
    added = {row[0].split(" ", 1)[1] for row in rows(section("## Where does it go?"))}
    assert len(added) == 10
    for name in added:
        assert any(re.fullmatch(f"test_add_an?_{name.replace(' ', '_')}", one) for one in globals()), name
