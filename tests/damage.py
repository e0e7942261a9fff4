"""Files and texts that are written whole, what they say, and how they are damaged."""

from __future__ import annotations

import base64
import gzip
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq

from calibrant import CalibrationGate, CalibrationMonitor, CalibrationSketch
from calibrant.recalibration import (
    BetaScaling,
    DirichletScaling,
    HistogramBinning,
    IsotonicScaling,
    PlattScaling,
    TemperatureScaling,
    from_json,
    load,
)
from calibrant.tables import folders
from calibrant.tables.entry import OpenedFile, open_table
from calibrant.tables.sketches import open_sketches, write_rows

ROWS = 60
RNG = np.random.default_rng(0)
P = RNG.random(ROWS)
Y = (RNG.random(ROWS) < P).astype(np.int64)
DAYS = [date(2026, 1, 1 + i // 12) for i in range(ROWS)]
TABLE = pa.table({"y_true": Y, "y_prob": P, "day": DAYS})
_EACH = list(zip(Y.tolist(), P.tolist(), DAYS, strict=True))
CSV = "".join(["y_true,y_prob,day\n", *(f"{y},{p!r},{day}\n" for y, p, day in _EACH)]).encode()
JSONL = "".join(f'{{"y_true":{y},"y_prob":{p!r},"day":"{day}"}}\n' for y, p, day in _EACH).encode()
# 30 rows as the command zstd writes them, which adds a checksum; pyarrow adds none.
CHECKED_ZST = base64.b64decode(
    "KLUv/QRYXQMAQkUQFLAlbeCwBLE7Qg3uIru7eyeyE8/FohJrl/BI9WfPtJURl2jv9FeztLMKd4/oVO23zCIeFzbxsBAAJlDOGAZGUE4cBAIAAwww"
    "wAADDDDAAAMMMMAAAwwwwAADDDDAAAMMMMAAAwzwMcfZw0PD"
)


@dataclass(frozen=True)
class Kept:
    """What is kept in one format."""

    data: bytes
    read: Callable[[Path], Any]
    """What a file of these bytes says; compared by `==`."""
    sealed: bool = True
    """Whether the format tells that any bit was changed."""
    lines: tuple[bytes, ...] = ()
    """What ends a part after which a cut cannot be told from the end."""


def _rows(path: Path) -> Any:
    found = OpenedFile(str(path)).read(y_true="y_true", y_prob="y_prob")
    return found.y_true.tolist(), found.y_prob.tolist()


def _sums(path: Path) -> Any:
    file = OpenedFile(str(path))
    names = file.choose(y_true="y_true", y_prob="y_prob").names
    return CalibrationSketch.from_groups(file.groups(names, (), 65536), names, 65536).to_bytes()


def _there(path: Path) -> Any:
    found = open_table(path, filesystem="local").read(y_true="y_true", y_prob="y_prob")
    return [float(each) for each in found.y_true], [float(each) for each in found.y_prob]


def _log(path: Path) -> Any:
    found = OpenedFile(path).read()
    return found.y_true.tolist(), found.y_prob.tolist()


def _keys(path: Path) -> Any:
    """What a search and an audit by periods read of a file that holds days."""
    file = open_table(path)
    names = {"y_true": "y_true", "y_prob": "y_prob"}
    held = file.with_features(names, ["day"], "find")
    with file.lazily(names, ["day"], "find") as lazy:
        n_rows = lazy.n_rows()
    days = file.groups(names, ["day"], 64).keys["_s0"].to_list()
    rows = [column.tolist() for column in held.arrays.values()]
    return rows, held.keys["day"].to_pylist(), n_rows, sorted(days, key=str)


def _sketches(path: Path) -> Any:
    kept = open_sketches(str(path))
    return kept.sketch().to_bytes(), kept.keys.to_pydict()


def _packed(data: bytes) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(data)
    return sink.getvalue().to_pybytes()


def _parquet(table: Any = None, **options: Any) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(TABLE if table is None else table, sink, row_group_size=20, **options)
    return sink.getvalue().to_pybytes()


def _arrow(table: Any = None, *, stream: bool) -> bytes:
    table = TABLE if table is None else table
    sink = pa.BufferOutputStream()
    if not stream:
        pyarrow.feather.write_feather(table, sink)
    else:
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table, 20)
    return sink.getvalue().to_pybytes()


def _monitor(path: Path) -> Any:
    return CalibrationMonitor.from_dict(json.loads(path.read_bytes())).to_dict()


OF_ROWS = ("checked.parquet", "rows.feather", "rows.csv", "rows.jsonl", "rows.csv.gz")
NAMES = (
    *("whole.sketch", "gate.state", "monitor.json", "PlattScaling.json", "BetaScaling.json", "IsotonicScaling.json"),
    *("HistogramBinning.json", "TemperatureScaling.json", "DirichletScaling.json", "platt.text", "checked.parquet"),
    *("plain.parquet", "rows.feather", "rows.arrow", "rows.csv", "rows.jsonl", "rows.csv.gz", "rows.jsonl.gz"),
    *("checked.csv.zst", "plain.csv.zst", "sums.csv.gz", "sums.checked.parquet", "sketch.parquet"),
    *("there.checked.parquet", "there.rows.feather", "there.rows.csv", "there.rows.csv.gz"),
    *("keys.checked.parquet", "keys.rows.feather", "keys.rows.csv", "keys.rows.jsonl", "keys.rows.csv.gz"),
    *("log.jsonl", "log.jsonl.gz", "sketches.parquet"),
)
"""What `kept` holds, told without making it; `there` is on a file system of pyarrow, `keys` are of days."""


@cache
def kept() -> dict[str, Kept]:
    """Everything, by its file's name."""
    three = np.column_stack([P, (1 - P) / 3, 2 * (1 - P) / 3])
    weighed = CalibrationSketch(64).update(Y, P, sample_weight=P + 0.5)
    monitor = CalibrationMonitor()
    monitor.update(Y, P)
    gate = CalibrationGate(max_distance=0.1)
    gate.update(Y, P)
    maps = [each.fit(P, Y) for each in (PlattScaling(), BetaScaling(), IsotonicScaling(), HistogramBinning(n_bins=4))]
    maps += [each.fit(three, np.arange(ROWS) % 3) for each in (TemperatureScaling(), DirichletScaling())]
    found = {
        "whole.sketch": Kept(weighed.to_bytes(), lambda path: open_sketches(str(path)).sketch().to_bytes()),
        "gate.state": Kept(gate.to_bytes(), lambda path: CalibrationGate.load(path).to_bytes()),
        "monitor.json": Kept(json.dumps(monitor.to_dict()).encode(), _monitor),
        **{
            f"{type(each).__name__}.json": Kept(each.to_json().encode(), lambda path: load(path).to_json())
            for each in maps
        },
        "platt.text": Kept(maps[0].to_json().encode(), lambda path: from_json(path.read_text("latin-1")).to_json()),
        "checked.parquet": Kept(_parquet(write_page_checksum=True), _rows),
        "plain.parquet": Kept(_parquet(), _rows, sealed=False),
        "rows.feather": Kept(_arrow(stream=False), _rows, sealed=False),
        "rows.arrow": Kept(_arrow(stream=True), _rows, sealed=False),
        "rows.csv": Kept(CSV, _rows, sealed=False, lines=(b"\n",)),
        "rows.jsonl": Kept(JSONL, _rows, sealed=False, lines=(b"}\n", b"}")),
        "rows.csv.gz": Kept(gzip.compress(CSV, mtime=0), _rows),
        "rows.jsonl.gz": Kept(gzip.compress(JSONL, mtime=0), _rows),
        "checked.csv.zst": Kept(CHECKED_ZST, _rows),
        "plain.csv.zst": Kept(_packed(CSV), _rows, sealed=False),
    }
    found["sums.csv.gz"] = Kept(found["rows.csv.gz"].data, _sums)
    found["sums.checked.parquet"] = Kept(found["checked.parquet"].data, _sums)
    sealed = found["whole.sketch"]
    found["sketch.parquet"] = Kept(
        _as_parquet(sealed.data), lambda path: CalibrationSketch.from_parquet(path).to_bytes()
    )
    found |= {f"there.{name}": replace(found[name], read=_there) for name in OF_ROWS if f"there.{name}" in NAMES}
    found |= {f"keys.{name}": replace(found[name], read=_keys) for name in OF_ROWS if f"keys.{name}" in NAMES}
    log = _log_of(ROWS)
    found["log.jsonl"] = Kept(log, _log, sealed=False, lines=(b"}\n", b"}"))
    found["log.jsonl.gz"] = Kept(gzip.compress(log, mtime=0), _log)
    found["sketches.parquet"] = Kept(_by_day(TABLE), _sketches, sealed=False)
    return found


def half(name: str) -> bytes:
    """Half of the rows in the same format, whole in itself."""
    table = TABLE.slice(0, ROWS // 2)
    text = b"".join(CSV.splitlines(keepends=True)[: ROWS // 2 + 1])
    lines = b"".join((_log_of(ROWS) if "log." in name else JSONL).splitlines(keepends=True)[: ROWS // 2])
    if "sketch" in name:
        sketch = CalibrationSketch(64).update(Y, P)
        return _by_day(table) if name == "sketches.parquet" else _as_parquet(sketch.to_bytes())
    if name.endswith(".parquet"):
        return _parquet(table, write_page_checksum="checked" in name)
    if name.endswith((".feather", ".arrow")):
        return _arrow(table, stream=name.endswith(".arrow"))
    if name.endswith(".zst"):
        return _packed(text)
    plain = lines if ".jsonl" in name else text
    return gzip.compress(plain, mtime=0) if name.endswith(".gz") else plain


def _log_of(n_rows: int) -> bytes:
    rows = zip(Y[:n_rows].tolist(), P[:n_rows].tolist(), strict=True)
    samples = ({"acc": y, "filtered_resps": [[-p, False], [-1.0, False]]} for y, p in rows)
    return "".join(json.dumps(each) + "\n" for each in samples).encode()


def _by_day(table: Any) -> bytes:
    """A sketch for every day, in Parquet."""
    with tempfile.TemporaryDirectory() as folder:
        pq.write_table(table, f"{folder}/rows.parquet")
        names = {"y_true": "y_true", "y_prob": "y_prob"}
        write_rows(open_table(f"{folder}/rows.parquet"), f"{folder}/sketches.parquet", names=names, by=["day"])
        return Path(folder, "sketches.parquet").read_bytes()


def _as_parquet(data: bytes) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        CalibrationSketch.from_bytes(data).to_parquet(Path(folder) / "sketch.parquet")
        return (Path(folder) / "sketch.parquet").read_bytes()


def damaged(data: bytes, rng: np.random.Generator) -> tuple[str, bytes]:
    """The bytes with one kind of damage, and which."""
    size = len(data)
    at, width = int(rng.integers(size)), int(rng.integers(1, 33))
    changed = bytearray(data)
    kind = ("one bit", "several bits", "cut", "zeros", "lost", "twice")[
        rng.choice(6, p=[0.4, 0.2, 0.25, 0.05, 0.05, 0.05])
    ]
    if kind == "one bit":
        changed[at] ^= 1 << int(rng.integers(8))
    elif kind == "several bits":
        for place in rng.integers(size, size=rng.integers(2, 9)).tolist():
            changed[place] ^= 1 << int(rng.integers(8))
    elif kind == "cut":
        del changed[at:]
    elif kind == "zeros":
        changed[at : at + width] = bytes(len(changed[at : at + width]))
    elif kind == "lost":
        del changed[at : at + width]
    else:
        changed[at:at] = changed[at : at + width]
    return f"{kind} at {at}", bytes(changed)


def wrong(name: str, changed: bytes, folder: Path) -> str | None:
    """What is wrong with what is said of damaged bytes; None if they are refused, or the numbers are the same.

    Refused is also what asks for more memory than there is, as a length that was damaged does, without a checksum.
    """
    from calibrant import InputError

    whole = kept()[name]
    path = folder / name
    if path.is_dir():  # what the case before left there
        shutil.rmtree(path)
    path.write_bytes(changed)
    try:
        said = whole.read(path)
    except InputError:
        return None
    except MemoryError:
        return "asks for memory" if whole.sealed else None
    except ValueError as problem:  # a state is read by `json` before it comes to us
        return None if name == "monitor.json" else f"{type(problem).__name__}: {problem!s:.200}"
    except Exception as problem:
        return f"{type(problem).__name__}: {problem!s:.200}"
    if len(changed) < len(whole.data) and whole.data.startswith(changed) and not changed.endswith(whole.lines):
        return "a cut file is read"
    if whole.sealed:
        return None if said == _wanted(name) else "other numbers"
    return None


def replaced(path: Path, data: bytes) -> None:
    """Another file is put there."""
    (path.parent / "another").write_bytes(data)
    (path.parent / "another").replace(path)


def rewritten(path: Path, data: bytes) -> None:
    """The file itself is written again."""
    path.write_bytes(data)


def cut(path: Path, _data: bytes) -> None:
    """Its end is lost."""
    os.truncate(path, path.stat().st_size // 2)


def gone(path: Path, _data: bytes) -> None:
    """It is removed."""
    path.unlink()


def folder(path: Path, _data: bytes) -> None:
    """A folder is put there."""
    path.unlink()
    path.mkdir()


CHANGES = (replaced, rewritten, cut, gone, folder)
OPENED = tuple(n for n in NAMES if n.startswith(("rows.", "sums.", "there.", "keys.", "log.", "checked.", "sketches.")))
"""What is checked first and read later."""


@contextmanager
def meanwhile(at: int | None, do: Callable[[], object] = lambda: None) -> Iterator[list[int]]:
    """Something is done after a look at the states of files, counted from 0; the list holds how many there were."""
    n_looks = [0]

    def counted(states: Any) -> Any:
        def look(files: Any) -> Any:
            found = list(states(files))
            if n_looks[0] == at:
                do()
            n_looks[0] += 1
            return found

        return look

    here, there = folders._here, folders._states_on
    try:
        folders._here, folders._states_on = counted(here), lambda filesystem: counted(there(filesystem))
        yield n_looks
    finally:
        folders._here, folders._states_on = here, there


@cache
def n_looks(name: str) -> int:
    """How often a reader looks at the state of its file."""
    with tempfile.TemporaryDirectory() as here, meanwhile(None) as looks:
        path = Path(here) / name
        path.write_bytes(kept()[name].data)
        looks[0] = 0
        kept()[name].read(path)
        return looks[0]


def wrong_if_changed(name: str, at: int, change: Callable[[Path, bytes], None], place: Path) -> str | None:
    """What is wrong with what is said of a file that changes after a look; only after the last it may have a number."""
    from calibrant import FileError

    path, other, wanted, last = place / name, half(name), _wanted(name), n_looks(name) - 1
    shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    path.write_bytes(kept()[name].data)
    try:
        with meanwhile(at, lambda: change(path, other)):
            found = kept()[name].read(path)
    except FileError as problem:
        named = repr(str(path)) in str(problem) and ("while it was read" in str(problem) or at == 0)
        return None if named else f"not told of its file: {problem}"
    except Exception as problem:
        return f"{type(problem).__name__}: {problem!s:.200}"
    if at < last:
        return "a change is not seen"
    return None if found == wanted else "other numbers"


@cache
def _wanted(name: str) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(kept()[name].data)
        return kept()[name].read(path)
