"""What nobody foresees: far dates, tiny levels, deep JSON, durations, commas in names, a disk that is full.

Each ends in one sentence with exit code 2, or in a result.
"""

import errno
import json
import os
import re
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from calibrant import InputError, calibration_gate
from calibrant.cli.app import app
from calibrant.door.arguments import LEAST_SHARE
from calibrant.door.request import AuditRequest
from calibrant.gate.request import GateRequest
from calibrant.lazily import MissingLibraryError, optional
from tests.damage import P, Y

pytestmark = pytest.mark.usefixtures("one_database")

THIRDS = np.arange(Y.size) * 3 // Y.size
FAR = {
    "year 1": (-719162, -719161, 20454),
    "year 9999": (20454, 2932895, 2932896),
    "year 200000": (20454, 72328794, 72329160),
    "before year 1": (-735500, 20454, 20455),
    "as far as days are counted": (-(2**31) + 1, 20454, 2**31 - 1),
}
QUICK = ("audit", "--resamples", "0")


def run(*arguments):
    return CliRunner().invoke(app, [str(each) for each in arguments])


def ends_well(done, *codes):
    """The result, or a sentence of one line on what is wrong."""
    assert done.exit_code in (2, *codes), done.output
    if done.exit_code == 2:
        *_, last = done.stderr.strip().split("\n")
        assert last.startswith("calibrant: ")
        assert "unforeseen" not in done.output
        assert not done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["day", "time", "duration"])
@pytest.mark.parametrize("name", FAR)
def test_far_days_and_long_durations(tmp_path, name, kind):
    days = pa.array(np.array(FAR[name])[THIRDS], pa.int32())
    seconds = pa.array(np.array(FAR[name], np.int64)[THIRDS] * 86400)
    keys = {
        "day": days.cast(pa.date32()),
        "time": seconds.cast(pa.timestamp("s")),
        "duration": seconds.cast(pa.duration("s")),
    }[kind]
    table = pa.table({"y_true": Y, "y_prob": P, "key": keys})
    path = tmp_path / "rows.feather"
    pyarrow.feather.write_feather(table, path)
    for options in (("--drift", "key"), ("--groups", "key")):
        done = run(*QUICK, path, *options)
        ends_well(done, 0)
        if name.startswith("year") and name != "year 200000" and kind != "duration":
            assert done.exit_code == 0
    ends_well(run("gate", path, "--max-distance", "0.2", "--find", "key"), 0, 1, 3)
    ends_well(run("sketch", path, "--by", "key", "-o", tmp_path / "out.parquet"), 0)


@pytest.mark.parametrize("level", [5e-324, 1e-310, LEAST_SHARE / 2, LEAST_SHARE])
def test_a_tiny_level_is_refused_or_works(level):
    if level >= LEAST_SHARE:
        assert calibration_gate(Y, P, max_distance=0.2, level=level).verdict == "undecided"
        return
    with pytest.raises(InputError, match=r"level: is .*e-.*; it must be at least 1e-100"):
        calibration_gate(Y, P, max_distance=0.2, level=level)


SHARES = [
    (GateRequest, ("max_distance", "max_regret", "max_worse", "threshold", "least_followed")),
    (AuditRequest, ("max_distance", "threshold", "least_followed")),
]


@pytest.mark.parametrize("share", [5e-324, 1e-160, LEAST_SHARE / 2])
@pytest.mark.parametrize(("request_of", "option"), [(each, name) for each, names in SHARES for name in names])
def test_a_tiny_limit_is_refused(request_of, option, share):
    with pytest.raises(InputError, match=rf"^{option}: is .*e-.*; it must be at least 1e-100"):
        request_of(**{option: share})


@pytest.mark.parametrize("share", ["1e-300", "1e-160", "1e-100"])
def test_a_tiny_fraction_has_a_result_or_is_none(tmp_path, share):
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"y_true": Y, "y_prob": P}), path)
    done = run(*QUICK, path, "--sampling-fractions", f"0:{share},1:1")
    assert done.exit_code == (0 if share == "1e-100" else 2)
    assert share == "1e-100" or f"outcome 0 is {share}; each must be at least 1e-100" in done.stderr


@pytest.mark.parametrize("command", ["audit", "gate"])
@pytest.mark.parametrize(("limit", "codes"), [("1e-160", (2,)), (str(LEAST_SHARE), (0, 1, 3))])
def test_a_tiny_limit_has_a_result_or_is_no_limit(tmp_path, command, limit, codes):
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"y_true": Y, "y_prob": P}), path)
    ends_well(run(*([command] if command == "gate" else QUICK), path, "--max-distance", limit), *codes)


@pytest.mark.parametrize("kind", ["parquet", "feather", "jsonl"])
@pytest.mark.parametrize("command", ["audit", "gate"])
@pytest.mark.parametrize("held", [[1], {"a": 1}])
def test_a_column_of_groups_that_holds_nested_values_is_named(tmp_path, command, held, kind):
    path, table = tmp_path / f"rows.{kind}", pa.table({"y_true": Y, "y_prob": P, "visits": [held] * Y.size})
    if kind == "parquet":
        pq.write_table(table, path)
    elif kind == "feather":
        pyarrow.feather.write_feather(table, path)
    else:
        path.write_text("\n".join(map(json.dumps, table.to_pylist())))
    done = run(command, path, "--groups", "visits", *(("--max-weight", "9") if command == "gate" else ()))
    assert done.exit_code == 2
    assert "--groups: names the column 'visits', which holds " in done.stderr


@pytest.mark.parametrize("count", [0, 2**31 + 1, 2**53])
@pytest.mark.parametrize("limit", ["--max-distance", "--max-regret"])
def test_as_many_trials_as_a_gate_says_are_allowed_are_taken(tmp_path, count, limit):
    path = tmp_path / "rows.parquet"
    asked = (path, "--trials", "n", "--max-weight", "1e17", limit, "0.2")
    said = r"--trials: .*each must be a whole number from 1 to 2,147,483,648$"
    pq.write_table(pa.table({"y_true": [1.0, 0.0], "y_prob": [0.5, 0.25], "n": [1, count]}), path)
    done = run("gate", *asked)
    assert done.exit_code == 2
    assert re.search(said, done.stderr.strip())
    pq.write_table(pa.table({"y_true": [1.0, 0.0], "y_prob": [0.5, 0.25], "n": [1, 2**31]}), path)
    ends_well(run("gate", *asked), 0, 1, 3)
    assert run("gate", *asked).exit_code != 2


@pytest.mark.parametrize("where", ["first", "later"])
@pytest.mark.parametrize("depth", [900, 100_000])
def test_deep_json(tmp_path, where, depth):
    deep = '{"acc": 1, "y_true": 1, "y_prob": 0.5, "filtered_resps": ' + "[" * depth + "]" * depth + "}\n"
    log = '{"acc": 1, "filtered_resps": [[-0.5, false], [-1.0, false]]}\n' * 3
    path = tmp_path / "log.jsonl"
    path.write_text(deep + log if where == "first" else log + deep)
    ends_well(run(*QUICK, path))
    path.write_text("[" * depth + "]" * depth)
    done = run(*QUICK, path)
    ends_well(done)
    assert "log.jsonl" in done.stderr


@pytest.mark.slow
def test_a_name_that_holds_a_comma_stands_in_quotes(tmp_path):
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"y_true": Y, "y_prob": P, "a,b": THIRDS, "c": THIRDS % 2}), path)
    done = run(*QUICK, path, "--by", '"a,b",c')
    assert done.exit_code == 0, done.output
    done = run(*QUICK, path, "--by", "a,b")
    assert done.exit_code == 2
    assert "there is no column 'a'" in done.stderr
    assert "a name that holds a comma stands in double quotes" in done.stderr


@pytest.mark.parametrize("command", ["sketch", "merge"])
@pytest.mark.parametrize("ending", ["sketch", "parquet"])
def test_a_full_disk_is_told_of_the_file_that_it_has_no_place_for(tmp_path, monkeypatch, command, ending):
    rows, one, out = tmp_path / "rows.parquet", tmp_path / "one.sketch", tmp_path / f"out.{ending}"
    pq.write_table(pa.table({"y_true": Y, "y_prob": P}), rows)
    done = run("sketch", rows, "-o", one)
    assert done.exit_code == 0, done.output

    def full(_descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    done = run(command, rows if command == "sketch" else one, "-o", out)
    assert done.exit_code == 2
    assert done.stderr.strip().split("\n")[-1].startswith(f"calibrant: --out: {str(out)!r} cannot be written: No space")
    assert not out.exists()


@pytest.mark.slow
@pytest.mark.parametrize("command", ["audit", "gate --max-distance 0.1"])
def test_where_numba_is_told_to_compile_nothing(tmp_path, command):
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"y_true": Y, "y_prob": P}), path)
    asked = [sys.executable, "-m", "calibrant", *command.split(), str(path)]
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(asked, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.strip().split("\n")[-1].startswith("calibrant: NUMBA_DISABLE_JIT: is set")
    assert not done.stdout


def test_a_missing_library_is_told_with_how_it_is_installed():
    for library, named in (("torch", "'calibrant[torch]'"), ("ignite", "pytorch-ignite 'calibrant[torch]'")):
        with pytest.raises(MissingLibraryError, match="a thing needs") as told, optional("a thing", "torch", "ignite"):
            raise ModuleNotFoundError(f"No module named '{library}'", name=library)
        assert str(told.value).endswith(f"which is not installed: pip install {named}")
        assert told.value.name == library
    with pytest.raises(ModuleNotFoundError, match="other"), optional("a thing", "torch"):
        raise ModuleNotFoundError("other", name="other")


@pytest.mark.slow
@pytest.mark.parametrize("module", ["torch", "integrations.ignite", "integrations.torchmetrics"])
def test_a_module_that_needs_torch_says_so(module):
    code = f"import sys; sys.modules['torch'] = None\nimport calibrant.{module}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert f"calibrant.{module} needs torch, which is not installed: pip install 'calibrant[torch]'" in done.stderr
