"""The short page: what it has no part of is not computed, and no word of it depends on that."""

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from calibrant.cli.app import app
from calibrant.door.request import AuditRequest, Listener
from calibrant.findings.tables import audit_opened
from calibrant.report.text import page
from calibrant.tables.entry import open_table

SEED = {"random_state": 0, "n_resamples": 99}


def _rows(n, kind):
    rng = np.random.default_rng(n)
    v = rng.random(n)
    y = (rng.random(n) < (v if kind == "calibrated" else v**2)).astype(float)
    columns = {"y_true": y, "y_prob": v}
    if kind == "weights":
        columns["sample_weight"] = 1.0 + rng.integers(0, 3, n)
    return columns


@pytest.mark.parametrize(
    ("n", "kind", "options"),
    [
        (300, "calibrated", {}),
        (900, "too high", {}),
        (900, "too high", {"threshold": 0.3}),
        (900, "weights", {"max_weight": 3.0}),
        (900, "weights", {}),
        (60, "too high", {"max_distance": 0.1}),
    ],
)
def test_it_is_the_same_whatever_else_is_computed(n, kind, options):
    def audited(everything):
        asked = AuditRequest(**SEED, **options, everything=everything)
        return audit_opened(open_table(pd.DataFrame(_rows(n, kind))), asked, Listener()).audit

    whole, short = audited(True), audited(False)
    assert page(short, everything=False) == page(whole, everything=False)
    assert short.gate == whole.gate
    assert short.acting is None is short.population
    assert (short.cost_of_acting is None) == ("threshold" not in options)
    assert whole.acting is not None is not whole.cost_of_acting


@pytest.mark.parametrize(
    ("more", "everything"), [([], False), (["--all"], True), (["--json"], True), (["--html", "page.html"], True)]
)
def test_the_command_asks_for_the_rest_where_it_is_shown(tmp_path, monkeypatch, more, everything):
    asked = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("calibrant.findings.tables.audit_opened", lambda _, request, __: asked.append(request) or 1 / 0)
    np.savetxt("rows.csv", np.column_stack(list(_rows(20, "calibrated").values())), header="y,p", delimiter=",")
    CliRunner().invoke(app, ["audit", "rows.csv", *more])
    assert [each.everything for each in asked] == [everything]
