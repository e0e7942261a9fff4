"""The door: every kind of column gives the same sample, and every bad one a message that says what to do."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given

import calibrant
from calibrant import InputError
from calibrant.door.columns import as_numbers, check_weights, of_log_odds, read_columns, shown
from calibrant.door.sample import Sample
from tests.public import PUBLIC
from tests.strategies import samples

Y, P, W = [0.0, 1.0, 1.0, 0.0], [0.1, 0.25, 0.25, -0.0], [1.0, 2.0, 3.0, 4.0]
NAN, INF = float("nan"), float("inf")

KINDS = {
    "list": list,
    "tuple": tuple,
    "numpy": np.array,
    "float32": lambda x: np.array(x, np.float32),
    "strided": lambda x: np.repeat(x, 2)[::2],
    "reversed twice": lambda x: np.array(x[::-1])[::-1],
    "pandas": pd.Series,
    "pandas nullable": lambda x: pd.Series(x, dtype="Float64"),
    "pandas with an index": lambda x: pd.Series(x, index=[7, 3, 3, 1]),
    "polars": pl.Series,
    "pyarrow": pa.array,
    "pyarrow chunked": lambda x: pa.chunked_array([x[:1], x[1:]]),
    "decimal": lambda x: [Decimal(str(value)) for value in x],
    "fraction": lambda x: [Fraction(value) for value in x],
    "unmasked": np.ma.array,
}


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())
def test_every_kind_of_column(kind):
    sample = Sample.from_columns(kind(Y), kind(P), kind(W))
    np.testing.assert_allclose(sample.prediction, [0.0, 0.1, 0.25], rtol=1e-7)
    assert not np.signbit(sample.prediction[0])
    assert sample.weight.tolist() == [4.0, 1.0, 5.0]
    assert sample.weighted_outcome.tolist() == [0.0, 0.0, 5.0]
    unweighted = Sample.from_columns(kind(Y), kind(P))
    assert unweighted.count.tolist() == [1.0, 1.0, 2.0]
    assert unweighted.ones.tolist() == [0.0, 0.0, 2.0]


def test_torch_tensors():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    for dtype in (torch.float64, torch.float32, torch.bfloat16):
        p = torch.tensor([0.125, 0.25], dtype=dtype, requires_grad=True)
        assert Sample.from_columns(torch.tensor([0, 1]), p).prediction.tolist() == [0.125, 0.25]


def test_boolean_and_integer_outcomes():
    for outcome in (
        [False, True],
        np.array([0, 1], np.uint8),
        pd.Series([0, 1], dtype="Int64"),
        pl.Series([False, True]),
    ):
        assert Sample.from_columns(outcome, [0.2, 0.3]).ones.tolist() == [0.0, 1.0]


BAD = {
    "above one": ([0, 1], [0.5, 1.2], None, "y_prob: row 1 is 1.2; predictions must lie in [0, 1]"),
    "an ulp above one": ([0, 1], [0.5, np.nextafter(1, 2)], None, "y_prob: row 1 is 1"),
    "nan": ([0, 1], [0.5, NAN], None, "y_prob: row 1 is nan"),
    "infinite": ([0, 1], [INF, 0.5], None, "y_prob: row 0 is inf"),
    "logits": ([0, 1], [-3.0, 2.0], None, "look like logits"),
    "a single one beyond 1": ([0, 1] * 30, [1.7] + [0.5] * 59, None, "must lie in [0, 1]. 1 of 60 do not"),
    "percentages": ([0, 1], [3.0, 50.0], None, "look like percentages"),
    "log-probabilities": ([0, 1], [-0.1, -2.0], None, "look like log-probabilities"),
    "lengths": ([0, 1, 1], [0.1, 0.2], None, "y_true: has 3 rows but y_prob has 2"),
    "weight length": ([0, 1], [0.1, 0.2], [1], "sample_weight: has 1 row"),
    "empty": ([], [], None, "y_prob: is empty"),
    "two-dimensional": ([0, 1], [[0.1, 0.9], [0.8, 0.2]], None, "y_prob[:, 1]"),
    "a number": ([0, 1], 0.5, None, "y_prob: has shape ()"),
    "ragged": ([0, 1], [[1], [1, 2]], None, "rows differ in length"),
    "outcome two": ([0, 2], [0.1, 0.2], None, "y_true: row 1 is 2"),
    "outcomes one and two": ([1, 2], [0.1, 0.2], None, "1/2 labels"),
    "outcomes minus one": ([-1, 1], [0.1, 0.2], None, "-1/+1 labels"),
    "outcome nan": ([NAN, 1], [0.1, 0.2], None, "y_true: row 0 is nan"),
    "negative weight": ([0, 1], [0.1, 0.2], [1, -1], "sample_weight: row 1 is -1"),
    "no weight": ([0, 1], [0.1, 0.2], [0, 0], "zero in every row"),
    "infinite weight": ([0, 1], [0.1, 0.2], [0, INF], "sample_weight: row 1 is inf"),
    "absurd weight": ([0, 1], [0.1, 0.2], [1, 1e300], "scale the weights"),
    "text": (["no", "yes"], [0.1, 0.2], None, "y_true: holds"),
    "text that looks like numbers": ([0, 1], ["0.1", "0.2"], None, "y_prob: holds"),
    "text in objects": ([0, 1], np.array([0.1, "x"], object), None, "y_prob: row 1 is 'x'"),
    "none": ([0, None], [0.1, 0.2], None, "y_true: row 1 is None"),
    "nothing": (None, [0.1], None, "y_true: is None"),
    "polars null": (pl.Series([0, None]), pl.Series([0.1, 0.2]), None, "y_true: row 1 is null"),
    "pandas null": (pd.Series([0, None], dtype="Int64"), [0.1, 0.2], None, "y_true: row 1 is null"),
    "arrow null": ([0, 1], pa.array([0.1, None]), None, "y_prob: row 1 is null"),
    "masked": ([0, 1], np.ma.array([0.1, 0.2], mask=[False, True]), None, "y_prob: row 1 is masked"),
    "a table": ([0, 1], pd.DataFrame({"p": [0.1, 0.2]}), None, "whole table"),
    "complex": ([0, 1], [0.1, 0.2j], None, "complex128"),
    "dates": (np.array(["2020-01-01"], "M8[D]"), [0.1], None, "datetime64"),
    "swapped": ([0.3, 0.4], [0, 1], None, "look swapped"),
}


@pytest.mark.parametrize(("y_true", "y_prob", "weight", "message"), BAD.values(), ids=BAD.keys())
def test_bad_input_is_explained(y_true, y_prob, weight, message):
    with pytest.raises(InputError) as caught:
        calibrant.smooth_calibration_error(y_true, y_prob, sample_weight=weight)
    assert message in str(caught.value)
    assert isinstance(caught.value, ValueError)


def test_rates_at_hard_predictions_are_fine_with_weights():
    assert calibrant.smooth_calibration_error([0.25, 0.5], [0, 1], sample_weight=[3, 1]) > 0


@given(samples())
def test_pooling_equals_a_plain_group_by(sample):
    y_true, y_prob, weight = sample
    w = np.ones_like(y_prob) if weight is None else weight
    pooled = Sample.from_columns(*sample)
    distinct = np.unique(y_prob + 0.0)
    assert pooled.prediction.tolist() == distinct.tolist()
    assert pooled.n_rows == y_prob.size
    for column, expected in (
        (pooled.count, np.ones_like(w)),
        (pooled.ones, y_true == 1),
        (pooled.weight, w),
        (pooled.weighted_outcome, w * y_true),
        (pooled.squared_weight, w * w),
    ):
        np.testing.assert_allclose(column, [expected[y_prob == v].sum() for v in distinct], rtol=1e-12)
    assert pooled.mass().sum() == pytest.approx(1.0)
    assert pooled.effective_rows == pytest.approx(w.sum() ** 2 / (w**2).sum(), rel=1e-9)


def test_public_names_exist():
    assert all(value.__doc__ for value in PUBLIC.values())
    for namespace in (calibrant, calibrant.measures):
        with pytest.raises(AttributeError, match=f"module '{namespace.__name__}' has no attribute 'expected'"):
            _ = namespace.expected


@pytest.mark.parametrize(
    ("y_prob", "said", "row"),
    [
        (pd.Series([0.5, "x", None], dtype=object), "row 1 is 'x'", 1),
        (pd.Series([0.5, None, "x"], dtype=object), "row 1 is null", 1),
        (pd.Series([None, 0.5, "x"], dtype=object), "row 0 is null", 0),
        (np.array([7.0, "x"], object), "row 0 is 7; predictions must lie in", 0),
        (np.array(["x", 0.5], object), "row 0 is 'x'; numbers are needed", 0),
        (np.array([10**400, 0.5], object), "row 0 is too large for a number in double precision", 0),
        (
            [[0.5, 0.5]],
            r"has shape \(1, 2\); one dimension, .* \(of two classes pass the column of the positive one",
            None,
        ),
        ([[0.5], [0.5]], r"\(pass its one column, y_prob\[:, 0\]\)", None),
        ([[0.5] * 3], r"\(of 3 classes pass one, y_true == label with its column; or the top label", None),
        (np.zeros((1, 1, 1)), r"has shape \(1, 1, 1\); one dimension, a value per row, is needed$", None),
        ([[0.5], [0.5, 1.0]], "is not a flat column of numbers", None),
        ("0.5", "is '0.5'; a column of numbers is needed", None),
        ([], "is empty; at least one row is needed", None),
        ([0.5, 1.00001], "row 1 is 1.00001; predictions must lie in", 1),
        ([0.5, -1.0], r"These look like logits", 1),
        ([-0.5, -1.0], r"These look like log-probabilities", 0),
        ([50.0, 1.0], "These look like percentages: divide them by 100", 0),
        ([500.0, 1.0], "These look like scores or ranks", 0),
        ([0.5] * 99 + [1.25], r"1 of 100 do not", 99),
    ],
)
def test_the_first_row_without_a_prediction_is_told(y_prob, said, row):
    with pytest.raises(InputError, match=f"y_prob: .*{said}") as told:
        read_columns(np.zeros(len(y_prob)), y_prob, None)
    assert told.value.row == row


@pytest.mark.parametrize(
    ("weight", "batch", "said"),
    [
        ([0.5, 0.25], False, None),
        ([1.0, 0.0], False, None),
        ([0.0, 0.0], True, None),
        ([0.0, 0.0], False, "zero in every row"),
        ([0.5, -1.0], False, "row 1 is -1; weights must not be negative"),
        ([2.0, np.inf], False, "row 1 is inf"),
        ([np.nan, 1.0], False, "row 0 is nan"),
        ([0.0, 1e300], True, "has 1e\\+300 as its largest value; scale the weights to lie near 1"),
        ([0.0, 1e-300], False, "has 1e-300 as its largest value"),
    ],
)
def test_weights_are_finite_not_negative_and_not_all_zero(weight, batch, said):
    if said is None:
        check_weights(np.array(weight), batch=batch)
    else:
        with pytest.raises(InputError, match=f"sample_weight: .*{said}"):
            check_weights(np.array(weight), batch=batch)


@pytest.mark.parametrize(
    ("y_true", "said", "row"),
    [
        ([0.5, 1.5], "row 1 is 1.5; outcomes must be 0 or 1, or event rates in", 1),
        ([-1, 1], r"These are -1/\+1 labels", 0),
        ([1, 2], "These are 1/2 labels", 1),
        ([0, 3], "Of counts of events a measure takes the rates", 1),
        ([0.0, -0.5], r"row 1 is -0.5; outcomes must be 0 or 1, or event rates in \[0, 1\]$", 1),
        ([0, 0.25, 1], r"row 1 is 0.25 while every prediction is 0 or 1", 1),
    ],
)
def test_the_first_row_without_an_outcome_is_told(y_true, said, row):
    with pytest.raises(InputError, match=f"y_true: .*{said}") as told:
        read_columns(y_true, [0.0, 1.0, 1.0][: len(y_true)], None)
    assert told.value.row == row


def test_a_tensor_is_read_where_it_is():
    class Tensor:
        """What is asked of one of torch."""

        def __init__(self, values, device):
            self.values, self.device = values, type("Device", (), {"type": device, "__str__": lambda _: device})()

        def detach(self):
            return self

        def double(self):
            return self.values

    assert as_numbers(Tensor([0.25, 0.5], "cpu"), "x").tolist() == [0.25, 0.5]
    with pytest.raises(InputError, match=r"x: is a tensor on cuda; move it with \.cpu\(\) first"):
        as_numbers(Tensor([0.25], "cuda"), "x")


def test_log_odds_are_probabilities():
    assert of_log_odds([0.0, np.inf, -np.inf, np.log(3), -np.log(3)]) == pytest.approx([0.5, 1.0, 0.0, 0.75, 0.25])
    assert of_log_odds([-800.0, 800.0]).tolist() == [0.0, 1.0]
    with pytest.raises(InputError, match="y_prob: row 1 is nan") as told:
        of_log_odds([0.0, np.nan])
    assert told.value.row == 1


def test_numbers_are_shown_in_as_many_digits_as_tell_them():
    assert [shown(value) for value in (0.5, 1.0000001, 1e-7, 123456.0)] == ["0.5", "1.0000001", "1e-07", "123456"]
