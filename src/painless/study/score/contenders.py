"""Who takes part in the score: every algorithm with its default settings, and with a grid to be tuned on in hindsight.

The grids of GDA and CRPO are those of the paper (appendix), the others are ours, around the defaults; the first setting of a grid is that of the default, except for GDA and
CRPO, whose default is one of the points. All are in normalised units.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

from painless.common import plugins
from painless.common.registry import build, settings_of
from painless.loop.algorithms import ALGORITHMS, Algorithm, find_algorithm, require_algorithm

Settings = dict[str, Any]


def grid(**choices: Sequence[float]) -> list[Settings]:
    """Multiply out.

    >>> grid(rate=(1.0, 2.0), inner=(3,))
    [{'rate': 1.0, 'inner': 3}, {'rate': 2.0, 'inner': 3}]
    """
    return [dict(zip(choices, values, strict=True)) for values in product(*choices.values())]


GRIDS: dict[str, list[Settings]] = {
    "prm": grid(growth=(1.0, 0.0, 2.0)),
    "cbp": grid(alpha=(8.0, 1.0, 50.0, 500.0)),
    "gda": grid(policy_rate=(0.001, 0.01, 0.1, 1.0), multiplier_rate=(0.0001, 0.001, 0.01, 0.1, 1.0)),
    "crpo": grid(rate=(0.001, 0.01, 0.05, 0.1, 0.5, 0.75), tolerance=(0.0, 0.25)),
    "npg-pd": [{}],
    "pid": grid(proportional=(0.1, 0.0, 1.0), integral=(0.01, 0.1, 1.0)),
    "nupi": grid(integral=(0.1, 0.01, 1.0), proportional=(1.0, 0.1, 10.0)),
    "opg-pd": grid(rate=(0.1, 0.01, 0.03, 0.3, 1.0, 3.0)),
    "rpg-pd": grid(rate=(0.1, 1.0, 0.3), entropy=(0.08, 0.01, 0.001)),
    "reload": grid(policy_rate=(1.0, 0.1), multiplier_rate=(0.1, 0.01, 1.0)),
    "augmented-lagrangian": grid(penalty=(1.0, 0.1, 10.0), inner=(4, 1)),
    "log-barrier": grid(barrier=(0.001, 0.0001, 0.01), policy_rate=(1.0, 0.3)),
    "flexdome": grid(entropy=(0.01, 0.001), margin=(0.5, 0.1), multiplier_rate=(0.1, 1.0)),
    "vaidya": grid(entropy=(0.01, 0.1, 0.001), inner=(10, 3)),
}
DEFAULT, PAPER, BASELINES = "prm", "cbp", ("gda", "crpo")


class Contender(NamedTuple):
    """An algorithm with all the settings that it is run with."""

    name: str
    settings: Sequence[Settings]
    untuned: int = 0  # the place of its default settings among them
    pays: bool = False  # for the feasibility phase that finds U
    digest: str = ""  # of the sources, for a user's own

    def alone(self) -> Contender:
        """Return the contender with its default settings only."""
        return self._replace(settings=[self.settings[self.untuned]], untuned=0)

    @property
    def algorithms(self) -> list[Algorithm]:
        """Return an object for each setting."""
        make = find_algorithm(self.name)
        return [require_algorithm(build(self.name, make, one)) for one in self.settings]


def contenders(own: Sequence[Mapping[str, Any]] = (), *, tuned: bool = True) -> list[Contender]:
    """Return the default first, then the paper's algorithm, then all others, then a user's own.

    Without `tuned`, only the baselines of the paper have their grids.
    """
    known = [Contender(name, GRIDS[name], as_it_comes(name), pays=name == PAPER) for name in GRIDS]
    every = known + [_own(entry) for entry in own]
    return every if tuned else [one if one.name in BASELINES else one.alone() for one in every]


def as_it_comes(name: str) -> int:
    """Return the place of an algorithm's default settings in its grid."""
    known = settings_of(ALGORITHMS[name])
    return GRIDS[name].index({setting: known[setting].default for setting in GRIDS[name][0]})


def _own(entry: Mapping[str, Any]) -> Contender:
    """Return a contender of a user from its name and its settings, of which lists multiply out."""
    name = str(entry["name"])
    choices = {
        key: value if isinstance(value, list) else [value] for key, value in entry.items() if key != "name"
    }
    found = Contender(name, grid(**choices), digest=plugins.digest("algorithm", name) or "")
    _ = found.algorithms  # an error shows before anything runs
    return found
