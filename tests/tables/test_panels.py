"""The same items scored in every period: columns of keys that are asked for tell rows apart, and prove nothing."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow.fs import LocalFileSystem
from typer.testing import CliRunner

from calibrant import InputError
from calibrant.cli.app import app
from calibrant.tables import entry
from calibrant.tables.entry import open_table
from tests.strategies import examples

NAMES = {"y_true": "y_true", "y_prob": "y_prob"}


def panel(seed, n, change, n_months=3):
    """Months of the same scores; this share of the outcomes turns from one to the next."""
    rng = np.random.default_rng(seed)
    v = rng.random(n)
    y = (rng.random(n) < v).astype(int)
    for month in range(n_months):
        y = np.where(rng.random(n) < change, 1 - y, y)
        y[month] = 1 - y[month]  # no month is a copy of another
        yield pa.table({"y_true": y, "y_prob": v, "month": np.full(n, f"2026-0{month + 1}")})


def write(path, table):
    path.parent.mkdir(exist_ok=True, parents=True)
    if path.suffix == ".parquet":
        pq.write_table(table, path)
    else:
        table.to_pandas().to_csv(path, index=False)


@pytest.mark.slow
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(["csv", "parquet"]),
    st.sampled_from(["one file", "folder", "file system"]),
    st.sampled_from([0.0, 0.02, 0.2]),
    st.booleans(),
)
@examples(10)
def test_a_panel_is_taken_where_its_months_are_asked_for(tmp_path_factory, seed, suffix, road, change, summed):
    place = tmp_path_factory.mktemp("panel")
    months = list(panel(seed, 300, change))
    parts = [pa.concat_tables(months)] if road == "one file" else months
    for at, each in enumerate(parts):
        write(place / f"{'abc'[at]}.{suffix}", each)
    path = str(place / f"a.{suffix}" if road == "one file" else place)

    def opened(*keys):
        table = open_table(path, filesystem=LocalFileSystem() if road == "file system" else None)
        table.row_keys = keys
        return table

    with pytest.MonkeyPatch.context() as patch:
        for name in ("MANY_ROWS", "MANY_BYTES") if summed else ():
            patch.setattr(entry, name, 1)
        for table in (opened("month"), opened("month", "month")):
            n_rows = table.sketched(NAMES)[0].n_rows if summed else len(table.read().y_prob)
            assert n_rows == 900
    if change < 0.1:  # else the outcomes tell the months apart
        with pytest.raises(InputError, match="rows"):
            opened().read()
    if road != "one file":  # a copy has the months of what it is a copy of
        write(place / f"z.{suffix}", months[0])
        with pytest.raises(InputError, match=r"z\."):
            opened("month").read()


@pytest.mark.slow
def test_each_command_takes_a_panel_by_its_months(tmp_path):
    for at, each in enumerate(panel(0, 300, 0.02)):
        write(tmp_path / f"panel/{at}.csv", each)
    commands = (
        ("audit", "--resamples", "0", "--by", "month"),
        ("audit", "--resamples", "0", "--drift", "month"),
        ("gate", "--max-distance", "0.3", "--by", "month"),
        ("sketch", "-o", str(tmp_path / "o.parquet"), "--by", "month"),
    )
    for command, *options in commands:
        done = CliRunner().invoke(app, [command, str(tmp_path / "panel"), *options])
        assert done.exit_code in (0, 1, 3), done.output
        assert CliRunner().invoke(app, [command, str(tmp_path / "panel"), *options[:2]]).exit_code == 2


def test_names_of_folders_are_of_files_and_not_of_their_rows(tmp_path):
    *_, rows = panel(0, 300, 0.0)
    for month in (1, 2):
        write(tmp_path / f"day={month}/rows.csv", rows)
    for key in ("day", "Day", "month"):
        table = open_table(tmp_path)
        table.row_keys = (key,)
        with pytest.raises(InputError, match="the same 300 rows"):
            table.read()


def test_keys_that_are_equal_prove_nothing(tmp_path):
    few = pa.table({"y_true": [0, 0, 1], "y_prob": [0.0, 0.0, 1.0], "month": [1, 1, 1]})
    for day in (1, 2):
        write(tmp_path / f"day={day}/rows.csv", few)
    table = open_table(tmp_path)
    table.row_keys = ("month",)
    assert len(table.read().y_prob) == 6
    write(tmp_path / "day=2/again.csv", few)
    table = open_table(tmp_path)
    table.row_keys = ("month",)
    with pytest.raises(InputError, match="by chance"):
        table.read()
