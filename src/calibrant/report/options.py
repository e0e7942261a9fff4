"""What an audit asks of its options, and the seed that repeats it."""

from __future__ import annotations

import math

import numpy as np

from calibrant.errors import InputError

MOST_RESAMPLES = 1_000_000
RandomState = int | np.random.Generator | None


def check_options(level: float, n_resamples: int) -> None:
    """Refuse a level outside (0, 1), and resamples too few for a band at that level."""
    if isinstance(level, bool) or not isinstance(level, int | float | np.number) or not 0.0 < level < 1.0:
        raise InputError("level", f"is {level!r:.40}; it must lie strictly between 0 and 1")
    if isinstance(n_resamples, bool) or not isinstance(n_resamples, int | np.integer) or n_resamples < 0:
        raise InputError("n_resamples", f"is {n_resamples!r:.40}; it must be a whole number, 0 for no band")
    if n_resamples > MOST_RESAMPLES:
        raise InputError("n_resamples", f"is {n_resamples!s:.40}; at most {MOST_RESAMPLES:,} are drawn")
    smallest = 2.0 / (MOST_RESAMPLES + 1)
    if n_resamples > 0 and level < smallest:
        raise InputError(
            "level", f"is {level:g}; bands are drawn down to {smallest:.1g} (or with 0 resamples for none)"
        )
    needed = math.ceil(2.0 / max(level, smallest) - 1.0 - 1e-9)
    if 0 < n_resamples < needed:
        raise InputError(
            "n_resamples", f"is {n_resamples}; a band at level {level:g} needs at least {needed} (or 0 for no band)"
        )


def seeded(random_state: RandomState) -> tuple[np.random.Generator, int | None]:
    """A generator, and the seed that gives it again; a fresh seed where none is given."""
    if isinstance(random_state, np.random.Generator):
        return random_state, None
    if random_state is None:
        random_state = int(np.random.SeedSequence().generate_state(1)[0])
    if isinstance(random_state, bool) or not isinstance(random_state, int | np.integer) or random_state < 0:
        raise InputError(
            "random_state", f"is {random_state!r:.40}; it must be a whole number from 0, a numpy Generator or None"
        )
    return np.random.default_rng(int(random_state)), int(random_state)
