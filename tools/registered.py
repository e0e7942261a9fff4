"""What follows from the registration of a measure, a test or a map: written here, or named where it is missing.

A measure and a test are two files, a function and its oracle; a map is three, its curve, its estimator and an oracle.
``python tools/registered.py`` writes what follows from their registrations, each where there is none yet: names and
stubs, entries in the docs, a picture, a line of the table of memory, entries of the records that tests compare. What
somebody wrote or drew by hand stays. With ``--check`` it writes nothing, and exits with 1 and a line for each thing
that is missing.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
import runpy
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tools"), str(ROOT / "tools" / "pictures")]

import plain  # noqa: E402
import public_names  # noqa: E402
from tests.test_docstrings import class_lacks, function_lacks  # noqa: E402
from tests.test_signatures import RULES, offenders  # noqa: E402

from calibrant.inference.testing.result import CalibrationTest, calibration_tests  # noqa: E402
from calibrant.measures.registry import Measure, measures  # noqa: E402
from calibrant.recalibration.base import Recalibrator  # noqa: E402
from calibrant.recalibration.curves.base import (  # noqa: E402
    Curve,
    Map,
    maps,
)
from calibrant.recalibration.kinds import column, number, square  # noqa: E402
from calibrant.recalibration.serialization import JsonEstimator  # noqa: E402

BY_PARTS = {
    *("calibration_test", "tcal_test", "two_sample_calibration_test", "canonical_kernel_test", "class_wise_test"),
    *("temperature", "platt", "beta", "polynomial", "scaling_binning", "histogram", "isotonic", "nearest", "averaged"),
    *("vector", "dirichlet", "averaged_classes"),
}
"""Those whose parts have oracles instead: no slow twin of the whole draws the same numbers, or has the same solver."""
OF_MEASURES = ("truthfulness", "measures-compared")
OF_TESTS = ("type-one-errors", "type-one-errors-corners", "power")
MEMORY = "docs/benchmarks-memory.md"
Registered = Measure | CalibrationTest | Map


def page_of(kind: Registered) -> tuple[str, str, str]:
    """Pages of the docs that a thing is on: its entry, if it has one, a table with a line of it, and the reference."""
    if isinstance(kind, Map):
        return "", "docs/recalibration.md", "docs/api/recalibration.md"
    if isinstance(kind, CalibrationTest):
        return "docs/tests-one-by-one.md", "docs/which-test.md", "docs/api/inference.md"
    return "docs/measures-one-by-one.md", "docs/measures.md", "docs/api/measures.md"


def entries(page: Path, mark: str = "##") -> dict[str, str]:
    """Heading of each entry of a page, with its text."""
    parts = page.read_text().split(f"\n{mark} ")[1:]
    return {part.partition("\n")[0]: part for part in parts}


def asks_and_shows(name: str, text: str) -> bool:
    """Whether an entry of the gallery asks a question first, and has its picture or what its example prints."""
    _, question, *_ = [*filter(None, text.splitlines()), "", ""]
    return question.endswith("?") and (f"](pictures/{name}.svg)" in text or "```text" in text)


def entry(kind: Measure | CalibrationTest) -> str:
    """An entry that says what the registration says."""
    picture = f"(pictures/{kind.name}.svg)"
    if isinstance(kind, Measure):
        head, drawn, said = kind.definition, "Values", f"- **Says:** {kind.sentence}"
    else:
        head, drawn, said = kind.sentence, "p-values", f"- **Proves:** {kind.proof}\n- **Does not:** {kind.limits}"
    drawn = f"![{drawn} for calibrated and for overconfident predictions]{picture}"
    return f"\n## {kind.name}\n\n{head}\n\n{drawn}\n\n{said}\n- **Source:** {kind.source}\n"


def line(kind: Registered) -> str:
    """A line of the table of its kind; what a registration does not say is left blank."""
    if isinstance(kind, Map):
        return f"| `{estimator(kind).__name__}` | | | {kind.title} |"
    if isinstance(kind, Measure):
        return f"| `{kind.name}` | {kind.sentence.rstrip('.')} | | | |"
    return f"| {kind.sentence.rstrip('.')} | `inference.{kind.name}` | {kind.promise} |"


def lines() -> set[str]:
    """The lines that it writes into the tables of pages, which are no words of anybody."""
    return {line(kind) for kind in every()}


def estimator(kind: Map) -> Any:
    """A map's estimator, whether its name is written already or not."""
    classes = [kind.kind, *kind.kind.__subclasses__()] if issubclass(kind.kind, Curve) else [kind.kind]
    named = [each for each in classes if issubclass(each, JsonEstimator) and each is not Recalibrator]
    return named[0] if named else None


def name_of(kind: Registered) -> str:
    """The public name: of a map that of its estimator."""
    return estimator(kind).__name__ if isinstance(kind, Map) else kind.name


def measured(kind: Registered) -> str:
    """What the table of memory calls."""
    return f"{name_of(kind)}.fit" if isinstance(kind, Map) else kind.name


def memory() -> dict[str, Any]:
    """The benchmark of memory, with all calls that it measures."""
    return runpy.run_path(str(ROOT / "benchmarks" / "memory.py"))


def calls_of(kind: Registered) -> list[str]:
    """Its calls in the table of memory: alone, and of a measure with weights and event rates."""
    return [name for name in memory()["CALLS"] if name.split(",")[0] == measured(kind)]


def function_of(kind: Registered) -> Any:
    """What has its docstring."""
    if isinstance(kind, Map):
        return estimator(kind)
    return kind.call if isinstance(kind, CalibrationTest) else kind.function


def module_of(kind: Registered) -> str:
    """The module that offers its name."""
    return str(function_of(kind).__module__)


def oracles(root: Path = ROOT) -> dict[str, str]:
    """Module of every function in tests/oracles."""
    return {
        node.name: path.stem
        for path in sorted((root / "tests" / "oracles").glob("*.py"))
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.FunctionDef)
    }


def faults_of(kind: Registered, root: Path = ROOT) -> list[str]:
    """What one measure, test or map lacks."""
    return [f"{kind.name} lacks {what}" for what, there in wanted(kind, root) if not there]


def wanted(kind: Registered, root: Path) -> Iterator[tuple[str, bool]]:
    """All that it needs, and whether it is there."""
    if isinstance(kind, Map) and estimator(kind) is None:
        yield f"an estimator {kind.kind.estimator_name} in a module of recalibration/", False
        return
    name, module = name_of(kind), module_of(kind)
    file = f"{module.replace('.', '/')}.py"
    said, listed, reference = page_of(kind)
    yield f"a name in __all__ of {file}", name in public_names.literal(root / "src" / file, "__all__")
    yield f"an oracle {kind.name} in tests/oracles", kind.name in BY_PARTS or kind.name in oracles(root)
    yield f"a line in {listed}", re.search(rf"`(inference\.)?{name}`", (root / listed).read_text()) is not None
    yield f"its module in {reference}", f"::: {module}\n" in (root / reference).read_text()
    if isinstance(kind, Map):
        of_methods = (root / "src/calibrant/recalibration/methods.py").read_text()
        yield "its name in Method of recalibration/methods.py", f'"{kind.name}"' in of_methods
        free = [field for field, of in estimator(kind)._fitted.items() if of in (number, column, square)]
        yield f"bounds of {', '.join(free)}, as `within` gives", not free or kind.name in BY_PARTS
        docstring = class_lacks(name, estimator(kind))
    else:
        yield from of_the_docs(kind, root / said)
        docstring = function_lacks(name, function_of(kind))
        wrong = [fault for rule in RULES.values() for fault in offenders(rule, {name: function_of(kind)})]
        yield f"a signature of the house: {'; '.join(wrong)}", not wrong
    yield f"in its docstring: {'; '.join(docstring)}", not docstring
    of_itself = estimator(kind) if isinstance(kind, Map) else function_of(kind)
    long = plain.faults("", plain.running(inspect.getdoc(of_itself) or ""), average=False)
    yield f"plain sentences in its docstring{''.join(long)}", not long
    if not (isinstance(kind, Map) and kind.classes and kind.name != "temperature"):
        page = (root / MEMORY).read_text()
        for call in calls_of(kind):
            yield f"a line in {MEMORY}, of `{call}`", f"| `{call}`" in page
    yield "an entry in tests/ledger/record.json", f'"{name} / plain"' in (root / "tests/ledger/record.json").read_text()
    if isinstance(kind, Measure):
        audits = json.loads((root / "tests/numbers.json").read_text())
        yield "its values in tests/numbers.json", any(kind.name in path for path in audits["calibrated"])
    for page in small_pages(kind):
        text = (root / f"tests/papers/small/{page}.md").read_text()
        yield f"a row in tests/papers/small/{page}.md", kind.name in text.replace(" ", "_")


def of_the_docs(kind: Measure | CalibrationTest, page: Path) -> Iterator[tuple[str, bool]]:
    """What the entry of a measure or a test needs."""
    where = f"docs/{page.name}"
    text = entries(page).get(kind.name, "")
    by_hand = all(word in text for word in ("**Proves:**", "**Does not:**"))
    yield f"an entry in {where}", bool(text)
    yield f"what it proves, or its sentence, in {where}", by_hand or kind.sentence in text
    yield f"a source in {where}", "**Source:**" in text
    yield f"a link to its picture in {where}", f"](pictures/{kind.name}.svg)" in text
    gallery = page.parent / "gallery.md"
    answer = asks_and_shows(kind.name, entries(gallery, "###").get(kind.name, ""))
    yield "an entry of its name, with a question and a link to its picture, in docs/gallery.md", answer
    yield "its name in a list that docs/gallery.md prints", f"'{kind.name}'" in gallery.read_text()
    yield "a picture in docs/pictures", (page.parent / "pictures" / f"{kind.name}.svg").exists()
    docstring = " ".join((function_of(kind).__doc__ or "").split())
    yield "a sentence of 20 to 200 characters that ends", 20 < len(kind.sentence) < 200 and kind.sentence[-1] == "."
    if isinstance(kind, CalibrationTest):
        promised = rf"`(inference\.)?{kind.name}`.*{re.escape(kind.promise)}"
        which = (page.parent / "which-test.md").read_text()
        yield f"its promise, {kind.promise}, in docs/which-test.md", re.search(promised, which) is not None
    if isinstance(kind, Measure):
        yield "a docstring that begins with its sentence", docstring.startswith(kind.sentence)
        yield "a docstring that names its source", kind.source in docstring


def small_pages(kind: Registered) -> tuple[str, ...]:
    """Pages of the papers' package that have a row of each of its kind."""
    if isinstance(kind, Measure):
        return OF_MEASURES
    from calibrant_papers.type_one import REDRAWN

    return OF_TESTS if isinstance(kind, CalibrationTest) and kind.name in REDRAWN else ()


def every() -> list[Registered]:
    """All that is registered."""
    return [*measures().values(), *calibration_tests().values(), *maps().values()]


def faults(registered: list[Registered], root: Path = ROOT) -> list[str]:
    """A line for each thing that any of them lacks."""
    return [fault for kind in registered for fault in faults_of(kind, root)] + public_names.faults(
        root / "src" / "calibrant"
    )


def write_names(root: Path = ROOT) -> bool:
    """Write tables and stubs of public names, and names of maps; whether any of them changed."""
    found = public_names.files(root / "src" / "calibrant")
    path = root / "src/calibrant/recalibration/methods.py"
    before, head, after = path.read_text().partition("Method = Literal[\n")
    names = "".join(f'    "{name}",\n' for name in maps())
    found[path] = f"{before}{head}{names}{after[after.index(']') :]}"
    changed = [path for path, text in found.items() if not path.exists() or path.read_text() != text]
    for path in changed:
        path.write_text(found[path])
    return bool(changed)


def write(registered: list[Registered], root: Path = ROOT) -> None:
    """Write what follows from the registrations and is not there yet, but for records."""
    for kind in registered:
        said, listed, reference = (root / page for page in page_of(kind))
        lacking = " ".join(faults_of(kind, root))
        if "an entry in docs/" in lacking and not isinstance(kind, Map):
            said.write_text(said.read_text() + entry(kind))
        if f"a line in docs/{listed.name}" in lacking:
            before, first, after = listed.read_text().partition("\n| --- |")
            table, end, rest = after.partition("\n\n")
            listed.write_text(f"{before}{first}{table}\n{line(kind)}{end}{rest}")
        if "its module in docs/" in lacking:
            reference.write_text(f"{reference.read_text()}\n::: {module_of(kind)}\n")
        if "a picture in docs/pictures" in lacking:
            drawing = runpy.run_path(str(ROOT / "tools" / "pictures" / "__main__.py"))
            drawing["save"](kind.name, drawing["pictures"]()[kind.name], root / "docs" / "pictures")
        if f"a line in {MEMORY}" in lacking:
            write_memory([name for name in calls_of(kind) if f"{MEMORY}, of `{name}`" in lacking], root / MEMORY)


def write_memory(names: list[str], page: Path) -> None:
    """Measure these calls, and put their lines into the table in the order of all."""
    benchmark = memory()
    head, mark, table = page.read_text().partition("| --- ")
    first, *lines = (mark + table).rstrip().split("\n")
    lines += map(benchmark["row"], names)
    order = list(benchmark["CALLS"])
    lines.sort(key=lambda line: order.index(line.split("`")[1]))
    page.write_text("\n".join([head + first, *lines]) + "\n")


def write_records(registered: list[Registered]) -> None:
    """Compute the entries of records that are missing; a measure is in every audit, whose records are written anew."""
    lacking = {kind.name: faults_of(kind) for kind in registered}
    missing = " ".join(fault for each in lacking.values() for fault in each)
    if "docs/gallery.md prints" in missing:
        subprocess.run([sys.executable, "tools/tutorials.py", "docs/gallery.md"], cwd=ROOT, check=True)
    pages = [page for page in (*OF_MEASURES, *OF_TESTS) if f"small/{page}.md" in missing]
    if pages:
        subprocess.run([sys.executable, "-m", "tests.papers.small_pages", *pages], cwd=ROOT, check=True)
    if "tests/numbers.json" in missing:
        subprocess.run([sys.executable, "-m", "tests.test_numbers"], cwd=ROOT, check=True)
    elif "tests/ledger/record.json" in missing:
        subprocess.run([sys.executable, "-m", "tests.ledger.record"], cwd=ROOT, check=True)


if __name__ == "__main__":
    if "--check" in sys.argv:
        found = faults(every())
        print("\n".join(found) or "nothing is missing")
        sys.exit(bool(found))
    if write_names():  # which this process has read already
        sys.exit(subprocess.run([sys.executable, *sys.argv], check=False).returncode)
    write(every())
    write_records(every())
