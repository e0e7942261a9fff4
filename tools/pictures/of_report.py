"""The demonstration's report as a browser shows it; needs Chromium."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

_SIZE = "1100,1130"


def draw(folder: Path) -> None:
    """Write report.png where there is a browser."""
    browser = next((b for b in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if b), None)
    if browser is None:
        print("no Chromium: report.png is left as it is")
        return
    with tempfile.TemporaryDirectory() as name:
        run = [sys.executable, "-c", "from calibrant.__main__ import main; main()", "demo", "--folder", name]
        subprocess.run(run, check=True, capture_output=True)
        page = next(Path(name).glob("*.html")).as_uri()
        options = ["--headless=new", "--no-sandbox", "--hide-scrollbars", f"--window-size={_SIZE}"]
        shot = f"--screenshot={(folder / 'report.png').resolve()}"
        subprocess.run([browser, *options, shot, page], check=True, capture_output=True)
