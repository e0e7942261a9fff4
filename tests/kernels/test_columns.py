"""The tilt of a column: no element's slack is negative under it, and where there is a choice it is the middle."""

import numpy as np

from calibrant.kernels.columns import _tilt


def test_no_slack_is_negative_under_the_tilt_and_it_lies_in_the_middle():
    rng = np.random.default_rng(0)
    kinds = {"both": 0, "below": 0, "above": 0, "none": 0}
    for _ in range(400):
        v, y, mu = rng.random(5), rng.integers(0, 2, 5).astype(float), rng.choice([0.0, 1.0, rng.random()])
        free = rng.normal()
        credit = abs(v - mu) + free * (y - mu) - rng.random(5) * 0.3  # so that some tilt will do
        tilt = _tilt(v, y, credit, mu)
        over = credit - abs(v - mu)
        ends = [over[y > mu] / (y - mu)[y > mu], over[y < mu] / (y - mu)[y < mu]]
        low, high = max(ends[0], default=-np.inf), min(ends[1], default=np.inf)
        assert (over - tilt * (y - mu) <= 1e-9).all()
        if np.isfinite(low) and np.isfinite(high):
            kinds["both"] += 1
            assert abs(tilt - 0.5 * (low + high)) < 1e-9 * (1.0 + abs(low) + abs(high))
        else:
            kinds["above" if np.isfinite(low) else "below" if np.isfinite(high) else "none"] += 1
            assert tilt == (low if np.isfinite(low) else high if np.isfinite(high) else 0.0)
    assert min(kinds.values()) > 0
