"""Generated tables, good and bad, and what must be said of each: the definition in plain Python."""

import datetime as dt
import math
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
from hypothesis import strategies as st

ORDER = ("y_true", "y_prob", "sample_weight")
NAMES = [
    "y",
    "score (%)",
    "é中😀",
    'a"b',
    "a'b",
    "a,b",
    "1",
    "SELECT",
    "_y",
    "_cell",
    "_s0",
    "count",
    "a.b",
    "_fault",
    "x",
]
_PROBABILITIES = [0.0, 1.0, 0.5, 0.25, -0.0, 5e-324, 1e-300, 1.0 - 2.0**-53, 2.0**-53, 0.1, 1 / 3, 0.5 + 2.0**-53]
_OUTSIDE = [math.nan, math.inf, -math.inf, -5e-324, 1.0 + 2.0**-52, 2.0, -1.0, 1e308, None]
_WEIGHTS = [0.0, 1.0, 2.0, 0.5, 1e-3, 1e6, 1e-300, 1e100, 3.0]
_BAD_WEIGHTS = [math.nan, math.inf, -1.0, -5e-324, None, 1e139, 1e141, 1e200]
_KEYS = {
    "whole": [0, 1, 2, -7, 2**40, None],
    "number": [0.0, -0.0, 1.0, 0.5, math.nan, None],
    "truth": [True, False, None],
    "text": ["a", "b", "é", "nan", "1", 'q"', None],
    "date": [dt.date(2026, 1, 31), dt.date(2026, 2, 1), dt.date(1969, 12, 31), None],
    "time": [dt.datetime(2026, 1, 31, 23, 59), dt.datetime(2026, 2, 1), None],
    "mixed": [1, 0.5, "a", True, None],
}


@dataclass(frozen=True)
class Generated:
    """Columns as values of Python, what they are asked for, and the type that each has where there are types."""

    columns: dict
    types: dict
    names: dict
    key: str | None
    question: str
    exclude_bad: bool


@st.composite
def generated(draw, max_rows=12):
    """Draw a table and a question."""
    n = draw(st.one_of(st.integers(0, 2), st.integers(3, max_rows)))
    weighted, bad = draw(st.booleans()), draw(st.sampled_from([0, 0, 1, 3]))
    question = draw(st.sampled_from(["whole", "whole", "by", "by", "drift"]))
    weighted = weighted and question != "drift"
    asked = ORDER if weighted else ORDER[:2]
    chosen = draw(st.lists(st.sampled_from(NAMES), min_size=len(asked) + 1, max_size=len(asked) + 1, unique=True))
    names = dict(zip(asked, chosen, strict=False))
    spoiled = draw(st.lists(st.tuples(st.sampled_from(asked), st.integers(0, max_rows)), max_size=bad))
    columns, types = {}, {}
    for argument, name in names.items():
        kind = draw(
            st.sampled_from(["float64", "float64", "float64", "int", "bool", "float16", "float32", "decimal", "text"])
        )
        inside = (
            _WEIGHTS
            if argument == "sample_weight"
            else [0.0, 1.0]
            if argument == "y_true" and draw(st.integers(0, 3))
            else _PROBABILITIES
        )
        values = draw(st.lists(st.sampled_from(inside), min_size=n, max_size=n))
        for where, row in spoiled:
            if where == argument and n:
                values[row % n] = draw(st.sampled_from(_BAD_WEIGHTS if argument == "sample_weight" else _OUTSIDE))
        columns[name], types[name] = [_as(kind, value) for value in values], kind
    key = None
    if question != "whole":
        key, kind = chosen[-1], draw(st.sampled_from(list(_KEYS)))
        columns[key], types[key] = draw(st.lists(st.sampled_from(_KEYS[kind]), min_size=n, max_size=n)), kind
    return Generated(columns, types, names, key, question, draw(st.booleans()))


def _as(kind, value):
    """A value as a column of that type holds it."""
    if value is None or kind == "float64":
        return value
    if kind in ("float32", "float16"):
        with np.errstate(over="ignore"):
            return float(np.dtype(kind).type(value))
    if not math.isfinite(value):
        return None
    if kind == "int":
        return int(max(-(2.0**62), min(2.0**62, value)))
    if kind == "bool":
        return value >= 0.5
    if kind == "decimal":
        return Decimal(max(-(10**9), min(10**9, value))).quantize(Decimal("0.000001"))
    return repr(value)


def number(value, texts=None):
    """What a row holds; NaN where that is no number."""
    return math.nan if value is None or (isinstance(value, str) and texts != "numbers") else float(value)


def is_good(argument, value):
    """The definition of a row that can be used."""
    return 0.0 <= value <= (1.7976931348623157e308 if argument == "sample_weight" else 1.0)


def _all_good(argument, values):
    return all(is_good(argument, number(value)) for value in values)


@dataclass(frozen=True)
class Refused:
    """An error, with the row where one is to blame; where several things are wrong as a whole, any may be named."""

    argument: str
    row: int | None = None
    also: tuple = ()


def rows_wanted(table, texts=None):
    """The rows that are to be measured, as floats by argument, with the keys and the number left out; or an error."""
    text = [argument for argument, name in table.names.items() if table.types[name] == "text" and table.columns[name]]
    if texts is None and text:
        bare = any(set(table.columns[table.names[argument]]) == {None} for argument in text)  # text by its type alone
        bad = [argument for argument, name in table.names.items() if not _all_good(argument, table.columns[name])]
        return Refused(text[0], also=(*text, *(["table", *bad] if bare else [])))
    numbers = {
        argument: [number(value, texts) for value in table.columns[name]] for argument, name in table.names.items()
    }
    n = len(numbers["y_true"])
    if n == 0:
        return Refused("table", also=tuple(a for a, name in table.names.items() if table.types[name] == "text"))
    good = [all(is_good(argument, values[row]) for argument, values in numbers.items()) for row in range(n)]
    if not table.exclude_bad:
        for argument in table.names:
            for row in range(n):
                if not is_good(argument, numbers[argument][row]):
                    # Of two columns that are wrong either may be named: a text by its type, before any row is read.
                    other = [a for a, values in numbers.items() if not all(is_good(a, value) for value in values)]
                    return Refused(argument, row, also=tuple(other) if texts == "bad rows" else ())
    kept = [row for row in range(n) if good[row]]
    if not kept:
        return Refused("table")
    numbers = {argument: [values[row] for row in kept] for argument, values in numbers.items()}
    weights = numbers.get("sample_weight")
    if weights is not None and not 1e-140 < max(weights) < 1e140:
        return Refused("sample_weight")
    if weights is None and set(numbers["y_prob"]) <= {0.0, 1.0} and not set(numbers["y_true"]) <= {0.0, 1.0}:
        return Refused("y_true")
    keys = [table.columns[table.key][row] for row in kept] if table.key else [()] * len(kept)
    return numbers, keys, n - len(kept)


def one_key(value):
    """No sign on a zero, and what is missing in one way."""
    if value is None or value != value or type(value).__name__ == "NaTType":
        return None
    if isinstance(value, bool | np.bool_):
        return f"truth {bool(value)}"  # which equals a number in Python
    if isinstance(value, dt.date) and not isinstance(value, dt.datetime):
        return value.isoformat()
    return value + 0.0 if isinstance(value, float) else value


def by_key(numbers, keys):
    """Key -> rows, and the weighted means of outcomes and predictions, of segments that have weight."""
    found = {}
    weights = numbers.get("sample_weight", [1.0] * len(keys))
    for key in dict.fromkeys(keys):
        rows = [row for row, other in enumerate(keys) if other == key]
        total = math.fsum(weights[row] for row in rows)
        if total > 0.0:
            means = [math.fsum(weights[row] * numbers[a][row] for row in rows) / total for a in ("y_true", "y_prob")]
            found[key] = (len(rows), *means)
    return found
