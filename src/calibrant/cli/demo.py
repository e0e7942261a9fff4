"""The demo's predictions: two models of scikit-learn's breast-cancer data, every row predicted by folds without it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from calibrant.door.columns import FloatArray

FILE = Path(__file__).with_name("demo.csv")
"""What `trained` gives for seed 0, which a first run need not wait for: scikit-learn alone takes a second to load."""


def predictions(seed: int) -> tuple[FloatArray, dict[str, FloatArray]]:
    """Outcomes, 1 for a benign tumour, and the predictions of each model by its name."""
    return kept() if seed == 0 else trained(seed)


def kept() -> tuple[FloatArray, dict[str, FloatArray]]:
    """Those of seed 0, as they came with the package."""
    with FILE.open() as file:
        names = file.readline().strip().split(",")
        columns = np.loadtxt(file, delimiter=",", unpack=True)
    return columns[0], dict(zip(names[1:], columns[1:], strict=True))


def trained(seed: int) -> tuple[FloatArray, dict[str, FloatArray]]:
    """Those of models that are fitted now."""
    from sklearn.datasets import load_breast_cancer
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold, cross_val_predict
    from sklearn.naive_bayes import GaussianNB
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    features, benign = load_breast_cancer(return_X_y=True)
    folds = StratifiedKFold(10, shuffle=True, random_state=seed)
    models = {
        "naive Bayes": GaussianNB(),
        "logistic regression": make_pipeline(StandardScaler(), LogisticRegression()),
    }
    return benign.astype(float), {
        name: cross_val_predict(model, features, benign, cv=folds, method="predict_proba")[:, 1]
        for name, model in models.items()
    }
