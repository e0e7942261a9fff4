"""The same rows in any two forms, wherever these meet: a state, a merge, a folder. They count once, or are refused."""

import os
import shutil

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from calibrant import CalibrationGate, CalibrationSketch
from calibrant.cli.app import app
from tests.strategies import examples
from tests.tables.test_counted_once import World

FILES = ("csv", "csv.gz", "parquet", "jsonl", "arrow")
LINKS = ("link", "hard link", "copy")
FORMS = (*FILES, *LINKS, "folder", "pattern", "sketch", "sketch of sums", "merged")


def run(*options):
    return CliRunner().invoke(app, list(map(str, options)))


def formed(world, form, name, rows, first):
    """What a command is given: these rows in one form, or the first file of them under another name."""
    if form in FILES:
        return world.write(f"{name}.{form}", rows)
    if form in LINKS:
        path = world.folder / f"{name}{''.join(first.suffixes)}"
        if form == "link":
            path.symlink_to(first.resolve())
        else:
            (os.link if form == "hard link" else shutil.copy)(first, path)
        return path
    if form in ("folder", "pattern"):
        for at, half in enumerate(np.array_split(rows, 2)):
            world.write(f"{name}/{at}.csv", half)
        return world.folder / name / ("*.csv" if form == "pattern" else "")
    if form == "sketch of sums":
        return world.write(f"{name}.sketch", rows)
    out = world.folder / f"{name}.sketch"
    if form == "sketch":
        assert run("sketch", world.write(f"{name}.csv", rows), "-o", out).exit_code == 0
        return out
    halves = []
    for at, half in enumerate(np.array_split(rows, 2)):
        halves.append(world.folder / f"{name}{at}.sketch")
        assert run("sketch", world.write(f"{name}{at}.csv", half), "-o", halves[-1]).exit_code == 0
    assert run("merge", *halves, "-o", out).exit_code == 0
    return out


def summed(path, out):
    """Its sketch."""
    if path.suffix != ".sketch":
        assert run("sketch", path, "-o", out).exit_code == 0
        return out
    return path


@pytest.mark.slow
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(FORMS),
    st.sampled_from(FORMS),
    st.sampled_from(["state", "merge", "folder"]),
    st.booleans(),
)
@examples(25)
def test_the_same_rows_in_any_two_forms_count_once(tmp_path_factory, seed, one, other, meeting, shuffled):
    world = World(tmp_path_factory.mktemp("forms"), seed)
    rows = world.batch(200)
    base = world.write("base.csv", rows)
    turned = world.rng.permutation(rows) if shuffled else rows
    first = formed(world, one, "first", rows, base)
    second = formed(world, other, "second", turned, base if first.is_dir() or "*" in first.name else first)
    if meeting == "state":
        state = world.folder / "state"
        options = ("--max-distance", 0.3, "--anytime", state)
        assert run("gate", first, *options).exit_code in (0, 1, 3)
        done = run("gate", second, *options)
        assert done.exit_code == 2, done.output
        assert CalibrationGate.load(state).reading().n_rows == 200
    elif meeting == "merge":
        parts = summed(first, world.folder / "p.sketch"), summed(second, world.folder / "q.sketch")
        done = run("merge", *parts, "-o", world.folder / "all.sketch")
        assert done.exit_code == 2, done.output
        with pytest.raises(ValueError, match="rows"):
            CalibrationSketch.merge(CalibrationSketch.from_bytes(each.read_bytes()) for each in parts)
    else:
        place = world.folder / "place"
        place.mkdir()
        if any(each.is_dir() or "*" in each.name for each in (first, second)) or first.suffixes != second.suffixes:
            return  # a folder holds files of one format
        for each in (first, second):
            each.rename(place / each.name)
        if other == "link":
            (place / second.name).unlink()
            (place / second.name).symlink_to(place / first.name)
        for command in (("audit", "--resamples", 0), ("gate", "--max-distance", 0.3)):
            done = run(command[0], place, *command[1:])
            assert done.exit_code == 2, done.output
            assert "first" in done.output
            assert "second" in done.output
