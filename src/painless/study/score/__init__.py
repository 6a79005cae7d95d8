"""A public score of the default settings against baselines tuned in hindsight."""

from painless.study.score.score import Score, Standing, run_score
from painless.study.score.suite import Entry, suite

__all__ = ["Entry", "Score", "Standing", "run_score", "suite"]
