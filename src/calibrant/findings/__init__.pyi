"""Written by tools/public_names.py."""

from calibrant.findings.advice import Advice as Advice
from calibrant.findings.arrays import audit as audit
from calibrant.findings.classes import ClassFindings as ClassFindings
from calibrant.findings.classes import Confusion as Confusion
from calibrant.findings.classes import ConfusionTable as ConfusionTable
from calibrant.findings.classes import Question as Question
from calibrant.findings.decision import Answer as Answer
from calibrant.findings.evidence import Evidence as Evidence
from calibrant.findings.inequalities import Inequality as Inequality
from calibrant.findings.record import MeasureValue as MeasureValue
from calibrant.findings.regions import Region as Region
from calibrant.findings.reliability import Reliability as Reliability
from calibrant.findings.results import Audit as Audit
from calibrant.findings.tables import audit_table as audit_table

__all__ = [
    "Advice",
    "Answer",
    "Audit",
    "ClassFindings",
    "Confusion",
    "ConfusionTable",
    "Evidence",
    "Inequality",
    "MeasureValue",
    "Question",
    "Region",
    "Reliability",
    "audit",
    "audit_table",
]
