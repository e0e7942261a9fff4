"""Moments of a sketch's cells against sums over the rows, and what each bound makes of them."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from calibrant import CalibrationSketch, InputError
from calibrant.measures.registry import measures
from calibrant.sketch import bounds
from calibrant.sketch.bounds import ARITHMETIC, BOUNDS, Moments, error_bound, interval_error_above

# Rows lie at the two ends of their cell, but for one cell of a single prediction: there the chord is what rows have.
V = np.array([0.26, 0.26, 0.26, 0.49, 0.49, 0.51, 0.51, 0.74, 0.74, 0.9])
Y = np.array([1.0, 0.0, 1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0])
W = np.array([1.0, 2.0, 0.5, 1.0, 3.0, 1.0, 1.0, 2.0, 0.25, 4.0])
CELL = np.array([0, 0, 0, 0, 0, 1, 1, 1, 1, 2])
NEAR = {"rel": 1e-9, "abs": 1e-13}


def sketch():
    return CalibrationSketch(4).update(Y, V, sample_weight=W)


def by_cell(values):
    return np.bincount(CELL, W * values) / W.sum()


def means():
    return (np.bincount(CELL, W * V) / np.bincount(CELL, W))[CELL]


def test_moments_of_rows_at_the_ends_of_their_cells_are_the_rows_own():
    cells = sketch().moments()
    ends = np.array([[V[k == CELL].min(), V[k == CELL].max()] for k in range(3)])
    assert np.array_equal(np.stack([cells.low, cells.high], axis=1), ends)
    move = abs(V - means())
    assert cells.displacement == pytest.approx(by_cell(move), **NEAR)
    assert cells.residual == pytest.approx(by_cell(abs(Y - V)), **NEAR)
    largest = np.where(Y == 1.0, 1.0 - ends[CELL, 0], ends[CELL, 1])  # that a residual of a label can be in the cell
    assert cells.moved_residual == pytest.approx(by_cell(largest * move), **NEAR)
    assert (cells.displacement >= by_cell(move)).all()
    assert (cells.moved_residual >= by_cell(abs(Y - V) * move)).all()
    assert 0.0 < cells.misplaced < 1e-12
    assert cells.distance_moved >= by_cell(move).sum() + cells.misplaced
    assert cells.smooth_moved == pytest.approx(by_cell(largest * move).sum(), rel=1e-8)


def test_rows_inside_their_cells_move_by_no_more_than_the_moments_say():
    rng = np.random.default_rng(0)
    v, w = rng.random(300), rng.uniform(0.1, 3.0, 300)
    y = np.where(rng.random(300) < 0.2, rng.random(300), rng.random(300) < v)
    held = CalibrationSketch(8).update(y, v, sample_weight=w)
    cells, place = held.moments(), np.floor(v * 8).astype(int)
    move = abs(v - (np.bincount(place, w * v) / np.bincount(place, w))[place])
    off = y * (1.0 - v) + (1.0 - y) * v
    for known, true in ((cells.displacement, move), (cells.moved_residual, off * move), (cells.residual, off)):
        exact = np.bincount(place, w * true) / w.sum()
        assert (known >= exact).all()
        assert known.sum() <= 3.0 * exact.sum()
    assert cells.residual == pytest.approx(np.bincount(place, w * off) / w.sum(), **NEAR)


def expected(name):
    """The bound of docs/sketch.md in the sums of the rows above."""
    move, off = abs(V - means()), abs(Y - V)
    low, high = np.array([0.26, 0.51, 0.9]), np.array([0.49, 0.74, 0.9])
    moved = (by_cell(np.where(Y == 1.0, 1.0 - low[CELL], high[CELL]) * move)).sum()
    events, others = by_cell(Y)[:2], by_cell(1.0 - Y)[:2]
    cut = (events * others / (events + others)).max()
    act = np.maximum(high[:2] * others, (1.0 - low[:2]) * events).max()
    width = measures()["random_interval_calibration_error"].parameters["width"]
    of_kernel = measures()["kernel_calibration_error"].on_sample(sketch().sample)
    square = 2.0 * moved * by_cell(off).sum()
    of_curve, flat = (
        measures()["convolved_calibration_error"].on_sample(sketch().sample),
        math.sqrt(2.0 / math.pi) * moved,
    )
    return {
        "smooth_calibration_error": moved,
        "lower_calibration_distance": by_cell(move).sum() + 2e-9,
        "averaged_two_bin_calibration_error": 2.0 * moved,
        "cutoff_calibration_error": by_cell(off)[:2].sum(),
        "monotone_decision_loss": 2.0 * (cut + act),
        "random_interval_calibration_error": 2.0 * moved / width,
        "kernel_calibration_error": min(math.sqrt(square), square / of_kernel),
        "convolved_calibration_error": 2e-4
        + (
            max(of_curve, 2.0 * math.sqrt(flat))
            if of_curve**2 < 4.0 * flat
            else (of_curve - math.sqrt(of_curve**2 - 4.0 * flat)) / 2.0
        ),
        "expected_calibration_error": 2.0 * by_cell(off)[:2].sum(),
        "binned_calibration_error_bound": 2.0 * by_cell(off)[:2].sum(),
    }[name]


@pytest.mark.parametrize("name", [name for name in BOUNDS if not name.startswith("surrogate")])
def test_a_bound_is_what_the_moments_give(name):
    held = sketch()
    if name == "convolved_calibration_error":
        for each in (1.0, 0.3):
            flat = math.sqrt(2.0 / math.pi) * held.moments().moved_residual.sum()
            assert held.error_bound(name, bandwidth=each) == pytest.approx(flat / each + 2e-4, rel=1e-6)
    found, bound = held.error_bound(name), expected(name)
    assert bound <= found == pytest.approx(bound, rel=1e-6, abs=1e-10)


def test_parameters_change_the_bounds_as_they_should():
    held, moved = sketch(), sketch().moments().moved_residual.sum()
    name = "averaged_two_bin_calibration_error"
    both = math.sqrt(2.0 * (held.moments().moved_residual * held.moments().residual).sum())
    assert held.error_bound(name, norm="l2") == pytest.approx(both, rel=1e-6)
    assert held.error_bound("random_interval_calibration_error", width=0.5) == pytest.approx(4.0 * moved, rel=1e-6)
    name, square = "kernel_calibration_error", 2.0 * moved * held.moments().residual.sum()
    for kernel, slope in (("laplace", 1.0), ("gaussian", math.exp(-0.5))):
        value = measures()[name].on_sample(held.sample, kernel=kernel, bandwidth=0.5)
        bound = min(math.sqrt(2.0 * slope * square), 2.0 * slope * square / value)
        assert held.error_bound(name, kernel=kernel, bandwidth=0.5) == pytest.approx(bound, rel=1e-6)
    held = CalibrationSketch(4).update(Y[5:], V[5:])  # 0.51 to 0.74 and 0.9
    for bins, split in ((1, 0.0), (2, 0.0), (3, 1.0), (4, 0.0)):  # of three bins an edge lies within a cell
        bound = 2.0 * split * held.moments().residual[0]
        assert held.error_bound("expected_calibration_error", n_bins=bins) == pytest.approx(bound, rel=1e-8, abs=1e-10)


def test_cells_of_one_prediction_cost_their_rounding_alone():
    held = CalibrationSketch(4).update([1, 0, 1], [0.3, 0.3, 0.9])
    cells = held.moments()
    assert not cells.displacement.any()
    assert not cells.moved_residual.any()
    for name in measures():
        extra = {"convolved_calibration_error": 2e-4, "lower_calibration_distance": 2e-9}.get(name, 0.0)
        least = cells.misplaced + ARITHMETIC
        rounded = 1e-8 if name == "kernel_calibration_error" else 1e-12  # of a kernel the square is rounded
        assert least <= error_bound(name, held.sample, cells) - extra <= least + rounded


MOVED = Moments(*(np.array([each]) for each in (0.2, 0.3, 0.0, 2.0**-9, 0.1)), 0.0)  # of one cell


@pytest.mark.parametrize("times", [3.9, 4.1, 4.9, 9.0, 400.0])
def test_a_convolved_error_moves_to_where_its_width_would_be_its_error(monkeypatch, times):
    """The error at a width w moves by m / w at most: the width that is the error is a root of w (value - w) = m."""
    moved = math.sqrt(2.0 / math.pi) * 2.0**-9
    value = math.sqrt(times * moved)
    monkeypatch.setattr(
        bounds, "measures", lambda: {"convolved_calibration_error": SimpleNamespace(on_sample=lambda _: value)}
    )
    roots = np.roots([1.0, -value, moved])
    expected = roots.min() if np.isrealobj(roots) else max(value, 2.0 * math.sqrt(moved))
    assert bounds._convolved(None, MOVED) == pytest.approx(expected + 2e-4, rel=1e-9)


@pytest.mark.parametrize("value", [0.25, 0.5, 0.05])
def test_a_surrogate_is_between_what_its_widths_allow(monkeypatch, value):
    """Where the error is 1/4 at every width w, it is .25 + 2E / w + w at most: least where w is the root of 2E."""
    named = {
        "random_interval_calibration_error": lambda _, **__: 0.25,
        "surrogate_interval_calibration_error": lambda _: value,
    }
    monkeypatch.setattr(
        bounds, "measures", lambda: {name: SimpleNamespace(on_sample=each) for name, each in named.items()}
    )
    root = 2.0**-4
    assert 2.0 * MOVED.moved_residual.sum() == root**2
    highest, lowest = 0.25 + 2.0 * root, 0.25 - root**2  # the lower end is of the widest
    assert bounds._surrogate(None, MOVED) == pytest.approx(max(highest - value, value - lowest))


def test_a_kernel_error_rounds_in_proportion_to_its_residuals():
    v, found = np.array([0.25, 0.75]), []
    for off in (0.2, 0.1):
        held = CalibrationSketch(4).update(v + np.array([off, -off]), v)
        found.append(bounds._kernel(held.sample, replace(held.moments(), moved_residual=np.zeros(2))))
    assert found[1] > 0.0
    assert found[0] / found[1] == pytest.approx(2.0, rel=1e-6)


@pytest.mark.parametrize("name", [name for name in BOUNDS if not name.startswith("surrogate")])
def test_weights_on_another_scale_are_the_same_rows(name):
    light = CalibrationSketch(4).update(Y, V, sample_weight=W / 64.0)
    assert light.error_bound(name) == pytest.approx(sketch().error_bound(name), rel=1e-12)


def test_points_are_the_cells_that_have_weight():
    held = CalibrationSketch(4).update([1, 0, 1], [0.1, 0.3, 0.9], sample_weight=[0.5, 0.25, 0.0])
    rate, prediction, weight = held.points()
    assert (rate.tolist(), prediction.tolist(), weight.tolist()) == ([1.0, 0.0], [0.1, 0.3], [0.5, 0.25])


@pytest.mark.parametrize("resolution", [64, 4096])
def test_a_surrogate_of_the_rows_is_within_the_root_of_what_a_width_costs(resolution):
    """At a width w both are known within 2E / w, and the width itself is added: together they are least at its root."""
    rng = np.random.default_rng(0)
    v = rng.random(400)
    y = (rng.random(400) < v**2) * 1.0
    held, name = CalibrationSketch(resolution).update(y, v), "surrogate_interval_calibration_error"
    bound, cost = held.error_bound(name), 2.0 * held.moments().moved_residual.sum()
    assert bound <= 2.0 * math.sqrt(cost)
    assert abs(measures()[name].function(y, v) - measures()[name].on_sample(held.sample)) <= bound


@pytest.mark.parametrize(
    ("resolution", "options", "refused"),
    [
        (64, {"strategy": "exact"}, False),
        (64, {"strategy": "uniform", "n_bins": 3}, False),
        (2, {"strategy": "exact"}, True),  # its cells hold several predictions
        (64, {"strategy": "quantile"}, True),
        (64, {"strategy": "exact", "norm": "l2"}, True),
        (64, {"norm": "l2"}, True),
    ],
)
def test_binned_errors_have_a_bound_by_fixed_bins_or_where_each_cell_holds_one_prediction(resolution, options, refused):
    held = CalibrationSketch(resolution).update([1, 0, 1], [0.3, 0.35, 0.9])
    name = "expected_calibration_error"
    if refused:
        with pytest.raises(InputError, match=r"^measure: strategy=.* has no proved bound on a sketch"):
            held.error_bound(name, **options)
        return
    assert held.error_bound(name, **options) <= 1e-10
    exact = measures()[name].function([1, 0, 1], [0.3, 0.35, 0.9], **options)
    lower, upper = held.measure(name, **options)
    assert lower <= exact <= upper <= lower + 1e-9


def test_a_kernel_error_without_its_diagonal_has_no_bound():
    with pytest.raises(InputError, match=r"kernel_calibration_error with unbiased=True has no proved bound"):
        sketch().error_bound("kernel_calibration_error", unbiased=True)


@pytest.mark.parametrize("y", [Y, np.full(Y.size, 0.5)])
@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("smooth_calibration_error", {}),
        ("random_interval_calibration_error", {"width": 0.5}),
        ("cutoff_calibration_error", {}),
    ],
)
def test_a_measure_of_the_rows_is_between_what_the_sketch_says_and_never_below_0(name, asked, y):
    held = CalibrationSketch(2).update(y, V)
    bound, registered = held.error_bound(name, **asked), measures()[name]
    on_cells = registered.on_sample(held.sample, **{**registered.parameters, **asked})
    lower, upper = held.measure(name, **asked)
    assert upper == on_cells + bound
    assert lower == (on_cells - bound if on_cells > bound else 0.0)
    assert lower <= registered.function(y, V, **asked) <= upper


def test_interval_error_of_rows_is_within_twice_the_widest_cell():
    cells = sketch().moments()
    assert 0.1 + 2.0 * 0.23 <= interval_error_above(0.1, cells) == pytest.approx(0.56, abs=1e-8)
