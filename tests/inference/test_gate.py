"""Words and sums of a gate: what each verdict says, how many rows are worth a number, bets and what they exclude."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import brentq

from calibrant.door.ends import Bracket, Interval
from calibrant.door.sample import Sample
from calibrant.inference.bounds import gate
from calibrant.inference.bounds.draws import CellDraws, Draws
from calibrant.inference.bounds.gate import (
    AnytimeEnds,
    Bets,
    GateResult,
    OtherPopulationError,
    Won,
    excludes,
    fewest_rows,
    proved_by,
    rows_to_collect,
    verdict_of,
)
from calibrant.inference.bounds.one_event import BET, Spread, psi
from calibrant.inference.bounds.tally import Tally, needs, of_followed, rounded_rows, rows_to_decide


def result(verdict="undecided", low=0.0, high=0.04, **more):
    plain = {"max_distance": 0.02, "level": 0.05, "n_rows": 1000, "rows_needed": 3000}
    return GateResult(**{"verdict": verdict, "lower_distance": Interval(low, high), **plain, **more})


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (result("within", 0.0, 0.0151, rows_needed=None), "PASS: at most 1.6 points on average (95% confidence; limit"),
        (result("beyond", 0.0351, 0.06, rows_needed=None), "FAIL: at least 3.5 points on average (95% confidence;"),
        (result("within", 0.0, 0.01999999, rows_needed=None), "PASS: less than 2 points on average ("),
        (result("beyond", 0.02000001, 0.06, rows_needed=None), "FAIL: more than 2 points on average ("),
        (result(), "UNDECIDED: up to 4.0 points on average (95% confidence; limit 2; 1,000 rows). 3,000 to 6,400 rows"),
        (
            result(low=0.01),
            "UNDECIDED: 1.0 to 4.0 points on average (each end with 95% confidence; limit 2; 1,000 rows)",
        ),
        (result(anytime=True), "(95% confidence, at any time; limit 2; 1,000 rows)"),
        (result(low=0.01, rows_needed=None), " It may be right at the limit, where no number of rows decides."),
        (
            result(low=0.01, n_groups=50, groups_needed=None, rows_needed=None),
            "limit 2; 50 groups, 1,000 rows). It may be right at the limit, where no number of groups decides.",
        ),
        (
            result(n_unknown=1000),
            "limit 2; 1,000 of 2,000 rows known). 3,000 to 13,000 rows in all as these come",
        ),
    ],
)
def test_a_verdict_is_said_with_the_end_that_decides(found, said):
    assert said in found.sentence
    decided = found.verdict != "undecided"
    assert found.sentence.endswith("decide.") == (not decided and found.rows_needed is not None)
    assert decided == found.sentence.endswith(").")


@pytest.mark.parametrize(
    ("low", "high", "needed", "said"),
    [
        (0.0, 0.04, 3000, "3,000 to 6,400 rows in all"),  # without an error (.04 / .02)^2 = 4 times as many
        (0.0, 0.03, 3000, "2,300 to 4,800 rows in all"),
        (0.01, 0.03, 3000, "3,000 to 4,800 rows in all"),  # an error is proved
        (0.0, 0.04, None, "4,000 to 6,400 rows in all"),
    ],
)
def test_rows_to_collect_are_from_no_error_to_this_one_in_nine_of_ten_samples(low, high, needed, said):
    assert rows_to_collect(result(low=low, high=high, rows_needed=needed)) == f"{said} (these included)"


def test_rows_beyond_what_is_practical_have_no_number():
    many = {"n_rows": 2_000_000, "rows_needed": 50_000_000}
    assert rows_to_collect(result(low=0.01, **many)) == "far more rows than these (over ten times as many)"
    groups = {"n_groups": 20_000, "groups_needed": 900_000}
    assert rows_to_collect(result(low=0.01, **groups)) == "rows of far more groups than these (over ten times as many)"
    few = rows_to_collect(result(low=0.01, n_groups=50, groups_needed=100))
    assert few == "rows of 100 to 160 groups in all (these included)"
    for needed, said in ((1_300_000, "1,300,000 to 2,100,000"), (2_000_000, "at least 2,000,000")):
        found = rows_to_collect(result(low=0.01, n_rows=200_000, rows_needed=needed))
        assert found == f"{said} rows in all (these included)"  # ten times as many more are 2,200,000 in all


@pytest.mark.parametrize(
    ("found", "proved"),
    [
        (result("within"), "with 95% confidence, the population's lower distance from calibration is at most 0.0400 ("),
        (result("beyond", 0.03), "calibration is at least 0.0300 (1,000 rows)"),
        (result(low=0.01, anytime=True), "at least 0.0100 and at most 0.0400, each with 95% confidence, at any time ("),
        (result(low=0.01), "about 2,000 more rows would decide"),
        (result(low=0.01, rows_needed=None), "(1,000 rows); it may be right at the limit, where no number of rows"),
    ],
)
def test_what_a_gate_proves_in_a_clause(found, proved):
    assert proved in proved_by(found)
    alone = proved_by(found, alone=True)
    assert alone == proved_by(found) + (" (the limit is 0.02)" if found.verdict == "undecided" else "")


def test_a_tally_counts_what_is_collected():
    assert Tally(1).summary() == "1 row"
    assert Tally(50, None, 1000, "group").summary() == "50 groups, 1,000 rows"
    assert result(n_groups=50, groups_needed=90).tally == Tally(50, 90, 1000, "group", 0)
    assert result(n_unknown=500).tally == Tally(1500, 3000, 1000)
    assert result().tally == Tally(1000, 3000, None)
    assert Tally(1500, 3000, 1000).as_they_come() == " as these come (67% of them known)"
    assert Tally(1500, 3000, 1000).as_they_come("so far") == " as these come (67% of them known, so far)"
    assert Tally(1500).as_they_come("so far") == " (so far)"
    assert rows_to_decide(Tally(1000, 2110)) == "about 1,200 more rows would decide, if the error stays as it is here"
    far = "only more groups than is practical (over ten times as many) would decide"
    assert rows_to_decide(Tally(20_000, 900_000, 10, "group")) == far
    assert needs(Tally(1000)) == "; it may be right at the limit, where no number of rows decides"
    assert needs(Tally(1000, 2110)).startswith("; about 1,200 more rows")
    assert [rounded_rows(n) for n in (7, 99, 101, 110, 12_345)] == [7, 99, 110, 110, 13_000]


def test_rows_that_are_followed_count_those_that_are_not_known_yet():
    found = of_followed(result(n_groups=50, groups_needed=100), 500, 10)
    assert (found.n_unknown, found.rows_needed) == (500, 4500)
    assert (found.n_groups, found.groups_needed) == (60, 120)
    rows = of_followed(result(rows_needed=None), 500, 10)
    assert (rows.n_unknown, rows.rows_needed, rows.n_groups, rows.groups_needed) == (500, None, None, None)


def test_a_limit_is_kept_by_an_end_that_reaches_it_and_broken_by_one_above():
    ends = ((0.0, 0.02), (0.0, 0.0201), (0.02, 0.03), (0.0201, 0.03))
    assert [verdict_of(Interval(*each), 0.02) for each in ends] == ["within", "undecided", "undecided", "beyond"]


def test_the_fewest_rows_are_the_first_that_decide_and_no_fewer_than_is_worth_a_word():
    assert fewest_rows(lambda n: n >= 1234, 50) == 1234
    assert fewest_rows(lambda n: n >= 51, 50) == 60
    assert fewest_rows(lambda n: n >= 1001, 1000) == 1100
    assert fewest_rows(lambda _: False, 50) is None


@pytest.mark.parametrize(("limit", "equal"), [(0.3, 1), (0.1, 3), (0.02, 5), (0.55, 1), (0.001, 10)])
def test_bets_share_their_capital_and_the_last_share_is_halved(limit, equal):
    bets = Bets.against(limit)
    assert bets.sizes == pytest.approx(BET / 2.0 ** np.arange(equal + 20))
    shares = [*[1.0 / (equal + 1)] * equal, *(1.0 / (equal + 1) / 2.0 ** np.arange(1, 21))]
    assert np.exp(bets.log_shares) == pytest.approx(shares)
    assert bets.psi == pytest.approx([psi(x) for x in bets.sizes])
    assert bets.log_capital(np.zeros(bets.sizes.size)) == pytest.approx(math.log(sum(shares)))
    assert bets.logs(3.0, 2.0) == pytest.approx(bets.sizes * 3.0 - bets.psi * 2.0)


def test_what_was_won_excludes_up_to_where_the_capital_reaches_the_level():
    bets, n, level = Bets.against(0.1), 900.0, 0.03
    g, s, gg, gs, ss = (n * each for each in (0.12, 0.8, 0.06, 0.1, 0.7))
    found = Won(n, g, s, gg, gs, ss).lower_end(bets, level)

    def capital(m):
        t = 1.0 / (1.0 + m)
        return bets.log_capital(bets.logs((g - m * s) * t, (gg - 2.0 * m * gs + m * m * ss) * t * t))

    assert 0.0 < found < g / s
    assert found == pytest.approx(brentq(lambda m: capital(m) + math.log(level), 0.0, g / s), abs=1e-9)


def test_a_distance_is_excluded_where_the_capital_against_it_reaches_the_level():
    """What is bet is d S - G, with squares of at most E^2 + 2 d |S - c| E - 2 d c G + d^2 S^2."""
    spread, bets = Spread(500, 0.8, 0.7, 0.1, 0.08, 0.02), Bets.against(0.05)

    def capital(d):
        square = 0.1 + 2.0 * d * 0.02 - 2.0 * d * 0.8 * 0.8 * 0.01 + d * d * 0.7
        return bets.log_capital(bets.logs(500 * (d - 0.01) * 0.8, 500 * square))

    edge = brentq(lambda d: capital(d) + math.log(0.05), 0.02, 0.9)
    assert 0.03 < edge < 0.5
    assert excludes(edge + 1e-6, 500, 0.01, spread, bets, 0.05)
    assert not excludes(edge - 1e-6, 500, 0.01, spread, bets, 0.05)


def test_a_batch_is_split_so_that_what_teaches_grows_by_half():
    y, v = np.arange(4000) % 2.0, np.linspace(0.1, 0.9, 4000)
    batch = Draws.of_sample(Sample.of_arrays(y, v, None))
    for before, number in ((0.0, 6), (500.0, 6), (2000.0, 3), (9000.0, 1)):
        parts = list(gate._shares(before, batch, 0))
        assert len(parts) == number
        assert sum(part.n_units for part in parts) == 4000
        ends = before + np.cumsum([part.n_units for part in parts])
        assert ends[1:] / ends[:-1] == pytest.approx([1.5] * (number - 1), rel=0.05)
    assert parts[0] is batch
    cells = CellDraws.__new__(CellDraws)
    assert list(gate._shares(0.0, cells, 0)) == [cells]


def test_rows_that_prove_a_distance_above_one_proved_before_are_of_another_population():
    rows = Sample.of_arrays(np.ones(400), np.full(400, 0.2), None)
    spread = Spread.of(Draws.of_sample(rows))
    won = SimpleNamespace(lower_end=lambda *_: 0.6)
    known = rows, spread, 0.0, won, Bets.against(0.1), 0.05
    found = AnytimeEnds.of(*known, Interval(0.1, 0.99))
    assert found.proved.low == 0.6
    assert 0.8 < found.proved.high < 0.99
    assert AnytimeEnds.of(*known, Interval(0.7, 0.8)).proved == Interval(0.7, 0.8)
    with pytest.raises(OtherPopulationError, match=r"distance at least 0\.6 now, at most 0\.3 before") as error:
        AnytimeEnds.of(*known, Interval(0.1, 0.3))
    assert error.value.ends == "distance at least 0.6 now, at most 0.3 before"


def test_an_anytime_gate_needs_the_rows_that_exclude_as_far_above_as_the_limit_is():
    spread, bets = Spread(500, 1.0, 1.0, 0.1, 0.1, 0.0), Bets.against(0.1)
    ends = AnytimeEnds(Bracket(0.02, 0.03), spread, bets, 0.05, Interval(0.0, 0.2))
    for limit, as_far in ((0.05, 0.05), (0.01, 0.04)):
        found = ends.result(limit)
        assert found.verdict == "undecided"
        assert found.anytime
        needed = found.rows_needed
        assert excludes(as_far, needed, 0.03, spread, bets, 0.05)
        assert not excludes(as_far, needed - 1, 0.03, spread, bets, 0.05)
    assert ends.result(0.3).rows_needed is None
