"""Text files of which a line has more or fewer columns than the first: the file, the line and both numbers are told."""

import gzip

import pyarrow as pa
import pytest

from calibrant import FileError, audit_table
from calibrant.scale import opened

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
        monkeypatch.setattr(opened, "MANY_BYTES", 0)
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
