"""What an audit keeps of the decision curve: the curve's own numbers at fewer thresholds."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from calibrant import InputError, audit, decision_curve, murphy_diagram
from calibrant.decisions.curve import acting_from_sample, band_of_sample
from calibrant.door.sample import Sample

COST = SimpleNamespace(threshold=0.3, level=0.05)


def drawn(n):
    rng = np.random.default_rng(0)
    v = rng.random(n)
    return (rng.random(n) < v**1.5).astype(float), v


@pytest.mark.slow
def test_it_is_the_curve_at_fewer_thresholds_with_the_costs_among_them():
    y, v = drawn(2000)
    found = audit(y, v, threshold=0.3, n_resamples=99, random_state=0)
    kept = found.acting
    assert kept.threshold == 0.3 == found.cost_of_acting.threshold
    assert 300 < kept.thresholds.size <= 401
    curve = decision_curve(y, v, thresholds=kept.thresholds)
    for name in ("net_benefit", "net_benefit_after", "best_net_benefit", "treat_all"):
        np.testing.assert_allclose(getattr(kept, name), getattr(curve, name), atol=1e-12)
    lost = (1 - 0.3) * (kept.best_net_benefit - kept.net_benefit)[kept.at]
    assert lost == pytest.approx(found.cost_of_acting.lost, abs=1e-12)
    band = kept.band
    assert band.level == found.level
    assert ((band.net_benefit_lower <= band.net_benefit) & (band.net_benefit <= band.net_benefit_upper)).all()


def test_the_thinned_diagram_has_the_whole_one_s_values_and_hull():
    y, v = drawn(3000)
    whole, thin = murphy_diagram(y, v), acting_from_sample(Sample.from_columns(y, v), COST, 0, 0).murphy
    place = np.searchsorted(whole.thresholds, thin.thresholds)
    np.testing.assert_array_equal(whole.thresholds[place], thin.thresholds)
    np.testing.assert_array_equal(whole.elementary_score[place], thin.elementary_score)
    assert thin.thresholds[[0, -1]].tolist() == [0.0, 1.0]
    for rate in ("true_positive_rate", "false_positive_rate"):
        np.testing.assert_array_equal(getattr(whole, rate)[whole.on_hull], getattr(thin, rate)[thin.on_hull])
    assert thin.area == pytest.approx(whole.area, abs=1e-3)
    assert thin.corp.mean_score == whole.corp.mean_score


@pytest.mark.parametrize(
    ("columns", "why"),
    [
        (([0.5, 0.2, 0.1], [0.4, 0.3, 0.2]), "event rate"),
        (([1.0, 0.0, 0.0], [0.4, 0.3, 0.2], [1.0, 2.0, 1.0]), "weigh differently"),
        (([1.0, 0.0, 0.0], [0.4, 0.3, 0.2]), "has 1 event;"),
    ],
)
def test_where_no_band_is_drawn_it_says_why(columns, why):
    found = acting_from_sample(Sample.from_columns(*columns), COST, 199, 0)
    assert found.band is None
    assert why in found.no_band


def test_trials_are_not_taken_for_rows_of_the_population():
    shares, v, trials = np.array([0.2, 0.5, 0.6, 0.9] * 10), np.linspace(0.1, 0.9, 40), np.full(40, 10)
    found = audit(shares, v, trials=trials, n_resamples=39, random_state=0)
    assert found.acting.band is None
    assert "trials of one row" in found.acting.no_band
    assert found.cost_of_acting.regret_interval is None


@pytest.mark.slow
def test_the_page_shows_it_once_with_ids_of_its_own(tmp_path):
    y, v = drawn(300)
    audit(y, v, threshold=0.25, n_resamples=99, random_state=0).to_html(tmp_path / "a.html")
    page = (tmp_path / "a.html").read_text()
    assert page.count('<section id="costs">') == 1
    assert "Net benefit at the threshold 0.25" in page
    assert page.count("threshold 0.25") >= 2  # the table, the legend
    assert "acting from 0.25 on loses as much as " in page
    section = page.partition('<section id="costs">')[2].partition("</section>")[0]
    assert section.count("<svg") == 4
    assert "#0b6e99" not in section  # colours follow the page


def test_a_band_has_as_many_redraws_as_its_level_needs():
    """Half of the level is for each end, so twice as many are needed as for one."""
    sample = Sample.of_arrays(*drawn(100), None)
    assert band_of_sample(sample, np.array([0.3]), 0.1, 19, 0).level == 0.1
    with pytest.raises(InputError, match="n_resamples: is 18"):
        band_of_sample(sample, np.array([0.3]), 0.1, 18, 0)


def test_without_resamples_there_is_no_band():
    found = acting_from_sample(Sample.from_columns(*drawn(200)), COST, 0, 0)
    assert found.band is None
    assert found.no_band == "no resamples were asked for"


def test_rows_that_were_pooled_into_cells_have_no_band():
    y, v = drawn(200)
    sample = Sample.from_columns(y, v)
    apart, pooled = acting_from_sample(sample, COST, 39, 0), replace(sample, cell_width=np.full(v.size, 0.01))
    assert (apart.no_band, apart.band.n_resamples) == (None, 39)
    found = acting_from_sample(pooled, COST, 39, 0)
    assert (found.band, found.no_band) == (None, "rows were pooled into cells")
