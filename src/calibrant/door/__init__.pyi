"""Written by tools/public_names.py."""

from calibrant.door.censoring import CensoredOutcomes as CensoredOutcomes
from calibrant.door.censoring import censored_outcomes as censored_outcomes
from calibrant.door.classes import BinaryReduction as BinaryReduction
from calibrant.door.classes import MulticlassSample as MulticlassSample
from calibrant.door.classes import multiclass_sample as multiclass_sample
from calibrant.door.ends import Bracket as Bracket
from calibrant.door.ends import Interval as Interval
from calibrant.door.errors import FileError as FileError
from calibrant.door.errors import InputError as InputError
from calibrant.door.premises import Premises as Premises
from calibrant.door.values import Result as Result
from calibrant.door.values import Results as Results

__all__ = [
    "BinaryReduction",
    "Bracket",
    "CensoredOutcomes",
    "FileError",
    "InputError",
    "Interval",
    "MulticlassSample",
    "Premises",
    "Result",
    "Results",
    "censored_outcomes",
    "multiclass_sample",
]
