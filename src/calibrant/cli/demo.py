"""Two models on data that comes with scikit-learn, audited: something to look at within a minute."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from calibrant.findings.comparison import Comparison


def comparison(seed: int, progress: Callable[[str], None] | None = None) -> Comparison:
    """Audit naive Bayes and logistic regression on the breast-cancer data, every row predicted out of fold."""
    from sklearn.datasets import load_breast_cancer
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold, cross_val_predict
    from sklearn.naive_bayes import GaussianNB
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    from calibrant.door.request import AuditRequest
    from calibrant.door.sample import Sample
    from calibrant.findings.arrays import audit_sample
    from calibrant.findings.comparison import compare

    features, benign = load_breast_cancer(return_X_y=True)
    folds = StratifiedKFold(10, shuffle=True, random_state=seed)
    models = {
        "naive Bayes": GaussianNB(),
        "logistic regression": make_pipeline(StandardScaler(), LogisticRegression()),
    }
    audits, rows = [], []
    for name, model in models.items():
        y_prob = cross_val_predict(model, features, benign, cv=folds, method="predict_proba")[:, 1]
        rows.append((benign.astype(float), y_prob))
        title = f"{name} on the breast-cancer data"
        request = AuditRequest(random_state=seed)
        audits.append(audit_sample(Sample.from_columns(*rows[-1]), request, title=title, progress=progress))
    first, second = models
    return compare((first, second), (audits[0], audits[1]), (rows[0], rows[1]), seed=seed)
