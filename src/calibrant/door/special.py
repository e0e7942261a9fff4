"""SciPy's special functions and its cosine transform, from the extension modules that hold them.

Importing `scipy.special` and `scipy.fft` loads a hundred modules for arrays of other libraries, and rewrites
docstrings: a sixth of a short audit. The functions are the same. Who imports those packages later gets them whole.
"""

from __future__ import annotations

import sys
import threading
from importlib import import_module
from pathlib import Path
from types import BuiltinFunctionType, ModuleType
from typing import Any

import numpy as np
import scipy

from calibrant.door.columns import FloatArray


def _extension(package: str, name: str) -> Any:
    """A module of a package of SciPy's, without what the package itself imports; the package where that fails.

    It is the package, too, where another thread might import it meanwhile.
    """
    if package not in sys.modules and threading.active_count() == 1:
        bare = ModuleType(package)
        bare.__path__ = [str(Path(scipy.__path__[0], *package.split(".")[1:]))]
        sys.modules[package] = bare
        try:
            return import_module(f"{package}.{name}")
        except ImportError:
            pass
        finally:
            del sys.modules[package]
    return import_module(package)


_functions = _extension("scipy.special", "_ufuncs")
_transforms = _extension("scipy.fft._pocketfft", "pypocketfft")


def __getattr__(name: str) -> Any:
    if name.startswith("__"):  # `__test__` would be SciPy's own
        raise AttributeError(name)
    return getattr(_functions, name)


def cosines(values: FloatArray, size: int) -> FloatArray:
    """The cosine transform of type 1, as ``scipy.fft.dct`` has it, of values with zeros behind them up to a size."""
    padded = np.zeros(size)
    padded[: values.size] = values
    if isinstance(_transforms.dct, BuiltinFunctionType):
        return np.asarray(_transforms.dct(padded, 1, (0,), 0, None, 1))
    return np.asarray(_transforms.dct(padded, 1))


def logsumexp(values: FloatArray, axis: int = -1) -> FloatArray:
    """Logarithm of the sum of exponentials along an axis, as `scipy.special.logsumexp` has it.

    The largest terms are counted, so that what little others add is not rounded away.
    """
    largest = values.max(axis=axis, keepdims=True)
    first = values == largest
    ties = first.sum(axis=axis, keepdims=True, dtype=np.float64)
    less = np.where(first, -np.inf, values) - np.where(np.isfinite(largest), largest, np.inf)
    rest = np.exp(less).sum(axis=axis, keepdims=True)
    return np.asarray((np.log1p(rest / ties) + np.log(ties) + largest).squeeze(axis))
