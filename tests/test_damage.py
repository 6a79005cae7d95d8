"""Stored things that were damaged: a few hundred of the cases that `make soak` has thousands of."""

from tests import damage


def test_damaged_files_are_refused_or_load_to_what_they_were():
    assert damage.run(21 * 20, seed=2024) == []
