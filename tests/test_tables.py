"""Every table of numbers in the book names what writes it; what is cheap is computed again here.

A source is a program of benchmarks/, a reproduction that the table quotes, or a test. Tables that no command writes are
named as such: their numbers were measured once.
"""

import re
from pathlib import Path

import numpy as np
import pytest

from calibrant import calibration_gate
from calibrant.door.identity import information
from calibrant.recalibration.curves.averaged import MEMBERS
from calibrant.synthetic import shifted_uniform

ROOT = Path(__file__).parents[1]
NUMBER = re.compile(r"[*~<]*[+-]?[\d.][\d.,]*(e[+-]?\d+)?[*%]*( (to|of|±|\().*)?")
ONCE = "measured once: no command writes it"
SOURCES = {
    ("readers.md", "First screens, tried on readers"): ONCE,
    ("benchmarks-classes.md", "Many classes, beside other libraries"): "benchmarks/classes.py",
    ("benchmarks-distances.md", "Lower distance, processor seconds"): "benchmarks/distances.py",
    (
        "benchmarks-distances.md",
        "True distance of distinct rows, exactly: processor seconds",
    ): "benchmarks/distances.py",
    ("benchmarks-memory.md", "Peak memory"): "benchmarks/memory.py",
    ("benchmarks-roads.md", "Cost by kind of input"): "benchmarks/roads.py",
    ("benchmarks-scale.md", "Cost by size"): "benchmarks/scale.py",
    ("benchmarks-scale.md", "One scan in place of a GROUP BY"): ONCE,
    ("benchmarks-scale.md", "The present version: an array of cells instead of a hash table"): ONCE,
    ("benchmarks-scale.md", "The same million rows in every kind of input"): "benchmarks/scale.py",
    ("bounds.md", "The lower end"): ONCE,
    ("bounds.md", "What to expect"): "tests/test_tables.py::test_the_gates_ends_are_those_of_the_page",
    ("bounds.md", "Compared with the usual bootstrap"): "benchmarks/bounds.py",
    ("calibration-test.md", "Nine networks"): "tests/test_tables.py::test_pvalues_of_networks_are_those_of_their_page",
    ("constants.md", "The residual of a random grid"): "tests/measures/test_constants.py",
    ("decisions.md", "A band for the population's net benefit"): ONCE,
    ("decisions.md", "How much at most, in the population: `regret_bounds`"): ONCE,
    ("decisions.md", "How often the panel's intervals hold the truth"): "docs/reproductions/clinical-coverage.md",
    ("found-segments.md", "The gate"): "docs/reproductions/gate-find.md",
    ("hardness.md", "Section 6.1: noiseless outcomes, any masses"): "tests/test_synthetic.py",
    ("identity.md", "A copy, or chance?"): "tests/test_tables.py::test_bits_of_batches_are_those_of_the_page",
    ("lower.md", "Event rates that are nearly the predictions"): ONCE,
    ("lower.md", "Steps that a few pairs block"): ONCE,
    ("weights.md", "Sampling by outcome"): ONCE,
    ("new.md", "What is open"): ONCE,
    ("recalibration.md", "The averaged map"): "tests/test_tables.py::test_prior_weights_are_those_of_the_page",
    ("smooth.md", "Limits"): ONCE,
    ("tcal.md", "Time"): "benchmarks/tcal.py",
    ("trust.md", "Other libraries' numbers"): "tests/peers/test_peers.py",
    ("weights.md", "Censored outcomes"): "tests/test_docs.py",
}
WRITTEN_WHOLE = {"benchmarks-maps.md": "benchmarks/maps.py"}
"""Pages of which a program writes every table."""
QUOTED = {
    ("found-segments.md", "The gate"),
}


def tables():
    """Page, heading and rows of every table of which a third of the cells are numbers."""
    for path in sorted((ROOT / "docs").glob("*.md")):
        text = re.sub(r"```.*?```", "", path.read_text(), flags=re.DOTALL)
        heading, lines = "", []
        for line in [*text.splitlines(), ""]:
            if line.startswith("|"):
                lines.append(line)
                continue
            rows = [[cell.strip() for cell in each.split("|")[1:-1]] for each in lines[2:]]
            cells = [cell for row in rows for cell in row[1:]]
            if cells and 3 * sum(bool(NUMBER.fullmatch(cell)) for cell in cells) >= len(cells):
                yield path.name, heading, rows
            lines = []
            heading = line.lstrip("# ") if line.startswith("#") else heading


def rows_of(page, heading):
    return [row for name, title, rows in tables() if (name, title) == (page, heading) for row in rows]


def test_every_table_of_numbers_names_what_writes_it():
    assert {(page, heading) for page, heading, _ in tables() if page not in WRITTEN_WHOLE} == set(SOURCES)
    for source in {*SOURCES.values(), *WRITTEN_WHOLE.values()} - {ONCE}:
        path, _, name = source.partition("::")
        assert (ROOT / path).exists(), source
        assert not name or name in globals(), source


@pytest.mark.parametrize(("page", "heading"), sorted(QUOTED))
def test_quoted_rows_are_those_of_the_reproduction(page, heading):
    lines = (ROOT / SOURCES[page, heading]).read_text().splitlines()
    quoted = [f"| {' | '.join(row)} |" for row in rows_of(page, heading)]
    assert quoted
    assert set(quoted) <= set(lines)


def ends(n, shift, draws):
    found = [calibration_gate(*shifted_uniform(n, shift, k), max_distance=0.05).lower_distance for k in range(draws)]
    return f"{np.mean([each.low for each in found]):.4f} to {np.mean([each.high for each in found]):.4f}"


@pytest.mark.slow
def test_the_gates_ends_are_those_of_the_page():
    for rows, *cells in rows_of("bounds.md", "What to expect"):
        n = int(rows.replace(",", ""))
        assert cells == [ends(n, shift, 3 if n == 100_000 else 10) for shift in (0.0, 0.05, 0.1, 0.3)]


def test_bits_of_batches_are_those_of_the_page():
    evenly = (np.arange(100) + 0.5) / 100
    batches = ((np.array([1.0]), np.array([0.1])), (np.array([500.0]), np.array([0.001])), (np.ones(100), evenly))
    found = [information(count, v, float((count * v).sum() / count.sum())) for count, v in batches]
    cells = [row[1:] for row in rows_of("identity.md", "A copy, or chance?")]
    assert [f"{2.0**-each:.2f}"[1:] for each in found[:2]] == [each[0] for each in cells[:2]]
    assert cells[2][0] == f"10<sup>{round(-found[2] * np.log10(2.0))}</sup>"
    assert [f"{each:.1f}" for each in found[:2]] + [f"{found[2]:.0f}"] == [each[1] for each in cells]


def test_prior_weights_are_those_of_the_page():
    said = {name: float(weight) for name, weight, _ in rows_of("recalibration.md", "The averaged map")}
    assert said == {name: weight for name, (weight, _) in MEMBERS.items()}


def test_pvalues_of_networks_are_those_of_their_page():
    page = (ROOT / "docs" / "reproductions" / "real-predictions.md").read_text()
    rows = rows_of("calibration-test.md", "Nine networks")
    assert len(rows) == 9
    for network, _, pvalue in rows:
        name = network.lower().replace("-", "").replace(", ", "_")
        assert re.search(rf"^\| {name} \|.*miscalibrated, p = {re.escape(pvalue)} \|", page, flags=re.MULTILINE), name
