"""The report in headless Chromium: no console message, a cursor that tells numbers, nothing wider than the page."""

import html
import re
import shutil
import subprocess
from base64 import b64encode
from hashlib import sha256

import numpy as np
import pandas as pd
import pytest

from calibrant import audit, audit_table
from calibrant.findings.comparison import compare

BROWSER = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None
)
pytestmark = pytest.mark.skipif(BROWSER is None, reason="there is no Chromium")

CURSOR = """<script>
const slider = document.querySelector(".lookup input");
slider.value = 730;
slider.dispatchEvent(new Event("input"));
parent.document.title = document.querySelector(".lookup output").textContent;
</script></body>"""
TOLD = r"At (\S+): (\S+) happen, likely (\S+) to (\S+) \(isotonic (\S+)\)\."
WIDTH = """<script>
const page = document.documentElement.clientWidth;  // less the scroll bar
const cut = (box) => box.getBoundingClientRect().right > page || box.scrollWidth > box.clientWidth + 1;
const boxes = [...document.querySelectorAll("section, table, caption, th, td, pre")]
  .filter((box) => box.clientWidth > 0);
const labels = [...document.querySelectorAll("#drift svg [id^=xtick] text")]
  .map((label) => label.getBoundingClientRect()).filter((box) => box.width > 0);
const collide = labels.filter((box, i) => i > 0 && box.left < labels[i - 1].right);
parent.document.title += [innerWidth, document.documentElement.scrollWidth - page,
  boxes.filter(cut).length, labels.length > 1, collide.length].join("|") + ";";
</script></body>"""


def titled(folder, page, probe, *widths, allow=True):
    """The title that a probe at the page's end gives; frames, because Chromium's windows are 500 px wide at least."""
    outer = folder / "outer.html"
    digest = b64encode(sha256(probe.partition("<script>")[2].partition("</script>")[0].encode()).digest()).decode()
    allowed = page.read_text().replace("script-src ", f"script-src 'sha256-{digest}' ") if allow else page.read_text()
    inner = html.escape(allowed.replace("</body>", probe))
    frames = [f'<iframe width="{width}" height="2000" style="border: 0" srcdoc="{inner}"></iframe>' for width in widths]
    outer.write_text("<title></title>" + "".join(frames))
    command = [BROWSER, "--headless=new", "--no-sandbox", "--enable-logging=stderr", "--window-size=1600,2100"]
    done = subprocess.run(
        [*command, "--dump-dom", outer.as_uri()], capture_output=True, text=True, timeout=600, check=True
    )
    assert ("CONSOLE" in done.stderr) is not allow
    return done.stdout.partition("<title>")[2].partition("</title>")[0]


@pytest.mark.slow
def test_the_cursor_tells_numbers(tmp_path):
    rng = np.random.default_rng(0)
    v = rng.random(800)
    page = tmp_path / "report.html"
    found = audit(rng.random(800) < v**1.5, v, random_state=0)
    found.to_html(page)
    said = titled(tmp_path, page, CURSOR, 390)
    assert said.startswith("At 0.7")
    at, *told = map(float, re.fullmatch(TOLD, said).groups())
    table = found.reliability
    i = np.abs(table.prediction - at).argmin()
    there = [column[i] for column in (table.outcome, table.band_lower, table.band_upper, table.isotonic)]
    assert told == pytest.approx(there, abs=0.0005)


@pytest.mark.slow
def test_a_script_that_came_into_the_page_does_not_run(tmp_path):
    page = tmp_path / "report.html"
    v = np.linspace(0.1, 0.9, 40)
    audit(np.arange(40) % 2, v, n_resamples=0, random_state=0).to_html(page)
    text = page.read_text()
    assert "unsafe" not in text
    assert " style=" not in text
    assert titled(tmp_path, page, CURSOR, 390, allow=False) == ""


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """A report with segments and drift, and a comparison."""
    rng = np.random.default_rng(0)
    v = rng.random(800)
    day = pd.date_range("2026-01-01", periods=20).strftime("%Y-%m-%d").repeat(40)
    frame = pd.DataFrame({"y": (rng.random(800) < v**2).astype(int), "p": v, "day": day})
    frame["site"] = np.where(v < 0.5, "a" * 60, "Kuala Lumpur")
    folder = tmp_path_factory.mktemp("pages")
    asked = {"y_true": "y", "y_prob": "p", "n_resamples": 39, "random_state": 0}  # the page has code, for it has advice
    audit_table(frame, by="site", drift="day", **asked).to_html(folder / "grouped.html")
    columns = (frame["y"].to_numpy(float), v), (frame["y"].to_numpy(float), v**2)
    both = tuple(audit(*each, n_resamples=0, random_state=0) for each in columns)
    compare(("naive Bayes", "b" * 60), both, columns, seed=0).to_html(folder / "compared.html")
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(("name", "drifts"), [("grouped", "true"), ("compared", "false")])
def test_nothing_is_cut_off_and_no_labels_collide(pages, tmp_path, name, drifts):
    widths = (390, 660, 1000, 1440)
    said = titled(tmp_path, pages / f"{name}.html", WIDTH, *widths).strip(";").split(";")
    assert sorted(said) == sorted(f"{width}|0|0|{drifts}|0" for width in widths)
