"""Columns of text files are searched as numbers only where no two texts are one number."""

import math

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from calibrant.cli.app import app
from calibrant.door.errors import FileError
from calibrant.findings.tables import audit_table
from calibrant.tables import duckdb as numbers
from calibrant.tables import entry
from calibrant.tables.duckdb import FEW_TEXTS, MANY_NUMBERS, feature_sql
from tests.strategies import examples

PAIRS = [
    ("007", "7", "12"),
    ("1e1", "10", "12"),
    ("1.10", "1.1", "1.2"),
    ("07.5", "7.5", "1.5"),
    ("+7", "7", "12"),
    ("-0", "0", "12"),
    ("-0.0", "0.0", "1.0"),
    ("NaN", "nan", "12"),
    ("0.300000000000000001", "0.300000000000000002", "0.500000000000000000"),
    ("9007199254740993", "9007199254740992", "12"),
    ("2024-01-01", "2024-01-01 00:00:00", "2024-02-01"),
]


def taken(texts):
    """What a column of these texts is taken for."""
    relation = duckdb.connect().from_arrow(pa.table({"c": pa.array(texts, pa.string())}))
    sql = feature_sql(relation, ["c"], "find", as_text=True)["c"]
    return "texts" if sql == '"c"' else "numbers" if "DOUBLE" in sql else "times"


def plain(text):
    """The number as a decimal of no needless zeros; what is no decimal as it is written."""
    if not text.removeprefix("-").replace(".", "", 1).isdecimal():
        return text
    whole, _, decimals = text.partition(".")
    shown = (whole + "." + decimals.rstrip("0")).rstrip(".")
    return "0" if shown == "-0" else shown


def rule(texts):
    """The rule of docs/found-segments.md, text by text."""
    written = {}
    for text in set(texts) - {None}:
        value = float(text)
        written.setdefault("nan" if math.isnan(value) else value, set()).add(text)
    if all(len(ways) == 1 for ways in written.values()):
        return "numbers"
    if sum(map(len, written.values())) <= numbers.FEW_TEXTS:
        return "texts"
    zeros_only = all(len({plain(text) for text in ways}) == 1 for ways in written.values())
    return "numbers" if zeros_only and len(written) > numbers.MANY_NUMBERS else "refused"


WRITTEN = st.one_of(
    st.integers(-20, 20).map(str),
    st.integers(0, 20).map("{:03d}".format),
    st.builds("{:.{}f}".format, st.floats(-3, 3), st.integers(0, 3)),
    st.floats(allow_nan=True, allow_infinity=True).map(repr),
    st.builds("{:.{}e}".format, st.floats(-1e3, 1e3), st.integers(0, 2)),
    st.sampled_from(["+7", "1e1", "-0", "0", "-0.0", "-0.00", "7.", "100", "1e2", "9007199254740993", "1e16"]),
)
ALIKE = st.one_of(
    st.lists(WRITTEN, min_size=1, max_size=12),
    st.integers(0, 3).flatmap(lambda k: st.lists(st.floats(-9, 9).map(f"{{:.{k}f}}".format), min_size=1, max_size=12)),
)


@pytest.mark.slow
@examples(200)
@given(texts=ALIKE, few=st.integers(0, 6), many=st.integers(0, 6))
def test_the_rule_of_the_documentation(texts, few, many):
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(numbers, "FEW_TEXTS", few)
        patched.setattr(numbers, "MANY_NUMBERS", many)
        try:
            found = taken([*texts, None])
        except FileError:
            found = "refused"
        assert found == rule(texts)


@pytest.mark.parametrize("texts", PAIRS)
def test_codes_stay_apart(texts):
    assert taken(texts) == "texts"
    assert taken(texts[1:]) == ("times" if "-" in texts[2] else "numbers")


@pytest.mark.parametrize("odd", [("007", "7"), ("1e1", "10"), ("+7", "7"), ("10.5", "10.50")])
def test_what_could_be_either_is_refused_by_name(odd):
    texts = [*map(str, range(FEW_TEXTS)), *odd]
    with pytest.raises(FileError, match=r"'c', in which '.*' and '.*' are two texts and one number; write each value"):
        taken(texts)


def test_as_many_texts_as_are_few_are_categories():
    assert taken([*map(str, range(FEW_TEXTS - 1)), "007"]) == "texts"


def test_amounts_stay_numbers():
    amounts = [f"{each / 100:.2f}" for each in range(MANY_NUMBERS + 1)]
    assert taken(amounts) == "numbers"
    assert taken([*amounts, "10.5", "3", "-0.00"]) == "numbers"
    for fewer_or_other in ([*amounts[1:], "3"], [*amounts, "010.5", "10.5"]):
        with pytest.raises(FileError, match="one number"):
            taken(fewer_or_other)
    days = [f"2024-{month:02d}-{day:02d}" for month in range(1, 13) for day in range(1, 29)]
    assert taken(days) == "times"
    with pytest.raises(FileError, match="one time"):
        taken([*days, "2024-01-01 00:00:00"])


def file_of_codes(folder, codes, n=3_000):
    """Rows whose chance is .3 above the prediction where the code is the first, and .3 below where the second."""
    rng = np.random.default_rng(0)
    code, p = rng.integers(0, 3, n), rng.uniform(0.3, 0.7, n)
    y = rng.random(n) < p + np.array([0.3, -0.3, 0.0])[code]
    lines = "".join(f"{int(a)},{b:.3f},{codes[c]},{i}\n" for i, (a, b, c) in enumerate(zip(y, p, code, strict=True)))
    path = folder / "rows.csv"
    path.write_text("y,p,code,patient\n" + lines)
    return path


@pytest.mark.slow
@pytest.mark.parametrize("summed", [False, True])
@pytest.mark.parametrize("codes", [PAIRS[0], PAIRS[2], PAIRS[-1]], ids=" ".join)
def test_the_gate_and_the_audit_find_one_of_two_texts(tmp_path, monkeypatch, codes, summed):
    path = file_of_codes(tmp_path, codes)
    if summed:
        monkeypatch.setattr(entry, "MANY_BYTES", 0)
    gate = CliRunner().invoke(
        app, ["gate", str(path), "--y-true", "y", "--y-prob", "p", "--max-distance", "0.05", "--find", "code"]
    )
    assert gate.exit_code == 1
    assert "2 of 4 segments made of code are proved so" in gate.stdout
    found = audit_table(path, y_true="y", y_prob="p", find="code", n_resamples=39, random_state=0).found_segments
    assert {each.name: each.direction for each in found.segments} == {
        f"code = {codes[0]}": "too low",
        f"code = {codes[1]}": "too high",
    }


@pytest.mark.slow
def test_segments_by_name_of_groups_are_texts(tmp_path):
    path = file_of_codes(tmp_path, PAIRS[0])
    asked = ["--max-distance", "0.05", "--by", "code", "--groups", "patient", "--max-weight", "1"]
    gate = CliRunner().invoke(app, ["gate", str(path), "--y-true", "y", "--y-prob", "p", *asked])
    assert gate.exit_code == 1
    assert "code = 007: FAIL, at least" in gate.stdout
    assert "code = 7: FAIL, at least" in gate.stdout


@pytest.mark.slow
def test_a_column_that_would_be_refused_is_named_as_not_looked_at(tmp_path):
    path = tmp_path / "rows.csv"
    lines = (f"{i % 2},0.5,{'007' if i == 0 else i % 300}\n" for i in range(600))
    path.write_text("y,p,code\n" + "".join(lines))
    asked = ["gate", str(path), "--y-true", "y", "--y-prob", "p", "--max-distance", "0.2"]
    assert "Columns not looked at: code" in CliRunner().invoke(app, asked).stdout
    done = CliRunner().invoke(app, [*asked, "--find", "all"])
    assert done.exit_code == 2
    assert "--find: names the column 'code', in which '007' and '7' are" in done.stderr
