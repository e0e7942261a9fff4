"""A name that stands twice in a header is refused on every road that asks for it, wherever and however it stands."""

import gzip
import json

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import InputError
from calibrant.tables.entry import open_table
from tests.strategies import examples

pytestmark = pytest.mark.usefixtures("one_database")

NAMES = ("y_true", "y_prob", "site")
ROWS = [(i % 2, 0.1 + 0.8 * (i % 7) / 7, i % 3) for i in range(12)]


def csv(names, columns):
    return "".join(",".join(map(str, row)) + "\n" for row in [names, *zip(*columns, strict=True)]).encode()


def as_table(names, columns):
    return pa.Table.from_arrays([pa.array(column) for column in columns], names=names)


def parquet(names, columns):
    sink = pa.BufferOutputStream()
    pq.write_table(as_table(names, columns), sink)
    return sink.getvalue().to_pybytes()


def feather(names, columns):
    sink = pa.BufferOutputStream()
    pyarrow.feather.write_feather(as_table(names, columns), sink)
    return sink.getvalue().to_pybytes()


def json_lines(names, columns):
    rows = zip(*columns, strict=True)
    each = (", ".join(f"{json.dumps(n)}: {v}" for n, v in zip(names, row, strict=True)) for row in rows)
    return "".join(f"{{{row}}}\n" for row in each).encode()


WRITERS = {
    "rows.csv": csv,
    "rows.csv.gz": lambda *parts: gzip.compress(csv(*parts)),
    "rows.parquet": parquet,
    "rows.feather": feather,
    "rows.jsonl": json_lines,
}
ROADS = [(name, where) for name in WRITERS for where in (None, "local") if (name, where) != ("rows.jsonl", "local")]
VARIANTS = {"the same": str, "in capitals": str.upper, "with a space": lambda name: f" {name}"}


def chosen(path, where):
    """As an audit asks for columns."""
    table = open_table(path, filesystem=where)
    table.require(["site"], "by")
    return table.choose(y_true="y_true", y_prob="y_prob", unweighted=True)


def spoken(path, where):
    """As functions of tables do, where each is named."""
    table = open_table(path, filesystem=where)
    table.require(["site"], "by")
    return table.spoken("y_true", "y_prob", None, unweighted=True)


@pytest.mark.parametrize(("name", "where"), ROADS)
@examples(6)
@given(data=st.data())
def test_a_doubled_name_is_refused_where_it_is_asked_for(tmp_path_factory, name, where, data):
    path = tmp_path_factory.mktemp("rows") / name
    doubled = data.draw(st.sampled_from(NAMES))
    variant = data.draw(st.sampled_from([*VARIANTS]))
    place = data.draw(st.integers(0, 3))
    names, columns = list(NAMES), [list(column) for column in zip(*ROWS, strict=True)]
    names.insert(place, VARIANTS[variant](doubled))
    columns.insert(place, [1 - value for value in columns[NAMES.index(doubled)]])
    path.write_bytes(WRITERS[name](names, columns))
    for asks in (chosen, spoken):
        with pytest.raises(InputError, match=r"could be any of 2 columns|exists 2 times|[Dd]uplicate"):
            asks(path, where)
    path.write_bytes(WRITERS[name](NAMES, [list(column) for column in zip(*ROWS, strict=True)]))
    found = open_table(path, filesystem=where).read(y_true="y_true", y_prob="y_prob")
    assert np.asarray(found.y_prob, dtype=float).tolist() == [row[1] for row in ROWS]


@pytest.mark.parametrize("where", [None, "local"])
def test_one_doubled_header_among_several_files(tmp_path, where):
    columns = [list(column) for column in zip(*ROWS, strict=True)]
    (tmp_path / "a.csv").write_bytes(csv(NAMES, columns))
    (tmp_path / "b.csv").write_bytes(csv([*NAMES, "Y_PROB"], [*columns, columns[1]]))
    with pytest.raises(InputError, match="y_prob: 'y_prob' could be any of 2 columns: 'y_prob', 'Y_PROB'"):
        open_table(tmp_path, filesystem=where).read(y_true="y_true", y_prob="y_prob")
