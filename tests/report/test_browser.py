"""The report in headless Chromium: no console message, a cursor that tells numbers, nothing wider than the page."""

import shutil
import subprocess

import numpy as np
import pytest

from calibrant import audit

BROWSER = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None
)
pytestmark = pytest.mark.skipif(BROWSER is None, reason="there is no Chromium")

PROBE = """<script>
const slider = document.querySelector(".lookup input");
slider.value = 730;
slider.dispatchEvent(new Event("input"));
document.title = [document.querySelector(".lookup output").textContent,
  document.documentElement.scrollWidth - document.documentElement.clientWidth].join("|");
</script></body>"""


@pytest.mark.parametrize("width", [390, 1440])
def test_the_page_works_and_fits(tmp_path, width):
    rng = np.random.default_rng(0)
    v = rng.random(800)
    page = tmp_path / "report.html"
    found = audit(rng.random(800) < v**1.5, v, random_state=0)
    found.to_html(page)
    page.write_text(page.read_text().replace("</body>", PROBE))
    command = [BROWSER, "--headless=new", "--no-sandbox", "--enable-logging=stderr", f"--window-size={width},2000"]
    done = subprocess.run(
        [*command, "--dump-dom", page.as_uri()], capture_output=True, text=True, timeout=120, check=True
    )
    assert "CONSOLE" not in done.stderr
    said, _, wider = done.stdout.partition("<title>")[2].partition("</title>")[0].rpartition("|")
    assert said.startswith("At 0.7")
    assert "a calibrated predictor would show" in said
    assert wider == "0"
