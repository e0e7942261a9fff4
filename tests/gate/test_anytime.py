"""A gate that is watched: the same however rows come in, kept from day to day, and wrong no more often than it says."""

import base64
import copy
import hashlib
import json
import pickle
import threading
from contextlib import nullcontext
from dataclasses import fields, replace

import numpy as np
import pytest
from typer.testing import CliRunner

from calibrant import CalibrationGate, CalibrationSketch, InputError, Interval, calibration_gate
from calibrant.cli.app import app
from calibrant.door.errors import FileError
from calibrant.door.output import alone_with, write_whole
from calibrant.door.rows import Rows
from calibrant.door.sample import Sample
from calibrant.gate.anytime import AddedBeforeError, Origin, _possible, gate_so_far
from calibrant.gate.table import loose_limit_of
from calibrant.inference.bounds.draws import Draws
from calibrant.inference.bounds.gate import Won
from calibrant.inference.bounds.population import sample_distance
from calibrant.sketch.sketch import UNSEALED, is_whole, sealed
from calibrant.tables.identities import Ordered

pytestmark = pytest.mark.usefixtures("one_database")


def rows(n, shift, seed=0):
    rng = np.random.default_rng(seed)
    v = rng.random(n) * (1.0 - shift)
    return (rng.random(n) < v + shift).astype(float), v


def fed(y, v, size=200, **options):
    gate = CalibrationGate(**options)
    for at in range(0, y.size, size):
        gate.update(y[at : at + size], v[at : at + size])
    return gate


@pytest.mark.slow
def test_it_decides_either_way_and_says_how_many_rows_it_needs():
    near = fed(*rows(3000, 0.0), max_distance=0.05).reading()
    far = fed(*rows(3000, 0.2), max_distance=0.1).reading()
    assert (near.verdict, far.verdict) == ("within", "beyond")
    assert near.anytime
    assert "at any time" in near.summary()
    undecided = fed(*rows(1000, 0.1), max_distance=0.1).reading()
    assert undecided.verdict == "undecided"
    assert undecided.rows_needed is None or undecided.rows_needed > 1000
    assert CalibrationGate(max_distance=0.1).reading().summary().startswith("UNDECIDED: ")


def test_one_file_alone_can_prove_beyond():
    assert CalibrationGate(max_distance=0.1).update(*rows(1000, 0.3)).verdict == "beyond"


@pytest.mark.slow
def test_ends_only_draw_closer_and_a_verdict_stays():
    y, v = rows(4000, 0.15)
    gate, before = CalibrationGate(max_distance=0.1), None
    for at in range(0, 4000, 250):
        found = gate.update(y[at : at + 250], v[at : at + 250])
        assert found == gate.reading()
        if before:
            assert before.lower_distance.low <= found.lower_distance.low
            assert found.lower_distance.high <= before.lower_distance.high
            assert before.verdict in ("undecided", found.verdict)
        before = found
    assert before.verdict == "beyond"
    # Rows of another kind, against all that was said: they are refused, and what was proved is not taken back.
    with pytest.raises(
        InputError, match=r"one population with those before \(distance at least .* before, at most .* now\)"
    ):
        gate.update(np.tile([0.0, 1.0], 50_000), np.full(100_000, 0.5))
    assert gate.reading() == before


def test_the_order_of_rows_within_a_batch_does_not_matter():
    y, v = rows(900, 0.2)
    order = np.random.default_rng(1).permutation(300)
    one, other = CalibrationGate(max_distance=0.1), CalibrationGate(max_distance=0.1)
    for at in (0, 300, 600):
        part = slice(at, at + 300)
        found = one.update(y[part], v[part])
        assert found == other.update(y[part][order], v[part][order])


@pytest.mark.slow
def test_sketches_come_in_as_their_rows_do():
    y, v = rows(900, 0.2)
    exact, grid = np.round(v * 64) / 64, CalibrationGate(max_distance=0.1)
    of_rows, pooled = CalibrationGate(max_distance=0.1), CalibrationGate(max_distance=0.1)
    for at in (0, 300, 600):
        part = slice(at, at + 300)
        rows_ = of_rows.update(y[part], exact[part])
        assert rows_ == grid.update_sketch(CalibrationSketch().update(y[part], exact[part]))
        cells = pooled.update_sketch(CalibrationSketch().update(y[part], v[part]))
    whole = fed(y, v, 300, max_distance=0.1).reading()
    assert cells.lower_distance.high == pytest.approx(whole.lower_distance.high, abs=2e-4)
    assert cells.lower_distance.low == pytest.approx(whole.lower_distance.low, abs=2e-2)
    assert cells.n_rows == 900


@pytest.mark.parametrize(
    "bad",
    [
        lambda gate: gate.update([0, 1], [0.5, 1.5]),
        lambda gate: gate.update([0.5, 1], [0.5, 0.5]),
        lambda gate: gate.update_sketch(CalibrationSketch()),
        lambda gate: gate.update_sketch(CalibrationSketch(1024).update([0, 1], [0.2, 0.3])),
        lambda gate: gate.update_sketch(CalibrationSketch().update([0, 1], [0.2, 0.3], sample_weight=[1, 2])),
    ],
)
def test_what_it_refuses_leaves_it_as_it_was(bad):
    gate = fed(*rows(300, 0.1), max_distance=0.1)
    before = gate.to_bytes()
    with pytest.raises(InputError):
        bad(gate)
    assert gate.to_bytes() == before


@pytest.mark.slow
def test_a_gate_goes_on_another_day_to_the_last_bit(tmp_path):
    y, v = rows(900, 0.15)
    whole = fed(y, v, 300, max_distance=0.1)
    for kept in (
        lambda gate: CalibrationGate.from_bytes(gate.to_bytes()),
        lambda gate: gate.save(tmp_path / "state") or CalibrationGate.load(tmp_path / "state"),
        copy.deepcopy,
        lambda gate: pickle.loads(pickle.dumps(gate)),
    ):
        gate = CalibrationGate(max_distance=0.1)
        for at in (0, 300, 600):
            gate.update(y[at : at + 300], v[at : at + 300])
            gate = kept(gate)
        assert gate.to_bytes() == whole.to_bytes()
        assert gate.reading() == whole.reading()
    assert CalibrationGate.from_bytes(CalibrationGate(max_distance=0.3).to_bytes()).reading().n_rows == 0


@pytest.mark.slow
def test_its_state_does_not_grow_with_the_rows():
    y, v = rows(2000, 0.1)
    v = np.round(v, 2)
    few, many = (fed(y[:n], v[:n], n // 5, max_distance=0.1) for n in (1000, 2000))
    assert len(many.to_bytes()) < 1.05 * len(few.to_bytes())  # digits of larger numbers, and of samples of rows
    assert len(many.held) == 5  # by a batch it grows, of which so many are listed


def forged(**changes):
    state = json.loads(fed(*rows(300, 0.1), max_distance=0.1).to_bytes())
    state.update(changes, seal=UNSEALED.decode())
    return sealed(json.dumps(state).encode())


@pytest.mark.parametrize(
    "changes",
    [
        {"layout": 1},
        {"max_distance": 0.0},
        {"level": 0.9},
        {"n_batches": 0},
        {"n_batches": 1.5},
        {"n_batches": 400},
        {"won": [400, 1.0, 400, 1.0, 1.0, 400]},
        {"won": [200, 300.0, 200, 1.0, 1.0, 200]},
        {"won": [200, float("nan"), 200, 1.0, 1.0, 200]},
        {"won": [200, 1.0, 200, 1.0, float("nan"), 200]},
        {"won": [200, 1.0, 100, 1.0, 1.0, 100]},
        {"won": [200, 1.0, 1.0]},
        {"won": [200.5, 1.0, 200.5, 1.0, 1.0, 200.5]},
        {"added": ["x"]},
        {"added": ["0" * 64] * 5},
        {"squared": -1.0},
        {"squared": 0.0},
        {"squared": 400.0},
        {"squared": float("nan")},
        {"max_weight": 0},
        {"max_weight": "2"},
        {"max_weight": 0.5},
        {"proved": [0.5, 0.2]},
        {"seen": "x"},
        {"seen": base64.b64encode(CalibrationSketch().update([0], [0.1], sample_weight=[2]).to_bytes()).decode()},
        {"seen": base64.b64encode(CalibrationSketch(64).update([0] * 300, [0.1] * 300).to_bytes()).decode()},
    ],
)
def test_a_state_that_no_batches_lead_to_is_refused(changes):
    data = forged(**changes)
    assert is_whole(data)
    with pytest.raises(InputError):
        CalibrationGate.from_bytes(data)


def test_what_is_no_state_is_refused(tmp_path):
    assert CalibrationGate.from_bytes(forged()).reading().n_rows == 300
    for data in (b"", b"{}", sealed(UNSEALED), sealed(b"[" + UNSEALED + b"]"), CalibrationSketch().to_bytes(), "text"):
        with pytest.raises(InputError):
            CalibrationGate.from_bytes(data)
    with pytest.raises(FileError, match="cannot be read"):
        CalibrationGate.load(tmp_path / "none")
    with pytest.raises(FileError, match="plain file"):
        CalibrationGate.load(tmp_path)


@pytest.mark.slow
def test_threads_lose_no_batch():
    y, v = rows(400, 0.1)
    gate = CalibrationGate(max_distance=0.1)
    parts = [slice(at, at + 50) for at in range(0, 400, 50)]
    threads = [threading.Thread(target=gate.update, args=(y[part], v[part])) for part in parts]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert gate.reading().n_rows == 400


@pytest.mark.slow
def test_it_is_wrong_no_more_often_than_it_says_though_one_looks_after_every_batch():
    level, wrong = 0.2, 0
    values, rates = np.array([0.1, 0.4, 0.8]), np.array([0.25, 0.5, 0.95])
    distance = sample_distance(Sample.of_arrays(rates, values, np.ones(3)))
    assert distance.lower == pytest.approx(0.4 / 3, abs=1e-3)
    for seed in range(25):
        rng = np.random.default_rng(seed)
        gate = CalibrationGate(max_distance=distance.upper, level=level)
        for _ in range(15):
            at = rng.integers(0, 3, 30)
            found = gate.update(rng.random(30) < rates[at], values[at])
        wrong += found.lower_distance.low > distance.upper or found.lower_distance.high < distance.lower
    assert wrong <= 13  # each end fails with probability 0.2 at most: 25 times 0.4, and more has a chance of 0.08


def run(*arguments):
    return CliRunner().invoke(app, ["gate", *map(str, arguments)])


@pytest.fixture
def days(tmp_path):
    y, v = rows(900, 0.0)
    found = []
    for day in range(3):
        found.append(tmp_path / f"{day}.csv")
        part = slice(300 * day, 300 * day + 300)
        np.savetxt(
            found[-1],
            np.column_stack([y[part], v[part]]),
            fmt="%.17g",
            delimiter=",",
            header="y_true,y_prob",
            comments="",
        )
    return found


@pytest.mark.slow
def test_the_command_goes_on_from_file_to_file(days, tmp_path):
    state = tmp_path / "state"
    options = ("--max-distance", 0.06, "--anytime", state)
    done = [run(day, *options) for day in days]
    assert [each.exit_code for each in done] == [3, 3, 0], [each.output for each in done]
    whole = fed(*rows(900, 0.0), 300, max_distance=0.06)
    warned = "\nWarning: an error within the limit could cost up to "
    assert done[-1].stdout.startswith(whole.reading().sentence + warned)
    held = state.read_bytes()
    kept = json.loads(held)
    assert [each[0] for each in kept["held"]] == [300, 300, 300]
    expected = json.loads(whole.to_bytes())
    for name in kept.keys() - {"seal", "held", "files", "provenance"}:
        assert kept[name] == expected[name]
    paths = [each.pop(7) for each in kept["held"]]
    assert len(set(paths)) == 3
    assert [each.pop(7) for each in expected["held"]] == [None] * 3
    assert kept["held"] == expected["held"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0.csv", "1.csv", "2.csv", "state"]
    assert run(*options, "--so-far").stdout == done[-1].stdout  # what was printed, should it have been lost
    twice = run(days[0], *options)
    assert twice.exit_code == 2
    assert "--distinct" in twice.output
    assert state.read_bytes() == held
    assert run(days[0], *options, "--again").exit_code == 2  # which is of other files
    copy = tmp_path / "copy.csv"
    copy.write_bytes(days[0].read_bytes())
    found = json.loads(run(copy, *options, "--again", "--json").stdout)
    assert found["anytime"]
    assert found["n_rows"] == 1200


@pytest.mark.slow
def test_the_command_leaves_a_state_that_it_cannot_use(days, tmp_path):
    state = tmp_path / "state"
    assert run(days[0], "--max-distance", 0.06, "--anytime", state).exit_code == 3
    before = state.read_bytes()
    for options, said in (
        (("--max-distance", 0.05), "max-distance: is 0.05"),
        (("--max-distance", 0.06, "--level", 0.1), "level: is 0.1"),
        (("--max-distance", 0.06, "--max-weight", 2), "max-weight: is 2.0, and"),
    ):
        done = run(days[1], *options, "--anytime", state)
        assert done.exit_code == 2
        assert said in done.output
        assert state.read_bytes() == before
    bad = tmp_path / "bad.csv"
    bad.write_text("y_true,y_prob\n0,0.5\n1,1.5\n")
    assert run(bad, "--max-distance", 0.06, "--anytime", state).exit_code == 2
    assert state.read_bytes() == before
    state.write_bytes(before[:-1] + b"x")
    done = run(days[1], "--max-distance", 0.06, "--anytime", state)
    assert done.exit_code == 2
    assert "--anytime: " in done.output
    assert "damaged" in done.output
    assert run(days[1], "--max-distance", 0.06, "--anytime", days[1]).exit_code == 2
    assert run(days[1], "--max-distance", 0.06, "--anytime", tmp_path / "no" / "state").exit_code == 2


def write(path, *columns, names="y_true,y_prob,w"):
    np.savetxt(path, np.column_stack(columns), fmt="%.17g", delimiter=",", header=names, comments="")


@pytest.mark.slow
def test_the_command_adds_weighted_rows_to_a_state(tmp_path):
    state, gate = tmp_path / "state", CalibrationGate(max_distance=0.1, max_weight=3)
    options = ("--max-distance", 0.1, "--anytime", state, "--sample-weight", "w", "--max-weight", 3)
    for day in range(2):
        y, v = rows(600, 0.3, day)
        w = 1.0 + (np.arange(600) % 3)
        write(tmp_path / f"{day}.csv", y, v, w)
        done = run(tmp_path / f"{day}.csv", *options)
        found = gate.update(y, v, sample_weight=w)
        assert done.stdout.startswith(found.sentence + "\nDo: ")
    assert done.exit_code == 1
    assert run("--max-distance", 0.1, "--anytime", state, "--so-far").stdout == done.stdout
    for wrong, said in (
        (("--unweighted",), "--max-weight: is missing, and"),
        (("--sample-weight", "w", "--max-weight", 4), "--max-weight: is 4.0, and"),
    ):
        refused = run(tmp_path / "0.csv", "--max-distance", 0.1, "--anytime", state, *wrong)
        assert refused.exit_code == 2
        assert said in refused.output
    for wrong in (
        ("--max-distance", 0.1),
        ("--max-distance", 0.1, "--anytime", tmp_path / "none"),
    ):
        assert run(*wrong).exit_code == 2
    assert run(tmp_path / "0.csv", "--max-distance", 0.1, "--again").exit_code == 2


def test_two_that_write_one_state_wait_for_one_another(tmp_path):
    at, seen = tmp_path / "state", []

    def add(number):
        with alone_with(at):
            before = at.read_text() if at.exists() else ""
            seen.append(number)
            write_whole(at, before + f"{number} ")

    threads = [threading.Thread(target=add, args=(number,)) for number in range(20)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert at.read_text() == "".join(f"{number} " for number in seen)
    assert [path.name for path in tmp_path.iterdir()] == ["state"]
    (tmp_path / ".state.lock").touch()  # of one that was killed
    add(20)
    with pytest.raises(FileError, match="locked"), alone_with(tmp_path / "none" / "state"):
        pass


@pytest.mark.slow
def test_the_command_takes_weights_whose_bound_it_is_told(tmp_path):
    y, v = rows(500, 0.2)
    w = 1.0 + (np.arange(500) % 3)
    path = tmp_path / "rows.csv"
    np.savetxt(path, np.column_stack([y, v, w]), fmt="%.17g", delimiter=",", header="y_true,y_prob,weight", comments="")
    said = run(path, "--max-distance", 0.05, "--max-weight", 3, "--sample-weight", "weight", "--json")
    expected = calibration_gate(y, v, sample_weight=w, max_weight=3, max_distance=0.05)
    assert expected.verdict == "beyond"
    assert said.exit_code == 1
    printed = json.loads(said.stdout)
    assert {**expected.to_dict(), "premises": printed["premises"]}.items() <= printed.items()
    assert printed["premises"]["max_weight"] == expected.premises.max_weight
    assert "--max-weight" in run(path, "--max-distance", 0.05).output  # the way out is told
    for options, told in (
        (("--sample-weight", "weight"), "--max-weight: is needed"),
        (("--max-weight", 2, "--sample-weight", "weight"), "is 2, but row 2 (from 0) weighs 3"),
        (("--max-weight", -1, "--sample-weight", "weight"), "--max-weight: is -1"),
        (("--max-weight", 2, "--unweighted"), "--max-weight: has no effect"),
    ):
        done = run(path, "--max-distance", 0.05, *options)
        assert done.exit_code == 2, options
        assert told in done.output, (told, done.output)


@pytest.mark.slow
def test_a_batch_without_weight_is_a_part_like_any_other():
    """Refused by itself, it is fine as a part of a whole: first, between and last, as rows and as a sketch."""
    rng = np.random.default_rng(0)
    v = rng.random(400)
    y, weight = (rng.random(400) < v).astype(float), rng.integers(0, 3, 400) * 1.0
    weight[:100] = weight[200:300] = 0.0
    batches = [(y[k : k + 50], v[k : k + 50], weight[k : k + 50]) for k in range(0, 400, 50)]
    readings = []
    for as_sketch in (False, True):
        gate = CalibrationGate(max_distance=0.2, max_weight=2.0)
        for one, other, of in batches:
            if as_sketch:
                found = gate.update_sketch(CalibrationSketch().update(one, other, sample_weight=of))
            else:
                found = gate.update(one, other, sample_weight=of)
            again = CalibrationGate.from_bytes(gate.to_bytes())
            assert again.reading() == gate.reading() == found
        readings.append(found)
    assert {found.n_rows for found in readings} == {400}
    assert readings[0].lower_distance.high < 1.0
    nothing = CalibrationGate(max_distance=0.2, max_weight=2.0).update(y[:9], v[:9], sample_weight=np.zeros(9))
    assert (nothing.verdict, nothing.lower_distance, nothing.n_rows) == ("undecided", Interval(0.0, 1.0), 9)
    parts = [CalibrationSketch().update(*batch[:2], sample_weight=batch[2]) for batch in batches]
    whole = CalibrationSketch().update(y, v, sample_weight=weight)
    assert CalibrationSketch.merge(parts).sample.prediction.tolist() == whole.sample.prediction.tolist()
    with pytest.raises(InputError, match="sample_weight: is zero in every row"):
        parts[0].audit()


@pytest.mark.parametrize(
    ("name", "within", "beyond"),
    [
        ("weight", 1.09, 1.11),  # of n: at most a tenth more than rows can have, for what cells add
        ("total", 1.09, 1.11),
        ("total", -1.09, -1.11),
        ("cross", 1.09, 1.11),
        ("squares", 2.19, 2.21),
        ("squared_weight", 2.19, 2.21),
    ],
)
def test_a_state_has_sums_that_its_rows_can_have_a_tenth_more_at_most(name, within, beyond):
    gate = CalibrationGate(max_distance=0.1, max_weight=2.0)
    gate.update(*rows(400, 0.0), sample_weight=np.ones(400))
    n = gate._won.n
    even = replace(gate._won, total=0.0, weight=n, squares=n, cross=0.0, squared_weight=n)
    for share, refused in ((within, False), (beyond, True)):
        wide = {"squared_weight": 1.2 * n} if name == "weight" else {}
        gate._won = replace(even, **{name: share * n}, **wide)
        if refused:
            with pytest.raises(InputError, match=r"has sums that .* rows cannot have"):
                gate._check()
        else:
            gate._check()


def test_squares_of_errors_are_at_most_a_tenth_more_than_the_rows():
    gate = fed(*rows(400, 0.1), max_distance=0.1)
    for squared, refused in ((gate._squared, False), (1.09 * 400, False), (1.11 * 400, True), (-0.1, True)):
        gate._squared = squared
        if refused:
            with pytest.raises(InputError, match="squared"):
                gate._check()
        else:
            gate._check()


def test_a_state_has_squares_of_weights_and_proved_ends_that_there_can_be():
    gate = CalibrationGate(max_distance=0.1, max_weight=2.0)
    gate.update(*rows(400, 0.0), sample_weight=np.ones(400))
    n, won, proved = gate._won.n, gate._won, gate._proved
    for squared, refused in ((n / 1.09, False), (n / 1.11, True)):  # of equal weights they are the least: n
        gate._won = replace(won, total=0.0, weight=n, squares=n, cross=0.0, squared_weight=squared)
        with pytest.raises(InputError, match=r"has sums that .* rows cannot have") if refused else nullcontext():
            gate._check()
    gate._won = won
    for ends in ((-0.01, 0.5), (0.5, 0.4), (0.0, 1.01), (0.0, 1.2)):
        gate._proved = Interval(*ends)
        with pytest.raises(InputError, match="is no interval within") as refused:
            gate._check()
        assert refused.value.argument == "proved"
    gate._proved = proved
    gate._check()


@pytest.mark.parametrize(
    ("before", "said"),
    [
        (Interval(0.3, 0.4), r"distance at least 0\.3 before, at most 0\.\d+ now"),
        (Interval(0.0, 0.01), r"distance at least 0\.\d+ now, at most 0\.01 before"),
    ],
)
def test_ends_that_cross_are_of_two_populations(before, said):
    y, v = rows(4000, 0.0) if before.low else (np.ones(4000), np.full(4000, 0.5))
    gate = CalibrationGate(max_distance=0.1)
    gate.update(y[:2000], v[:2000], distinct=True)
    gate._proved = before
    with pytest.raises(InputError, match=said):
        gate.update(y[2000:], v[2000:], distinct=True)


@pytest.mark.parametrize("n", [0, 1, 2])
def test_what_is_said_of_a_loose_limit_is_of_the_rows_of_a_state(tmp_path, n):
    gate = CalibrationGate(max_distance=0.4)
    if n:
        gate.update(np.ones(n), np.linspace(0.9, 0.95, n))
    gate.save(tmp_path / "state")
    found = gate_so_far(tmp_path / "state")[1].loose_limit
    assert found == (loose_limit_of(gate._seen.sample, 0.4) if n else None)
    assert (found is None) == (n == 0)


@pytest.mark.parametrize(
    ("asked", "said"), [((), ""), ((0.01,), ""), ((0.05,), "level: is 0.05"), ((0.02,), "level: is 0.02")]
)
def test_a_level_that_is_not_given_is_the_states(tmp_path, asked, said):
    CalibrationGate(max_distance=0.4, level=0.01).save(tmp_path / "state")
    done = run("--anytime", tmp_path / "state", "--so-far", *(("--level", *asked) if asked else ()))
    assert done.exit_code == (2 if said else 3)
    assert said in done.output


@pytest.mark.parametrize("name", ["weight", "total", "squares", "cross", "squared_weight"])
def test_sums_of_a_state_are_possible_up_to_what_cells_may_add(name):
    n = 100.0
    possible = dict(zip(WON, (n, 0.0, n, 0.0, 0.0, n), strict=True))
    assert _possible(Won(**possible), weighted=True)
    most = {"weight": 1.1 * n / 1.1**0.5, "total": 1.1 * n, "squares": 2.2 * n, "cross": 1.1 * n}
    most["squared_weight"] = 2.2 * n
    assert _possible(Won(**{**possible, name: 0.999 * most[name]}), weighted=True)
    assert not _possible(Won(**{**possible, name: 1.001 * most[name]}), weighted=True)
    assert _possible(Won(**{**possible, "weight": 0.5, "squared_weight": 0.5}), weighted=True)
    assert not _possible(Won(**{**possible, "weight": 1.2 * n, "squared_weight": 2.0 * n}), weighted=True)


WON = [each.name for each in fields(Won)]


def ordered(y, v):
    return Ordered(y, v, None, None, "", (v.size,))


@pytest.mark.parametrize("path", ["one", "other", None])
def test_a_file_that_is_said_to_be_of_other_rows_is_refused_where_it_is_the_very_same(path):
    y, v = rows(200, 0.1)
    gate = CalibrationGate(max_distance=0.3)
    gate.add(ordered(y, v), distinct=True, origin=Origin("one"))
    before = gate.to_bytes()
    if path != "one":
        assert gate.add(ordered(y, v), distinct=True, origin=Origin(path)).n_rows == 400
        return
    with pytest.raises(AddedBeforeError, match="rows were added before; distinct=True says that they are") as caught:
        gate.add(ordered(y[::-1], v[::-1]), distinct=True, origin=Origin("one"))
    overlap = caught.value.overlap
    assert (overlap.how, overlap.count, overlap.certain) == ("copy", 200, True)
    assert gate.to_bytes() == before
    y, v = rows(200, 0.1, seed=1)
    assert gate.add(ordered(y, v), distinct=True, origin=Origin("one")).n_rows == 400  # the file is another by now


@pytest.mark.parametrize("batch", [None, "rows", "sketch"])
def test_a_state_of_layout_2_knows_its_rows_by_their_cells_and_batches_by_their_digests(batch):
    gate = CalibrationGate(max_distance=0.1)
    y, v = np.array([0.0, 1.0, 1.0]), np.array([0.1, 0.1, 0.9])
    digest, n_batches, sketch = hashlib.sha256(), int(batch is not None), CalibrationSketch().update(y, v)
    if batch is not None:
        gate.update(y, v)
        units = Draws.of_sample(Rows.of(y, v).sample)
        for column in (units.y, units.v, units.w, units.copies) if batch == "rows" else sketch.cells():
            digest.update(np.ascontiguousarray(column).tobytes())
    state = json.loads(gate.to_bytes()) | {"layout": 2, "seal": UNSEALED.decode()}
    state["added"] = [digest.hexdigest()] * n_batches
    del state["held"], state["provenance"]
    again = CalibrationGate.from_bytes(sealed(json.dumps(state).encode()))
    assert len(again.held) == n_batches
    assert again.held == gate._seen.claims()[:1]
    assert again.provenance.complete == (not n_batches)
    if batch is not None:
        with pytest.raises(InputError, match="once: rows are exactly those of an earlier batch"):
            again.update(y, v) if batch == "rows" else again.update_sketch(sketch)
    assert again.update(y, v, distinct=True).n_rows == 3 * (n_batches + 1)


def test_rows_are_added_by_their_weight_as_rows_and_as_a_sketch():
    y, v = rows(60, 0.1)
    w = np.linspace(0.5, 2.0, 60)
    gate = CalibrationGate(max_distance=0.3, max_weight=2.0)
    gate.update(y, v, sample_weight=w)
    assert gate._seen.sample.total_weight == pytest.approx(w.sum())
    gate.update_sketch(CalibrationSketch().update(1.0 - y, v, sample_weight=w))
    assert gate._seen.sample.total_weight == pytest.approx(2.0 * w.sum())
    found = gate.reading()
    assert (found.n_rows, found.premises.weighted, found.premises.max_weight) == (120, True, 2.0)


def of_few_predictions(n):
    """Rows that nothing but their order tells from others: predictions are few, so no sample of rows is held."""
    rng = np.random.default_rng(0)
    v = rng.integers(1, 32, n) / 32
    return (rng.random(n) < v).astype(float), v


def test_rows_that_begin_as_earlier_ones_are_refused_but_where_those_were_distinguished():
    y, v = of_few_predictions(400)
    other = [*range(150), *range(300, 400)]  # begins as the first source, and goes on otherwise
    gate = CalibrationGate(max_distance=0.3)
    gate.add(ordered(y[:200], v[:200]))
    with pytest.raises(AddedBeforeError) as caught:
        gate.add(ordered(y[other], v[other]))
    assert caught.value.overlap.how == "begin"
    gate.add(ordered(y[other], v[other]), distinct=True)
    grown = ordered(y[:300], v[:300])
    begun = gate.begun(grown)
    assert (begun.count, begun.sources) == (200, (0,))
    assert gate.add(grown, after=begun).n_rows == 550


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ("text", "data: is a str; bytes of `to_bytes` are needed"),
        (None, "data: is a NoneType; bytes of `to_bytes` are needed"),
        (b"", "data: is not the state of a CalibrationGate, or a part of one, or damaged"),
        (b"{}", "data: is not the state of a CalibrationGate, or a part of one, or damaged"),
        (
            CalibrationGate(max_distance=0.1).to_bytes().replace(b'"max_distance": 0.1', b'"max_distance": 0.2'),
            "data: is not the state of a CalibrationGate, or a part of one, or damaged",
        ),
        (sealed(b"[" + b'"' + UNSEALED + b'"]'), "data: is not the state of a CalibrationGate: "),
    ],
)
def test_bytes_are_a_whole_state_to_the_last_bit(data, said):
    with pytest.raises(InputError) as caught:
        CalibrationGate.from_bytes(data)
    assert str(caught.value).startswith(said)


def test_what_a_batch_is_said_to_be_is_no_two_things():
    y, v = rows(100, 0.1)
    gate = CalibrationGate(max_distance=0.1)
    with pytest.raises(InputError, match="distinct: says that the rows are others, and once asks whether they are"):
        gate.update(y, v, once=True, distinct=True)
    for each, weight, said in (
        (CalibrationGate(max_distance=0.1, max_weight=2.0), None, "is needed: this gate has a max_weight"),
        (gate, np.ones(100), "cannot be used: this gate has no max_weight, so its rows have no weights"),
    ):
        with pytest.raises(InputError, match=f"^sample_weight: {said}"):
            each.update(y, v, sample_weight=weight)


@pytest.mark.parametrize(
    ("once", "distinct", "refused"), [(False, False, False), (True, False, True), (False, True, False)]
)
def test_few_rows_may_be_equal_by_chance_and_are_refused_where_that_is_asked(once, distinct, refused):
    gate = CalibrationGate(max_distance=0.1)
    gate.update([0, 1, 1], [0.1, 0.2, 0.9], once=True)
    if refused:
        with pytest.raises(AddedBeforeError, match=r"once: rows were added before: .*earlier batch 1"):
            gate.add(ordered(np.array([1.0, 1.0, 0.0]), np.array([0.9, 0.2, 0.1])), once=once)
        with pytest.raises(AddedBeforeError, match=r"^once: rows begin with the 3 rows of an earlier batch"):
            gate.update([0, 1, 1, 1], [0.1, 0.2, 0.9, 0.5], once=once)
    else:
        assert gate.update([1, 1, 0], [0.9, 0.2, 0.1], once=once, distinct=distinct).n_rows == 6


def test_rows_with_fewer_bits_are_remembered_where_it_is_asked():
    for asked, n in (({}, 0), ({"once": True}, 1), ({"distinct": True}, 1)):
        gate = CalibrationGate(max_distance=0.1)
        gate.update([0, 1], [0.1, 0.9], **asked)
        assert len(gate.held) == n
    gate.update(*rows(300, 0.0))
    assert len(gate.held) == 2
