"""Small versions of all pages of docs/reproductions, beside the records of them in tests/papers/small.

The whole pages take hours; the small version of each takes seconds, and a test compares it with its record, so that a
number that an experiment writes does not change unseen. ``python -m tests.papers.small_pages [NAME...]`` writes the
records that differ, and says what differs in them. Published predictions are no part of the project: experiments that
take some get a folder of drawn ones.
"""

from __future__ import annotations

import argparse
import pickle
import re
import runpy
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from decimal import Decimal
from difflib import SequenceMatcher
from pathlib import Path
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from calibrant_papers import processors, registry
from calibrant_papers.predictions import TEN_CLASSES
from calibrant_papers.tcal_tables import DATASETS

RECORDS = Path(__file__).parent / "small"
NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?")
ZERO = Decimal("1e-11")  # what two processors' sums of numbers near 1 may differ by
OPTIONAL = ("mcgrad", "probcal")
_MASKED = runpy.run_path(str(Path(__file__).parents[2] / "tools" / "check_pages.py"))["masked"]


class Here:
    """Runs in this process what a pool would run in others, sent and taken back as by a pool."""

    def __init__(self, *_, **__):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def submit(self, function, *arguments):
        done = Future()
        function, arguments = pickle.loads(pickle.dumps((function, arguments)))
        done.set_result(pickle.loads(pickle.dumps(function(*arguments))))
        return done


def drawn(folder: Path) -> Path:
    """Predictions of the published layouts and names, drawn: few decimals, so that brackets of distances close."""
    rng = np.random.default_rng(0)
    for dataset in DATASETS:
        for name in dataset.networks:
            chance = rng.beta(4, 1, dataset.n_calibration + 600)
            columns = {"y_true": rng.random(chance.size) < chance, "y_prob": np.round(chance**0.8, 3)}
            pq.write_table(pa.table(columns), folder / f"{name}.parquet")
    chances = rng.dirichlet(np.full(10, 0.02), 10_000)
    label = (chances.cumsum(axis=1) < rng.random((10_000, 1))).sum(axis=1).clip(max=9)
    pq.write_table(
        pa.table({**{f"p{k}": chances[:, k] for k in range(10)}, "y_true": label}), folder / f"{TEN_CLASSES}.parquet"
    )
    rain = rng.random(92)
    powers = {"Logistic": 1.0, "EMOS": 1.3, "ENS": 2.0, "EPC": 0.7}
    forecasts = {name: np.round(rain**power, 2) for name, power in powers.items()}
    pq.write_table(pa.table({**forecasts, "obs": (rng.random(92) < rain) * 1.0}), folder / "precip_niamey_2016.parquet")
    return folder


@contextmanager
def _left_out() -> Iterator[None]:
    """As where OPTIONAL are not installed; what else is imported meanwhile stays."""
    loaded = {name: sys.modules[name] for name in OPTIONAL if name in sys.modules}
    sys.modules.update(dict.fromkeys(OPTIONAL))  # type: ignore[arg-type]
    yield
    for name in OPTIONAL:
        del sys.modules[name]
    sys.modules.update(loaded)


def small(name: str, data: Path) -> tuple[registry.Reproduction, str]:
    """The small version of an experiment, and its page without seconds."""
    with mock.patch.object(processors, "ProcessPoolExecutor", Here), _left_out():
        done = registry.reproduce(name, quick=True, data=data if registry.needs_data(name) else None)
    return done, "\n".join(_MASKED(name, registry.page(name, done))) + "\n"


def apart(record: str, text: str) -> list[str]:
    """Lines that differ, as recorded and as written now, but for what another processor's arithmetic may change."""
    before, now = record.splitlines(), text.splitlines()
    words = ([NUMBER.sub("0", line) for line in lines] for lines in (before, now))
    differing = []
    for kind, *(first, end, start, stop) in SequenceMatcher(None, *words, autojunk=False).get_opcodes():
        if kind != "equal":
            differing += [f"- {line}" for line in before[first:end]] + [f"+ {line}" for line in now[start:stop]]
            continue
        for one, other in zip(before[first:end], now[start:stop], strict=True):
            if not all(map(_near, NUMBER.findall(one), NUMBER.findall(other))):
                differing += [f"- {one}", f"+ {other}"]
    return differing


def _near(one: str, other: str) -> bool:
    """Whole numbers are the same; others are as near as a rounded last digit may be, or both nothing but rounding."""
    if one == other or not re.search(r"[.e]", one + other):
        return one == other
    values = [Decimal(each.replace(",", "")) for each in (one, other)]
    last = max(Decimal(1).scaleb(each.as_tuple().exponent) for each in values)
    return abs(values[0] - values[1]) <= max(last, ZERO)


def recorded(name: str) -> str:
    """The record of an experiment, or what to do where there is none."""
    path = RECORDS / f"{name}.md"
    return path.read_text() if path.exists() else f"no record: python -m tests.papers.small_pages {name}\n"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=list(registry.experiments()))
    RECORDS.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        data = drawn(Path(folder))
        for each in parser.parse_args().names:
            text = small(each, data)[1]
            differing = apart(recorded(each), text)
            if differing:
                (RECORDS / f"{each}.md").write_text(text)
                print(f"{each}: written", *differing, sep="\n", flush=True)
