"""What is not a number, not in order or not there at all: refused or NaN, never a number, never a stray index."""

import numpy as np
import pytest

from calibrant import InputError
from calibrant.door.sample import Sample
from calibrant.kernels import interval, lower, smooth, sums
from calibrant.measures.registry import measures
from calibrant.measures.smooth import largest_correlation

NAMES = ("prediction", "count", "ones", "weight", "weighted_outcome", "squared_weight", "cell_width")


def columns(m=5):
    one = np.ones(m)
    return dict(zip(NAMES, (np.linspace(0.1, 0.9, m), one, one, one.copy(), 0.3 * one, one, 0 * one), strict=True))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("row", [0, 2, 4])
def test_a_sample_holds_finite_numbers_only(name, bad, row):
    given = columns()
    given[name] = given[name].copy()
    given[name][row] = bad
    with pytest.raises(InputError):
        Sample(**given, binary=False)


@pytest.mark.parametrize("prediction", [[0.2, 0.1], [-0.1, 0.5], [0.5, 1.1], []])
def test_a_samples_predictions_are_sorted_and_within_the_unit_interval(prediction):
    given = columns(len(prediction)) | {"prediction": np.array(prediction)}
    with pytest.raises(InputError):
        Sample(**given, binary=False)


def test_columns_of_a_sample_are_of_one_length():
    with pytest.raises(InputError, match=r"weight: has shape \(4,\)"):
        Sample(**columns() | {"weight": np.ones(4)}, binary=False)


def test_every_measure_takes_a_sample_with_one_row():
    sample = Sample.from_columns([1], [0.25])
    for measure in measures().values():
        assert np.isfinite(measure.on_sample(sample, **measure.parameters))


@pytest.mark.parametrize("where", ["v", "r"])
@pytest.mark.parametrize("row", [0, 3, 6])
def test_kernels_of_the_smooth_error(where, row):
    v, r = np.linspace(0.1, 0.9, 7), np.linspace(-0.2, 0.3, 7)
    (v if where == "v" else r)[row] = np.nan
    if where == "r":
        with pytest.raises(ValueError, match="finite"):
            largest_correlation(v, r.copy())
        assert np.isnan(smooth.keys_in_place(r)[2])
    else:
        assert np.isnan(largest_correlation(v, r))
    unsorted = np.array([0.5, 0.4, 0.6])
    assert np.isnan(largest_correlation(unsorted, np.ones(3)))


@pytest.mark.parametrize("which", [0, 1, 2])
@pytest.mark.parametrize("m", [1, 3, 200])
def test_kernels_of_the_interval_error(which, m):
    v, s, w = np.linspace(0.1, 0.9, m), np.cumsum(np.full(m + 1, 0.01)), np.linspace(0.0, 1.0, m + 1)
    (v, s, w)[which][-1] = np.nan
    cost, start = np.empty(m + 1), np.full(m + 1, 10**15)
    first = interval.best_partition(v, s, w, np.argsort(s), *interval.empty_set(v.size + 1), cost, start)
    assert np.isnan(cost[m]) or (which == 0 and m > 1)  # the last prediction's own width is 0 times a mass of its group
    assert np.all(start[1:] < np.arange(1, m + 1))
    assert np.all(start[1:] >= 0)
    assert first[0] == 0


def test_sums():
    for a in ([np.nan, 1.0], [np.inf, -np.inf], [1.0, np.nan]):
        column = np.array(a)
        assert np.isnan(sums.compensated_sum(column))
        assert np.isnan(sums.compensated_dot(column, np.ones(2)))
        assert np.isnan(sums.grouped_sums(column, np.array([0]))).all()


@pytest.mark.parametrize("which", range(4))
def test_costs_of_couplings(which):
    given = [np.array([0.0, 0.5, 1.0]), *np.full((3, 3), 1 / 6)]
    given[which][1] = np.nan
    assert np.isnan(lower.coupling_cost(*given))
