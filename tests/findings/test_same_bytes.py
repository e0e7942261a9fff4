"""The same audit is the same bytes whatever was imported before, and with docstrings stripped."""

import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import calibrant
from calibrant import audit

AUDIT = """
import hashlib, numpy as np
rng = np.random.default_rng(0)
v = np.round(rng.random(60), 2)
from calibrant.findings.arrays import audit_sample
from calibrant.door.request import AuditRequest
from calibrant.door.sample import Sample
request = AuditRequest(n_resamples=39, random_state=0)
found = audit_sample(Sample.from_columns(rng.random(60) < v, v), request, advise=False)
print(hashlib.sha256(found.to_json().encode()).hexdigest(), list(found.measures)[0])
"""
BEFORE = (
    "import calibrant.measures.kernel, calibrant.measures.binned",
    "from calibrant import convolved_calibration_error, calibration_distance",
    "import calibrant.inference.comparison.compare, calibrant.measures.interval",
)
ORDERS = (BEFORE, BEFORE[::-1])


def python(*args):
    place = {**os.environ, "PYTHONPATH": str(Path(calibrant.__file__).parent.parent)}
    return subprocess.run([sys.executable, *args], capture_output=True, check=True, env=place).stdout


@pytest.mark.slow
def test_import_order_changes_no_byte():
    said = {python("-c", "\n".join([*before, AUDIT])) for before in ORDERS}
    assert len(said) == 1
    assert said.pop().split()[1] == b"smooth_calibration_error"


@pytest.mark.slow
def test_without_docstrings_the_page_is_the_same(tmp_path):
    rng = np.random.default_rng(0)
    v = rng.random(60)
    found = audit(rng.random(60) < v, v, n_resamples=39, random_state=0)
    found.to_html(tmp_path / "page.html")
    (tmp_path / "audit.pickle").write_bytes(pickle.dumps(found))
    # The audit is made here: kernels would be compiled once more under -OO.
    again = "import pickle, sys; pickle.load(open(sys.argv[1], 'rb')).to_html(sys.argv[2])"
    python("-OO", "-c", again, str(tmp_path / "audit.pickle"), str(tmp_path / "stripped.html"))
    page = (tmp_path / "page.html").read_bytes()
    assert (tmp_path / "stripped.html").read_bytes() == page
    assert b"Definition 7.2" in page
