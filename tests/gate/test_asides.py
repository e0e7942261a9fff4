"""What stands beside a gate's verdict: which sentence, by the verdict, the cost, the test and the kind of rows."""

from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np
import pytest

from calibrant import Interval
from calibrant.door.sample import Sample
from calibrant.findings.action_catalogue import IF_ALL_RIGHT
from calibrant.findings.catalogue import BOTH_SIGNS, SURELY
from calibrant.findings.regions import of_no_use
from calibrant.gate import asides as beside
from calibrant.gate.asides import asides
from calibrant.gate.result import NOTHING, Asides
from calibrant.inference.bounds.gate import GateResult

LEVEL = 0.07
SAMPLE = Sample.of_arrays(np.arange(40) % 2.0, np.linspace(0.1, 0.9, 40), None)
LARGE = SimpleNamespace(
    doubt=None,
    matters=True,
    possible_is_small=False,
    proved=True,
    log_loss=SimpleNamespace(possible_share=0.03, summary=lambda: "from 2 to 1"),
)
OPEN = SimpleNamespace(**{**vars(LARGE), "matters": False})
SMALL = SimpleNamespace(**{**vars(LARGE), "matters": False, "possible_is_small": True})
COST, ONE = "could cost up to 3.0% of the score (log loss)", "one could cost up to 3.0% of the score (log loss)"
FEW = "On average too high: events for every 100: 80 (100 is right; 93% confidence)."


def gate(verdict, high=0.05, **more):
    return GateResult(verdict, 0.1, Interval(0.0, high), LEVEL, 900, None, **more)


@dataclass
class Places:
    """Where predictions err."""

    unit: str = "row"
    already: bool = False
    n_rows: int = 40
    happened: float = 0.5
    found: tuple = ()

    def examples(self):
        return self.found

    def sentence(self, examples):
        return f"Too high, {len(examples)} places, {self.n_rows} rows{', counted' if self.already else ''}."

    def backwards(self):
        return "Turned around."


@pytest.fixture
def home(monkeypatch):
    """All that is asked: each is what a case says, and told with which level."""
    of = SimpleNamespace(
        line=None, gain=SMALL, places=Places(), direction="up", chosen="averaged", test=None, advice=LARGE,
        action="recalibrate", levels=set(), asked=[], curve="the curve",
    )  # fmt: skip

    def line(_rows, level):
        of.levels.add(level)
        return of.line

    def choose(_sample, _rows, real, level, *, curve):
        of.levels.add(level)
        of.asked.append(real)
        assert curve == of.curve
        return SimpleNamespace(gain=of.gain, direction=of.direction, chosen=of.chosen)

    def places(_sample, _rows, curve, level, *, classes):
        of.levels.add(level)
        of.asked.append(f"places of {'classes' if classes else 'events'}")
        assert curve == of.curve
        return of.places

    def tested(_sample, _rows, _weighted, level, *_more):
        of.levels.add(level)
        return {"calibration_test": SimpleNamespace(result=of.test)}

    def advise(_sample, _rows, _test, _gate, level, curve):
        of.levels.add(level)
        assert curve == of.curve
        return SimpleNamespace(gain=of.advice)

    changes = {
        "fitted_curve": lambda *_: of.curve,
        "group_line": line,
        "by_groups": lambda _line, *, classes: f"{FEW} {classes}",
        "choose_on_sample": choose,
        "places_of": places,
        "evidence": tested,
        "advice_on_sample": advise,
        "decide": lambda _test, _gate, *, cost: cost,
        "action_of": lambda *_: of.action,
    }
    for name, change in changes.items():
        monkeypatch.setattr(beside, name, change)
    yield of
    assert of.levels <= {LEVEL}


RATES = Sample.of_arrays(np.full(40, 0.5), np.linspace(0.1, 0.9, 40), None)
ROWS = SimpleNamespace(sample=SAMPLE)
LINE = SimpleNamespace(direction="too high")
NO_LINE = SimpleNamespace(direction=None)
WITHIN = "an error within the limit"


@pytest.mark.parametrize(
    ("found", "of", "asked", "said"),
    [
        (gate("beyond"), {}, {"sample": RATES}, NOTHING),
        (gate("undecided"), {"line": LINE, "gain": OPEN}, {"rows": ROWS}, NOTHING),
        (gate("within"), {"line": LINE, "gain": OPEN}, {"rows": ROWS, "classes": True}, NOTHING),
        (gate("within"), {"line": LINE}, {}, NOTHING),  # no rows one by one
        (gate("within"), {"line": NO_LINE}, {"rows": ROWS}, NOTHING),
        (
            gate("within"),
            {"line": LINE},
            {"rows": ROWS},
            Asides(
                warning=f"o{FEW[1:]} False",
                action="correct level and slope alone (PlattScaling) before you use the predictions; calibrant audit "
                "says more.",
            ),
        ),
        (gate("beyond"), {"line": LINE}, {"rows": ROWS}, Asides(where="Too high, 0 places, 900 rows.")),
        (gate("beyond"), {"line": LINE, "places": None}, {"rows": ROWS}, Asides(where=f"{FEW} False")),
        (gate("beyond"), {"line": LINE, "places": None}, {"rows": ROWS, "classes": True}, Asides(where=f"{FEW} True")),
        (gate("beyond"), {"line": NO_LINE, "places": None}, {"rows": ROWS}, NOTHING),
        (gate("within"), {"gain": SMALL}, {}, NOTHING),
        (
            gate("within", anytime=True),
            {"gain": OPEN},
            {},
            Asides(warning=f"{WITHIN} {COST}.", action=IF_ALL_RIGHT),
        ),
        (gate("within"), {"gain": OPEN}, {}, Asides(warning=f"no sign of error, but {ONE}.", action=IF_ALL_RIGHT)),
        (
            gate("within", anytime=True),
            {"gain": SMALL},
            {"sample": Sample.of_arrays(np.ones(9), np.linspace(0.1, 0.9, 9), None)},  # of one outcome nothing is known
            Asides(
                warning="near 0% and 100% a small error can cost much, and too few rows show it.", action=IF_ALL_RIGHT
            ),
        ),
    ],
)
def test_the_sentence_follows_from_the_verdict_the_groups_and_the_cost(home, found, of, asked, said):
    vars(home).update(of)
    told = {"sample": SAMPLE, "rows": None, **asked}
    assert asides(found, told.pop("sample"), told.pop("rows"), **told) == said


def test_the_sample_is_that_of_the_rows_one_by_one(home):
    found = asides(gate("beyond"), SAMPLE, SimpleNamespace(sample=RATES))
    assert found == NOTHING
    assert asides(gate("beyond"), RATES, ROWS) == Asides(where="Too high, 0 places, 900 rows.")
    assert home.asked == ["places of events", True]


def outcome(*, reject=True, pvalue=0.01, impossible=None):
    by = None if impossible is None else SimpleNamespace(by_rounding=impossible)
    return SimpleNamespace(reject=reject, pvalue=pvalue, impossible=by, level=LEVEL)


PLACE = "Too high, 0 places, 900 rows."
CORRECT = "correct the predictions all the same before you use them; calibrant audit prints the code."
LOOK = "do not use the predictions before you have seen what calibrant audit says of them."
NO_SIGN = Asides(warning=f"no sign of error, but {ONE}.", action=IF_ALL_RIGHT)


@pytest.mark.parametrize(
    ("test", "advice", "action", "said"),
    [
        (None, OPEN, "recalibrate", NO_SIGN),
        (outcome(reject=False), OPEN, "recalibrate", NO_SIGN),
        (outcome(reject=False, impossible=0.5), OPEN, "recalibrate", NO_SIGN),
        (
            outcome(pvalue=SURELY),
            OPEN,
            "recalibrate",
            Asides(warning=f"an error, within the limit (p < 0.07): it {COST}. {PLACE}", action=CORRECT),
        ),
        (
            outcome(pvalue=0.9 * SURELY),
            OPEN,
            "look closer",
            Asides(warning=f"a real error, within the limit: it {COST}. {PLACE}", action=LOOK),
        ),
        (
            outcome(pvalue=0.9 * SURELY),
            LARGE,
            "recalibrate",
            Asides(
                warning="a real error, within the limit: correcting would improve the score (log loss) from 2 to 1. "
                f"{PLACE}",
                action=CORRECT,
            ),
        ),
        (
            outcome(reject=False, pvalue=0.5, impossible=0.01),  # outcomes that were predicted to be impossible
            OPEN,
            "look closer",
            Asides(warning=f"a real error, within the limit: it {COST}.", action=LOOK),
        ),
        (
            outcome(pvalue=0.9 * SURELY),
            None,
            "look closer",
            Asides(
                warning="a real error, within the limit: near 0% and 100% a small error can cost much, and too few "
                f"rows show it. {PLACE}",
                action=LOOK,
            ),
        ),
    ],
)
def test_of_an_error_within_the_limit_the_test_says_whether_it_is_seen(home, test, advice, action, said):
    home.gain, home.test, home.advice, home.action = OPEN, test, advice, action
    assert asides(gate("within"), SAMPLE, None) == said


def test_single_classes_are_told_where_they_are_worth_correcting(monkeypatch):
    def question(name, qvalue, distance):
        return SimpleNamespace(name=name, qvalue=qvalue, lower_calibration_distance=distance)

    questions = [question("a", 0.01, 0.02), question("b", LEVEL, 0.03), question("c", 0.5, 0.9), question("d", None, 1)]
    asked = []

    def single(state):
        def classes(sample, level, max_distance):
            asked.append((sample, level, max_distance))
            return questions, SimpleNamespace(level=LEVEL), state

        return classes

    told = {"classes": True, "all_classes": "all", "max_distance": 0.04}
    for state in ("worth correcting", "calibrated", "small"):
        monkeypatch.setattr("calibrant.findings.classes.single_classes", single(state))
        found = asides(gate("within"), SAMPLE, None, **told)
        assert (found.warning != "") == (state == "worth correcting")
        if found.warning:
            assert found.warning == "single classes are off, b farthest (by 3.0 points)."
            assert found.action.startswith("use no probability of a single class before")
    assert asked == [("all", LEVEL, 0.04)] * 3


def region(direction, share, error):
    return SimpleNamespace(direction=direction, share=share, mean_error=error)


BOTH = (region("up", 0.5, 0.2), region("down", 0.5, -0.2))


@pytest.mark.parametrize(
    ("found", "of", "classes", "said"),
    [
        (gate("beyond"), {"places": None}, False, ""),
        (gate("beyond"), {"places": Places(unit="row")}, False, PLACE),
        (gate("beyond"), {"places": Places(unit="outcome")}, False, "Too high, 0 places, 40 rows, counted."),
        (gate("beyond"), {"direction": "wrong"}, False, "Turned around."),
        (gate("beyond"), {"direction": "wrong"}, True, PLACE),
        (gate("beyond"), {"chosen": "constant", "gain": None}, False, of_no_use("50%", better=False)),
        (gate("beyond"), {"chosen": "constant", "gain": LARGE}, False, of_no_use("50%", better=True)),
        (
            gate("beyond"),
            {"chosen": "constant", "gain": SimpleNamespace(proved=False)},
            False,
            of_no_use("50%", better=False),
        ),
        (gate("beyond"), {"chosen": "constant"}, True, PLACE),
        (gate("within"), {"places": Places(found=BOTH)}, False, f"Too high, 2 places, 900 rows. {BOTH_SIGNS}"),
        (gate("within", 0.2), {"places": Places(found=BOTH)}, False, "Too high, 2 places, 900 rows."),
        (gate("beyond"), {"places": Places(found=BOTH)}, False, "Too high, 2 places, 900 rows."),
        (gate("within"), {"places": Places(found=BOTH[:1])}, False, "Too high, 1 places, 900 rows."),
    ],
)
def test_where_predictions_err_is_said_as_far_as_a_curve_can_tell(home, found, of, classes, said):
    vars(home).update(of)
    assert beside._where(found, SAMPLE, None, home.curve, classes) == said
    assert home.asked[0] == f"places of {'classes' if classes else 'events'}"


def test_of_rows_with_one_outcome_no_correction_is_asked(home):
    home.direction = "wrong"
    ones = replace(SAMPLE, ones=SAMPLE.count)
    assert beside._where(gate("beyond"), ones, None, home.curve, classes=False) == PLACE
    assert home.asked == ["places of events"]
