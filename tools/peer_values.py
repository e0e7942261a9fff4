"""Ask the peers again for the values that tests/peers holds and that their own suites do not print.

``python tools/peer_values.py`` in an environment that has them (``pip install torchmetrics netcal relplot betacal
model-diagnostics scores mcgrad mapie scikit-learn uncertainty-calibration dcurves scikit-survival lifelines
SurvivalEVAL``; R with ``rms``, ``reliabilitydiag``, ``survival`` and ``riskRegression`` for those four) rewrites the
part "recorded" of each file, with the versions that answered; a peer that is not installed keeps what its file has. It
runs no code of ours: what the values are held against is in tests/peers/ours.py.
"""

from __future__ import annotations

import importlib.metadata
import json
import subprocess
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).resolve().parent.parent / "tests" / "peers"
GOLDEN = 0.6180339887498949
Case = tuple[str, str, str, dict[str, Any], Any, float]
"""What was called, what of ours it is held against, table, our options, value, tolerance."""


def tables() -> dict[str, dict[str, list[Any]]]:
    """Rows by formula, of four digits, so that every program reads the same numbers."""
    i = np.arange(200)
    spread = np.round(((i * 7919) % 200 + 0.37) / 200, 4)
    tied = (i % 21) / 20
    few = (1 + 2 * (i % 5)) / 10
    rare = np.round(10.0 ** -(1.0 + 2.0 * ((i * GOLDEN) % 1.0)), 5)
    coin = (i * np.sqrt(2.0)) % 1.0
    weight = 1 + i % 4
    class_weights = np.stack([1 + (i * k) % 17 for k in (3, 7, 11)], axis=1)[:120]
    table = np.round(class_weights / class_weights.sum(axis=1, keepdims=True), 4)
    table[:, 2] = np.round(1.0 - table[:, 0] - table[:, 1], 4)
    label = (coin[:120, None] > table.cumsum(axis=1)).sum(axis=1)

    followed = {"time": np.round(0.05 + 4.0 * ((i * GOLDEN) % 1.0), 4), "event": (coin < 0.6).astype(int)}

    def rows(y_prob: np.ndarray, chance: np.ndarray) -> dict[str, list[Any]]:
        return {"y_true": (coin < chance).astype(int).tolist(), "y_prob": y_prob.tolist()}

    return {
        "outside [0, 1]": {"y_true": [0, 1, 1], "y_prob": [0.2, 0.7, 1.2]},
        "negative weight": {"y_true": [0, 1, 1], "y_prob": [0.2, 0.7, 0.9], "sample_weight": [2, 2, -1]},
        "spread": rows(spread, spread**1.4),
        "tied": rows(tied, tied**0.8),
        "rare": rows(rare, 3.0 * rare),
        "few values": rows(few, few**1.8),
        "weighted": rows(spread, spread**1.4) | {"sample_weight": weight.tolist()},
        "followed": {name: column.tolist() for name, column in {**followed, "y_prob": spread}.items()},
        "classes": {"y_true": label.tolist(), "y_prob": table.tolist()},
    }


def columns(name: str) -> tuple[np.ndarray, np.ndarray]:
    table = tables()[name]
    return np.array(table["y_true"]), np.array(table["y_prob"])


def torchmetrics() -> Iterator[Case]:
    import torch
    from torchmetrics.functional.classification import binary_calibration_error, multiclass_calibration_error

    for name, n_bins in (("spread", 10), ("spread", 15), ("spread", 20), ("tied", 10)):
        y, v = map(torch.tensor, columns(name))
        for norm in ("l1", "l2", "max"):
            value = binary_calibration_error(v, y, n_bins=n_bins, norm=norm).item()
            yield "binary_calibration_error", "binned error", name, {"n_bins": n_bins, "norm": norm}, value, 1e-6
    y, v = map(torch.tensor, columns("classes"))
    for n_bins in (15, 20):
        for norm in ("l1", "l2", "max"):
            value = multiclass_calibration_error(v, y, num_classes=3, n_bins=n_bins, norm=norm).item()
            options = {"n_bins": n_bins, "norm": norm}
            yield "multiclass_calibration_error", "binned error, top label", "classes", options, value, 1e-6


def netcal() -> Iterator[Case]:
    from netcal.metrics import ECE, MCE, MMCE

    for name, n_bins in (("spread", 10), ("spread", 15), ("spread", 20), ("tied", 10)):
        y, v = columns(name)
        for measure, norm in ((ECE, "l1"), (MCE, "max")):
            options = {"n_bins": n_bins, "norm": norm}
            yield measure.__name__, "binned error", name, options, float(measure(n_bins).measure(v, y)), 1e-12
    y, v = columns("classes")
    for n_bins in (15, 20):
        options = {"n_bins": n_bins}
        yield "ECE", "binned error, top label", "classes", options, float(ECE(n_bins).measure(v, y)), 1e-12
    yield "MMCE", "kernel error, top label", "classes", {"bandwidth": 0.4}, float(MMCE().measure(v, y)), 1e-12
    y, v = columns("spread")
    yield "MMCE, one column", "kernel error", "spread", {"bandwidth": 0.4}, float(MMCE().measure(v, y)), 1e-12


def relplot() -> Iterator[Case]:
    import relplot

    for name in ("spread", "tied", "rare"):
        y, v = columns(name)
        for sigma in (0.03, 0.1, 0.3):
            value = float(relplot.smECE_sigma(v, y, sigma=sigma))
            yield "smECE_sigma", "convolved error", name, {"bandwidth": sigma}, value, 1e-3
        yield "smECE", "convolved error", name, {}, float(relplot.smECE(v, y)), 1e-3
    y, v = columns("outside [0, 1]")
    yield "smECE", "convolved error", "outside [0, 1]", {}, float(relplot.smECE(v, y)), 1e-3
    y, v = columns("spread")
    for n_bins in (10, 16):
        value = float(relplot.metrics.binnedECE(v, y, nbins=n_bins))
        yield "binnedECE", "binned error", "spread", {"n_bins": n_bins}, value, 1e-12


def betacal() -> Iterator[Case]:
    from betacal import BetaCalibration

    ours = {"abm": "beta scaling", "am": "Platt scaling", "a": "temperature scaling"}
    at = [round(k / 20, 2) for k in range(1, 20)]
    for name in ("spread", "rare", "weighted"):
        y, v = columns(name)
        weight = tables()[name].get("sample_weight")
        for parameters, call in ours.items():
            fitted = BetaCalibration(parameters).fit(v, y, weight).predict(np.array(at))
            yield f"BetaCalibration({parameters!r})", call, name, {"at": at}, fitted.tolist(), 2e-4


def model_diagnostics() -> Iterator[Case]:
    from model_diagnostics.calibration import compute_bias
    from model_diagnostics.scoring import LogLoss, SquaredError, decompose

    parts = ("miscalibration", "discrimination", "uncertainty")
    for name in ("spread", "tied", "rare", "weighted"):
        y, v = columns(name)
        weight = tables()[name].get("sample_weight")
        for score, loss in (("brier", SquaredError()), ("log", LogLoss())):
            found = decompose(y_obs=y, y_pred=v, weights=weight, scoring_function=loss)
            for part in parts:
                yield f"decompose, {part}", part, name, {"score": score}, float(found[part][0]), 1e-12
    for name in ("spread", "tied", "rare", "weighted", "negative weight"):
        y, v = columns(name)
        bias = float(compute_bias(y_obs=y, y_pred=v, weights=tables()[name].get("sample_weight"))["bias_mean"][0])
        yield "compute_bias", "mean prediction less base rate", name, {}, bias, 1e-12


def scores() -> Iterator[Case]:
    import xarray as xr
    from scores.probability import brier_score
    from scores.processing import isotonic_fit

    for name in ("spread", "tied", "rare"):
        y, v = columns(name)
        yield "brier_score", "mean score", name, {}, float(brier_score(xr.DataArray(v), xr.DataArray(y))), 1e-12
        fitted = isotonic_fit(v, y, functional="mean")["regression_values"]
        yield "isotonic_fit", "isotonic rates", name, {}, np.asarray(fitted).tolist(), 1e-12


def mcgrad() -> Iterator[Case]:
    from mcgrad import metrics

    for name in ("spread", "rare"):
        y, v = columns(name)
        yield "ecce", "Kuiper, largest mean error", name, {}, float(metrics.ecce(y, v)), 1e-6
        yield "ecce_sigma", "Kuiper", name, {}, float(metrics.ecce_sigma(y, v)), 1e-6
        yield "ecce_pvalue", "Kuiper p", name, {}, float(metrics.ecce_pvalue(y, v)), 1e-6
    for name in ("spread", "weighted"):
        y, v = columns(name)
        weight = np.array(tables()[name].get("sample_weight", np.ones(y.size)))
        for n_bins in (10, 16):
            value = float(metrics.expected_calibration_error(y, v, weight, num_bins=n_bins))
            yield "expected_calibration_error", "binned error", name, {"n_bins": n_bins}, value, 1e-6
    y, v = columns("spread")
    for n_bins in (10, 20):
        options = {"n_bins": n_bins, "strategy": "quantile"}
        value = float(metrics.adaptive_calibration_error(y, v, num_bins=n_bins))
        yield "adaptive_calibration_error", "binned error", "spread", options, value, 1e-6


def mapie() -> Iterator[Case]:
    from mapie.metrics import calibration as peer

    for name in ("spread", "tied", "rare"):
        y, v = columns(name)
        for n_bins in (10, 20):
            # Their edges are numpy.linspace(0, 1, num_bins), which is one bin fewer.
            value = peer.expected_calibration_error(y, v, num_bins=n_bins + 1, split_strategy="uniform")
            call = f"expected_calibration_error, num_bins={n_bins + 1}"
            yield call, "binned error", name, {"n_bins": n_bins}, value, 1e-12
        yield "spiegelhalter_statistic", "Spiegelhalter", name, {}, float(peer.spiegelhalter_statistic(y, v)), 1e-9
        # Noise of about 1e-8 is added to the predictions first.
        yield "kuiper_statistic", "Kuiper", name, {}, float(peer.kuiper_statistic(y, v)), 1e-5
        value = float(peer.kolmogorov_smirnov_statistic(y, v))
        yield "kolmogorov_smirnov_statistic", "Kolmogorov-Smirnov", name, {}, value, 1e-5


def scikit_learn() -> Iterator[Case]:
    from sklearn.calibration import _SigmoidCalibration, calibration_curve
    from sklearn.isotonic import IsotonicRegression
    from sklearn.metrics import brier_score_loss, log_loss

    for name, n_bins in (("spread", 10), ("spread", 15), ("tied", 10)):
        y, v = columns(name)
        rate, mean = calibration_curve(y, v, n_bins=n_bins)
        yield "calibration_curve", "bins: mean outcome", name, {"n_bins": n_bins}, rate.tolist(), 1e-12
        yield "calibration_curve", "bins: mean prediction", name, {"n_bins": n_bins}, mean.tolist(), 1e-12
    y, v = columns("spread")
    for n_bins in (10, 20):
        options = {"n_bins": n_bins, "strategy": "quantile"}
        rate, _ = calibration_curve(y, v, n_bins=n_bins, strategy="quantile")
        yield "calibration_curve", "bins: mean outcome", "spread", options, rate.tolist(), 1e-12
    at = [round(k / 20, 2) for k in range(1, 20)]
    for name in ("spread", "tied", "rare", "weighted"):
        y, v = columns(name)
        weight = tables()[name].get("sample_weight")
        yield "brier_score_loss", "mean score", name, {}, float(brier_score_loss(y, v, sample_weight=weight)), 1e-12
        value = float(log_loss(y, v, sample_weight=weight))
        yield "log_loss", "mean score", name, {"score": "log"}, value, 1e-12
        fitted = IsotonicRegression(out_of_bounds="clip").fit(v, y, sample_weight=weight).predict(at)
        yield "IsotonicRegression", "isotonic scaling", name, {"at": at}, fitted.tolist(), 1e-12
    for name in ("spread", "rare"):
        y, v = columns(name)
        fitted = _SigmoidCalibration().fit(np.log(v / (1 - v)), y).predict(np.log(np.divide(at, np.subtract(1, at))))
        yield "_SigmoidCalibration, of log-odds", "Platt scaling", name, {"at": at}, fitted.tolist(), 1e-4


def uncertainty_calibration() -> Iterator[Case]:
    import calibration as peer

    for name in ("tied", "few values"):
        y, v = columns(name)
        for debias in (False, True):
            value = float(peer.get_calibration_error(v, y, p=2, debias=debias))
            source, options = f"get_calibration_error, debias={debias}", {"debiased": debias}
            yield source, "root of squared error", name, options, value, 1e-12
        value = float(peer.get_calibration_error(v, y, p=1, debias=False))
        yield "get_calibration_error, p=1", "binned error", name, {"strategy": "exact"}, value, 1e-12
    y, v = columns("classes")
    yield "get_ece", "binned error, top label", "classes", {"n_bins": 15}, float(peer.get_ece(v, y, num_bins=15)), 1e-12


def in_r(script: str, name: str) -> list[float]:
    """Numbers that an R script prints, one per line, of the columns y and v, or time, event and v."""
    short = {"y_true": "y", "y_prob": "v"}
    given = (f"{short.get(each, each)} <- c({', '.join(map(repr, column))})" for each, column in tables()[name].items())
    program = "\n".join([*given, script])
    done = subprocess.run(["Rscript", "-e", program], capture_output=True, text=True, check=False)
    if done.returncode:
        raise ModuleNotFoundError(done.stderr)
    return [float(line) for line in done.stdout.split()]


def rms() -> Iterator[Case]:
    script = """suppressMessages(library(rms))
    found <- val.prob(v, y, pl=FALSE)
    said <- function(values) cat(format(values, digits=15), "\\n")
    for (part in c("Intercept", "Slope", "Brier", "S:z", "S:p", "Emax", "E90", "Eavg", "C (ROC)")) said(found[[part]])
    x <- qlogis(v)
    exact <- glm.control(epsilon=1e-14, maxit=200)
    slope <- function(b) glm(y ~ offset(b * x), family=binomial, control=exact)$deviance
    intercept <- function(a) glm(y ~ 0 + x + offset(rep(a, length(x))), family=binomial, control=exact)$deviance
    joint <- coef(glm(y ~ x, family=binomial, control=exact))
    only <- coef(glm(y ~ offset(x), family=binomial, control=exact))
    for (each in list(list(intercept, joint[[1]]), list(slope, joint[[2]]))) {
      above <- function(t) each[[1]](t) - each[[1]](each[[2]]) - qchisq(0.95, 1)
      for (far in each[[2]] + c(-9, 9)) said(uniroot(above, sort(c(far, each[[2]])), tol=1e-12)$root)
    }
    said(only[[1]])
    said(lowess(v, y, iter=0)$y)"""
    ours = ("Cox intercept", "Cox slope", "mean score", "Spiegelhalter", "Spiegelhalter p", "Emax", "E90", "ICI")
    for name in ("spread", "rare"):
        values = in_r(script, name)
        for call, value in zip((*ours, "C-statistic"), values, strict=False):
            yield "val.prob", call, name, {}, value, 1e-6
        values = values[9:]
        for call in ("intercept", "slope"):
            yield "uniroot on glm's deviance", f"interval of {call}", name, {}, values[:2], 1e-6
            values = values[2:]
        yield "glm, offset", "in the large", name, {}, values[0], 1e-6
        yield "lowess(iter=0)", "lowess at rows", name, {}, values[1:], 1e-8


def stats() -> Iterator[Case]:
    """The textbooks' Hosmer and Lemeshow as R's functions make it: quantile, cut, tapply, pchisq."""
    script = """k <- cut(v, breaks=unique(quantile(v, probs=seq(0, 1, 1 / G))), include.lowest=TRUE)
    part <- function(values) tapply(values, k, sum)[table(k) > 0]
    excess <- (part(y) - part(v))^2
    found <- sum(excess / part(v)) + sum(excess / (part(0 * v + 1) - part(v)))
    cat(format(c(found, pchisq(found, G - 2, lower.tail=FALSE)), digits=15), sep="\\n")"""
    for name in ("spread", "rare", "few values"):
        for groups in (5, 10):
            values = in_r(script.replace("G", str(groups)), name)
            for call, value in zip(("Hosmer-Lemeshow, textbook", "Hosmer-Lemeshow p, textbook"), values, strict=True):
                yield "cut at quantiles, pchisq", call, name, {"n_bins": groups}, value, 1e-9


def scikit_survival() -> Iterator[Case]:
    from sksurv.metrics import brier_score, cumulative_dynamic_auc
    from sksurv.nonparametric import CensoringDistributionEstimator
    from sksurv.util import Surv

    table = {name: np.array(column) for name, column in tables()["followed"].items()}
    rows, v = Surv.from_arrays(table["event"] == 1, table["time"]), table["y_prob"]
    for at in (1.0, 2.0, 3.0):
        how = {"horizon": at}
        share = float(CensoringDistributionEstimator().fit(rows).predict_proba(np.array([at]))[0])
        yield "CensoringDistributionEstimator", "share followed", "followed", how, share, 1e-12
        score = float(brier_score(rows, rows, 1.0 - v[:, None], [at])[1][0])
        yield "brier_score", "Brier score at a horizon", "followed", how, score, 1e-12
        area = float(cumulative_dynamic_auc(rows, rows, v, [at])[0][0])
        yield "cumulative_dynamic_auc", "AUC at a horizon", "followed", how, area, 1e-12


def lifelines() -> Iterator[Case]:
    from lifelines import KaplanMeierFitter

    table = {name: np.array(column) for name, column in tables()["followed"].items()}
    for at in (1.0, 2.0, 3.0):
        share = float(KaplanMeierFitter().fit(table["time"], 1 - table["event"]).predict(at))
        yield "KaplanMeierFitter", "share followed", "followed", {"horizon": at}, share, 1e-12


def survival() -> Iterator[Case]:
    script = """library(survival)
    for (at in 1:3) cat(format(summary(survfit(Surv(time, 1 - event) ~ 1), times=at)$surv, digits=15), "\\n")"""
    for at, share in zip((1.0, 2.0, 3.0), in_r(script, "followed"), strict=True):
        yield "survfit", "share followed", "followed", {"horizon": at}, share, 1e-12


def risk_regression() -> Iterator[Case]:
    script = """library(survival); suppressMessages(library(riskRegression))
    rows <- data.frame(time, event)
    for (at in 1:3) {
      found <- suppressWarnings(Score(list(v=matrix(v, ncol=1)), formula=Hist(time, event) ~ 1, data=rows, times=at,
        null.model=FALSE, cens.model="km", metrics=c("brier", "auc"), conf.int=FALSE, se.fit=FALSE))
      for (each in c(found$Brier$score$Brier, found$AUC$score$AUC)) cat(format(each, digits=15), "\\n")
    }"""
    values = in_r(script, "followed")
    for k, at in enumerate((1.0, 2.0, 3.0)):
        for call, value in zip(("Brier score at a horizon", "AUC at a horizon"), values[2 * k :], strict=False):
            yield "Score", call, "followed", {"horizon": at}, value, 1e-12


def survival_eval() -> Iterator[Case]:
    from SurvivalEVAL.evaluators.single_time_evaluator import SingleTimeEvaluator

    time, event, v = (np.array(column, float) for column in tables()["followed"].values())
    for at in (1.0, 2.0, 3.0):
        rows = SingleTimeEvaluator(
            1.0 - v, time, event, target_time=at, train_event_times=time, train_event_indicators=event
        )
        value = float(rows.brier_score(IPCW_weighted=True))
        yield "SingleTimeEvaluator.brier_score", "Brier score at a horizon", "followed", {"horizon": at}, value, 1e-12


def dcurves() -> Iterator[Case]:
    import pandas as pd
    from dcurves import dca

    at = [0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9]
    for name in ("spread", "tied", "rare"):
        y, v = columns(name)
        found = dca(data=pd.DataFrame({"y": y, "v": v}), outcome="y", modelnames=["v"], thresholds=at)
        for model, call in (("v", "net benefit"), ("all", "net benefit of acting on all")):
            values = found[found.model == model].net_benefit.tolist()
            yield "dca", call, name, {"thresholds": at}, values, 1e-12


def reliabilitydiag() -> Iterator[Case]:
    script = """suppressMessages(library(reliabilitydiag))
    log_score <- function(y, x) ifelse(y == 1, -log(x), -log(1 - x))
    found <- reliabilitydiag(v=v, y=y, region.level=NA)
    for (score in SCORES) { parts <- summary(found, score=score)
    for (part in c("mean_score", "miscalibration", "discrimination", "uncertainty"))
    cat(format(parts[[part]], digits=15), "\\n") }"""
    parts = ("mean score", "miscalibration", "discrimination", "uncertainty")
    for name in ("spread", "tied", "rare"):
        for score, in_theirs in (("brier", '"brier"'), ("log", "list(log_score)")):
            if name == "tied" and score == "log":
                continue  # predictions of 0 and 1
            for call, value in zip(parts, in_r(script.replace("SCORES", in_theirs), name), strict=True):
                yield "summary(reliabilitydiag)", call, name, {"score": score}, value, 1e-12


PEERS: dict[str, Callable[[], Iterator[Case]]] = {
    "torchmetrics": torchmetrics,
    "netcal": netcal,
    "relplot": relplot,
    "betacal": betacal,
    "model-diagnostics": model_diagnostics,
    "scores": scores,
    "MCGrad": mcgrad,
    "MAPIE": mapie,
    "scikit-learn": scikit_learn,
    "uncertainty-calibration": uncertainty_calibration,
    "rms": rms,
    "stats": stats,
    "dcurves": dcurves,
    "scikit-survival": scikit_survival,
    "lifelines": lifelines,
    "survival": survival,
    "riskRegression": risk_regression,
    "SurvivalEVAL": survival_eval,
    "reliabilitydiag": reliabilitydiag,
}


def version(peer: str) -> str:
    if peer in ("rms", "stats", "reliabilitydiag", "survival", "riskRegression"):
        asked = ["Rscript", "-e", f'cat(as.character(packageVersion("{peer}")))']
        return subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    return importlib.metadata.version(peer)


def dump(path: Path, content: dict[str, Any]) -> None:
    """One case a line, so that a change of a value is a change of a line."""
    parts = []
    for key, value in content.items():
        if key in ("written", "recorded"):
            lines = ",\n".join("  " + json.dumps(case) for case in value)
            parts.append(f" {json.dumps(key)}: [\n{lines}\n ]")
        else:
            parts.append(f" {json.dumps(key)}: {json.dumps(value)}")
    path.write_text("{\n" + ",\n".join(parts) + "\n}\n")


def key(case: dict[str, Any]) -> str:
    return json.dumps([case[part] for part in ("source", "call", "columns", "options")])


def main() -> None:
    warnings.simplefilter("ignore")
    dump(FOLDER / "tables.json", tables())
    for peer, values in PEERS.items():
        path = FOLDER / f"{peer}.json"
        try:
            answers = list(values())
        except (ImportError, FileNotFoundError) as error:
            print(f"{peer}: not here ({str(error).strip()[-120:]})")
            continue
        file = json.loads(path.read_text())
        # What was found out about a disagreement stays with its case.
        known = {key(case): case for case in file["recorded"]}
        recorded = []
        for source, call, columns_, options, expected, tolerance in answers:
            case = {"source": source, "call": call, "columns": columns_, "options": options}
            case |= {"expected": expected, "tolerance": tolerance}
            before = known.get(key(case), {})
            recorded.append(case | {name: before[name] for name in ("ours", "because") if name in before})
        dump(path, file | {"recorded_with": version(peer), "recorded": recorded})
        print(peer, version(peer), len(recorded))


if __name__ == "__main__":
    main()
