"""Files and texts that are written whole, what they say, and how they are damaged."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Callable
from dataclasses import dataclass
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
from calibrant.scale.opened import OpenedFile

ROWS = 60
RNG = np.random.default_rng(0)
P = RNG.random(ROWS)
Y = (RNG.random(ROWS) < P).astype(np.int64)
TABLE = pa.table({"y_true": Y, "y_prob": P})
CSV = "".join(["y_true,y_prob\n", *(f"{y},{p!r}\n" for y, p in zip(Y.tolist(), P.tolist(), strict=True))]).encode()
JSONL = "".join(f'{{"y_true":{y},"y_prob":{p!r}}}\n' for y, p in zip(Y.tolist(), P.tolist(), strict=True)).encode()
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


def _packed(data: bytes) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(data)
    return sink.getvalue().to_pybytes()


def _parquet(**options: Any) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(TABLE, sink, row_group_size=20, **options)
    return sink.getvalue().to_pybytes()


def _arrow(stream: bool) -> bytes:
    sink = pa.BufferOutputStream()
    if not stream:
        pyarrow.feather.write_feather(TABLE, sink)
    else:
        with pa.ipc.new_stream(sink, TABLE.schema) as writer:
            writer.write_table(TABLE, 20)
    return sink.getvalue().to_pybytes()


def _monitor(path: Path) -> Any:
    return CalibrationMonitor.from_dict(json.loads(path.read_bytes())).to_dict()


NAMES = (
    *("sketch.bytes", "gate.state", "monitor.json", "PlattScaling.json", "BetaScaling.json", "IsotonicScaling.json"),
    *("HistogramBinning.json", "TemperatureScaling.json", "DirichletScaling.json", "platt.text", "checked.parquet"),
    *("plain.parquet", "rows.feather", "rows.arrow", "rows.csv", "rows.jsonl", "rows.csv.gz", "rows.jsonl.gz"),
    *("checked.csv.zst", "plain.csv.zst", "sums.csv.gz", "sums.checked.parquet", "sketch.parquet"),
)
"""What `kept` holds, told without making it."""


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
        "sketch.bytes": Kept(
            weighed.to_bytes(), lambda path: CalibrationSketch.from_bytes(path.read_bytes()).to_bytes()
        ),
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
    sealed = found["sketch.bytes"]
    found["sketch.parquet"] = Kept(
        _as_parquet(sealed.data), lambda path: CalibrationSketch.from_parquet(path).to_bytes()
    )
    return found


def _as_parquet(data: bytes) -> bytes:
    import tempfile

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


@cache
def _wanted(name: str) -> Any:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(kept()[name].data)
        return kept()[name].read(path)
