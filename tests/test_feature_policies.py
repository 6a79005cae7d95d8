"""Policies over features: replay equals the fold, the cache changes nothing, and files keep everything."""

import json

import numpy as np
import pytest

import painless
from painless import CartPole, InputError
from painless.evaluators import ExactEvaluator
from painless.features import OneHot, TileCoding
from painless.learners import Cocob, CoinBetting, Decaying, ExponentiatedGradient, RegretMatching
from painless.policies import (
    FoldedPolicy,
    History,
    LinearQ,
    MixturePolicy,
    ReplayedPolicy,
    SummedPolicy,
    start_policy,
)
from painless.policies.cell_bettors import Bettors, Cells, replay
from painless.policies.cell_states import CellStates, fold
from painless.policies.learning_table import LearningTable, TabularQ
from painless.policies.storage import READERS, load_policy, save_policy, to_arrays
from painless.storage import checked_entries as entries
from painless.storage import results

FEATURES = TileCoding(-np.ones(2), np.ones(2), tiles=3, tilings=4, actions=3)
LEARNERS = {
    "horizon known": CoinBetting(20.0, 30),
    "anytime": CoinBetting(20.0),
    "entropy": CoinBetting(20.0 + 25 * 0.3, 30, 0.3),
    "printed": CoinBetting(20.0, 30, printed=True),
    "tight range, so that it clips": CoinBetting(0.5, 30),
    "gradient": ExponentiatedGradient(0.1),
    "gradient with entropy": ExponentiatedGradient(0.1, 0.5),
}


def advanced(policy, iterations, seed=0, features=FEATURES, look=True):
    """Advance a policy with random action values, looking at some states on the way."""
    rng, eyes = np.random.default_rng(seed), np.random.default_rng(77)
    iterates = [policy]
    for _ in range(iterations):
        q = LinearQ(features, rng.normal(size=(1, 2, features.dimension)))
        if look:
            policy.at(eyes.uniform(-1, 1, (5, 2)))
        policy = policy.advance(rng.random((1, 2)), q)
        iterates.append(policy)
    return iterates


@pytest.mark.parametrize("name", LEARNERS)
def test_replay_is_the_fold(name):
    learner = LEARNERS[name]
    fast = advanced(start_policy(learner, FEATURES), 25)
    slow = advanced(FoldedPolicy.start(learner, FEATURES), 25)
    states = np.random.default_rng(1).uniform(-1.2, 1.2, (300, 2))
    for one, other in zip(fast[::6], slow[::6], strict=True):
        np.testing.assert_allclose(one.at(states), other.at(states), rtol=1e-9, atol=1e-12)
    assert isinstance(fast[0], SummedPolicy if "gradient" in name else ReplayedPolicy)


def test_cached_and_replayed_agree_to_the_bit():
    *_, newest = advanced(start_policy(LEARNERS["horizon known"], FEATURES), 25)
    states = np.random.default_rng(1).uniform(-1, 1, (400, 2))
    older = ReplayedPolicy(newest.learner, FEATURES, newest.history, newest.updates)
    np.testing.assert_array_equal(newest.at(states), older.at(states))
    unseen = advanced(start_policy(LEARNERS["horizon known"], FEATURES), 25, look=False)[-1]
    np.testing.assert_array_equal(newest.at(states), unseen.at(states))


def test_a_full_cache_starts_anew_and_changes_nothing():
    learner = LEARNERS["anytime"]
    cells = Cells(learner, FEATURES, most=40, first=8)
    *_, small = advanced(ReplayedPolicy.start(learner, FEATURES, cells), 25)
    *_, large = advanced(start_policy(learner, FEATURES), 25)
    states = np.random.default_rng(1).uniform(-1, 1, (30, 2))
    for part in np.split(states, 3):
        np.testing.assert_array_equal(small.at(part), large.at(part))
        assert cells.count <= 40


def test_older_iterates_stay_what_they_were():
    states = np.random.default_rng(1).uniform(-1, 1, (20, 2))
    policy = start_policy(LEARNERS["anytime"], FEATURES)
    first = advanced(policy, 3)[-1]
    before = first.at(states)
    later = advanced(first, 10, seed=5)
    np.testing.assert_array_equal(first.at(states), before)
    with pytest.raises(ValueError, match="only the newest iterate"):
        advanced(later[3], 1)


def test_over_one_hot_features_it_is_the_table():
    """Replay == table: the same learner with the same gains."""
    world = painless.gridworld()
    features, learner = OneHot(25, 4), CoinBetting(180.0, 20)
    table = LearningTable.start(learner, np.full((1, 25, 4), 0.25))
    policy = start_policy(learner, features)
    weight = np.array([[1.0, 0.5]])
    for _ in range(20):
        q = ExactEvaluator(world).evaluate(table).q
        table = table.advance(weight, q)
        policy = policy.advance(weight, LinearQ(features, q.values.reshape(1, 2, 100)))
        np.testing.assert_allclose(policy.at(np.arange(25)), table.probabilities, atol=1e-12)


def test_other_learners_and_dense_features_fold():
    class Dense:
        dimension, actions = 3, 2

        def at(self, states):
            return np.stack([np.stack([states, states**2, 1 + 0 * states], 1)] * 2, 1) * [[[1.0], [-1.0]]]

    assert isinstance(start_policy(CoinBetting(), Dense()), FoldedPolicy)
    assert isinstance(start_policy(Cocob(), FEATURES), FoldedPolicy)
    policy = start_policy(ExponentiatedGradient(1.0), Dense())
    policy = policy.advance(np.ones((1, 1)), LinearQ(Dense(), np.array([[[1.0, 0.0, 0.0]]])))
    np.testing.assert_allclose(policy.at(np.array([0.0, 1.0]))[0, :, 0], [0.5, np.e / (np.e + 1 / np.e)])


def test_one_action_at_a_time():
    *_, policy = advanced(start_policy(LEARNERS["anytime"], FEATURES), 10)
    state, rng = np.array([0.1, -0.4]), np.random.default_rng(0)
    shares = np.bincount([policy.act(state, rng) for _ in range(3000)], minlength=3) / 3000
    np.testing.assert_allclose(shares, policy.at(state[None])[0, 0], atol=0.04)


def test_linear_q():
    q = LinearQ(OneHot(2, 2), np.arange(8.0).reshape(1, 2, 4))
    np.testing.assert_array_equal(q.at(np.array([1])), [[[[2.0, 3.0]], [[6.0, 7.0]]]])
    np.testing.assert_array_equal(q.combine(np.array([[1.0, 0.5]])), [[2.0, 3.5, 5.0, 6.5]])
    table = TabularQ(q.at(np.arange(2)))
    np.testing.assert_array_equal(
        table.combine(np.array([[1.0, 0.5]])).ravel(), q.combine(np.array([[1.0, 0.5]])).ravel()
    )


@pytest.mark.parametrize(
    "learner",
    [
        *(LEARNERS[name] for name in ("horizon known", "anytime", "entropy", "gradient with entropy")),
        RegretMatching(2.0, predictive=False),
    ],
    ids=repr,
)
def test_mixture_survives_its_file(learner, tmp_path):
    iterates = advanced(start_policy(learner, FEATURES), 12)
    mixture = MixturePolicy((iterates[3], iterates[7], iterates[12]), np.array([0.5, 0.25, 0.25]))
    save_policy(mixture, tmp_path / "policy.npz")
    again = load_policy(tmp_path / "policy.npz")
    states = np.random.default_rng(1).uniform(-1, 1, (50, 2))
    np.testing.assert_array_equal(again.weights, mixture.weights)
    for one, other in zip(mixture.policies, again.policies, strict=True):
        assert other.learner == learner
        np.testing.assert_array_equal(one.at(states), other.at(states))
    rng = np.random.default_rng(0)
    assert {again.draw(rng).updates for _ in range(50)} == {3, 7, 12}


def test_files_that_hold_no_policy(tmp_path):
    np.savez(tmp_path / "other.npz", x=np.ones(3))
    with pytest.raises(InputError, match="is not a policy that this version of painless saved"):
        load_policy(tmp_path / "other.npz")
    odd = {"description": '{"features": {"kind": "Deep"}}', "updates": [1], "weights": [1.0]}
    results.write(tmp_path / "odd.npz", "policy", odd)
    with pytest.raises(InputError, match="describes a 'Deep'"):
        load_policy(tmp_path / "odd.npz")
    with pytest.raises(InputError, match="cannot be saved"):
        save_policy(MixturePolicy.uniform((FoldedPolicy.start(Cocob(), FEATURES),)), tmp_path / "no.npz")
    assert not (tmp_path / "no.npz").exists()


def saved(tmp_path, learner):
    """Save a mixture, and return its file and what it holds."""
    iterates = advanced(start_policy(learner, FEATURES), 12)
    save_policy(MixturePolicy((iterates[3], iterates[12]), np.array([0.5, 0.5])), tmp_path / "policy.npz")
    return tmp_path / "policy.npz", results.read(tmp_path / "policy.npz", "policy")


@pytest.mark.parametrize("learner", [CoinBetting(20.0, 30), RegretMatching()], ids=["replayed", "folded"])
@pytest.mark.parametrize("beyond", [1, 10**9])
def test_updates_beyond_the_history_are_refused(tmp_path, learner, beyond):
    """The checksum is right: it was another program that made the file, and a kernel would read outside its memory."""
    path, content = saved(tmp_path, learner)
    results.write(path, "policy", content | {"updates": content["updates"] + [0, beyond]})
    with pytest.raises(InputError, match="does not hold a policy: 'updates' go to"):
        load_policy(path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"updates": np.array([3.0, 12.0])}, "'updates' is of type float64"),
        ({"updates": np.array([-1, 12])}, "'updates' holds -1"),
        ({"updates": np.array([3])}, r"'weights' has shape \(2,\), not \(1,\)"),
        ({"weights": np.array([0.5, 0.6])}, "'weights' does not sum to 1"),
        ({"weights": np.array([-0.5, 1.5])}, "'weights' holds -0.5"),
        ({"history_features": np.array([10**6])}, "'history_features' has shape"),
        ({"history_weights": np.full((40, 12), np.nan)}, "'history_weights' holds nan"),
        ({"description": "{}"}, "KeyError"),
        ({"description": "["}, "JSONDecodeError"),
    ],
)
def test_policies_that_make_no_sense_are_refused(tmp_path, changes, message):
    path, content = saved(tmp_path, CoinBetting(20.0, 30))
    results.write(path, "policy", content | changes)
    with pytest.raises(InputError, match=f"does not hold a policy: .*{message}.*; save it again"):
        load_policy(path)


@pytest.mark.parametrize(
    ("part", "settings"),
    [
        ("features", {"tilings": 10**12}),
        ("features", {"tiles": [10**8, 10**8]}),
        ("features", {"tilings": 2.5}),
        ("features", {"actions": 0}),
        ("learner", {"normaliser": -1.0}),
        ("learner", {"normaliser": float("nan")}),
        ("learner", {"printed": 1}),
        ("learner", {"horizon": "5"}),
        ("learner", {"other": 1.0}),
    ],
)
def test_settings_that_make_no_sense_are_refused_before_memory_is_taken(tmp_path, part, settings):
    path, content = saved(tmp_path, CoinBetting(20.0, 30))
    description = json.loads(str(content["description"]))
    description[part] |= settings
    results.write(path, "policy", content | {"description": json.dumps(description)})
    with pytest.raises(InputError, match="does not hold a policy"):
        load_policy(path)


def test_a_policy_for_other_actions_or_states_is_not_evaluated(tmp_path):
    def evaluated(states, actions):
        policy = start_policy(CoinBetting(20.0, 30), OneHot(states, actions))
        save_policy(MixturePolicy.uniform((policy,)), tmp_path / "policy.npz")
        return painless.evaluate(load_policy(tmp_path / "policy.npz"), painless.gridworld(), episodes=2)

    with pytest.raises(InputError, match="the policy has 3 actions and the simulator 4"):
        evaluated(25, 3)
    with pytest.raises(InputError, match="the policy is for 30 states and the simulator has 25"):
        evaluated(30, 4)
    assert evaluated(25, 4).episodes == 2


def test_kernels_are_not_led_out_of_their_arrays():
    history = History.of(np.ones((FEATURES.dimension, 2)))
    with pytest.raises(InputError, match="a policy after 3 updates needs as many, and the history has 2"):
        ReplayedPolicy(CoinBetting(), FEATURES, history, 3)
    with pytest.raises(InputError, match="the history has 2 features, and the policy"):
        FoldedPolicy(CoinBetting(), FEATURES, History.of(np.ones((2, 2))), 1)
    with pytest.raises(InputError, match="the sum of the weights has shape"):
        SummedPolicy(ExponentiatedGradient(1.0), FEATURES, np.ones(3))
    bettors = Bettors.zeros((1, 3))
    for active, updates in ((np.full((1, 3, 1), 10**6), 1), (np.zeros((1, 3, 1), np.int64), 9)):
        with pytest.raises(InputError):
            replay(CoinBetting(), active, history.weights, updates, bettors)


@pytest.mark.parametrize("weights", [[0.5, 0.6], [-1.0, 2.0], [1.0], [np.nan, 1.0]])
def test_the_weights_of_a_mixture_are_a_distribution(weights):
    policies = tuple(advanced(start_policy(CoinBetting(), FEATURES), 1))
    with pytest.raises(InputError, match="weights"):
        MixturePolicy(policies, np.array(weights))


def test_unknown_features_cannot_be_saved(tmp_path):
    class Mine(OneHot):
        pass

    policy = SummedPolicy.start(ExponentiatedGradient(1.0), Mine(2, 2))
    with pytest.raises(InputError, match="Mine cannot be saved"):
        save_policy(MixturePolicy.uniform((policy,)), tmp_path / "no.npz")


def test_history_grows():
    history = History(2)
    for t in range(40):
        history.append(t, np.array([t, -t], dtype=float))
    np.testing.assert_array_equal(history.weights[:, :40], [np.arange(40), -np.arange(40)])


def test_cartpole_cells_are_few():
    """States with equal features share everything."""
    features = CartPole().features()
    states = np.random.default_rng(0).uniform(-0.05, 0.05, (5000, 4))
    assert len(np.unique(features.cells(states))) < 500


class Constant:
    """A kind of policy of its own: the same probabilities everywhere, without learner or features."""

    def __init__(self, probabilities, updates):
        self.probabilities, self.updates = probabilities, updates

    def at(self, states):
        return np.tile(self.probabilities, (1, len(states), 1))

    def description(self):
        return {"kind": "constant", "actions": len(self.probabilities)}

    @classmethod
    def parts(cls, iterates):
        return {"tables": np.array([one.probabilities for one in iterates])}

    @classmethod
    def read(cls, description, content, updates):
        tables = entries.distributions(content, "tables", (len(updates), description["actions"]))
        return [cls(table, count) for table, count in zip(tables, updates, strict=True)]


def test_a_new_kind_of_policy_brings_its_own_storage(tmp_path, monkeypatch):
    mixture = MixturePolicy((Constant(np.eye(2)[0], 1), Constant(np.eye(2)[1], 4)), np.array([0.5, 0.5]))
    save_policy(mixture, tmp_path / "policy.npz")
    with pytest.raises(InputError, match="describes a policy 'constant'; this version knows over features"):
        load_policy(tmp_path / "policy.npz")
    monkeypatch.setitem(READERS, "constant", Constant.read)
    again = load_policy(tmp_path / "policy.npz")
    assert [policy.updates for policy in again.policies] == [1, 4]
    np.testing.assert_array_equal(again.policies[1].at(np.zeros(3)), [[[0.0, 1.0]] * 3])
    results.write(tmp_path / "policy.npz", "policy", to_arrays(mixture) | {"tables": np.ones((2, 2))})
    with pytest.raises(InputError, match="'tables' does not sum to 1"):
        load_policy(tmp_path / "policy.npz")


class Counting:
    """Hedge that counts how often it is updated, with a state that holds a count of rounds and a nested state."""

    def __init__(self):
        self.inner, self.calls = Decaying(ExponentiatedGradient(0.3)), 0

    def init(self, prior):
        return self.inner.init(prior)

    def update(self, gain, state):
        self.calls += 1
        return self.inner.update(gain, state)


def test_a_learner_of_a_user_is_updated_once_for_all_cells_that_it_knows():
    features = TileCoding([0.0], [1.0], 4, 2, 3)
    learner, rng = Counting(), np.random.default_rng(0)
    policy = start_policy(learner, features)
    assert isinstance(policy, FoldedPolicy)
    states, calls = rng.random((40, 1)), []
    for _ in range(6):
        policy.at(states)
        before = learner.calls
        q = LinearQ(features, rng.normal(size=(1, 1, features.dimension)))
        policy = policy.advance(np.ones((1, 1)), q)
        newest = policy.at(states)
        calls.append(learner.calls - before)
    assert calls == [1] * 6
    unknown = rng.random((5, 1)) * 1e-3  # some cells that were seen, and perhaps one that was not
    for asked in (states, unknown, rng.random((30, 1))):
        older = FoldedPolicy(learner, features, policy.history, policy.updates)  # without any memory
        np.testing.assert_array_equal(policy.at(asked), older.at(asked))
    np.testing.assert_array_equal(newest, policy.at(states))


def test_cells_of_any_learner_start_again_when_there_are_too_many():
    features = TileCoding([0.0], [1.0], 8, 1, 2)
    learner, rng = Decaying(ExponentiatedGradient(0.3)), np.random.default_rng(1)
    cells = CellStates(learner, features, most=3, first=1)
    history = rng.normal(size=(features.dimension, 4))
    for count in (1, 3, 8):
        states = rng.random((count, 1))
        expected = fold(learner, features.active(states), history, 4).decision
        np.testing.assert_array_equal(cells.decisions(states, history, 4), expected)
