"""Losses against the measures themselves and autograd's own check; the metric against the rows; training helps."""

import numpy as np
import pytest

from calibrant import InputError, kernel_calibration_error, smooth_calibration_error


def drawn(n, seed, bend=1.7):
    rng = np.random.default_rng(seed)
    v = rng.random(n)
    return (rng.random(n) < v**bend).astype(float), v


torch = pytest.importorskip("torch", reason="torch is not installed")


def test_values_are_the_measures():
    from calibrant.torch import kernel_calibration_loss, smooth_calibration_loss

    y, v = drawn(300, 0)
    v = np.round(v, 2)
    args = torch.tensor(v), torch.tensor(y)
    assert float(smooth_calibration_loss(*args)) == pytest.approx(smooth_calibration_error(y, v), abs=1e-12)
    for bandwidth in (0.1, 1.0):
        expected = kernel_calibration_error(y, v, bandwidth=bandwidth) ** 2
        assert float(kernel_calibration_loss(*args, bandwidth=bandwidth)) == pytest.approx(expected, abs=1e-12)


def test_gradients():
    from calibrant.torch import kernel_calibration_loss

    y, v = drawn(40, 1)
    v = torch.tensor(v, requires_grad=True)
    y = torch.tensor(y)
    assert torch.autograd.gradcheck(lambda p: kernel_calibration_loss(p, y, bandwidth=0.3), (v,), atol=1e-6)


@pytest.mark.parametrize("name", ["smooth_calibration_loss", "kernel_calibration_loss"])
def test_training_a_temperature_calibrates(name):
    import calibrant.torch

    y, v = drawn(2000, 2, 1.0)
    logits = torch.tensor(2.0 * np.log(v / (1 - v)))
    inverse = torch.tensor(1.0, dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.Adam([inverse], lr=0.02)
    for _ in range(150):
        optimiser.zero_grad()
        getattr(calibrant.torch, name)(torch.sigmoid(inverse * logits), torch.tensor(y)).backward()
        optimiser.step()
    assert 0.4 < float(inverse.detach()) < 0.6


def test_single_precision_keeps_its_type():
    from calibrant.torch import smooth_calibration_loss

    v = torch.rand(50, dtype=torch.float32, requires_grad=True)
    loss = smooth_calibration_loss(v, torch.ones(50))
    loss.backward()
    assert loss.dtype == v.grad.dtype == torch.float32


def test_metric_over_batches_and_workers():
    from calibrant.torch import CalibrationMetric

    y, v = drawn(5000, 3)
    first, second = CalibrationMetric(), CalibrationMetric()
    for k, rows in enumerate(np.array_split(np.arange(5000), 10)):
        (first if k % 2 else second).update(torch.tensor(v[rows]), torch.tensor(y[rows]))
    bound = first.merge(second).sketch.error_bound("smooth_calibration_error")
    assert abs(float(first.compute()) - smooth_calibration_error(y, v)) <= bound + 1e-9
    first.reset()
    first.update(torch.tensor([0.5]), torch.tensor([1]))
    assert float(first.compute()) == pytest.approx(0.5, abs=1e-6)
    with pytest.raises(InputError, match="measure"):
        CalibrationMetric("accuracy")
    with pytest.raises(InputError, match="no proved bound"):
        CalibrationMetric("interval_calibration_error")


def test_bad_tensors():
    from calibrant.torch import smooth_calibration_loss

    with pytest.raises(InputError, match="y_prob: row 1"):
        smooth_calibration_loss(torch.tensor([0.5, 1.5]), torch.tensor([0.0, 1.0]))
