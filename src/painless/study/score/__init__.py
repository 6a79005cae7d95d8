"""A public score of the default settings and of the collection against each other, untuned and tuned in hindsight."""

from painless.study.score.running import run_score
from painless.study.score.score import Score, Standing
from painless.study.score.suite import Entry, suite

__all__ = ["Entry", "Score", "Standing", "run_score", "suite"]
