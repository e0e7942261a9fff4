"""Every map of one probability and of classes beside the peers' maps, judged by log loss and Brier score on new rows.

Run from the checkout: ``python benchmarks/maps.py --peers PYTHON [--data FOLDER] [--write]``, where PYTHON is an
interpreter that has probcal, probmetrics, betacal, netcal, scikit-learn and MAPIE, with what they need. ``--write``
writes docs/benchmarks-maps.md and, with every run, docs/benchmarks-maps.csv. ``--runs 1`` takes one
run of each setting; ``--done FILE`` takes the peers from such a table of runs, and judges our maps again.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import io
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGE, RUNS = DOCS / "benchmarks-maps.md", DOCS / "benchmarks-maps.csv"
OURS, ADVISED = "calibrant", "calibrant, where advised"
NEW = 20_000  # predictions of a planted shape on which losses are expected
NEAREST = 1e-12  # to 0 and 1 that a prediction is scored
Table = np.ndarray
Fit = Callable[[Table, Table, Table], Table]  # predictions, outcomes, new predictions: corrected


class Case(NamedTuple):
    """Rows that maps are fitted to, and new rows with the chance of their outcomes; of classes, tables."""

    family: str
    setting: str
    run: int
    p: Table
    y: Table
    new: Table
    chance: Table  # of the event, or of each class; 0 and 1 where outcomes are known


def expit(x: Table) -> Table:
    return 1.0 / (1.0 + np.exp(-x))


# What is judged on.


def planted(runs: int) -> Iterator[Case]:
    from calibrant_papers.gain_coverage import SHAPES

    for name, shape in SHAPES.items():
        rare = name.startswith("rare")
        for n in (1000, 5000) if rare else (100, 500, 2000):
            for run in range(runs):
                rng = np.random.default_rng([run, n, 2])
                p, new = (np.clip(shape.draw(rng, size), 1e-15, 1.0 - 1e-15) for size in (n, NEW))
                y = (rng.random(n) < shape.truth(p)).astype(int)
                yield Case(
                    "rare events" if rare else "planted shapes", f"{name}, {n:,}", run, p, y, new, shape.truth(new)
                )


def real(folder: Path, runs: int) -> Iterator[Case]:
    import pandas as pd

    for path in sorted(folder.glob("*.parquet")):
        table = pd.read_parquet(path)
        if "y_prob" not in table:
            continue
        p, y = table.y_prob.to_numpy(float), table.y_true.to_numpy(int)
        for n in (500, 1500, 5000):
            for run in range(runs):
                order = np.random.default_rng([run, n]).permutation(p.size)
                fit, new = order[:n], order[n : n + NEW]
                yield Case("networks", f"{path.stem}, {n:,}", run, p[fit], y[fit], p[new], y[new].astype(float))


def learners(seed: int) -> dict[str, Any]:
    from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return {
        "naive Bayes": GaussianNB(),
        "logistic": make_pipeline(StandardScaler(), LogisticRegression(C=10.0, max_iter=500)),
        "forest": RandomForestClassifier(100, random_state=seed),
        "boosting": GradientBoostingClassifier(n_estimators=60, random_state=seed),
        "network": make_pipeline(StandardScaler(), MLPClassifier((30,), max_iter=80, random_state=seed)),
    }


def in_parts(number: Table, parts: int) -> Table:
    """Which of so many parts, of about as many rows, a number lies in."""
    return np.searchsorted(np.quantile(number, np.arange(1, parts) / parts), number)


def tables(classes: bool) -> dict[str, tuple[Table, Table]]:
    """Tables of scikit-learn, with two classes or with all of theirs."""
    from sklearn import datasets

    made: dict[str, Any] = {"n_features": 12, "n_informative": 6, "flip_y": 0.1, "random_state": 0}
    blobs = datasets.make_blobs(1500, 8, centers=6, cluster_std=7.0, random_state=0)
    digits, wine, iris = (getattr(datasets, f"load_{each}")(return_X_y=True) for each in ("digits", "wine", "iris"))
    diabetes = datasets.load_diabetes(return_X_y=True)
    if classes:
        cells = datasets.load_breast_cancer()
        smooth = list(cells.feature_names).index("mean smoothness")
        return {
            "digits": digits,
            "wine": wine,
            "iris": iris,
            "made, 4 classes": datasets.make_classification(1500, n_classes=4, **made),
            "blobs, 6 classes": blobs,
            "digits modulo 3": (digits[0], digits[1] % 3),
            "diabetes in thirds": (diabetes[0], in_parts(diabetes[1], 3)),
            "diabetes in fifths": (diabetes[0], in_parts(diabetes[1], 5)),
            "smoothness of cells in fourths": (np.delete(cells.data, smooth, 1), in_parts(cells.data[:, smooth], 4)),
            "made, 10 classes": datasets.make_classification(
                3000, n_classes=10, **{**made, "n_features": 20, "n_informative": 10}
            ),
        }
    return {
        "breast cancer": datasets.load_breast_cancer(return_X_y=True),
        "digits from 5": (digits[0], (digits[1] >= 5).astype(int)),
        "diabetes above median": (diabetes[0], (diabetes[1] > np.median(diabetes[1])).astype(int)),
        "wine of the first": (wine[0], (wine[1] == 0).astype(int)),
        "made": datasets.make_classification(2000, **made),
        "made, 1 in 20": datasets.make_classification(3000, weights=[0.95], **{**made, "flip_y": 0.02}),
    }


def learnt(runs: int, classes: bool = False) -> Iterator[Case]:
    """A third of each table for the learner, one for the maps, and one to judge."""
    from sklearn.model_selection import train_test_split

    for name, (features, label) in tables(classes).items():
        for run in range(runs):
            train, rest = train_test_split(np.arange(label.size), train_size=1 / 3, random_state=run, stratify=label)
            fit, new = train_test_split(rest, train_size=1 / 2, random_state=run, stratify=label[rest])
            for called, learner in learners(run).items():
                said = learner.fit(features[train], label[train]).predict_proba(features)
                if not classes:
                    said = said[:, 1]
                chance = np.eye(int(label.max()) + 1)[label[new]] if classes else label[new].astype(float)
                family = "classes: learners" if classes else "learners"
                yield Case(family, f"{name}, {called}", run, said[fit], label[fit], said[new], chance)


def drawn_classes(rng: np.random.Generator, n: int, k: int, kind: str) -> tuple[Table, Table]:
    z = 1.5 * rng.normal(size=(n, k))
    true = {
        "calibrated": z,
        "too sure": 0.5 * z,
        "shifted": z + np.linspace(-1.0, 1.0, k),
        "mixed": z + 0.6 * np.roll(z, 1, axis=1),
    }[kind]
    return tuple(np.exp(each) / np.exp(each).sum(axis=1, keepdims=True) for each in (z, true))  # type: ignore[return-value]


def planted_classes(runs: int) -> Iterator[Case]:
    for kind in ("calibrated", "too sure", "shifted", "mixed"):
        for k, n in ((3, 300), (3, 2000), (10, 300), (10, 2000), (40, 2000)):
            for run in range(runs):
                rng = np.random.default_rng([run, n, k])
                (p, true), (new, chance) = (drawn_classes(rng, size, k, kind) for size in (n, 5000))
                y = np.minimum((rng.random((n, 1)) > true.cumsum(axis=1)).sum(axis=1), k - 1)
                yield Case("classes: planted", f"{kind}, {k} classes, {n:,}", run, p, y, new, chance)


def real_classes(folder: Path, runs: int) -> Iterator[Case]:
    import pandas as pd

    for path in sorted(folder.glob("*class.parquet")):
        table = pd.read_parquet(path)
        y = table.pop("y_true").to_numpy(int)
        p = table.to_numpy(float)
        p = p / p.sum(axis=1, keepdims=True)
        for n in (300, 1000, 5000):
            for run in range(runs):
                order = np.random.default_rng([run, n]).permutation(y.size)
                fit, new = order[:n], order[n : n + NEW]
                yield Case(
                    "classes: network", f"{path.stem}, {n:,}", run, p[fit], y[fit], p[new], np.eye(p.shape[1])[y[new]]
                )


def cases(folder: Path | None, runs: int) -> Iterator[Case]:
    yield from planted(runs)
    yield from learnt(runs)
    yield from learnt(runs, classes=True)
    yield from planted_classes(runs)
    if folder is not None:
        yield from real(folder, runs)
        yield from real_classes(folder, runs)


# Who is judged. A peer has its defaults.


def ours(classes: bool) -> dict[str, Fit]:
    from calibrant import recalibration as room

    def of(name: str) -> Fit:
        return lambda p, y, new: getattr(room, name)().fit(p, y).predict(new)

    def advised(p: Table, y: Table, new: Table) -> Table:
        found = room.choose_recalibrator(y, p).recalibrator
        return new if found is None else found.predict(new)

    averaged = of("AveragedClassScaling" if classes else "AveragedScaling")
    return {OURS: averaged, ADVISED: advised}


def two(p: Table) -> Table:
    return np.stack([1.0 - p, p], axis=1)


class Said:
    """A fitted classifier whose features are its probabilities, for libraries that ask for one."""

    def __init__(self, n_classes: int) -> None:
        self.classes_, self.n_features_in_ = np.arange(n_classes), n_classes
        self.is_fitted_ = True

    def fit(self, _x: Table, _y: Table) -> Said:
        return self

    def predict_proba(self, x: Table) -> Table:
        return x

    def predict(self, x: Table) -> Table:
        return x.argmax(axis=1)


def peers(classes: bool) -> dict[str, Fit]:
    import mapie.calibration
    import netcal.binning
    import netcal.scaling
    import probcal
    import probmetrics.calibrators as probmetrics
    from betacal import BetaCalibration
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.frozen import FrozenEstimator

    class Prefit(Said, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
        def __init__(self, n_classes: int = 2) -> None:
            Said.__init__(self, n_classes)
            self.n_classes = n_classes

    def table(p: Table) -> Table:
        return p if classes else two(p)

    def event(q: Table) -> Table:
        return q if classes else q[:, 1]

    def sklearn_map(method: str) -> Fit:
        def fit(p: Table, y: Table, new: Table) -> Table:
            x = table(p)
            made = CalibratedClassifierCV(FrozenEstimator(Prefit(x.shape[1])), method=method).fit(x, y)
            return event(made.predict_proba(table(new)))

        return fit

    def probmetrics_map(make: Callable[[], Any]) -> Fit:
        def fit(p: Table, y: Table, new: Table) -> Table:
            made = make()
            made.fit(table(p), y)
            return event(np.asarray(made.predict_proba(table(new)), float))

        return fit

    def netcal_map(kind: Any) -> Fit:
        def fit(p: Table, y: Table, new: Table) -> Table:
            made = kind()
            made.fit(p, y)
            return np.asarray(made.transform(new), float).reshape(new.shape)

        return fit

    def probcal_map(name: str) -> Fit:
        def fit(p: Table, y: Table, new: Table) -> Table:
            made = getattr(probcal, name)()
            made.fit(p, y)
            return np.asarray((made.predict if hasattr(made, "predict") else made.predict_proba)(new), float)

        return fit

    def mapie_venn_abers(p: Table, y: Table, new: Table) -> Table:
        x = table(p)
        made = mapie.calibration.VennAbersCalibrator(Prefit(x.shape[1]), cv="prefit").fit(x, y)
        return event(np.asarray(made.predict_proba(table(new)), float))

    def of(name: str, **options: Any) -> Fit:
        return probmetrics_map(lambda: probmetrics.get_calibrator(name, **options))

    if classes:
        return {
            "scikit-learn sigmoid": sklearn_map("sigmoid"),
            "scikit-learn isotonic": sklearn_map("isotonic"),
            "scikit-learn temperature": sklearn_map("temperature"),
            "probmetrics temperature": of("ts-mix"),
            "probmetrics SVS": of("svs"),
            "probmetrics SMS": of("sms"),
            "netcal temperature": netcal_map(netcal.scaling.TemperatureScaling),
        }
    return {
        "scikit-learn sigmoid": sklearn_map("sigmoid"),
        "scikit-learn isotonic": sklearn_map("isotonic"),
        "scikit-learn temperature": sklearn_map("temperature"),
        "betacal": lambda p, y, new: BetaCalibration().fit(p[:, None], y).predict(new[:, None]),
        "probcal spline": probcal_map("SplineCalibrator"),
        "probcal selector": probcal_map("CalibratorSelector"),
        "probcal Venn-Abers": probcal_map("VennAbersCalibrator"),
        "probcal centred isotonic": probcal_map("CenteredIsotonicCalibrator"),
        "probmetrics affine": of("affine-scaling"),
        "probmetrics quadratic": of("quadratic-scaling"),
        "probmetrics SMS": of("sms"),
        "probmetrics temperature": of("ts-mix"),
        "netcal logistic": netcal_map(netcal.scaling.LogisticCalibration),
        "netcal beta": netcal_map(netcal.scaling.BetaCalibration),
        "netcal BBQ": netcal_map(netcal.binning.BBQ),
        "MAPIE Venn-Abers": mapie_venn_abers,
    }


# How.

Key = tuple[str, str, int]


class Line(NamedTuple):
    """A run: its family, setting and number, and log loss, Brier score and seconds by map."""

    key: Key
    by: dict[str, list[float]]


def losses(q: Table, chance: Table) -> tuple[float, float]:
    """Mean log loss and Brier score (of classes half of it) of predictions q."""
    q = two(q) if q.ndim == 1 else q
    chance = two(chance) if chance.ndim == 1 else chance
    inner = np.clip(q, NEAREST, 1.0)
    log = float(-(chance * np.log(inner / inner.sum(axis=1, keepdims=True))).sum(axis=1).mean())
    return log, float(0.5 * (chance * (1.0 - 2.0 * q) + q**2).sum(axis=1).mean())


def judged(case: Case, fits: dict[str, Fit]) -> dict[str, list[float]]:
    """Log loss, Brier score and processor seconds of each map; NaN where one fails."""
    found = {}
    for name, fit in fits.items():
        start = time.process_time()
        try:
            q = np.asarray(fit(case.p, case.y, case.new), float)
        except Exception as error:
            print(f"{case.setting}, run {case.run}: {name} fails: {error!s:.100}", file=sys.stderr)
            q = np.full(case.new.shape, np.nan)
        taken = time.process_time() - start
        good = np.isfinite(q).all()
        found[name] = [*(losses(q, case.chance) if good else (float("nan"),) * 2), taken]
    return found


def child(folder: Path) -> None:
    """Judge the peers on every case of a folder, in an interpreter that has them."""
    warnings.simplefilter("ignore")
    both = {classes: peers(classes) for classes in (False, True)}
    for path in sorted(folder.glob("*.npz")):
        with np.load(path, allow_pickle=False) as file:
            case = Case("", path.stem, 0, *(file[name] for name in ("p", "y", "new", "chance")))
        with contextlib.redirect_stdout(io.StringIO()):  # some print as they fit
            found = judged(case, both[case.p.ndim == 2])
        print(json.dumps(found), flush=True)


def measured(python: str, folder: Path | None, runs: int, done: dict[Key, dict[str, list[float]]]) -> list[Line]:
    """Every run: who had which losses, by family and setting; peers that are `done` are not run again."""
    both = {classes: ours(classes) for classes in (False, True)}
    lines: list[Line] = []
    with tempfile.TemporaryDirectory() as temporary:
        command = [python, __file__, "--child", temporary]
        quiet = {**os.environ, "TQDM_DISABLE": "1"}
        subprocess.run(command, check=True, env=quiet)  # of no case: a peer that is not there is told of at once
        for number, case in enumerate(cases(folder, runs)):
            key = case.family, case.setting, case.run
            fits = {"unchanged": lambda *columns: columns[2], **both[case.p.ndim == 2]}
            lines.append(Line(key, judged(case, fits)))
            if key not in done:
                columns = {name: getattr(case, name) for name in ("p", "y", "new", "chance")}
                np.savez(f"{temporary}/{number:05}.npz", **columns)
        found = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=quiet).stdout.splitlines()
    theirs = iter(found)
    for line in lines:
        known = done[line.key] if line.key in done else json.loads(next(theirs))
        line.by.update({name: each for name, each in known.items() if name not in line.by})
    return lines


def read_runs(path: Path) -> dict[Key, dict[str, list[float]]]:
    """What a table of runs says of every map."""
    done: dict[Key, dict[str, list[float]]] = {}
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            by = done.setdefault((row["family"], row["setting"], int(row["run"])), {})
            for name in list(row)[4:]:
                if row[name]:
                    by.setdefault(name, []).append(float(row[name]) / (1e3 if row["of"] == "ms" else 1.0))
    return done


def write_runs(lines: list[Line], path: Path) -> None:
    """Every run: both losses of every map, and milliseconds."""
    names = list(dict.fromkeys(name for line in lines for name in line.by))
    with path.open("w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["family", "setting", "run", "of", *names])
        for line in lines:
            for which, of, unit, digits in ((0, "log_loss", 1.0, 5), (1, "brier_score", 1.0, 5), (2, "ms", 1e3, 1)):
                found = [f"{unit * line.by[name][which]:.{digits}f}" if name in line.by else "" for name in names]
                out.writerow([*line.key, of, *found])


class Cell(NamedTuple):
    """A setting: mean loss of each method over its runs."""

    family: str
    setting: str
    loss: dict[str, float]


def cells(lines: list[Line], which: int) -> list[Cell]:
    """Mean losses by setting; NaN of a map that failed in a run."""
    found = []
    for family, setting in dict.fromkeys(each.key[:2] for each in lines):
        some = [each.by for each in lines if each.key[:2] == (family, setting)]
        loss = {name: float(np.mean([run[name][which] for run in some])) for name in some[0]}
        found.append(Cell(family, setting, loss))
    return found


def ranks(loss: dict[str, float]) -> dict[str, float]:
    """1 for the least loss; equal ones share, and one that failed is last."""
    value = {name: each if np.isfinite(each) else np.inf for name, each in loss.items()}
    of = {}
    for name, each in value.items():
        less, same = (sum(f(other) for other in value.values()) for f in (each.__gt__, each.__eq__))
        of[name] = less + (same + 1) / 2.0
    return of


class Standing(NamedTuple):
    """How a map does over settings; losses in thousandths, the last three beside the unchanged or the best map."""

    rank: float
    mean: float
    worst: float
    regret: float
    where: str
    failed: int


def standings(some: list[Cell]) -> dict[str, Standing]:
    """Of every map, the best mean rank first."""
    rank = [ranks(each.loss) for each in some]
    found = {}
    for name in some[0].loss:
        more = np.array([each.loss[name] - each.loss["unchanged"] for each in some])
        regret = np.array([each.loss[name] - np.nanmin(list(each.loss.values())) for each in some])
        found[name] = Standing(
            float(np.mean([each[name] for each in rank])),
            1e3 * float(np.nanmean(more)),
            1e3 * float(np.nanmax(more)),
            1e3 * float(np.nanmax(regret)),
            some[int(np.nanargmax(more))].setting,
            int(np.isnan(more).sum()),
        )
    return dict(sorted(found.items(), key=lambda each: each[1].rank))


def summary(some: list[Cell]) -> list[str]:
    """The rows of a table."""
    return [
        f"| {name} | {each.rank:.2f} | {each.mean:+.2f} | {each.worst:+.2f} | "
        f"{each.where if each.worst >= 0.005 else ''} | {each.regret:.2f} | {each.failed or ''} |"
        for name, each in standings(some).items()
    ]


def finding(some: list[Cell]) -> str:
    """Who is first in what, of the maps that always move predictions, beside ours."""
    of = {name: each for name, each in standings(some).items() if name not in ("unchanged", ADVISED)}
    said = []
    for field in ("rank", "mean", "worst", "regret"):
        value = {name: float(getattr(each, field)) for name, each in of.items()}
        first, second = sorted(value, key=value.__getitem__)[:2]
        other = f"next {second} {value[second]:.2f}" if first == OURS else f"{OURS} {value[OURS]:.2f}"
        said.append(f"{first} {value[first]:.2f} ({other})")
    return " | ".join(said)


HEAD = """| map | mean rank | mean | worst | where | most above the best | failed |
| --- | ---: | ---: | ---: | --- | ---: | ---: |"""


def page(lines: list[Line], note: str) -> str:
    parts: list[str] = []
    first: list[str] = []
    for which, loss in ((0, "log loss"), (1, "Brier score")):
        all_cells = cells(lines, which)
        for title, chosen in (
            ("One probability", [each for each in all_cells if not each.family.startswith("classes")]),
            ("Several classes", [each for each in all_cells if each.family.startswith("classes")]),
        ):
            if not chosen:
                continue
            first.append(f"| {title}, {loss} | {finding(chosen)} |")
            parts.append(f"## {title}: {loss}, {len(chosen)} settings\n\n{HEAD}\n" + "\n".join(summary(chosen)))
            for family in dict.fromkeys(each.family for each in chosen):
                of = [each for each in chosen if each.family == family]
                parts.append(
                    f"### {family.capitalize()}: {loss}, {len(of)} settings\n\n{HEAD}\n" + "\n".join(summary(of))
                )
    seconds = []
    for classes in (False, True):
        some = [each.by for each in lines if each.key[0].startswith("classes") is classes]
        for name in some[0] if some else ():
            taken = np.median([run[name][2] for run in some])
            seconds.append(f"| {'classes' if classes else 'one probability'} | {name} | {1e3 * taken:.1f} |")
    parts.append(
        "## Median processor milliseconds to fit and predict\n\n| of | map | ms |\n| --- | --- | ---: |\n"
        + "\n".join(seconds)
    )
    runs = max(each.key[2] for each in lines) + 1
    found = "\n".join(first)
    return INTRODUCTION.format(note=note, nearest=NEAREST, new=NEW, runs=runs, found=found) + "\n\n".join(parts) + "\n"


INTRODUCTION = """# Maps, beside other libraries

First by each criterion, of maps that always move predictions; the criteria are explained below.

| of, by | mean rank | mean | worst | most above the best |
| --- | --- | --- | --- | --- |
{found}

Each map is fitted to the same rows and judged on others by two proper scores. CalArena does so (Berta, Holzmüller, Bach
and Jordan 2026, arXiv 2605.30188). Peers have their defaults:
{note}

Losses are means over the {runs} runs of a setting; differences are in thousandths. *Mean rank*: by loss within each
setting, 1 is best. *Mean*: the loss less that of the unchanged predictions, over settings. *Worst*: the largest such
difference in a setting, and where. *Most above the best*: the largest loss above the best map of a setting. *Failed*:
settings in which a map raised an error. Scored predictions stay {nearest:g} away from 0 and 1, so that a certain and
wrong prediction costs 27.6 nats. *Where advised* is `choose_recalibrator`: the map if it advises one, and else the
predictions as they are.

Settings: [planted shapes](reproductions/gain-coverage.md) of 100, 500 and 2,000 rows, and rare ones of 1,000 and 5,000.
Their losses are expected, on {new:,} new predictions. Tables of scikit-learn: a third each for a learner, the maps and
the losses. Networks' confidence, and whether the top label is right, by 500, 1,500 and 5,000 rows. Of classes planted
shapes, ten tables (*made* and *blobs* are drawn, *in thirds* and the like are a number in parts) and a network
likewise. Written by benchmarks/maps.py, with [every run](benchmarks-maps.csv).

"""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--peers", default=sys.executable)
    options.add_argument("--data", type=Path)
    options.add_argument("--runs", type=int, default=4)
    options.add_argument("--done", type=Path)
    options.add_argument("--write", action="store_true")
    options.add_argument("--child", type=Path)
    given = options.parse_args()
    if given.child:
        child(given.child)
        return
    warnings.simplefilter("ignore")
    done = read_runs(given.done) if given.done else {}
    lines = measured(given.peers, given.data, given.runs, done)
    names = ("scikit-learn", "betacal", "probcal", "probmetrics", "netcal", "MAPIE")
    code = f"from importlib.metadata import version; print(', '.join(n + ' ' + version(n) for n in {names!r}))"
    theirs = subprocess.run([given.peers, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    with tempfile.TemporaryDirectory() as folder:
        runs = RUNS if given.write else Path(folder) / RUNS.name
        write_runs(lines, runs)
        text = page([Line(*each) for each in read_runs(runs).items()], f"{theirs}.")
    if given.write:
        PAGE.write_text(text)
    else:
        print(text)


if __name__ == "__main__":
    main()
