"""Coverage-guided fuzzing of the door and of sketch files, for a bounded number of runs.

Run from the checkout: ``pip install atheris; python tools/fuzz.py sketch -runs=200000`` (or ``door``). Any answer but a
result or an InputError is a crash, and its input is written beside.
"""

from __future__ import annotations

import sys

import atheris

import calibrant.kernels.columns
import calibrant.kernels.sketching
import calibrant.kernels.sorting  # noqa: F401

with atheris.instrument_imports(include=["calibrant"]):
    import numpy as np

    from calibrant import CalibrationSketch, InputError
    from calibrant.door.sample import Sample
    from calibrant.sketch import sketch

VALID = CalibrationSketch(64).update([0, 1, 1], [0.1, 0.5, 0.75]).to_bytes()


def sketch(data: bytes) -> None:
    """Bytes as they are, and a valid sketch with some of its bytes changed."""
    provider = atheris.FuzzedDataProvider(data)
    if provider.ConsumeBool():
        candidate = bytearray(VALID)
        for _ in range(provider.ConsumeIntInRange(1, 8)):
            candidate[provider.ConsumeIntInRange(0, len(candidate) - 1)] = provider.ConsumeIntInRange(0, 255)
        raw = bytes(candidate)
    else:
        raw = provider.ConsumeBytes(4096)
    try:
        found = CalibrationSketch.from_bytes(raw)
    except InputError:
        return
    found.sample  # noqa: B018


def door(data: bytes) -> None:
    """Columns of any numbers and lengths."""
    provider = atheris.FuzzedDataProvider(data)
    columns = [
        provider.ConsumeFloatListInRange(provider.ConsumeIntInRange(0, 6), -1e308, 1e308)
        if provider.ConsumeBool()
        else [provider.PickValueInList([0.0, 1.0, 0.5, 5e-324, 1.0 - 2**-53, np.nan, np.inf, -0.0]) for _ in range(3)]
        for _ in range(3)
    ]
    try:
        sample = Sample.from_columns(columns[0], columns[1], columns[2] if provider.ConsumeBool() else None)
    except InputError:
        return
    if not np.isfinite(sample.residual()).all():
        raise AssertionError("a residual that is no number came through the door")


if __name__ == "__main__":
    target = {"sketch": sketch, "door": door}[sys.argv.pop(1)]
    atheris.Setup(sys.argv, target)
    atheris.Fuzz()
