"""Text files of which a line has more or fewer columns than the first, or loses a quotation mark: the line is told."""

import gzip

import pyarrow as pa
import pytest

from calibrant import FileError, audit_table
from calibrant.tables import entry
from calibrant.tables.formats.text import (
    _delimiter,
    refuse_lost_quote,
    refuse_named_line,
    refuse_uneven_line,
    wide_encoding,
)

SEEN = 25_000  # rows: more than those that DuckDB tells from how a file is written
CASES = {
    "last": ("1,0.5\n", "1,0.5,a\n", 2),
    "longer": ("1,0.5,a,b\n", "1,0.5,a\n", 4),
    "in quotes": ("1,0.5\n", '1,0.5,"a, b"\n', 2),
    "semicolons": ("1;0.5\n", "1;0.5;a\n", 2),
}


def said(path, **options):
    with pytest.raises(FileError) as refused:
        audit_table(path, y_true="y_true", y_prob="y_prob", n_resamples=0, **options)
    return str(refused.value)


def written(path, rows, line, odd, at=None):
    header = "y_true,y_prob,c\n" if "," in line else "y_true;y_prob;c\n"
    lines = [line] * rows
    lines.insert(rows if at is None else at, odd)
    path.write_text(header + "".join(lines))
    return path


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(("rows", "summed"), [(30, False), (SEEN, True)])
def test_an_uneven_line_is_named(tmp_path, monkeypatch, case, rows, summed):
    if summed:
        monkeypatch.setattr(entry, "MANY_BYTES", 0)
    odd, line, found = CASES[case]
    path = written(tmp_path / "rows.csv", rows, line, odd)
    expected = f"{str(path)!r}: line {rows + 2:,} has {found} columns; 3 are expected, as in the first line"
    assert expected in said(path)


def test_of_several_files_it_is_the_one_that_has_it(tmp_path):
    for name in ("a.csv", "c.csv"):
        written(tmp_path / name, SEEN, "1,0.5,a\n", "0,0.5,b\n")
    bad = written(tmp_path / "b.csv", SEEN, "1,0.5,a\n", "1\n")
    assert f"{str(bad)!r}: line {SEEN + 2:,} has 1 column; 3 are expected" in said(tmp_path / "*.csv")


def test_compressed_files_in_the_middle(tmp_path):
    text = written(tmp_path / "rows.csv", 60, "1,0.5,a\n", "1,0.5\n", at=30).read_bytes()
    (tmp_path / "rows.csv.gz").write_bytes(gzip.compress(text))
    with pa.CompressedOutputStream(str(tmp_path / "rows.csv.zst"), "zstd") as stream:
        stream.write(text)
    for name in ("rows.csv", "rows.csv.gz", "rows.csv.zst"):
        assert "line 32 has 2 columns; 3 are expected" in said(tmp_path / name)


HEADERS = {
    "semicolons": 'y_true;y_prob;"a,b,c,d,e"\n',
    "tabs": "y_true\ty_prob\tcountry, region, city, zip\n",
    "commas": 'y_true,y_prob,"a;b;c;d;e"\n',
}
WRITTEN_WITH = {"semicolons": ";", "tabs": "\t", "commas": ","}


def joined(path, header, *rows, end="\n"):
    path.write_text(header.replace("\n", end) + "".join(row + end for row in rows), newline="")
    return path


@pytest.mark.parametrize("case", HEADERS)
def test_other_delimiters_in_the_header_do_not_mislead(tmp_path, case):
    rows = [["1", "0.5", "k"]] * 60
    rows[40] = ["1", "0.5", "k", "z"]
    path = joined(tmp_path / "rows.csv", HEADERS[case], *map(WRITTEN_WITH[case].join, rows))
    assert f"{str(path)!r}: line 42 has 4 columns; 3 are expected, as in the first line" in said(path)


def test_where_two_delimiters_are_as_likely_no_line_is_told(tmp_path):
    rows = ["1,0.5;a"] * 60
    rows[40] = "1,0.5;a,b;c"
    assert "line" not in said(joined(tmp_path / "rows.csv", "y_true,y_prob;c\n", *rows)).partition("rows.csv")[2]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_rows_of_several_lines_are_counted_as_lines(tmp_path, end):
    rows = [f'1,0.5,"two{end}lines"'] * SEEN + ["1,0.25,k,z"]
    path = joined(tmp_path / "rows.csv", "y_true,y_prob,c\n", *rows, end=end)
    assert f"line {2 * SEEN + 2:,} has 4 columns; 3 are expected" in said(path)


@pytest.mark.parametrize("line", ['1,0.5,"k', '1,"0.5,k', '"1,0.5,k', '1,0.5,"k ""x""'])
@pytest.mark.parametrize("rows", [60, 3_000, SEEN])
def test_a_lost_quotation_mark_is_named_by_its_line(tmp_path, line, rows):
    lines = ["1,0.5,a"] * rows
    lines[rows // 2] = line
    path = joined(tmp_path / "rows.csv", "y_true,y_prob,c\n", *lines)
    assert f"{str(path)!r}: a quotation mark that is opened in line {rows // 2 + 2:,} is never closed" in said(path)


def test_a_lost_quotation_mark_among_quoted_texts_of_several_lines(tmp_path):
    whole = ['1,0.5,"two\nlines"', '0,0.5,"one"', '1,0.25,"it is 5"" wide"'] * 20
    lines = [*whole, '1,0.5,"k', *whole]
    assert "opened in line 82 is never closed" in said(joined(tmp_path / "rows.csv", "y_true,y_prob,c\n", *lines))


def test_a_mark_of_inches_is_no_lost_quotation_mark(tmp_path):
    lines = ['1,0.5,5"'] * 61
    lines[40] = "1,0.5"
    path = joined(tmp_path / "rows.csv", "y_true,y_prob,c\n", *lines)
    assert "line 42 has 2 columns; 3 are expected" in said(path)


@pytest.mark.parametrize(
    ("lines", "delimiter"),
    [
        (["a,b"] * 4, ","),
        (["a\tb"] * 4, "\t"),
        (["a|b", "a|b", "a", "a"], "|"),  # half of them
        (["a,b", "a,b", "a,b,c", "a,b,c,d", "a"], None),  # no number of columns is that of half
        (["a"] * 4, None),
        (["a", "a,b", "a,b", "a,b"], None),  # the first line has one column
        (["a,b", "a", "a", "a"], None),
        (["a,b;c"] * 4, None),  # two of them split all lines alike
        (["a,b;c", "a;b,c,d", "a;b,c,d"], ";"),  # as many columns as in the first line go before others
        ([], None),
    ],
)
def test_a_delimiter_makes_at_least_half_of_the_lines_agree(tmp_path, lines, delimiter):
    (tmp_path / "rows.csv").write_text("".join(line + "\n" for line in lines))
    assert _delimiter(str(tmp_path / "rows.csv")) == delimiter


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('a,b\n1,"x\n2,"y"\n', 2),
        ('a,b\n1,"x\n2",y\n3,z\n', None),  # it is closed
        ('a,b\n1,"x""y"\n2,z\n', None),
        ('a,b\n1,5" wide\n2,z\n', None),  # in the middle of a text it opens nothing
        ('a,b\n1,2\n3,"x\n', 3),
        ('a,b\n1,"x\n2,"y\n', 2),
    ],
)
def test_a_quotation_mark_that_is_never_closed_is_found(tmp_path, text, line):
    path = tmp_path / "rows.csv"
    path.write_text(text)
    if line is None:
        refuse_lost_quote(str(path))
        with pytest.raises(FileError, match=r"rows\.csv': a quotation mark is never closed; write the file once more"):
            refuse_named_line("Value with unterminated quote found", [str(path)])
    else:
        for refuse in (refuse_lost_quote, lambda file: refuse_named_line("unterminated quote", [file])):
            with pytest.raises(FileError, match=f"a quotation mark that is opened in line {line} is never closed"):
                refuse(str(path))


def test_what_says_nothing_of_a_line_is_left_to_others(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text('a,b\n1,"x\n2,"y\n')
    refuse_named_line("no such column", [str(path)])
    path.write_text("a,b\n1,2\n\n3,4\n")
    refuse_uneven_line(str(path))
    path.write_text("a,b\n1,2\n1\n3,4\n")
    with pytest.raises(FileError, match="line 3 has 1 column; 2 are expected"):
        refuse_uneven_line(str(path))
    path.write_text('a,b\n1,"x\ny"\n1,2,3\n3,4\n5,6\n')  # the second row has two lines
    with pytest.raises(FileError, match="line 4 has 3 columns; 2 are expected"):
        refuse_uneven_line(str(path))


@pytest.mark.parametrize(
    ("start", "encoding"),
    [
        ("ab".encode("utf-16"), "UTF-16"),
        ("ab".encode("utf-32"), "UTF-32"),
        ("ab".encode("utf-16-le"), "UTF-16"),
        ("ab".encode("utf-16-be"), "UTF-16"),
        ("ab".encode("utf-32-le"), "UTF-32"),
        ("ab".encode("utf-32-be"), "UTF-32"),
        (b"abcd", None),
        ("é,b\n".encode(), None),
        (b"a\0", None),
        (b"a\0b", None),
        (b"", None),
    ],
)
def test_wide_text_is_known_by_its_mark_or_its_zeros(start, encoding):
    assert wide_encoding(start) == encoding
