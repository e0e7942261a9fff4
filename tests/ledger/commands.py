"""Every command, with what it prints and the exit code that it ends with."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from json import loads

from typer.testing import CliRunner

from calibrant.cli.app import app
from tests.ledger import inputs
from tests.ledger.values import Plain, plain

_ROWS = "--y-true outcome --y-prob score --unweighted"
_FAST = "--resamples 39 --seed 1"
_TOOK = re.compile(r" That took [\d.,]+ s\.")  # what the clock said
_FILES = ("rows.csv", "rows.csv.gz", "rows.jsonl", "rows.parquet", "rows.arrow", "parts")
COMMANDS: dict[str, str] = {
    "audit": f"audit FILE {_ROWS} {_FAST}",
    "audit, in JSON": f"audit FILE {_ROWS} {_FAST} --json",
    "gate": f"gate FILE {_ROWS} --max-distance 0.05",
    "sketch": f"sketch FILE {_ROWS} -o out.sketch --overwrite",
}
"""Commands that every kind of file is given."""
ONCE: tuple[str, ...] = (
    f"audit rows.csv {_ROWS} {_FAST} --by site --drift day --reference 1,2",
    f"audit rows.csv {_ROWS} {_FAST} --find site,age",
    f"audit rows.csv {_ROWS} --groups patient",  # of which nothing is drawn
    f"audit rows.csv {_ROWS} {_FAST} --threshold 0.3 --max-distance 1%",
    f"audit rows.csv --y-true outcome --y-prob score --sample-weight w {_FAST} --max-weight 3",
    f"audit rows.csv --y-true label --y-prob p* --unweighted {_FAST}",
    f"audit rows.csv --y-true outcome --y-prob score --y-prob rival --unweighted {_FAST}",
    f"audit rows.csv rows.parquet {_ROWS} {_FAST}",
    f"audit rows.sketch {_FAST}",
    f"audit bad.csv {_FAST}",
    f"audit bad.csv --exclude-bad {_FAST}",
    f"audit missing.csv {_FAST}",
    f"audit rows.csv {_FAST}",
    "audit rows.csv --level 2",
    "audit rows.csv --porb score",
    f"gate rows.csv {_ROWS} --max-distance 0.3",
    f"gate rows.csv {_ROWS} --max-distance 0.001",
    f"gate rows.csv {_ROWS} --max-distance 0.05 --json --junit checks.xml --summary checks.md",
    f"gate rows.csv {_ROWS} --max-distance 0.05 --by site --find site,age --max-depth 1 --baseline rows.parquet",
    f"gate rows.csv {_ROWS} --max-regret 0.1 --threshold 0.3",
    f"gate rows.csv {_ROWS} --max-distance 0.05 --groups patient --max-weight 12",
    "gate rows.csv --y-true shares --y-prob score --trials tries --unweighted --max-distance 0.05 --max-weight 4",
    "gate rows.csv --y-true outcome --y-prob score --sample-weight w --max-distance 0.05 --max-weight 3",
    f"gate rows.csv {_ROWS} --max-distance 0.05 --anytime state",
    f"gate rows.csv {_ROWS} --max-distance 0.05 --anytime state",
    f"gate rows.csv {_ROWS} --max-distance 0.05 --anytime state --again",
    "gate --anytime state --so-far",
    "gate rows.sketch --max-distance 0.05",
    "gate rows.csv --max-distance 0.05",
    "gate",
    f"sketch rows.csv {_ROWS} -o days.parquet --by day",
    f"sketch rows.csv {_ROWS} -o days.parquet --by day",
    "merge days.parquet -o whole.sketch",
    "merge rows.sketch rows.sketch -o twice.sketch",
    "merge rows.csv -o twice.sketch",
    "reproduce",
    "--help",
    "audit --help",
    "gate --help",
    "sketch --help",
    "merge --help",
    "demo --help",
    "reproduce --help",
)
"""Commands that are given once, in this order: some read what others wrote."""
UNRUN = {"demo": "trains two models, whose library may change them"}


def of_commands() -> Iterator[tuple[str, Callable[[], Plain]]]:
    """Every command line, by itself, and what runs it."""
    for name, command in COMMANDS.items():
        for road in (*_FILES, *(f"summed {each}" for each in _FILES)):
            yield f"$ {name} / {road}", partial(_command, command.replace("FILE", road.removeprefix("summed ")), road)
    for at, command in enumerate(ONCE):
        again = f" (run {ONCE[:at].count(command) + 1})" if command in ONCE[:at] else ""
        yield f"$ {command}{again}", partial(_command, command)


def _command(command: str, road: str = "") -> Plain:
    """What a command prints, and its exit code."""
    wide = {"COLUMNS": "100", "TERMINAL_WIDTH": "100", "NO_COLOR": "1"}
    with inputs.of_road(road):
        done = CliRunner().invoke(app, command.split(), env=wide)
    errors = plain(_TOOK.sub("", done.stderr))
    if "--json" in command and done.exit_code in (0, 1, 3):
        return {"exit code": done.exit_code, "json": plain(loads(done.stdout)), "stderr": errors}
    return {"exit code": done.exit_code, "stdout": plain(done.stdout), "stderr": errors}
