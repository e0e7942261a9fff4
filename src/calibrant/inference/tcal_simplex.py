"""The equal-volume partition of the probability simplex, of which only the cells that are asked for exist.

T-Cal's Appendix B.3 cuts the simplex of K classes by a grid of cubes of width 1/m and each piece, a hypersimplex, into
simplices of one volume by the triangulation of Stanley and of Sturmfels, which are the same (T. Lam and A. Postnikov,
"Alcoved polytopes I", 2007): cuts along every hyperplane on which a sum of *consecutive* coordinates is a multiple of
1/m. In the running sums y_j = m (z_1 + ... + z_j), j < K, a cell is therefore named by the whole parts of the y_j
together with the order of their fractional parts: K - 1 whole numbers and a permutation, found without listing any
other of the m^(K-1) cells. The cuts at m are among those at 2 m, so dyadic partitions nest.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from calibrant.door.columns import FloatArray

IntArray = npt.NDArray[np.int64]


def simplex_cells(y_prob: FloatArray, m: int) -> IntArray:
    """Name the cell of each row among the m^(K-1) of equal volume.

    Parameters
    ----------
    y_prob : ndarray of shape (n, K)
        Class probabilities, each row adding up to 1.
    m : int
        Cells per unit along an edge.

    Returns
    -------
    ndarray of shape (n, 2 (K - 1))
        Whole parts of the running sums, then the classes in order of their fractional parts. Two rows share a cell if
        and only if these agree. A row on a boundary goes to the cell above it, and below it where there is none above.

    Notes
    -----
    O(n K log K), for any m.

    References
    ----------
    D. Lee, X. Huang, H. Hassani and E. Dobriban, "T-Cal: An Optimal Test for the Calibration of Predictive Models",
    JMLR 24 (2023), Appendix B.3.
    """
    running = np.minimum(np.cumsum(y_prob[:, :-1], axis=1), np.nextafter(1.0, 0.0))
    scaled = running * m
    whole = np.minimum(np.floor(scaled), m - 1.0)  # the product may round up to m
    # Ties are in the order of classes, which is the order that cells inside the simplex have.
    order = np.argsort(scaled - whole, axis=1, kind="stable")
    return np.concatenate([whole.astype(np.int64), order.astype(np.int64)], axis=1)
