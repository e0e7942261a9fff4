"""The demo: its command, its data and the predictions of its two models."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from calibrant.cli.options import check_target, page, writing
from calibrant.exits import explained, show
from calibrant.progress import Progress

if TYPE_CHECKING:
    from calibrant.door.columns import FloatArray
    from calibrant.findings.comparison import Comparison


def demo(
    folder: Annotated[Path, typer.Option(help="Where the report goes.")] = Path(),
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Seed of the folds and of the resamples.")] = 0,
) -> None:
    """Audit two models of scikit-learn's breast-cancer data, naive Bayes and logistic regression.

    For example: calibrant demo --folder reports
    """
    with explained(), Progress() as progress:
        target = folder / "calibrant-demo.html"
        check_target(target, "--folder")
        progress("Reading" if seed == 0 else "Training")
        from calibrant.cli.compilation import compile_beside

        compile_beside(progress.compiling, everything=True, files=False)

        result = comparison(seed, progress)
        progress.stop()
        show(page(result, everything=False))  # pictures of the report take longer than an audit
        with writing("--folder"):
            result.to_html(target)
        show(f"Report: {target}")


def comparison(seed: int, progress: Callable[[str], None] | None = None) -> Comparison:
    """Audit naive Bayes and logistic regression on the breast-cancer data, every row predicted out of fold."""
    from calibrant.door.request import AuditRequest
    from calibrant.door.sample import Sample
    from calibrant.findings.arrays import audit_sample
    from calibrant.findings.comparison import compare

    benign, by_model = predictions(seed)
    audits = []
    for name, y_prob in by_model.items():
        title = f"{name} on the breast-cancer data"
        request = AuditRequest(random_state=seed)
        audits.append(audit_sample(Sample.from_columns(benign, y_prob), request, title=title, progress=progress))
    (first, second), (one, other) = by_model, by_model.values()
    return compare((first, second), (audits[0], audits[1]), ((benign, one), (benign, other)), seed=seed)


DEMO_FILE = Path(__file__).with_name("demo.csv")
"""What `trained` gives for seed 0, which a first run need not wait for: scikit-learn alone takes a second to load."""


def predictions(seed: int) -> tuple[FloatArray, dict[str, FloatArray]]:
    """Outcomes, 1 for a benign tumour, and the predictions of each model by its name."""
    return kept() if seed == 0 else trained(seed)


def kept() -> tuple[FloatArray, dict[str, FloatArray]]:
    """Those of seed 0, as they came with the package."""
    import numpy as np

    with DEMO_FILE.open() as file:
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
    models = {"naive Bayes": GaussianNB(), "logistic regression": make_pipeline(StandardScaler(), LogisticRegression())}
    return benign.astype(float), {
        name: cross_val_predict(model, features, benign, cv=folds, method="predict_proba")[:, 1]
        for name, model in models.items()
    }
