"""Whatever a page or a gate tells to say on the command line is not refused when it is said."""

import re

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logit
from typer.testing import CliRunner

from calibrant.cli.app import app

pytestmark = [pytest.mark.usefixtures("one_database"), pytest.mark.slow]
N, WARDS = 120, 30


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("hints")
    rng = np.random.default_rng(5)
    p = rng.uniform(0.1, 0.7, N)
    parts = {"hospital": np.arange(N) % WARDS, "age": rng.integers(0, 4, N), "day": np.arange(N) // 20}
    y = (rng.random(N) < expit(logit(p) + rng.normal(0.0, 1.0, WARDS)[parts["hospital"]])) * 1
    tries = rng.integers(2, 9, N)
    files = {
        "rows": {"y_true": y, **parts},
        "weights": {"y_true": y, **parts, "mass": np.where(y == 1, 1.0, 4.0)},
        "trials": {"y_true": rng.binomial(tries, p) / tries, **parts, "tries": tries},
        "times": {"days": rng.uniform(0.5, 2.0, N), "died": y, **parts},
        "chosen": {"y_true": np.arange(N) % 2, "age": parts["age"]},
    }
    for name, columns in files.items():
        pd.DataFrame({"y_prob": 0.3 * p if name == "chosen" else p, **columns}).to_csv(
            place / f"{name}.csv", index=False
        )
    return place


WEIGHED = ("--sample-weight", "mass")
TRIALS = ("--trials", "tries")
TIMES = ("--time", "days", "--event", "died", "--horizon", "1")
GATE = ("--max-distance", "0.4")
KINDS = {
    "find": ("audit", "rows", "--find", "hospital", "--by", "hospital"),
    "weights": ("audit", "weights", *WEIGHED),
    "trials": ("audit", "trials", *TRIALS, "--by", "hospital"),
    "times": ("audit", "times", *TIMES),
    "chosen": ("audit", "chosen"),
    "gate find": ("gate", "rows", *GATE, "--find", "hospital,age"),
    "gate weights": ("gate", "weights", *GATE, *WEIGHED, "--max-weight", "4"),
    "gate trials": ("gate", "trials", *GATE, *TRIALS, "--max-weight", "8"),
    "gate times": ("gate", "times", *GATE, *TIMES),
}
HINTS = {
    r"--groups (\w+)( --max-weight N)?": lambda found: (
        "--groups",
        found[1],
        *(("--max-weight", "900") if found[2] else ()),
    ),
    r"--find (all)": lambda found: ("--find", found[1]),
    r"give --sampling-fractions": lambda _: ("--sampling-fractions", "0:0.5,1:1"),
    r"--sampling-fractions (\S+) \(in Python sampling_fractions\), in place of --sample-weight": lambda found: (
        "--sampling-fractions",
        found[1],
    ),
    r"--outcome-free-weights": lambda _: ("--outcome-free-weights",),
    r"--max-weight \(in Python": lambda _: ("--max-weight", "900"),
    r"name them \(strata\)": lambda _: ("--strata", "age"),
    r"say --strata ([\w,]+)": lambda found: ("--strata", found[1]),
}
"""What a hint looks like -> what it tells to say."""
NO_HINTS = {"--all", "--seed", "--max-regret", "--json", "--junit"}
"""Options of which a page says what they do, or what a gate can do."""
FLAGS = {"--outcome-free-weights"}


def without(command, option, name=None):
    """The command with this name left out of the columns of an option, which goes where none is left."""
    if option not in command:
        return list(command)
    at = command.index(option)
    rest = [] if name is None else [each for each in command[at + 1].split(",") if each != name]
    return [*command[:at], *([option, ",".join(rest)] if rest else []), *command[at + 2 :]]


def hinted(text, command):
    """The commands that a page's hints make of the one that printed it."""
    for words, says in HINTS.items():
        for found in re.finditer(words, text):
            said, made = says(found), list(command)
            if "in place of --sample-weight" in found[0]:
                made = without(made, "--sample-weight")
            leave = re.match(r"[^.(]*?, and leave (\w+) out of (--\w+)(?: and (--\w+))?", text[found.end() :])
            for option in filter(None, leave.groups()[1:] if leave else ()):
                made = without(made, option, leave[1])
            for option in said:
                made = without(made, option) if option.startswith("--") and option not in FLAGS else made
            yield [*made, *said]


def run(command, folder):
    """What it prints, both ways out, and its exit code."""
    words = [command[0], str(folder / f"{command[1]}.csv"), *command[2:]]
    few = ["--resamples", "39" if {"--find", *FLAGS} & set(command) else "0"] if command[0] == "audit" else []
    done = CliRunner().invoke(app, [*words, *few])
    return " ".join((done.stdout + done.stderr).split()), done.exit_code


@pytest.mark.parametrize("kind", KINDS)
def test_every_hint_works(folder, kind):
    """`--by hospital` told to say `--groups hospital`, which beside it was refused."""
    text, code = run(KINDS[kind], folder)
    assert code in (0, 1, 3), text
    assert set(re.findall(r"--[a-z][a-z-]+", text)) <= {*NO_HINTS, *re.findall("--[a-z-]+", str([*HINTS, "--by"]))}
    for command in hinted(text, KINDS[kind]):
        again, code = run(command, folder)
        assert code in (0, 1, 3), (command, again)
