"""What part of the axis a picture shows."""

import numpy as np

from calibrant import audit
from calibrant.findings.regions import Region
from calibrant.report.diagram import _draw_examples
from calibrant.report.frame import beyond, limits


def audited(low, high, n=300):
    rng = np.random.default_rng(0)
    v = rng.uniform(low, high, n)
    return audit((rng.random(n) < v).astype(float), v, n_resamples=0, random_state=0)


def test_predictions_that_are_spread_have_the_whole_axis_and_narrow_ones_their_part():
    wide, narrow = audited(0.2, 0.8), audited(0.01, 0.03)
    assert limits(wide) == (0.0, 1.0)
    assert beyond(wide) == 0.0
    low, high = limits(narrow)
    assert 0.0 <= low < 0.0105 < 0.0295 < high < 0.1
    assert beyond(narrow) <= 0.02


class Recorded:
    """Axes that remember what is drawn."""

    def __init__(self):
        self.drawn = []

    def plot(self, x, y, **look):
        self.drawn.append((list(x), list(y), look.get("label"), look.get("lw")))


def test_an_example_has_a_ring_and_where_it_is_a_range_a_bar_within_the_axis():
    fields = dict.fromkeys(Region.__dataclass_fields__, 0.5)
    alone, ranged = (Region(**{**fields, "low": low, "high": 0.5}) for low in (0.5, 0.1))
    ax = Recorded()
    _draw_examples([alone, ranged], ax, -0.1, (0.2, 0.9))
    assert [(x, y) for x, y, *_ in ax.drawn] == [([0.5], [0.5]), ([0.5], [0.5]), ([0.2, 0.5], [-0.1, -0.1])]
    assert [label for _, _, label, _ in ax.drawn] == ["headline", None, None]
