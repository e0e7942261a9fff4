"""Run the blocks of the book's pages, and write what they print and draw into the pages.

``python tools/tutorials.py PAGE...`` runs each page's Python blocks, each from an empty namespace, and its commands, in
the page's order and in one folder of its own. A block of text below a block holds what it prints; a picture that a
page shows and a block saves is written beside the page. With ``--check`` nothing is written, and it exits with 1 if any
text differs.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import sys
import tempfile
import textwrap
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib as mpl

BLOCK = re.compile(r"```(python|sh)\n(.*?)```(?:\n\n```text\n(.*?)```)?", re.DOTALL)
PICTURE = re.compile(r"!\[[^]]*\]\(([\w-]+\.png)\)")
STYLE: Any = {
    "figure.dpi": 100,
    "savefig.dpi": 100,
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
}


def command(line: str) -> str:
    """What a command prints; its exit code is 0, or the one that a comment behind it says."""
    from typer.testing import CliRunner

    from calibrant.cli.app import app

    words, _, comment = line.partition("#")
    code = re.search(r"exit code (\d+)", comment)
    done = CliRunner().invoke(app, shlex.split(words)[1:], env={"COLUMNS": "100", "TERM": "dumb"})
    if done.exit_code != (int(code[1]) if code else 0):
        raise RuntimeError(f"{line}: exit code {done.exit_code}\n{done.output}")
    return done.stdout


def printed(kind: str, block: str, name: str) -> str:
    """What a block prints."""
    if kind == "sh":
        whole = block.replace("\\\n", " ").splitlines()
        return "".join(command(line) for line in whole if line.startswith("calibrant "))
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(block, name, "exec"), {"__name__": "__main__"})
    return out.getvalue()


@contextlib.contextmanager
def within(folder: Path) -> Iterator[None]:
    """Work in a folder, and come back."""
    here = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(here)


def run(page: Path, folder: Path, *, commands: bool = True) -> str:
    """Run a page's blocks in a folder, its commands too or not, and return the page with what they print today."""

    def replaced(block: re.Match[str]) -> str:
        if block[1] == "sh" and not commands:
            return block[0]
        lines = printed(block[1], block[2], page.name).rstrip().splitlines()
        out = "\n".join(textwrap.fill(line, 80, subsequent_indent="    ").rstrip() for line in lines)
        return block[0] if block[3] is None else f"```{block[1]}\n{block[2]}```\n\n```text\n{out}\n```"

    from matplotlib import pyplot

    with within(folder), mpl.rc_context(STYLE), warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        done = BLOCK.sub(replaced, page.read_text())
        pyplot.close("all")
    return done


if __name__ == "__main__":
    mpl.use("Agg")
    check = "--check" in sys.argv
    differ = 0
    for path in (Path(each).resolve() for each in sys.argv[1:] if each != "--check"):
        with tempfile.TemporaryDirectory() as name:
            text = run(path, Path(name), commands=path.parent.name == "tutorials")
            if text != path.read_text():
                differ += 1
                print(f"{path.name} differs")
            if not check:
                path.write_text(text)
                for picture in PICTURE.findall(text):
                    if (Path(name) / picture).exists():  # the others are drawn elsewhere
                        (path.parent / picture).write_bytes((Path(name) / picture).read_bytes())
    sys.exit(bool(check and differ))
