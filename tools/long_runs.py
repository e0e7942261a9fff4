"""Look for faults in more generated cases than a test suite has time for.

    python tools/long_runs.py                                     # what there is
    python tools/long_runs.py differential --cases 100000 --write
    python tools/long_runs.py --small                             # some of several runs, in less than a minute

Prints the seed, which is a new one unless it is given (``--seed``), each finding as it comes, and the number of cases
looked at; exits with 1 if there are findings. ``--write`` puts the result into the table of docs/trust.md. Parts of 500
cases have a seed of their own each, so that the same cases are looked at by any number of processes, and a finding is
found again by its part alone (``--part``).
"""

from __future__ import annotations

import argparse
import functools
import os
import re
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from datetime import date
from multiprocessing import get_context
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tools"), str(ROOT)]

from runs import Found, load, names  # noqa: E402

TRUST = ROOT / "docs" / "trust.md"
HEAD = "    | Run | Cases | Findings | Last run |\n    | --- | ---: | ---: | --- |\n"
TABLE = re.compile(re.escape(HEAD) + r"((?: *\|.*\n)*)")
A_PART = 500
SOME = -1  # the part of `--small`, which is the first of runs that have no `some`
A_LIFE = 50  # parts that a process looks at; with `max_tasks_per_child` pools of Python 3.11 may wait for ever


def one_part(name: str, cases: int, seed: int, part: int) -> Found:
    """The cases of one part, at most `A_PART`."""
    module = load(name)
    if part == SOME and hasattr(module, "some"):
        return module.some(cases, seed)
    part = max(part, 0)
    if hasattr(module, "PARTS"):
        return module.run(part, seed)
    return module.run(min(A_PART, cases - part * A_PART), seed * 1_000_000 + part)


def parts_of(name: str, cases: int) -> int:
    module = load(name)
    return getattr(module, "PARTS", -(-cases // A_PART))


def look(name: str, cases: int, seed: int, parts: Sequence[int], processes: int = 1) -> Found:
    """Look at some parts, and print what is found."""
    start = time.monotonic()
    looked, findings = 0, []
    work = functools.partial(one_part, name, cases, seed)
    at_once = A_LIFE * processes
    for first in range(0, len(parts), at_once):
        some = parts[first : first + at_once]
        with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
            for part, found in zip(some, pool.map(work, some), strict=True):
                looked += found.cases
                for each in found.findings:
                    print(f"part {part}: {each}", flush=True)
                findings += found.findings
                told = f"{looked:,} cases, {len(findings):,} findings, {time.monotonic() - start:.0f} s"
                print(told, flush=True)
    return Found(looked, findings)


def written(text: str, name: str, found: Found, today: str) -> str:
    """The page with the result of one run in its table, in the order of names."""
    rows = {line.split("`")[1]: line for line in TABLE.search(text)[1].splitlines()}
    rows[name] = f"    | `{name}`: {load(name).WHAT} | {found.cases:,} | {len(found.findings):,} | {today} |"
    return TABLE.sub(lambda _: HEAD + "".join(f"{rows[each]}\n" for each in sorted(rows)), text)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", nargs="?", choices=names())
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4)))
    parser.add_argument("--small", action="store_true", help="look at few cases of NAME, or of each run that has such")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--part", type=int, help="look at this part alone")
    parser.add_argument("--write", action="store_true", help="put the result into docs/trust.md")
    said = parser.parse_args()
    if said.name is None and not said.small:
        print("\n".join(f"{name}: {load(name).WHAT}" for name in names()))
        return 0
    print(f"seed {said.seed}", flush=True)
    if said.small:
        found = []
        for name in [said.name] if said.name else [name for name in names() if hasattr(load(name), "SMALL")]:
            print(f"{name}:", flush=True)
            found += look(name, load(name).SMALL, said.seed, [SOME]).findings
        return bool(found)
    parts = range(parts_of(said.name, said.cases)) if said.part is None else [said.part]
    result = look(said.name, said.cases, said.seed, parts, said.processes)
    if said.write:
        text = TRUST.read_text(encoding="utf-8")
        TRUST.write_text(written(text, said.name, result, date.today().isoformat()), encoding="utf-8")
    return bool(result.findings)


if __name__ == "__main__":
    sys.exit(main())
