"""`SegmentRecalibrator` beside MCGrad and Platt scaling, on held-out rows of real and generated tables."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, logit
from sklearn.datasets import load_breast_cancer
from sklearn.naive_bayes import GaussianNB

from calibrant.door.columns import FloatArray, IntArray
from calibrant.recalibration.by_segment.estimator import SegmentRecalibrator
from calibrant.recalibration.by_segment.table import Cut, blocks_of, crossing
from calibrant.recalibration.scaling import PlattScaling
from calibrant_papers.registry import Reproduction, table

_CLIP = 1e-12
_LEAST = 50  # rows of a segment that counts
_CELLS = 5  # of a number, in the multicalibration error
_RUNS = {True: 20, False: 10}  # of a real table, and of one that is drawn
_RIVALS = ("Platt", "MCGrad")
_REAL = ("breast_cancer", "fair", "anes96")


class Part(NamedTuple):
    """Some rows: predictions, features by name (texts or numbers), outcomes, and true probabilities where known."""

    prediction: FloatArray
    features: dict[str, Any]
    outcome: IntArray
    true: FloatArray | None = None


class Score(NamedTuple):
    """How a method did on held-out rows."""

    brier: float
    log: float
    multicalibration: float
    excess: float
    fit: float
    predict: float
    said: str


def segment_repair(quick: bool = False, _data: Path | None = None) -> Reproduction:
    """Brier and log score, multicalibration error and times on held-out rows, every run."""
    tables = {name: draw for name, draw in _TABLES.items() if not quick or name == "calibrated"}
    missing = [name for name in ("mcgrad", "statsmodels") if find_spec(name) is None]
    if "statsmodels" in missing:
        tables = {name: draw for name, draw in tables.items() if name not in _REAL[1:]}
    parts: list[str] = []
    lost: list[str] = []
    won: list[str] = []
    for name, draw in tables.items():
        runs = 1 if quick else _RUNS[name in _REAL]
        found = [_run(*draw(np.random.default_rng([run, 21]), quick)) for run in range(runs)]
        parts.append(_section(name, found))
        for rival in _RIVALS:
            if rival in found[0]:
                gain = np.array([each[rival].log - each["ours"].log for each in found])
                error = _standard_error(gain)
                if abs(gain.mean()) > 2.0 * error:
                    (won if gain.mean() > 0.0 else lost).append(f"{rival} on {name}")
    parts.append(_calibrated_tables(quick))
    body = _INTRODUCTION.format(real=_RUNS[True], drawn=_RUNS[False], cells=_CELLS, least=_LEAST)
    if missing:
        body += f"\nNot installed here, and left out: {', '.join(missing)}.\n"
    body += "\n" + "\n".join(parts)
    finding = (
        "The log score differs by more than two standard errors only here. "
        f"{_told('lower', won)} {_told('higher', lost)}"
    )
    return Reproduction("Repair by segment, beside MCGrad and Platt scaling", finding, body)


def _told(which: str, where: list[str]) -> str:
    """One sentence for each rival."""
    of = {rival: [each.removeprefix(f"{rival} on ") for each in where if each.startswith(rival)] for rival in _RIVALS}
    said = [f"It is {which} than {rival}'s on {', '.join(some)}." for rival, some in of.items() if some]
    return " ".join(said) or f"It is {which} than nobody's."


_INTRODUCTION = """Real tables have {real} runs, each of which splits the rows at random in three. Naive Bayes is \
fitted to the first part, repairs to its predictions for the second, and all is measured on the third. Generated \
tables have {drawn} runs, each with 20,000 new rows \
to fit and 20,000 held out, and given predictions. `ours` is `SegmentRecalibrator()`; `segments` and `boosting` are what \
it does with that `method`, without a comparison; MCGrad 0.1.5 has its defaults. Predictions are kept {clip} away from 0 and 1.

Log score: minus that of the unchanged predictions, in thousandths, with the standard error of the mean difference \
between runs. Of real tables it is over splits of the same rows, which are not independent. Multicalibration error: \
the largest range of cumulative \
differences over its standard deviation, times that deviation of all rows. It is over all rows, features and pairs \
(numbers in {cells} quantile cells, at least {least} rows, as MCGrad defines it). Calibrated predictions also have \
one, by chance. Excess: log score minus \
that of the true probabilities, in thousandths. Seconds are processor seconds of a run, on a machine with other work to do.
""".replace("{clip}", "1e-12")


def _run(fit: Part, test: Part) -> dict[str, Score]:
    """Every method on the same rows."""
    able = (name for name in METHODS if name != "MCGrad" or find_spec("mcgrad") is not None)
    return {name: _measured(METHODS[name], fit, test) for name in able}


def _measured(method: Method, fit: Part, test: Part) -> Score:
    """A method fitted to some rows and measured on others."""
    start = time.process_time()
    predict, said = method(fit)
    middle = time.process_time()
    event = np.clip(predict(test), _CLIP, 1.0 - _CLIP)
    end = time.process_time()
    y, excess = test.outcome, np.nan
    log = float(-np.mean(np.where(y == 1, np.log(event), np.log1p(-event))))
    if test.true is not None:
        true = np.clip(test.true, _CLIP, 1.0 - _CLIP)
        lost = true * np.log(true / event) + (1.0 - true) * np.log((1.0 - true) / (1.0 - event))
        excess = float(np.mean(lost))
    error = multicalibration_error(y, event, test.features)
    return Score(float(np.mean((event - y) ** 2)), log, error, excess, middle - start, end - middle, said)


Predict = Callable[[Part], FloatArray]
Method = Callable[[Part], tuple[Predict, str]]


def _unchanged(_fit: Part) -> tuple[Predict, str]:
    return lambda part: part.prediction, ""


def _platt(fit: Part) -> tuple[Predict, str]:
    found = PlattScaling().fit(fit.prediction, fit.outcome)
    return lambda part: found.predict(part.prediction), ""


def _ours(method: Any) -> Method:
    def run(fit: Part) -> tuple[Predict, str]:
        found = SegmentRecalibrator(method=method).fit(_frame(fit), fit.outcome)
        return lambda part: found.predict_proba(_frame(part))[:, 1], found.chosen_

    return run


def _mcgrad(fit: Part) -> tuple[Predict, str]:
    frame = import_module("pandas").DataFrame
    kinds = {name: np.asarray(values).dtype.kind in "fi" for name, values in fit.features.items()}
    named = {
        "prediction_column_name": "y_prob",
        "categorical_feature_column_names": [name for name, number in kinds.items() if not number],
        "numerical_feature_column_names": [name for name, number in kinds.items() if number],
    }
    found = import_module("mcgrad.methods").MCGrad()
    held = {"y_prob": fit.prediction, **fit.features, "label": fit.outcome}
    found.fit(df_train=frame(held), label_column_name="label", **named)
    return lambda part: found.predict(df=frame({"y_prob": part.prediction, **part.features}), **named), ""


METHODS: dict[str, Method] = {
    "unchanged": _unchanged,
    "Platt": _platt,
    "MCGrad": _mcgrad,
    "ours": _ours("auto"),
    "segments": _ours("segments"),
    "boosting": _ours("boosting"),
}


def _frame(part: Part) -> Any:
    return import_module("pyarrow").table({"y_prob": part.prediction, **part.features})


def multicalibration_error(outcome: IntArray, prediction: FloatArray, features: dict[str, Any]) -> float:
    """Largest studentised range of cumulative differences of a segment, in units of probability of all rows."""
    order = np.argsort(prediction, kind="stable")
    difference, variance = (outcome - prediction)[order], (prediction * (1.0 - prediction))[order]
    values = [np.asarray(each)[order] for each in features.values()]
    values = [each.astype(np.float64 if each.dtype.kind in "fi" else object) for each in values]
    cuts = [Cut.fitted(name, each, _CELLS) for name, each in zip(features, values, strict=True)]
    cells = [cut.cells(each) for cut, each in zip(cuts, values, strict=True)]
    whole = float(np.sqrt(variance.sum()))
    worst = _largest(np.zeros(difference.size, dtype=np.int64), 1, difference, variance)
    for depth in (1, 2):
        for block in [(at,) for at in range(len(cuts))] if depth == 1 else blocks_of(len(cuts), 2):
            worst = max(worst, _largest(*crossing(cells, cuts, block), difference, variance))
    return worst * whole / difference.size


def _largest(cell: IntArray, size: int, difference: FloatArray, variance: FloatArray) -> float:
    """Largest range of a cell's cumulative differences over its standard deviation."""
    order = np.argsort(cell, kind="stable")
    rows = np.bincount(cell, minlength=size)
    start = np.concatenate([[0], rows.cumsum()[:-1]])[rows > 0]
    total = difference[order].cumsum()
    before = np.concatenate([[0.0], total])[start]
    top = np.maximum(np.maximum.reduceat(total, start) - before, 0.0)
    low = np.minimum(np.minimum.reduceat(total, start) - before, 0.0)
    spread = np.sqrt(np.add.reduceat(variance[order], start))
    held = (rows[rows > 0] >= _LEAST) & (spread >= 1.0)
    return float(((top - low)[held] / spread[held]).max(initial=0.0))


def _section(name: str, runs: list[dict[str, Score]]) -> str:
    rows = []
    for method in runs[0]:
        scores = [each[method] for each in runs]
        gain = 1000.0 * np.array([each[method].log - each["unchanged"].log for each in runs])
        error = np.array([score.multicalibration for score in scores])
        shown = [
            f"{np.mean([score.brier for score in scores]):.4f}",
            f"{np.mean([score.log for score in scores]):.4f}",
            f"{gain.mean():+.2f} ({_standard_error(gain):.2f})",
            f"{error.mean():.4f} ({_standard_error(error):.4f})",
        ]
        if scores[0].excess == scores[0].excess:
            shown.append(f"{1000.0 * np.mean([score.excess for score in scores]):.2f}")
        shown += [f"{np.mean([getattr(score, which) for score in scores]):.3f}" for which in ("fit", "predict")]
        rows.append([method, *shown])
    head = ["method", "Brier", "log score", "less unchanged's, x 1000", "multicalibration error"]
    head += ["excess, x 1000"] if len(rows[0]) == 8 else []
    chosen = Counter(each["ours"].said for each in runs)
    said = ", ".join(f"{which} {times}" for which, times in chosen.most_common())
    each_run = [
        [str(at), *(f"{score.log:.4f}" for score in each.values()), each["ours"].said] for at, each in enumerate(runs)
    ]
    return (
        f"## {_TITLES[name]}\n\n"
        + table([*head, "fit, s", "predict, s"], rows)
        + f"\nOurs chose: {said}. Log score of every run:\n\n"
        + table(["run", *runs[0], "chosen"], each_run)
    )


def _calibrated_tables(quick: bool) -> str:
    """How often calibrated predictions are changed."""
    rows = []
    for n in (300,) if quick else (500, 2000):
        chosen: Counter[str] = Counter()
        runs = 2 if quick else 100
        for run in range(runs):
            part = drawn("none", np.random.default_rng([run, n]), n)
            found = SegmentRecalibrator().fit(_frame(part), part.outcome)
            chosen[found.chosen_] += 1
        rows.append([f"{n:,}", runs, *(chosen[each] for each in ("unchanged", "global", "segments", "boosting"))])
    head = ["rows", "tables", "unchanged", "global", "segments", "boosting"]
    return "## How often calibrated predictions are changed\n\n" + table(head, rows)


def _standard_error(values: FloatArray) -> float:
    return float(values.std(ddof=1) / np.sqrt(values.size)) if values.size > 1 else 0.0


Draw = Callable[[np.random.Generator, bool], tuple[Part, Part]]


def _thirds(features: dict[str, FloatArray], outcome: IntArray, rng: np.random.Generator) -> tuple[Part, Part]:
    """Naive Bayes fitted to a third of the rows; the other two thirds with its predictions."""
    seen, repaired, held = np.array_split(rng.permutation(outcome.size), 3)
    everything = np.column_stack(list(features.values()))
    model = GaussianNB().fit(everything[seen], outcome[seen])

    def part(at: IntArray) -> Part:
        event = model.predict_proba(everything[at])[:, 1]
        return Part(event, {name: column[at] for name, column in features.items()}, outcome[at])

    return part(repaired), part(held)


def _breast_cancer(rng: np.random.Generator, _quick: bool) -> tuple[Part, Part]:
    read = load_breast_cancer()
    columns = {str(name): read.data[:, at] for at, name in enumerate(read.feature_names)}
    return _thirds(columns, read.target, rng)


def _of_statsmodels(name: str, outcome: str, without: tuple[str, ...], above: float) -> Draw:
    def draw(rng: np.random.Generator, _quick: bool) -> tuple[Part, Part]:
        frame = getattr(import_module("statsmodels.datasets"), name).load_pandas().data
        columns = {each: frame[each].to_numpy(float) for each in frame.columns if each not in (outcome, *without)}
        return _thirds(columns, (frame[outcome].to_numpy() > above).astype(np.int64), rng)

    return draw


def _generated(kind: str) -> Draw:
    def draw(rng: np.random.Generator, quick: bool) -> tuple[Part, Part]:
        n = 500 if quick else 20_000
        return drawn(kind, rng, n), drawn(kind, rng, n)

    return draw


def drawn(kind: str, rng: np.random.Generator, n: int) -> Part:
    """Predictions that are right, except for 1.35 times the risk in one pair's cell, or a drift with age."""
    features: dict[str, Any] = {
        "country": rng.choice(["de", "fr", "jp"], n),
        "device": rng.choice(["desktop", "phone", "tablet", "tv", "watch", "other"], n),
        "plan": rng.choice(["free", "paid"], n),
        "age": rng.normal(45.0, 15.0, n),
        "income": rng.lognormal(0.0, 1.0, n),
        "visits": rng.poisson(3.0, n),
    }
    prediction = expit(-1.5 + 0.8 * rng.normal(size=n) + 0.2 * np.log(features["income"]))
    true = prediction
    if kind == "pair":
        hit = (features["country"] == "jp") & (features["device"] == "tablet")
        true = np.where(hit, np.minimum(1.35 * prediction, 1.0), prediction)
    if kind == "drift":
        true = expit(logit(prediction) + 0.3 * np.sin((features["age"] - 45.0) / 15.0))
    return Part(prediction, features, (rng.random(n) < true).astype(np.int64), true)


_TABLES: dict[str, Draw] = {
    "breast_cancer": _breast_cancer,
    "fair": _of_statsmodels("fair", "affairs", (), 0.0),
    "anes96": _of_statsmodels("anes96", "vote", ("logpopul",), 0.5),
    "fault in a pair": _generated("pair"),
    "drift": _generated("drift"),
    "calibrated": _generated("none"),
}
_TITLES = {
    "breast_cancer": "breast_cancer (scikit-learn): 569 rows, 30 features",
    "fair": "fair (statsmodels): 6,366 rows, 8 features",
    "anes96": "anes96 (statsmodels): 944 rows, 9 features",
    "fault in a pair": "Generated: 1.35 times the risk where country = jp and device = tablet, 1 row in 18",
    "drift": "Generated: log-odds drift by 0.3 sin((age - 45) / 15)",
    "calibrated": "Generated: calibrated, nothing to repair",
}
