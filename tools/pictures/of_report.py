"""The demonstration's report as a browser shows it; needs Chromium."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SHOTS = {
    "report": ("1100,850", 1, False),
    "report-dark": ("1100,850", 1, True),
    "report-narrow": ("390,745", 2, False),
    "report-narrow-dark": ("390,745", 2, True),
}
"""File, size of the window, pixels of the screen for one of the page, and whether the reader's setting is dark."""


def draw(folder: Path) -> None:
    """Write the pictures of the report where there is a browser: wide and on a phone, light and dark."""
    browser = next((b for b in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if b), None)
    if browser is None:
        print("no Chromium: the pictures of the report are left as they are")
        return
    with tempfile.TemporaryDirectory() as name:
        run = [sys.executable, "-c", "from calibrant.__main__ import main; main()", "demo", "--folder", name]
        subprocess.run(run, check=True, capture_output=True)
        page = next(Path(name).glob("*.html")).as_uri()
        for shot, (size, scale, dark) in SHOTS.items():
            options = ["--headless=new", "--no-sandbox", "--hide-scrollbars", f"--window-size={size}"]
            options += [
                f"--force-device-scale-factor={scale}",
                f"--blink-settings=preferredColorScheme={int(not dark)}",
            ]
            out = f"--screenshot={(folder / f'{shot}.png').resolve()}"
            subprocess.run([browser, *options, out, page], check=True, capture_output=True)
