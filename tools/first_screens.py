"""Twelve first screens of seeded data, as a reader sees them: to be shown to people who know no statistics.

``python tools/first_screens.py`` prints them, ``--seed 2`` others, ``--longest`` the sentences of more than 20 words
alone. ``--key`` prints what is right: from the planted truth, and not from what the screens say.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import expit, logit

from calibrant import audit, audit_table, lower_calibration_distance
from calibrant.door.request import Listener
from calibrant.findings.catalogue import standing
from calibrant.findings.comparison import Comparison, compare
from calibrant.findings.results import Audit
from calibrant.gate.checks import check_opened
from calibrant.gate.request import GateRequest
from calibrant.gate.result import Gated
from calibrant.report.text import UNICODE, picture
from calibrant.tables.frames import OpenedFrame

_WORDS = 20
_COLUMNS = {"y_true": "y", "y_prob": "p"}
_MOST = 4_000  # rows that the size in the key is computed on
_CORRECT = "correct (recalibrate) before use"
_OPEN = "use if so large an error is all right, else collect more rows"


@dataclass(frozen=True)
class Screen:
    """A screen, and what is right about it."""

    of: str
    finding: Audit | Comparison | Gated
    direction: str
    size: float
    real: str
    action: str


def _size(truth: np.ndarray, p: np.ndarray) -> float:
    """How far predictions would have to move to be calibrated, were the chances known."""
    some = np.linspace(0, p.size - 1, min(p.size, _MOST)).astype(int)
    return float(lower_calibration_distance(truth[some], p[some]))


def _events(rng: np.random.Generator, truth: np.ndarray) -> np.ndarray:
    return (rng.random(truth.size) < truth) * 1


def _shift(rng: np.random.Generator, least: float, most: float) -> tuple[float, str]:
    """So much is added to the log-odds of predictions to get the truth; which way predictions err."""
    shift = float(rng.choice([-1.0, 1.0]) * rng.uniform(least, most))
    return shift, "too low" if shift > 0.0 else "too high"


def _network(rng: np.random.Generator) -> Screen:
    p = expit(rng.normal(0.0, 5.0, 8_000))
    truth = expit(logit(p) * rng.uniform(0.3, 0.6))
    return Screen(
        "a network's answers", audit(_events(rng, truth), p), "too confident", _size(truth, p), "yes", _CORRECT
    )


def _rare(rng: np.random.Generator) -> Screen:
    shift, direction = _shift(rng, 0.4, 0.8)
    p = rng.beta(0.8, 40.0, 40_000)
    truth = expit(logit(p) + shift)
    return Screen("defaults of loans", audit(_events(rng, truth), p), direction, _size(truth, p), "yes", _CORRECT)


def _calibrated(rng: np.random.Generator) -> Screen:
    few = rng.random() < 0.5
    p = rng.beta(2.0, 3.0, int(rng.integers(800, 2_500)) if few else 50_000)
    real, action = ("no sign of error", _OPEN) if few else ("no error that matters", "use as they are")
    return Screen("clicks", audit(_events(rng, p), p), "none", 0.0, real, action)


def _segment(rng: np.random.Generator) -> Screen:
    p, device = rng.beta(1.0, 8.0, 18_000), rng.choice(["phone", "desktop", "tablet"], 18_000, p=[0.6, 0.35, 0.05])
    factor = rng.choice([0.4, 1.8])
    truth = np.where(device == "tablet", factor * p, p).clip(0.0, 1.0)
    frame = pd.DataFrame({"y": _events(rng, truth), "p": p, "device": device})
    off = device == "tablet"
    direction = "too low for tablets alone" if factor > 1.0 else "too high for tablets alone"
    found = audit_table(frame, **_COLUMNS, find=("device",))
    return Screen(
        "a shop's sales", found, direction, _size(truth[off], p[off]), "yes", "correct the tablets' rows alone"
    )


def _groups(rng: np.random.Generator) -> Screen:
    hospital = rng.integers(0, 12, 3_000)
    p, own = rng.beta(2.0, 6.0, 3_000), rng.normal(0.0, 0.3, 12)
    found = audit_table(
        pd.DataFrame({"y": _events(rng, expit(logit(p) + own[hospital])), "p": p, "hospital": hospital}),
        **_COLUMNS,
        groups="hospital",
    )
    known = found.answer.direction is not None
    truth = "errors of 12 hospitals differ"
    direction = f"{found.answer.direction} (proved of few groups)" if known else f"not known ({truth})"
    return Screen(
        "patients of twelve hospitals", found, direction, 0.0, "cannot be told", "collect more hospitals first"
    )


def _sampled(rng: np.random.Generator) -> Screen:
    shift, direction = _shift(rng, 0.5, 0.8)
    p = rng.beta(0.8, 16.0, 60_000)
    truth = expit(logit(p) + shift)
    y = _events(rng, truth)
    kept = (y == 1) | (rng.random(y.size) < 0.1)
    found = audit(y[kept], p[kept], sampling_fractions={0: 0.1, 1: 1.0})
    return Screen("rare events, of the others 1 in 10 kept", found, direction, _size(truth, p), "yes", _CORRECT)


def _two_models(rng: np.random.Generator) -> Screen:
    chance = rng.beta(2.0, 2.0, 2_000)
    y = _events(rng, chance).astype(float)
    sure, fine = expit(rng.uniform(1.8, 2.6) * logit(chance)), expit(logit(chance) + rng.normal(0.0, 0.1, chance.size))
    names, columns = (("A", "B"), (sure, fine)) if rng.random() < 0.5 else (("A", "B"), (fine, sure))
    worse, better = ("A", "B") if columns[0] is sure else ("B", "A")
    found = compare(names, [audit(y, p) for p in columns], [(y, p) for p in columns], seed=0)
    direction = f"{worse} too confident, {better} none"
    return Screen("two models", found, direction, _size(chance, sure), "yes", f"correct {worse} before use")


def _backwards(rng: np.random.Generator) -> Screen:
    p = rng.beta(2.0, 2.0, 3_000)
    direction = "backwards: high where low is right"
    found = audit(_events(rng, 1.0 - p), p)
    return Screen("forecasts of rain", found, direction, np.nan, "yes", "check whether yes and no are swapped")


def _drift(rng: np.random.Generator) -> Screen:
    day = np.repeat(pd.date_range("2026-03-01", periods=16).strftime("%Y-%m-%d"), 200)
    begins = f"2026-03-{rng.integers(7, 12):02d}"
    p = rng.beta(3.0, 3.0, day.size)
    truth = np.where(day >= begins, 0.4 * p, p)
    off = day >= begins
    found = audit_table(pd.DataFrame({"y": _events(rng, truth), "p": p, "day": day}), **_COLUMNS, drift="day")
    action = "find out what changed; if it lasts, correct with the rows since"
    return Screen("a log of days", found, f"too high since about {begins}", _size(truth[off], p[off]), "yes", action)


def _classes(rng: np.random.Generator) -> Screen:
    chance = rng.dirichlet([0.8, 0.8, 0.8], 3_000)
    label = (chance.cumsum(axis=1) < rng.random((3_000, 1))).sum(axis=1)
    power = rng.choice([0.5, 1.9])
    said = chance**power
    said /= said.sum(axis=1, keepdims=True)
    top = said.argmax(axis=1)
    size = _size(chance[np.arange(top.size), top], said.max(axis=1))
    direction = "too confident" if power > 1.0 else "not confident enough"
    return Screen("three kinds of flowers", audit(label, said), direction, size, "yes", _CORRECT)


def _censored(rng: np.random.Generator) -> Screen:
    p = rng.beta(2.0, 5.0, 4_000)
    shift, direction = _shift(rng, 0.4, 0.7)
    truth = expit(logit(p) + shift)
    time = -5.0 * np.log(rng.random(p.size)) / -np.log1p(-truth.clip(0.0, 0.999))
    left = rng.uniform(2.0, 12.0, p.size)
    frame = pd.DataFrame({"p": p, "time": np.minimum(time, left), "died": (time <= left) * 1})
    found = audit_table(frame, y_prob="p", time="time", event="died", horizon=5.0)
    return Screen("deaths within five years", found, direction, _size(truth, p), "yes", _CORRECT)


def _gate(rng: np.random.Generator) -> Screen:
    kind = rng.choice(["pass", "fail", "costly"])
    p = np.where(rng.random(20_000) < 0.5, 0.9999, 0.0001) if kind == "costly" else rng.beta(2.0, 2.0, 20_000)
    factor = {"pass": 1.0, "fail": 0.45, "costly": 0.5}[str(kind)]
    truth = expit(logit(p) * factor)
    request = GateRequest(**_COLUMNS, level=0.05)
    found = check_opened(OpenedFrame(pd.DataFrame({"y": _events(rng, truth), "p": p})), request, Listener())
    action = {"pass": "use as they are", "fail": "hold back, see what to correct", "costly": _CORRECT}[str(kind)]
    real = "no error that matters" if kind == "pass" else "yes"
    direction = "none" if kind == "pass" else "too confident"
    return Screen("a gate before a release", found, direction, _size(truth, p), real, action)


_SCREENS: tuple[Callable[[np.random.Generator], Screen], ...] = (
    _network, _rare, _calibrated, _segment, _groups, _sampled, _two_models, _backwards, _drift, _classes, _censored,
    _gate,
)  # fmt: skip


def screens(seed: int) -> Iterator[Screen]:
    """Each in turn."""
    for number, of in enumerate(_SCREENS):
        yield of(np.random.default_rng([38, seed, number]))


def _first(finding: Audit | Comparison | Gated) -> list[str]:
    if isinstance(finding, Gated):
        return finding.summary().splitlines()
    if isinstance(finding, Comparison):
        lines = [finding.headline, *finding.details]
        lines += [f"{name}: {each.sentences[0]}" for name, each in zip(finding.names, finding.audits, strict=True)]
        return [*lines, *picture(finding, 80, UNICODE)]
    return [finding.sentences[0], *finding.answer.details, standing(finding), *picture(finding, 80, UNICODE)]


def main() -> None:
    """Print the screens, their long sentences, or the key."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--longest", action="store_true")
    parser.add_argument("--key", action="store_true")
    asked = parser.parse_args()
    for number, screen in enumerate(screens(asked.seed), 1):
        if asked.key:
            size = "no distance is told" if np.isnan(screen.size) else f"{100.0 * screen.size:.2g} points"
            print(f"{number}. {screen.of}: {screen.direction} | {size} | {screen.real} | {screen.action}")
            continue
        lines = _first(screen.finding)
        if asked.longest:
            said = [line for line in lines if not set("│└") & set(line)]
            for sentence in (each for line in said for each in re.split(r"(?<=[.]) (?=[A-Z])", line)):
                if len(sentence.split()) > _WORDS:
                    print(f"{number}: {len(sentence.split())} words: {sentence}")
            continue
        print(f"## {number}. {screen.of}\n", *lines, "", sep="\n")


if __name__ == "__main__":
    main()
