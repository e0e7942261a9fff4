"""Each premise in its words, where it is one."""

from dataclasses import dataclass
from datetime import date

import numpy as np
import pytest

from calibrant.door.premises import _SENTENCES, Premises, options_of
from calibrant.door.request import AuditRequest, Option, option


@pytest.mark.parametrize(
    ("said", "options"),
    [
        ("Rows are taken as independent of one another.", {}),
        ("Rows are taken as independent of one another, and one may look at any time.", {"anytime": True}),
        (
            "Rows of one group may depend on one another; 7 groups (column who) are taken as independent.",
            {"grouped": True, "n_groups": 7, "columns": {"groups": "who"}},
        ),
        (
            "Rows of one group may depend on one another; groups (groups) are taken as independent.",
            {"grouped": True, "anytime": True},
        ),
        ("The limit on what acting loses per row is 0.1 (max_regret), at any threshold.", {"max_regret": 0.1}),
        (
            "The limit on what acting loses per row is 0.1 (max_regret), at the threshold 0.3.",
            {"max_regret": 0.1, "threshold": 0.3},
        ),
        ("The limit on the distance is 0.02, as given (max_distance).", {"max_distance": 0.02}),
        (
            "The limit on the distance is 0.02, by default (max_distance). "
            "Acting is looked at from the threshold 0.3 on.",
            {"max_distance": 0.02, "default_limit": True, "threshold": 0.3},
        ),
        ("One row is taken to weigh at most 3 (max_weight), fixed before any was drawn.", {"max_weight": 3.0}),
        (
            "One group is taken to weigh at most 3 (max_weight), fixed before any was drawn.",
            {"max_weight": 3.0, "grouped": True},
        ),
        ("No max_weight was given, so the distance is not bounded for the population.", {"weighted": True}),
        ("No max_weight was given, so the distance is not bounded for the population.", {"trials": True}),
        ("No max_weight was given, so the distance is not bounded for the population.", {"grouped": True}),
        ("FILE begins with 5 rows that the state had; only what is new was added.", {"n_before": 5}),
        ("Columns not looked at: a, b.", {"not_looked_at": ("a", "b"), "searchable": False}),
        (
            'Columns not looked at: a; --find all (in Python find="all") searches them for segments that are off.',
            {"not_looked_at": ("a",)},
        ),
    ],
)
def test_each_premise_is_told_in_its_words_and_only_where_it_is_one(said, options):
    told = Premises(0.05, **options).entries
    assert said in told.values()
    kind = next(name for name, each in told.items() if each == said)
    assert Premises(0.05).entries.get(kind) != said or not options


def test_a_bound_that_needs_none_and_columns_of_none_are_not_told():
    plain = " ".join(Premises(0.05).sentences)
    for word in ("max_weight", "Columns not looked at", "FILE begins", "The limit", "depend on one another;"):
        assert word not in plain


@pytest.mark.parametrize("label", [False, 0, "", "no"])
def test_a_label_that_counts_as_false_is_named(label):
    assert Premises(0.05, pos_label=label).entries["pos_label"] == f"The event is the label {label} (pos_label)."
    assert "pos_label" not in Premises(0.05).entries


@pytest.mark.parametrize(
    ("label", "plain"),
    [
        *((each, each) for each in (None, True, 1, 0.5, "yes")),
        (np.int64(3), 3),
        (np.bool_(False), False),
        (np.str_("yes"), "yes"),
        (date(2026, 1, 31), "2026-01-31"),
        (b"yes", "b'yes'"),
    ],
)
def test_the_label_of_an_event_is_as_json_has_it(label, plain):
    told = Premises(0.05, pos_label=label).to_dict()["pos_label"]
    assert (type(told), told) == (type(plain), plain)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"exclude_bad": True, "n_rows_baseline": 9, "n_excluded_baseline": 1}, "1 of 9 rows was left out"),
        ({"exclude_bad": True, "n_rows_baseline": 9, "n_excluded_baseline": 2}, "2 of 9 rows were left out"),
        ({"exclude_bad": True, "n_rows_baseline": 9, "n_excluded_baseline": 0}, "0 of 9 rows were left out"),
        ({"exclude_bad": True, "n_rows_baseline": 0}, None),
        ({"exclude_bad": False, "n_rows_baseline": 9, "n_excluded_baseline": 1}, None),
    ],
)
def test_rows_of_the_baseline_that_were_left_out_are_told(options, said):
    found = Premises(level=0.05, baseline="old.csv", **options)._excluded_baseline()
    assert found == (None if said is None else f"Of the baseline old.csv {said}.")


@dataclass(frozen=True, kw_only=True)
class Toy(AuditRequest):
    """A request with an option that `Premises` has no attribute for."""

    trim: float | None = option(None, "share", "Leave out predictions below this.", "premises.trim")


def test_an_option_is_named_by_the_sentence_beside_it_where_it_was_given(monkeypatch):
    monkeypatch.setitem(
        _SENTENCES,
        "trim",
        Option("share", None, "premises.trim", sentence="Predictions below {:g} were left out (trim)."),
    )
    assert options_of(Toy()) == options_of(Toy(level=0.1, unweighted=True)) == {}  # which are attributes
    assert options_of(Toy(trim=0.25)) == {"trim": 0.25}
    found = Premises(0.05, options={"trim": 0.25})
    assert found.entries["trim"] == "Predictions below 0.25 were left out (trim)."
    assert found.to_dict() == {
        **Premises(0.05).to_dict(),
        "trim": 0.25,
        "sentences": {**Premises(0.05).entries, "trim": "Predictions below 0.25 were left out (trim)."},
    }
