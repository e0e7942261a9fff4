"""Parts of the decision: periods of an error, and segments on which a search and a list disagree."""

import numpy as np
import pytest

from calibrant.findings.decision import _variance, disagreement, loose_limit, since, split_by_alarm
from tests.findings.parts import an_audit, found, period, segment

PERIODS = tuple(period(k, 1_000, 0.5, each, off=k >= 2) for k, each in enumerate([0.5, 0.9, 0.9, 0.5]))


@pytest.mark.parametrize(
    ("change", "first", "after", "told"),
    [
        ({}, 1, 3, True),  # the error began before the alarm, and ended
        ({"n_groups": 9}, 2, None, False),  # without standard errors it is from the alarm on
        ({"weighted": True}, 2, None, False),
        ({"weighted": True, "sampling_fractions": (0.5, 1.0)}, 1, 3, True),
    ],
)
def test_an_error_of_groups_and_weights_is_told_from_the_alarm_on(change, first, after, told):
    audit = an_audit(periods=PERIODS, **change)
    _, error, ended = split_by_alarm(audit)
    assert error.first == first
    assert (None if ended is None else ended.first) == after
    assert (since(audit, None) is not None) is told


@pytest.mark.parametrize("direction", ["too high", "too low", "uneven", None])
def test_an_error_is_since_some_period_in_its_own_direction(direction):
    assert (since(an_audit(periods=PERIODS), direction) is not None) == (direction in ("too low", None))
    assert since(an_audit(periods=PERIODS[:2]), direction) is None


@pytest.mark.parametrize("by_name", [True, False, None])
@pytest.mark.parametrize("in_search", [True, False])
@pytest.mark.parametrize("more", [0, 1])
def test_a_segment_that_only_one_of_both_proves_is_named(by_name, in_search, more):
    search = found("x", 0.1)
    pvalue = 0.01 if in_search else 0.5
    search.tested, search.level = np.array([[0.0, 0.0, pvalue]] * 2), 0.05
    search.features, search.made_of = {"place": ("place = a", "place = b")}, [((0, 0),), ((0, 1),)]
    segments = [segment(name, 0.5, 0.6, off=by_name) for name in "ab"[: 1 + more]]
    said = disagreement(an_audit(segments=tuple(segments), found_segments=search))
    assert disagreement(an_audit(segments=tuple(segments))) is None
    if by_name in (in_search, None):
        assert said is None
        return
    which = "by name and not in the search" if by_name else "in the search and not by name"
    others = " (and 1 more)" if more else ""
    assert said.startswith(f"place = a{others} is off by more than noise {which}, for each has its own test and rule. ")
    assert "at most 5% of the segments" in said
    assert said.endswith("is at most 0.05.")


@pytest.mark.parametrize(
    ("base", "mean", "limit", "said"),
    [
        (0.5, 0.5, 0.02, None),
        (0.5, 0.5, 0.03, "The limit is looser than the default, 2 points."),
        (
            0.05,
            0.05,
            0.01,
            "The limit is looser than the default, 0.5 points, a tenth of the rarer outcome's observed rate.",
        ),
        (0.01, 0.5, 0.02, "The rarer outcome has a rate of 0.01: predicting 0 everywhere would be within the limit."),
        (0.99, 0.5, 0.02, "The rarer outcome has a rate of 0.01: predicting 1 everywhere would be within the limit."),
    ],
)
def test_a_loose_limit_is_said_to_be_so(base, mean, limit, said):
    assert loose_limit(base, mean, limit) == said


@pytest.mark.parametrize(("rest", "says", "variance"), [(100.0, 0.001, 0.0999), (1_000.0, 0.5, 187.5), (0.0, 0.5, 0.0)])
def test_the_variance_of_the_rest_is_at_most_that_of_its_mean_and_of_all_predictions(rest, says, variance):
    """Of rows predicted a quarter and three quarters each has 3/16, and of the rest alone v (1 - v) at its mean."""
    assert _variance(an_audit(), rest, 1_000.0, says) == pytest.approx(variance)
