"""Pictures of decisions: where their axes end, what is marked, and that one of several models is its line alone."""

from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.figure import Figure

from calibrant.report import diagram

T = np.linspace(0.0, 0.9, 10)
UP = np.linspace(0.0, 0.4, 10)
CORP = SimpleNamespace(prediction=T, recalibrated=UP, miscalibration=0.01, mean_score=0.02)
MURPHY = SimpleNamespace(
    thresholds=T,
    **dict.fromkeys([f"elementary_{each}" for each in ("uncertainty", "discrimination")], UP),
    **dict.fromkeys([f"elementary_{each}{end}" for each in ("miscalibration", "score") for end in ("", "_after")], UP),
    corp=CORP,
    area=0.7,
    false_positive_rate=T,
    true_positive_rate=T**0.5,
    on_hull=np.arange(10) % 3 == 0,
)


def curve(acted_on=10, best=0.0):
    """Net benefits that are 0 from a threshold on."""
    benefit = np.where(np.arange(10) < acted_on, 0.3 - 0.3 * T, 0.0)
    more = {"net_benefit": benefit, "net_benefit_after": benefit, "best_net_benefit": np.maximum(benefit, best)}
    return SimpleNamespace(thresholds=T, base_rate=0.3, **more)


BAND = SimpleNamespace(thresholds=T, net_benefit_lower=UP - 0.1, net_benefit_upper=UP + 0.1, level=0.05)


def fitted(most, observed=0.0):
    """A belt and a curve of predictions up to `most`."""
    v = np.linspace(0.0, most, 5)
    ends = {"observed": np.full(5, observed), "observed_lower": 0.9 * v, "observed_upper": 1.1 * v, "level": 0.05}
    value = SimpleNamespace(value=1.0, summary=lambda: "1.0")
    return SimpleNamespace(
        prediction=v,
        **ends,
        pvalue=0.2,
        degree=2,
        curve="lowess",
        deciles=np.zeros((3, 2)),
        histogram=np.ones((2, 20)),
        estimates=dict.fromkeys(diagram._ABOVE, value),
        calibration_slope=value,
    )


DRAWN = {
    "curve": (lambda ax, **look: diagram.draw_decision_curve(curve(), ax, None, **look), 2, 0),
    "curve with its band": (lambda ax, **look: diagram.draw_decision_curve(curve(), ax, BAND, **look), 2, 1),
    "Murphy": (lambda ax, **look: diagram.draw_murphy(MURPHY, ax, **look), 0, 0),
    "isotonic": (lambda ax, **look: diagram.draw_isotonic(MURPHY, ax, **look), 1, 0),
    "ROC": (lambda ax, **look: diagram.draw_roc(MURPHY, ax, **look), 1, 0),
    "clinical": (lambda ax, **look: diagram.draw_clinical(fitted(0.3), ax, **look), 1, 1),
    "belt": (lambda ax, **look: diagram.draw_belt(fitted(0.3), ax, **look), 1, 1),
}


@pytest.mark.parametrize(("draw", "references", "shades"), DRAWN.values(), ids=DRAWN)
def test_one_of_several_models_is_a_line_and_its_band_beside_what_all_are_compared_with(draw, references, shades):
    ax = Figure().subplots()
    for count in (1, 2):
        assert draw(ax, name=f"model {count}") is ax
        gids = [str(line.get_gid()).partition(" ")[2] for line in ax.lines]
        assert sorted(each.partition(" ")[0] for each in gids) == ["model"] * count + ["reference"] * references
        assert (len(ax.collections), len(ax.texts)) == (shades * count, 0)
    legend = [each.get_text() for each in ax.get_legend().get_texts()]
    assert [each.partition(" (")[0] for each in legend[:2]] == ["model 1", "model 2"]


@pytest.mark.parametrize("draw", [draw for draw, *_ in DRAWN.values()], ids=DRAWN)
def test_a_model_alone_is_drawn_in_full(draw):
    ax = draw(Figure().subplots())
    assert [line for line in ax.lines if line.get_gid()] == []
    assert len(ax.lines) >= 2


@pytest.mark.parametrize(
    ("acted_on", "best", "threshold", "end"),
    [
        (0, 0.0, None, 0.995),  # no row is ever acted on: the whole axis
        (3, 0.0, None, 1.15 * 0.2),
        (3, 0.1, None, 0.995),  # the best cut acts everywhere
        (1, 0.0, None, 0.02),
        (3, 0.0, 0.5, 1.15 * 0.5),
        (3, 0.0, 0.1, 1.15 * 0.2),
    ],
)
@pytest.mark.parametrize("band", [None, BAND])
def test_a_decision_curve_ends_beyond_what_is_acted_on_and_its_threshold(acted_on, best, threshold, end, band):
    ax = diagram.draw_decision_curve(curve(acted_on, best), Figure().subplots(), band, threshold)
    assert ax.get_xlim() == pytest.approx((0.0, end))
    marked = [line.get_xdata()[0] for line in ax.lines if line.get_label().startswith("threshold")]
    assert marked == ([] if threshold is None else [threshold])
    assert [each.get_label() for each in ax.collections] == ([] if band is None else ["95% band"])


@pytest.mark.parametrize("draw", [diagram.draw_belt, diagram.draw_clinical])
@pytest.mark.parametrize(("most", "end"), [(0.1, 0.13), (0.5, 0.65), (0.51, 1.0), (0.9, 1.0)])
def test_axes_of_risks_end_at_1_unless_all_lies_far_below(draw, most, end):
    for name in (None, "mine"):
        assert draw(fitted(most), Figure().subplots(), name=name).get_xlim() == pytest.approx((0.0, end))


def test_axes_hold_what_is_observed_as_well():
    assert diagram.draw_clinical(fitted(0.1, observed=0.4), None).get_xlim()[1] == pytest.approx(0.52)


@pytest.mark.parametrize("name", [None, "mine"])
def test_the_panels_of_a_triptych_are_titled_with_their_numbers_where_the_model_is_alone(name):
    figure = diagram.draw_triptych(MURPHY, None, name=name)
    titles = ("Reliability: miscalibration 0.0100", "Elementary scores: mean 0.0200", "ROC: area 0.7000")
    assert [ax.get_title() for ax in figure.axes] == [each if name is None else each.split(":")[0] for each in titles]
