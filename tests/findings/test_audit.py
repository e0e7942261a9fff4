"""The audit: what it says is true of the sample, the same again with the same seed, and safe to write."""

import json
import re

import numpy as np
import pytest
from hypothesis import given

from calibrant import FileError, InputError, audit
from calibrant.door.request import AuditRequest
from calibrant.door.sample import Sample
from calibrant.findings.arrays import audit_sample
from calibrant.findings.reliability import reliability
from calibrant.measures.registry import measures
from tests.strategies import examples, samples


def draw(n, rate, seed=0):
    rng = np.random.default_rng(seed)
    y_prob = rng.random(n)
    return (rng.random(n) < rate(y_prob)) * 1, y_prob


@pytest.mark.slow
@examples(400)
@given(samples())
def test_every_inequality_holds_on_every_sample(sample):
    is_in_order(audit_sample(Sample.from_columns(*sample), AuditRequest(n_resamples=0), advise=False))


@examples(40)
@given(samples())
def test_advice_is_in_order_too(sample):
    y_true, y_prob, weight = sample
    is_in_order(audit(y_true, y_prob, sample_weight=weight, n_resamples=0))


def is_in_order(found):
    assert found.violations == ()
    assert found.distance.lower <= found.distance.upper
    assert max(map(len, found.summary().splitlines())) <= 80
    json.loads(found.to_json())


@pytest.mark.slow
def test_every_registered_measure_is_there():
    found = audit(*draw(300, lambda p: p), random_state=0)
    assert list(found.measures) == list(measures())
    for name, measure in found.measures.items():
        assert measure.value == measures()[name].function(*draw(300, lambda p: p), **measure.parameters)
    assert "Smooth calibration error" in found.summary()


def test_a_measure_that_is_too_slow_is_named_not_hidden(monkeypatch):
    import dataclasses

    from calibrant.measures import registry

    slow = dataclasses.replace(measures()["interval_calibration_error"], maximum_rows=10)
    monkeypatch.setitem(registry._MEASURES._entries, "interval_calibration_error", slow)
    found = audit(*draw(300, lambda p: p), n_resamples=0)
    assert found.measures["interval_calibration_error"].value is None
    said = " ".join(found.summary().split())
    assert "that is proved, and a closer number is not searched for among so many rows" in said
    assert found.violations == ()


@pytest.mark.slow
def test_regions_say_where_and_in_which_direction():
    bump = audit(*draw(40_000, lambda p: np.where((p > 0.3) & (p < 0.6), p - 0.15, p)), n_resamples=0)
    worst = bump.regions[0]
    assert worst.direction == "high"
    assert 0.29 < worst.low < worst.high < 0.61
    assert worst.mean_error == pytest.approx(-0.15, abs=0.02)
    by = f"too high by {-100.0 * worst.mean_error:.0f} points on average"
    assert worst.words.startswith("predictions between 0.")
    assert f"{by} (" in worst.words
    assert f"- {worst.words}: " in bump.summary().replace("\n  ", " ")
    crossing = audit(*draw(40_000, lambda p: 0.5 + 0.8 * (p - 0.5)), n_resamples=0)
    assert {(r.direction, r.high < 0.5, r.low >= 0.5) for r in crossing.regions} == {
        ("low", True, False),
        ("high", False, True),
    }


@pytest.mark.slow
def test_the_band_holds_calibrated_curves_and_not_others():
    def outside(y, v):
        table = reliability(Sample.from_columns(y, v), 0.05)
        beside = (table.prediction < table.band_lower) | (table.prediction > table.band_upper)
        return float(table.mass[beside].sum())

    calibrated = [outside(*draw(500, lambda p: p, seed)) for seed in range(40)]
    assert np.count_nonzero(calibrated) <= 7  # of 40 at 5%: one in 1,000 tests of a true claim would fail
    assert outside(*draw(2000, lambda p: p**2)) > 0.5


@pytest.mark.slow
def test_same_seed_same_report_and_another_seed_another():
    y_true, y_prob = draw(2000, lambda p: p**1.2)
    first, again, other = (audit(y_true, y_prob, n_resamples=199, random_state=seed) for seed in (7, 7, 8))
    assert first.to_json() == again.to_json()
    assert first.to_json() != other.to_json()
    order = np.random.default_rng(0).permutation(y_prob.size)
    assert audit(y_true[order], y_prob[order], n_resamples=199, random_state=7).sentences == first.sentences


@pytest.mark.slow
def test_the_report_is_self_contained_and_escapes_names(tmp_path):
    y_true, y_prob = draw(2000, lambda p: p)
    hostile = "<script>alert('x')</script>&\".csv"
    found = audit_sample(Sample.from_columns(y_true, y_prob), AuditRequest(random_state=0), title=hostile)
    path = tmp_path / "report.html"
    found.to_html(path)
    text = path.read_text(encoding="utf-8")
    assert len(text) < 1_000_000
    assert hostile not in text
    assert text.count("<script") == 2  # the cursor's numbers and the cursor
    assert "&lt;script&gt;" in text
    assert not re.findall(r"""(?:src|href)\s*=\s*["'](?!#|data:,")""", text)
    assert "@import" not in text
    assert not re.findall(r"url\((?!#)", text)
    found.to_html(tmp_path / "again.html")
    assert (tmp_path / "again.html").read_bytes() == path.read_bytes()


@pytest.mark.usefixtures("blank_pictures")
@pytest.mark.slow
def test_a_failed_report_leaves_the_old_one(tmp_path, monkeypatch):
    found = audit(*draw(100, lambda p: p), n_resamples=0)
    path = tmp_path / "report.html"
    path.write_text("old")
    with monkeypatch.context() as patched:
        patched.setattr(
            "calibrant.report.html.document", None
        )  # places that cannot be written to are told before it draws
        with pytest.raises(FileError, match="does not exist"):
            found.to_html(tmp_path / "missing" / "report.html")
        with pytest.raises(FileError, match="not a plain file"):
            found.to_html(tmp_path)
        with pytest.raises(FileError, match="too long"):
            found.to_html(tmp_path / ("x" * 300))

    def full(_descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(FileError, match="No space left"):
        found.to_html(path)
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]


@pytest.mark.slow
def test_plot_draws_on_a_given_axes_or_its_own():
    from matplotlib.figure import Figure

    found = audit(*draw(500, lambda p: p), random_state=0)
    ax = Figure().add_subplot()
    assert found.plot(ax) is ax
    assert found.plot().get_xlabel() == "prediction"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"level": 0}, "level: is 0"),
        ({"level": "5%"}, "level: is '5%'"),
        ({"n_resamples": -1}, "n_resamples: is -1"),
        ({"n_resamples": 10}, "at level 0.05 it must be at least 39"),
        ({"random_state": "seed"}, "random_state: is 'seed'"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(InputError, match=re.escape(message)):
        audit([0, 1], [0.2, 0.3], **options)


def test_progress_is_told_every_stage():
    stages = []
    audit_sample(Sample.from_columns(*draw(100, lambda p: p)), AuditRequest(n_resamples=0), progress=stages.append)
    assert "Reliability diagram" in stages
    assert "Smooth calibration error" in stages


def test_ties_are_not_weights():
    y_prob = np.array([0.2, 0.2, 0.5, 0.7])
    for weight, weighted in ((None, False), ([3, 3, 3, 3], False), ([1, 2, 1, 1], True), ([1, 1, 2, 2], True)):
        assert audit([0, 1, 0, 1], y_prob, sample_weight=weight, n_resamples=0).weighted is weighted
