"""Two models on data that comes with scikit-learn, audited: something to look at within a minute."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from calibrant.report.audit import Audit


def audits(seed: int, progress: Callable[[str], None] | None = None) -> dict[str, Audit]:
    """Audit naive Bayes and logistic regression on the breast-cancer data, every row predicted out of fold."""
    from sklearn.datasets import load_breast_cancer
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold, cross_val_predict
    from sklearn.naive_bayes import GaussianNB
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    from calibrant.report.audit import audit_sample
    from calibrant.sample import Sample

    features, benign = load_breast_cancer(return_X_y=True)
    folds = StratifiedKFold(10, shuffle=True, random_state=seed)
    models = {
        "naive Bayes": GaussianNB(),
        "logistic regression": make_pipeline(StandardScaler(), LogisticRegression()),
    }
    found = {}
    for name, model in models.items():
        y_prob = cross_val_predict(model, features, benign, cv=folds, method="predict_proba")[:, 1]
        sample = Sample.from_columns(benign, y_prob)
        title = f"{name} on the breast-cancer data"
        found[name] = audit_sample(sample, random_state=seed, title=title, progress=progress)
    return found
