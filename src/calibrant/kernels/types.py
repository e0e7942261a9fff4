"""The array types that kernels take."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

FloatArray: TypeAlias = npt.NDArray[np.float64]
UIntArray: TypeAlias = npt.NDArray[np.unsignedinteger[Any]]
IntArray: TypeAlias = npt.NDArray[np.integer[Any]]
