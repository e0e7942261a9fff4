"""JSON: a row an object, in lines or in one array; and samples of lm-evaluation-harness, which are written so."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from calibrant.door.columns import FloatArray
from calibrant.door.errors import FileError
from calibrant.tables.duckdb import literal, quoted
from calibrant.tables.formats.base import AGAIN, BLANK, CHUNK, FILE, Format, is_compressed, unpacked_ends
from calibrant.tables.formats.text import refuse_wide

_EXACT = 2**53  # up to which a DOUBLE tells whole numbers apart
_WHOLE = {"UBIGINT", "BIGINT"}
_LIKELIHOODS = ("filtered_resps", "resps")


class Json(Format):
    """Objects of JSON, one a row."""

    name = "json"
    endings = (".json", ".jsonl", ".ndjson")
    text_numbers = True
    counting_reads = True
    folders_are_twins = False

    @classmethod
    def check(cls, file: str) -> None:
        """See that an array is closed: a reader takes one that is cut after a comma as whole."""
        refuse_wide(file)
        first, last = unpacked_ends(file) if is_compressed(file) else _plain_ends(file)
        if first == b"[" and last != b"]":
            raise FileError("file", f"{file!r} is cut or damaged: its array is not closed by ']'", allowed=AGAIN)

    @cached_property
    def _keys(self) -> list[str]:
        return json_keys(self.connection, self.files)

    @property
    def columns(self) -> list[str]:
        """Keys of all rows, and the columns that folders stand for."""
        return list(dict.fromkeys([*self._keys, *self.folders]))

    @property
    def headers(self) -> list[Sequence[str]]:
        """The keys of all files, of each."""
        return [self._keys] * len(self.files)

    def rows(self, names: Sequence[str], *, with_file: bool = False) -> Any:
        """All rows, with the values of these keys as JSON."""
        columns, named = dict.fromkeys(names, "JSON"), {"filename": FILE} if with_file else {}
        folders = {"hive_partitioning": True, "hive_types": self.folder_types} if self.folder_types else {}
        several = len(self.files) > 1
        return self.connection.read_json(self.literals, columns=columns, union_by_name=several, **folders, **named)

    @classmethod
    def typed_keys(cls, relation: Any, names: Sequence[str], option: str) -> Any:
        """Columns of keys, which are read as JSON, with the type of their values, which must be of one kind."""
        types = dict(zip(relation.columns, map(str, relation.types), strict=True))
        typed = [
            f"CAST({quoted(name)} ->> '$' AS {_type_of(relation, name, option)}) AS {quoted(name)}"
            for name in names
            if types[name] == "JSON"  # and not the value that a folder stands for
        ]
        return relation.project(f"* REPLACE ({', '.join(typed)})") if typed else relation


def json_keys(connection: Any, files: Sequence[str]) -> list[str]:
    """Keys of all rows of JSON files, each as often as a row has it: a sample would miss those that come late."""
    keys = "SELECT DISTINCT json_keys(json) AS keys FROM read_json_objects(?)"
    each = f"SELECT keys, unnest(keys) AS name, generate_subscripts(keys, 1) AS place FROM ({keys})"
    rows = f"SELECT name, min(place) AS place, count(*) AS times FROM ({each}) GROUP BY keys, name"
    query = f"SELECT name, max(times) FROM ({rows}) GROUP BY name ORDER BY min(place), name"
    times_of = connection.execute(query, [[literal(file) for file in files]]).fetchall()
    if not times_of:
        reason = "holds no JSON objects with keys; each row is one, such as"
        raise FileError("file", f'{files[0]!r} {reason} {{"y_true": 1, "y_prob": 0.8}}')
    return [name for name, times in times_of for _ in range(times)]


def _type_of(relation: Any, name: str, option: str) -> str:
    """The type in SQL of a column's values, which must be of one kind."""
    column = quoted(name)
    types = f"list(DISTINCT json_type({column})) FILTER ({column} IS NOT NULL)"
    ((kinds, largest),) = relation.aggregate(f"{types}, max(abs(TRY_CAST({column} AS DOUBLE)))").fetchall()
    kinds = set(kinds or ["VARCHAR"])
    if kinds & {"OBJECT", "ARRAY"}:
        raise FileError(option, f"names the column {name!r}, which holds nested JSON; single values are needed")
    if not kinds - {*_WHOLE, "DOUBLE"}:
        if "DOUBLE" in kinds and (largest or 0.0) >= _EXACT:
            raise FileError(option, f"names the column {name!r}, which holds numbers too large to tell apart")
        return "DOUBLE" if "DOUBLE" in kinds else "BIGINT" if "BIGINT" in kinds else "UBIGINT"
    if len(kinds) > 1:
        values = "texts, numbers or truth values side by side; write all in one way"
        raise FileError(option, f"names the column {name!r}, which holds {values}")
    return str(kinds.pop())


def _plain_ends(file: str) -> tuple[bytes, bytes]:
    """As `unpacked_ends`, without reading what is between."""
    first = last = b""
    with Path(file).open("rb") as stream:
        while not first and (part := stream.read(CHUNK)):
            first = part.lstrip(BLANK)[:1]
        at = stream.seek(0, 2)
        while not last and at > 0:
            size = min(at, 1 << 12)
            at -= size
            stream.seek(at)
            last = stream.read(size).rstrip(BLANK)[-1:]
    return first, last


def is_harness_log(files: Sequence[str]) -> bool:
    """Whether the first line is a multiple-choice sample of lm-evaluation-harness (``--log_samples``)."""
    first = files[0]
    if not first.endswith((".jsonl", ".jsonl.gz")):
        return False
    with _opened(first) as lines:
        try:
            sample = json.loads(lines.readline())
        except (ValueError, UnicodeDecodeError):
            return False
    return isinstance(sample, dict) and "acc" in sample and any(name in sample for name in _LIKELIHOODS)


def read_harness_log(files: Sequence[str]) -> tuple[FloatArray, FloatArray]:
    """Read of every sample whether it is right, and the confidence.

    The confidence is the softmax of the choices' log-likelihoods at the largest.

    Raises
    ------
    FileError
        If a sample is not one of multiple choice, or says something else than 0 or 1 about being right.

    Notes
    -----
    ``acc`` judges the choice of largest log-likelihood, so that choice's probability among all choices is the
    confidence in what is judged. Normalised variants (``acc_norm``) choose otherwise and are not read.
    """
    right, confidence = [], []
    for row, sample in enumerate(_samples(files)):
        right.append(_outcome(sample.get("acc"), row))
        confidence.append(_confidence(next((sample[name] for name in _LIKELIHOODS if name in sample), None), row))
    return np.array(right), np.array(confidence)


def harness_items(files: Sequence[str]) -> list[str] | None:
    """Ids of the documents of a log's samples, in order; None where a sample has none."""
    ids = [(sample.get("doc_id"), sample.get("doc_hash", "")) for sample in _samples(files)]
    return (
        None if any(number is None for number, _ in ids) else [f"{number} {digest}".strip() for number, digest in ids]
    )


def _samples(files: Sequence[str]) -> Iterator[dict[str, Any]]:
    row = 0
    for file in files:
        with _opened(file) as lines:
            for line in lines:
                if line.strip():
                    try:
                        sample = json.loads(line)
                    except ValueError:
                        raise FileError("file", f"{file!r}: row {row} is no JSON", row=row) from None
                    yield sample if isinstance(sample, dict) else {}
                    row += 1


def _opened(file: str) -> IO[str]:
    return gzip.open(file, "rt", encoding="utf-8") if file.endswith(".gz") else Path(file).open(encoding="utf-8")


def _outcome(acc: Any, row: int) -> float:
    if acc not in (0, 1):
        raise FileError("acc", f"row {row} is {acc!r:.40}; a sample is right, 1, or wrong, 0", row=row)
    return float(acc)


def _confidence(answers: Any, row: int) -> float:
    """Probability of the likeliest choice; an answer is [log-likelihood, is greedy], maybe nested once more."""
    try:
        logs = np.array([_log_likelihood(answer) for answer in answers], dtype=np.float64)
    except (TypeError, ValueError, IndexError, KeyError):
        logs = np.empty(0)
    if logs.size < 2 or np.isnan(logs).any() or not np.isfinite(logs.max()):
        reason = "does not hold log-likelihoods of two or more choices; name columns with --y-true and --y-prob instead"
        raise FileError("filtered_resps", f"row {row} {reason}", row=row)
    shares: npt.NDArray[np.float64] = np.exp(logs - logs.max())
    return float(1.0 / shares.sum())


def _log_likelihood(answer: Any) -> float:
    return _log_likelihood(answer[0]) if isinstance(answer, list) else float(answer)
