"""Class probabilities: the questions asked of them, the labels they come with, and what is refused."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import softmax

from calibrant import InputError, discrete_calibration_test
from calibrant.door.classes import ClassTable, class_table, drawn_rows, multiclass_sample
from calibrant.measures.binned import squared_calibration_error
from tests.oracles import multiclass as oracle
from tests.shared_data import FOLDER, needs_data
from tests.strategies import examples


@st.composite
def tables(draw):
    n, k = draw(st.integers(1, 12)), draw(st.integers(2, 6))
    counts = np.array(
        draw(st.lists(st.lists(st.integers(0, 4), min_size=k, max_size=k), min_size=n, max_size=n)), float
    )
    counts[counts.sum(axis=1) == 0] = 1.0
    label = np.array(draw(st.lists(st.integers(0, k - 1), min_size=n, max_size=n)))
    return label, counts / counts.sum(axis=1, keepdims=True)


@examples(300)
@given(case=tables())
def test_questions_equal_their_definition(case):
    label, table = case
    sample = multiclass_sample(label, table)
    k = table.shape[1]
    expected = [oracle.top_label(label, sample.y_prob)]
    expected += [oracle.top_k(label, sample.y_prob, j) for j in range(1, k)]
    expected += [oracle.class_wise(label, sample.y_prob, j) for j in range(k)]
    found = sample.reductions(top_k=range(1, k))
    for question, (outcome, confidence) in zip(found, expected, strict=True):
        assert question.y_true.tolist() == outcome.tolist()
        assert question.y_prob == pytest.approx(confidence, abs=1e-15)
        assert ((question.y_prob >= 0) & (question.y_prob <= 1)).all()


TABLE = [[0.5, 0.3, 0.2], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6], [0.25, 0.25, 0.5]]


@pytest.mark.parametrize(
    ("labels", "options", "classes"),
    [
        ([0, 1, 2, 2], {}, (0, 1, 2)),
        (np.array([0.0, 1.0, 2.0, 2.0]), {}, (0, 1, 2)),
        (["a", "b", "c", "c"], {}, ("a", "b", "c")),
        (["a", "b", "c", "c"], {"classes": np.array(["a", "b", "c"])}, ("a", "b", "c")),
        (pd.Series(["a", "b", "c", "c"], dtype="category"), {}, ("a", "b", "c")),
        ([10, 20, 30, 30], {"classes": [10, 20, 30]}, (10, 20, 30)),
        ([[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 1]], {}, (0, 1, 2)),
        ([[0], [1], [2], [2]], {}, (0, 1, 2)),
    ],
)
def test_labels_of_every_kind(labels, options, classes):
    sample = multiclass_sample(labels, TABLE, **options)
    assert sample.y_true.tolist() == [0, 1, 2, 2]
    assert sample.labels == classes
    assert sample.top_label().y_true.tolist() == [1, 1, 1, 1]


def test_columns_of_a_frame_name_the_classes():
    frame = pd.DataFrame(TABLE, columns=["cat", "ant", "dog"])
    sample = multiclass_sample(["ant", "ant", "ant", "ant"], frame)
    assert sample.labels == ("cat", "ant", "dog")
    assert sample.y_true.tolist() == [1, 1, 1, 1]
    assert [q.name for q in sample.class_wise()] == ["class cat", "class ant", "class dog"]
    assert sample.class_wise()[0].y_true.tolist() == [0, 0, 0, 0]  # a class never seen


@pytest.mark.parametrize(
    ("labels", "table", "options", "message", "row"),
    [
        ([0, 1], [[0.5, 0.5], [0.5, 0.6]], {}, "y_prob: row 1 adds up to 1.1; .* within 1e-05", 1),
        ([0, 1], [[0.5, 0.5], [np.nan, 0.6]], {}, "y_prob: row 1, column 0 is nan", 1),
        ([0, 1], [[1.5, -0.5], [0.5, 0.5]], {}, "y_prob: row 0, column 0 is 1.5", 0),
        ([0, 2], [[0.5, 0.5], [0.5, 0.5]], {}, "y_true: row 1 is 2, which is no class; the classes are 0, 1", 1),
        ([0, 0.5], [[0.5, 0.5], [0.5, 0.5]], {}, "y_true: row 1 is 0.5, which is no class", 1),
        ([0, np.nan], [[0.5, 0.5], [0.5, 0.5]], {}, "y_true: row 1 is nan", 1),
        (["a", None], [[0.5, 0.5], [0.5, 0.5]], {"classes": ["a", "b"]}, "y_true: row 1 is None", 1),
        (pd.Series(["a", None], dtype="string"), [[0.5, 0.5]] * 2, {"classes": ["a", "b"]}, "y_true: row 1", 1),
        (["a", "a"], [[0.5, 0.5], [0.5, 0.5]], {}, "y_true: holds 1 different labels but y_prob has 2", None),
        (["a", "c"], [[0.5, 0.5]] * 2, {"classes": ["a", "b"]}, "y_true: row 1 is c, which is no class", 1),
        ([0, 1, 1], [[0.5, 0.5], [0.5, 0.5]], {}, "y_true: has 3 rows but y_prob has 2", None),
        ([[1, 0], [1, 1]], [[0.5, 0.5], [0.5, 0.5]], {}, "y_true: row 1 is not one-hot", 1),
        ([[1, 0, 0]], [[0.5, 0.5]], {}, "y_true: has 3 columns but y_prob has 2", None),
        ([0], [[1.0]], {}, "y_prob: has 1 column", None),
        ([0], [0.5, 0.5], {}, "y_prob: has shape", None),
        ([0], [[0.5, 0.5], [1.0]], {}, "y_prob: is not a table of numbers", None),
        ([0], np.empty((0, 2)), {}, "y_prob: is empty", None),
        ([0], [["a", "b"]], {}, "y_prob: holds text", None),
        ([0, 1], [[0.5, 0.5]] * 2, {"classes": ["a"]}, "classes: has 1 names", None),
        ([0, 1], [[0.5, 0.5]] * 2, {"classes": ["a", "a"]}, "classes: holds a name twice", None),
        ([0, 1], [[0.5, 0.5]] * 2, {"sample_weight": [1, -1]}, "sample_weight: row 1 is -1", 1),
        ([0, 1], [[0.5, 0.5]] * 2, {"tolerance": 2}, "tolerance: is 2", None),
    ],
)
def test_bad_input(labels, table, options, message, row):
    with pytest.raises(InputError, match=message) as caught:
        multiclass_sample(labels, table, **options)
    assert caught.value.row == row


def test_class_wise_mean_is_the_mean_over_classes():
    sample = multiclass_sample([0, 1, 2, 2], TABLE, sample_weight=[1, 2, 3, 4])
    values = [
        squared_calibration_error(q.y_true, q.y_prob, sample_weight=[1, 2, 3, 4], debiased=False)
        for q in sample.class_wise()
    ]
    found = sample.class_wise_mean(squared_calibration_error, debiased=False)
    assert found == pytest.approx(np.mean(values), abs=1e-15)


def test_k_must_leave_a_class_out():
    with pytest.raises(InputError, match="k: is 3; it must be below the number of classes, 3"):
        multiclass_sample([0, 1, 2, 2], TABLE).top_k(3)


@needs_data
def test_ten_classes_of_a_network():
    frame = pd.read_parquet(FOLDER / "cifar10_vgg_10class.parquet")
    sample = multiclass_sample(frame["y_true"], frame[[f"p{k}" for k in range(10)]])
    top = sample.top_label()
    assert top.y_true.mean() == pytest.approx(0.9365, abs=0.02)
    assert top.y_prob.mean() > top.y_true.mean()
    assert (
        np.column_stack([q.y_prob for q in sample.class_wise()]) == frame[[f"p{k}" for k in range(10)]].to_numpy()
    ).all()


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64, np.longdouble])
@pytest.mark.parametrize("k", [2, 3, 10, 1000])
def test_probabilities_are_the_very_numbers_given(kind, k):
    rng = np.random.default_rng(k)
    table = rng.dirichlet(np.full(k, 0.3), 50).astype(kind)
    label = rng.integers(0, k, 50)
    for given_as in (table, table.tolist(), pd.DataFrame(table.astype(np.float64))):
        assert (multiclass_sample(label, given_as).y_prob == table.astype(np.float64)).all()


def test_ties_survive_as_given_and_in_sums():
    votes = np.random.default_rng(0).multinomial(10, [0.5, 0.3, 0.2], size=500) / 10
    sample = multiclass_sample(np.zeros(500, int), votes)
    assert sample.top_label().y_prob.tolist() == votes.max(axis=1).tolist()
    assert set(sample.top_k(2).y_prob) <= {i / 10 for i in range(11)}
    assert sample.top_k(1).y_prob.tolist() == sample.top_label().y_prob.tolist()
    near = [[0.5, 0.5 - 2.0**-53, 2.0**-53]]
    assert multiclass_sample([0], near).top_k(2).y_prob[0] == 1.0 - 2.0**-53  # below 1 it stays


@pytest.mark.parametrize("off", [0.00003, 0.02])
def test_half_precision_is_known_by_its_numbers_and_nothing_else_is_let_through(off):
    table = np.array([[0.5, 0.25, 0.25 + off], [0.5, 0.25, 0.25]])
    with pytest.raises(InputError, match="row 0 adds up to"):
        multiclass_sample([0, 1], table)
    half = np.array([[0.5, 0.25, 0.24902], [0.5, 0.25, 0.25]], dtype=np.float16)
    assert multiclass_sample([0, 1], half).y_prob[0].sum() < 0.9995
    with pytest.raises(InputError, match=r"row 0 adds up to 0\.9799"):
        multiclass_sample([0, 1], np.array([[0.5, 0.25, 0.23], [0.5, 0.25, 0.25]], dtype=np.float16))


def test_six_decimals_of_a_thousand_classes():
    table = np.round(np.random.default_rng(0).dirichlet(np.ones(1000), 200), 6)
    assert np.abs(table.sum(axis=1) - 1).max() > 1e-5
    assert (multiclass_sample(np.zeros(200, int), table).y_prob == table).all()


def test_ten_votes_are_tested_as_they_are():
    rng = np.random.default_rng(5)
    votes = rng.multinomial(10, [0.45, 0.35, 0.2], size=2000) / 10
    label = (rng.random(2000)[:, None] > votes.cumsum(axis=1)).sum(axis=1)
    top = multiclass_sample(label, votes).top_label()
    expected = discrete_calibration_test((votes.argmax(axis=1) == label).astype(int), votes.max(axis=1))
    assert discrete_calibration_test(top.y_true, top.y_prob) == expected


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_nothing_is_copied_and_any_number_of_the_largest_is_found(kind):
    rng = np.random.default_rng(1)
    table = (rng.integers(0, 9, (300, 40)) + 1).astype(np.float64)
    table = (table / table.sum(axis=1, keepdims=True)).astype(kind)
    sample = multiclass_sample(rng.integers(0, 40, 300), table)
    assert np.shares_memory(sample.table.given, table)
    order = np.argsort(-table.astype(np.float64), axis=1, kind="stable")
    for count in (1, 5, 16, 17, 39):
        best, probability = sample.leading(count)
        assert (best == order[:, :count]).all()
        assert (probability == np.take_along_axis(table, best, axis=1)).all()
    assert (np.stack([q.y_prob for q in sample.class_wise()], axis=1) == table).all()


@pytest.mark.slow
def test_logits_are_read_as_their_softmax():
    rng = np.random.default_rng(2)
    score = rng.normal(size=(200, 30)) * 4
    score[0, 3] = -np.inf
    label = rng.integers(0, 30, 200)
    for kind, off in ((np.float16, 0.0), (np.float32, 7.0), (np.float64, -800.0)):
        given = (score + off).astype(kind)
        expected = softmax(given.astype(np.float64), axis=1)
        sample = multiclass_sample(label, given, from_logits=True)
        assert sample.y_prob == pytest.approx(expected, rel=1e-12)
        assert sample.y_prob[0, 3] == 0.0
        assert (sample.y_prob <= 1.0).all()
        from_columns = np.stack([q.y_prob for q in sample.class_wise()], axis=1)
        assert from_columns == pytest.approx(expected, rel=1e-12)
    assert np.shares_memory(sample.table.given, given)
    # What single precision would call certain is not.
    near = multiclass_sample([1], np.array([[20.0, 0.0, 0.0]], np.float32), from_logits=True)
    assert 0.0 < 1.0 - near.top_label().y_prob[0] < 1e-8
    for bad, message in ((np.nan, "row 1, column 0 is nan"), (np.inf, "row 1, column 0 is inf")):
        with pytest.raises(InputError, match=message):
            multiclass_sample([0, 1], [[0.0, 1.0], [bad, 1.0]], from_logits=True)
    with pytest.raises(InputError, match="row 0 has no possible class"):
        multiclass_sample([0], [[-np.inf, -np.inf]], from_logits=True)


def test_a_tensor_is_read_where_it_lies():
    torch = pytest.importorskip("torch")
    table = torch.softmax(torch.randn(50, 7, requires_grad=True), dim=1)
    sample = multiclass_sample(torch.arange(50) % 7, table)
    assert np.shares_memory(sample.table.given, table.detach().numpy())
    assert multiclass_sample([0] * 50, table.half()).table.given.dtype == np.float16


@pytest.mark.parametrize(
    ("miss", "tolerance", "taken"),
    [
        (9e-6, None, True),
        (1.1e-5, None, False),
        (1.1e-5, 0.5, True),
        (0.0, 0.0, True),
        (1e-6, 0.0, False),
        (-9e-6, None, True),
        (-1.1e-5, None, False),
    ],
)
def test_rows_add_up_to_1_within_the_tolerance(miss, tolerance, taken):
    table = [[0.3, 0.7], [0.25, 0.75 + miss]]
    if taken:
        assert class_table(table, tolerance).rows().tolist() == table
    else:
        with pytest.raises(
            InputError, match=r"y_prob: row 1 adds up to .*; class probabilities must add up to 1"
        ) as told:
            class_table(table, tolerance)
        assert told.value.row == 1


@pytest.mark.parametrize("tolerance", [-0.1, 1.0, 1.1, True, "0.1", np.nan])
def test_a_tolerance_lies_below_1(tolerance):
    with pytest.raises(InputError, match=r"tolerance: is .*; it must lie in \[0, 1\)"):
        class_table([[0.5, 0.5]], tolerance)


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (np.empty((0, 3)), "is empty; at least one row is needed"),
        ([[1.0], [1.0]], "has 1 column; a column for each of two or more classes is needed"),
        ([0.5, 0.5], r"has shape \(2,\); a table with a row for each case"),
        (np.zeros((1, 2, 2)), r"has shape \(1, 2, 2\)"),
        ([[0.5, 0.5], [1.0]], "is not a table of numbers: rows of one length are needed"),
        ([[0.5, 1.5]], "row 0, column 1 is 1.5; class probabilities must lie in"),
        ([[0.5, 0.5], [-0.1, 1.1]], "row 1, column 0 is -0.1; class probabilities must lie in"),
        ([[0.5, np.nan]], "row 0, column 1 is nan"),
        ([["a", "b"]], "holds text; numbers are needed"),
        ([[0.5, "b"]], "holds text; numbers are needed|holds object values"),
    ],
)
def test_what_is_no_table_of_class_probabilities_is_refused(table, said):
    with pytest.raises(InputError, match=f"y_prob: {said}"):
        class_table(table)


def test_objects_that_are_numbers_are_a_table():
    from fractions import Fraction

    assert class_table(np.array([[Fraction(1, 4), Fraction(3, 4)]], object)).rows().tolist() == [[0.25, 0.75]]
    assert class_table([[True, False]]).given.dtype == np.float64
    assert class_table(np.array([[0.5, 0.5]], np.float32)).given.dtype == np.float32


def test_a_tensor_that_carries_a_gradient_is_a_table():
    class Tensor:
        """What is asked of one of torch."""

        def __init__(self, values, wide=True):
            self.values, self.wide = values, wide

        def detach(self):
            return Tensor(self.values, self.wide)

        cpu = detach

        def numpy(self):
            if not self.wide:
                raise TypeError("BFloat16")
            return self.values

        def float(self):
            return Tensor(self.values.astype(np.float32))

    values = np.array([[0.25, 0.75]])
    assert class_table(Tensor(values)).given is values
    assert class_table(Tensor(values, wide=False)).given.dtype == np.float32


@pytest.mark.parametrize("logits", [False, True])
def test_columns_and_rows_of_a_table_are_the_same_numbers(logits):
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(7, 4))
    wanted = softmax(scores, axis=1)
    table = class_table(scores, from_logits=True) if logits else class_table(wanted)
    assert table.rows() == pytest.approx(wanted)
    assert table.columns(1, 3) == pytest.approx(wanted[:, 1:3].T)
    assert table.rows([4, 2]) == pytest.approx(wanted[[4, 2]])
    assert table.take(np.array([4, 2])).rows() == pytest.approx(wanted[[4, 2]])
    zero = ClassTable(np.array([[-0.0, 1.0]]))
    assert not np.signbit(zero.rows()).any()
    assert not np.signbit(zero.columns(0, 2)).any()


@pytest.mark.parametrize(
    ("scores", "said", "row"),
    [
        ([[0.0, 1.0], [np.inf, 0.0]], "row 1, column 0 is inf; logits must be numbers; minus infinity is a class", 1),
        ([[0.0, np.nan]], "row 0, column 1 is nan", 0),
        ([[0.0, 1.0], [-np.inf, -np.inf]], "row 1 has no possible class", 1),
    ],
)
def test_what_are_no_logits_is_refused(scores, said, row):
    with pytest.raises(InputError, match=f"y_prob: {said}") as told:
        class_table(np.array(scores), from_logits=True)
    assert told.value.row == row
    assert class_table(np.array([[-np.inf, 0.0]]), from_logits=True).rows().tolist() == [[0.0, 1.0]]


@pytest.mark.parametrize(("n", "most", "drawn"), [(9, 27, 9), (9, 26, 8), (9, 12, 4), (9, 5, 1), (9, 1, 1)])
def test_rows_are_drawn_until_their_table_has_so_many_numbers(n, most, drawn):
    rng = np.random.default_rng(0)
    sample = multiclass_sample(rng.integers(0, 3, n), rng.dirichlet(np.ones(3), n))
    found = drawn_rows(sample, most, 0)
    assert found.table.shape == (drawn, 3)
    assert drawn_rows(sample, most, 0).y_prob.tolist() == found.y_prob.tolist()
    assert (found is sample) == (n <= most // 3)


def test_equal_rows_are_drawn_together():
    sample = multiclass_sample(np.arange(20) % 2, np.repeat([[0.25, 0.75], [0.5, 0.5]], [18, 2], axis=0))
    sizes = {drawn_rows(sample, 2, seed).table.shape[0] for seed in range(20)}
    assert sizes == {18, 2}
    # Where the last that is drawn is there more than twice as often as asked for, those before it do.
    assert {drawn_rows(sample, 6, seed).table.shape[0] for seed in range(20)} == {18, 2}


def test_of_two_classes_one_is_the_event():
    two = multiclass_sample(["b", "a"], [[0.25, 0.75], [0.5, 0.5]])
    assert two.positive_class == "b"
    assert multiclass_sample(["b", "a"], [[0.25, 0.75], [0.5, 0.5]], pos_label="a").positive_class == "a"
    with pytest.raises(InputError, match="y_prob: has 3 columns; only one of two classes can be the event"):
        _ = multiclass_sample([0, 1], [[0.25, 0.5, 0.25], [0.5, 0.5, 0.0]]).positive_class
