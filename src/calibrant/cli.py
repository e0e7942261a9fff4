"""The command line: parses, calls, prints; no arithmetic."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from calibrant.errors import FileError, InputError

if TYPE_CHECKING:
    from calibrant.report.audit import Audit
    from calibrant.scale.segments import Segment

_PATIENCE = 2.0
"""Seconds of work after which progress is shown."""

_OPTIONS = {"level": "--level", "by": "--by", "n_resamples": "--resamples", "random_state": "--seed", "path": "--html"}
"""What an argument of the audit is called here."""

app = typer.Typer(
    help="How far predicted probabilities are from calibrated, where, and whether the number can be trusted.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def main() -> None:
    """Run the command line."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:  # a name that the terminal cannot show is no reason to fail
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
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
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of the resamples.")] = None,
    by: Annotated[str | None, typer.Option(help="Columns, with commas between: say which segments are worst.")] = None,
) -> None:
    """Measure how far the predictions in FILE are from calibrated.

    For example: calibrant audit predictions.parquet --y-true clicked --y-prob score --html report.html
    """
    with _explained(), _Progress() as progress:
        from calibrant.scale.files import FileColumns, input_files, read_file

        if html is not None:
            _check_target(html, "--html", input_files(file))
        progress("Reading")
        from calibrant.scale.large import is_large, sketch_file

        large = is_large(file)
        read = sketch_file if large else read_file
        columns = read(file, y_true=y_true, y_prob=y_prob, sample_weight=sample_weight)
        if columns.guessed:
            used = ", ".join(f"{columns.names[argument]!r} as the {_ROLES[argument]}" for argument in columns.guessed)
            print(f"Using {used}.", file=sys.stderr)
        names, sketch, title = columns.names, None, Path(file).name
        progress("Pooling")
        from calibrant.report.audit import audit_sample
        from calibrant.sample import Sample

        if isinstance(columns, FileColumns):
            try:
                sample = Sample.from_columns(columns.y_true, columns.y_prob, columns.sample_weight)
            except InputError as problem:
                raise _as_in_file(problem, names) from None
        else:
            sketch = columns.sketch
            sample = sketch.sample
            title = f"{title}, rows pooled into {sketch.n_cells:,} cells"
        del columns
        audit = audit_sample(
            sample, level=level, n_resamples=resamples, random_state=seed, title=title, progress=progress
        )
        if sketch is not None:
            from calibrant.report.sketched import with_bounds

            progress("Bounds")
            audit = with_bounds(audit, sketch.error_bounds(), sketch.displacement)
        segments = None
        if by is not None:
            from calibrant.scale.large import file_by_segment

            progress("Segments")
            segments = file_by_segment(
                file,
                by.split(","),
                y_true=names["y_true"],
                y_prob=names["y_prob"],
                sample_weight=names.get("sample_weight"),
                level=level,
            )
        if html is not None:
            progress("Writing the report")
            audit.to_html(html)
        progress.stop()
        if segments is not None and json:
            print(dumps({**audit.to_dict(), "segments": [asdict(each) for each in segments]}, indent=2, default=str))
        else:
            print(audit.to_json() if json else audit.summary(), flush=True)
        if segments is not None and not json:
            _print_segments(segments, by or "")
        if html is not None:
            print(f"Report: {html}", file=sys.stderr if json else sys.stdout, flush=True)


_SHOWN_SEGMENTS = 20


def _print_segments(segments: Sequence[Segment], by: str) -> None:
    found = sum(segment.reject for segment in segments)
    print(f"\nSegments by {by}: {found:,} of {len(segments):,} are off by more than noise; the worst first")
    for segment in segments[:_SHOWN_SEGMENTS]:
        key = ", ".join(map(str, segment.key))
        mark = f"predictions {segment.direction} in [{segment.where[0]:g}, {segment.where[1]:g}]"
        print(
            f"- {key}: smooth error {segment.smooth_error:.4f} +- {segment.smooth_error_bound:.4f}, "
            f"{segment.n_rows:,} rows, q = {segment.qvalue:.2g}{', ' + mark if segment.reject else ''}; "
            f"outcome minus prediction {segment.bias:+.4f} [{segment.bias_low:+.4f}, {segment.bias_high:+.4f}]"
        )


@app.command()
def gate(
    file: Annotated[str, typer.Argument(help="CSV, Parquet, JSON lines or Arrow file, or a quoted pattern of files.")],
    max_distance: Annotated[float, typer.Option(help="Largest distance from calibration that is allowed.")],
    confidence: Annotated[float, typer.Option(help="Probability that what is said is true.")] = 0.95,
    y_true: Annotated[str | None, typer.Option(help="Column of outcomes, 0 or 1.")] = None,
    y_prob: Annotated[str | None, typer.Option(help="Column of predicted probabilities.")] = None,
) -> None:
    """Decide, with proof, whether FILE's predictor is within a distance from calibration on its population.

    Exit code 0: proved within. 1: proved beyond. 3: undecided, with the rows still needed. 2: bad input.

    For example: calibrant gate predictions.parquet --max-distance 0.05 --confidence 0.95
    """
    with _explained(), _Progress() as progress:
        from calibrant.inference.gate import calibration_gate
        from calibrant.scale.files import read_file

        progress("Reading")
        columns = read_file(file, y_true=y_true, y_prob=y_prob)
        progress("Bounds")
        try:
            decision = calibration_gate(
                columns.y_true, columns.y_prob, max_distance=max_distance, confidence=confidence
            )
        except InputError as problem:
            raise _as_in_file(problem, columns.names) from None
        progress.stop()
        print(decision.summary(), flush=True)
    raise typer.Exit({"within": 0, "beyond": 1, "undecided": 3}[decision.verdict])


@app.command()
def demo(
    folder: Annotated[Path, typer.Option(help="Where the two reports go.")] = Path(),
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Seed of the folds and of the resamples.")] = 0,
) -> None:
    """Audit two models of scikit-learn's breast-cancer data, naive Bayes and logistic regression.

    For example: calibrant demo --folder reports
    """
    with _explained(), _Progress() as progress:
        targets = {name: folder / f"calibrant-demo-{name.replace(' ', '-')}.html" for name in _DEMO_MODELS}
        for target in targets.values():
            _check_target(target, "--folder")
        progress("Training")
        from calibrant.demo import audits

        found = audits(seed, progress)
        for name, target in targets.items():
            found[name].to_html(target)
        progress.stop()
        _print_comparison(found)
        for name, target in targets.items():
            print(f"Report of {name}: {target}", flush=True)


@app.command()
def reproduce(
    name: Annotated[str | None, typer.Argument(help="Which table or figure; without it, all are listed.")] = None,
    out: Annotated[Path, typer.Option(help="Folder for NAME.md and NAME.svg.")] = Path(),
    data: Annotated[Path | None, typer.Option(help="Folder of the papers' predictions, where they are needed.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A small version that ends within seconds.")] = False,
) -> None:
    """Compute a paper's table or figure again, beside the paper's own numbers.

    For example: calibrant reproduce unifying-theory-lemmas --out results
    """
    with _explained(), _Progress() as progress:
        from calibrant.experiments import registry

        if name is None:
            progress.stop()
            for each, sentence in registry.experiments().items():
                print(f"{each}: {sentence}")
            return
        progress(name)
        done = registry.reproduce(name, quick=quick, data=data)
        written = registry.write(name, done, out)
        progress.stop()
        print(f"{done.finding or done.title} ({done.seconds:,.1f} s)")
        for path in written:
            print(f"Wrote {path}", flush=True)


_DEMO_MODELS = ("naive Bayes", "logistic regression")


def _print_comparison(found: dict[str, Audit]) -> None:
    from rich.console import Console
    from rich.table import Table

    first = next(iter(found.values()))
    table = Table(title=f"Breast-cancer data, {first.n_rows} rows predicted out of fold", title_justify="left")
    table.add_column("measure")
    for name in found:
        table.add_column(name, justify="right")
    for name, measure in first.measures.items():
        values = [audit.measures[name].value for audit in found.values()]
        table.add_row(measure.title, *("-" if value is None else f"{value:.4f}" for value in values))
    Console().print(table)
    for name, audit in found.items():
        print(f"{name}: {audit.verdict}\n")
    better, worse = sorted(found, key=lambda name: found[name].smooth_error)
    where = f", whose {found[worse].regions[0].words}" if found[worse].regions else ""
    print(f"By the smooth calibration error {better} is better calibrated than {worse}{where}.\n")


_ROLES = {"y_true": "outcomes", "y_prob": "predictions", "sample_weight": "weights"}


def _as_in_file(problem: InputError, names: dict[str, str]) -> InputError:
    """The problem in the words of someone who sees the file: its column's name, and how rows are counted."""
    column = names.get(problem.argument)
    at = problem.argument if column in (None, problem.argument) else f"{problem.argument} (column {column!r})"
    said = str(problem).partition(": ")[2]
    if problem.row is not None:
        said = said.replace(f"row {problem.row} ", f"row {problem.row} (counted from 0) ", 1)
    return InputError(at, said, row=problem.row)


def _check_target(target: Path, option: str, sources: Sequence[str] = ()) -> None:
    """Find out before the work whether the report can be written, and that it replaces no input."""
    folder = target.parent
    if target.is_dir():
        raise FileError(option, f"{str(target)!r} is a folder; name a file")
    if not folder.is_dir():
        said = "is not a folder" if folder.exists() else "does not exist; create it first"
        raise FileError(option, f"{str(folder)!r} {said}")
    if target.exists():
        if not target.is_file():
            raise FileError(option, f"{str(target)!r} is not a plain file; name a file to write")
        if any(target.samefile(source) for source in sources):
            raise FileError(option, f"{str(target)!r} is an input file itself; name another")
    try:
        tempfile.TemporaryFile(dir=target.resolve().parent).close()
    except OSError as problem:
        raise FileError(option, f"the folder {str(folder)!r} cannot be written to: {problem.strerror}") from None


class _Interrupted(BaseException):
    """Ctrl-C, under a name of our own: libraries treat a KeyboardInterrupt in ways of theirs."""


@contextmanager
def _explained() -> Iterator[None]:
    """Turn a user's mistake into a message and exit code 2, an interrupt into 130, a closed pipe into silence."""
    interrupted = threading.Event()

    def interrupt(*_: object) -> None:
        interrupted.set()
        raise _Interrupted

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    except BaseException as problem:
        if interrupted.is_set():  # whatever a library in between made of it
            print("calibrant: interrupted", file=sys.stderr)
            raise typer.Exit(130) from None
        if isinstance(problem, BrokenPipeError):
            _drop_output()
            raise typer.Exit(0) from None
        if not isinstance(problem, InputError | OSError):
            raise
        print(f"calibrant: {_in_words(problem)}", file=sys.stderr)
        _drop_output()
        raise typer.Exit(2) from None
    finally:
        signal.signal(signal.SIGINT, before)


def _in_words(problem: InputError | OSError) -> str:
    if isinstance(problem, OSError):
        return f"{problem.filename or 'output'}: {problem.strerror or problem}"
    option = _OPTIONS.get(problem.argument)
    message = str(problem)
    return option + message[len(problem.argument) :] if option else message


def _drop_output() -> None:
    """Keep Python from failing at its exit over output that has nowhere to go."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except AttributeError:  # there is no standard output
        pass


class _Progress:
    """Names the stage on a terminal's stderr once the work has taken a while; silent otherwise."""

    def __init__(self) -> None:
        self._stage = ""
        self._status: Any = None
        self._timer: threading.Timer | None = None
        self._stopped = False
        self._turn = threading.Lock()

    def __enter__(self) -> _Progress:
        if sys.stderr is not None and sys.stderr.isatty():
            self._timer = threading.Timer(_PATIENCE, self._show)
            self._timer.daemon = True
            self._timer.start()
        return self

    def __call__(self, stage: str) -> None:
        with self._turn:
            self._stage = stage
            if self._status is not None:
                self._status.update(stage)

    def _show(self) -> None:
        from rich.console import Console

        status = Console(stderr=True).status("")
        with self._turn:
            if not self._stopped:  # the work may have ended while this was being made ready
                status.update(self._stage)
                status.start()
                self._status = status

    def stop(self) -> None:
        """Clear the line."""
        if self._timer is not None:
            self._timer.cancel()
        with self._turn:
            self._stopped = True
            if self._status is not None:
                self._status.stop()
                self._status = None

    def __exit__(self, *_: object) -> None:
        self.stop()
