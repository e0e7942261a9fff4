"""A file or a pattern of files, opened once: its columns are looked up, read and summed through this one value."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from calibrant.door.errors import FileError, InputError
from calibrant.door.identity import HEAD, Identity, fingerprint, identities
from calibrant.door.overlap import find_overlap, refuse
from calibrant.tables.duckdb import lacks_memory, literal, shortened
from calibrant.tables.folders import check_folder_columns, check_same, folder_columns, kind_of_all, name_of
from calibrant.tables.identities import NOTHING, Begun, Ordered, hashed, ids_of, ordered, suspects
from calibrant.tables.integrity import (
    check_pages,
    refuse_cut_parquet,
    refuse_lost_quote,
    refuse_named_line,
    refuse_uneven_line,
)
from calibrant.tables.readers import (
    FILE,
    Dialect,
    arrow_reader,
    arrow_table,
    dialect_of,
    files_of_rows,
    input_files,
    json_keys,
    looks_like,
    parquet_columns,
    parquet_names,
    parquet_source,
    same_names,
    selected,
    text_source,
)
from calibrant.tables.relations import InDuckDB, of_file
from calibrant.tables.stamps import StampedFiles
from calibrant.tables.table import MANY_ROWS, Rows

MANY_BYTES = 500_000_000
"""Bytes of other files above which they are."""
_FEW_FILES = 256
"""Files up to which the first rows of each are read beside."""


class OpenedFile(InDuckDB):
    """A CSV, Parquet, JSON lines or Arrow file, or a folder or a pattern of such files.

    Parameters
    ----------
    path : str or path
        Its name, or that of a folder, or a pattern.
    pos_label : label, optional
        Label of the event, where the column of outcomes holds two labels.
    files : StampedFiles, optional
        What `input_files` gave for the name, where it was asked already.

    Attributes
    ----------
    path, name : str
        As given, and without its folder; a pattern has its folders in both.
    files : StampedFiles
        The files that it stands for, found whole; every read ends with a look at their stamps.
    kind : str
        Which reader takes them: csv, parquet, json or arrow.

    Raises
    ------
    FileError
        If there is no such file, or it is cut or damaged; so do the methods if it or a column cannot be read.
    """

    def __init__(self, path: str | os.PathLike[str], pos_label: Any = None, files: StampedFiles | None = None) -> None:
        super().__init__(pos_label)
        self.path = os.fspath(path)
        self.name: str = name_of(self.path)
        self.files: StampedFiles = input_files(self.path) if files is None else files
        self.kind = kind_of_all(self.files, self.path)
        check_folder_columns(self.files, self.path)
        self._checked: set[str] = set()

    @property
    def sources(self) -> list[str]:
        """The files, which no report may replace."""
        return self.files

    @property
    def path_print(self) -> str:
        """Fingerprint of its real path, or of its folder's or pattern's."""
        return fingerprint(os.path.realpath(self.path))

    @cached_property
    def is_harness_log(self) -> bool:
        """Whether it holds samples of lm-evaluation-harness."""
        with self._explained():
            return is_harness_log(self.files)

    @cached_property
    def summed(self) -> bool:
        """Whether it has more rows than are comfortable in memory."""
        if self.kind != "parquet":
            return sum(Path(file).stat().st_size for file in self.files) > MANY_BYTES
        with self._explained():
            query = "SELECT sum(num_rows) FROM parquet_file_metadata(?)"
            ((rows,),) = self._connection.execute(query, [self._literals]).fetchall()
        return bool(rows > MANY_ROWS)

    @cached_property
    def columns(self) -> list[str]:
        """Names of its columns, and of those that its folders stand for."""
        with self._explained():
            if self.kind == "csv":
                by_case: dict[str, str] = {}  # of several files DuckDB matches names in any case
                for name in (name for dialect in self._dialects for name in dialect.names):
                    by_case.setdefault(name.casefold(), name)
                held = list(by_case.values())
            elif self.kind == "arrow":
                return list(dict.fromkeys(name for file in self.files for name in arrow_reader(file).schema.names))
            elif self.kind == "json":
                held = self._json_keys
            else:
                return list(self._parquet.columns)
        return list(dict.fromkeys([*held, *folder_columns(self.files)]))

    @cached_property
    def twins(self) -> Mapping[str, list[str]]:
        """Names that DuckDB does not tell apart, by what they look like to it."""
        twins: dict[str, list[str]] = {}
        folders = [] if self.kind in ("json", "arrow") else folder_columns(self.files)
        with self._explained():
            for at, file in enumerate(self.files):
                twins |= same_names([*self._header(at, file), *folders], len(folders))
        return twins

    def read(self, *, exclude_bad: bool = False, groups: str | None = None, **asked: Any) -> Rows:
        """Read outcomes, predictions and weights; samples of lm-evaluation-harness where no column is asked for."""
        if self.is_harness_log and asked.get("y_true") is None and asked.get("y_prob") is None:
            with self._explained():
                right, confidence = read_harness_log(self.files)
            if not self.distinct:
                sizes = [len(read_harness_log([file])[0]) for file in self.files]
                found = identities(right, confidence, sizes=sizes)
                refuse(find_overlap([[each] for each in found]), list(map(repr, self.files)), FileError, "file")
            names = {"y_true": "acc", "y_prob": "largest choice of filtered_resps"}
            return Rows(right, confidence, None, names, ("y_true", "y_prob"))
        with of_file():
            return super().read(exclude_bad=exclude_bad, groups=groups, **asked)

    @cached_property
    def _json_keys(self) -> list[str]:
        return json_keys(self._connection, self.files)

    @property
    def _literals(self) -> list[str]:
        return [literal(file) for file in self.files]

    @cached_property
    def _dialects(self) -> list[Dialect]:
        import duckdb

        found = []
        for file in self.files:
            try:
                found.append(dialect_of(self._connection, file))
            except duckdb.InvalidInputException:
                refuse_lost_quote(file)
                refuse_uneven_line(file)
                raise
            if len(found[-1].names) == 1:  # or the lines have no number of columns in common
                refuse_lost_quote(file)
                refuse_uneven_line(file)
        return found

    @cached_property
    def _parquet(self) -> Any:
        return self._read_parquet()

    def _read_parquet(self, *, with_file: bool = False) -> Any:
        several, folders = len(self.files) > 1, bool(folder_columns(self.files))
        if with_file:
            return self._connection.sql(f"SELECT * FROM {parquet_source(self.files, folders)}")
        return self._connection.read_parquet(self._literals, union_by_name=several, hive_partitioning=folders)

    def _header(self, at: int, file: str) -> list[str]:
        """Names as one file holds them, before DuckDB makes them distinct."""
        if self.kind == "parquet":
            return parquet_names(self._connection, file)
        if self.kind == "arrow":
            return list(arrow_reader(file).schema.names)
        if self.kind == "json":
            return self._json_keys
        return list(self._dialects[at].header)

    def ordered(self, names: Mapping[str, str]) -> Ordered:
        """Rows in order, with what their identities need."""
        ids = ids_of(self.columns, names)
        several = len(self.files) > 1
        with self._explained():
            relation = self._rows(list(names.values()), ids, with_file=several)
            by_hash = dict(zip(map(self._hash_of, self.files), self.files, strict=True)) if several else None
            return ordered(relation, self._numbers(relation, names), ids, self.kind, by_hash)

    def ids_in_order(self, names: Mapping[str, str]) -> dict[str, Any]:
        """Hashes of the ids or times of its rows and what they are called, where such a column is there."""
        if self.is_harness_log or not ids_of(self.columns, names):
            return {}
        found = self.ordered(names)
        return {"ids": found.ids, "ids_name": found.ids_name}

    def begun(
        self, names: Mapping[str, str], held: Sequence[Identity], n_rows: int, *, exclude_bad: bool = False
    ) -> Begun:
        """The longest first part of many rows that is all of one earlier source."""
        some = [each for each in held if each.count <= n_rows]
        if some:
            with self._explained():
                headed = self._headed(self.files[0], names, Identity(1, None, None, 0.0))
            some = [
                each for each in some if each.head is None or each.begins_as(headed) or each.path == self.path_print
            ]
        for count, n_excluded in sorted({(each.count, each.n_excluded) for each in some}, reverse=True):
            try:
                first = self.within(names, 0, count + n_excluded, exclude_bad=exclude_bad).identity
            except FileError:  # no row of these is good
                continue
            for at, each in enumerate(held):
                if each.equals(first) and each.n_excluded == n_excluded:
                    return Begun(count, (at,))
        return NOTHING

    def parts(self, names: Mapping[str, str], whole: Identity) -> tuple[Identity, ...]:
        """Identities of its files, unless they are so many rows that only all of them are known."""
        if not self.summed:
            return tuple(each for _, each in self._found or self.ordered(names).named())
        if len(self.files) > 1:
            return ()
        with self._explained():
            return (self._headed(self.files[0], names, whole),)

    def _hash_of(self, file: str) -> int:
        ((found,),) = self._connection.execute("SELECT hash(?)", [file]).fetchall()
        return int(found)

    def _identities(self, names: Mapping[str, str]) -> list[tuple[str, Identity]]:
        if not self.summed:
            rows = self.ordered(names)
            found = rows.named()
            self._begun = rows.find_grown([each for _, each in found])
            return found
        known = self._hashed(names)
        return [(file, self._headed(file, names, known.get(file))) for file in self.files]

    def _hashed(self, names: Mapping[str, str]) -> dict[str, Identity]:
        """Of files whose sizes allow that they hold the same rows."""
        if self.kind == "parquet":
            query = "SELECT file_name, sum(num_rows) FROM parquet_file_metadata(?) GROUP BY file_name"
            counts = dict(self._connection.execute(query, [self._literals]).fetchall())
            chosen = suspects([int(counts[file]) for file in self.files], 0)
        elif any(file.lower().endswith((".gz", ".zst")) for file in self.files):
            chosen = list(range(len(self.files)))
        else:
            chosen = suspects([Path(file).stat().st_size for file in self.files], 100)
        if not chosen:
            return {}
        relation = self._of([self.files[at] for at in chosen])._rows(list(names.values()), with_file=True)
        found = hashed(relation, self._numbers(relation, names))
        seen: dict[tuple[int, int | None], str] = {}
        for file, each in found.items():
            first = seen.setdefault((each.count, each.rows), file)
            if first is not file:
                bits = self._of([file]).sketched(names)[0].identity.bits
                found |= {other: replace(found[other], bits=bits) for other in (first, file)}
        return found

    def _headed(self, file: str, names: Mapping[str, str], known: Identity | None) -> Identity:
        """With the fingerprint of the first rows, where files are few enough to open each once more."""
        known = known or Identity(1, None, None, 0.0)
        if len(self.files) > _FEW_FILES:
            return known
        alone = self._of([file])
        relation = alone._rows(list(names.values())).limit(HEAD)
        ((_, begun),) = ordered(relation, self._numbers(relation, names), (), self.kind).named()
        return replace(known, head=begun.head, head_bits=begun.head_bits)

    def _of(self, files: list[str]) -> OpenedFile:
        alone = OpenedFile(self.path, self.pos_label, self.files.part(files))
        alone.distinct = True
        return alone

    def _in_every_file(self, wanted: Sequence[str]) -> None:
        """Raise if a column is missing in some of the files, or is text in some and not in others."""
        if self.kind == "csv":
            held = {file: dict.fromkeys(of.names, "") for file, of in zip(self.files, self._dialects, strict=True)}
        elif self.kind == "parquet":
            held = {file: dict(names) for file, names in parquet_columns(self._connection, self.files).items()}
        else:
            return  # JSON's rows have the keys that they have, and Arrow's files are put together with care
        with_folders = {name.casefold() for name in folder_columns(self.files)}
        check_same(held, [name for name in wanted if name.casefold() not in with_folders])

    def _rows(self, numbers: Sequence[str], keys: Sequence[str] = (), *, with_file: bool = False) -> Any:
        wanted = [*numbers, *keys]
        unchecked = set(wanted) - self._checked
        if unchecked and len(self.files) > 1:
            self._in_every_file([name for name in numbers if name in unchecked])
        if self.kind == "parquet":
            for file in self.files if unchecked else ():
                check_pages(self._connection, file, unchecked)
        self._checked |= unchecked
        if self.kind == "csv":
            source = text_source(self.files, self._dialects, with_file=with_file)
            return self._connection.sql(selected(source, [*wanted, FILE] if with_file else wanted))
        if self.kind == "json":
            columns = dict.fromkeys(wanted, "JSON")
            named = {"filename": FILE} if with_file else {}
            return self._connection.read_json(
                self._literals, columns=columns, union_by_name=len(self.files) > 1, **named
            )
        if self.kind == "arrow":
            table = arrow_table(self.files, dict.fromkeys(wanted))
            if with_file:
                table = table.append_column(FILE, files_of_rows(self.files))
            return self._connection.from_arrow(table)
        return self._read_parquet(with_file=True) if with_file else self._parquet

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn whatever the readers raise into a message, and refuse files that are not those that were checked."""
        try:
            with self.files.unchanged():
                yield
        except ModuleNotFoundError as problem:
            if problem.name != "pyarrow":
                raise
            raise FileError(
                "file", f"{self.path!r}: Arrow files are read by pyarrow; install it with pip install pyarrow"
            ) from None
        except Exception as problem:  # a damaged file makes readers raise anything, KeyErrors among them
            if isinstance(problem, InputError | ImportError) or lacks_memory(problem):
                raise  # which says nothing about the file
            if self.kind == "parquet":
                refuse_cut_parquet(self.files)
            if self.kind == "csv":
                refuse_named_line(str(problem), self.files)
            said = f"{self.path!r} cannot be read as {self.kind}: {shortened(problem)}"
            raise FileError("file", said + looks_like(self.files[0], self.kind)) from None


FloatArray = npt.NDArray[np.float64]

_LIKELIHOODS = ("filtered_resps", "resps")


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
        said = "does not hold log-likelihoods of two or more choices; name columns with --y-true and --y-prob instead"
        raise FileError("filtered_resps", f"row {row} {said}", row=row)
    shares: npt.NDArray[np.float64] = np.exp(logs - logs.max())
    return float(1.0 / shares.sum())


def _log_likelihood(answer: Any) -> float:
    return _log_likelihood(answer[0]) if isinstance(answer, list) else float(answer)
