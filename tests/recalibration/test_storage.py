"""Recalibrators as JSON: they predict to the last bit what they did, and nothing damaged is read."""

import copy
import hashlib
import json
import pickle
import subprocess
import sys
from functools import cache

import joblib
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from calibrant import FileError, InputError, Interval
from calibrant.recalibration import (
    AveragedClassScaling,
    DirichletScaling,
    PlattScaling,
    ScalingBinning,
    TemperatureScaling,
    VectorScaling,
    from_json,
    load,
)
from calibrant.recalibration.by_segment.estimator import RepairScore
from calibrant.recalibration.serialization import _plain
from tests.maps import BINARY
from tests.strategies import examples, samples

SEVERAL = [
    TemperatureScaling(clip=np.float32(1e-6)),
    VectorScaling(penalty=2),
    DirichletScaling(),
    AveragedClassScaling(),
]
P = np.linspace(0.0, 1.0, 40)
Y = (np.sin(37.0 * np.arange(40)) < 2.0 * P - 1.0).astype(int)
TABLE = np.random.default_rng(0).dirichlet(np.ones(3), 60)
NAMES = np.array(["ant", "b\u00ea", "\U0001f41d"])[np.arange(60) % 3]
EVERY = pytest.mark.parametrize("fitted", range(len(BINARY + SEVERAL)), ids=map(str, BINARY + SEVERAL), indirect=True)


@cache
def every_fitted():
    return [clone(each).fit(P, Y) for each in BINARY] + [clone(each).fit(TABLE, NAMES) for each in SEVERAL]


@pytest.fixture
def fitted(request):
    return every_fitted()[request.param]


def same(one, other):
    return one.dtype == other.dtype and one.tobytes() == other.tobytes()


@pytest.mark.parametrize("recalibrator", BINARY, ids=str)
@examples(25)
@given(sample=samples(), at=st.lists(st.floats(0, 1), min_size=1, max_size=5))
def test_a_map_of_one_probability_is_the_same_to_the_last_bit(recalibrator, sample, at):
    y_true, y_prob, weight = sample
    fitted = clone(recalibrator).fit(y_prob, y_true, weight)
    text = fitted.to_json()
    again = from_json(text)
    points = np.concatenate([at, y_prob, [0.0, 1.0]])
    assert same(again.predict(points), fitted.predict(points))
    assert again.summary() == fitted.summary()
    assert again.to_json() == text


@pytest.mark.parametrize("recalibrator", SEVERAL, ids=str)
@examples(15)
@given(seed=st.integers(0, 10**6), k=st.integers(2, 5), names=st.sampled_from(["number", "text", "truth"]))
def test_a_map_of_classes_is_the_same_to_the_last_bit(recalibrator, seed, k, names):
    rng = np.random.default_rng(seed)
    k = 2 if names == "truth" else k
    table = rng.dirichlet(np.full(k, 0.4), 30)
    label = np.append(np.arange(k), rng.integers(0, k, 30 - k))
    label = {"number": label, "text": np.array(list("zyxwv"))[label], "truth": label == 1}[names]
    fitted = clone(recalibrator).fit(table, label, rng.random(30) + 0.1)
    again = from_json(fitted.to_json())
    assert same(again.predict(table), fitted.predict(table))
    assert same(again.predict(table[:1]), fitted.predict(table[:1]))
    assert again.score(table, label) == fitted.score(table, label)
    if hasattr(fitted, "classes_"):
        assert same(again.classes_, fitted.classes_)


@EVERY
def test_files_pickles_and_copies(fitted, tmp_path):
    at = TABLE if getattr(fitted, "classes_", None) is not None or getattr(fitted, "n_classes_", None) else P
    path = tmp_path / "map.json"
    fitted.save(path)
    joblib.dump(fitted, tmp_path / "map.joblib")
    for again in (
        load(path),
        load(str(path)),
        pickle.loads(pickle.dumps(fitted)),
        copy.deepcopy(load(path)),
        joblib.load(tmp_path / "map.joblib"),
    ):
        assert same(again.predict(at), fitted.predict(at))
    assert len(repr(fitted)) < 200
    assert json.loads(path.read_text())["version"] == 1


@EVERY
def test_no_flipped_bit_and_no_cut_is_read(fitted):
    data = fitted.to_json().encode()
    for at in np.random.default_rng().choice(len(data), min(len(data), 40), replace=False):  # each run others
        for bit in range(8):
            damaged = bytearray(data)
            damaged[at] ^= 1 << bit
            with pytest.raises(InputError, match=r"^text: (is not a saved|has layout|was damaged)"):
                from_json(damaged.decode("latin-1"))
        with pytest.raises(InputError, match=r"^text: is not a saved recalibrator, or cut short"):
            from_json(data[:at].decode())
    for other in (data + b"\n", data.replace(b",", b", "), b"\xef\xbb\xbf" + data):
        with pytest.raises(InputError, match=r"^text: "):
            from_json(other.decode())


def sealed(content):
    content.pop("checksum", None)
    written = json.dumps(content, separators=(",", ":"))
    seal = "sha256:" + hashlib.sha256(written.encode()).hexdigest()
    return json.dumps({**content, "checksum": seal}, separators=(",", ":"))


def made(kind):
    return json.loads(next(each for each in every_fitted() if type(each).__name__ == kind).to_json())


CHANGES = [
    ("PlattScaling", ("class",), "Pickle", "class is 'Pickle'; it must be one of "),
    ("PlattScaling", ("class",), ["PlattScaling"], "class is "),
    ("PlattScaling", ("class",), "BetaScaling", "fitted are others than a_, b_, c_, smoothed_"),
    ("PlattScaling", ("parameters",), {}, "parameters are others than clip"),
    ("PlattScaling", ("parameters", "clip"), 0.7, "clip is 0.7; it must lie between"),
    ("PlattScaling", ("parameters", "clip"), "1e-6", "clip is '1e-6'"),
    ("PlattScaling", ("fitted", "more_"), 1.0, "fitted are others than"),
    ("PlattScaling", ("more",), 1.0, "content is not that of a recalibrator"),
    ("PlattScaling", ("fitted", "slope_"), float("nan"), "slope_ must be a finite number"),
    ("PlattScaling", ("fitted", "slope_"), float("inf"), "slope_ must be a finite number"),
    ("PlattScaling", ("fitted", "slope_"), "1.0", "slope_ must be a finite number"),
    ("PlattScaling", ("fitted", "slope_"), True, "slope_ must be a finite number"),
    ("PlattScaling", ("fitted", "smoothed_"), 1, "smoothed_ must be true or false"),
    ("PlattScaling", ("fitted", "domain_"), [0.9, 0.1], "domain_ must be two predictions in their order"),
    ("BetaScaling", ("fitted", "a_"), -1.0, "a_ must not be negative"),
    ("PolynomialScaling", ("fitted", "coefficients_"), [], r"coefficients_ must be 1 to 5"),
    ("PolynomialScaling", ("fitted", "coefficients_"), [1.7e308] * 5, "coefficients_ must lie between -1.1e"),
    ("IsotonicScaling", ("fitted", "values_", 0), 1.0, "values_ must not decrease"),
    ("IsotonicScaling", ("fitted", "knots_", 1), 0.0, "knots_ must increase"),
    ("IsotonicScaling", ("fitted", "values_"), [0.5], "values_ must be as many as there are knots"),
    ("IsotonicScaling", ("fitted", "n_steps_"), 1000, "knots_ must be one or two a step"),
    ("IsotonicScaling", ("fitted", "n_steps_"), 2.0, "n_steps_ must be a whole number"),
    ("HistogramBinning", ("fitted", "values_", 0), -0.1, r"values_ must lie in \[0, 1\]"),
    ("HistogramBinning", ("fitted", "edges_"), [], "values_ must be one more than there are edges"),
    ("HistogramBinning", ("parameters", "n_bins"), 3, "values_ must be at most 3, one per bin"),
    ("HistogramBinning", ("parameters", "strategy"), "equal", "strategy is 'equal'; it must be one of"),
    ("ScalingBinning", ("fitted", "scaling_", "fitted", "slope_"), None, "slope_ must be a finite number"),
    ("ScalingBinning", ("fitted", "scaling_", "parameters", "clip"), 0.1, "scaling_ must be a PlattScaling"),
    ("ScalingBinning", ("fitted", "scaling_"), 1.0, "content is not that of a recalibrator"),
    ("ScalingBinning", ("parameters", "scaling"), "PlattScaling", "scaling is 'PlattScaling'; it must be a"),
    ("NearestCalibrated", ("fitted", "interval_error_"), 1.01, "interval_error_ must lie in"),
    ("TemperatureScaling", ("fitted", "temperature_"), 0.0, "temperature_ must lie between"),
    ("TemperatureScaling", ("fitted", "n_classes_"), 3, "domain_ must be there for one column alone"),
    ("VectorScaling", ("fitted", "scale_"), [1.0, 2.0], "shift_ must be as many as there are labels"),
    ("VectorScaling", ("fitted", "shift_", 0), 1e308, "shift_ must lie between -2.52e"),
    ("VectorScaling", ("fitted", "classes_"), ["a", "a", "b"], "classes_ must be two labels or more, each once"),
    ("VectorScaling", ("fitted", "classes_", 0), None, "classes_ must be text, numbers or truth values"),
    ("DirichletScaling", ("fitted", "matrix_", 0), [1.0], "matrix_ must have as many rows as columns"),
    ("DirichletScaling", ("fitted", "matrix_"), 1.0, "matrix_ must be a matrix"),
    ("DirichletScaling", ("parameters", "penalty"), 0, "penalty is 0; it must be a positive, finite number"),
]


@pytest.mark.parametrize(("kind", "where", "value", "said"), CHANGES)
def test_what_no_fit_has_is_refused_under_a_right_checksum(kind, where, value, said):
    content = made(kind)
    part = content
    for key in where[:-1]:
        part = part[key]
    part[where[-1]] = value
    with pytest.raises(InputError, match=f"^text: holds what no fitted recalibrator does: {said}"):
        from_json(sealed(content))


def test_the_seal_of_the_tests_is_that_of_the_code():
    assert sealed(made("PlattScaling")) == next(e for e in every_fitted() if isinstance(e, PlattScaling)).to_json()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "it is not JSON"),
        ("[1, 2]", "is not a saved recalibrator"),
        ("{}", "is not a saved recalibrator"),
        ("[" * 100_000, "it is not JSON"),
        ('{"layout":"calibrant.recalibrator"}', "has layout None; this release of calibrant reads 1"),
        ('{"layout":"calibrant.recalibrator","version":2}', "has layout 2; this release of calibrant reads 1"),
        ('{"layout":"calibrant.recalibrator","version":true}', "has layout True"),
        ('{"layout":"calibrant.recalibrator","version":1}', "its checksum differs"),
        (None, "is a NoneType; the text of to_json is needed"),
        (b"{}", "is a bytes"),
    ],
)
def test_other_texts(text, said):
    with pytest.raises(InputError, match=f"^text: .*{said}"):
        from_json(text)


def test_files_that_cannot_be_read(tmp_path):
    damaged = tmp_path / "damaged.json"
    damaged.write_bytes(b"\x80" + every_fitted()[1].to_json().encode()[1:])
    for path, said in [
        (tmp_path / "none.json", "cannot be read: No such file"),
        (tmp_path, "is not a plain file"),
        (damaged, "is not a saved recalibrator, or cut short"),
        ("nul\0.json", "cannot be read"),
    ]:
        with pytest.raises(FileError, match=f"^path: '.*' {said}"):
            load(path)
    with pytest.raises(InputError, match="path: is 3; a file's path is needed"):
        load(3)
    with pytest.raises(FileError, match=r"the folder .* does not exist"):
        every_fitted()[1].save(tmp_path / "none" / "map.json")


def test_what_cannot_be_saved():
    class Own(PlattScaling):
        pass

    with pytest.raises(NotFittedError):
        PlattScaling().to_json()
    with pytest.raises(InputError, match="recalibrator: is a Own; only recalibrators of calibrant itself are saved"):
        Own().fit(P, Y).to_json()
    with pytest.raises(InputError, match="recalibrator: is a Own"):
        ScalingBinning(scaling=Own()).fit(P, Y).to_json()
    spoilt = PlattScaling().fit(P, Y)
    spoilt.slope_ = np.nan
    with pytest.raises(InputError, match="slope_: must be a finite number"):
        spoilt.to_json()
    days = np.array(["2020-01-01", "2020-01-02", "2020-01-03"], dtype="datetime64[D]")[np.arange(60) % 3]
    dated = VectorScaling().fit(TABLE, NAMES)
    dated.classes_ = days[:3]
    with pytest.raises(InputError, match="classes_: holds a date, which JSON cannot"):
        dated.to_json()


def places(part, path=()):
    yield path
    for key, inner in part.items() if isinstance(part, dict) else enumerate(part[:2]) if isinstance(part, list) else ():
        yield from places(inner, (*path, key))


@EVERY
def test_whatever_stands_in_a_place_it_is_refused_or_maps_to_probabilities(fitted):
    whole = json.loads(fitted.to_json())
    table = getattr(fitted, "classes_", None) is not None or getattr(fitted, "n_classes_", None)
    for path in places(whole):
        for value in (None, True, -1, 0, 3, 10**400, 1e308, -5e-324, 0.5, "x", [], {}, [[]], [0.5, 0.5], [None]):
            content = copy.deepcopy(whole)
            part = content
            for key in path[:-1]:
                part = part[key]
            if path:
                part[path[-1]] = value
            try:
                again = from_json(sealed(content) if path else json.dumps(value))
                with np.errstate(all="ignore"):
                    found = again.predict(TABLE if table else P)
            except InputError:
                continue
            assert ((found >= 0.0) & (found <= 1.0)).all(), (path, value)


@pytest.mark.slow
def test_a_process_that_imports_nothing_else_can_load(tmp_path):
    every_fitted()[1].save(tmp_path / "map.json")
    said = "import sys, calibrant.recalibration as r; print(repr(r.load(sys.argv[1])))"
    done = subprocess.run(
        [sys.executable, "-c", said, tmp_path / "map.json"], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == repr(every_fitted()[1])


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        (Interval(0.25, 0.5), [0.25, 0.5]),
        ((1, None, "a"), [1, None, "a"]),
        ({2: np.float64(0.5)}, {"2": 0.5}),
        (
            RepairScore("segments", 0.25, 0.5, "global", Interval(0.1, 0.3), True),
            ["segments", 0.25, 0.5, "global", [0.1, 0.3], True],
        ),
    ],
)
def test_values_are_stored_as_what_json_has(value, stored):
    assert _plain(value, "fitted", fitted=True) == stored
    with pytest.raises(InputError, match="fitted: holds a type, which JSON cannot"):
        _plain(type(value), "fitted", fitted=True)
