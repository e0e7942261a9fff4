"""The averaged map of classes: evidence against its integral, one map for any order, near the identity when few."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import softmax

from calibrant.door.classes import multiclass_sample
from calibrant.recalibration import AveragedClassScaling, TemperatureScaling, choose_recalibrator, from_json
from calibrant.recalibration import averaged as room
from calibrant.recalibration.softmax_fit import OutOfTime, SoftmaxProblem
from tests.oracles import averaged_classes as oracle
from tests.strategies import drawn_classes, examples


def drawn(n, k, seed, sharpen=1.0):
    label, table = drawn_classes(n, k, seed, sharpen)
    return label, np.maximum(table, 1e-9) / np.maximum(table, 1e-9).sum(axis=1, keepdims=True)


@pytest.mark.parametrize("scales", [each for _, grid in room.SHARED.values() for each in grid])
def test_shared_evidence_and_mode_are_those_of_the_integral(scales):
    label, table = drawn(60, 3, 1, 1.6)
    x, rows = np.log(table), np.ones(60)
    found = dict(zip(all_scales(room.SHARED), room.shared_members(x, label, rows), strict=True))
    member, free = found[scales], np.array(scales) > 0.0

    def likelihood(at):
        both = np.zeros((len(at), 2))
        both[:, free] = at
        return np.array([oracle.shared_log_likelihood(x, label, rows, t, u) for t, u in both])

    if not free.any():
        assert evidence_of(room.SHARED, member) == pytest.approx(likelihood(np.zeros((1, 0)))[0], abs=1e-9)
        return
    deviation, centre = np.array(scales)[free], member.at[free]
    root = np.linalg.cholesky(np.linalg.inv(hessian(lambda c: likelihood(c[None])[0], centre, deviation)))
    evidence, mean = oracle.evidence_by_importance(likelihood, centre, root, deviation, np.random.default_rng(0), 1500)
    assert evidence_of(room.SHARED, member) == pytest.approx(evidence, abs=0.1)
    assert np.all(np.abs(centre - mean) < 0.3 * np.sqrt((root**2).sum(axis=1)))


def all_scales(members):
    return [each for _, grid in members.values() for each in grid]


def evidence_of(members, member):
    prior, grid = members[member.name]
    return member.log_weight - np.log(prior / len(grid))


def hessian(log_likelihood, at, deviation, step=1e-4):
    """Minus the second derivatives of the log posterior, by differences."""
    size = at.size
    out, unit = np.empty((size, size)), step * np.eye(size)
    for i in range(size):
        for j in range(size):
            corners = [log_likelihood(at + a * unit[i] + b * unit[j]) * a * b for a in (1, -1) for b in (1, -1)]
            out[i, j] = -sum(corners) / (4.0 * step**2)
    return out + np.diag(deviation**-2.0)


@pytest.mark.parametrize("scales", [each for grid in room.own_scales(3).values() for each in grid if any(each)])
@pytest.mark.parametrize("n", [80, 400])
def test_own_evidence_and_mode_are_those_of_a_sample(scales, n):
    k = 3
    label, table = drawn(n, k, n, 1.3)
    x, mass = np.log(table), np.full(n, 1.0 / n)
    if scales.mixing:
        x -= x.mean(axis=1, keepdims=True)
    problem = SoftmaxProblem(x, label, mass, room.precisions(scales, k) / n)
    evidence, at = room.own_mode(problem, n)
    free, identity = problem.free, np.eye(k + 1, k)
    deviation, centre = (problem.ridge[free] * n) ** -0.5, (at - identity)[free]

    def likelihood(of):
        weights = np.repeat(identity[None], len(of), axis=0)
        weights[:, free] += of
        return oracle.own_log_likelihood(x, label, np.ones(n), weights)

    curvature = hessian(lambda c: likelihood(c[None])[0], centre, deviation)
    root = np.linalg.cholesky(np.linalg.inv(curvature))
    log_posterior = likelihood(centre[None])[0] - 0.5 * ((centre / deviation) ** 2).sum()
    laplace = log_posterior - np.log(deviation).sum() - 0.5 * np.linalg.slogdet(curvature)[1]
    assert evidence == pytest.approx(laplace, abs=1e-3)
    theirs, mean = oracle.evidence_by_importance(likelihood, centre, root, deviation, np.random.default_rng(0), 5000)
    assert evidence == pytest.approx(theirs, abs=0.5 if n < 100 else 0.25)
    assert np.all(np.abs(centre - mean) < 0.8 * np.sqrt((root**2).sum(axis=1)))


def test_entries_of_centred_scores_have_their_like_of_others():
    rng = np.random.default_rng(0)
    x, at = rng.normal(size=(20, 4)), rng.normal(size=(5, 4))
    centred = x - x.mean(axis=1, keepdims=True)
    like = room.of_uncentred(at)
    assert softmax(x @ like[:4] + like[4], axis=1) == pytest.approx(softmax(centred @ at[:4] + at[4], axis=1))


@pytest.mark.parametrize("scales", [room.Own(1.0), room.Own(1.0, 0.1), room.Own(0.5, 0.3, 0.3)])
def test_blocks_understate_the_evidence_and_never_overstate_it(scales, monkeypatch):
    label, table = drawn(500, 5, 0, 1.4)
    problem = SoftmaxProblem(np.log(table), label, np.full(500, 0.002), room.precisions(scales, 5) / 500)
    whole, _ = room.own_mode(problem, 500)
    monkeypatch.setattr(room, "_WHOLE", 0)
    blocks, _ = room.own_mode(problem, 500)
    assert whole - 0.5 * np.isfinite(problem.ridge).sum() < blocks < whole


@pytest.mark.parametrize("weighted", [False, True])
def test_the_order_of_rows_does_not_show(weighted):
    label, table = drawn_classes(300, 4, 2, 1.5)
    table = np.round(table[:, :3], 1)
    table = np.column_stack([table, 1.0 - table.sum(axis=1)]).clip(0.0)
    table /= table.sum(axis=1, keepdims=True)  # equal rows, and zeros
    label = np.where(np.take_along_axis(table, label[:, None], 1)[:, 0] > 0.0, label, table.argmax(axis=1))
    weight = np.random.default_rng(2).integers(1, 5, 300).astype(float) if weighted else None
    other = np.random.default_rng(3).permutation(300)
    one = AveragedClassScaling().fit(table, label, weight)
    two = AveragedClassScaling().fit(table[other], label[other], None if weight is None else weight[other])
    assert one.to_json() == two.to_json()
    assert np.array_equal(from_json(one.to_json()).predict(table), one.predict(table))


@examples(25)
@given(st.integers(3, 6), st.integers(2, 60), st.integers(0, 10**6), st.sampled_from([0.0, 1.0, 30.0]))
def test_any_rows_give_probabilities(k, n, seed, sharpen):
    label, table = drawn_classes(n, k, seed, sharpen)
    label = np.minimum(label, k - 2)  # the last is never seen
    found = AveragedClassScaling().fit_classes(multiclass_sample(label, table))
    for at in (table, np.eye(k), np.full((1, k), 1.0 / k)):
        after = found.predict(at)
        assert (after > 0.0).all()
        assert after.sum(axis=1) == pytest.approx(1.0)
    assert sum(found.weights_.values()) == pytest.approx(1.0)
    assert isinstance(found.summary(), str)


def test_few_rows_leave_the_predictions_nearly_as_they_are_and_many_find_the_temperature():
    label, table = drawn(20, 4, 5)
    assert abs(AveragedClassScaling().fit(table, label).predict(table) - table).max() < 0.2
    label, table = drawn_classes(4000, 4, 6, 2.0)
    fits = [each.fit(table, label).predict(table) for each in (AveragedClassScaling(), TemperatureScaling())]
    assert abs(fits[0] - fits[1]).max() < 0.05


@pytest.mark.slow
def test_classes_that_are_mistaken_for_each_other_are_told_apart():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(8000, 3))
    mixed = x @ np.array([[1.0, 0.7, 0.0], [0.0, 0.3, 0.0], [0.0, 0.0, 1.0]])
    truth, said = (np.exp(each) / np.exp(each).sum(axis=1, keepdims=True) for each in (mixed, x))
    label = (rng.random((8000, 1)) > truth[:, :2].cumsum(axis=1)).sum(axis=1)
    found = AveragedClassScaling().fit(said, label)
    assert found.weights_["matrix"] > 0.45
    assert abs(found.predict(said) - truth).mean() < 0.01 < abs(said - truth).mean()
    assert choose_recalibrator(label, said).chosen == "averaged_classes"


def test_a_fit_that_takes_too_long_is_given_up():
    label, table = drawn_classes(100, 4, 0, 2.0)
    with pytest.raises(OutOfTime):
        AveragedClassScaling().fit_classes(multiclass_sample(label, table), stop=lambda: True)


def test_a_row_without_weight_changes_nothing():
    rng = np.random.default_rng(1)
    table = rng.dirichlet([0.5, 1.0, 2.0], 200)
    table[:10] = [0.0, 0.4, 0.6]
    label = (rng.random(200)[:, None] > table.cumsum(axis=1)[:, :2]).sum(axis=1)
    one = AveragedClassScaling().fit(table, label, np.ones(200))
    more = np.vstack([table, [[1e-200, 0.5, 0.5]]])
    other = AveragedClassScaling().fit(more, np.append(label, 1), np.append(np.ones(200), 0.0))
    assert one.to_json() == other.to_json()
    weight = rng.lognormal(size=200)
    order = rng.permutation(200)
    one, other = (AveragedClassScaling().fit(table[at], label[at], weight[at]) for at in (np.arange(200), order))
    assert one.to_json() == other.to_json()


@pytest.mark.parametrize(("k", "mixed"), [(2, True), (50, True), (51, False)])
def test_classes_mix_up_to_fifty(k, mixed):
    own = room.own_scales(k)
    assert list(own) == list(room.EACH)[: 3 + mixed]
    assert own["vector"][1].factor == max(0.1, 0.5 / np.sqrt(2.0 * k))


@pytest.mark.parametrize("deviation", [(0.5, 0.0), (0.0, 0.5), (0.0, 0.0)])
def test_a_mode_of_one_number_begins_without_the_other(deviation):
    """What is not free is 0 at the mode, wherever the search began, and so is the loss that it reports."""
    label, table = drawn(40, 3, 0, 1.3)
    arguments = np.log(table), label, np.ones(40), np.array(deviation)
    far, near = (room._Likelihood.of(*arguments[:3], np.array(place)) for place in ((0.3, 0.4), (0.0, 0.0)))
    (found, evidence), (other, expected) = (room._shared_mode(*arguments, each) for each in (far, near))
    assert found.place == pytest.approx(other.place, abs=1e-6)
    assert (found.place[np.array(deviation) == 0.0] == 0.0).all()
    assert evidence == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("zeros", "least", "clip"),
    [(0, 1e-3, room._CLIP), (0, 1e-300, 1e-300), (1, 0.5, room._CERTAIN), (2_000, 0.5, 1 / 2_002), (2_000, 1e-5, 1e-5)],
)
def test_a_zero_is_read_as_the_least_or_less_by_how_many_there_are(zeros, least, clip):
    """One rate of so many rows that never happened is, by the rule of succession, 1 / (2 + rows) at most."""
    table = np.array([[1.0 - least, least], [0.0 if zeros else 0.5, 1.0 if zeros else 0.5]])
    assert room._clip(table, np.array([1.0, float(zeros)])) == pytest.approx(min(clip, 1 / (2 + zeros)))


@pytest.mark.parametrize("scales", [room.Own(1.0), room.Own(1.0, 0.5), room.Own(0.5, 0.5, 0.5)])
@pytest.mark.parametrize("whole", [True, False])
def test_the_determinant_is_that_of_the_second_derivatives_or_of_their_blocks(monkeypatch, scales, whole):
    """Entry by entry: of class j and l, sum n m p_j (1[j = l] - p_l) z z', and the ridges; z is x and a one."""
    monkeypatch.setattr(room, "_WHOLE", 10**6 if whole else 0)
    k, n = 3, 20
    rng = np.random.default_rng(0)
    p, mass = rng.dirichlet(np.ones(k), n), rng.dirichlet(np.ones(n))
    problem = SoftmaxProblem(
        np.log(rng.dirichlet(np.ones(k), n)), np.zeros(n, int), mass, room.precisions(scales, k) / n
    )
    entries = [(a, j) for j in range(k) for a in range(k + 1) if problem.free[a, j]]
    z = np.column_stack([problem.x, np.ones(n)])
    hessian = np.array(
        [
            [
                (n * mass * p[:, j] * ((j == m) - p[:, m]) * z[:, a] * z[:, b]).sum() * (whole or j == m)
                + n * problem.ridge[a, j] * ((a, j) == (b, m))
                for b, m in entries
            ]
            for a, j in entries
        ]
    )
    assert room._log_determinant(problem, p, n) == pytest.approx(np.linalg.slogdet(hessian)[1])
