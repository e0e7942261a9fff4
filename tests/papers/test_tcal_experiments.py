"""T-Cal's experiments: the same verdicts as the paper, and simulations that lie on its curves."""

import numpy as np
import pytest

from calibrant.door.errors import FileError
from calibrant.inference.testing.tcal import debiased_plug_in
from calibrant_papers import tcal
from calibrant_papers import tcal as tcal_published
from calibrant_papers.tcal_figures import bump, figure_2, figures_3_and_4, oscillation, plug_in, split_statistics
from calibrant_papers.tcal_tables import DATASETS, cells
from tests.oracles import tcal as oracle
from tests.shared_data import FOLDER, needs_data


@pytest.mark.slow
@needs_data
def test_verdicts_on_cifar_10_are_the_papers():
    found = list(cells(DATASETS[0], FOLDER, n_seeds=0))
    assert len(found) == 18
    assert all(cell.rejects == cell.paper_rejects for cell in found)
    assert all(cell.error_as_coded == pytest.approx(cell.paper_error, abs=0.006) for cell in found)
    assert all(
        cell.debiased == pytest.approx(cell.paper_debiased, abs=0.006) for cell in found if cell.debiased is not None
    )


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileError, match="cifar10_densenet121"):
        tcal.table_1(True, tmp_path)


def test_the_bump_has_the_papers_norm_and_the_curve_stays_a_probability():
    x = np.linspace(0, 1, 100_001)
    assert np.sqrt(np.mean(bump(x) ** 2)) == pytest.approx(0.0098482, abs=1e-6)
    for m in (40, 190):
        off = oscillation(x, m, 0.6, 100.0)
        assert np.all((x + off >= 0) & (x + off <= 1))
        assert np.all(off[(x < 0.25) | (x > 0.75)] == 0)
        assert int((np.diff(np.sign(off[off != 0])) != 0).sum()) == m - 1
    sides = oscillation(x, 40, 0.3, 100.0, two_sided=True)
    assert np.all(sides[x < 0.5] <= 0)
    assert np.all(sides[x > 0.5] >= 0)


@pytest.mark.parametrize("m", [7, 5000])
def test_plug_in_estimates_equal_their_definition(m):
    rng = np.random.default_rng(0)
    z = rng.random(100)
    y = (rng.random(100) < z).astype(float)
    assert plug_in(y, z, m)["debiased"] == pytest.approx(debiased_plug_in(y, z, n_bins=m), abs=1e-12)
    cell = np.array(oracle.interval_cells(z, m))
    means = [(np.mean(cell == k), (y - z)[cell == k].mean()) for k in set(cell)]
    assert plug_in(y, z, m)["biased"] == pytest.approx(sum(w * r**2 for w, r in means), abs=1e-12)
    assert plug_in(y, z, m)["l1"] == pytest.approx(sum(w * abs(r) for w, r in means), abs=1e-12)


def test_split_statistics_average_both_roles():
    rng = np.random.default_rng(0)
    z = rng.random(101)
    y = (rng.random(101) < z).astype(float)
    found = split_statistics(y, z, 5, np.random.default_rng(1))
    assert 0 <= found["split"] <= 2 * found["cross-fitted"]


def test_debiasing_is_necessary_as_in_figure_2():
    means = figure_2(draws=100)
    assert means["biased"][1] < means["biased"][0]
    assert means["debiased"][1] > 0.0005 > abs(means["debiased"][0])
    for name, published in tcal_published.FIGURE_2.items():
        assert means[name] == pytest.approx(published, abs=6e-4)


@pytest.mark.slow
def test_power_lies_on_the_papers_curve():
    debiased = figures_3_and_4(2000, draws=300, repeats=3)[0]
    assert debiased.name == "debiased"
    assert debiased.mean == pytest.approx(tcal_published.FIGURES_3_AND_4[2000]["debiased"], abs=0.12)
