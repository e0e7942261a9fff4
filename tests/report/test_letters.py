"""The picture in letters: its size, its letters, that marks are where the numbers are; and what `print` shows."""

import io
import sys
from functools import cache
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest

from calibrant import audit
from calibrant.cli.options import page
from calibrant.findings.comparison import compare
from calibrant.report.diagram import limits
from calibrant.report.text import ASCII, UNICODE, Grid, _methods, picture
from tests.contradictions import audited

RNG = np.random.default_rng(5)
V = RNG.beta(0.8, 1.4, 700)
Y = (RNG.random(700) < V**1.6).astype(float)


@cache
def found_before():
    return audit(Y, V, random_state=0, n_resamples=39)


@pytest.mark.slow
def test_the_picture_keeps_to_its_size_and_letters_for_audits_of_every_kind():
    audits = [found_before(), audit([1], [0.5], random_state=0), audit([0, 1], [0.0, 1.0], random_state=0)]
    audits += [audited(seed) for seed in (3, 8, 12)]
    for found, marks, width in product(audits, (UNICODE, ASCII), (30, 47, 60, 200)):
        drawn = picture(found, width, marks)
        assert 0 < len(drawn) <= 16
        assert max(map(len, drawn)) <= min(width, 60)
        assert marks is UNICODE or "".join(drawn).isascii()
    assert picture(found_before(), 29, ASCII) == []


def test_marks_are_where_the_numbers_are():
    table = found_before().reliability
    drawn = picture(found_before(), 60, ASCII)
    rows = [line.partition("|")[2] for line in drawn if "|" in line]
    columns, low, high = max(map(len, rows)), *limits(found_before())
    assert (low, high) == (0.0, 1.0)
    seen = 0
    for k, row in enumerate(rows):
        for column, letter in enumerate(row):
            at = (column + 0.5) / columns
            if letter in "#o":
                outcome = np.interp(at, table.prediction, table.outcome)
                assert abs((len(rows) - k - 0.5) / len(rows) - outcome) < 1.0 / len(rows)
                seen += 1
            elif letter == ".":
                assert abs((len(rows) - k - 0.5) / len(rows) - at) < 1.0 / len(rows)
    assert seen > columns / 2


@pytest.mark.slow
def test_two_curves_have_a_letter_each():
    both = (found_before(), audit(Y, V**2, random_state=0, n_resamples=39))
    drawn = picture(compare(("x" * 90, "square"), both, (None, None)), 60, ASCII)
    assert len(drawn) <= 16
    body = "".join(line for line in drawn if "|" in line)
    assert body.count("a") > 10 < body.count("b")
    assert any("b square" in line for line in drawn)


@pytest.mark.parametrize(("encoding", "mark"), [("utf-8", "●"), ("ascii", "#"), ("latin-1", "#")])
def test_the_page_is_in_letters_that_the_terminal_has_and_as_wide_as_it(monkeypatch, encoding, mark):
    out = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    monkeypatch.setattr(sys, "stdout", out)
    said = page(found_before())
    assert f"{mark} estimated rate" in said
    said.encode(encoding)
    assert max(map(len, said.splitlines())) <= 80
    monkeypatch.setattr(out, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "44")
    lines = page(found_before()).partition("Measures")[0].partition("How to do it")[0].splitlines()  # code is unbroken
    assert max(map(len, lines)) <= 44


def test_print_shows_the_answer_in_about_ten_lines():
    said = str(found_before())
    assert said.replace("\n", " ").startswith(found_before().answer.sentence)
    assert 5 <= said.count("\n") + 1 <= 12
    assert max(map(len, said.splitlines())) <= 80
    assert repr(found_before()).startswith("Audit(")
    assert "●" not in found_before().summary()


def test_a_mark_stands_in_the_row_and_column_of_its_numbers():
    grid = Grid.of(60, "linear", (0.2, 0.8), (0.0, 1.0))
    rows = len(grid.cells)
    assert [grid.row(each) for each in (0.0, 1e-12, 1.0, 0.5)] == [rows - 1, rows, 0, rows - int(np.ceil(rows / 2))]
    assert [grid.row(each) for each in (np.nan, np.inf, -np.inf)] == [-1, -1, -1]
    assert [grid.column(each) for each in (0.2, 0.8, 0.1, 0.9)] == [0, grid.columns - 1, -1, -1]
    middle = grid.column(0.5)
    assert abs(grid.centres[middle] - 0.5) <= 0.5 * (grid.centres[1] - grid.centres[0]) + 1e-12
    assert grid.centres[0] == pytest.approx(0.2 + 0.3 / grid.columns)
    for prediction, outcome in ((0.5, np.nan), (0.1, 0.5), (0.9, 0.5)):
        grid.put(prediction, outcome, "x")
    assert not any("x" in row for row in grid.cells)
    grid.put(0.5, 1.0, "x")
    grid.put(0.2, 0.0, "x")
    assert grid.cells[0][middle] == grid.cells[-1][0] == "x"
    grid.put(0.5, 1.0, "y", "*")
    assert grid.cells[0][middle] == "*"
    assert max(map(len, grid.lines(UNICODE, []))) == 60
    assert Grid.of(1, "linear", (0.0, 1.0), (0.0, 1.0)) is None
    assert Grid.of(10_000, "linear", (0.0, 1.0), (0.0, 1.0)).columns <= 200


@pytest.mark.parametrize("rates", [False, True])
def test_the_band_is_drawn_and_named_where_there_is_one(rates):
    found = audit(0.1 + 0.8 * Y if rates else Y, V, random_state=0, n_resamples=0)
    drawn = "\n".join(picture(found, 60, UNICODE))
    assert ("95% band" in drawn) == (not rates) == (found.reliability.band_lower is not None)


def test_the_map_that_was_chosen_is_marked_and_no_other():
    names = ("unchanged", "platt", "beta")
    scores = tuple(SimpleNamespace(method=name, lower_calibration_distance=0.1, brier=0.2, log=0.3) for name in names)
    for chosen in (*names, None):
        _head, *lines = _methods(SimpleNamespace(scores=scores, chosen=chosen)).lines(80)
        shown = [line.split("  ")[0] for line in lines]
        assert shown == [f"{name} <- chosen" if name == chosen else name for name in names]


@pytest.mark.parametrize("seed", range(8))
def test_a_band_covers_the_cells_whose_heights_it_holds_and_none_where_there_is_no_band(seed):
    rng = np.random.default_rng(seed)
    ends = np.sort(rng.random((2, 4)), axis=0) * 1.2
    table = SimpleNamespace(kind="levels", prediction=rng.random(4) * 1.2, band_lower=ends[0], band_upper=ends[1])
    grid = Grid.of(60, "linear", (0.0, 1.0), (0.0, 1.0))
    grid.between(SimpleNamespace(band_lower=None, band_upper=ends[1]), "#")
    grid.between(SimpleNamespace(band_lower=ends[0], band_upper=None), "#")
    assert not any("#" in row for row in grid.cells)
    grid.between(table, "#")
    rows, covered = len(grid.cells), set()
    for v, low, high in zip(table.prediction, *ends, strict=True):
        for row in range(rows):  # from the top; a cell holds its lower edge
            bottom, top = (rows - 1 - row) / rows, (rows - row) / rows
            if v <= 1.0 and low <= 1.0 and low <= top and high > bottom:
                covered.add((row, min(grid.columns - 1, int(v * grid.columns))))
    assert {(i, j) for i, row in enumerate(grid.cells) for j, mark in enumerate(row) if mark == "#"} == covered
