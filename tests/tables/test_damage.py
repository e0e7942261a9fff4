"""Damaged files of every format: refused, or the same numbers. Many more such: tools/long_runs.py corruption."""

import zlib

import numpy as np
import pytest

from tests.damage import NAMES, damaged, kept, wrong

SLOW = ("rows.", "sums.", "checked.", "plain.")  # DuckDB reads them


def test_everything_kept_is_named():
    assert tuple(kept()) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_damage_is_refused_or_changes_nothing(tmp_path, name):
    data = kept()[name].data
    assert wrong(name, data, tmp_path) is None
    for number in range(3 if name.startswith(SLOW) else 20):  # more, each time others: tools/long_runs.py corruption
        how, changed = damaged(data, np.random.default_rng([number, zlib.crc32(name.encode())]))
        assert wrong(name, changed, tmp_path) is None, (how, number)


@pytest.mark.parametrize("name", ["plain.parquet", "checked.parquet"])
@pytest.mark.parametrize(("before", "bit"), [(b"%\x02\x18\x06y_true", 1), (b"y_true\x00\x15", 0x80)])
def test_what_the_long_run_found_in_parquet(tmp_path, name, before, bit):
    """A column that may be null by one account alone, of which pyarrow died; a name that is no text, as in errors."""
    changed = bytearray(kept()[name].data)
    changed[changed.index(before)] ^= bit
    assert wrong(name, bytes(changed), tmp_path) is None


def test_what_the_long_run_found_in_arrow(tmp_path):
    """Rows that say they are a dictionary, which no column has: pyarrow's error for that is a KeyError."""
    data = kept()["rows.arrow"].data
    rows = data.rindex(b"\x03\x04\x00\x18")
    assert wrong("rows.arrow", data[:rows] + b"\x02" + data[rows + 1 :], tmp_path) is None


def test_a_line_of_json_is_whole_without_its_end(tmp_path):
    data = kept()["rows.jsonl"].data
    at = data.index(b"}\n", 500) + 1
    assert wrong("rows.jsonl", data[:at], tmp_path) is None
    assert wrong("rows.jsonl", data[: at - 1], tmp_path) is None
