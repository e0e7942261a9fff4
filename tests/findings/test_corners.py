"""Corners: every answer is given, is JSON without infinities, and breaks no inequality."""

import json

import numpy as np
import pytest

from calibrant.door.request import AuditRequest
from calibrant.door.sample import Sample
from calibrant.findings.arrays import audit, audit_sample

PREDICTIONS = {
    "one row": lambda rng: rng.random(1),
    "two rows": lambda rng: rng.random(2),
    "one value": lambda rng: np.full(30, rng.random()),
    "hard": lambda rng: rng.integers(0, 2, 30).astype(float),
    "rare": lambda rng: rng.uniform(0.0, 1e-5, 40),
    "subnormal": lambda rng: rng.choice([0.0, 5e-324, 1e-310], 20),
    "nearly sure": lambda rng: 1.0 - rng.choice([0.0, 2.0**-53, 1e-12], 20),
    "ulps apart": lambda _: 0.3 + np.arange(40) * 2.0**-53,
    "extreme": lambda rng: rng.beta(0.05, 0.05, 40),
    "uniform": lambda rng: rng.random(40),
}
OUTCOMES = {
    "none": lambda v, _: np.zeros(v.size),
    "all": lambda v, _: np.ones(v.size),
    "drawn": lambda v, rng: (rng.random(v.size) < v).astype(float),
    "wrong": lambda v, _: (v < 0.5).astype(float),
    "rates": lambda v, rng: rng.random(v.size),
}
WEIGHTS = {
    "unweighted": lambda *_: None,
    "equal": lambda n, _: np.full(n, 1e100),
    "orders": lambda n, rng: 10.0 ** rng.uniform(-12, 12, n),
    "zeros": lambda n, _: np.arange(n) % 2 + (n == 1) * 1.0,
}


@pytest.mark.slow
@pytest.mark.parametrize("where", PREDICTIONS)
def test_every_corner_has_its_answers(where, tmp_path):
    pairs = [(outcome, weighing) for outcome in OUTCOMES for weighing in WEIGHTS]
    of = list(PREDICTIONS).index(where)
    for number, (outcome, weighing) in list(enumerate(pairs))[of % 3 :: 3]:  # a third of them, each with each in turn
        rng = np.random.default_rng(number)
        v = PREDICTIONS[where](rng)
        y, weight = OUTCOMES[outcome](v, rng), WEIGHTS[weighing](v.size, rng)
        if where == "hard" and outcome == "rates" and weight is None:
            continue  # refused at the door: the columns look swapped
        found = audit_sample(
            Sample.from_columns(y, v, weight), AuditRequest(n_resamples=39, random_state=0), advise=False
        )
        assert found.violations == (), (outcome, weighing)
        assert max(map(len, found.summary().splitlines())) <= 80
        said = json.loads(found.to_json(), parse_constant=pytest.fail)
        assert said == found.to_dict()
        if number // 3 == of % 7:  # the picture takes most of the time
            found.to_html(tmp_path / "page.html")


def test_a_distance_that_is_not_pinned_down_says_so(monkeypatch):
    sample = Sample.from_columns([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4])

    def said():
        return (
            audit_sample(sample, AuditRequest(n_resamples=0), advise=False)
            .measures["lower_calibration_distance"]
            .sentence
        )

    assert "Proved" not in said()
    monkeypatch.setattr("calibrant.findings.arrays._LOOSE", -1.0)
    assert "Proved: 0.0" in said()


@pytest.mark.usefixtures("blank_pictures")
@pytest.mark.slow
@pytest.mark.parametrize("v", [[0.5], [1.0, 0.0], [1e-9] * 30, [1.0] * 12])
def test_advice_and_tests_have_answers_in_corners(v, tmp_path):
    for y in (np.zeros(len(v)), np.arange(len(v)) % 2):
        found = audit(y, v, n_resamples=199, random_state=0)
        json.loads(found.to_json(), parse_constant=pytest.fail)
        found.to_html(tmp_path / "page.html")
        assert found.violations == ()
