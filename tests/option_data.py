"""Small files in which every option of a command makes a difference; for `test_options`."""

import json
from pathlib import Path

import numpy as np
import pandas as pd

from calibrant import CalibrationGate, CalibrationSketch

N = 240


def frame(variant="", seed=0):
    """Rows with a fault that differs between sites, kinds, patients and days, and columns of many uses."""
    rng = np.random.default_rng(seed)
    y_prob = np.round(rng.uniform(0.05, 0.95, N), 3)
    site, kind, day = rng.integers(0, 2, N), rng.integers(0, 2, N), np.arange(N) * 4 // N
    rate = np.clip(y_prob + 0.35 * (site ^ kind) * (0.5 - y_prob) + 0.1 * (day > 1), 0.0, 1.0)
    held = pd.DataFrame(
        {
            "y_true": (rng.random(N) < rate).astype(int),
            "y_prob": y_prob,
            "y_other": (rng.random(N) < 0.5).astype(int),
            "p_other": np.round(np.clip(y_prob**2 + 0.01, 0.0, 1.0), 3),
            "mass": np.where(rng.random(N) < 0.5, 1.0, 3.0),
            "site": np.where(site, "north", "south"),
            "kind": np.where(kind, "a", "b"),
            "patient": np.arange(N) // 3,
            "day": day,
        }
    )
    if variant == "bad":
        held.loc[5, "y_prob"] = np.nan
    if variant == "labels":
        held["y_true"] = np.where(held["y_true"] == 1, "yes", "no")
    if variant == "weight":
        held["weight"] = held.pop("mass")
    if variant == "times":
        came, left = -np.log(rng.random(N)) / rate, rng.uniform(0.2, 6.0, N) * (1 + site)
        held["days"], held["died"] = np.minimum(came, left).round(4), (came <= left).astype(int)
    if variant == "counts":
        held["n"] = rng.integers(1, 9, N)
        held["y_true"] = rng.binomial(held["n"], rate) / held["n"]
    return held


def classes(variant="", seed=0):
    """Three classes, and their label."""
    held, rng = frame(variant, seed), np.random.default_rng(seed + 1)
    table = rng.dirichlet([1.0, 1.0, 1.0], N)
    held = held.drop(columns=["y_prob", "p_other"])
    drawn = (table.cumsum(axis=1) < rng.random((N, 1))).sum(axis=1).clip(0, 2)
    held["y_true"] = np.where(rng.random(N) < 0.3, 0, drawn)
    for k in range(3):
        held[f"p{k}"] = table[:, k]
    return held


def log(path, seed=0):
    """A log of lm-evaluation-harness."""
    rng = np.random.default_rng(seed)
    logs = 3.0 * rng.normal(size=(N, 4))
    right = rng.random(N) < 0.6
    lines = [
        {"doc_id": 0, "target": 1, "filtered_resps": [[str(x), "False"] for x in row], "acc": float(each)}
        for row, each in zip(logs.tolist(), right, strict=True)
    ]
    Path(path).write_text("\n".join(json.dumps(each) for each in lines) + "\n")


def sketch(path, seed=0):
    """The rows' sketch."""
    rows = frame(seed=seed)
    held = CalibrationSketch().update(rows["y_true"], rows["y_prob"])
    Path(path).write_bytes(held.to_bytes())


def keyed(path, seed=0):
    """A sketch for each site."""
    from calibrant.cli.app import app

    rows = Path(path).with_name("of_rows.csv")
    frame(seed=seed).to_csv(rows, index=False)
    from typer.testing import CliRunner

    done = CliRunner().invoke(app, ["sketch", str(rows), "--by", "site,kind", "-o", str(path), "--overwrite"])
    assert done.exit_code == 0, done.output
    rows.unlink()


def state(path, seed=0):
    """A gate to which a file of rows was added, others than are read elsewhere."""
    gate, rows = CalibrationGate(max_distance=0.2), frame(seed=seed + 9)
    gate.update(rows["y_true"], rows["y_prob"], once=True)
    gate.save(path)


def build(folder, reads, variant):
    """Write what a mode reads, here and under other data in `there`; the names, relative to the folder."""
    for place, seed in ((Path(folder) / "there", 5), (Path(folder), 0)):
        place.mkdir(exist_ok=True)
        frame(variant, seed).to_csv(place / "rows.csv", index=False)
        names = _build(place, reads, variant, seed)
        if variant == "exists":
            (place / "out.parquet").write_bytes(b"older")
            sketch(place / "other.sketch", seed)
        if variant == "twice":
            names = [_twice(place, name) for name in names]
    return names


def _twice(place, name):
    """A folder with a file under two names."""
    folder = place / f"twice_{name.partition('.')[0]}"
    folder.mkdir(exist_ok=True)
    for number in (1, 2):
        (folder / f"{number}_{name}").write_bytes((place / name).read_bytes())
    return folder.name


def _build(place, reads, variant, seed):
    if reads in ("rows", "summed", "two", "baseline", "anytime", "anytime sketch"):
        names = ["rows.csv"]
        if reads in ("two", "baseline"):
            second = frame(variant, seed).assign(y_prob=lambda held: held["p_other"])
            second.to_csv(place / "second.csv", index=False)
            names = ["rows.csv", "second.csv"]
        if reads == "anytime":
            state(place / "kept.gate", seed)
        return names
    if reads == "two of classes":
        for k, name in enumerate(("classes.csv", "others.csv")):
            classes(variant, seed + k).to_csv(place / name, index=False)
        return ["classes.csv", "others.csv"]
    if reads == "two sketches":
        for k, name in enumerate(("rows.sketch", "others.sketch")):
            sketch(place / name, seed + k)
        return ["rows.sketch", "others.sketch"]
    if reads == "classes":
        classes(variant, seed).to_csv(place / "classes.csv", index=False)
        return ["classes.csv"]
    if reads == "log":
        log(place / "samples_arc.jsonl", seed)
        return ["samples_arc.jsonl"]
    if reads == "rates":
        held = frame("counts", seed)
        if variant in ("bad", "weight", "labels"):
            held = frame(variant, seed).assign(n=held["n"], y_true=held["y_true"])
        held.to_csv(place / "rates.csv", index=False)
        return ["rates.csv"]
    if reads == "sketch":
        sketch(place / "rows.sketch", seed)
        return ["rows.sketch"]
    if reads == "keyed":
        keyed(place / "rows.parquet", seed)
        return ["rows.parquet"]
    if reads == "so far":
        state(place / "kept.gate", seed)
        return []
    if reads == "nothing":
        return []
    raise AssertionError(reads)
