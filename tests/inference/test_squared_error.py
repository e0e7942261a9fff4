"""Squared error: what is refused, from how many rows a theorem holds, and the terms of the bootstrap."""

import math

import numpy as np
import pytest

from calibrant import InputError
from calibrant.inference import squared_error_bootstrap, squared_error_interval, squared_error_rows
from calibrant.inference.bounds.squared_error import squared_error_of_counts

MANY = 10**6


@pytest.mark.parametrize(
    ("call", "argument", "words"),
    [
        *(
            (lambda x=x: squared_error_interval(x, MANY, 15), "estimate", "it must lie in")
            for x in (True, "0.1", math.nan, 1.0001, -1.0001)
        ),
        *(
            (lambda x=x: squared_error_rows(x, 15), "error", "above 0 and at most 1")
            for x in (0.0, True, 1.001, "much", math.nan)
        ),
        *(
            (lambda x=x: squared_error_rows(0.1, 15, effect_size=x), "effect_size", "above 0 and below 1")
            for x in (0.0, True, 1.0, "half")
        ),
        *(
            (lambda x=x: squared_error_interval(0.1, MANY, 2, least_probability=x), "least_probability", "at most 1 /")
            for x in (0.0, True, 0.51, "all")
        ),
    ],
)
def test_what_is_no_number_of_its_range_is_refused(call, argument, words):
    with pytest.raises(InputError, match=words) as error:
        call()
    assert error.value.argument == argument


@pytest.mark.parametrize("debiased", [True, False])
@pytest.mark.parametrize(("b", "least"), [(15, None), (4, 0.2), (2, 0.5)])
def test_the_theorem_holds_from_its_own_number_of_rows(debiased, b, least):
    """More than 12 / p log(2 B / delta): p is half of an even share unless it is given."""
    delta = 0.08 / (4 if debiased else 3)
    more_than = 12.0 / (0.5 / b if least is None else least) * math.log(2.0 * b / delta)
    enough, options = math.floor(more_than) + 1, {"least_probability": least, "level": 0.08, "debiased": debiased}
    for estimate in (-1.0, 0.0, 0.2, 1.0):
        assert squared_error_interval(estimate, enough, b, **options).estimate == estimate
    with pytest.raises(InputError, match=f"is {enough - 1:,}; with {b} outputs the theorem needs {enough:,} rows") as e:
        squared_error_interval(0.1, enough - 1, b, **options)
    assert e.value.argument == "n_rows"
    assert squared_error_rows(1.0, b, effect_size=0.001, **options) >= enough
    assert squared_error_interval(-0.5, enough, b, **options).interval.low == 0.0


def test_rows_told_apart_at_once_are_the_least_that_the_theorem_takes():
    """An error of 1 and one of next to nothing: with 2 outputs of even chance the theorem's own number is enough."""
    enough = math.floor(24.0 * math.log(4.0 / (0.5 / 4))) + 1
    found = squared_error_rows(1.0, 2, effect_size=1e-6, least_probability=0.5, level=0.5)
    c = math.sqrt(3.0 / (found * 0.5) * math.log(4.0 / 0.125))
    assert found >= enough
    assert c < 1.0


def rows(zeros, ones):
    """So many zeros and ones predicted 0.25, 0.5 and 0.75."""
    v = np.repeat([0.25, 0.5, 0.75], np.add(zeros, ones))
    return np.concatenate([np.arange(a + b) < b for a, b in zip(zeros, ones, strict=True)]).astype(float), v


@pytest.mark.parametrize(
    ("y", "v", "argument", "words"),
    [
        (*rows([150, 10, 50], [50, 9, 150]), "y_prob", "has 19 rows with predictions near 0.5; resampling needs 20"),
        (np.tile([0.0, 1.0], 300), np.repeat(np.linspace(0.1, 0.3, 30), 20), "y_prob", "surprises in each of 30"),
        (*rows([200, 0, 0], [0, 200, 200]), "y_true", "hardly varies within groups: "),
    ],
)
def test_what_redrawing_cannot_show_is_refused(y, v, argument, words):
    with pytest.raises(InputError, match=words) as error:
        squared_error_bootstrap(y, v, n_resamples=39)
    assert error.value.argument == argument


@pytest.mark.parametrize("debiased", [True, False])
@pytest.mark.parametrize(("level", "n_resamples"), [(0.1, 98), (0.05, 199)])
def test_the_bootstrap_is_the_estimate_less_its_bias_with_a_wider_spread(debiased, level, n_resamples):
    zeros, ones = np.array([130, 60, 50]), np.array([70, 60, 70])
    y, v = rows(zeros, ones)
    at, n = np.array([0.25, 0.5, 0.75]), y.size
    found = squared_error_bootstrap(
        y, v, debiased=debiased, level=level, n_resamples=n_resamples, random_state=np.random.default_rng(3)
    )

    def errors(k, m):
        count, rate = k + m, k / (k + m)
        plug_in = (count * (at - rate) ** 2).sum(axis=-1) / n
        return plug_in, plug_in - (count * rate * (1.0 - rate) / (count - 1)).sum(axis=-1) / n

    drawn = np.random.default_rng(3).multinomial(n, np.append(ones, zeros) / n, n_resamples)
    again = np.sort(errors(drawn[:, :3], drawn[:, 3:])[1])
    plug_in, centre = errors(ones, zeros)
    bias = again.mean() - plug_in
    rank = math.floor(level / 2 * (n_resamples + 1) + 1e-9)
    surprises = (v * (1.0 - v)).sum() / 3
    wider = math.sqrt(1.0 + 2.0 / surprises)
    low, high = (centre - bias + wider * (end - plug_in - bias) for end in (again[rank - 1], again[-rank]))
    estimate = centre if debiased else plug_in
    assert found.estimate == pytest.approx(estimate)
    assert tuple(found.interval) == pytest.approx((max(0.0, min(low, estimate)), max(high, estimate)))


def test_fifty_surprises_and_five_in_each_group_are_enough():
    """At 0.5 a row expects a quarter of one; half of the rows are events."""
    y = np.tile([0.0, 1.0], 100)
    assert squared_error_bootstrap(y, np.full(200, 0.5), n_resamples=39, random_state=0).estimate == 0.0
    with pytest.raises(InputError, match="Resampling needs 50 of both"):
        squared_error_bootstrap(y[1:], np.full(199, 0.5), n_resamples=39)
    v = 0.5 + 1e-6 * np.arange(12)
    y = np.tile([0.0, 1.0], 126)
    assert squared_error_bootstrap(y, np.repeat(v, 21), n_resamples=39, random_state=0).interval.high > 0.0
    with pytest.raises(InputError, match=r"expects 5 surprises in each of 12 groups"):  # rounded: a little less
        squared_error_bootstrap(y[:240], np.repeat(v, 20), n_resamples=39)


def test_a_group_of_one_row_has_no_debiased_square_and_an_empty_one_counts_for_nothing():
    ones, zeros = np.array([[1, 0, 0, 2]]), np.array([[0, 0, 1, 2]])
    at = np.array([0.4, 0.5, 0.3, 0.6])
    plug_in = squared_error_of_counts(ones, zeros, at, False)
    assert plug_in[0] == pytest.approx((0.6**2 + 0.3**2 + 4 * 0.1**2) / 6)
    debiased = squared_error_of_counts(ones, zeros, at, True)
    assert debiased[0] == pytest.approx(4 * (0.1**2 - 0.25 / 3) / 6)
