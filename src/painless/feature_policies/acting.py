"""One action at a time, for whoever steps an environment by hand."""

from __future__ import annotations

from typing import Any

import numpy as np

from painless.arrays import Array


class Acting:
    """Draws an action in a single state from what `at` says of a batch."""

    def at(self, states: Any) -> Array:
        """Return the probabilities of all actions in some states, (1, n, A)."""
        raise NotImplementedError

    def act(self, state: Any, rng: np.random.Generator | None = None) -> int:
        """Draw an action in one state, an index or an array (D,); without a generator, from one seeded by the system."""
        rng = np.random.default_rng() if rng is None else rng
        probabilities = self.at(np.asarray(state)[None])[0, 0]
        return int(rng.choice(len(probabilities), p=probabilities))
