"""Pictures of found segments: strength of colour, frames that stay in their cells, numbers that tell errors apart."""

import re
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.patches import Rectangle

from calibrant.report import segments
from calibrant.report.text import _labels

PVALUES = (1e-12, 1e-6, 1e-3, 0.05, 0.0500001, 1.0)


@pytest.fixture
def axes(monkeypatch):
    """Axes of what is drawn, in place of its text."""
    for module in (segments, segments):
        monkeypatch.setattr(module, "as_svg", lambda figure: figure.axes[0])


def found(off, pvalue):
    """Two features whose pairs of values were all tested, with errors and p-values by row and column."""
    rows, columns = np.indices(off.shape).reshape(2, -1)
    return SimpleNamespace(
        level=0.05,
        features={"f": [f"f = {k}" for k in range(off.shape[0])], "g": [f"g = {k}" for k in range(off.shape[1])]},
        made_of=[((0, int(i)), (1, int(j))) for i, j in zip(rows, columns, strict=True)],
        tested=np.stack([10.0 ** np.arange(1, off.size + 1), off.ravel(), pvalue.ravel()], axis=1),
        segments=[SimpleNamespace(n_rows=10, bias=0.1, n_unknown=0)],
    )


@pytest.mark.usefixtures("axes")
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_dots_are_the_stronger_the_surer_from_the_level_on(sign):
    off = sign * np.arange(1.0, 7.0)[None, :] / 10.0
    drawn = segments.found_svg(found(off, np.array([PVALUES])), 5.0)
    noise, sure = drawn.collections
    assert [noise.get_label(), sure.get_label()] == ["may be noise", "too low" if sign > 0.0 else "too high"]
    assert noise.get_offsets().data.tolist() == [[10.0**5, off[0, 4]], [10.0**6, off[0, 5]]]
    assert sure.get_offsets().data.tolist() == [[10.0 ** (k + 1), off[0, k]] for k in range(4)]
    strength = sure.get_alpha()
    assert strength[0] == strength[1] == 1.0
    assert 0.0 < strength[3] < strength[2] < 1.0


@pytest.mark.usefixtures("axes")
def test_cells_are_filled_framed_and_numbered_by_their_errors():
    off = np.array([[0.1, -0.2], [0.05, -0.01], [0.002, -0.2]])
    pvalue = np.array([[0.01, 0.05], [0.06, 1.0], [1e-9, 0.5]])
    drawn = segments.pair_svg(found(off, pvalue), (0, 1), 5.0)
    cells = [each for each in drawn.patches if isinstance(each, Rectangle)]
    filled = {(round(each.get_y() + 0.5), round(each.get_x() + 0.5)): each for each in cells if each.get_fill()}
    frames = [each.get_bbox() for each in cells if not each.get_fill()]
    assert sorted(filled) == sorted(np.ndindex(off.shape))
    for place, cell in filled.items():
        box = cell.get_bbox()
        assert (box.width, box.height) == (1.0, 1.0)
        within = [box.x0 < f.x0 and f.x1 < box.x1 and box.y0 < f.y0 and f.y1 < box.y1 for f in frames]
        assert sum(within) == (pvalue[place] <= 0.05)
    assert len(frames) == 3
    strength = {place: cell.get_alpha() for place, cell in filled.items()}
    assert sorted(strength, key=strength.get)[0] == (2, 0)
    assert strength[0, 1] == strength[2, 1] == max(strength.values()) <= 1.0
    assert (drawn.get_xlim(), drawn.get_ylim()) == ((-0.5, 1.5), (2.5, -0.5))
    words = {(round(y), round(x)): each.get_text() for each in drawn.texts for x, y in [each.get_position()]}
    assert words == {place: f"{off[place]:+.3f}".replace("0.", ".", 1) for place in filled}


@pytest.mark.parametrize("largest", [0.5, 0.02, 0.0099, 3e-4, 2e-7])
def test_numbers_of_cells_have_the_digits_that_tell_a_tenth_of_the_largest_error(largest):
    told = [float(segments._signed(share * largest, largest)) for share in (-1.0, 0.9, 1.0)]
    assert told == pytest.approx([-largest, 0.9 * largest, largest], abs=0.05 * largest)
    digits = len(segments._signed(largest, largest).removeprefix("+."))
    assert 10.0**-digits <= 0.1 * largest
    assert digits == 3 or 10.0 ** (1 - digits) > 0.1 * largest


def test_conditions_beside_a_feature_s_name_say_it_no_second_time():
    assert segments._short("f = a", "f") == "a"
    assert segments._short("1 < f <= 2", "f") == "1 to 2"
    assert segments._short("f is missing", "f") == "missing"
    assert [len(segments._short(f"f = {'a' * k}", "f")) for k in (24, 25, 90)] == [24, 25, 25]


@pytest.mark.parametrize("span", [1.0, 0.99, 0.5, 0.1, 0.099, 0.013, 0.01, 2e-4])
def test_ends_of_an_axis_have_the_digits_that_tell_a_tenth_of_it(span):
    digits = {len(each.strip().partition(".")[2]) for each in _labels(0.0, span, "linear")}
    (k,) = digits
    assert 10.0**-k <= 0.1 * span * (1.0 + 1e-12)
    assert k == 1 or 10.0 ** (1 - k) > 0.1 * span


@pytest.mark.usefixtures("axes")
def test_cells_of_values_that_are_not_drawn_are_left_out():
    rng = np.random.default_rng(0)
    off, pvalue = rng.normal(size=(20, 2)), rng.uniform(0.1, 1.0, (20, 2))
    pvalue[::2] = 1e-9
    drawn = segments.pair_svg(found(off, pvalue), (0, 1), 5.0)
    told = [each.get_text() for each in drawn.get_yticklabels()]
    assert len(told) == 12
    assert {f"{2 * k}" for k in range(10)} <= {re.sub(r".*= ", "", each) for each in told}
    assert len([each for each in drawn.patches if each.get_fill()]) == 24


@pytest.mark.parametrize("name", ["found", "not found"])
@pytest.mark.parametrize(("direction", "colour"), [("too high", "high"), ("too low", "low"), (None, "curve")])
def test_a_class_has_the_colour_of_its_direction_where_it_is_found(name, direction, colour):
    each = SimpleNamespace(name=name, direction=direction)
    assert segments._colour(each, {"found"}) == (colour if name == "found" else "bars")


def test_ends_of_a_listed_range_lose_their_words():
    assert segments._short("f from 1 to 2", "f") == "1 to 2"
    assert segments._short("f from a", "f") == "from a"


@pytest.mark.parametrize("of_classes", [(), ((0.3, 0.1, None),), ((0.3, 0.1, (0.15, 0.25)), (0.1, 0.3, (-0.3, -0.1)))])
def test_classes_are_dots_and_one_line_of_the_intervals_that_they_have(of_classes):
    drawn = []
    axes = SimpleNamespace(plot=lambda x, y, **look: drawn.append((list(x), list(y), look.get("marker"))))
    each = [SimpleNamespace(rate=a, mean_prediction=b, bias_interval=c) for a, b, c in of_classes]
    at = list(range(3, 3 + len(each)))
    segments._sticks(axes, at, each, "red", 2.0)
    lines = [(x, y) for x, y, marker in drawn if marker is None]
    dots = [(x, y) for x, y, marker in drawn if marker is not None]
    assert dots == ([(at, [a - b for a, b, _ in of_classes])] if each else [])
    assert len(lines) == any(c is not None for *_, c in of_classes)
    for x, y in lines:
        np.testing.assert_array_equal(x, [3, 3, 3, 4, 4, 4])
        np.testing.assert_array_equal(y, [0.15, 0.25, np.nan, -0.3, -0.1, np.nan])


@pytest.mark.parametrize(("told", "drawn"), [(0, 1), (1, 1), (3, 3), (5, 3)])
def test_told_pairs_are_drawn_up_to_three_or_else_the_strongest_one(told, drawn):
    made_of = [((0, 0),), *(((0, 0), (k, 0)) for k in (5, 4, 3, 2, 1)), ((0, 0), (1, 1), (2, 2))]
    pvalue = [1e-9, *(0.05 if k <= told else 0.1 + 0.01 * k for k in (5, 4, 3, 2, 1)), 1e-9]
    tested = np.column_stack([np.ones((7, 2)), pvalue])
    pairs = segments.pairs_to_draw(SimpleNamespace(made_of=made_of, tested=tested, level=0.05))
    assert pairs == [(0, 1 + k) for k in range(drawn)]


@pytest.mark.parametrize(
    ("shape", "said"),
    [
        ((12, 2), ""),
        ((13, 2), "12 of 13 values of f: those with the strongest evidence."),
        ((2, 150), "12 of 150 values of g: those with the strongest evidence."),
        ((20, 14), "12 of 20 values of f and 12 of 14 values of g: those with the strongest evidence."),
    ],
)
def test_it_is_told_of_how_many_values_those_are_that_are_drawn(shape, said):
    assert segments.values_drawn(found(np.ones(shape), np.linspace(0.1, 1.0, shape[0] * shape[1])), (0, 1)) == said


@pytest.mark.parametrize(("shape", "names"), [((3, 2), ("f", "g")), ((2, 2), ("f", "g")), ((2, 3), ("g", "f"))])
def test_the_feature_with_more_values_makes_the_rows(shape, names):
    assert segments.pair_names(found(np.ones(shape), np.ones(shape)), (0, 1)) == names


@pytest.mark.usefixtures("axes")
@pytest.mark.parametrize(("letters", "turned"), [(1, 0.0), (24, 90.0)])
def test_long_names_of_columns_are_turned_and_proved_numbers_are_bold(letters, turned):
    table = found(np.array([[0.1, -0.2], [0.3, 0.1]]), np.array([[0.01, 0.9], [0.9, 0.01]]))
    table.features["g"] = [f"g = {name * letters}" for name in "ab"]
    drawn = segments.pair_svg(table, (0, 1), 5.0)
    assert {label.get_rotation() for label in drawn.get_xticklabels()} == {turned}
    assert {label.get_rotation() for label in drawn.get_yticklabels()} == {0.0}
    assert {each.get_text(): each.get_fontweight() for each in drawn.texts} == {
        "+.100": "bold",
        "-.200": "normal",
        "+.300": "normal",
    }


@pytest.mark.usefixtures("axes")
@pytest.mark.parametrize(("unknown", "label"), [(0, "rows"), (3, "known rows")])
def test_the_first_nine_of_the_found_segments_are_numbered(unknown, label):
    table = found(np.full((2, 6), 0.1), np.full((2, 6), 0.01))
    table.segments = [SimpleNamespace(n_rows=10 * k, bias=0.1, n_unknown=0) for k in range(1, 12)]
    table.segments[4].n_unknown = unknown
    drawn = segments.found_svg(table, 5.0)
    assert [(each.get_text(), each.xy) for each in drawn.texts] == [(str(k), (10 * k, 0.1)) for k in range(1, 10)]
    assert drawn.get_xlabel() == label


@pytest.mark.usefixtures("axes")
@pytest.mark.parametrize(
    ("most", "digits"),
    [(150.0, "123456789"), (900.0, "123456789"), (1100.0, "125"), (4_000.0, "125"), (6_000.0, "1"), (1e6, "1")],
)
def test_the_axis_of_rows_has_a_few_round_labels(most, digits):
    table = found(np.array([[0.1, 0.2]]), np.array([[0.01, 0.9]]))
    table.tested[:, 0] = 100.0, most
    drawn = segments.found_svg(table, 5.0)
    low, high = drawn.get_xlim()
    ticks = [each for each in drawn.get_xticks() if low <= each <= high]
    assert 2 <= len(ticks) <= 6
    assert {f"{each:.0e}"[0] for each in ticks} <= set(digits)


def of_classes(n):
    """As many classes, each with an error of its own, in no order."""
    errors = np.random.default_rng(n).permutation(n) / n
    each = [
        SimpleNamespace(name=f"class {k}", rate=e, mean_prediction=0.0, bias_interval=None, direction=None)
        for k, e in enumerate(errors)
    ]
    return errors, SimpleNamespace(class_wise=each, found=each[:1])


@pytest.mark.parametrize("n", [3, 40, 41])
def test_up_to_forty_classes_are_named_below_their_errors_which_rise(n):
    errors, classes = of_classes(n)
    (ax,) = segments._errors(classes, 9.0).axes
    names = [label.get_text() for label in ax.get_xticklabels()]
    assert names == ([str(k) for k in np.argsort(errors)] if n <= 40 else [])
    assert ax.get_xlabel() == ("" if n <= 40 else "41 classes, by seen less predicted")
    dots = np.concatenate([line.get_xydata() for line in ax.lines if line.get_marker() == "o"])
    assert dots[np.argsort(dots[:, 0])] == pytest.approx(np.column_stack([np.arange(n), np.sort(errors)]))


def test_squares_of_pairs_are_as_large_as_the_evidence_and_have_room_for_four_classes_at_least():
    areas = {}
    for m in (2, 4, 8):
        evidence = np.zeros((m, m))
        evidence[0, 1], evidence[1, 0], evidence[1, 1] = 30.0, -20.0, 0.9
        names = ["a" * 14, "b" * 15, *map(str, range(m - 2))]
        (ax,) = segments._pairs(SimpleNamespace(names=names, evidence=evidence), 5.0).axes
        high, low = ax.collections
        assert (low.get_offsets().tolist(), high.get_offsets().tolist()) == ([[1.0, 0.0]], [[0.0, 1.0]])
        assert low.get_sizes() == pytest.approx(high.get_sizes())  # beyond twenty tens of odds no square grows
        (areas[m],) = low.get_sizes()
        for labels in (ax.get_xticklabels(), ax.get_yticklabels()):
            assert [label.get_text() for label in labels] == ["a" * 14, "b" * 13 + "…", *names[2:]]
        assert {label.get_rotation() for label in ax.get_xticklabels()} == {90.0}
        assert {label.get_rotation() for label in ax.get_yticklabels()} == {0.0}
    assert areas[2] == pytest.approx(areas[4])
    assert areas[4] == pytest.approx(4.0 * areas[8])
