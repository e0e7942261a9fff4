"""How far predicted probabilities are from calibrated, exactly, and with a witness anyone can check."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from calibrant.errors import FileError as FileError
    from calibrant.errors import InputError as InputError
    from calibrant.measures.smooth import Witness as Witness
    from calibrant.measures.smooth import smooth_calibration_error as smooth_calibration_error
    from calibrant.measures.smooth import smooth_calibration_witness as smooth_calibration_witness

__version__ = "0.1.0"

# Public name -> the module that defines it: nothing is imported before it is asked for.
_HOME = {
    "FileError": "errors",
    "InputError": "errors",
    "Witness": "measures.smooth",
    "smooth_calibration_error": "measures.smooth",
    "smooth_calibration_witness": "measures.smooth",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'calibrant' has no attribute {name!r}")
    value = getattr(import_module(f"calibrant.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
