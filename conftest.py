"""What holds for every test, and modules that are not collected because their library is not installed."""

import functools
import gc
import os
import random
import signal
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import settings

# A job in the background has Ctrl-C ignored, and commands that tests start, and then interrupt, inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Two workers on two processors: matrix libraries that each start as many threads wait for each other, which takes
# twenty times as long as the work. It is read when NumPy is first imported; commands that tests start inherit it.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")  # of scikit-learn's trees

NEEDS = {
    "torch": "torch",
    "integrations/torchmetrics": "torchmetrics",
    "integrations/ignite": "ignite",
    "integrations/hf_evaluate": "evaluate",
    "integrations/lm_eval": "lm_eval",
}
collect_ignore = [f"src/calibrant/{module}.py" for module, library in NEEDS.items() if not find_spec(library)]
collect_ignore += ["tests/toys"]  # are copied into a house of their own
pytest_plugins = ["tests.processor_seconds"]

# How many examples a test draws: in percent of what it asks for (`tests.strategies.examples`). Every run draws others.
# No test depends on the wall clock: the first example may compile a kernel, and the machine may be busy.
for name, percent in {"quick": 2, "suite": 5, "thorough": 100}.items():
    settings.register_profile(name, max_examples=percent, deadline=None)
settings.load_profile("suite")  # another: pytest --hypothesis-profile thorough


SHARE = 1 / 16  # of the slow tests, which the whole suite draws; each run draws others, as it does of examples


def pytest_addoption(parser):
    """The quick loop is one option, every slow test another."""
    parser.addoption("--quick", action="store_true", help="few examples, and no test that is marked as slow")
    parser.addoption("--all", action="store_true", help="every slow test, not a drawn sixteenth of them")
    parser.addoption("--draw", type=int, help="the number with which slow tests are drawn; default: another every time")


def pytest_configure(config):
    """Name the markers, load the profile and draw a number before any test is collected."""
    config.addinivalue_line("markers", "slow(always=False): left out by --quick; the suite draws it, or always has it")
    if config.getoption("--quick"):
        settings.load_profile("quick")
    config.option.draw = _number(config)
    if getattr(config.option, "numprocesses", None) and not hasattr(config, "workerinput"):
        compile_once()
    else:
        gc.disable()  # what is collected stays: looking through it for garbage took a quarter of the time


def _number(config):
    """The number that slow tests are drawn with; None where all run, or none: of files that somebody names all do."""
    if hasattr(config, "workerinput"):
        return config.workerinput["draw"]
    named = config.args_source is pytest.Config.ArgsSource.ARGS
    if config.option.draw is not None or named or config.option.quick or config.option.all:
        return config.option.draw
    return random.SystemRandom().randrange(10**6)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node):
    """Every worker draws the same tests."""
    node.workerinput["draw"] = node.config.option.draw


def compile_once():
    """Compile what every audit needs, where nothing is compiled yet, before several workers each do it."""
    from calibrant.cli.compilation import _first_run

    if not _first_run():
        return
    rows = "".join(f"{int(k % 7 < k // 100)},{k / 1000}\n" for k in range(1000))
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "rows.csv").write_text(f"y_true,y_prob\n{rows}")
        command = [sys.executable, "-m", "calibrant", "audit", "rows.csv", "--resamples", "39"]
        subprocess.run(command, cwd=folder, capture_output=True, check=True)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Each worker has tests that follow one another, and takes of another's when it is done.

    So what the tests of a module share is made once, where tests in turns have every worker make it.
    """
    if config.getvalue("dist") != "load":
        return None
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log)


def pytest_terminal_summary(terminalreporter, config):
    """Say with which number the slow tests were drawn, so that the same can be drawn again."""
    if config.option.draw is not None:
        terminalreporter.write_line(
            f"of the slow tests {SHARE:.0%} were drawn: --draw {config.option.draw}; --all runs all"
        )


def pytest_collection_modifyitems(config, items):
    """Leave out what is marked as slow, or most of it."""
    quick, number = config.option.quick, config.option.draw
    if not quick and number is None:
        return

    def runs(item):
        slow = item.get_closest_marker("slow")
        if quick or slow is None:
            return slow is None
        return slow.kwargs.get("always") or random.Random(f"{number} {item.nodeid}").random() < SHARE

    out = [item for item in items if not runs(item)]
    if out:
        config.hook.pytest_deselected(items=out)
        items[:] = [item for item in items if runs(item)]


def pytest_collection_finish():
    """Commands are built once: Typer's runner would build all of them, and their help, for each that is run."""
    gc.freeze()
    gc.enable()
    runner = sys.modules.get("typer.testing")
    if runner is not None:
        runner._get_command = functools.cache(runner._get_command)


@pytest.fixture
def blank_pictures(monkeypatch):
    """Pages whose words are looked at: their pictures, which take most of a page's time, are made and not drawn."""
    from matplotlib.figure import Figure

    drawn = Figure.savefig

    def savefig(self, file, **options):
        if options.get("format") == "svg":
            file.write("<svg ></svg>")
        else:
            drawn(self, file, **options)

    monkeypatch.setattr(Figure, "savefig", savefig)


@pytest.fixture(scope="module")
def one_database():
    """The tables of a module are opened in one database of DuckDB, whose start takes longer than a small file."""
    import duckdb

    from calibrant.tables import duckdb as engine
    from calibrant.tables import folders, inputs, relations, sketches
    from calibrant.tables.formats import text

    with pytest.MonkeyPatch.context() as patch, duckdb.connect(config={"enable_external_file_cache": "false"}) as one:
        for module in (engine, folders, inputs, relations, sketches, text):
            patch.setattr(module, "connect", one.cursor)
        yield
