"""What an audit's JSON and page say, and what its gate says, beside one another."""

from __future__ import annotations

import warnings

from tests.contradictions import found_in

from runs import Found

WHAT = (
    "Audits of tables of every kind (rare events, atoms, five values, weights, event rates, cells, classes, segments, "
    "drift; with and without a fault), every tenth searched and gated as well. A finding is two statements that do not "
    "fit together."
)
SMALL = 10


def run(cases: int, seed: int) -> Found:
    """As many tables, and a tenth as many gates."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Found(cases, found_in(cases, seed)[0])
