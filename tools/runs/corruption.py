"""Damaged files, and files that change while they are read: refused, or the same numbers.

They are read as rows, as sums, as keys and on a file system of pyarrow.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from tests.damage import CHANGES, OPENED, damaged, kept, n_looks, wrong, wrong_if_changed

from runs import Found, share_a_database

WHAT = (
    "Bits flipped, ends cut, blocks lost, doubled or zeroed in sketches, saved recalibrators, monitor states, gz, zst, "
    "Parquet, Arrow, CSV and JSON lines. A finding is a traceback, a crash, a cut file that is read (but at the end of "
    "a line of text), or, where the format has a checksum, another number."
)
SMALL = 150


def run(cases: int, seed: int) -> Found:
    """As many damages, each of one of the formats in turn; read by a child, so that a crash is a finding as well."""
    ours, theirs = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.close(ours)
            share_a_database()
            with tempfile.TemporaryDirectory() as folder, os.fdopen(theirs, "w") as said:
                for number in range(cases):
                    _, _, look = _case(number, seed)
                    print(f"{number}\t", end="", file=said, flush=True)
                    print(look(Path(folder)) or "", file=said, flush=True)
        finally:
            os._exit(0)
    os.close(theirs)
    with os.fdopen(ours) as said:
        lines = said.read().split("\n")
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    findings = []
    for line in filter(None, lines):
        number, _, problem = line.partition("\t")
        ended = line == lines[-1]
        if problem or ended:
            name, how, _ = _case(int(number), seed)
            findings.append(f"{name}, {how}: {f'ended the process, {status}' if ended else problem}")
    looked = len(list(filter(None, lines)))
    if looked < cases:
        findings.append(f"{cases - looked} cases not looked at, after that")
    return Found(looked, findings)


def _case(number: int, seed: int) -> tuple[str, str, Callable[[Path], str | None]]:
    """Whose it is, how it was made, and what is found wrong in a folder."""
    rng = np.random.default_rng([seed, number])
    names = list(kept())
    name, of = names[number % len(names)], f"seed {seed} number {number}"
    if name in OPENED and rng.random() < 0.3:
        change, at = CHANGES[rng.integers(len(CHANGES))], int(rng.integers(n_looks(name)))
        return name, f"{change.__name__} after look {at}, {of}", partial(wrong_if_changed, name, at, change)
    how, changed = damaged(kept()[name].data, rng)
    return name, f"{how}, {of}", partial(wrong, name, changed)
