"""The experiments of verified calibration on a small scale, against its claims and plain re-computation."""

import numpy as np
import pytest

from calibrant.door.errors import FileError
from calibrant.measures.binned import squared_calibration_error
from calibrant_papers import postprocessing, squared_error
from calibrant_papers.predictions import ten_classes
from calibrant_papers.registry import write
from tests.oracles.smooth import smooth_calibration_error as oracle
from tests.shared_data import FOLDER, needs_data


@needs_data
def test_the_cancelling_estimator_is_nearer_to_the_truth():
    for found in squared_error.squared_deviations(FOLDER, rows=(500, 2000), draws=100):
        assert found.debiased.mean() < 0.5 * found.plug_in.mean()
    assert "times smaller" in squared_error.deviation_table([found])[0]


@needs_data
def test_the_truth_is_the_plug_in_error_of_the_second_half():
    found = squared_error.squared_deviations(FOLDER, n_bins=20, rows=(100,), draws=2)[0]
    top = ten_classes(FOLDER).top_label()
    fitted = squared_error.ScalingBinning(20, "ceil").fit(top.y_prob[:5000], top.y_true[:5000])
    again = squared_calibration_error(top.y_true[5000:], fitted.predict(top.y_prob[5000:]), debiased=False)
    assert found.truth == pytest.approx(again, abs=1e-12)


@pytest.mark.slow
@needs_data
def test_few_bins_certify_less_and_score_worse():
    few, many = squared_error.certified_errors(FOLDER, n_bins=(10, 100), n_resamples=30)
    assert few.debiased < many.debiased < many.percentile
    assert few.brier > many.brier
    assert squared_error.certified_figure([few, many]).axes


@pytest.mark.slow
@needs_data
@pytest.mark.parametrize("experiment", [squared_error.deviation, squared_error.brier, postprocessing.table_2])
def test_each_can_be_written(experiment, tmp_path):
    done = experiment(True, FOLDER)
    assert done.finding.endswith(".")
    assert write("verified", done, tmp_path)[0].read_text().startswith("# ")


@pytest.mark.slow
@needs_data
def test_recalibration_lowers_the_smooth_error_of_the_worst_network():
    found = postprocessing.errors_after_recalibration(FOLDER, runs=3)
    before, isotonic, temperature = found["cifar100_resnet56"].described
    assert max(isotonic, temperature) < before
    assert np.isfinite([each for errors in found.values() for each in (*errors.described, *errors.coded)]).all()


def test_what_the_script_computes_is_the_error_of_at_most_fifteen_points():
    rng = np.random.default_rng(0)
    y_prob = np.concatenate([rng.random(300), [0.0, 1 / 15, 1.0, 1.0]])
    y_true = (rng.random(304) < y_prob).astype(float)
    points = [(y_prob > k / 15) & (y_prob <= (k + 1) / 15) for k in range(15)]
    share, confidence = ([column[rows].mean() for rows in points if rows.any()] for column in (y_true, y_prob))
    assert postprocessing.as_coded(y_true, y_prob) == pytest.approx(oracle(share, confidence), abs=1e-9)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileError, match=r"folder: holds no cifar10_vgg_10class\.parquet"):
        squared_error.squared_deviations(tmp_path)
