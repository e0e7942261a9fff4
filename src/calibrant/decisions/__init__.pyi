"""Written by tools/public_names.py."""

from calibrant.decisions.belt import CalibrationBelt as CalibrationBelt
from calibrant.decisions.belt import calibration_belt as calibration_belt
from calibrant.decisions.clinical import ClinicalCalibration as ClinicalCalibration
from calibrant.decisions.clinical import clinical_calibration as clinical_calibration
from calibrant.decisions.curve import DecisionBand as DecisionBand
from calibrant.decisions.curve import DecisionCurve as DecisionCurve
from calibrant.decisions.curve import decision_curve as decision_curve
from calibrant.decisions.line import Estimate as Estimate
from calibrant.decisions.line import GroupLine as GroupLine
from calibrant.decisions.murphy import MurphyDiagram as MurphyDiagram
from calibrant.decisions.murphy import murphy_diagram as murphy_diagram

__all__ = [
    "CalibrationBelt",
    "ClinicalCalibration",
    "DecisionBand",
    "DecisionCurve",
    "Estimate",
    "GroupLine",
    "MurphyDiagram",
    "calibration_belt",
    "clinical_calibration",
    "decision_curve",
    "murphy_diagram",
]
