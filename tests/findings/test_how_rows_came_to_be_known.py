"""The examiners' cases of rows that were sampled, weighted, followed or grouped: what audits said of them wrongly."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from calibrant import audit, audit_table, calibration_test
from calibrant.door.request import Listener
from calibrant.gate.checks import check_opened
from calibrant.gate.request import GateRequest
from calibrant.segments import find_segments
from calibrant.tables.frames import OpenedFrame

FEW = {"n_resamples": 199, "random_state": 0}


def thinned(seed, n=8000):
    """All events and a tenth of the rest, with weights that make up for it."""
    rng = np.random.default_rng(seed)
    v = expit(rng.uniform(-4.0, 1.0, n))
    y = (rng.random(n) < v).astype(int)
    rows = rng.random(n) < np.where(y == 1, 1.0, 0.1)
    return y[rows], v[rows], np.where(y[rows] == 1, 1.0, 10.0)


def test_weights_that_undo_a_sampling_by_outcome_raise_no_alarm():
    # P1: calibrated predictions were rejected 20 of 20, and the headline said "not chance".
    rejected = 0
    for seed in range(12):
        y, v, w = thinned(seed)
        rejected += calibration_test(y, v, sample_weight=w, n_resamples=99, random_state=seed).reject
    assert rejected <= 3
    y, v, w = thinned(0)
    found = audit(y, v, sample_weight=w, **FEW)
    assert found.answer.state == "too few rows"
    assert (
        "the file has 10% of all rows without the event and all rows with it, as their weights say"
        in found.summary().replace("\n", " ")
    )
    told = audit(y, v, sampling_fractions={0: 0.1, 1: 1.0}, **FEW)
    assert told.sampling_fractions == pytest.approx(found.sampling_fractions)
    assert told.answer.pvalue == found.answer.pvalue
    assert "were kept, as their weights say" not in told.summary().replace("\n", " ")


@pytest.mark.slow
def test_a_search_of_sampled_rows_finds_no_segment():
    # P1: find_segments 12 of 12.
    found = 0
    for seed in range(6):
        y, v, w = thinned(seed)
        table = {"y": y, "p": v, "w": w, "site": np.arange(y.size) % 3, "kind": (v > 0.2).astype(int)}
        options = {"y_true": "y", "y_prob": "p", "sample_weight": "w", "n_resamples": 99, "random_state": seed}
        found += bool(find_segments(pd.DataFrame(table), **options).segments)
    assert found <= 1


@pytest.mark.slow
def test_rare_clustered_rows_beside_common_ones_are_rejected_at_the_level():
    # S2: .36 of calibrated samples, and 27 of 60 audits said "not chance".
    group = np.concatenate([np.repeat(np.arange(500), 4), np.repeat(np.arange(500, 520), 100)])
    rejected = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        v = np.concatenate([rng.uniform(0.2, 0.8, 2000), rng.uniform(0.02, 0.04, 2000)])
        y = (rng.random(520)[group] < v).astype(float)
        rejected += calibration_test(y, v, groups=group, n_resamples=99, random_state=seed).reject
    assert rejected <= 6


@pytest.mark.parametrize("name", ["hospital", "site", "ward_id", "shop_id"])
def test_a_column_of_hospitals_draws_a_condition(name):
    # U7: `hospital_id` and `site` drew no warning where `patient_id` did.
    rng = np.random.default_rng(0)
    v = rng.random(300)
    frame = pd.DataFrame({"y_true": (rng.random(300) < v) * 1, "y_prob": v, name: np.arange(300) % 40})
    found = audit_table(frame, n_resamples=0, random_state=0)
    assert found.perhaps_groups == name
    assert f"If rows of one {name} depend on one another" in found.premises.summary()
    once = frame.assign(**{name: np.arange(300)})
    assert audit_table(once, n_resamples=0, random_state=0).perhaps_groups is None
    same = frame.assign(**{name: 1})
    assert audit_table(same, n_resamples=0, random_state=0).perhaps_groups is None


def test_audit_and_gate_name_the_same_column_of_groups():
    # A usual name in which no value repeats (a patient a row) said less of a gate than of an audit.
    rng = np.random.default_rng(0)
    v = rng.random(300)
    columns = {"y_true": (rng.random(300) < v) * 1, "y_prob": v}
    frame = pd.DataFrame({**columns, "patient_id": np.arange(300), "ward_id": np.arange(300) % 40})
    gated = check_opened(OpenedFrame(frame), GateRequest(max_distance=0.1), Listener())
    found = audit_table(frame, n_resamples=0, random_state=0)
    assert gated.premises.perhaps_groups == found.perhaps_groups == "ward_id"


def test_what_a_bound_proves_without_a_test_takes_rows_of_one_site_as_independent_too():
    rng = np.random.default_rng(0)
    v = rng.random(3_000)
    frame = pd.DataFrame({"y_true": (rng.random(3_000) < v**3) * 1, "y_prob": v, "site": np.arange(3_000) % 40})
    found = audit_table(frame, n_resamples=0, random_state=0).answer
    assert found.details[0].startswith("A bound proves this if rows of one site are independent, without a test. ")
