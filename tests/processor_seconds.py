"""`pytest --processor-seconds`: what every file and the slowest tests cost, in seconds of the processor.

Seconds on the wall say how busy the machine was. Counted are the process and the children it waited for, and, at
the end, those that still run: Spark's Java machine and Dask's workers.
"""

import os
from collections import Counter, defaultdict
from pathlib import Path

import pytest

_SLOWEST = 25  # tests shown
_MOST = 0.1  # seconds that a case of a test takes in the quick loop, on average


class Spent:
    """In every process that runs tests: hangs to each report what was spent since the last one."""

    def __init__(self):
        self.last = None

    def pytest_collection_finish(self):
        self.last = _spent()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self):
        report = yield
        now = _spent()
        report.processor_seconds, self.last = now - self.last, now  # carried from a worker to the one that prints
        return report


class Table:
    """In the process that prints: sums by file and by test."""

    def __init__(self, quick):
        self.tests = Counter()
        self.quick = quick
        self.compiled = 0.0

    def pytest_sessionstart(self):
        self.compiled = sum(os.times()[2:4])  # the only child until then (conftest.py)

    def pytest_runtest_logreport(self, report):
        self.tests[report.nodeid] += getattr(report, "processor_seconds", 0.0)

    def pytest_terminal_summary(self, terminalreporter):
        files = Counter()
        for name, seconds in self.tests.items():
            files[name.partition("::")[0]] += seconds
        write = terminalreporter.write_line
        terminalreporter.section("processor seconds")
        for name, seconds in files.most_common():
            write(f"{seconds:8.1f}  {name}")
        running = _still_running()
        write(f"{running:8.1f}  children that still run")
        write(f"{self.compiled:8.1f}  kernels compiled before the tests")
        total = sum(files.values()) + running + self.compiled
        write(f"{total:8.1f}  in all, without collecting (this process and its children: {_spent():.1f})")
        write(f"the slowest {_SLOWEST}:")
        for name, seconds in self.tests.most_common(_SLOWEST):
            write(f"{seconds:8.1f}  {name}")
        if self.quick:
            write(f"to be marked as slow, as a case takes over {_MOST:g} seconds (or a kernel was compiled):")
            for name, seconds in self.too_slow():
                write(f"{seconds:8.2f}  {name}")

    def too_slow(self):
        """Tests and the mean of their cases, largest first."""
        cases = defaultdict(list)
        for name, seconds in self.tests.items():
            if not name.startswith("src"):  # an example in a docstring takes what it takes
                cases[name.partition("[")[0]].append(seconds)
        means = Counter({name: sum(each) / len(each) for name, each in cases.items()})
        return [(name, mean) for name, mean in means.most_common() if mean > _MOST]


def pytest_addoption(parser):
    parser.addoption("--processor-seconds", action="store_true", help="what every file and the slowest tests cost")


def pytest_configure(config):
    if config.getoption("--processor-seconds"):
        config.pluginmanager.register(Spent())
        if not hasattr(config, "workerinput"):
            config.pluginmanager.register(Table(config.getoption("--quick")))


def _spent():
    return sum(os.times()[:4])


def _still_running():
    """Of the children of this process and theirs, on Linux; elsewhere 0."""
    seconds, parent = {}, {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
        name = int(stat.parent.name)
        parent[name] = int(fields[1])
        seconds[name] = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    ours, grown = {os.getpid()}, True
    while grown:
        more = {name for name, above in parent.items() if above in ours} - ours
        ours, grown = ours | more, bool(more)
    return sum(seconds[name] for name in ours - {os.getpid()})
