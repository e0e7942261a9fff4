"""Which rows teach and which are bet on: the rows themselves draw it, whatever their order and their road."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from typer.testing import CliRunner

from calibrant import CalibrationSketch, calibration_gate
from calibrant.cli.app import app
from calibrant.door.sample import Sample
from calibrant.inference.bounds.draws import Draws, Weighing, draws_of, read_draws
from calibrant.inference.bounds.gate import _shares
from calibrant.tables import entry
from tests.strategies import examples, samples


def _units(shares):
    """What the units of each share hold, without the weights."""
    found = []
    for each in shares:
        unit = np.arange(each.y.size) if each.unit is None else each.unit
        held = [[] for _ in each.copies]
        for at, *line in zip(unit.tolist(), each.v.tolist(), each.y.tolist(), strict=True):
            held[at].append(line)
        found.append(list(zip(held, each.copies.tolist(), strict=True)))
    return found


@examples(60)
@given(samples(max_rows=60, weights=False, fractional=False))
def test_neither_the_order_of_rows_nor_the_names_of_groups_nor_the_scale_of_weights_moves_the_split(rows):
    y, v, _ = rows
    rng = np.random.default_rng(y.size)
    order, group, w = rng.permutation(y.size), rng.integers(0, 9, y.size), rng.integers(1, 5, y.size) / 4.0
    name = rng.permutation(9)[group]
    ways = [
        (read_draws(y, v), read_draws(y[order], v[order])),
        (
            read_draws(y, v, Weighing(w, max_weight=1.0)),
            read_draws(y[order], v[order], Weighing(w[order] / 3.0, max_weight=1.0 / 3.0)),
        ),
        (
            read_draws(y, v, Weighing(w, max_weight=99.0), group),
            read_draws(y[order], v[order], Weighing(w[order] / 3.0, max_weight=33.0), name[order]),
        ),
    ]
    for (_, one), (_, other) in ways:
        assert _units(one.blocks) == _units(other.blocks)
        assert _units(_shares(0.0, one, 3)) == _units(_shares(0.0, other, 3))


@pytest.mark.parametrize("kind", ["rows", "weights", "groups"])
def test_the_outcomes_draw_the_split_and_not_in_their_favour(kind):
    """One constant would put the unit of one rank into the same share, whatever happened."""
    rng, n, times = np.random.default_rng(0), 24, 400
    v = np.linspace(0.1, 0.9, n)
    group = np.arange(n) // 2 if kind == "groups" else None
    outcome, first = np.empty((times, n)), np.empty((times, n))
    for i in range(times):
        y = outcome[i] = rng.integers(0, 2, n)
        rows = Sample.from_columns(y, v)
        units = Draws.of_sample(rows) if kind == "rows" else draws_of(y, v, v, None, group, 2.0)[1]
        first[i] = np.isin(v, units.split(np.array([0.5, 0.5]))[0].v)
    assert np.abs(first.mean(axis=0) - 0.5).max() < 5.0 * 0.5 / np.sqrt(times)
    assert np.abs(((outcome - 0.5) * (first - 0.5)).mean(axis=0)).max() < 5.0 * 0.25 / np.sqrt(times)


@pytest.mark.slow
@pytest.mark.parametrize("values", [10, 2**50])
def test_every_road_ends_at_the_same_split(tmp_path, monkeypatch, values):
    """Roads that add up agree with one another, and with rows where a cell holds one of the values."""
    rng = np.random.default_rng(values)
    n = 3000
    v = rng.integers(1, values, n) / values
    y = (rng.random(n) < v**2).astype(int)
    order, limit = rng.permutation(n), {"max_distance": 0.1}
    frame = pd.DataFrame({"y_true": y, "y_prob": v})
    frame.to_csv(tmp_path / "rows.csv", index=False)
    frame.iloc[order].to_parquet(tmp_path / "rows.parquet", index=False)

    def of_file(name):
        done = CliRunner().invoke(app, ["gate", str(tmp_path / name), "--max-distance", "0.1", "--json"])
        found = json.loads(done.stdout)["checks"][0]
        return found["verdict"], found["lower_distance"]["low"], found["lower_distance"]["high"]

    def of_result(found):
        return found.verdict, *found.lower_distance

    parts = [CalibrationSketch().update(y[part], v[part]) for part in (slice(0, 300), slice(300, n))]
    rows = {
        "arrays": of_result(calibration_gate(y, v, **limit)),
        "another order": of_result(calibration_gate(y[order], v[order], **limit)),
        "a frame": of_result(calibration_gate(frame["y_true"], frame["y_prob"], **limit)),
        **{name: of_file(name) for name in ("rows.csv", "rows.parquet")},
    }
    sums = {
        "sketch": of_result(CalibrationSketch().update(y, v).gate(**limit)),
        "sketches": of_result(CalibrationSketch.merge(parts).gate(**limit)),
    }
    monkeypatch.setattr(entry, "MANY_BYTES", 0)
    monkeypatch.setattr(entry, "MANY_ROWS", 0)
    sums |= {f"sums of {name}": of_file(name) for name in ("rows.csv", "rows.parquet")}
    for found in [{**rows, **sums}] if values < 1000 else [rows, sums]:
        verdict, *ends = next(iter(found.values()))
        for name, (also, *others) in found.items():
            assert also == verdict, name
            assert others == pytest.approx(ends, abs=1e-9), name
