"""The command line: parses, calls, prints; no arithmetic."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from calibrant.door.errors import FileError, InputError
from calibrant.exits import Leave, explained, show, tell
from calibrant.terminal import Progress, check_target

if TYPE_CHECKING:
    from calibrant.findings.comparison import Comparison
    from calibrant.findings.found import Audit

EXIT_CODES = {"within": 0, "beyond": 1, "undecided": 3}

app = typer.Typer(
    help="How far predicted probabilities are from calibrated, where, and whether the number can be trusted.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


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
    files: Annotated[
        list[str], typer.Argument(metavar="FILE [FILE]", help="CSV, Parquet, JSON lines or Arrow; or a quoted pattern.")
    ],
    y_true: Annotated[str | None, typer.Option(help="Column of outcomes: 0 or 1, or event rates.")] = None,
    y_prob: Annotated[
        str | None,
        typer.Option(help="Column of predicted probabilities; for classes a list p0,p1,... or a pattern 'p*'."),
    ] = None,
    sample_weight: Annotated[str | None, typer.Option(help="Column of weights.")] = None,
    max_distance: Annotated[
        float | None,
        typer.Option(help="Error that is too small to matter; 0.02, or a tenth of the rarer outcome's rate if less."),
    ] = None,
    threshold: Annotated[
        float | None, typer.Option(help="Where predictions are acted on: say what that costs; else the worst one.")
    ] = None,
    html: Annotated[Path | None, typer.Option(help="Write a self-contained report here.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of the page.")] = False,
    level: Annotated[
        float,
        typer.Option(help="Chance of being wrong that each test, the population's bounds and the band take."),
    ] = 0.05,
    resamples: Annotated[int, typer.Option(help="Resamples behind the band; 0 for none.")] = 999,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of the resamples.")] = None,
    by: Annotated[str | None, typer.Option(help="Columns, with commas between: say which segments are worst.")] = None,
    drift: Annotated[
        str | None, typer.Option(help="Column of days or other periods: say from when on it is proved wrong.")
    ] = None,
    exclude_bad: Annotated[
        bool, typer.Option("--exclude-bad", help="Leave out rows that are null, NaN, no numbers or out of range.")
    ] = False,
    unweighted: Annotated[bool, typer.Option("--unweighted", help="Leave the column of weights out.")] = False,
) -> None:
    """Measure how far the predictions in FILE are from calibrated; of two files, say which is better.

    For example: calibrant audit predictions.parquet --y-true clicked --y-prob score --html report.html
    """
    with explained(), Progress() as progress:
        from calibrant.door.arguments import check_band, seeded

        check_band(level, resamples)  # before anything that takes longer to load
        from calibrant.findings.table import Asked, Told, audit_opened
        from calibrant.scale.opened import OpenedFile

        if len(files) > 2:
            raise InputError("FILE", f"is {len(files)} files; one or two are audited, many as one by a quoted pattern")
        opened = [OpenedFile(file) for file in files]
        if html is not None:
            check_target(html, "--html", [each for file in opened for each in file.files])
        seed = seeded(seed)[1]  # one for both files
        asked = Asked(
            y_true,
            y_prob,
            sample_weight,
            () if by is None else tuple(by.split(",")),
            drift,
            exclude_bad,
            unweighted,
            max_distance,
            threshold,
            level,
            resamples,
            seed,
        )
        audited = [
            audit_opened(file, asked, Told(progress, tell if len(files) == 1 else partial(_tell_of, file.path)))
            for file in opened
        ]
        found: Audit | Comparison = audited[0].audit
        if len(audited) == 2:
            from calibrant.findings.comparison import compare

            progress("Comparison")
            first, second = audited
            names = (opened[0].name, opened[1].name)
            names = names if names[0] != names[1] else (files[0], files[1])
            found = compare(names, (first.audit, second.audit), (first.rows, second.rows), level=level, seed=seed)
        if html is not None:
            progress("Writing the report")
            found.to_html(html)
        progress.stop()
        show(found.to_json() if json else found.summary())
        if html is not None:
            (tell if json else show)(f"Report: {html}")


def _tell_of(file: str, said: str) -> None:
    tell(f"{file}: {said}")


@app.command()
def gate(
    file: Annotated[str, typer.Argument(help="CSV, Parquet, JSON lines or Arrow file, or a quoted pattern of files.")],
    max_distance: Annotated[
        float | None, typer.Option(help="Largest distance from calibration that is allowed; or --max-regret.")
    ] = None,
    max_regret: Annotated[
        float | None,
        typer.Option(help="The most per row that acting on the predictions may lose against the best cut."),
    ] = None,
    threshold: Annotated[
        float | None, typer.Option(help="With --max-regret: where predictions are acted on; without it, anywhere.")
    ] = None,
    level: Annotated[float, typer.Option(help="Probability that what is said is wrong, at most.")] = 0.05,
    y_true: Annotated[str | None, typer.Option(help="Column of outcomes, 0 or 1.")] = None,
    y_prob: Annotated[str | None, typer.Option(help="Column of predicted probabilities.")] = None,
    sample_weight: Annotated[str | None, typer.Option(help="Column of weights; needs --max-weight.")] = None,
    max_weight: Annotated[
        float | None, typer.Option(help="The most that one row can weigh, known before the rows were drawn.")
    ] = None,
    anytime: Annotated[
        Path | None,
        typer.Option(metavar="STATE", help="Add FILE's rows to those of this state, and stop at any time."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a sentence.")] = False,
    unweighted: Annotated[bool, typer.Option("--unweighted", help="Leave the column of weights out.")] = False,
) -> None:
    """Decide, with proof, whether FILE's predictor is within a limit on its population.

    With --max-distance the limit is of its distance from calibration: the lower one, all that predictions and outcomes
    can prove; with features it may be more. With --max-regret it is of what acting where predictions are at least the
    --threshold (or without one, at the worst threshold) loses per row against the best cut, in payoff of 1 - t for an
    event that is acted on and t for another row that is not.

    Exit code 0: proved within. 1: proved beyond. 3: undecided (of a distance, with the rows still needed). 2: bad
    input, or output that cannot be written. 70: something unforeseen, memory included. 130: Ctrl-C. A column of
    weights, or one whose name says that it may hold them (weight, w, freq, trials, ...), needs --max-weight, or
    --unweighted to leave it out.

    With --anytime STATE the rows of one file after the other are added up in STATE, which is begun with the first, and
    one may stop as soon as a verdict is reached: it is wrong with probability at most the level, however often one
    looks. Each FILE must hold rows that were not added before.

    For example: calibrant gate predictions.parquet --y-true clicked --y-prob score --max-distance 0.05 --level 0.05
    or: calibrant gate predictions.parquet --max-regret 0.002 --threshold 0.1
    """
    with explained(), Progress() as progress:
        from calibrant.findings.table import Told
        from calibrant.findings.table_gate import Asked, gate_opened
        from calibrant.report.schema import gate_as_json
        from calibrant.scale.opened import OpenedFile

        columns = y_true, y_prob, sample_weight
        asked = Asked(max_distance, level, *columns, max_weight, unweighted, anytime, max_regret, threshold)
        opened = OpenedFile(file)
        if anytime is not None:
            check_target(anytime, "--anytime", opened.files)
        decision = gate_opened(opened, asked, Told(progress, tell))
        progress.stop()
        show(gate_as_json(decision) if json else decision.summary())
        assert decision.verdict is not None
        raise Leave(EXIT_CODES[decision.verdict])


@app.command()
def demo(
    folder: Annotated[Path, typer.Option(help="Where the report goes.")] = Path(),
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Seed of the folds and of the resamples.")] = 0,
) -> None:
    """Audit two models of scikit-learn's breast-cancer data, naive Bayes and logistic regression.

    For example: calibrant demo --folder reports
    """
    with explained(), Progress() as progress:
        target = folder / "calibrant-demo.html"
        check_target(target, "--folder")
        progress("Training")
        from calibrant.demo import comparison

        found = comparison(seed, progress)
        try:
            found.to_html(target)
        except FileError as problem:
            raise FileError("--folder", problem.problem) from None
        progress.stop()
        show(found.summary())
        show(f"Report: {target}")


@app.command()
def reproduce(
    name: Annotated[str | None, typer.Argument(help="Which table or figure; without it, all are listed.")] = None,
    out: Annotated[Path, typer.Option(help="Folder for NAME.md and NAME.svg.")] = Path(),
    data: Annotated[
        Path | None,
        typer.Option(help="Folder of the papers' predictions, where they are needed."),
    ] = None,
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
                show(f"{each}: {sentence}")
            return
        progress(name)
        done = registry.reproduce(name, quick=quick, data=data)
        written = registry.write(name, done, out)
        progress.stop()
        show(f"{done.finding} ({done.seconds:,.1f} s)")
        for path in written:
            show(f"Wrote {path}")
