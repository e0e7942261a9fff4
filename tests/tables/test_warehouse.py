"""The page about a warehouse: its commands run in order, on the rows that its example writes."""

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from calibrant.cli.app import app

PAGE = Path(__file__).parents[2] / "docs" / "warehouse.md"


@pytest.mark.usefixtures("blank_pictures")
@pytest.mark.slow
def test_the_commands_of_the_page_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```(python|sh)\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    first = next(block for kind, block in blocks if kind == "python")
    exec(compile(first, str(PAGE), "exec"), {})
    ran = []
    for line in "".join(block for kind, block in blocks if kind == "sh").splitlines():
        _, *words = shlex.split(line)
        done = CliRunner().invoke(app, [*words, *(["--resamples", "99"] if words[0] == "audit" else [])])
        assert done.exit_code == 0, (line, done.output)
        ran.append(words[0])
    assert ran.count("sketch") == ran.count("merge") == ran.count("audit") == ran.count("gate") == 2
    assert Path("all.sketch").exists()
    assert Path("report.html").exists()
