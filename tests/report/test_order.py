"""Categories as a reader looks for them: in their natural order where their text says that they have one."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from calibrant import find_segments
from calibrant.door.values import ReadOnly
from calibrant.report.segments import _parts, natural_order, pair_svg

ORDERED = [
    ("-1.5", "0", "9", "10", "100.25"),
    ("Mon", "Tue", "Thurs.", "Sat", "sunday"),
    ("Jan", "May", "Sept", "dec"),
    ("false", "true"),
    ("low", "Medium", "high"),
    ("S", "M", "XL"),
    ("2025-12-31", "2026-01-09", "2026-01-10"),
    ("2025-W50", "2026-W05", "2026-W10"),
    ("28.02.2026", "01.03.2026"),
    ("28/02/2026", "01/03/2026", "02/03/2026"),
    ("02/28/2026", "03/01/2026"),
    ("12/2025", "01/2026"),
    ("Q4 2025", "Q1 2026", "Q2 2026"),
    ("7:45", "08:30", "10:00"),
    ("1st", "2nd", "3rd", "10th"),
    ("week 9", "week 10"),
    ("<18", "18-24", "25-64", "65+"),
    ("0.25-0.5", "0.5-1", "1-2", "over 2"),
    ("under 5", "5 to 10", "> 10"),
]
UNORDERED = [
    ("de", "fr", "jp"),
    ("Mon", "March"),
    ("1", "one"),
    ("5", "5.0"),  # one place for two
    ("01/02/2026", "03/04/2026"),  # days or months first?
    ("", "a"),
    ("a1", "b1"),
    ("<18", "old"),
]


@pytest.mark.parametrize("values", ORDERED)
def test_the_order_is_natural_whatever_it_was(values):
    rng = np.random.default_rng(len(values))
    for _ in range(5):
        shuffled = rng.permutation(values).tolist()
        assert [shuffled[i] for i in natural_order(shuffled)] == list(values)


@pytest.mark.parametrize("values", UNORDERED)
def test_where_text_says_no_order_there_is_none(values):
    assert natural_order(values) is None


def test_pairs_are_drawn_in_the_natural_order():
    """Days by themselves are drawn as they are where their codes have that order already, the missing ones last."""
    rng = np.random.default_rng(0)
    n = 3_000
    table = pd.DataFrame({"day": rng.choice(["Mon", "Tue", "Wed", None], n, p=[0.1, 0.2, 0.4, 0.3])})
    table["place"], table["p"] = rng.choice(["a", "b"], n, p=[0.6, 0.4]), rng.uniform(0.2, 0.6, n)
    table["y"] = (rng.random(n) < np.where((table["day"] == "Tue") & (table["place"] == "a"), 0.9, table["p"])) + 0
    found = find_segments(table, y_true="y", y_prob="p", n_resamples=39, random_state=0)
    assert found.features["day"] == ("day = Wed", "day = Tue", "day = Mon", "day is missing")
    turned = {0: 2, 2: 0}
    codes = tuple(
        tuple((feature, turned.get(value, value) if feature == 0 else value) for feature, value in fixed)
        for fixed in found.made_of
    )
    labels = {**found.features, "day": ("day = Mon", "day = Tue", "day = Wed", "day is missing")}
    assert pair_svg(found, (0, 1), 5.0) == pair_svg(
        replace(found, features=ReadOnly(labels), made_of=codes), (0, 1), 5.0
    )


def test_dates_are_ordered_by_their_year_wherever_it_stands_and_longer_numbers_are_none():
    assert _parts(["31.1.2024", "1.2.2024"]) == [(2024.0, 1.0, 31.0), (2024.0, 2.0, 1.0)]
    assert _parts(["1/31/2024", "2/1/2024"]) == [(2024.0, 1.0, 31.0), (2024.0, 2.0, 1.0)]
    assert _parts(["1/2/2024", "2/3/2024"]) is None  # which is the month cannot be told
    assert _parts(["3/2024", "1/2025"]) == [(2024.0, 3.0), (2025.0, 1.0)]
    assert _parts(["2024-1-2", "2024-1-10"]) == [(2024.0, 1.0, 2.0), (2024.0, 1.0, 10.0)]
    assert _parts(["1.2.3.2024", "2.2.3.2024"]) is None
    assert _parts(["week 3", "week 10"]) == [(3.0,), (10.0,)]
    assert _parts(["week 3", "month 10"]) is None
    assert _parts(["a", "a"]) is None
