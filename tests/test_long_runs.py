"""Long runs draw a new seed, print it first, and fail on a finding; what they look at is in tools/runs."""

import importlib.util
from pathlib import Path

import pytest

PATH = Path(__file__).parents[1] / "tools" / "long_runs.py"


@pytest.fixture
def tool(monkeypatch):
    """The command, which looks at nothing: it keeps what it was asked, and has one finding in corruption."""
    spec = importlib.util.spec_from_file_location("long_runs", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.looked = []

    def look(name, cases, seed, parts, _processes=1):
        module.looked.append((name, cases, seed, list(parts)))
        return module.Found(cases, ["a finding"] if name == "corruption" else [])

    monkeypatch.setattr(module, "look", look)
    return module


def run(tool, monkeypatch, *arguments):
    monkeypatch.setattr("sys.argv", ["long_runs.py", *arguments])
    return tool.main()


def test_each_run_draws_a_seed_and_prints_it_first(tool, monkeypatch, capsys):
    codes = [run(tool, monkeypatch, "differential", "--cases", "1000") for _ in range(2)]
    seeds = [seed for _, _, seed, _ in tool.looked]
    assert (codes, len(set(seeds))) == ([0, 0], 2)
    assert capsys.readouterr().out.splitlines() == [f"seed {seed}" for seed in seeds]
    run(tool, monkeypatch, "differential", "--cases", "1000", "--seed", "7")
    assert tool.looked[-1] == ("differential", 1000, 7, [0, 1])


@pytest.mark.slow
def test_a_small_run_looks_at_some_of_each_and_fails_on_a_finding(tool, monkeypatch):
    assert run(tool, monkeypatch, "--small", "--seed", "7")
    assert {name for name, *_ in tool.looked} >= {"contradictions", "corruption", "differential", "faults", "layouts"}
    assert {(seed, *parts) for _, _, seed, parts in tool.looked} == {(7, tool.SOME)}
    assert run(tool, monkeypatch, "corruption")
    assert not run(tool, monkeypatch, "layouts", "--small")
