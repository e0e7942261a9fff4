"""The command line: parses, calls, prints; no arithmetic."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import asdict
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from calibrant.errors import InputError
from calibrant.terminal import Progress, as_in_file, check_target, explained, print_comparison, print_segments

if TYPE_CHECKING:
    from calibrant.report.audit import Audit

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
    y_prob: Annotated[
        str | None,
        typer.Option(help="Column of predicted probabilities; for classes a list p0,p1,... or a pattern 'p*'."),
    ] = None,
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
    with explained(), Progress() as progress:
        from calibrant.scale.class_files import class_columns
        from calibrant.scale.files import FileColumns, input_files, read_file

        if html is not None:
            check_target(html, "--html", input_files(file))
        progress("Reading")
        classes = class_columns(file, y_prob)
        if classes is not None:
            if by is not None:
                raise InputError("by", "segments are of single predictions; name one column with --y-prob")
            found = _audit_classes(file, classes, y_true, sample_weight, level, resamples, seed, progress)
            if html is not None:
                found.to_html(html)
            progress.stop()
            print(found.to_json() if json else found.summary(), flush=True)
            if html is not None:
                print(f"Report: {html}", file=sys.stderr if json else sys.stdout, flush=True)
            return
        from calibrant.scale.large import is_large, sketch_file

        large = is_large(file)
        read = sketch_file if large else read_file
        columns = read(file, y_true=y_true, y_prob=y_prob, sample_weight=sample_weight)
        _say_guessed(columns.names, columns.guessed)
        names, sketch, title = columns.names, None, Path(file).name
        progress("Pooling")
        from calibrant.report.audit import audit_sample
        from calibrant.sample import Sample

        if isinstance(columns, FileColumns):
            try:
                sample = Sample.from_columns(columns.y_true, columns.y_prob, columns.sample_weight)
            except InputError as problem:
                raise as_in_file(problem, names) from None
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
            print_segments(segments, by or "")
        if html is not None:
            print(f"Report: {html}", file=sys.stderr if json else sys.stdout, flush=True)


def _audit_classes(
    file: str,
    columns: list[str],
    y_true: str | None,
    sample_weight: str | None,
    level: float,
    resamples: int,
    seed: int | None,
    progress: Progress,
) -> Audit:
    from calibrant.measures.multiclass import multiclass_sample
    from calibrant.report.audit import audit_classes
    from calibrant.scale.class_files import read_classes_file

    read = read_classes_file(file, columns, y_true=y_true, sample_weight=sample_weight)
    _say_guessed(read.names, (*read.guessed, "y_prob"))
    try:
        sample = multiclass_sample(read.y_true, read.y_prob, sample_weight=read.sample_weight, classes=read.classes)
    except InputError as problem:
        raise as_in_file(problem, read.names) from None
    return audit_classes(
        sample, level=level, n_resamples=resamples, random_state=seed, title=Path(file).name, progress=progress
    )


def _say_guessed(names: dict[str, str], guessed: Iterable[str]) -> None:
    used = ", ".join(f"{names[argument]!r} as the {_ROLES[argument]}" for argument in guessed)
    if used:
        print(f"Using {used}.", file=sys.stderr)


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
    with explained(), Progress() as progress:
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
            raise as_in_file(problem, columns.names) from None
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
    with explained(), Progress() as progress:
        targets = {name: folder / f"calibrant-demo-{name.replace(' ', '-')}.html" for name in _DEMO_MODELS}
        for target in targets.values():
            check_target(target, "--folder")
        progress("Training")
        from calibrant.demo import audits

        found = audits(seed, progress)
        for name, target in targets.items():
            found[name].to_html(target)
        progress.stop()
        print_comparison(found)
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
    with explained(), Progress() as progress:
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


_ROLES = {"y_true": "outcomes", "y_prob": "predictions", "sample_weight": "weights"}
