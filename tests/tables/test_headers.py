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
from calibrant.tables.columns import choose_columns, maybe_twins, present, refuse_twins, same_names
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


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("", "is empty; a column needs a name to be read"),
        ("Score", "there is no column 'Score'; there are 'score', 'site'. Did you mean 'score'?"),
        ("xyz", "there is no column 'xyz'; there are 'score', 'site'"),
    ],
)
def test_a_column_is_there_or_what_is_there_is_told(name, said):
    assert present("site", ["score", "site"], "by") == "site"
    with pytest.raises(InputError) as refused:
        present(name, ["score", "site"], "by")
    assert (refused.value.argument, refused.value.problem.rstrip(".")) == ("by", said)
    assert refused.value.allowed is None
    with pytest.raises(InputError) as refused:
        present("xyz", ["score", "a, b"], "by")
    assert refused.value.allowed.command == "a name that holds a comma stands in double quotes"


def test_a_name_that_the_reader_does_not_tell_from_another_is_refused_alone():
    twins = same_names(["score", "Score ", "site", "day", "DAY"], n_folders=1)
    assert twins == {"score": ["score", "Score "], "day": ["day", "DAY (of the folders)"]}
    assert same_names(["score", "site"]) == {}
    refuse_twins("site", twins, "by")
    with pytest.raises(InputError, match=r"by: ' SCORE' could be any of 2 columns: 'score', 'Score '\. Rename all"):
        refuse_twins(" SCORE", twins, "by")


@pytest.mark.parametrize(
    ("names", "maybe"), [("ab", False), (["a", "A"], True), (["a", " a"], True), (["a", "a_1"], True), (["a_1"], False)]
)
def test_names_that_may_be_taken_for_one_another_are_suspected(names, maybe):
    assert maybe_twins(list(names)) is maybe


def test_one_column_for_two_arguments_is_refused_by_the_first_in_the_alphabet():
    asked = {"y_true": "a", "y_prob": "a", "sample_weight": None}
    with pytest.raises(InputError, match="y_prob: 'a' is given for y_true as well"):
        choose_columns(asked, ["a", "b"], {})
    assert choose_columns(asked | {"y_prob": "b"}, ["a", "b"], {})[0] == {"y_true": "a", "y_prob": "b"}
