"""Twelve first screens of seeded data, as a reader sees them: to be shown to people who know no statistics.

``python tools/first_screens.py`` prints them; ``--longest`` prints the sentences of more than 20 words alone.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd
from scipy.special import expit, logit

from calibrant import audit, audit_table
from calibrant.door.request import Listener
from calibrant.findings.catalogue import standing
from calibrant.findings.comparison import Comparison, compare
from calibrant.findings.results import Audit
from calibrant.gate.checks import check_opened
from calibrant.gate.request import GateRequest
from calibrant.report.letters import UNICODE, picture
from calibrant.tables.frames import OpenedFrame

_WORDS = 20
_COLUMNS = {"y_true": "y", "y_prob": "p"}


def _rng(number: int) -> np.random.Generator:
    return np.random.default_rng([38, number])


def _rows(number: int, n_rows: int, truth: Callable[[np.ndarray], np.ndarray], a: float = 1.0, b: float = 1.0) -> Audit:
    rng = _rng(number)
    p = rng.beta(a, b, n_rows)
    return audit(rng.random(n_rows) < truth(p), p)


def _slope(factor: float, shift: float = 0.0) -> Callable[[np.ndarray], np.ndarray]:
    return lambda p: expit(factor * logit(p) + shift)


def _segment() -> Audit:
    rng = _rng(6)
    p, device = rng.beta(1.0, 8.0, 18_000), rng.choice(["phone", "desktop", "tablet"], 18_000, p=[0.6, 0.35, 0.05])
    y = rng.random(18_000) < np.where(device == "tablet", 1.6 * p, p).clip(0.0, 1.0)
    return audit_table(pd.DataFrame({"y": y * 1, "p": p, "device": device}), **_COLUMNS, find=("device",))


def _groups() -> Audit:
    rng = _rng(7)
    hospital = rng.integers(0, 12, 3_000)
    p, own = rng.beta(2.0, 6.0, 3_000), rng.normal(-0.3, 0.3, 12)
    y = rng.random(3_000) < expit(logit(p) + own[hospital])
    return audit_table(pd.DataFrame({"y": y * 1, "p": p, "hospital": hospital}), **_COLUMNS, groups="hospital")


def _sampled() -> Audit:
    rng = _rng(8)
    p = rng.beta(0.8, 16.0, 30_000)
    y = rng.random(30_000) < p
    kept = y | (rng.random(30_000) < 0.1)
    return audit(y[kept], p[kept], sampling_fractions={0: 0.1, 1: 1.0})


def _two_models() -> Comparison:
    rng = _rng(9)
    chance = rng.beta(2.0, 2.0, 1_000)
    y = (rng.random(1_000) < chance) * 1.0
    columns = expit(2.4 * logit(chance)), expit(logit(chance) + rng.normal(0.0, 0.1, 1_000))
    return compare(("A", "B"), [audit(y, p) for p in columns], [(y, p) for p in columns], seed=0)


def _drift() -> Audit:
    rng = _rng(11)
    day = np.repeat(pd.date_range("2026-03-01", periods=16).strftime("%Y-%m-%d"), 200)
    p = rng.beta(3.0, 3.0, day.size)
    y = rng.random(day.size) < np.where(day >= "2026-03-09", 0.4 * p, p)
    return audit_table(pd.DataFrame({"y": y * 1, "p": p, "day": day}), **_COLUMNS, drift="day")


def _classes() -> Audit:
    rng = _rng(12)
    chance = rng.dirichlet([0.8, 0.8, 0.8], 3_000)
    label = (chance.cumsum(axis=1) < rng.random((3_000, 1))).sum(axis=1)
    sharp = chance**1.7
    return audit(label, sharp / sharp.sum(axis=1, keepdims=True))


def _censored() -> Audit:
    rng = _rng(13)
    p = rng.beta(2.0, 5.0, 4_000)
    time = -5.0 * np.log(rng.random(4_000)) / -np.log1p(-p.clip(0.0, 0.999))
    left = rng.uniform(2.0, 12.0, 4_000)
    frame = pd.DataFrame({"p": p, "time": np.minimum(time, left), "died": (time <= left) * 1})
    return audit_table(frame, y_prob="p", time="time", event="died", horizon=5.0)


def screens() -> Iterator[tuple[str, Audit | Comparison]]:
    """Each with what it is of."""
    yield "a network's predictions", _rows(1, 8_000, _slope(0.55), 0.5, 0.5)
    yield "risks of a loan", _rows(2, 8_000, _slope(1.0, 0.25), 1.0, 8.0)
    yield "clicks", _rows(3, 60_000, _slope(1.0, -0.06), 2.0, 5.0)
    yield "a small study", _rows(4, 2_000, _slope(1.0), 2.0, 5.0)
    yield "a large study", _rows(5, 50_000, _slope(1.0), 2.0, 3.0)
    yield "a shop's sales by device", _segment()
    yield "patients of twelve hospitals", _groups()
    yield "rare events, of the others 1 in 10 kept", _sampled()
    yield "two models", _two_models()
    yield "a swapped column", _rows(10, 3_000, lambda p: 1.0 - p, 2.0, 2.0)
    yield "a log of days", _drift()
    yield "three classes", _classes()
    yield "deaths within five years", _censored()


def _first(finding: Audit | Comparison) -> list[str]:
    if isinstance(finding, Comparison):
        lines = [finding.headline, *finding.details]
        lines += [f"{name}: {each.sentences[0]}" for name, each in zip(finding.names, finding.audits, strict=True)]
        return [*lines, *picture(finding, 80, UNICODE)]
    return [finding.sentences[0], *finding.answer.details, standing(finding), *picture(finding, 80, UNICODE)]


def _gate() -> str:
    rng = _rng(14)
    p = np.where(rng.random(20_000) < 0.5, 0.9999, 0.0001)
    y = (rng.random(20_000) < np.where(p > 0.5, 0.99, 0.01)) * 1
    request = GateRequest(**_COLUMNS, level=0.05)
    return check_opened(OpenedFrame(pd.DataFrame({"y": y, "p": p})), request, Listener()).summary()


def main() -> None:
    """Print the screens, or their long sentences."""
    longest = "--longest" in sys.argv[1:]
    for number, (of, finding) in enumerate(screens(), 1):
        lines = _first(finding)
        if longest:
            said = [line for line in lines if not set("│└") & set(line)]
            for sentence in (each for line in said for each in re.split(r"(?<=[.]) (?=[A-Z])", line)):
                if len(sentence.split()) > _WORDS:
                    print(f"{number}: {len(sentence.split())} words: {sentence}")
            continue
        print(f"## {number}. {of}\n", *lines, "", sep="\n")
    if not longest:
        print(f"## A gate\n\n{_gate()}")


if __name__ == "__main__":
    main()
