"""What a test returns: its decision, with the numbers it rests on."""

from __future__ import annotations

import sys
from dataclasses import dataclass

LEAST = sys.float_info.min
"""A p-value is never said to be 0: one that underflows is said to be this, 2.2e-308."""


@dataclass(frozen=True)
class TestResult:
    """The outcome of a test of "the predictions are calibrated".

    Attributes
    ----------
    statistic : float
        The value of the test statistic on the sample.
    pvalue : float
        Probability, were the predictions calibrated, of a statistic at least as extreme; never 0 when it was found by
        resampling.
    reject : bool
        Whether calibration is rejected at ``level``.
    level : float
        Promised probability of rejecting calibrated predictions.
    method : str
        What was tested, and how its p-value was found, in words.
    """

    __test__ = False  # not a collection of pytest's, in spite of its name

    statistic: float
    pvalue: float
    reject: bool
    level: float
    method: str

    def summary(self) -> str:
        """One sentence for a reader in a hurry.

        Examples
        --------
        >>> TestResult(0.013, 0.0004, True, 0.05, "adaptive T-Cal").summary()
        'miscalibrated: adaptive T-Cal rejects calibration at level 0.05 (p = 0.0004)'
        """
        if self.reject:
            return f"miscalibrated: {self.method} rejects calibration at level {self.level:g} (p = {self.pvalue:.2g})"
        return (
            f"no miscalibration found: {self.method} does not reject calibration at level {self.level:g} "
            f"(p = {self.pvalue:.2g})"
        )
