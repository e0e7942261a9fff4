"""The papers' own predictions, from tables or from the files that their authors published, which are pickles."""

from __future__ import annotations

import pickle
from io import BytesIO
from pathlib import Path

import numpy as np

from calibrant.door.classes import MulticlassSample, multiclass_sample
from calibrant.door.columns import FloatArray
from calibrant.door.errors import FileError
from calibrant.tables.entry import OpenedFile

TEN_CLASSES = "cifar10_vgg_10class"
_ARRAYS = {
    (f"numpy.{core}.multiarray", "_reconstruct") for core in ("core", "_core")
} | {("numpy", "ndarray"), ("numpy", "dtype")}  # fmt: skip


class _OfArrays(pickle.Unpickler):
    """Reads tuples of NumPy arrays, and refuses everything else that a pickle would call."""

    def find_class(self, module: str, name: str) -> object:
        if (module, name) not in _ARRAYS:
            raise pickle.UnpicklingError(f"names {module}.{name}")
        return super().find_class(module.replace("numpy.core", "numpy._core"), name)


def top_label(folder: Path, network: str) -> tuple[FloatArray, FloatArray]:
    """Whether a network was right, and its top confidence: NETWORK.parquet (y_true, y_prob), or NETWORK.pickle.

    Raises
    ------
    FileError
        If neither is there, or it holds something else.
    """
    table = folder / f"{network}.parquet"
    if table.exists():
        columns = OpenedFile(table).read(y_true="y_true", y_prob="y_prob")
        return columns.y_true.astype(np.float64), columns.y_prob.astype(np.float64)
    confidence, right = _pickled(folder, f"{network}.pickle", table.name)
    if confidence.ndim != 1 or confidence.shape != right.shape:
        raise FileError("folder", f"holds a {network}.pickle that is not two columns of one length")
    return right.astype(np.float64), confidence.astype(np.float64)


def ten_classes(folder: Path) -> MulticlassSample:
    """Ten classes' probabilities of a VGG on CIFAR-10: cifar10_vgg_10class.parquet (p0 to p9, y_true), or cifar_probs.dat.

    Raises
    ------
    FileError
        If neither is there, or it holds something else.
    """
    table = folder / f"{TEN_CLASSES}.parquet"
    if table.exists():
        file = OpenedFile(table)
        columns = [file.read(y_true="y_true", y_prob=f"p{k}") for k in range(10)]
        return multiclass_sample(columns[0].y_true, np.column_stack([c.y_prob for c in columns]))
    chance, label = _pickled(folder, "cifar_probs.dat", table.name)
    if chance.ndim != 2 or chance.shape[1] != 10:
        raise FileError("folder", "holds a cifar_probs.dat that is not ten columns of probabilities")
    return multiclass_sample(label.reshape(-1), chance)


def _pickled(folder: Path, name: str, table: str) -> tuple[np.ndarray, np.ndarray]:
    path = folder / name
    if not path.exists():
        raise FileError("folder", f"holds no {table}, and no {name} as the authors published it")
    try:
        found = _OfArrays(BytesIO(path.read_bytes())).load()
    except Exception as error:  # damaged bytes make unpickling fail in any way
        raise FileError("folder", f"holds a {name} that cannot be read ({error})") from None
    arrays = [each for each in found if isinstance(each, np.ndarray)] if isinstance(found, tuple) else []
    if len(arrays) != 2 or not {each.dtype.kind for each in arrays} <= set("fiub"):
        raise FileError("folder", f"holds a {name} that is not two arrays of numbers")
    return arrays[0], arrays[1]
