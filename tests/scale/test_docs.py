"""The worked example of docs/sketch.md runs and finds what it says."""

import re
from pathlib import Path


def test_worked_example():
    text = (Path(__file__).parents[2] / "docs" / "sketch.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    exec(compile(code, "docs/sketch.md", "exec"), {})
