"""Mutation testing of every room: change one constant, level, guard or decision, and see whether the tests notice.

    python tools/mutate.py --sample 300 --seed 0 --log mutants.jsonl            # results as they come, and a table
    python tools/mutate.py --sample 300 --seed 0 --log mutants.jsonl --resume   # the mutants that are not in it yet

Mutants are drawn alike from every room (`tools/mutants.py` says what is changed). Each is put into a copy of the
checkout, where the tests that run the changed function (`tools/nearest.py`) are asked, nearest first, in the quick
loop, until one fails; when all have been asked, what survived is asked again of the nearest files whole, as the suite
runs them. Pinned numbers are not asked. Mutants that change no answer are told apart by a written argument, those of
which a rule says so only where no quick test notices them (`tools/equivalent.py`). What each file of tests runs is
found in the copy, and again when it changed; it is kept beside the log. Processes start as copies of others
(`tools/workbench.py`), so Linux or macOS is needed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))

from equivalent import RULES, argued, rule_of  # noqa: E402
from mutants import KINDS, Mutant, mutants  # noqa: E402
from nearest import PINNED, Nearest  # noqa: E402
from workbench import Workbench, load_libraries  # noqa: E402

ROOMS = sorted(
    each.name
    for each in (ROOT / "src" / "calibrant").iterdir()
    if (each / "__init__.py").exists() and each.name not in ("experiments", "integrations")
)
KINDS_DRAWN = KINDS[:4]  # constants, levels, guards and decisions; the others where they are asked for
SECONDS = 60  # of a processor that the tests of a mutant may take beyond three times what they took unchanged
NEAREST, SLOW = 2, 45  # files that are asked as the suite runs them, and seconds of a processor that they are given
LEVELS = "tests/test_levels.py"  # is asked first of levels, wherever they are
MOST = 15  # seconds of tests that a mutant is given to survive


def drawn(root: Path, sample: int, seed: int, rooms: list[str], of_kinds: list[str]) -> list[Mutant]:
    """Mutants, alike from every room and, in it, of every kind."""
    rng = random.Random(seed)
    by_room = {}
    for room in rooms:
        kinds: dict[str, list[Mutant]] = defaultdict(list)
        for file in sorted((root / "src/calibrant" / room).rglob("*.py")):
            for each in mutants(str(file.relative_to(root / "src/calibrant")), file.read_text()):
                kinds[each.kind].append(each)
        order: list[Mutant] = []
        while any(kinds[kind] for kind in of_kinds):
            pool = kinds[rng.choice([kind for kind in of_kinds if kinds[kind]])]
            order.append(pool.pop(rng.randrange(len(pool))))
        by_room[room] = iter(order)
    chosen: list[Mutant] = []
    while len(chosen) < sample and by_room:
        for room in list(by_room):
            each = next(by_room[room], None)
            if each is None:
                del by_room[room]
            elif len(chosen) < sample:
                chosen.append(each)
    return chosen


def calls(bench: Workbench, file: Path) -> dict[str, Any]:
    """Which functions each test of the quick loop runs, found once for each file of tests and again when it changed."""
    known: dict[str, Any] = {"ran": {}, "seconds": {}, "failed": [], "files": {}}
    if file.exists():
        known |= json.loads(file.read_text())
    found = bench.root.parent / "calls"
    for folder in ("", *ROOMS, "peers"):
        tests = {}
        for each in sorted((bench.root / "tests" / folder).glob("test_*.py")):
            name, digest = str(each.relative_to(bench.root)), hashlib.sha256(each.read_bytes()).hexdigest()
            if name not in PINNED and known["files"].get(name) != digest:
                tests[name] = digest
        if tests:
            bench.run(["-q", "--quick", "--calls", str(found), *tests], 3600)
            more = json.loads(found.read_text())
            for part in ("ran", "seconds"):
                kept = {test: told for test, told in known[part].items() if test.partition("::")[0] not in tests}
                known[part] = kept | more[part]
            known["failed"] = [test for test in known["failed"] if test.partition("::")[0] not in tests]
            known["failed"] += more["failed"]
            known["files"] |= tests
            file.write_text(json.dumps(known))
    return known


class Asked:
    """The tests that each mutant is asked of."""

    def __init__(self, bench: Workbench, known: dict[str, Any]) -> None:
        self.bench, self._seconds = bench, known["seconds"]
        self._nearest = Nearest(bench.root, known)
        self._without = [f"--deselect={each}" for each in known["failed"]]

    def tests(self, mutant: Mutant) -> tuple[list[str], float]:
        """The nearest tests that run its function, and the seconds that these take."""
        near = self._nearest.of(mutant.file, mutant.function)
        if mutant.kind == "level":
            near.sort(key=lambda each: LEVELS not in each)
        chosen, seconds = [], 0.0
        for test in near:
            if not chosen or seconds + self._seconds[test] < MOST:
                chosen.append(test)
                seconds += self._seconds[test]
        return chosen, seconds

    def quickly(self, mutant: Mutant, how: Callable[..., tuple[str, str] | None]) -> tuple[str, str] | None:
        """Whether the quick loop notices it, put in as `how` does."""
        if why := argued(mutant):
            return "equivalent", why
        tests, seconds = self.tests(mutant)
        only = self.bench.root.parent / f"only {os.getpid()}"
        only.write_text(json.dumps(tests))
        arguments = ["--quick", "--only", str(only), *_files(tests)]
        return how(mutant, arguments, SECONDS + 3 * seconds) if tests else ("passed", "")

    def as_the_suite(self, mutant: Mutant) -> tuple[str, str]:
        """Whether the nearest files notice it with their slow tests, and as many examples as the suite draws."""
        files = [*_files(self.tests(mutant)[0]), *self._nearest.files(mutant.file)]
        near = list(dict.fromkeys(files))[:NEAREST]
        while near:
            end, by = self.bench.changed(mutant, [*self._without, *near], SLOW)
            if end in ("endless", "idle"):  # they may take longer than they are given
                break
            if end == "passed" or not by or self.bench.run(["-q", by], SLOW)[0] == "passed":
                return end, by
            self._without.append(f"--deselect={by}")  # it fails without the mutant too
        return "passed", ""


def _files(tests: list[str]) -> list[str]:
    return list(dict.fromkeys(test.partition("::")[0] for test in tests))


def table(results: list[dict[str, Any]]) -> str:
    """How many were noticed, survived, or change no answer, by room."""
    ends = {"passed": "survived", "equivalent": "equivalent"}
    count = Counter((each["room"], ends.get(each["end"], "noticed")) for each in results)
    count += Counter(("all", ends.get(each["end"], "noticed")) for each in results)
    lines = ["| Room | Mutants | Noticed | Change no answer | Survived |", "| --- | ---: | ---: | ---: | ---: |"]
    for room in [*sorted({each["room"] for each in results}), "all"]:
        told = [count[room, each] for each in ("noticed", "equivalent", "survived")]
        lines.append(f"| `{room}` | {sum(told)} | {' | '.join(map(str, told))} |")
    return "\n".join(lines)


def main() -> None:
    """Draw mutants, ask the tests of each, print what survived."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--room", choices=ROOMS, action="append", help="these alone")
    parser.add_argument("--log", type=Path, default=Path("mutants.jsonl"), help="a line for each mutant")
    parser.add_argument("--kind", choices=KINDS, action="append", help="these alone")
    parser.add_argument("--resume", action="store_true", help="leave out mutants that the log has")
    parser.add_argument("--part", default="0/1", help="I/N: every N-th mutant, for several processes with one log each")
    said = parser.parse_args()
    part, parts = map(int, said.part.split("/"))
    if not said.resume:
        said.log.unlink(missing_ok=True)
    load_libraries()
    with tempfile.TemporaryDirectory() as folder:
        bench = Workbench(folder)
        asked = Asked(bench, calls(bench, said.log.with_suffix(".calls")))
        chosen = drawn(bench.root, said.sample, said.seed, said.room or ROOMS, said.kind or list(KINDS_DRAWN))
        chosen = chosen[part::parts]
        child = os.fork()
        if not child:
            _ask_of_loaded_tests(asked, [each for each in chosen if each.name() not in results_of(said.log)], said.log)
        os.waitpid(child, 0)
        for mutant in chosen:
            if mutant.name() not in results_of(said.log):
                note(said.log, mutant, asked.quickly(mutant, bench.changed))
        for mutant in chosen:
            before = results_of(said.log)[mutant.name()]
            if before["end"] == "passed" and not before["whole"]:
                end = note(said.log, mutant, asked.as_the_suite(mutant), whole=True)
                if end == "passed":
                    print(f"survived: {mutant.name()}", flush=True)
        print(table([results_of(said.log)[each.name()] for each in chosen]))


def _ask_of_loaded_tests(asked: Asked, chosen: list[Mutant], log: Path) -> None:
    """Ask all mutants in functions of Python's, in a process of its own."""
    code = 1
    try:
        asked.bench.load_tests(sorted({file for each in chosen for file in _files(asked.tests(each)[0])}))
        for mutant in chosen:
            answer = asked.quickly(mutant, asked.bench.patched)
            if answer is not None:
                note(log, mutant, answer)
        code = 0
    finally:
        os._exit(code)


def results_of(log: Path) -> dict[str, dict[str, Any]]:
    """What is known of each mutant by now."""
    lines = log.read_text().splitlines() if log.exists() else []
    return {each["mutant"]: each for each in map(json.loads, lines)}


def note(log: Path, mutant: Mutant, answer: tuple[str, str] | None, whole: bool = False) -> str:
    """Write down how it ended, which is returned."""
    end, by = answer or ("passed", "")
    if end == "passed" and rule_of(mutant):
        end, by = "equivalent", RULES[rule_of(mutant)][1]
    line = {"mutant": mutant.name(), "room": mutant.room, "kind": mutant.kind, "end": end, "by": by, "whole": whole}
    with log.open("a") as file:
        file.write(json.dumps(line) + "\n")
    return end


if __name__ == "__main__":
    main()
