"""Certificates and what checks them: thousands of cases are confirmed, and whatever no longer proves is refused."""

import copy
import csv
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from calibrant import (
    CalibrationSketch,
    InputError,
    audit,
    calibration_distance,
    lower_calibration_certificate,
    smooth_calibration_witness,
    upper_calibration_distance,
)
from calibrant.check_certificate import check
from calibrant.cli.app import app
from calibrant.measures import Potentials, calibration_certificate
from tests import certified as oracle
from tests import exact
from tests.published import faults, read_schema
from tests.strategies import examples, samples

CHECKER = Path(__file__).parents[1] / "src" / "calibrant" / "check_certificate.py"
SCHEMA = read_schema("certificate-1")


def written(folder, y_true, y_prob, weight=None, document=None):
    """Paths of the rows and of their certificate."""
    data, proof = folder / "rows.csv", folder / "proof.json"
    columns = [y_true, y_prob] if weight is None else [y_true, y_prob, weight]
    with data.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["y_true", "y_prob", "sample_weight"][: len(columns)])
        writer.writerows([repr(float(x)) for x in row] for row in zip(*columns, strict=True))
    proof.write_text(json.dumps(document))
    return str(data), str(proof)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("certificates")


def confirmed(folder, sample, certificate):
    """Check it, by the file and by the reference, and return the claims."""
    said = check(*written(folder, *sample, document=certificate.document))
    assert len(said) == 1 + sum(2 if "lower" in proof else 1 for proof in proofs(certificate.document).values())
    assert oracle.proves(certificate.document, *sample)
    assert faults(certificate.to_dict(), SCHEMA, SCHEMA, "certificate") == []
    return certificate.claims


def proofs(document):
    return {name: document[name] for name in oracle.NAMES if name in document}


def every_case(folder, sample):
    y_true, y_prob, weight = sample
    claims = confirmed(folder, sample, calibration_certificate(y_true, y_prob, sample_weight=weight))
    witness = smooth_calibration_witness(y_true, y_prob, sample_weight=weight)
    near = 2.0**-70
    assert witness.value - near <= claims["smooth_error"].lower <= claims["smooth_error"].upper <= witness.upper + near
    lower = lower_calibration_certificate(y_true, y_prob, sample_weight=weight)
    assert claims["lower_distance"].lower >= lower.lower - 1e-14
    assert claims["lower_distance"].upper <= lower.upper + 1e-14
    assert claims["true_distance"] == claims["upper_distance"]
    assert claims["upper_distance"].lower == claims["lower_distance"].lower


@pytest.mark.slow
@examples(1000)
@given(samples())
def test_every_certificate_is_confirmed(folder, sample):
    every_case(folder, sample)


@examples(100)
@given(samples(max_rows=12))
def test_small_certificates_are_confirmed(folder, sample):
    every_case(folder, sample)
    claims = calibration_certificate(sample[0], sample[1], sample_weight=sample[2]).claims["smooth_error"]
    assert claims.lower <= exact.smooth_calibration_error(*sample) <= claims.upper


@pytest.mark.slow
@examples(300)
@given(samples(max_rows=12))
def test_every_result_has_its_own(folder, sample):
    y_true, y_prob, weight = sample
    columns = {"sample_weight": weight}
    results = {
        "smooth_error": smooth_calibration_witness(y_true, y_prob, **columns),
        "lower_distance": lower_calibration_certificate(y_true, y_prob, **columns),
        "upper_distance": upper_calibration_distance(y_true, y_prob, **columns),
        "true_distance": calibration_distance(y_true, y_prob, **columns),
    }
    for name, result in results.items():
        claims = confirmed(folder, sample, calibration_certificate(y_true, y_prob, **columns, of=result))
        assert name in claims
        end = claims[name]
        assert end.upper <= result.upper + 1e-15


@pytest.mark.parametrize("y", [[0.0], [1.0], [0.5]])
@pytest.mark.parametrize("v", [0.0, 5e-324, 0.3, 1.0 - 2**-53, 1.0])
def test_one_row(folder, y, v):
    sample = np.array(y), np.array([v]), np.array([2.5])
    every_case(folder, sample)


@pytest.mark.parametrize("kind", ["ulps", "denormal", "ends", "weights", "one class"])
def test_hard_rows(folder, kind):
    rng = np.random.default_rng(3)
    n = 150
    y_prob, weight = rng.random(n), None
    y_true = (rng.random(n) < y_prob) * 1.0
    if kind == "ulps":
        y_prob = 0.3 + 2.0**-54 * np.arange(n)
    elif kind == "denormal":
        y_prob = 5e-324 * rng.integers(0, 2**40, n)
    elif kind == "ends":
        y_prob = np.round(y_prob)
    elif kind == "weights":
        weight = 10.0 ** rng.uniform(-100, 100, n)
    else:
        y_true = np.ones(n)
    every_case(folder, (y_true, y_prob, weight))


# ---- tampered

TEXTS = ["NaN", "Infinity", '"NaN"', '"inf"', "1e400", "1.0", "null", "true", '"1"', "[]", "{}"]


def refused(folder, document, *sample):
    """Whether the checker refuses, for a reason that it gives."""
    paths = written(folder, *sample, document=document)
    try:
        check(*paths)
    except (ValueError, TypeError, KeyError, AttributeError):
        return True
    return False


def tampered(document, rng):
    """A copy with one number of its proof or of its claims nudged, two swapped, one dropped or one twice."""
    changed = copy.deepcopy(document)
    names = list(proofs(changed))
    part = changed[names[rng.integers(len(names))]]
    key = list(part)[rng.integers(len(part))]
    nudge = int(rng.choice([-1, 1])) * int(rng.choice([1, 2, 2**20, 2**60, 2**79]))
    if not isinstance(part[key], list):
        part[key] += nudge
        return changed
    values = part[key]
    if not values:
        values.append(nudge)
        return changed
    at, other = rng.integers(len(values), size=2)
    how = rng.integers(4)
    if how == 0:
        values[at] += nudge if key != "parts" else int(rng.choice([-1, 1]))
    elif how == 1:
        values[at], values[other] = values[other], values[at]
    elif how == 2:
        del values[at]
    else:
        values.insert(at, values[at])
    return changed


def draw(rng):
    """Some rows of one of the kinds."""
    n = int(rng.integers(2, 25))
    y_prob = rng.choice([rng.random(n), rng.integers(0, 11, n) / 10, 0.3 + rng.integers(0, 9, n) * 2.0**-53])
    y_true = (rng.random(n) < np.clip(y_prob + 0.2 * rng.normal(size=n), 0, 1)) * 1.0
    return y_true, y_prob, None if rng.random() < 0.5 else rng.integers(1, 5, n) * 0.3


def tamper(folder, seed, asked):
    """Numbers of tampered certificates that prove their claims no longer, all refused, and of those that still do."""
    rng = np.random.default_rng(seed)
    broken = valid = 0
    while broken < asked:
        sample = draw(rng)
        y_true, y_prob, weight = sample
        of = [None, calibration_distance(y_true, y_prob, sample_weight=weight, time_limit=1e-9)][rng.integers(2)]
        document = calibration_certificate(y_true, y_prob, sample_weight=weight, of=of).document
        for _ in range(20):
            changed = tampered(document, rng)
            proves = oracle.proves(changed, *sample)
            assert refused(folder, changed, *sample) == (not proves), changed
            broken, valid = broken + (not proves), valid + proves
    return broken, valid


def confirm(folder, seed, asked):
    """Number of certificates, each of all claims or of one result, that the checker confirms."""
    rng = np.random.default_rng([seed, 1])
    for _ in range(asked):
        y_true, y_prob, weight = sample = draw(rng)
        of = [None, calibration_distance(y_true, y_prob, sample_weight=weight, time_limit=1e-9)][rng.integers(2)]
        document = calibration_certificate(y_true, y_prob, sample_weight=weight, of=of).document
        assert not refused(folder, document, *sample), document
    return asked


@pytest.mark.slow
def test_tampered_certificates_are_refused(folder):
    """What is refused is what the reference says proves its claims no longer; any other change leaves a proof."""
    broken, valid = tamper(folder, 0, 100)  # more of them: python tools/long_runs.py certificates
    assert broken > 2 * valid > 0


@pytest.mark.parametrize("text", TEXTS)
def test_what_is_no_whole_number_is_refused(folder, text):
    sample = np.array([0.0, 1, 1, 0]), np.array([0.2, 0.7, 0.9, 0.4]), None
    document = calibration_certificate(*sample[:2]).document
    for name, part in proofs(document).items():
        for key in part:
            for path in ([name, key], [name, key, 0]):
                changed = copy.deepcopy(document)
                place = changed
                for step in path[:-1]:
                    place = place[step]
                if isinstance(place, int) or (path[-1] == 0 and not isinstance(place, list)) or not place:
                    continue
                place[path[-1]] = "HERE"
                paths = written(folder, *sample)
                Path(paths[1]).write_text(json.dumps(changed).replace('"HERE"', text))
                with pytest.raises((ValueError, TypeError, KeyError, AttributeError)):
                    check(*paths)


@examples(300)
@given(samples(max_rows=12), st.data())
def test_other_rows_are_refused(folder, sample, data):
    """One outcome, prediction or weight changed; a row left out, or twice."""
    y_true, y_prob, weight = sample
    weight = np.ones_like(y_prob) if weight is None else weight
    document = calibration_certificate(y_true, y_prob, sample_weight=weight).document
    row, what = data.draw(st.integers(0, y_true.size - 1)), data.draw(st.integers(0, 4))
    columns = [y_true.copy(), y_prob.copy(), weight.copy()]
    if what < 2:
        columns[what][row] = data.draw(st.sampled_from([0.0, 1.0, 0.5, np.nextafter(columns[what][row], 0.5)]))
    elif what == 2:
        columns[2][row] = np.nextafter(columns[2][row], 4.0)
    elif what == 3:
        columns = [np.delete(each, row) for each in columns]
    else:
        columns = [np.append(each, each[row]) for each in columns]
    same = what < 3 and (columns[what][row] == sample[what][row] if what < 2 else False)
    if not same and (what > 1 or weight[row] > 0.0):
        assert refused(folder, document, *columns)


def layout(document, **changes):
    return {**document, **changes}


def test_layouts_are_refused(folder):
    sample = np.array([0.0, 1, 1, 0]), np.array([0.2, 0.7, 0.9, 0.4]), None
    document = calibration_certificate(*sample[:2]).document
    bad = [
        [],
        {},
        layout(document, format="calibrant certificate 2"),
        layout(document, bits=0),
        layout(document, bits=True),
        layout(document, bits=10**9),
        layout(document, bits=79),
        layout(document, bits=81),
        layout(document, rows=5),
        layout(document, more={}),
        layout(document, event="1"),
        layout(document, event=1),
        layout(document, event=["1.0"]),
        layout(document, columns={"y_true": "y_prob", "y_prob": "y_true"}),
        layout(document, columns={"y_true": "y_true"}),
        layout(document, columns={"y_true": "other", "y_prob": "y_prob"}),
        layout(document, moments=document["moments"][::-1]),
        {name: each for name, each in document.items() if name not in oracle.NAMES},
        *({key: each for key, each in document.items() if key != name} for name in list(document)[:5]),
    ]
    for each in bad:
        assert refused(folder, each, *sample), each
    twice = json.dumps(document).replace('"rows"', '"bits": 80, "rows"')
    paths = written(folder, *sample)
    Path(paths[1]).write_text(twice)
    with pytest.raises(ValueError, match="twice"):
        check(*paths)
    Path(paths[1]).write_text("[" * 100_000)
    assert run(*paths).returncode == 1


def run(*args, module=False):
    how = ["-m", "calibrant.check_certificate"] if module else ["-I", "-S", str(CHECKER)]
    return subprocess.run([sys.executable, *how, *map(str, args)], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("module", [False, True])
def test_the_command_confirms_and_refuses(folder, module):
    y_true, y_prob = [0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4]
    document = calibration_certificate(y_true, y_prob).document
    paths = written(folder, y_true, y_prob, document=document)
    done = run(*paths, module=module)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        f"Confirmed for the rows of {paths[0]}:",
        "columns {'y_true': 'y_true', 'y_prob': 'y_prob'}, event None",
        "smooth_error: upper end 0.085000000000000",
        "smooth_error: lower end 0.084999999999999",
        "lower_distance: upper end 0.091944444722500",
        "lower_distance: lower end 0.091944444211674",
        "upper_distance: upper end 0.150000000000000",
    ]
    wrong = copy.deepcopy(document)
    wrong["smooth_error"]["lower"] += 1
    done = run(*written(folder, y_true, y_prob, document=wrong), module=module)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("Refused: smooth_error: lower end 0.08")
    for arguments in ((), paths[:1], ("missing.csv", paths[1]), (*paths, "more")):
        done = run(*arguments, module=module)
        assert done.returncode == 1
        assert done.stderr.startswith("Refused: ")


def test_the_checker_is_short_and_stands_alone():
    text = CHECKER.read_text()
    assert len(text.splitlines()) <= 200
    imports = [line.split()[1] for line in text.splitlines() if line.startswith(("import ", "from "))]
    assert set(imports) <= set(sys.stdlib_module_names)
    assert "calibrant" not in imports


@pytest.mark.parametrize("event", [1, True, None, "１", "2", ["1.0"], float("nan")])
def test_an_event_that_is_no_outcome_of_the_file_is_refused(tmp_path, event):
    """Else all outcomes would be 0, and predictions of 0 perfect."""
    sample = np.array([1.0, 1.0]), np.array([0.0, 0.0])
    document = calibration_certificate(1.0 - sample[0], sample[1]).document
    assert not refused(tmp_path, document, 1.0 - sample[0], sample[1])
    assert refused(tmp_path, {**document, "event": event}, *sample)


@pytest.mark.parametrize(
    "text",
    ["y_true,y_prob\nTrue,0.2\nFalse,0.7\n", "y_true, y_prob\n1,0.2\n0,0.7\n", "y_true;y_prob\n1;0.2\n0;0.7\n"],
    ids=["truth", "blank", "semicolons"],
)
def test_what_the_checker_cannot_read_is_refused_before_it_is_written(tmp_path, text):
    data, proof = tmp_path / "rows.csv", tmp_path / "proof.json"
    data.write_text(text)
    done = CliRunner().invoke(app, ["audit", str(data), "--certificate", str(proof), "--resamples", "0"])
    assert done.exit_code == 2
    assert "--certificate: is not confirmed by the checker: " in done.output
    assert not proof.exists()


def test_a_certificate_of_what_is_no_text_is_refused_in_words(tmp_path):
    data, proof = tmp_path / "rows.parquet", tmp_path / "proof.json"
    pd.DataFrame({"y_true": [1, 0], "y_prob": [0.2, 0.7]}).to_parquet(data)
    done = CliRunner().invoke(app, ["audit", str(data), "--certificate", str(proof), "--resamples", "0"])
    assert done.exit_code == 2
    assert "is not confirmed by the checker: DATA is no text in UTF-8; it reads CSV" in done.stderr
    assert "codec" not in done.output


@pytest.mark.slow
def test_labels_and_their_event(tmp_path):
    rng = np.random.default_rng(0)
    y_prob = rng.random(50)
    y_true = rng.random(50) < y_prob
    data, proof = tmp_path / "rows.csv", tmp_path / "proof.json"
    lines = [f"{'no' if y else 'yes'},{v!r}" for y, v in zip(y_true, y_prob.tolist(), strict=True)]
    data.write_text("\n".join(["label,score", *lines]) + "\n")
    command = [sys.executable, "-m", "calibrant", "audit", data, "--pos-label", "no", "--certificate", proof]
    done = subprocess.run([*map(str, command), "--resamples", "0"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith(f"Certificate: {proof}\n")
    assert json.loads(proof.read_text())["event"] == "no"
    check(str(data), str(proof))
    assert audit(y_true, y_prob, n_resamples=0).n_rows == 50


@pytest.mark.parametrize(
    ("columns", "options"),
    [
        (["label", "score"], ["--resamples", "0"]),
        (["label", "score", "weight"], ["--resamples", "0", "--sample-weight", "weight"]),
        (["share", "score", "n"], ["--resamples", "0", "--y-true", "share", "--trials", "n"]),
        (["share", "score"], ["--y-true", "share"]),
        (["label", "score", "who"], ["--resamples", "0", "--groups", "who"]),
    ],
)
def test_files_of_every_kind_are_confirmed(tmp_path, columns, options):
    rng = np.random.default_rng(1)
    n = rng.integers(1, 9, 60)
    rows = {"score": rng.random(60).round(3), "weight": rng.random(60), "n": n, "who": rng.integers(0, 12, 60)}
    rows |= {"label": (rng.random(60) < rows["score"]) * 1, "share": rng.binomial(n, rows["score"]) / n}
    data, proof = tmp_path / "rows.csv", tmp_path / "proof.json"
    lines = zip(*(rows[name].tolist() for name in columns), strict=True)
    data.write_text("\r\n".join([",".join(columns), *(",".join(map(repr, line)) for line in lines), ""]))
    args = ["audit", str(data), "--certificate", str(proof), *options]
    done = CliRunner().invoke(app, args)
    assert done.exit_code == 0, done.output
    assert len(check(str(data), str(proof))) == 6


@pytest.mark.parametrize("n", [3, 50, 3000])
def test_what_an_audit_says_is_what_is_certified(n):
    rng = np.random.default_rng(n)
    y_prob = rng.random(n).round(4)
    y_true = rng.random(n) < y_prob**1.5
    claims = calibration_certificate(y_true, y_prob).claims
    said = audit(y_true, y_prob, n_resamples=0)
    brackets = {
        "smooth_error": (said.smooth_lower, said.smooth_upper),
        "lower_distance": said.ties.lower_distance_bracket,
        "true_distance": said.ties.true_distance,
    }
    for name, (lower, upper) in brackets.items():
        assert lower - 1e-15 <= claims[name].lower <= claims[name].upper <= upper + 1e-15


def test_results_of_other_rows_are_refused():
    y_true, y_prob = [0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4]
    witness = smooth_calibration_witness(y_true, [0.2, 0.7, 0.9, 0.5])
    with pytest.raises(InputError, match="of: is the witness of other predictions"):
        calibration_certificate(y_true, y_prob, of=witness)
    with pytest.raises(InputError, match="of: is a CalibrationSketch"):
        calibration_certificate(y_true, y_prob, of=CalibrationSketch())
    with pytest.raises(InputError, match="of: is of 3 rows, and there are 4"):
        calibration_certificate(y_true, y_prob, of=calibration_distance([0, 1, 1], [0.2, 0.7, 0.9]))
    with pytest.raises(InputError, match="no result of a search"):
        calibration_certificate(y_true, y_prob, of=audit(y_true, y_prob, n_resamples=0).ties.true_distance)


def test_what_proves_nothing_certifies_that_an_error_is_at_least_0():
    """Heights of the wrong sign, and potentials below 0: both are replaced by heights of 0."""
    y_true, y_prob = [0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4]
    witness = smooth_calibration_witness(y_true, y_prob)
    found = calibration_certificate(y_true, y_prob, of=replace(witness, heights=-witness.heights))
    assert found.claims["smooth_error"].lower == 0.0 < witness.value <= found.claims["smooth_error"].upper
    assert set(found.document["smooth_error"]["heights"]) == {0}
    right = lower_calibration_certificate(y_true, y_prob)
    low = Potentials(right.potentials.nodes, right.potentials.r0 - 0.5, right.potentials.r1 - 0.5)
    found = calibration_certificate(y_true, y_prob, of=replace(right, potentials=low))
    assert found.claims["lower_distance"].lower == 0.0 < right.lower <= found.claims["lower_distance"].upper
    assert {*found.document["lower_distance"]["r0"], *found.document["lower_distance"]["r1"]} == {0}


def test_a_certificate_shows_and_writes_itself(tmp_path):
    certificate = calibration_certificate([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4])
    assert certificate.summary().startswith("Of 4 rows: smooth calibration error at least 0.084999 and at most 0.085, ")
    certificate.write(tmp_path / "proof.json")
    assert json.loads((tmp_path / "proof.json").read_text()) == certificate.to_dict() == certificate.document
