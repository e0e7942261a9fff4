"""Where forming segments ends: too many, too few rows, nothing to form of; and codes that are as large as they get."""

import math
from types import SimpleNamespace

import narwhals as nw
import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from calibrant import InputError, Interval, find_segments
from calibrant.door.rows import Rows
from calibrant.kernels import sketching
from calibrant.segments import by_groups, candidates, sums
from calibrant.segments.by_column import calibration_by_segment
from calibrant.segments.by_groups import ByGroups, ByRows, parts_of
from calibrant.segments.candidates import form, units_of
from calibrant.segments.catalogue import few_known_in_words
from calibrant.segments.features import Feature, _lazy_feature, read_features
from calibrant.segments.request import Search, named, names_of
from calibrant.segments.results import FoundSegment
from calibrant.segments.sums import CellBlock, _all_of, _explained, _is, form_sums, found_in_sums
from calibrant.tables import frames
from calibrant.tables.features import code_name

NAMES = {"y_true": "y", "y_prob": "p"}


def rows(n=60, seed=0, **more):
    rng = np.random.default_rng(seed)
    v = rng.uniform(0.2, 0.8, n)
    return Rows.of((rng.random(n) < v).astype(float), v, **more)


def feature(name, code, n_values=None):
    code = np.asarray(code)
    return Feature(name, code, range(n_values) if n_values else tuple(f"{name} = {k}" for k in range(code.max() + 1)))


def block(members, codes, count=100.0, *, v=0.5):
    """Sums of a table with as many rows of each code, all of one prediction."""
    cells = np.zeros((len(codes), sketching.LOW + 4))
    cells[:, [sketching.COUNT, sketching.WEIGHT, sketching.SQUARED]] = count
    cells[:, [sketching.ONES, sketching.OUTCOME]] = count * v
    cells[:, -2:] = count, count * v * (1.0 - v)  # tested, and their information
    codes = np.array([codes] * len(members), np.int64).reshape(len(members), len(codes))
    index = np.full(codes.shape[1], int(2 * sums.RESOLUTION * v))
    return CellBlock(members, codes, index, cells, np.zeros(index.size, np.int64))


@pytest.mark.parametrize(("most", "n_values", "ends"), [(3, 2, True), (2, 2, False), (2, 200, False), (3, 301, False)])
@pytest.mark.parametrize("summed", [False, True])
def test_more_segments_than_can_be_told_are_refused(most, n_values, ends, summed, monkeypatch):
    """All rows and two values are three; so are they where a hundred times as many values as that had no row."""
    monkeypatch.setattr(candidates, "MOST_SEGMENTS", most)
    monkeypatch.setattr(sums, "MOST_SEGMENTS", most)
    of = [feature("s", np.arange(60) % 2, n_values)]

    def formed():
        if summed:
            return form_sums([block((0,), [0, 1])], of, [(), (0,)], 5, weighted=False)
        return form(units_of(rows(), of), of, 1, 5)

    if ends:
        assert len(formed()) == 3
    else:
        with pytest.raises(InputError, match=f"features: make more than {most} segments"):
            formed()


@pytest.mark.parametrize("whatever", [False, True])
@pytest.mark.parametrize(("n_rows", "said"), [(20.0, None), (19.0, True)])
def test_sums_of_fewer_rows_than_a_segment_needs_are_refused(whatever, n_rows, said):
    def formed():
        return form_sums([block((), [0], n_rows)], [], [()], 20, weighted=False, whatever_predicted=whatever)

    if not said:
        assert formed().totals.count.tolist() == [n_rows]
        return
    problem = "table: has 19 rows; a segment needs 20" if whatever else "y_prob: is strictly between 0 and 1 in 19 rows"
    with pytest.raises(InputError, match=problem):
        formed()


@pytest.mark.parametrize(
    ("names", "search", "said"),
    [
        ({}, {"sampling_fractions": (0.5, 1.0)}, "sampling_fractions: cannot be used with so many rows"),
        ({"sample_weight": "w"}, {}, "sample_weight: may tell outcomes, and rows of so large a table"),
    ],
)
def test_of_sums_weights_that_may_tell_outcomes_are_refused(names, search, said):
    with pytest.raises(InputError, match=said):
        found_in_sums(SimpleNamespace(), names, (), Search(**search))


def test_event_rates_are_no_outcomes_of_a_search_in_sums(monkeypatch):
    monkeypatch.setattr(frames, "MANY_ROWS", 0)
    table = pl.DataFrame({"y": [0.0, 1.0, 0.5] * 30, "p": [0.3, 0.6, 0.5] * 30, "s": [0, 1] * 45})
    with pytest.raises(InputError, match="y_true: holds event rates; segments are found by events"):
        find_segments(table.lazy(), **NAMES)


def test_rows_of_trials_are_summed_as_so_many_and_the_range_is_that_of_the_cells(monkeypatch):
    """All rows are off alike, so that the range of the strongest evidence is that of all predictions."""
    monkeypatch.setattr(frames, "MANY_ROWS", 0)
    p, m = np.linspace(0.27, 0.47, 60), np.arange(60) % 3 + 2
    table = pl.DataFrame({"y": np.where(np.arange(60) % 4, 1.0, 0.0), "p": p, "m": m, "s": np.arange(60) // 4 % 2})
    found = find_segments(table.lazy(), **NAMES, trials="m", min_rows=20, max_depth=1)
    assert found.tested[0, 0] == found.strongest.n_rows == m.sum()
    assert found.strongest.bias == pytest.approx(np.average(table["y"].to_numpy() - p, weights=m))
    assert (found.strongest.name, found.strongest.direction) == ("all rows", "too low")
    said = "values of one feature; rows were too many to be read, and were summed by cells of predictions"
    assert found.searched == said
    low, high = found.strongest.where
    assert math.floor(64 * p[0]) / 64 == low
    assert math.floor(64 * p[-1] + 1) / 64 == high


def test_conditions_hold_together_and_none_hold_everywhere():
    table = nw.from_native(pl.DataFrame({code_name(0): [0, 1, 1], code_name(1): [2, 2, 3]}))
    found = table.with_columns(
        none=_all_of([], 4), one=_all_of([_is(0, 1)], 4), both=_all_of([_is(0, 1), _is(1, 2)], 2)
    )
    assert [found[name].to_list() for name in ("none", "one", "both")] == [[4, 4, 4], [0, 4, 4], [0, 2, 0]]


@pytest.mark.parametrize("same", [True, False])
def test_a_segment_of_the_same_rows_is_explained_by_the_first(same):
    """Of 1,000 rows at 0.5 there are 600 events. Summed again, they are those of the other segment, or none are."""
    cells = np.zeros((2, sketching.LOW + 4))
    cells[:, [sketching.COUNT, sketching.WEIGHT, sketching.SQUARED]] = 1000.0
    cells[:, [sketching.ONES, sketching.OUTCOME]] = [[600.0, 600.0], [599.0, 599.0]]
    cells[:, sketching.LOW], cells[:, sketching.HIGH] = 0.5, 0.5
    starts, index = np.arange(2), np.full(2, sums.RESOLUTION)
    search = SimpleNamespace(
        level=0.05,
        share=np.full(2, 0.5),
        score=np.array([40.0, 39.0]),
        stated=SimpleNamespace(expected=np.full(2, 500.0)),
        summed=SimpleNamespace(
            cells=cells,
            index=index,
            handicap=np.zeros(2),
            starts=starts,
            ends=starts + 1,
            chosen=[(0,), (1,)],
            values=[(1,), (0,)],
            only=lambda left: (left, np.zeros(1, np.int64)),
        ),
    )
    asked = []

    def again(inside, sets):
        asked.append((list(inside), sets))
        own = block((1,), [0] if same else [], 1000.0)
        return [own]

    assert _explained(search, np.arange(2), again, [2, 1]) == ([0] if same else [0, 1])
    assert asked == [([0], [(1,)])]


def test_codes_beyond_the_largest_whole_number_tell_rows_apart():
    """Three features of 2^40 values make numbers of 120 bits; the rows differ in the first alone, or in the last."""
    code = np.arange(60) % 2
    v = Rows.of(code.astype(float), np.full(60, 0.4))
    for place in range(3):
        codes = [code if k == place else 0 * code for k in range(3)]
        wide = units_of(v, [feature(f"f{k}", each, 2**40) for k, each in enumerate(codes)])
        assert wide.count.tolist() == [30.0, 30.0]
        assert wide.codes[place].tolist() == [0, 1]


def test_rows_that_are_all_certain_make_no_lots_and_no_segment():
    certain = Rows.of(np.array([0.0, 1.0, 1.0]), np.array([0.0, 1.0, 0.0]))
    of = [feature("s", [0, 1, 1])]
    lots = units_of(certain, of)
    assert lots.prediction.size == lots.codes.shape[1] == 0
    with pytest.raises(InputError, match="is strictly between 0 and 1 in 0 rows"):
        form(lots, of, 1, 1)


def in_groups(n_groups=40):
    n = 10 * n_groups
    group, kind = np.divmod(np.arange(n), 10)
    v = np.linspace(0.3, 0.7, n)
    y = (np.random.default_rng(0).random(n) < v).astype(float)
    of = [feature("s", kind % 2)]
    units = units_of(Rows.of(y, v, groups=group), of)
    return units, form(units, of, 1, 5)


def test_scores_of_the_predictions_themselves_are_those_of_the_search_and_of_no_segment_there_is_none():
    units, formed = in_groups()
    found = ByGroups.of(units, formed, 20, 0.1, np.uint64(0))
    every = np.arange(len(formed))
    assert found.scored(units.prediction, every) == pytest.approx(found.score)
    assert found.scored(units.prediction, every[:0]).shape == (0,)


@pytest.mark.parametrize("most", [0, 10_000])
def test_more_sums_of_groups_than_are_kept_are_refused(most, monkeypatch):
    monkeypatch.setattr(by_groups, "_MOST_SUMS", most)
    if most:
        assert parts_of(*in_groups()).sums.nnz <= most
    else:
        with pytest.raises(InputError, match="features: make segments in which more than 0 sums of groups"):
            parts_of(*in_groups())


@pytest.mark.parametrize("lazy", [False, True])
def test_numbers_of_which_most_are_the_largest_are_cut_below_it(lazy, monkeypatch):
    monkeypatch.setattr(frames, "MANY_ROWS", 0)
    x, p = np.append(np.arange(11.0), np.full(189, 100.0)), np.linspace(0.2, 0.8, 200)
    table = pl.DataFrame({"y": np.arange(200) % 2, "p": p, "x": x})
    found = find_segments(
        table.lazy() if lazy else table, **NAMES, n_bins=4, min_rows=5, n_resamples=39, random_state=0
    )
    (labels,) = found.features.values()
    assert len(labels) == 2
    assert [eval(label, {"x": each}) for label in labels for each in (10.0, 100.0)] == [True, False, False, True]
    assert sorted(found.tested[:, 0].tolist()) == [11.0, 189.0, 200.0]


def test_what_was_wrong_with_a_text_is_raised_where_it_is_read():
    with pytest.raises(InputError, match="'x' holds too much"):
        _lazy_feature(SimpleNamespace(), "x", Search(), 10, InputError("features", "'x' holds too much"))


@pytest.mark.parametrize(("n", "known", "refused"), [(200, True, True), (200, False, False), (3, True, False)])
def test_a_copy_of_the_outcome_is_refused_where_rows_are_enough_to_tell(n, known, refused):
    y = np.arange(n) % 2 + 0.0
    columns = {"x": pa.chunked_array([pa.array(5.0 - y)]), "k": pa.chunked_array([pa.array(np.arange(n) % 3)])}
    given = {"y_prob": np.linspace(0.2, 0.8, n), "y_true": y if known else None}
    found, left_out = read_features(columns, given, Search(min_rows=1))
    assert [each.name for each in found] == ([] if refused else ["x"]) + ["k"]
    assert left_out == (
        {"x": "is the outcome itself, row by row; errors are to be explained without"} if refused else {}
    )


def test_features_are_names_and_all_of_them_are_none():
    assert named(("all",)) is None
    assert named(("all", "age")) == ("all", "age")
    assert names_of(None) is None
    assert names_of("age") == ("age",)
    for given, said in (
        (b"age", "find: is b'age'"),
        (7, "find: is 7"),
        (("age", ""), "find: names ''"),
        (("age", 1), "find: names 1"),
        ((), "find: is empty"),
        (("age", "age"), "find: names a column twice"),
    ):
        with pytest.raises(InputError, match=said):
            names_of(given, "find")


@pytest.mark.parametrize(
    ("n", "said"),
    [
        (1, "too few outcomes are known to look at s0"),
        (3, "too few outcomes are known to look at s0, s1, s2"),
        (4, "too few outcomes are known to look at s0, s1, s2 and 1 more"),
        (1_203, "too few outcomes are known to look at s0, s1, s2 and 1,200 more"),
    ],
)
def test_of_segments_with_few_known_outcomes_three_are_named(n, said):
    assert few_known_in_words(tuple(f"s{k}" for k in range(n))) == said


@pytest.mark.parametrize(
    ("bias", "direction", "where_bias", "where_share", "words", "said"),
    [
        (0.12, "too low", 0.12, 1.0, "too low by 12 points where s = a", "too low by 12 points on average (11 to 13)"),
        (
            0.012,
            "too low",
            0.25,
            0.5,
            "too low by 25 points between 0.1 and 0.4 where s = a",
            "from 0.1 to 0.4 are too low by 25 points, those of all its rows too low by 1.2 points",
        ),
        (
            -0.012,
            "too low",
            0.25,
            0.04,
            "too low by 25 points between 0.1 and 0.4 where s = a",
            "from 0.1 to 0.4 are too low by 25 points, those of all its rows too high by 1.2 points",
        ),
    ],
)
def test_a_segment_that_errs_in_a_part_is_told_by_that_part(bias, direction, where_bias, where_share, words, said):
    ends = Interval(bias - 0.01, bias + 0.01)
    found = FoundSegment(
        ("s = a",), 100, 0.5, 0.5, bias, ends, direction, (0.1, 0.4), where_bias, where_share, 0.001, 0.5, 0.1
    )
    assert found.words == words
    assert said in found.summary()
    assert found.off == pytest.approx(max(abs(bias), where_share * where_bias))
    assert found.summary().endswith(", 100 rows, p = 0.001")


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        ([1.0, 1e-102], "sample_weight: adds up to next to nothing in a segment"),
        ([0.0, 0.0], "sample_weight: "),
        ([1.0, 1e-98], None),
        ([1.0, 0.0], None),
    ],
)
def test_segments_must_weigh_something_or_nothing(weights, said):
    table = pa.table({"y": [0, 1] * 10, "p": [0.3, 0.6] * 10, "s": [0, 1] * 10, "w": weights * 10})
    options = {"by": ["s"], "sample_weight": "w", "outcome_free_weights": True}
    if said is None:
        found = calibration_by_segment(table, **NAMES, **options)
        assert sorted(each.key for each in found) == [(0,), (1,)][: 1 + (weights[1] > 0.0)]
    else:
        with pytest.raises(InputError, match=said):
            calibration_by_segment(table, **NAMES, **options)


@pytest.mark.parametrize(("n_groups", "signed"), [(40, True), (20, False)])
def test_the_least_total_of_groups_that_shows_has_the_score_beyond_which_nothing_is_noise(n_groups, signed):
    units, formed = in_groups(n_groups)
    found = ByGroups.of(units, formed, 20, 0.1, np.uint64(0))
    assert found.n_by_bound == (0 if signed else len(formed))
    for i, whole in enumerate(found.parts.first):
        total = found.detectable(i)
        if signed:  # the whole has 0.9 of the error, of which a score counts twice the log
            score = total**2 / found.parts.spread[whole] + 2.0 * math.log(0.9) - formed.handicap[i]
            assert score == pytest.approx(found.critical)
        else:
            assert total == math.inf


@pytest.mark.parametrize(("larger", "bounded"), [(0, True), (1, False)])
def test_a_tail_is_bounded_where_no_redraw_was_as_extreme(larger, bounded):
    """All of 60 rows at 0.3 are events: 0.3 to the 60th, twice, over the share of bounds, 0.01."""
    v = Rows.of(np.ones(60), np.full(60, 0.3))
    of = [feature("s", np.arange(60) % 2)]
    units = units_of(v, of)
    formed = form(units, of, 0, 5)
    redraws = SimpleNamespace(pvalue=np.array([(1.0 + larger) / 40.0]), total=np.array([42.0]))
    found = ByRows(units, formed, redraws, 39).tail(0)
    assert found == (pytest.approx(2.0 * 0.3**60 / 0.01, rel=1e-3) if bounded else 1.0)
