"""The command line: parses, calls, prints; no arithmetic."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from calibrant.errors import FileError, InputError

if TYPE_CHECKING:
    from calibrant.report.audit import Audit

_PATIENCE = 2.0
"""Seconds of work after which progress is shown."""

_OPTIONS = {"level": "--level", "n_resamples": "--resamples", "random_state": "--seed", "path": "--html"}
"""What an argument of the audit is called here."""

app = typer.Typer(
    help="How far predicted probabilities are from calibrated, where, and whether the number can be trusted.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def main() -> None:
    """Run the command line."""
    app(prog_name="calibrant")


def _version(wanted: bool) -> None:
    if wanted:
        from calibrant import __version__

        print(f"calibrant {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print it.")] = False,
) -> None:
    """How far predicted probabilities are from calibrated, where, and whether the number can be trusted."""


@app.command("audit")
def audit_file(
    file: Annotated[str, typer.Argument(help="CSV, Parquet, JSON lines or Arrow file, or a quoted pattern of files.")],
    y_true: Annotated[str | None, typer.Option(help="Column of outcomes: 0 or 1, or event rates.")] = None,
    y_prob: Annotated[str | None, typer.Option(help="Column of predicted probabilities.")] = None,
    sample_weight: Annotated[str | None, typer.Option(help="Column of weights.")] = None,
    html: Annotated[Path | None, typer.Option(help="Write a self-contained report here.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of the page.")] = False,
    level: Annotated[float, typer.Option(help="One minus the coverage of the consistency band.")] = 0.05,
    resamples: Annotated[int, typer.Option(help="Resamples behind the band; 0 for none.")] = 1000,
    seed: Annotated[int | None, typer.Option(help="Seed of the resamples.")] = None,
) -> None:
    """Measure how far the predictions in FILE are from calibrated.

    For example: calibrant audit predictions.parquet --y-true clicked --y-prob score --html report.html
    """
    with _explained(), _Progress() as progress:
        if html is not None:
            _check_target(html, file)
        progress("Reading")
        from calibrant.scale.files import read_file

        columns = read_file(file, y_true=y_true, y_prob=y_prob, sample_weight=sample_weight)
        if columns.guessed:
            used = ", ".join(f"{columns.names[argument]!r} as {argument}" for argument in columns.guessed)
            print(f"Taking the column {used}.", file=sys.stderr)
        progress("Pooling")
        from calibrant.report.audit import audit_sample
        from calibrant.sample import Sample

        try:
            sample = Sample.from_columns(columns.y_true, columns.y_prob, columns.sample_weight)
        except InputError as problem:
            column = columns.names.get(problem.argument)
            if column in (None, problem.argument):
                raise
            raise InputError(f"{problem.argument} (column {column!r})", str(problem).partition(": ")[2]) from None
        del columns
        audit = audit_sample(
            sample, level=level, n_resamples=resamples, random_state=seed, title=Path(file).name, progress=progress
        )
        if html is not None:
            progress("Writing the report")
            audit.to_html(html)
        progress.stop()
        print(audit.to_json() if json else audit.summary())
        if html is not None:
            print(f"Report: {html}", file=sys.stderr if json else sys.stdout)
        sys.stdout.flush()


@app.command()
def demo(
    folder: Annotated[Path, typer.Option(help="Where the two reports go.")] = Path(),
    seed: Annotated[int, typer.Option(help="Seed of the folds and of the resamples.")] = 0,
) -> None:
    """Audit two models of scikit-learn's breast-cancer data, naive Bayes and logistic regression.

    For example: calibrant demo --folder reports
    """
    with _explained(), _Progress() as progress:
        targets = {name: folder / f"calibrant-demo-{name.replace(' ', '-')}.html" for name in _DEMO_MODELS}
        for target in targets.values():
            _check_target(target, None)
        progress("Training")
        from calibrant.demo import audits

        found = audits(seed, progress)
        for name, target in targets.items():
            found[name].to_html(target)
        progress.stop()
        _print_comparison(found)
        for name, target in targets.items():
            print(f"Report of {name}: {target}")
        sys.stdout.flush()


_DEMO_MODELS = ("naive Bayes", "logistic regression")


def _print_comparison(found: dict[str, Audit]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title="Breast-cancer data, 569 rows predicted out of fold", title_justify="left")
    table.add_column("measure")
    for name in found:
        table.add_column(name, justify="right")
    first = next(iter(found.values()))
    for name, measure in first.measures.items():
        values = [audit.measures[name].value for audit in found.values()]
        table.add_row(measure.title, *("-" if value is None else f"{value:.4f}" for value in values))
    Console().print(table)
    for name, audit in found.items():
        print(f"{name}: {audit.verdict}\n")
    better, worse = sorted(found, key=lambda name: found[name].smooth_error)
    print(f"By the smooth calibration error {better} is better calibrated than {worse}.")


def _check_target(html: Path, source: str | None) -> None:
    """Find out before the work whether the report can be written."""
    if html.is_dir():
        raise FileError("--html", f"{str(html)!r} is a folder; name a file")
    if not html.parent.is_dir():
        raise FileError("--html", f"the folder {str(html.parent)!r} does not exist")
    if not os.access(html.parent, os.W_OK):
        raise FileError("--html", f"the folder {str(html.parent)!r} may not be written to")
    if source is not None and html.exists() and Path(source).exists() and html.samefile(source):
        raise FileError("--html", "is the input file itself; name another")


@contextmanager
def _explained() -> Iterator[None]:
    """Turn a user's mistake into a message and exit code 2, an interrupt into 130, a closed pipe into silence."""
    try:
        yield
    except InputError as problem:
        message = str(problem)
        option = _OPTIONS.get(problem.argument)
        print(f"calibrant: {option + message[len(problem.argument) :] if option else message}", file=sys.stderr)
        raise typer.Exit(2) from None
    except KeyboardInterrupt:
        print("calibrant: interrupted; nothing was written", file=sys.stderr)
        raise typer.Exit(130) from None
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(0) from None


class _Progress:
    """Names the stage on a terminal's stderr once the work has taken a while; silent otherwise."""

    def __init__(self) -> None:
        self._stage = ""
        self._status: Any = None
        self._timer: threading.Timer | None = None

    def __enter__(self) -> _Progress:
        if sys.stderr.isatty():
            self._timer = threading.Timer(_PATIENCE, self._show)
            self._timer.daemon = True
            self._timer.start()
        return self

    def __call__(self, stage: str) -> None:
        self._stage = stage
        if self._status is not None:
            self._status.update(stage)

    def _show(self) -> None:
        from rich.console import Console

        self._status = Console(stderr=True).status(self._stage)
        self._status.start()

    def stop(self) -> None:
        """Clear the line."""
        if self._timer is not None:
            self._timer.cancel()
        if self._status is not None:
            self._status.stop()
            self._status = None

    def __exit__(self, *_: object) -> None:
        self.stop()
