"""The episodes of one environment, an observation at a time, as keys that can be counted."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from painless.common.arrays import Array
from painless.common.errors import InputError
from painless.counting.trail import End, Trail
from painless.environments.gymnasium_simulator import GymnasiumSimulator, first_of
from painless.environments.utilities import INFINITE, SIMPLE, converted, entry, raised
from painless.policies.observed import key_of, rows_of
from painless.simulation.simulator import Specification

WHOLE = (int, np.integer)


class GymnasiumEpisodes:
    """One environment of a simulator, an episode after the other.

    An observation is checked and turned into a key once; after that it is looked up as it is.
    """

    def __init__(self, simulator: GymnasiumSimulator) -> None:
        self.simulator = simulator
        self.environment = simulator.pool[0] if simulator.pool else simulator.make()
        self._number, self._last, self._steps = -1, None, 0
        self._known: dict[Hashable, Hashable] = {}  # keys of observations, by what they look like
        self._look: Callable[[Any], Hashable] | None = None  # None before the first observation
        self._direct = False  # whether observations look like what they are
        interface = simulator.interface
        # Those of a product are made each time.
        self._actions = [
            interface.action(one) for one in range(0 if interface.product else simulator.actions)
        ]
        self._sources = simulator.utilities.plain_sources
        self._plain = len(self._sources or ()) == 1 and self._sources[0][0] is None  # type: ignore[index]

    @property
    def specification(self) -> Specification:
        """That of the simulator."""
        return self.simulator.specification

    def start(self, seed: int | None) -> Hashable:
        """Begin an episode; with a seed, those after it follow from it as well."""
        self._number += 1
        self._steps = 0
        try:
            self._last = first_of(self.environment.reset(seed=seed))
            if self._look is None:
                self._look, self._direct = _look_of(self._last), not isinstance(self._last, np.ndarray)
            return self._key(self._last)
        except Exception as error:
            raise self._trouble(error) from error

    def walk(self, state: int, steps: int, trail: Trail) -> End:
        """Take up to `steps` upcoming actions from a state on, until the episode ends; leave them in the trail.

        A run spends its time here: a single reward, keys of info and functions are read on the spot, everything else by `utilities`, and observations that
        were seen before are looked up as they are. The inner loop takes steps of which everything is plain, and stops at the first one that is not.
        """
        take, actions, sources = self.environment.step, self._actions, self._sources
        upcoming, places, look, direct = trail.upcoming, trail.places, self._look, self._direct
        add_action, add_successor = trail.actions.append, trail.successors.append
        add_reward, *columns = (column.append for column in trail.utilities)
        reads = [(*source, add) for source, add in zip(sources or (), columns, strict=False)]
        plain = direct and self._plain
        _, only, own, add_only = reads[0] if plain else (None, "", 1.0, add_reward)
        before, done, left = self._last, len(trail.successors), iter(range(steps))
        try:
            while True:
                for _ in left:
                    action = next(upcoming[state], None)
                    if action is None:
                        action = trail.more(state)
                    chosen = actions[action] if actions else self.simulator.interface.action(action)
                    result = take(chosen)
                    if not plain:
                        break
                    try:
                        last, reward, terminated, truncated, info = result
                        value, following = info[only], places[last]
                    except Exception:  # whatever it is, it is read once more
                        break
                    if type(reward) is not float or type(value) is not float or terminated or truncated:
                        break
                    if (reward + value) * 0.0 != 0.0:  # infinite, or no number
                        break
                    add_reward(reward)
                    add_only(own * value)
                    add_action(action)
                    add_successor(following)
                    before, state = last, following
                else:
                    return state, False, False
                if sources is None or len(result) != 5:
                    last, terminated, truncated = self._read(before, chosen, result, trail)
                else:
                    last, reward, terminated, truncated, info = result
                    if type(reward) in SIMPLE and -INFINITE < reward < INFINITE:
                        add_reward(reward)
                    else:
                        add_reward(entry(reward))
                    for function, name, sign, add in reads:
                        if function is None:
                            value = info.get(name)
                        else:
                            try:
                                value = function(before, chosen, last, reward, bool(terminated), info)
                            except Exception as error:
                                raise raised(name, error) from error
                        if type(value) not in SIMPLE or not -INFINITE < value < INFINITE:
                            value = converted(value, name, info if function is None else None)
                        add(sign * value)
                before = last
                add_action(action)
                if terminated or truncated:
                    key = self._key(last)
                    state = -1 if terminated else trail.number(key)
                    add_successor(state)
                    return state, bool(terminated), bool(truncated)
                try:
                    state = places[last if direct else look(last)]  # type: ignore[misc]
                except (KeyError, TypeError):
                    state = self._placed(last, trail)
                add_successor(state)
        except Exception as error:
            raise self._trouble(error, len(trail.successors) - done + 1) from error
        finally:
            self._last, self._steps = before, self._steps + len(trail.successors) - done

    def _read(self, before: Any, chosen: Any, result: Any, trail: Trail) -> tuple[Any, bool, bool]:
        """Read what a step returned, of whatever type; return the observation, and whether the episode was terminated or truncated."""
        last, values, terminated, truncated = self.simulator.utilities.reader(before, chosen, result)
        for column, value in zip(trail.utilities, values, strict=True):
            column.append(value)
        return last, terminated, truncated

    def _placed(self, observation: Any, trail: Trail) -> int:
        """Return the number of a state that could not be looked up, and remember what it looks like."""
        state, look = trail.number(self._key(observation)), self._look(observation)  # type: ignore[misc]
        if look is not None:
            trail.places[look] = state
        return state

    def _key(self, observation: Any) -> Hashable:
        look = self._look(observation)  # type: ignore[misc]
        if look in self._known:
            return self._known[look]
        key = key_of(self.simulator.state(observation))
        if look is not None:
            self._known[look] = key
        return key

    def _trouble(self, error: Exception, steps: int = 0) -> InputError:
        self.simulator._steps = self._steps + steps
        return self.simulator.trouble(self._number, error)

    def observations(self, keys: Sequence[Any]) -> Array:
        """Return the observations behind keys, (n, D)."""
        return rows_of(keys)


def _look_of(first: Any) -> Callable[[Any], Hashable]:
    """Return how observations like the first are looked up: arrays by their bytes, whole numbers and tuples as they are.

    None is said of observations that are unlike it.
    """
    if isinstance(first, np.ndarray):
        kind, shape = first.dtype, first.shape
        return lambda seen: (
            seen.tobytes()
            if type(seen) is np.ndarray and seen.dtype is kind and seen.shape == shape
            else None
        )
    if isinstance(first, tuple) and all(isinstance(part, WHOLE) for part in first):
        return _hashable
    return lambda seen: seen if isinstance(seen, WHOLE) else None


def _hashable(seen: Any) -> Hashable:
    try:
        hash(seen)
    except TypeError:
        return None
    return seen if type(seen) is tuple else None
