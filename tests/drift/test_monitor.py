"""The monitor's evidence is a martingale, exactly; it does not see how rows were cut into batches."""

import copy
import itertools
import json
import math
import pickle
import threading

import numpy as np
import pytest

from calibrant import CalibrationMonitor, InputError
from calibrant.drift.monitor import _NAMES, GroupMonitor, MonitorReading, _bets, _group_words, _in_words, _tilts
from calibrant.inference.testing.result import LEAST
from calibrant.kernels import sketching


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_expected_evidence_is_one_over_all_outcomes_even_if_forecasts_follow_them(seed):
    rng = np.random.default_rng(seed)
    tree = {}  # a forecast for every past
    total = 0.0
    for outcomes in itertools.product((0, 1), repeat=7):
        monitor, chance = CalibrationMonitor(), 1.0
        forecasts = []
        for t, y in enumerate(outcomes):
            forecasts.append(tree.setdefault(outcomes[:t], float(rng.beta(0.5, 0.5))))
            chance *= forecasts[-1] if y else 1.0 - forecasts[-1]
        for batch in (slice(0, 1), slice(1, 4), slice(4, 5), slice(5, 7)):
            monitor.update(outcomes[batch], forecasts[batch])
        total += chance * monitor.reading().evalue
    assert total == pytest.approx(1.0, rel=1e-10)


def test_each_departure_is_the_likelihood_ratio_of_moved_log_odds():
    v = np.array([1e-12, 0.01, 0.3, 0.5, 0.8, 0.999])
    tilt = _tilts(v)
    assert tilt.shape == (len(_NAMES), v.size)
    q = v * np.exp(tilt) / (1.0 - v + v * np.exp(tilt))
    for y, direct in ((1, np.log(q / v)), (0, np.log((1 - q) / (1 - v)))):
        assert np.allclose(tilt * y - np.log1p(v * np.expm1(tilt)), direct, atol=1e-9)


@pytest.mark.parametrize("v", [5e-324, 1e-300, 1 - 2**-53])
@pytest.mark.parametrize("y", [0, 1])
def test_extreme_forecasts_stay_finite(v, y):
    assert math.isfinite(math.log(CalibrationMonitor().update([y], [v]).evalue))


@pytest.mark.slow
def test_false_alarms_under_daily_looks():
    alarms = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        monitor = CalibrationMonitor(level=0.1)
        for _ in range(40):
            v = rng.random(20)
            reading = monitor.update(rng.random(20) < v, v)
        alarms += reading.reject
    assert alarms <= 60 * 0.1


@pytest.mark.parametrize(("bend", "word"), [(0.6, "too low"), (1.6, "too high")])
def test_power_and_words(bend, word):
    rng = np.random.default_rng(0)
    v = rng.random(3000)
    reading = CalibrationMonitor().update(rng.random(3000) < v**bend, v)
    assert reading.reject
    assert word in reading.alternative
    assert "miscalibrated after 3,000 rows in 1 batch:" in reading.summary()


def test_order_within_a_batch_does_not_matter_and_a_night_changes_nothing():
    rng = np.random.default_rng(1)
    v = np.round(rng.random(500), 2)
    y = rng.random(500) < v**1.2
    straight, shuffled = CalibrationMonitor(), CalibrationMonitor()
    for rows in np.array_split(np.arange(500), 7):
        straight.update(y[rows], v[rows])
        shuffled = CalibrationMonitor.from_dict(json.loads(json.dumps(shuffled.to_dict(), allow_nan=False)))
        rows = rng.permutation(rows)
        shuffled.update(y[rows], v[rows])
    assert shuffled.reading() == straight.reading()
    assert straight.reading().n_rows == 500
    assert straight.reading().n_batches == 7


@pytest.mark.slow
def test_a_change_that_sets_in_late_is_found():
    rng = np.random.default_rng(2)
    monitor = CalibrationMonitor()
    for _ in range(200):
        v = rng.random(500)
        assert not monitor.update(rng.random(500) < v, v).reject
    for _ in range(4):
        v = rng.random(500)
        reading = monitor.update(rng.random(500) < v**1.5, v)
    assert reading.reject


def test_a_rejection_stands_though_evidence_falls():
    monitor = CalibrationMonitor()
    assert monitor.update(np.ones(30), np.full(30, 0.5)).reject
    after = monitor.update(np.arange(4000) % 2, np.full(4000, 0.5))
    assert after.evalue < 1.0
    assert after.reject
    assert after.pvalue < 0.05


def test_certain_forecasts():
    monitor = CalibrationMonitor()
    assert monitor.update([0, 1], [0.0, 1.0]).evalue == pytest.approx(1.0, abs=1e-12)
    broken = monitor.update([1], [0.0])
    assert broken.reject
    assert math.isinf(broken.evalue)
    assert 0.0 < broken.pvalue < 1e-300
    again = CalibrationMonitor.from_dict(json.loads(json.dumps(monitor.to_dict(), allow_nan=False)))
    assert again.reading() == broken


def test_what_is_refused():
    monitor = CalibrationMonitor()
    with pytest.raises(InputError, match=r"y_prob"):
        monitor.update([0, 1], [0.2, 1.2])
    assert monitor.reading().n_rows == 0
    with pytest.raises(InputError, match="level"):
        CalibrationMonitor(level=0)
    for state in ({}, {"schema": 1}, None, {**monitor.to_dict(), "schema": 7}, {**monitor.to_dict(), "n_rows": "x"}):
        with pytest.raises(InputError, match="state"):
            CalibrationMonitor.from_dict(state)


def test_evidence_from_cells_is_never_more_than_from_rows():
    from calibrant import CalibrationSketch

    for seed in range(20):
        rng = np.random.default_rng(seed)
        rows, cells = CalibrationMonitor(), CalibrationMonitor()
        for _ in range(3):
            v = rng.beta(0.5, 0.5, 300)
            y = rng.random(300) < v**1.4
            exact = rows.update(y, v)
            coarse = cells.update_sample(CalibrationSketch(16).update(y, v).sample, resolution=16)
        shift = [name for name in _NAMES if "too" in name]
        where = [_NAMES.index(name) for name in shift]
        assert (cells._logs[where] <= rows._logs[where] + 1e-9).all()
        assert coarse.n_rows == exact.n_rows
    fine = CalibrationMonitor().update_sample(CalibrationSketch(65536).update(y, v).sample, resolution=65536)
    assert fine.evalue == pytest.approx(CalibrationMonitor().update(y, v).evalue, rel=1e-2)


def test_cells_keep_the_martingale_below_one_in_expectation():
    from calibrant import CalibrationSketch

    v = np.array([0.03, 0.11, 0.46, 0.47, 0.93])
    total = 0.0
    for outcomes in itertools.product((0, 1), repeat=5):
        y = np.array(outcomes)
        chance = np.where(y == 1, v, 1 - v).prod()
        total += (
            chance * CalibrationMonitor().update_sample(CalibrationSketch(8).update(y, v).sample, resolution=8).evalue
        )
    assert 0.5 < total <= 1.0


def test_samples_that_cannot_be_monitored():
    from calibrant import CalibrationSketch
    from calibrant.door.sample import Sample

    with pytest.raises(InputError, match="weights"):
        CalibrationMonitor().update_sample(Sample.from_columns([0, 1], [0.2, 0.8], [1.0, 2.0]))
    with pytest.raises(InputError, match="weights"):
        CalibrationMonitor().update_sample(Sample.from_columns([0.5, 1], [0.2, 0.8]))
    pooled = CalibrationSketch(16).update([0, 1, 1], [0.21, 0.22, 0.9]).sample
    with pytest.raises(InputError, match="resolution"):
        CalibrationMonitor().update_sample(pooled)
    with pytest.raises(InputError, match="resolution"):
        CalibrationMonitor().update_sample(pooled, resolution=4)


def test_rows_that_were_added_are_refused_beyond_chance_unless_they_are_said_to_be_others():
    rng = np.random.default_rng(0)
    v, few = rng.random(300), ([0, 1], [0.5, 0.5])
    y = rng.random(300) < v
    monitor = CalibrationMonitor()
    monitor.update(y[:150], v[:150])
    before = monitor.reading()
    for rows, said in ((slice(300), "begin with the rows of an earlier batch"), (slice(150), "were added before")):
        with pytest.raises(InputError, match=f"y_prob: rows {said}"):
            monitor.update(y[rows], v[rows])
        assert monitor.reading() == before
        assert copy.deepcopy(monitor).update(y[rows], v[rows], distinct=True).n_batches == 2
    assert monitor.update(y[150:], v[150:]).n_batches == 2  # which begins in another way
    for n_batches in (3, 4):  # so few rows may be equal by chance
        assert monitor.update(*few).n_batches == n_batches
    assert len(monitor.to_dict()["held"]) == 2


@pytest.mark.parametrize("resolution", [8, 64, None])
def test_a_cell_bets_by_the_middle_of_the_cell_and_a_single_prediction_by_itself(resolution):
    from calibrant import CalibrationSketch
    from calibrant.door.sample import Sample

    v, y = [0.0, 0.011, 0.0112, 0.4, 0.46, 0.46, 0.97, 1.0], [0, 1, 0, 1, 0, 1, 1, 1]
    pooled = Sample.from_columns(y, v) if resolution is None else CalibrationSketch(resolution).update(y, v).sample
    gained, contradicted = _bets(pooled, resolution)
    expected = np.zeros(len(_NAMES))
    for mean, count, ones, width in zip(pooled.prediction, pooled.count, pooled.ones, pooled.cell_width, strict=True):
        at = (math.floor(mean * resolution) + 0.5) / resolution if width > 0.0 else mean
        (tilt,) = _tilts(np.array([at])).T
        expected += ones * tilt - count * np.log1p(mean * np.expm1(tilt))
    assert gained == pytest.approx(expected)
    assert contradicted == 0
    assert (pooled.cell_width.max() > 0.0) == (resolution is not None)


def test_a_sample_that_was_added_is_refused_unless_it_is_said_to_be_of_other_rows():
    from calibrant import CalibrationSketch

    rng = np.random.default_rng(0)
    v = rng.random(300)
    cells = CalibrationSketch(64).update(rng.random(300) < v, v).sample
    monitor = CalibrationMonitor()
    monitor.update_sample(cells, resolution=64)
    with pytest.raises(InputError, match="y_prob: rows were added before"):
        monitor.update_sample(cells, resolution=64)
    assert monitor.update_sample(cells, resolution=64, distinct=True).n_batches == 2


def test_cells_may_be_as_wide_as_is_said_and_an_eighth_at_most():
    from calibrant import CalibrationSketch

    v = [0.5 + 0.001 / 64, 0.5 + 0.999 / 64]
    cells = CalibrationSketch(64).update([0, 1], v).sample
    assert CalibrationMonitor().update_sample(cells, resolution=64).n_rows == 2
    for resolution in (65, 7):
        with pytest.raises(InputError, match=f"resolution: is {resolution}; cells must be no wider than that, nor"):
            CalibrationMonitor().update_sample(cells, resolution=resolution)


def a_state():
    rng = np.random.default_rng(3)
    monitor = CalibrationMonitor()
    for _ in range(4):
        v = rng.random(50)
        monitor.update(rng.random(50) < v**1.5, v)
    return monitor.to_dict()


def without_checksum(state):
    from calibrant.drift.monitor import _checksum

    return {**state, "checksum": _checksum(state)}


CHANGES = [
    *({"n_rows": x} for x in (-1, math.nan, 200.5, 2**60, 2**53 + 2, 3, 0)),
    *({"n_batches": x} for x in (math.inf, 0, 201)),
    *({"contradicted": x} for x in (True, "0", -1, 1, 201)),
    *({"largest": x} for x in (None, 0.0, -1.0, 1e9, 200 * 746.0, 10**400, math.nan, math.inf, "1")),
    *({"level": x} for x in (math.nan, 0, None)),
    *({"schema": 1}, {"extra": 1}, {"logs": {}}, {"logs": None}),
]


@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_states_that_no_batches_lead_to_are_refused(change):
    state = {**a_state(), **change}
    with pytest.raises(InputError, match=r"state|level"):
        CalibrationMonitor.from_dict(state)
    try:
        state = without_checksum(state)
    except (TypeError, ValueError, AttributeError, OverflowError):
        return
    with pytest.raises(InputError, match=r"state|level"):
        CalibrationMonitor.from_dict(state)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, None, "1", True, [], 800.0 * 200])
def test_a_bet_that_is_no_worth_is_refused(bad):
    state = a_state()
    for name in (_NAMES[0], _NAMES[-1]):
        changed = {**state, "logs": {**state["logs"], name: bad}}
        with pytest.raises(InputError, match="state"):
            CalibrationMonitor.from_dict(changed)
        if isinstance(bad, float):
            with pytest.raises(InputError, match="state"):
                CalibrationMonitor.from_dict(without_checksum(changed))


def test_as_many_rows_as_can_be_counted_are_read():
    """From 2**53 on not every whole number is one of those that JSON's readers tell apart."""
    assert CalibrationMonitor.from_dict(without_checksum({**a_state(), "n_rows": 2**53})).reading().n_rows == 2**53


@pytest.mark.parametrize(("schema", "held"), [(2, False), (2, True), (3, True), (3, False), (4, True), (4, False)])
def test_states_list_the_batches_that_they_hold_from_the_third_version_on(schema, held):
    state = {**a_state(), "schema": schema}
    state = without_checksum({name: x for name, x in state.items() if held or name != "held"})
    if held == (schema > 2):
        assert CalibrationMonitor.from_dict(state).reading() == CalibrationMonitor.from_dict(a_state()).reading()
    else:
        with pytest.raises(InputError, match="it needs those of to_dict and no others"):
            CalibrationMonitor.from_dict(state)


def test_bets_are_of_batches():
    state = CalibrationMonitor().to_dict()
    with pytest.raises(InputError, match="state: has bets, but no batches"):
        CalibrationMonitor.from_dict(without_checksum({**state, "logs": {**state["logs"], _NAMES[3]: 0.0}}))


def test_a_missing_key_and_a_changed_number_are_refused():
    state = a_state()
    for name in state:
        with pytest.raises(InputError, match="state"):
            CalibrationMonitor.from_dict({key: x for key, x in state.items() if key != name})
    with pytest.raises(InputError, match="checksum"):
        CalibrationMonitor.from_dict({**state, "largest": np.nextafter(state["largest"], 9.0)})
    with pytest.raises(InputError, match="checksum"):
        CalibrationMonitor.from_dict({**state, "level": 0.5})
    with pytest.raises(InputError, match="checksum"):
        CalibrationMonitor.from_dict({**state, "n_rows": 201})


def test_a_state_survives_json_to_the_last_bit_and_empty_ones_too():
    for state in (a_state(), CalibrationMonitor(0.01).to_dict()):
        text = json.dumps(state, allow_nan=False)
        again = CalibrationMonitor.from_dict(json.loads(text))
        assert json.dumps(again.to_dict()) == text
        assert pickle.loads(pickle.dumps(again)).to_dict() == state
        assert copy.deepcopy(again).to_dict() == state
    whole = json.loads(json.dumps(CalibrationMonitor().to_dict()).replace("0.0,", "0,"))  # as other languages write it
    assert CalibrationMonitor.from_dict(whole).reading() == CalibrationMonitor().reading()


def test_threads_lose_no_batch():
    monitor = CalibrationMonitor()

    def watch():
        for _ in range(20):
            monitor.update([0, 1], [0.0, 1.0])

    threads = [threading.Thread(target=watch) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (monitor.reading().n_rows, monitor.reading().n_batches) == (320, 160)
    assert monitor.reading().evalue == pytest.approx(1.0, abs=1e-12)


def test_a_departure_is_told_by_the_way_in_which_it_moves_forecasts():
    v = np.linspace(0.01, 0.99, 99)
    for name, tilt in zip(_NAMES, _tilts(v), strict=True):
        words = _in_words(name)
        low, high = tilt[v < 0.495], tilt[v > 0.505]
        if words == "forecasts too confident":  # what happens lies nearer to 1/2
            assert (low > 0.0).all()
            assert (high < 0.0).all()
        elif words == "forecasts not confident enough":
            assert (low < 0.0).all()
            assert (high > 0.0).all()
        else:
            size = float(name.rpartition(" by ")[2].split()[0])
            sign = 1.0 if "too low" in words else -1.0
            ends = words.partition("between ")[2].split(" too ")[0].split(" and ")
            least, most = map(float, ends) if len(ends) == 2 else (0.0, 1.0)
            inside = (v >= least) & ((v < most) | (most == 1.0))
            assert tilt == pytest.approx(np.where(inside, sign * size, 0.0), abs=1e-12)
            assert words.endswith("too low" if sign > 0.0 else "too high")
    assert sum("confident" in _in_words(name) for name in _NAMES) >= 2
    assert not _tilts(np.array([0.0, 1.0])).any()


@pytest.mark.parametrize("level", [0.3, 0.01])
def test_it_rejects_once_the_evidence_has_reached_one_over_the_level(level):
    monitor, most = CalibrationMonitor(level=level), 0.0
    for _ in range(40):
        reading = monitor.update([1], [0.4])
        most = max(most, reading.evalue)
        assert reading.reject == (most >= 1.0 / level)
        assert reading.level == level
    assert reading.reject


@pytest.mark.parametrize("evalue", [0.2, 1.0, 1.5, 50.0])
@pytest.mark.parametrize("reject", [False, True])
def test_what_fits_best_is_told_where_there_is_evidence(evalue, reject):
    said = MonitorReading(evalue, min(1.0, 1.0 / evalue), reject, 0.05, 100, 2, "forecasts too low").summary()
    assert said.startswith("miscalibrated after" if reject else "no miscalibration proved after")
    assert ("forecasts too low fits best" in said) == (evalue > 1.0)


@pytest.mark.parametrize("log", [-math.inf, -800.0, -0.5, 0.0, 0.3, 2.9, 3.1, 700.0, 708.9, 800.0, 1e6, math.inf])
def test_of_groups_the_p_value_is_one_over_the_evidence_and_no_more_than_one(log):
    monitor = GroupMonitor(2, 0.05)
    monitor._log = log
    reading = monitor._reading()
    assert reading.evalue == pytest.approx(math.exp(log) if log < 709.0 else math.inf)
    assert reading.pvalue == pytest.approx(max(LEAST, math.exp(-log)) if log > 0.0 else 1.0)
    assert reading.reject == (log >= math.log(20.0))
    assert reading.level == 0.05


class _Spans:
    """In the place of sums: which periods they are of."""

    def __init__(self, _n_groups):
        self.periods = []

    def add(self, period):
        self.periods.append(period)

    def logs(self):
        ended.append(tuple(self.periods))
        return logs.get(self.periods[-1], (0.0, 0, 1.0))


ended: list[tuple[int, ...]] = []
logs: dict[int, tuple[float, int, float]] = {}
"""Of a period's end: the log of evidence, the number of an interval and a side."""


def test_of_groups_each_period_ends_itself_all_so_far_and_each_four_sixteen_that_are_full(monkeypatch):
    monkeypatch.setattr("calibrant.drift.monitor._Stretch", _Spans)
    monitor, none = GroupMonitor(2, 0.05), (np.zeros(0, np.int64), np.zeros((0, 14)), np.zeros(0, np.int64), 8)
    monitor._sums = lambda *_: (monitor._n_batches,)
    total = 0.0
    for t in range(1, 70):
        ended.clear()
        reading = monitor.update(*none)
        lengths = {1, t, *(length for length in (4, 16, 64) if t % length == 0)}
        assert sorted(ended) == sorted(tuple(range(t - length + 1, t + 1)) for length in lengths)
        total += 1.0 / (t * (t + 1.0))  # e-values of 1, counted so that all of them add up to 1
        assert reading.evalue == pytest.approx(total)


def test_of_groups_the_departure_with_the_most_evidence_so_far_is_told(monkeypatch):
    monkeypatch.setattr("calibrant.drift.monitor._Stretch", _Spans)
    cells = np.zeros((1, 14))
    monkeypatch.setitem(logs, 1, (-2.0, 1, 1.0))
    monkeypatch.setitem(logs, 2, (3.0, 2, -1.0))
    monkeypatch.setitem(logs, 3, (1.0, 0, 1.0))
    monitor, told = GroupMonitor(2, 0.05), []
    monitor._sums = lambda *_: (monitor._n_batches,)
    for _ in range(3):
        told.append(monitor.update(np.array([5]), cells, np.array([0]), 8).alternative)
    assert told == ["forecasts between 0 and 0.5 too low"] + ["forecasts between 0.5 and 1 too high"] * 2
    cells[:, [sketching.COUNT, sketching.WEIGHT, sketching.OUTCOME]] = 1.0  # an event that was forecast impossible
    broken = monitor.update(np.array([0]), cells, np.array([0]), 8)
    assert broken.alternative == "forecasts of exactly 0 or 1 that were wrong"
    assert math.isinf(broken.evalue)
    assert broken.reject
    assert monitor.update(np.array([5]), cells, np.array([0]), 8).alternative == broken.alternative


@pytest.mark.parametrize(("interval", "where"), [(0, ""), (1, " between 0 and 0.5"), (14, " between 0.875 and 1")])
@pytest.mark.parametrize(("sign", "side"), [(1.0, "low"), (-1.0, "high")])
def test_of_groups_it_is_told_where_forecasts_are_wrong_and_how(interval, where, sign, side):
    assert _group_words(interval, sign) == f"forecasts{where} too {side}"
