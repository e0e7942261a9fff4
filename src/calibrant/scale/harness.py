"""Language-model evaluations: samples that lm-evaluation-harness logs, as confidences and whether they were right."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from calibrant.door.errors import FileError

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
