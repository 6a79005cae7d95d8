"""Random problems for property tests."""

import numpy as np
from hypothesis import strategies as st

import painless


@st.composite
def garnets(draw, constraints=(0, 3), tightness=(0.0, 0.01, 0.5, 0.9, 0.99)):
    """Garnets of every kind: sparse or dense, masked, of any units, with costs, loose or tight."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    states, actions = draw(st.integers(1, 20)), draw(st.integers(1, 5))
    count = draw(st.integers(*constraints))
    base = painless.garnet(
        states,
        actions,
        draw(st.integers(1, states)),
        count,
        seed=int(rng.integers(2**31)),
        discount=draw(st.one_of(st.sampled_from([0.0, 0.5, 0.9, 0.99]), st.floats(0, 0.99))),
        tightness=draw(st.sampled_from(tightness)),
        dense=draw(st.booleans()),
    )
    masked = draw(st.booleans())
    mask = rng.random((states, actions)) < 0.7
    mask[np.arange(states), rng.integers(actions, size=states)] = True
    scale = 10.0 ** draw(st.integers(-3, 3))
    shift = draw(st.sampled_from([0.0, -5.0, 100.0]))
    return painless.CMDP(
        base.transition,
        base.reward * scale + shift,
        initial=rng.dirichlet(np.ones(states)) if draw(st.booleans()) else base.initial,
        discount=base.discount,
        constraint_reward=base.constraint_reward if count else None,
        threshold=base.threshold if count else None,
        actions=mask if masked else None,
    )
