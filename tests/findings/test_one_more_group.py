"""One group that is missing is one group, in words too."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from calibrant.findings.actions import _more_groups
from calibrant.resampling.redraw import LEAST_GROUPS


@pytest.mark.parametrize(
    ("missing", "words"), [(1, "about 1 more group (column site)"), (2, "about 2 more groups (column site)")]
)
def test_the_groups_that_are_missing_are_counted_in_good_words(missing: int, words: str) -> None:
    n_groups = 40
    worth = LEAST_GROUPS * n_groups / (n_groups + missing - 0.5)
    audit = SimpleNamespace(columns={"groups": "site"}, group_line=SimpleNamespace(worth=worth), n_groups=n_groups)
    assert _more_groups(cast("Any", audit)) == words
