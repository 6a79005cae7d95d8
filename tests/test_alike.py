"""Rows that are alike: what they say together is closer to the truth, and its standard errors are true, whether rows are equal, nearly equal, or not alike at all."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from painless.counting import alike
from painless.counting.alike import LENT, MOST, alike_first, alike_rows, find_shapes, fitted
from painless.counting.novelty import incomplete

ROWS, VISITS = 60, 30


def drawn(truth, visits, rng):
    """Return the pairs, counts and visits of rows (R, m), every outcome seen at least once."""
    rows = np.array([np.maximum(rng.multinomial(visits, row), 1) for row in truth], dtype=float)
    return np.repeat(np.arange(len(truth)), truth.shape[1]), rows.reshape(-1), rows.sum(1)


def equal(rng):
    """Slippery ground, in any order."""
    return rng.permuted(np.tile([0.8, 0.1, 0.1], (ROWS, 1)), axis=1)


def two_grounds(rng):
    """Ice on one half, and grass on the other."""
    return np.vstack([np.full((ROWS // 2, 3), 1 / 3), equal(rng)[ROWS // 2 :]])


def nearly_equal(rng):
    """Each place a little different."""
    return rng.permuted(rng.dirichlet(40 * np.array([0.7, 0.2, 0.1]), size=ROWS), axis=1)


def unlike(rng):
    """Anything."""
    return rng.dirichlet(np.ones(3), size=ROWS)


def found(truth, visits, rng):
    """Return what the rows are found to be, their frequencies, and how far each is off."""
    pairs, count, total = drawn(truth, visits, rng)
    likes = alike_rows(pairs, count, total, np.ones(len(total)))
    own = (count / total[pairs]).reshape(truth.shape)
    return likes, own, likes.probability.reshape(truth.shape) - truth, total


def variance(rows, value):
    """Return the variance of values (m,) under each of the rows, (R,)."""
    return rows @ value**2 - (rows @ value) ** 2


@pytest.mark.parametrize("kind", [equal, two_grounds])
def test_rows_that_are_equal_say_more_together(kind):
    rng = np.random.default_rng(0)
    truth = kind(rng)
    likes, own, off, visits = found(truth, 10 * VISITS, rng)
    assert np.abs(off).mean() < 0.2 * np.abs(own - truth).mean()
    assert likes.visits.mean() > 3 * visits.mean()


def test_rows_that_are_like_no_others_stay_as_they_are():
    rng = np.random.default_rng(1)
    truth = unlike(rng)
    likes, own, off, visits = found(truth, VISITS, rng)
    assert np.abs(off).mean() < 1.1 * np.abs(own - truth).mean()
    assert likes.visits.mean() < 1.5 * visits.mean()


@pytest.mark.parametrize("kind", [equal, two_grounds, nearly_equal, unlike])
@pytest.mark.parametrize("visits", [VISITS, 10 * VISITS])
def test_standard_errors_are_those_of_the_rows(kind, visits):
    """Values at the outcomes (0, 1, 5): errors of their means, over their standard errors, are hardly larger than those of frequencies are."""
    rng, value = np.random.default_rng(2), np.array([0.0, 1.0, 5.0])
    squares, plain = list[float](), list[float]()
    for _ in range(12):
        truth = kind(rng)
        likes, own, off, total = found(truth, visits, rng)
        row = likes.probability.reshape(truth.shape)
        shared = np.where(likes.shape >= 0, likes.share**2 * np.append(likes.spread, 0.0)[likes.shape], 0.0)
        squares.extend((off @ value) ** 2 / (variance(row, value) * (1 / likes.visits + shared)))
        plain.extend(((own - truth) @ value) ** 2 / (variance(own, value) / total))
    assert np.mean(squares) < 1.4 * max(np.mean(plain), 1.0)  # 720 rows


def test_one_row_that_is_different_is_not_lent_what_the_others_show():
    rng = np.random.default_rng(3)
    truth = np.tile([0.8, 0.2], (ROWS, 1))
    truth[7] = [0.38, 0.62]
    likes, own, _, visits = found(truth, 400, rng)
    assert likes.visits[7] <= 1.05 * visits[7]
    assert likes.probability.reshape(-1, 2)[7] == pytest.approx(own[7], abs=0.01)


def test_rows_that_may_lack_an_outcome_are_lent_nothing():
    rng = np.random.default_rng(4)
    pairs, count, visits = drawn(equal(rng), VISITS, rng)
    complete = np.ones(len(visits))
    complete[5] = 0.0
    likes = alike_rows(pairs, count, visits, complete)
    assert likes.visits[5] == visits[5]
    assert likes.visits[6] > 2 * visits[6]


@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.integers(1, MOST + 2))
def test_rows_stay_distributions_and_lose_no_visits(seed, rows, outcomes):
    rng = np.random.default_rng(seed)
    count = rng.integers(1, 40, size=(rows, outcomes)).astype(float)
    pairs, visits = np.repeat(np.arange(rows), outcomes), count.sum(1)
    likes = alike_rows(pairs, count.reshape(-1), visits, np.ones(rows))
    assert np.bincount(pairs, likes.probability) == pytest.approx(1)
    assert (likes.probability > 0).all()
    assert (likes.visits >= visits).all()
    assert (likes.visits <= (1 + LENT) * visits * (1 + 1e-12)).all()


@given(st.integers(0, 2**32 - 1))
def test_the_order_of_outcomes_does_not_matter(seed):
    rng = np.random.default_rng(seed)
    count = rng.integers(1, 60, size=(10, 3)).astype(float)
    pairs, visits, order = np.repeat(np.arange(10), 3), count.sum(1), rng.permutation(3)
    one = alike_rows(pairs, count.reshape(-1), visits, np.ones(10))
    other = alike_rows(pairs, count[:, order].reshape(-1), visits, np.ones(10))
    assert other.probability.reshape(10, 3) == pytest.approx(
        one.probability.reshape(10, 3)[:, order], rel=1e-6
    )
    assert other.visits == pytest.approx(one.visits, rel=1e-6)


def test_shapes_are_found_and_evidence_does_not_fall():
    rng = np.random.default_rng(5)
    counts = drawn(two_grounds(rng), 10 * VISITS, rng)[1].reshape(-1, 3)
    shapes = find_shapes(counts)
    assert shapes.theta[0] == pytest.approx(1 / 3)
    assert np.sort(shapes.theta[1]) == pytest.approx([0.1, 0.1, 0.8], abs=0.02)
    assert len(shapes.theta) == 2
    assert fitted(counts, shapes.theta).evidence > fitted(counts, shapes.theta[:1]).evidence


def test_first_states_that_are_equally_likely_are_known_better():
    rng = np.random.default_rng(6)
    starts = rng.multinomial(2000, np.full(20, 1 / 20)).astype(float)
    first, episodes = alike_first(np.append(starts, 0.0))
    assert np.abs(first[:-1] - 1 / 20).max() < 0.5 * np.abs(starts / 2000 - 1 / 20).max()
    assert first[-1] == 0
    assert episodes > 1.3 * 2000


@pytest.mark.parametrize("share", [[0.6, 0.3, 0.1], [1.0]])
def test_other_first_states_are_as_often_as_they_were_seen(share):
    starts = 1000 * np.array(share)
    first, episodes = alike_first(starts)
    assert first == pytest.approx(share)
    assert episodes == pytest.approx(1000)


def test_rows_that_miss_an_outcome_are_counted():
    """Rows of which one visit in three shows something else miss one of two outcomes in eight visits with a chance of 4 %, and in two of 56 %."""
    rng = np.random.default_rng(7)
    count = rng.multinomial(400, [2 / 3, 1 / 3], size=200).astype(float)
    visits = np.append(count.sum(1), [8.0, 2.0, 0.0])
    pairs = np.append(np.repeat(np.arange(200), 2), [200, 201])
    missing = incomplete(pairs, np.append(count.reshape(-1), [8.0, 2.0]), visits)
    assert missing[-3:] == pytest.approx([0.04, 0.56, 1.0], abs=0.01)
    assert missing[:200] == pytest.approx(1 / 201, abs=1e-3)


def test_many_rows_are_compared_a_part_at_a_time(monkeypatch):
    rng = np.random.default_rng(8)
    pairs, count, visits = drawn(two_grounds(rng), VISITS, rng)
    whole = alike_rows(pairs, count, visits, np.ones(ROWS))
    monkeypatch.setattr(alike, "ROWS", 7)
    parts = alike_rows(pairs, count, visits, np.ones(ROWS))
    np.testing.assert_allclose(parts.probability, whole.probability, rtol=1e-12)
    np.testing.assert_allclose(parts.visits, whole.visits, rtol=1e-12)
