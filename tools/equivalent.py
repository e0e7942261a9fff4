"""Mutants that change no answer, each with the argument why; `tools/mutate.py` tells them apart from what survives."""

from __future__ import annotations

# file below src/calibrant, function ("" for what runs on import), expression before, expression after: why
EQUIVALENT: dict[tuple[str, str, str, str], str] = {}
