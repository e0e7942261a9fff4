"""Every public call, by name and by the kind of rows that it is given."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Literal, get_args, get_origin, get_type_hints

import numpy as np

import calibrant
from calibrant import synthetic
from tests.ledger import inputs
from tests.ledger.commands import of_commands
from tests.ledger.inputs import COLUMNS, COMMON, NAMES, ROWS, TABLE_COMMON, TABLES, Arguments, filled
from tests.ledger.values import Call, NotPreparedError, Plain, attempted
from tests.public import CLASSES, FUNCTIONS

PUBLIC_CALLS = {
    **FUNCTIONS,
    **CLASSES,
    **{
        name: value
        for name, value in vars(synthetic).items()
        if getattr(value, "__module__", "") == synthetic.__name__ and not name.startswith("_") and name != "Domain"
    },
}
"""Every public function and class; of `synthetic`, whose names no list holds, what it defines."""

UNCALLED = {
    "MulticlassRecalibrator": "a base",
    "Recalibrator": "a base",
    "Result": "a base",
    "calibration_tests": "a list; tests/inference/test_every_test.py asks each of its tests",
    "from_json": "needs what to_json gives; its round trip is tested in tests/recalibration",
    "load": "needs a file that save wrote; tested as from_json",
}
"""Public names that have no entry, and why. Results are entered by the calls that give them."""

# What some calls need otherwise: too few resamples cannot reject, an interval needs other numbers.
SPECIAL: dict[str, Arguments] = {
    "two_sample_calibration_test": {"n_resamples": 1999},
    "tcal_test": {"n_resamples": 999},
    "squared_error_interval": {"n_rows": 10**6},
    "subset_sum_domain": {"target": 12},
    "oscillating": {"m": 4, "s": 0.6, "rho": 5.0},
    "squared_calibration_error": {"n_bins": None},
    "squared_error_bootstrap": {"n_bins": None},
    "hidden_bias": {"values": 4},
    "type_sparsified_distance": {"epsilon": None},
    "constant_gap": {"epsilon": 0.05},
    "extreme_ratios": {"epsilon": 0.05},
    "quadratic_gap": {"alpha": 0.1},
}
COSTLY_ROWS = {"prediction_sparsified_distance": 9, "type_sparsified_distance": 9}
"""Calls whose time grows with a high power of the rows, and how many they get."""


def _prepared(name: str, kind: Arguments) -> Arguments:
    prepared = {**COMMON, **COLUMNS, **SPECIAL.get(name, {}), **kind}
    prepared["X"] = _features()
    rows = COSTLY_ROWS.get(name)
    if rows is not None:
        cut = {
            key: each[:rows] for key, each in prepared.items() if isinstance(each, np.ndarray) and len(each) == inputs.N
        }
        prepared |= cut
    if name in ("check_coupling", "check_potentials"):
        certificate = calibrant.lower_calibration_certificate(inputs.Y, inputs.V)
        prepared |= {"coupling": certificate.coupling, "potentials": certificate.potentials}
    return prepared


def _features() -> Any:
    import pandas

    return pandas.DataFrame({"y_prob": inputs.V, "site": inputs.SITE.astype(float), "age": inputs.AGE.astype(float)})


def _caller(prepared: Arguments, deep: bool = False) -> Call:
    """Calls the methods of what a call gave, with the same rows."""

    def call(value: Any, method: str) -> Plain:
        if method in ("update", "update_sketch", "update_sample", "fit", "fit_classes", "fit_sample", "merge", "audit"):
            raise NotPreparedError(method)
        function = getattr(value, method)
        several, named = filled(function, prepared)
        return attempted(lambda: function(*several, **named), None, 1)

    return Call(call, deep)


def _made(owner: type, prepared: Arguments) -> Any:
    """An object of a class that its users make: updated twice, or fitted, as it is meant to be used."""
    from sklearn.linear_model import LogisticRegression

    special = {"estimator": LogisticRegression(), "method": None}
    several, named = filled(owner, {**prepared, **special})
    value = owner(*several, **named)
    if hasattr(value, "update"):
        for _ in range(2):
            several, named = filled(value.update, prepared)
            value.update(*several, **named)
    if hasattr(value, "fit"):
        several, named = filled(value.fit, prepared)
        value.fit(*several, **named)
    return value


_PLAIN = (calibrant.Interval, calibrant.Bracket)


def is_made_by_users(owner: type) -> bool:
    """Whether a class is called by its users: results come from calls."""
    return hasattr(owner, "update") or hasattr(owner, "fit") or issubclass(owner, Exception) or owner in _PLAIN


def _of_columns() -> Iterator[tuple[str, Callable[[], Plain]]]:
    for name, value in PUBLIC_CALLS.items():
        if name in UNCALLED or (inspect.isclass(value) and not is_made_by_users(value)):
            continue
        used = value.fit if hasattr(value, "fit") else value.update if hasattr(value, "update") else value
        takes = {*inspect.signature(value).parameters, *inspect.signature(used).parameters}
        if takes & {"frame", "table"}:
            continue
        for kind, (needed, changed) in ROWS.items():
            if needed <= takes:
                yield f"{name} / {kind}", partial(_recorded, name, value, changed, kind == "plain")
        for option, other in _options(value):
            also = {"n_bins": 10} if option == "strategy" else {}
            yield f"{name} / {option}={other!r}", partial(_recorded, name, value, {option: other, **also}, False)


def _options(call: Callable[..., Any]) -> Iterator[tuple[str, Any]]:
    """Every mode that a signature offers besides its default."""
    local: dict[str, Any] = {}
    while True:
        try:
            hints = get_type_hints(call.__init__ if inspect.isclass(call) else call, localns=local)
            break
        except NameError as unknown:  # a type that its module imports for type checkers alone
            local[str(unknown.name)] = Any
    for name, each in inspect.signature(call).parameters.items():
        hint = hints.get(name)
        modes = (False, True) if hint is bool else get_args(hint) if get_origin(hint) is Literal else ()
        yield from ((name, mode) for mode in modes if mode != each.default)


def _recorded(name: str, value: Any, changed: Arguments, deep: bool) -> Plain:
    prepared = _prepared(name, changed)

    def run() -> Any:
        if inspect.isclass(value):
            return _made(value, prepared)
        several, named = filled(value, prepared)
        return value(*several, **named)

    return attempted(run, _caller(prepared, deep))


def _of_tables() -> Iterator[tuple[str, Callable[[], Plain]]]:
    takers = {
        name: value for name, value in FUNCTIONS.items() if {"frame", "table"} & {*inspect.signature(value).parameters}
    }
    takers["CalibrationSketch.from_frame"] = calibrant.CalibrationSketch.from_frame
    for name, value in takers.items():
        takes = set(inspect.signature(value).parameters)
        for kind, (needed, changed) in TABLES.items():
            if needed <= takes:
                for road, table in inputs.roads().items():
                    yield f"{name} / {kind} / {road}", partial(_of_road, value, changed, road, table)


def _of_road(value: Callable[..., Any], changed: Arguments, road: str, table: Callable[[], Any]) -> Plain:
    prepared = {**TABLE_COMMON, **NAMES, **changed}
    if value is calibrant.calibration_drift:
        prepared["by"] = "day"
    if road in ("sketch", "rows.sketch", "bad.csv") and value is calibrant.audit_table:
        prepared |= {"y_true": None, "y_prob": None, "unweighted": False}
    with inputs.of_road(road):
        given = table()
        several, named = filled(value, {**prepared, "frame": given, "table": given})
        return attempted(lambda: value(*several, **named), Call(_words))


def _words(value: Any, method: str) -> Plain:
    """What a table's result says of itself; a sketch is asked more where its columns are given."""
    function = getattr(value, method)
    filled(function, {})
    if "random_state" in inspect.signature(function).parameters:
        raise NotPreparedError("random_state")
    return attempted(function, None, 1)


SLOW: dict[str, tuple[str, ...]] = {
    "SegmentRecalibrator": (),
    "RecalibratedClassifier": ("plain",),
    **dict.fromkeys(
        ("AveragedScaling", "choose_recalibrator", "compare_recalibrators"), ("plain", "classes", "groups, weights")
    ),
}
"""Slow fits, and the kinds of rows of which every run of the tests compares them; `--exact` compares all."""
AUDITED = ("rows.csv", "pandas", "summed rows.parquet", "sketch", "bad.csv")
"""Roads to `audit_table` that every run compares: tests/tables/test_every_road.py holds all to one answer."""


def in_suite(name: str) -> bool:
    """Whether every run of the tests compares an entry: of tables one kind of call, of slow fits few."""
    call, *kind = name.split(" / ")
    if call.startswith("$") or len(kind) == 2:
        return (kind[:1] == ["plain"] or not kind) and (call != "audit_table" or kind[1] in AUDITED)
    return kind[0] in SLOW.get(call, kind)


def expected() -> set[str]:
    """Public names that must have an entry, of their own or as what another gives."""
    return {*PUBLIC_CALLS} - {*UNCALLED} - {name for name, value in CLASSES.items() if not is_made_by_users(value)}


def calls() -> dict[str, Callable[[], Plain]]:
    """Every entry by its name; to be called in order, in a folder of its own after `inputs.write_files`."""
    return {**dict(_of_columns()), **dict(_of_tables()), **dict(of_commands())}
