"""Not worse than a baseline: which way a comparison takes, what it says, and how many rows would decide."""

from types import SimpleNamespace

import numpy as np
import pytest

from calibrant.door.ends import Interval
from calibrant.door.rows import Rows
from calibrant.door.sample import Sample
from calibrant.inference.comparison import not_worse as of_baselines
from calibrant.inference.comparison.not_worse import NotWorse, Predictor, _needed, _resamples, not_worse


def predictor(y, v=None, *, rows=True):
    v = np.linspace(0.1, 0.9, len(y)) if v is None else v
    return Predictor(Sample.of_arrays(np.asarray(y, float), v, None), 0.001, Rows.of(y, v) if rows else None)


NINE, TURNED = [0, 1, 0, 0, 1, 0, 1, 1, 1], [1, 0, 0, 0, 1, 0, 1, 1, 1]


@pytest.mark.parametrize(
    ("now", "before", "level", "same_items", "way"),
    [
        (predictor(NINE), predictor(NINE), 0.05, False, "paired"),
        (predictor(NINE), predictor(NINE), 0.05, True, "paired"),
        (predictor(NINE), predictor(TURNED), 0.05, False, "two samples"),
        (predictor(NINE), predictor(TURNED), 0.05, True, "items"),
        (predictor(NINE), predictor(NINE[1:]), 0.05, False, "two samples"),  # eight can be halved
        (predictor(NINE), predictor(NINE[2:]), 0.05, False, "proved"),  # seven cannot
        (predictor(NINE[2:]), predictor(NINE[2:]), 0.05, True, "proved"),
        (predictor([1] * 9), predictor([1] * 9), 0.05, False, "two samples"),  # which tell no rows apart
        (predictor([0] * 9), predictor([0] * 9), 0.05, False, "two samples"),
        (predictor(NINE, rows=False), predictor(NINE), 0.05, False, "proved"),
        (predictor(NINE), predictor(NINE, rows=False), 0.05, False, "proved"),
        (predictor(NINE), predictor(NINE), 0.003, False, "paired"),  # 667 redraws
        (predictor(NINE), predictor(NINE), 0.0015, False, "proved"),  # 1,334: more than a gate may take
    ],
)
def test_each_comparison_goes_its_way_with_its_level(monkeypatch, now, before, level, same_items, way):
    called = []
    answer = SimpleNamespace(statistic=0.05, interval=Interval(-0.1, 0.3))

    def rows(a, b, *, paired, **how):
        called.append(("paired" if paired else "two samples", a is now.rows and b is before.rows, how))
        return answer

    def items(both, **how):
        called.append(("items", both[0] is now.rows and both[1] is before.rows, how))
        return {(0, 1): answer}

    monkeypatch.setattr(of_baselines, "compare_calibration_on_rows", rows)
    monkeypatch.setattr(of_baselines, "compare_items_on_rows", items)
    found = not_worse(now, before, baseline="old", max_worse=0.1, level=level, shares=2, same_items=same_items)
    assert (found.way, found.level, found.max_worse, found.default_limit) == (way, level, 0.1, False)
    assert (found.n_rows, found.n_rows_baseline) == (now.sample.n_rows, before.sample.n_rows)
    assert found.verdict == "undecided"
    if way == "proved":
        own, other = now.interval(level / 4.0), before.interval(level / 4.0)
        assert tuple(found.difference) == pytest.approx((own.low - other.high, own.high - other.low), abs=1e-15)
        assert not called
        return
    assert tuple(found.difference) == pytest.approx((-0.102, 0.302), abs=1e-15)  # each may have moved by .001
    assert found.rows_needed == np.ceil(now.sample.n_rows * (0.252 / 0.05) ** 2)  # of the statistic, not of the middle
    settings = {"level": level, "n_resamples": max(199, round(2 / level)), "random_state": 0}
    assert called == [(way, True, {"measure": "smooth_calibration_error", **settings})]


def test_rows_are_told_only_where_nothing_is_decided(monkeypatch):
    side = predictor(NINE)
    for ends, verdict in (((-0.2, 0.05), "within"), ((0.2, 0.3), "beyond"), ((0.0, 0.3), "undecided")):
        answer = SimpleNamespace(statistic=0.05, interval=Interval(*ends))
        monkeypatch.setattr(of_baselines, "compare_calibration_on_rows", lambda *_, answer=answer, **__: answer)
        found = not_worse(side, side, baseline="old", max_worse=0.1, level=0.05, shares=2)
        assert (found.verdict, found.rows_needed is None) == (verdict, verdict != "undecided")


def test_two_hundred_thousand_rows_are_the_most_that_are_drawn_again(monkeypatch):
    monkeypatch.setattr(of_baselines, "MOST_RESAMPLED", 9)
    assert of_baselines._can_be_resampled(Rows.of(NINE, [0.5] * 9), Rows.of(NINE, [0.5] * 9), 0.05)
    assert not of_baselines._can_be_resampled(Rows.of(NINE, [0.5] * 9), Rows.of([*NINE, 1], [0.5] * 10), 0.05)
    assert [_resamples(level) for level in (0.5, 0.05, 0.01, 0.001)] == [199, 199, 200, 2000]


@pytest.mark.parametrize(
    ("ends", "centre", "limit", "n", "needed"),
    [
        ((-0.02, 0.06), None, 0.04, 100, 400),  # .04 from the middle to the end, .02 to the limit
        ((-0.02, 0.06), 0.0, 0.04, 100, 225),  # .06 and .04
        ((-0.02, 0.06), 0.0, 0.01, 100, 3600),
        ((-0.04, 0.06), 0.03, 0.02, 100, 4900),  # above the limit it is the lower end that has to reach it
        ((-0.02, 0.04), None, 0.01, 100, None),  # right at the limit
        ((-0.1, 0.1), 0.0, 0.099999, 100, 101),  # one more at least
        ((-1.0, 1.0), 0.0, 3.2e-5, 1, 976_562_500),
        ((-1.0, 1.0), 0.0, 3.1e-5, 1, None),  # over 10^9 times as many are no number
    ],
)
def test_rows_that_would_decide_bring_the_end_to_the_limit(ends, centre, limit, n, needed):
    found = _needed(Interval(*ends), centre, limit, n)
    assert found == (needed if needed is None else pytest.approx(needed, rel=1e-6, abs=1))
    if needed is not None and needed > n + 1:
        middle = np.mean(ends) if centre is None else centre
        reach = (ends[1] - middle if middle < limit else middle - ends[0]) * np.sqrt(n / needed)
        assert reach == pytest.approx(abs(limit - middle), rel=1e-3)


def worse(**changed):
    plain = {
        "verdict": "within", "baseline": "old", "max_worse": 0.02, "difference": Interval(-0.0312, 0.0121),
        "level": 0.05, "n_rows": 400, "n_rows_baseline": 3000, "rows_needed": None, "way": "paired",
    }  # fmt: skip
    return NotWorse(**{**plain, **changed})


ROWS = {
    "paired": "the same 400 rows",
    "items": "the same 400 items, outcomes of either's own",
    "two samples": "400 rows against 3,000 others",
    "proved": "400 rows against 3,000",
}


@pytest.mark.parametrize("way", ROWS)
def test_a_sentence_says_which_rows_and_whether_it_holds_in_large_samples(way):
    large = "" if way == "proved" else " in large samples"
    assert worse(way=way).summary() == (
        f"not worse than old by more than 2 points: with 95% confidence{large}, the population's smooth calibration "
        f"error minus that of old is at most +1.21 points ({ROWS[way]})"
    )
    cell = "; in large samples" if large else ""
    assert worse(way=way).cell() == f"at most +1.21 points (limit 2 points{cell})".replace("2 points", "2")
    both = "" if way in ("paired", "items") else " on both sides"
    short = worse(way=way, verdict="undecided", rows_needed=500)
    assert short.summary().endswith(f"; about 100 more rows{both} would decide, if the error stays as it is here")
    assert "is between -3.12 and +1.21 points" in short.summary()
    assert short.cell().startswith("-3.12 to +1.21 points (")


@pytest.mark.parametrize(
    ("changed", "said", "in_a_cell"),
    [
        ({"default_limit": True}, "by more than 2 points (the default for these rows): ", "2, the default for these"),
        ({"verdict": "beyond"}, "of old is at least -3.12 points (", "at least -3.12 points"),
        ({"max_worse": 0.01, "verdict": "undecided"}, "undecided whether worse than old by more than 1 point: ", ""),
        ({"verdict": "undecided"}, "; it may be right at the limit, where no number of rows decides", "right at the"),
        ({"same": True}, "; both hold the very same outcomes and predictions: a predictor beside itself", "itself"),
    ],
)
def test_what_else_is_said(changed, said, in_a_cell):
    found, plain = worse(**changed), worse()
    assert said in found.summary()
    assert said not in plain.summary()
    assert in_a_cell in found.cell()
    assert not in_a_cell or in_a_cell not in plain.cell()
