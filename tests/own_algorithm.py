"""An algorithm as a user would write one, for tests that name it as `tests.own_algorithm:fast`."""

import painless


def fast(rate=1.0):
    """Gradient descent-ascent with one rate for both sides."""
    return painless.GDA(rate, rate)
