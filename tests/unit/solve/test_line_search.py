"""Line searches on functions of tau alone."""

from __future__ import annotations

import numpy as np
import pytest

from fitpipe.solve.line_search import MOST_TRIALS, SHRINK, Backtracking, Reversing


def run(search, function, slope, *, size_m=1.0, stop_m=1e-6):
    """tau, and every trial, of one frame per entry of `slope`."""
    trials = []

    def value(tau, rows):
        trials.append((tau.copy(), rows.copy()))
        return function(tau, rows)

    n = len(slope)
    before = function(np.zeros(n), np.arange(n))
    tau = search.search(
        value,
        before,
        np.array(slope),
        slack=np.zeros(n),
        size_m=np.full(n, size_m),
        stop_m=stop_m,
    )
    return tau, trials


@pytest.mark.parametrize(("name", "shrink"), [("halving", 0.5), ("golden", 0.6180339887)])
def test_backtracking_shrinks_until_the_value_falls_enough(name, shrink):
    steep = np.array([1.0, 30.0, 1000.0])  # curvature: value tau^2 * steep / 2 - tau
    tau, _ = run(
        Backtracking(SHRINK[name]), lambda t, r: 0.5 * steep[r] * t**2 - t, slope=[-1.0] * 3
    )
    powers = np.log(tau) / np.log(shrink)
    np.testing.assert_allclose(powers, powers.round(), atol=1e-6)
    assert tau[0] == 1.0
    assert (tau * steep / 2 < 1).all()  # it falls
    assert ((tau[1:] / shrink) * steep[1:] / 2 >= 0.999).all()  # the trial before did not


def test_backtracking_gives_up_where_nothing_falls():
    tau, trials = run(Backtracking(0.5), lambda t, _: np.abs(t), slope=[-1.0])
    assert tau[0] == 0.0
    assert len(trials) == 40


@pytest.mark.parametrize("name", SHRINK)
def test_reversing_walks_past_the_minimum_and_turns(name):
    lowest = np.array([0.3, 1.0, 4.7])
    tau, trials = run(Reversing(SHRINK[name]), lambda t, r: (t - lowest[r]) ** 2, slope=[-1.0] * 3)
    np.testing.assert_allclose(tau, lowest, atol=2e-6)
    last = np.array([t[list(r).index(2)] for t, r in trials if 2 in r])
    moves = np.diff(last, prepend=0.0)
    np.testing.assert_array_equal(moves[:6], 1.0)  # 5 is still lower than 4, 6 is not
    assert moves[6] == pytest.approx(-SHRINK[name])


def test_reversing_ends_where_the_value_falls_for_ever():
    tau, trials = run(Reversing(0.5), lambda t, _: -t, slope=[-1.0])
    assert len(trials) == MOST_TRIALS
    assert tau[0] == MOST_TRIALS


def test_reversing_stops_when_the_move_is_shorter_than_the_stop_step():
    lowest = np.array([0.3])
    tau, trials = run(
        Reversing(0.5), lambda t, r: (t - lowest[r]) ** 2, slope=[-1.0], size_m=0.01, stop_m=1e-4
    )
    assert abs(tau[0] - 0.3) * 0.01 < 1e-4
    assert abs(np.diff([t[0] for t, _ in trials])).min() * 0.01 > 1e-4
