"""A type checker takes good calls of the public functions, and refuses names, columns and modes that do not exist.

``python tools/check_types.py``, where mypy is installed. Each line below that ends in a comment with ``wrong`` must be
refused, and no other line may be. Columns are passed as every kind of them that is installed. Calls of every public
function, good ones and wrong ones, are made from its signature.
"""

from __future__ import annotations

import inspect
import re
import sys
import tempfile
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from mypy import api

import calibrant
from calibrant.public_names import MODULE_OF

ONLY_FOR_CHECKERS = {
    name: getattr(import_module(f"calibrant.{home}"), name)
    for home, name in (
        ("recalibration.base", "Recalibrator"),
        ("recalibration.methods", "Method"),
        ("recalibration.multiclass", "MulticlassRecalibrator"),
        ("findings.comparison", "Comparison"),
    )
}
"""Names that a module imports for type checkers alone, because they are slow to load."""

CALLS = """
from decimal import Decimal
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import calibrant
from calibrant import audit, smooth_calibration_error, tcal_test

y, p = np.array([0, 1, 1]), np.array([0.2, 0.7, 0.9])
table = np.array([[0.8, 0.2], [0.3, 0.7], [0.1, 0.9]])
frame = pd.DataFrame({"y": y, "p": p, "at": ["a", "b", "a"]})
proof = calibrant.lower_calibration_certificate(y, p)
smooth_calibration_error(y, p, sample_weight=[1, 2.5, 3])
smooth_calibration_error([0, 1, True], (0.2, 0.7, Decimal("0.9")))
smooth_calibration_error(pl.Series(y), pl.Series(p))
smooth_calibration_error(pd.Series(y), pd.Series(p))
smooth_calibration_error(pa.array([0, 1]), pa.array([0.2, 0.7]))
audit(["no", "yes", "yes"], p, pos_label="yes")
audit([0, 1, 2], [[0.2, 0.3, 0.5], [0.1, 0.8, 0.1], [0.0, 0.0, 1.0]]).summary()
calibrant.synthetic.calibrated_ladder(3)
calibrant.recalibration.PlattScaling().fit(p, y)
tcal_test(y, p).reject
calibrant.CalibrationSketch().update(y, p, sample_weight=p)
calibrant.nonexistent  # wrong: no such name
from calibrant import smoth_calibration_error  # wrong: misspelt
from calibrant.measures import smooth_calibration_eror  # wrong: misspelt
from calibrant import squared_canonical_kernel_error  # wrong: in its room's namespace alone
smooth_calibration_error(y, 0.5)  # wrong: one number is no column
calibrant.CalibrationSketch().update(y, p, p)  # wrong: weights by keyword
"""

VALUES = {
    "y_true": "y",
    "y_prob": "p",
    "time": "p",
    "event": "y",
    "horizon": "0.5",
    "y_prob_a": "p",
    "y_prob_b": "p",
    "predictor": "p",
    "y_probs": '{"a": p, "b": p}',
    "values": "[0.2, 0.8]",
    "coupling": "proof.coupling",
    "potentials": "proof.potentials",
    "frame": "frame",
    "table": "frame",
    "path": '"map.json"',
    "text": '"{}"',
    "width": "0.1",
    "n_bins": "10",
    "max_distance": "0.1",
    "accept_below": "0.05",
    "reject_above": "0.2",
    "estimate": "0.01",
    "error": "0.01",
    "n_rows": "1000",
    "n_outputs": "10",
}
"""What a good call passes where there is no default."""

COLUMNS = ("y_true", "y_prob", "y_prob_a", "y_prob_b", "sample_weight")


def namespace(name: str) -> str:
    """Where users find a public name."""
    return "calibrant" if name in calibrant.TOP else f"calibrant.{MODULE_OF[name].partition('.')[0]}"


def modes(hint: Any) -> tuple[str, ...]:
    """The words that a parameter takes; none where it takes no words alone."""
    parts = [hint] if get_origin(hint) is Literal else [each for each in get_args(hint) if get_origin(each) is Literal]
    free = str in get_args(hint) or Any in get_args(hint)
    return () if free else tuple(str(word) for each in parts for word in get_args(each))


def calls(name: str, function: Any) -> Iterator[str]:
    """Lines with good and wrong calls of one function."""
    known = inspect.unwrap(function).__globals__
    missing = {each: kind for each, kind in ONLY_FOR_CHECKERS.items() if each not in known}
    parameters, hints = inspect.signature(function).parameters, get_type_hints(function, localns=missing)
    called = f"{namespace(name)}.{name}"
    of_names = {"frame", "table"} & set(parameters)  # columns are told by name
    words = {"y_true": '"y"', "y_prob": '"p"', "by": '"at"' if hints.get("by") is str else '["at"]'} if of_names else {}
    anything = {each for each in parameters if parameters[each].kind is inspect.Parameter.VAR_KEYWORD}
    asked = [each for each in parameters if parameters[each].default is EMPTY and each not in anything]
    needed = {each: words.get(each, VALUES.get(each)) for each in asked}
    if "canonical" in name:
        needed["y_prob"] = "table"

    def call(**changed: str) -> str:
        given = {**needed, **changed}
        by_keyword = inspect.Parameter.KEYWORD_ONLY
        shown = (
            f"{each}={value}" if each not in parameters or parameters[each].kind is by_keyword else f"{value}"
            for each, value in given.items()
        )
        return f"{called}({', '.join(shown)})"

    yield call()
    yield f"{called[:-2]}{called[-1]}  # wrong: misspelt"
    if not anything:
        yield f"{call(no_such_option='1')}  # wrong: no such option"
    for each in parameters:
        if each in COLUMNS and not of_names:
            yield f"{call(**{each: quoted('none')})}  # wrong: text is no column"
            yield f"{call(**{each: '(p, p)'})}  # wrong: columns are no column"
        elif of_names and each in words:
            yield f"{call(**{each: '0.5'})}  # wrong: a number is no name"
        for word in modes(hints[each]):
            yield call(**{each: quoted(word)})
        if modes(hints[each]):
            yield f"{call(**{each: quoted('no such mode')})}  # wrong: no such mode"
        if each in ("level", "n_resamples"):
            yield f"{call(**{each: quoted('0.05')})}  # wrong: text is no number"


EMPTY = inspect.Parameter.empty


def quoted(text: str) -> str:
    return f'"{text}"'


def lines() -> list[str]:
    """The whole script."""
    found = CALLS.splitlines()
    for name, home in MODULE_OF.items():
        value = getattr(import_module(f"calibrant.{home}"), name)
        if inspect.isfunction(value):
            found += calls(name, value)
    return found


def faults() -> list[str]:
    written = lines()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "calls.py"
        path.write_text("\n".join(written) + "\n")
        said, broken, _ = api.run([str(path)])  # with the project's options, and so with the cache of its own check
    refused = {int(line) for line in re.findall(r"calls\.py:(\d+): error", said)}
    expected = {number for number, line in enumerate(written, 1) if "# wrong" in line}
    found = [f"accepted: {written[number - 1]}" for number in sorted(expected - refused)]
    for number in sorted(refused - expected):
        why = re.findall(rf"calls\.py:{number}: error: (.*)", said)
        found.append(f"refused: {written[number - 1]}\n    {'; '.join(why)}")
    return found + ([broken] if broken else [])


if __name__ == "__main__":
    found = faults()
    print("\n".join(found) or f"{len(lines())} lines: good calls are taken, wrong ones refused")
    sys.exit(bool(found))
