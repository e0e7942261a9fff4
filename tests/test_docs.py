"""The book's examples run as they stand, chapter by chapter; their assertions are the book's claims."""

import ast
import os
import random
import re
import runpy
import sys
import tomllib
from collections import defaultdict
from pathlib import Path

import pytest

from calibrant.public_names import MODULE_OF
from tests.public import FUNCTIONS, PUBLIC
from tests.registered import TOOL

ROOT = Path(__file__).parents[1]
SKETCHES = {"architecture.md"}  # shows the shape of code, not code
INTEGRATIONS = ("torchmetrics", "ignite", "hf_evaluate", "lm_eval")
OPTIONAL = {
    "calibrant_papers",
    "mapie",
    "probcal",
    "calibrant",
    "torch",
    "torchmetrics",
    "ignite",
    "evaluate",
    "datasets",
    "lm_eval",
}


def chapters():
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [page for page in pages if "```python" in page.read_text() and page.name not in SKETCHES]


@pytest.fixture(scope="module")
def tutorials():
    """What `python tools/tutorials.py` runs and writes."""
    return runpy.run_path(str(ROOT / "tools" / "tutorials.py"))


@pytest.mark.slow(always=True)
@pytest.mark.usefixtures("blank_pictures")
@pytest.mark.filterwarnings("ignore:The ``noload``:DeprecationWarning")  # MLflow's, of its database
@pytest.mark.parametrize("page", chapters(), ids=lambda page: page.stem)
def test_every_block_runs_from_an_empty_namespace_and_prints_what_the_page_says(page, tutorials, tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    for peer in {"coming-from": ("probcal", "dcurves")}.get(page.stem, ()):
        pytest.importorskip(peer)
    assert tutorials["run"](page, tmp_path, commands=page.parent.name == "tutorials") == page.read_text()
    for picture in tutorials["PICTURE"].findall(page.read_text()):
        assert (tmp_path / picture).exists(), picture
        assert (page.parent / picture).exists(), picture


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of libraries that are compared
def test_blocks_of_coming_from_that_need_more_run_where_it_is_installed():
    blocks = re.findall(r"```py\n(.*?)```", (ROOT / "docs" / "coming-from.md").read_text(), re.DOTALL)
    assert blocks
    for block in blocks:
        for library in re.findall(r"^(?:from|import) (\w+)", block, re.MULTILINE):
            pytest.importorskip(library)
        exec(compile(block, "coming-from.md", "exec"), {"__name__": "__main__"})


def test_a_page_that_says_otherwise_is_found_out(tutorials, tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```python\nx = 1\nprint(x)\n```\n\n```text\n2\n```\n")
    assert "```text\n1\n```" in tutorials["run"](page, tmp_path)
    page.write_text("```python\nx = 1\n```\n\n```python\nprint(x)\n```\n")
    with pytest.raises(NameError):
        tutorials["run"](page, tmp_path)


def test_links_between_pages_lead_somewhere():
    for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def linked(page):
    """Pages of the book that a page leads to."""
    text = (ROOT / "docs" / page).read_text()
    return {os.path.normpath(Path(page).parent / each) for each in re.findall(r"\]\((?!https?:)([^)#]+?\.md)", text)}


def test_the_first_page_leads_to_every_page_in_two_clicks():
    pages = set(re.findall(r"^ +- .+: (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(), flags=re.MULTILINE))
    pages |= {f"how-to/{path.name}" for path in (ROOT / "docs" / "how-to").glob("*.md")}
    first = linked("index.md")
    assert {f"tutorials/{path.name}" for path in (ROOT / "docs" / "tutorials").glob("*.md")} <= first
    assert pages - first - {each for page in first for each in linked(page)} == {"index.md"}


BOTH = {"certificates.md", "weights.md"}  # a program to copy, and an example whose figures the text discusses


def test_theory_stands_apart_from_use():
    """A page of definitions and proofs has no examples, and says on which pages one is."""
    theory = runpy.run_path(str(ROOT / "tools" / "plain.py"))["pages"]("proofs")
    tables = {
        "theorems.md",
        "new.md",
        "measures-one-by-one.md",
        "tests-one-by-one.md",
    }  # which lead elsewhere in each line
    for page in theory:
        text = page.read_text()
        assert "```python" not in text or page.name in BOTH, page.name
        assert re.search(r"To use (it|them|one):", text.partition("\n## ")[0]) or page.name in tables, page.name


READERS = {
    "a classifier before release": ("classifier", {"how-to/recalibrate.md", "how-to/ci.md", "gate.md"}),
    "a risk model in a hospital": ("hospital", {"how-to/panel.md", "how-to/groups.md", "how-to/censored.md"}),
    "a warehouse of predictions": ("warehouse", {"how-to/monitor.md", "how-to/sql.md", "how-to/segments.md"}),
    "a language model": ("language-models", {"how-to/groups.md", "how-to/two-models.md", "integrations.md"}),
    "a rating system": ("credit", {"how-to/sampled.md", "how-to/weights.md"}),
    "forecasts": ("weather", {"how-to/two-models.md", "how-to/drift.md"}),
}


@pytest.mark.parametrize("name", READERS)
def test_each_of_six_readers_finds_her_page_by_one_click_and_her_questions_by_two(name):
    tutorial, questions = READERS[name]
    rows = dict(
        re.findall(r"^\| ([^|]+) \| \[[^]]+\]\(([^)]+)\) \|", (ROOT / "docs/index.md").read_text(), re.MULTILINE)
    )
    assert set(rows) == set(READERS)
    assert rows[name] == f"tutorials/{tutorial}.md"
    assert questions <= linked(rows[name])


def test_every_test_has_an_entry_with_a_picture_and_its_limits():
    of_measures, of_tests = (TOOL.entries(ROOT / "docs" / f"{kind}-one-by-one.md") for kind in ("measures", "tests"))
    of_measures = {name: text for name, text in of_measures.items() if "**Says:**" not in text}  # as the tool wrote it
    assert {name for name in FUNCTIONS if name.endswith("_test")} <= set(of_tests)
    for name, text in {**of_measures, **of_tests}.items():
        assert name in PUBLIC, name
        assert f"](pictures/{name}.svg)" in text
        assert all(word in text for word in ("**Proves:**", "**Does not:**", "**Source:**")), name


def test_the_reference_has_every_module_with_public_names():
    listed = [
        name
        for page in (ROOT / "docs" / "api").glob("*.md")
        for name in re.findall(r"^::: calibrant\.(\S+)$", page.read_text(), flags=re.MULTILINE)
    ]
    assert set(MODULE_OF.values()) - set(listed) == set()
    assert len(listed) == len(set(listed))
    by_name = {"synthetic", "torch", *(f"integrations.{each}" for each in INTEGRATIONS)}
    assert set(listed) - set(MODULE_OF.values()) == by_name  # which are imported by name alone


def test_the_book_loads_nothing_from_elsewhere_and_shows_public_names():
    """What `tools/check_book.py` finds in the built book, as far as its configuration tells."""
    written = (ROOT / "mkdocs.yml").read_text()
    assert "://" not in written
    assert "filters: public" in written
    for page in (ROOT / "docs").rglob("*.md"):
        text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
        assert not re.search(r"!\[[^]]*\]\(\s*(https?:)?//|<(img|script|link|iframe)\b", text), page.name


def test_what_the_built_book_would_load_is_found_out(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "tools")
    check = runpy.run_path(str(ROOT / "tools" / "check_book.py"))
    (tmp_path / "index.html").write_text(
        '<script src="//cdn.x/a.js"></script><a href="https://x">x</a><img src="a.png">'
        '<style>@import "https://x/a.css";</style><h3 id="calibrant.sketch.sketch.CalibrationSketch._table">_</h3>'
        '<h3 id="calibrant.sketch.sketch.CalibrationSketch.update">_</h3><h3 id="calibrant.kernels.sorting.x">_</h3>'
    )
    (tmp_path / "a.css").write_text("a { background: url(https://x/b.png) } b { background: url(c.png) }")
    found = check["faults"](tmp_path)
    assert [line.split()[1] for line in found] == [
        "<script>", "<style>", "calibrant.sketch.sketch.CalibrationSketch._table", "calibrant.kernels.sorting.x",
        "loads",
    ]  # fmt: skip


def test_each_how_to_page_answers_one_question_in_under_two_hundred_words():
    pages = sorted((ROOT / "docs" / "how-to").glob("*.md"))
    assert len(pages) >= 31
    for page in pages:
        title, _, text = page.read_text().partition("\n")
        if page.stem != "index":
            assert re.fullmatch(r"# How do I .+\?", title), page.name
            assert len(text.split()) < 200, page.name
            assert "```" in text, page.name


def test_the_gallery_has_every_public_function_with_its_question():
    parts = TOOL.entries(ROOT / "docs" / "gallery.md", "###")
    assert set(parts) == set(FUNCTIONS)
    assert [name for name, text in parts.items() if not TOOL.asks_and_shows(name, text)] == []
    for without in ("", "a\n\nWhat?\n\n```python\n1\n```\n", "a\n\n![What?](pictures/a.svg)\n"):
        assert not TOOL.asks_and_shows("a", without)


def test_a_contributor_is_told_of_files_that_are_there():
    told = (ROOT / "CONTRIBUTING.md").read_text()
    commands = re.findall(r"(?:tests|tools|docs|src)/[\w/.-]*\w", told)
    assert len(commands) > 10
    assert all((ROOT / name).exists() for name in commands), commands
    hooks = (ROOT / ".pre-commit-config.yaml").read_text()
    assert all((ROOT / name).exists() for name in re.findall(r"python (tools/\w+\.py)", hooks))


@pytest.fixture(scope="module")
def drawing():
    """What `python tools/pictures` draws, and how it is saved."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "tools" / "pictures")
        return runpy.run_path(str(ROOT / "tools" / "pictures" / "__main__.py"))


def test_the_pictures_are_those_that_the_program_draws(drawing):
    assert {path.stem for path in (ROOT / "docs" / "pictures").glob("*.svg")} == set(drawing["pictures"]())


@pytest.mark.slow
def test_pictures_are_drawn(drawing, tmp_path):
    """A few, each time others: `.ci/run` draws all of them."""
    pictures = drawing["pictures"]()
    for name in random.Random().sample(sorted(pictures), 6):
        drawing["save"](name, pictures[name], tmp_path)
        assert (tmp_path / f"{name}.svg").read_text().endswith("</svg>\n"), name


def test_the_page_on_architecture_names_files_that_are_there():
    named = set(re.findall(r"`([a-z_/]+\.py)`", (ROOT / "docs" / "architecture.md").read_text()))
    kept = [path.as_posix() for part in ("src", "papers", "tests", "tools") for path in (ROOT / part).rglob("*.py")]
    assert len(named) > 20
    assert [name for name in named if not any(path.endswith(f"/{name}") for path in kept)] == []


def test_the_list_of_reproductions_repeats_each_pages_finding():
    folder = ROOT / "docs" / "reproductions"
    rows = re.findall(r"^\| \[[^]]+\]\(([^)]+)\) \| (.+) \|$", (folder / "index.md").read_text(), flags=re.MULTILINE)
    assert {name for name, _ in rows} == {path.name for path in folder.glob("*.md")} - {"index.md"}
    for name, finding in rows:
        assert finding == "see there" or f"**{finding}**" in (folder / name).read_text(), name


@pytest.mark.slow
def test_dependencies_are_those_that_are_imported_where_the_page_says():
    """The page's table, pyproject.toml and the imports of the code name the same libraries, in the same rooms."""
    package = ROOT / "src" / "calibrant"
    names = runpy.run_path(str(ROOT / "tools" / "check_imports.py"))["imported"]
    brought_along = {"llvmlite": "numba", "markupsafe": "jinja2"}
    renamed = {"sklearn": "scikit-learn"}
    rooms = defaultdict(set)
    for path in package.rglob("*.py"):
        parts = path.relative_to(package).parts
        for _, name in names(ast.parse(path.read_text()), ".".join(["calibrant", *parts[:-1]])):
            top = name.partition(".")[0]
            if top not in sys.stdlib_module_names and top not in OPTIONAL:
                rooms[brought_along.get(top, renamed.get(top, top))].add(f"{parts[0]}/" if len(parts) > 1 else parts[0])
    page = (ROOT / "docs" / "dependencies.md").read_text()
    table = dict(re.findall(r"^\| ([a-z][\w-]*) \| .* \| (.+) \|$", page, flags=re.MULTILINE))
    del table["library"]
    said = {name: set(re.findall(r"`([^`]+)`", where)) for name, where in table.items()}
    assert said.pop("numpy") == set()  # everywhere
    assert rooms.pop("numpy")
    assert said == rooms
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    libraries = [
        *project["dependencies"],
        *(each for name in ("files", "report", "sklearn", "cli") for each in extras[name]),
    ]
    libraries.remove("calibrant[files]")
    assert {re.match(r"[\w-]+", each)[0] for each in libraries} == set(table)
    for each in (each for extra in extras.values() for each in extra):
        name = re.match(r"[\w-]+", each)[0].lower()
        aliases = {"ibis-framework": "ibis", "mlflow-skinny": "mlflow"}
        assert re.search(rf"\b{aliases.get(name, name)}\b", page.lower()), name
