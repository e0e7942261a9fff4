"""The authors' files are read as the tables are; a pickle that would call anything is refused."""

import pickle

import numpy as np
import pytest

from calibrant.door.errors import FileError
from calibrant_papers.predictions import TEN_CLASSES, ten_classes, top_label
from tests.shared_data import FOLDER, needs_data


class Runs:
    def __reduce__(self):
        return exec, ("raise SystemExit('ran')",)


@needs_data
@pytest.mark.parametrize("protocol", [3, 4])
def test_a_networks_pickle_is_read_as_its_table(tmp_path, protocol):
    y_true, y_prob = top_label(FOLDER, "cifar10_vgg19_bn")
    written = pickle.dumps((y_prob, y_true.astype(int)), protocol)
    if protocol == 3:  # whose names have no length: as an older NumPy wrote them
        written = written.replace(b"numpy._core.", b"numpy.core.")
    (tmp_path / "cifar10_vgg19_bn.pickle").write_bytes(written)
    found = top_label(tmp_path, "cifar10_vgg19_bn")
    assert np.array_equal(found[0], y_true)
    assert np.array_equal(found[1], y_prob)


@pytest.mark.slow
@needs_data
def test_ten_classes_of_a_pickle_are_those_of_the_table(tmp_path):
    sample = ten_classes(FOLDER)
    (tmp_path / "cifar_probs.dat").write_bytes(
        pickle.dumps((sample.y_prob.astype(np.float32), sample.y_true.astype(np.int64)[:, None]))
    )
    found = ten_classes(tmp_path)
    assert np.array_equal(found.y_true, sample.y_true)
    assert found.y_prob == pytest.approx(sample.y_prob, abs=1e-7)


@pytest.mark.parametrize(
    "value",
    [Runs(), (np.ones(3), Runs()), np.ones(3), (np.ones(3), np.ones(2)), (np.array([None]), np.ones(1)), {"a": 1}],
)
def test_other_pickles_are_refused(tmp_path, value):
    (tmp_path / "net.pickle").write_bytes(pickle.dumps(value))
    with pytest.raises(FileError, match=r"folder: holds a net\.pickle that"):
        top_label(tmp_path, "net")


def test_a_cut_pickle_is_refused(tmp_path):
    (tmp_path / "cifar_probs.dat").write_bytes(pickle.dumps((np.ones((4, 10)), np.ones(4)))[:-9])
    with pytest.raises(FileError, match="cannot be read"):
        ten_classes(tmp_path)
    with pytest.raises(FileError, match=f"holds no {TEN_CLASSES}.parquet, and no cifar_probs.dat"):
        ten_classes(tmp_path / "nowhere")
