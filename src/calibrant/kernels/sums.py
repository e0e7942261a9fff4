"""Sums of products that are the same on any number of processors; BLAS splits its own by the number of threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.kernels.types import FloatArray


def dot(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> float:
    """Sum of the products of two columns."""
    return float(np.einsum("i,i->", a, b))


def rows_dot(matrix: FloatArray, column: FloatArray) -> FloatArray:
    """Sum of the products of each row of a matrix with a column."""
    return np.asarray(np.einsum("ij,j->i", matrix, column))
