"""An audit as its words see it: of 1,000 calibrated rows, with the parts that a case changes."""

from types import SimpleNamespace

import numpy as np

from calibrant.door.ends import Bracket

TABLE = SimpleNamespace(prediction=np.array([0.25, 0.75]), mass=np.array([0.5, 0.5]))  # a quarter from their mean
FOUND_NOTHING = SimpleNamespace(result=SimpleNamespace(reject=False, impossible=None, level=0.05), not_run=None)
ADVICE = SimpleNamespace(words="Words of the advice.", gain=None, chosen="unchanged", n_compared=None, backwards=False)


def an_audit(**changes):
    """The fields of an audit that sentences are made of."""
    fields = {
        "n_rows": 1_000,
        "n_distinct": 2,
        "weighted": False,
        "base_rate": 0.5,
        "mean_prediction": 0.5,
        "tests": {"calibration_test": FOUND_NOTHING},
        "advice": ADVICE,
        "classes": None,
        "regions": (),
        "reliability": TABLE,
        "level": 0.05,
        "rates": False,
        "segments": (),
        "segmented_by": ("place",),
        "segments_tested": True,
        "periods": (),
        "columns": {},
        "pos_label": None,
        "max_distance": 0.02,
        "gate": None,
        "auc": 0.8,
        "cost_of_acting": None,
        "n_groups": None,
        "group_line": None,
        "perhaps_groups": None,
        "trials_vary": False,
        "perhaps_sampled": None,
        "refuse_fractions": (),
        "hints": {},
        "found_segments": None,
        "trials": False,
        "sampling_fractions": None,
        "fractions_given": False,
        "followed": None,
        "violations": (),
    }
    assert changes.keys() <= fields.keys()
    return SimpleNamespace(**{**fields, **changes})


def an_answer(**changes):
    """An answer of rows that show no error."""
    fields = {
        "state": "too few rows",
        "direction": None,
        "size": 0.01,
        "interval": None,
        "pvalue": 0.3,
        "action": "leave unchanged",
        "details": ("How far.", "What to do."),
        "max_distance": 0.02,
        "examples": (),
    }
    assert changes.keys() <= fields.keys()
    return SimpleNamespace(**{**fields, **changes})


def segment(name, predicted, happened, *, off=True, n_rows=100, far=None, **changes):
    """A named segment, off or not; `far` is its distance, the mean error where it errs to one side alone."""
    far = abs(happened - predicted) if far is None else far
    fields = {
        "key": (name,),
        "n_rows": n_rows,
        "n_unknown": 0,
        "mean_prediction": predicted,
        "base_rate": happened,
        "bias": happened - predicted,
        "direction": "too low" if happened > predicted else "too high",
        "reject": off,
        "where": None,
        "lower_distance_bracket": Bracket(far, far),
    }
    return SimpleNamespace(**{**fields, **changes})


def found(name, off, predicted=0.5, n_rows=100, pvalue=1e-9, **changes):
    """A search that found one segment, off by so much."""
    fields = {
        "name": f"c = {name}",
        "conditions": (f"c = {name}",),
        "n_rows": n_rows,
        "n_unknown": 0,
        "mean_prediction": predicted,
        "base_rate": predicted + off,
        "direction": "too low" if off > 0.0 else "too high",
        "off": abs(off),
        "in_part": False,
        "pvalue": pvalue,
    }
    one = SimpleNamespace(**{**fields, **changes})
    return SimpleNamespace(segments=(one,), features={"c": (f"c = {name}",)}, n_tested=9)


def period(number, n_rows, predicted, happened, *, off=False):
    """One period, with whether the evidence was enough by then."""
    reading = SimpleNamespace(reject=off)
    return SimpleNamespace(period=number, n_rows=n_rows, mean_prediction=predicted, base_rate=happened, reading=reading)
