"""Sketches on disk: whole or not at all, every bit under a checksum, every cell under its laws."""

import hashlib
import os
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given

from calibrant.door.errors import FileError, InputError
from calibrant.kernels import sketching
from calibrant.sketch import sketch as storage
from calibrant.sketch.sketch import CalibrationSketch, restored
from tests.strategies import examples, samples

CASES = examples(50)


def sketched(sample, resolution=64):
    return CalibrationSketch(resolution).update(*sample[:2], sample_weight=sample[2])


def some(weighted=True, resolution=64):
    rng = np.random.default_rng(0)
    v = np.round(rng.random(300), 2)
    y = rng.random(300) < v
    return CalibrationSketch(resolution).update(y, v, sample_weight=rng.random(300) if weighted else None)


@CASES
@given(sample=samples())
def test_bytes_bring_back_every_bit(sample):
    sketch = sketched(sample)
    again = CalibrationSketch.from_bytes(sketch.to_bytes())
    for a, b in zip(again.held(), sketch.held(), strict=True):
        np.testing.assert_array_equal(a, b)
    assert again.resolution == 64
    assert again.to_bytes() == sketch.to_bytes()


def test_truncated_and_foreign_bytes_are_refused(tmp_path):
    data = CalibrationSketch(64).update([0, 1], [0.2, 0.7]).to_bytes()
    for cut in (0, 1, 8, len(data) // 2, len(data) - 1):
        with pytest.raises(InputError, match="data: is"):
            CalibrationSketch.from_bytes(data[:cut])
    sink = pa.BufferOutputStream()
    table = pa.table({"cell": [1]})
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    with pytest.raises(InputError, match="not a calibration sketch"):
        CalibrationSketch.from_bytes(sink.getvalue().to_pybytes())
    foreign = tmp_path / "foreign.parquet"
    pq.write_table(table, foreign)
    with pytest.raises(InputError, match="not a calibration sketch"):
        CalibrationSketch.from_parquet(foreign)
    later = table.replace_schema_metadata({b"calibrant.sketch": b"9 64"})
    pq.write_table(later, foreign)
    with pytest.raises(InputError, match="layout"):
        CalibrationSketch.from_parquet(foreign)
    sealed = CalibrationSketch(64).update([0, 1], [0.2, 0.7]).to_bytes()
    blank = storage._SEAL.sub(storage.UNSEALED, sealed).replace(b"%d 64 0x" % storage.VERSION, b"9 64 0x")
    with pytest.raises(InputError, match="layout"):
        CalibrationSketch.from_bytes(
            blank.replace(storage.UNSEALED, b"sha256:" + hashlib.sha256(blank).hexdigest().encode())
        )


def test_sources_hold_no_more_rows_than_the_cells():
    days = [CalibrationSketch().update([0, 1], [0.2, 0.7]), CalibrationSketch().update([0, 1, 1], [0.1, 0.4, 0.8])]
    stored = CalibrationSketch.merge(days)._stored()
    assert [each.count for each in stored.parts] == [2, 3]
    assert storage.from_bytes(storage.to_bytes(stored)).parts == stored.parts
    more = stored._replace(parts=(replace(stored.parts[0], count=3), stored.parts[1]))
    with pytest.raises(InputError, match="hold more rows than the cells"):
        storage.from_bytes(storage.to_bytes(more))


def test_parquet_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "day.parquet"
    old = CalibrationSketch(64).update([0, 1], [0.2, 0.7])
    old.to_parquet(path)

    def full(_descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match="No space left"):
        (old + old).to_parquet(path)
    assert [file.name for file in tmp_path.iterdir()] == ["day.parquet"]
    assert CalibrationSketch.from_parquet(path).n_rows == 2
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InputError, match="not a calibration sketch, or a part"):
        CalibrationSketch.from_parquet(path)


def test_devices_pipes_and_folders_are_neither_replaced_nor_read(tmp_path):
    sketch = some()
    os.mkfifo(tmp_path / "pipe")
    for place in (tmp_path / "pipe", tmp_path, "/dev/null"):
        with pytest.raises(FileError, match="not a plain file"):
            sketch.to_parquet(place)
        with pytest.raises(FileError, match="not a plain file"):
            CalibrationSketch.from_parquet(place)
    with pytest.raises(FileError, match="does not exist"):
        sketch.to_parquet(tmp_path / "none" / "day.parquet")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    sketch.to_parquet(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert CalibrationSketch.from_parquet(tmp_path / "real").n_rows == 300
    assert pq.read_table(tmp_path / "real")["count"].to_numpy().sum() == 300  # plain Parquet to others


@pytest.mark.slow
def test_every_flipped_bit_and_every_cut_is_refused(tmp_path):
    rng = np.random.default_rng(0)
    path = tmp_path / "day.parquet"
    for read, data in (
        (CalibrationSketch.from_bytes, some().to_bytes()),
        (lambda changed: path.write_bytes(changed) and CalibrationSketch.from_parquet(path), None),
    ):
        if data is None:
            some().to_parquet(path)
            data = path.read_bytes()
        for bit in rng.choice(8 * len(data), 1_000, replace=False):
            changed = bytearray(data)
            changed[bit // 8] ^= 1 << (bit % 8)
            with pytest.raises(InputError, match="damaged"):
                read(bytes(changed))
        for cut in rng.choice(len(data), 100, replace=False):
            with pytest.raises(InputError, match="damaged"):
                read(data[:cut])
        with pytest.raises(InputError, match="damaged"):
            read(data + b"\0")


CELLS = {name: column for column, name in enumerate(storage.MEASURED)}


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize(
    "change",
    [
        {"count": 0},
        {"count": -1},
        {"count": 2.5},
        {"count": np.nan},
        {"ones": 7},
        {"ones": 0.5},
        {"ones": 0},
        {"fractional": 6},
        {"fractional": -1},
        {"weight": np.inf},
        {"weight": -1},
        {"weight": 50},
        {"weighted_outcome": 6},
        {"weighted_outcome": 0.01},
        {"weighted_outcome": -0.5},
        {"squared_weight": 0},
        {"squared_weight": 1e9},
        {"offset": 4},
        {"offset": 0.001},
        {"offset": -0.1},
        {"outcome_offset": 0},
        {"outcome_offset": 3},
        {"low": 0.64},
        {"high": 0.63},
        {"low": 0.6302, "high": 0.6301},
        {"low": 0.635, "high": 0.635},
        {"low": 0.6, "high": 0.6},
        {"low": 1.5, "high": 1.5},
    ],
)
def test_cells_that_no_rows_have_are_refused_sealed_or_not(weighted, change):
    v = np.array([0.626, 0.628, 0.63, 0.632, 0.634])
    w = np.array([0.9, 1.2, 1.0, 1.1, 0.95]) if weighted else None
    index, columns = CalibrationSketch(64).update([0, 1, 0, 1, 1], v, sample_weight=w).held()
    assert CalibrationSketch.from_bytes(restored(64, 0.0, index, columns).to_bytes()).n_rows == 5
    for name, value in change.items():
        columns[0, CELLS[name]] = value
    with pytest.raises(InputError, match=r"cells: row 0 \(cell 81\) is damaged"):
        CalibrationSketch.from_cells(index, columns[:, :10], 64)
    if columns[0, 0] >= 0:  # nothing else can be asked of a table
        with pytest.raises(InputError, match=r"damaged|no rows"):
            CalibrationSketch.from_bytes(restored(64, 0.0, index, columns).to_bytes()).sample  # noqa: B018


@pytest.mark.parametrize(
    ("index", "shape"), [([129], 1), ([-1], 1), ([2**40], 1), ([0.5], 1), ([[1]], 1), ([1, 2], 1), (["a"], 1)]
)
def test_numbers_of_cells_out_of_range_are_refused(index, shape):
    cells = np.tile([1, 0, 0, 1, 0, 1, 0, 0, 0.5, 0.5], (shape, 1))
    with pytest.raises(InputError, match=r"index|cells"):
        CalibrationSketch.from_cells(index, cells, 64)
    with pytest.raises(InputError, match="cells: have shape"):
        CalibrationSketch.from_cells([64], cells[:, :9], 64)


@pytest.mark.slow
def test_cells_of_engines_and_of_wild_weights_obey_the_laws():
    rng = np.random.default_rng(1)
    for k in range(200):
        n = int(rng.integers(1, 60))
        v = np.round(rng.random(n), int(rng.integers(1, 5)))
        y = rng.random(n) if k % 3 == 0 else (rng.random(n) < v).astype(float)
        w = [None, np.exp(rng.normal(0, 20, n)), rng.integers(0, 2, n) + 0.0, np.full(n, 0.1)][k % 4]
        if w is not None and not w.any():
            continue
        sketch = CalibrationSketch(16).update(y, v, sample_weight=w)
        assert CalibrationSketch.from_bytes(sketch.to_bytes()).n_rows == n
        table = sketching.new_table(16)[:, :10]
        for row in range(n):  # as an engine does, in plain sums
            x = v[row] * 16
            at, u, weight = int(np.floor(x) + np.ceil(x)), x - np.floor(x), 1.0 if w is None else w[row]
            first = table[at, 0] == 0
            table[at, :8] += [
                *(1, y[row] == 1, 0 < y[row] < 1, weight, weight * y[row], weight**2),
                *(weight * u, weight * y[row] * u),
            ]
            table[at, 8] = v[row] if first else min(table[at, 8], v[row])
            table[at, 9] = max(table[at, 9], v[row])
        held = np.flatnonzero(table[:, 0])
        plain = CalibrationSketch.from_cells(held, table[held], 16, unweighted=w is None)
        np.testing.assert_allclose(plain.cells()[1], sketch.cells()[1], rtol=1e-12)
        assert plain.error_bound("smooth_calibration_error") < 2e-2 or w is not None


def test_claims_of_no_weights_are_checked():
    index, cells = some().cells()
    with pytest.raises(InputError, match="unweighted"):
        CalibrationSketch.from_cells(index, cells, 64, unweighted=True)
    index, cells = some(weighted=False).cells()
    assert CalibrationSketch.from_cells(index, cells, 64, unweighted=True).n_rows == 300
    cells[:, 0] *= 1000
    with pytest.raises(InputError, match="unweighted"):
        CalibrationSketch.from_cells(index, cells, 64, unweighted=True)


def test_a_name_that_is_no_text_is_a_damaged_sketch():
    data = CalibrationSketch(64).update([0, 1], [0.1, 0.5]).to_bytes()
    with pytest.raises(InputError, match="damaged"):
        CalibrationSketch.from_bytes(data.replace(b"cell", b"\xe7\xe7\xe7\xe7"))


@pytest.mark.parametrize("seed", range(50))
def test_changed_bytes_are_an_error(seed):
    rng = np.random.default_rng(seed)
    data = bytearray(CalibrationSketch(64).update([0, 1, 1], [0.1, 0.5, 0.75]).to_bytes())
    for _ in range(int(rng.integers(1, 6))):
        data[int(rng.integers(len(data)))] ^= int(rng.integers(1, 256))
    with pytest.raises(InputError, match="damaged"):
        CalibrationSketch.from_bytes(bytes(data))


@pytest.mark.parametrize("name", storage._RESTS.values())
def test_a_rest_larger_than_rounding_is_refused(name):
    whole = restored_table(CalibrationSketch(64).update([0, 1], [0.2, 0.7], sample_weight=[0.3, 0.7]))
    storage._from_sound_table(whole)
    at = whole.schema.get_field_index(name)
    changed = whole.set_column(at, name, pa.array(np.full(whole.num_rows, 1e-3)))
    with pytest.raises(InputError, match=f"{name}: is larger than rounding can be"):
        storage._from_sound_table(changed)


@pytest.mark.parametrize("order", [[1, 0], [0, 0, 1]], ids=["backwards", "one cell twice"])
def test_cells_that_are_not_in_order_are_refused(order):
    whole = restored_table(CalibrationSketch(64).update([0, 1], [0.2, 0.7]))
    with pytest.raises(InputError, match="cells: are not in order"):
        storage._from_sound_table(whole.take(order))


@pytest.mark.parametrize("change", ["a column more", "a column less", "other names", "rounding below 0", "above 1"])
def test_other_columns_or_a_rounding_that_is_no_share_are_another_layout(change):
    whole = restored_table(CalibrationSketch(64).update([0, 1], [0.2, 0.7]))
    if change == "a column more":
        changed = whole.append_column("more", pa.array([0.0, 0.0]))
    elif change == "a column less":
        changed = whole.drop_columns([whole.column_names[-1]])
    elif change == "other names":
        changed = whole.rename_columns([*whole.column_names[:-1], "last"]).replace_schema_metadata(
            whole.schema.metadata
        )
    else:
        version, resolution, _, seal = whole.schema.metadata[b"calibrant.sketch"].split()
        share = (-(2.0**-60) if change == "rounding below 0" else 1.0 + 2.0**-52).hex().encode()
        head = b" ".join((version, resolution, share, seal))
        changed = whole.replace_schema_metadata(whole.schema.metadata | {b"calibrant.sketch": head})
        changed.validate(full=True)
    with pytest.raises(InputError, match="layout: has other columns"):
        storage._from_sound_table(changed)


def test_only_a_plain_file_with_a_sketchs_name_in_its_schema_holds_a_sketch(tmp_path, monkeypatch):
    CalibrationSketch(64).update([0, 1], [0.2, 0.7]).to_parquet(tmp_path / "week.parquet")
    pq.write_table(pa.table({"cell": [1]}), tmp_path / "rows.parquet")
    (tmp_path / "text.parquet").write_text("y_true,y_prob\n")
    held = {each.name: storage.holds_sketch(each) for each in tmp_path.iterdir()}
    assert held == {"week.parquet": True, "rows.parquet": False, "text.parquet": False}
    os.mkfifo(tmp_path / "pipe.parquet")
    opened = []
    monkeypatch.setattr(pq, "read_schema", opened.append)
    for place in (tmp_path / "pipe.parquet", tmp_path, tmp_path / "none.parquet"):
        assert storage.holds_sketch(place) is False
    assert opened == []  # who opens a pipe waits for its writer


@pytest.mark.parametrize(("data", "kind"), [("text", "str"), (None, "NoneType"), ([1], "list"), (3, "int")])
def test_what_is_no_bytes_is_refused_by_its_type(data, kind):
    with pytest.raises(InputError) as caught:
        CalibrationSketch.from_bytes(data)
    assert (caught.value.argument, caught.value.problem) == ("data", f"is a {kind}; bytes of `to_bytes` are needed")


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_bytes_of_every_type_are_read(kind):
    held = CalibrationSketch(64).update([0, 1], [0.2, 0.7])
    assert CalibrationSketch.from_bytes(kind(held.to_bytes())).to_bytes() == held.to_bytes()


def test_what_a_sketch_says_of_its_sources_is_kept_and_layout_2_has_none():
    days = [CalibrationSketch().update([0, 1, 1], [0.2, 0.7, at]) for at in (0.1, 0.3)]
    for held, distinct in ((days[0], False), (CalibrationSketch.merge(days, distinct=True), True)):
        again = CalibrationSketch.from_bytes(held.to_bytes())
        assert (again.parts, again.distinct) == (held.parts, distinct)
    unknown = held._stored()._replace(parts=None)
    assert storage.from_bytes(storage.to_bytes(unknown)).parts is None
    whole = restored_table(held)
    head = whole.schema.metadata[b"calibrant.sketch"]
    listed = storage._from_sound_table(whole).parts
    assert len(listed) == 2
    before = b"2" + head[1:]
    old = whole.replace_schema_metadata({b"calibrant.sketch": before})
    assert storage._from_sound_table(old).parts is None


def restored_table(sketch):
    return pa.ipc.open_file(pa.py_buffer(sketch.to_bytes())).read_all()
