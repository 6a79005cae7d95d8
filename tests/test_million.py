"""A million states: made, written, read, checked and evaluated in seconds, and in little memory.

Every model lives in a process of its own. Its peak is read from the process's own memory map, which starts anew with it;
what the libraries themselves take is measured first, on a small model, and does not count.
"""

import json
import subprocess
import sys

import pytest

from tests.extras import POSIX

pytestmark = POSIX  # peaks of processes by `resource`
WORK = '''
import gc, json, sys

import numpy as np

import painless
from painless.engines.sweeps.pricing import Pricer
from tests.memory import peak

def work(make, path):
    problem = make()
    problem.save(path)
    mark = (problem.transition.indices[::997].tobytes(), problem.limit.tolist(), problem.shape)
    kernel = problem.transition
    arrays = (kernel.data, kernel.indices, kernel.indptr, problem.reward, problem.constraint_reward)
    size = sum(array.nbytes for array in arrays)
    del problem, kernel, arrays
    gc.collect()  # planners hold on to a model until then
    again = painless.load(path)
    assert (again.transition.indices[::997].tobytes(), again.limit.tolist(), again.shape) == mark
    loaded = peak()
    pricer = Pricer(again)
    span = 1 / (1 - again.discount)
    pricer.evaluate(1e-2 * span)
    sums = (again.transition @ np.ones(again.shape[0]))[again.actions.ravel()]
    return {
        "shape": again.shape,
        "size": size,
        "loaded": loaded,
        "sums": [float(sums.min()), float(sums.max())],
        "error": error(again, pricer) / span,
    }

def error(problem, pricer):
    """By how much the values of the first policy miss its Bellman equation, at most."""
    first = problem.actions.argmax(1)
    rows = np.arange(len(first)) * problem.shape[1] + first
    value = pricer.values.value[:, 0]
    expected = problem.reward.reshape(-1)[rows] + problem.discount * (problem.transition @ value)[rows]
    return float(np.abs(expected - value).max())

work(lambda: eval(sys.argv[2]), sys.argv[1])
base = peak()
result = work(lambda: eval(sys.argv[3]), sys.argv[1])
print(json.dumps(result | {"base": base, "peak": peak()}))
'''
# How many times its size a model may take until it is loaded, and with a planner at work
STORED, USED = 2.5, 6.0
CASES = {  # a model, a small and a large size
    "garnet": ("painless.garnet({}, 4, 5, seed=1, dense=False)", 2500, 1_000_000),
    "slippery-grid": ("painless.make('slippery-grid', height={0}, width={0}, dense=False)", 50, 1085),
    "queueing": ("painless.make('queueing', buffer={}, dense=False)", 2500, 999_999),
}


@pytest.mark.parametrize("name", CASES)
def test_a_million_states_take_seconds_and_little_memory(tmp_path, name):
    make, small, large = CASES[name]
    path = tmp_path / "problem.npz"
    command = [sys.executable, "-c", WORK, str(path), make.format(small), make.format(large)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["shape"][0] >= 1_000_000
    assert 200e6 < result["size"] < 500e6
    assert result["loaded"] - result["base"] < STORED * result["size"]
    assert result["peak"] - result["base"] < USED * result["size"]
    assert result["sums"] == pytest.approx([1.0, 1.0])
    assert result["error"] <= 1e-2  # of the values' range
    assert path.stat().st_size < 1.1 * result["size"]
