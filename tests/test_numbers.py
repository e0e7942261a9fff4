"""A dozen audits, and every public call, give what they gave: keys may be renamed, numbers not.

`python -m tests.test_numbers` writes tests/numbers.json and tests/ledger/record.json anew, for a change that is meant
to alter a number or a word. With ``--exact`` it compares instead: to the last bit where the libraries and the processor
are those of the record, else up to what another processor rounds otherwise. With ``--changed`` it names what differs,
old and new, all of it. The suite compares a part of the record.
"""

from __future__ import annotations

import json
import math
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import calibrant
from tests.ledger import record
from tests.ledger.calls import calls, expected, in_suite
from tests.ledger.values import plain

STORED = Path(__file__).parent / "numbers.json"
_LONG = 24  # of longer columns every 16th number and the sum are kept


def _rows(n: int, seed: int, bend: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    p = rng.beta(0.7, 1.3, n)
    return (rng.random(n) < np.clip(p + bend * np.sin(6.0 * p), 0.0, 1.0)).astype(float), p


def _classes(n: int, k: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    table = rng.dirichlet(np.ones(k), n)
    return (rng.random(n)[:, None] > np.cumsum(table**1.3 / (table**1.3).sum(1, keepdims=True), 1)).sum(1), table


def _file(folder: Path) -> str:
    y, p = _rows(3000, 9, 0.1)
    path = folder / "rows.csv"
    day = np.arange(y.size) * 6 // y.size + 1
    lines = [
        f"{a:.0f},{b!r},{'ab'[i % 2]},2026-01-0{d}" for i, (a, b, d) in enumerate(zip(y, p.tolist(), day, strict=True))
    ]
    path.write_text("y_true,y_prob,site,day\n" + "\n".join(lines) + "\n")
    return str(path)


def _from_command(*arguments: str) -> dict[str, Any]:
    from typer.testing import CliRunner

    from calibrant.cli.app import app

    done = CliRunner().invoke(app, [*arguments, "--json", "--seed", "1", "--resamples", "1000"])
    assert done.exit_code in (0, 1), done.output  # 1: a change is proved
    return json.loads(done.stdout)


def _summed_command(*arguments: str) -> dict[str, Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("calibrant.tables.entry.MANY_BYTES", 0)
        return _from_command(*arguments)


def audits(folder: Path) -> dict[str, dict[str, Any]]:
    """The dozen, by name."""
    plain, off = _rows(300, 1), _rows(400, 2, 0.2)
    few = np.array([0.0, 0.1, 0.3, 0.5, 1.0])[np.random.default_rng(3).integers(0, 5, 250)]
    atoms = np.where(np.random.default_rng(4).random(300) < 0.3, np.round(plain[1]), plain[1])
    weights = np.random.default_rng(5).exponential(1.0, 300) + 0.01
    rare = (np.random.default_rng(6).random(2000) < 0.004).astype(float)

    def one(*columns: Any, **options: Any) -> dict[str, Any]:
        return calibrant.audit(*columns, random_state=1, **{"n_resamples": 1000, **options}).to_dict()

    path = _file(folder)
    return {
        "calibrated": one(*plain),
        "off": one(*off, level=0.1, n_resamples=400),
        "five values": one((np.random.default_rng(7).random(250) < few).astype(float), few),
        "atoms": one((np.random.default_rng(8).random(300) < atoms).astype(float), atoms),
        "weights": one(*plain, sample_weight=weights),
        "event rates": one(np.round(plain[1] + 0.05 * np.sin(9 * plain[1]), 3).clip(0, 1), plain[1]),
        "rare events": one(rare, np.full(2000, 0.003)),
        "three rows": one([0, 1, 1], [0.2, 0.7, 0.9]),
        "no resamples": one(*off, n_resamples=0),
        "three classes": one(*_classes(300, 3, 10)),
        "two columns": one(np.where(plain[0] > 0, "yes", "no"), np.column_stack([1 - plain[1], plain[1]])),
        "a file": _from_command("audit", path, "--by", "site", "--drift", "day"),
        "a sketched file": _summed_command("audit", path),
        "two files": _from_command("audit", path, path),
    }


RENAMED: tuple[tuple[str, str], ...] = ()
"""What a path is called now that was called otherwise when the file was written."""


def stored() -> dict[str, dict[str, float]]:
    """The numbers as they were, under the names that they have now."""

    def renamed(path: str) -> str:
        for before, now in RENAMED:
            path = re.sub(before, now, path)
        return path

    before: dict[str, dict[str, float]] = json.loads(STORED.read_text())
    return {
        name: {renamed(path): x for path, x in each.items() if not path.endswith("/schema")}
        for name, each in before.items()
    }


def numbers(value: Any, at: str = "") -> dict[str, float]:
    """Every number of nested dicts and lists by its path; of long columns the sum and every 16th."""
    if isinstance(value, bool | str) or value is None:
        return {}
    if isinstance(value, int | float):
        return {at: value}
    if isinstance(value, dict):
        parts: dict[str, Any] = {name: each for name, each in value.items() if name not in ("schema", "premises")}
    elif len(value) > _LONG and all(isinstance(each, int | float) for each in value):
        parts = {"sum": math.fsum(value), **{str(i): value[i] for i in range(0, len(value), 16)}}
    else:
        parts = {str(i): each for i, each in enumerate(value)}
    return {path: x for key, each in parts.items() for path, x in numbers(each, f"{at}/{key}").items()}


@pytest.mark.slow(always=True)
@pytest.mark.filterwarnings("ignore")
def test_the_numbers_of_a_dozen_audits_stay(tmp_path: Path) -> None:
    before = stored()
    for name, audit in audits(tmp_path).items():
        now = numbers(audit)
        assert now.keys() == before[name].keys(), name
        # Another processor may round the last bits of a fit otherwise; on one machine they are equal.
        assert now == pytest.approx(before[name], rel=1e-9, abs=1e-12), name


def test_every_public_name_has_an_entry() -> None:
    """A name that is new is entered by ``python -m tests.test_numbers``, or listed with its reason."""
    _, before = record.stored()
    entered = {name.split(" / ")[0] for name in before}
    assert expected() - entered == set()
    assert set(calls()) ^ set(before) == set(), "python -m tests.test_numbers writes the record anew"


@pytest.mark.slow(always=True)
def test_public_calls_give_what_they_gave() -> None:
    made, before = record.stored()
    here = record.environment()
    now = record.entries(in_suite)
    # Other versions of libraries have other words, in errors that are theirs and in how help is laid out.
    same = all(made[name] == here[name] for name in record.LIBRARIES)
    assert record.changes({name: before[name] for name in now}, now, exact=False, words=same) == []


def test_a_record_is_read_as_it_was_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    values = {"f / a": [1, {"x": "0x1.8p+0", "y": [1, 2]}], "f / b": [1, {"x": None, "z": {}}], "g": "no", "f / c": 3}
    monkeypatch.setattr(record, "STORED", tmp_path / "record.json")
    record.write(values)
    assert record.stored() == (record.environment(), values)


def test_a_change_is_named_and_the_last_bit_is_another_processors() -> None:
    before = {"f": {"x": (0.1).hex(), "sha256": "ab", "words": "about 0.1", "n": 3}}
    rounded = {"f": {"x": math.nextafter(0.1, 1.0).hex(), "sha256": "cd", "words": "about 0.2", "n": 3}}
    changed = {"f": {"x": (0.11).hex(), "sha256": "ab", "words": "about 0.1", "n": 4}, "g": 1}
    assert len(record.changes(before, rounded, exact=True)) == 3
    assert record.changes(before, rounded, exact=False) == []
    assert [line.split(":")[0] for line in record.changes(before, changed, exact=False)] == ["f /x", "f /n", "g"]


def in_hexadecimal(found: dict[str, dict[str, float]]) -> dict[str, dict[str, Any]]:
    """Numbers as the record has them."""
    return {name: {path: plain(x) for path, x in each.items()} for name, each in found.items()}


def main(exact: bool, every: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        found = {name: numbers(audit) for name, audit in audits(Path(folder)).items()}
    now = record.entries()
    if not (exact or every):
        STORED.write_text(json.dumps(found, indent=0) + "\n")
        record.write(now)
        return
    (made, entries), here = record.stored(), record.environment()
    if same := made == here:
        print("compared to the last bit")
    else:
        other = [f"{name} {here[name]}, not {made[name]}" for name in made if here[name] != made[name]]
        print(f"the record was made elsewhere, so that last bits do not count: {'; '.join(other)}")
    before, dozen = in_hexadecimal(stored()), in_hexadecimal(found)
    changed = record.changes(before, dozen, exact=same) + record.changes(entries, now, exact=same)
    same_number = f"{len(entries):,} entries and {sum(map(len, before.values())):,} numbers are the same"
    print("\n".join(changed if every else changed[:40]) or same_number)
    sys.exit(bool(changed))


if __name__ == "__main__":
    main("--exact" in sys.argv, "--changed" in sys.argv)
