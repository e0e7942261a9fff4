"""The command line: parses, calls, prints; no arithmetic."""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from calibrant.cli import sketches
from calibrant.cli.options import DISTINCT, EXCLUDE_BAD, FILESYSTEM, SHARE, Once, OnceWithJUnit, OneLine, given, names
from calibrant.cli.terminal import check_target, no_verdict_told, page, writing
from calibrant.door.errors import InputError
from calibrant.exits import Leave, explained, show, tell
from calibrant.progress import Progress

if TYPE_CHECKING:
    from calibrant.findings.comparison import Comparison
    from calibrant.findings.results import Audit

MOST_FILES = 8


app = typer.Typer(
    cls=OneLine,
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
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """How far predicted probabilities are from calibrated, where, and whether the number can be trusted."""


@app.command("audit", cls=Once)
def audit_file(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE ...", help="CSV, Parquet, JSON lines, Arrow, sketches; a folder; a quoted pattern."
        ),
    ],
    y_true: Annotated[str | None, typer.Option(help="Column of outcomes: 0 or 1, or event rates.")] = None,
    y_prob: Annotated[
        list[str] | None,
        typer.Option(
            help="Column of predicted probabilities; for classes a list p0,p1,... or a pattern 'p*'. "
            "Given twice or more, the forecasts of one FILE are compared."
        ),
    ] = None,
    sample_weight: Annotated[str | None, typer.Option(help="Column of weights.")] = None,
    max_distance: Annotated[
        float | None,
        typer.Option(
            help="Distance that is too small to matter; 0.02, or a tenth of the rarer outcome's rate if less.", **SHARE
        ),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(
            help="Predictions from here on are acted on: report what that loses; default: the worst threshold.",
            **SHARE,
        ),
    ] = None,
    html: Annotated[Path | None, typer.Option(help="Write a self-contained report here.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of the page.")] = False,
    level: Annotated[
        float,
        typer.Option(help="Probability of error allowed to each test, the population's bounds and the band.", **SHARE),
    ] = 0.05,
    resamples: Annotated[int, typer.Option(help="Resamples behind the band; 0 for none.")] = 999,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the random draws.")] = 0,
    by: Annotated[
        str | None, typer.Option(help="Columns, separated by commas: test their segments, worst first.")
    ] = None,
    find: Annotated[
        str | None,
        typer.Option(help="Columns, separated by commas, or all: find segments that are off by more than noise."),
    ] = None,
    max_depth: Annotated[
        int, typer.Option(min=1, max=4, help="With --find: most columns that a segment combines.")
    ] = 2,
    drift: Annotated[
        str | None, typer.Option(help="Column of days or other periods: the period from which on it is proved wrong.")
    ] = None,
    reference: Annotated[
        str | None, typer.Option(help="With --drift: reference periods, A,B or A..B; what has changed since?")
    ] = None,
    exclude_bad: Annotated[bool, typer.Option("--exclude-bad", help=EXCLUDE_BAD)] = False,
    unweighted: Annotated[bool, typer.Option("--unweighted", help="Leave the column of weights out.")] = False,
    groups: Annotated[
        str | None,
        typer.Option(help="Column of patients, accounts, days, ...: rows of one may depend on one another."),
    ] = None,
    max_weight: Annotated[
        float | None,
        typer.Option(help="With groups or weights: the most that one can weigh, known beforehand; needed for bounds."),
    ] = None,
    pos_label: Annotated[str | None, typer.Option(help="Label of the event, if outcomes are two labels.")] = None,
    filesystem: Annotated[str | None, typer.Option(help=FILESYSTEM)] = None,
    distinct: Annotated[bool, typer.Option("--distinct", help=DISTINCT)] = False,
) -> None:
    """Report how far the predictions in FILE are from calibrated; compare several files, or forecasts.

    For example: calibrant audit predictions.parquet --y-true clicked --y-prob score --html report.html
    """
    with explained(), Progress(max(len(files), len(y_prob or []))) as progress:
        from calibrant.door.arguments import check_band

        check_band(level, resamples)  # before anything that takes longer to load
        from calibrant.cli.ahead import compile_beside

        compile_beside(progress.compiling)  # first, for the process beside this one to begin while the rest is loaded
        from calibrant.findings.faults import said_of
        from calibrant.findings.tables import Asked, Told, audit_forecasts, audit_opened
        from calibrant.tables.entry import open_table, take_as_distinct

        if len(files) > MOST_FILES:
            said = f"is {len(files)} files; up to {MOST_FILES} are set side by side, many as one by a quoted pattern"
            raise InputError("FILE", said)
        opened = [open_table(file, filesystem=filesystem, pos_label=pos_label, argument="FILE") for file in files]
        if distinct:
            take_as_distinct(opened, "FILE")
        if html is not None:
            check_target(html, "--html", [each for table in opened for each in table.sources])
        forecasts = y_prob or []
        asked = Asked(
            y_true,
            forecasts[0] if len(forecasts) == 1 else None,
            sample_weight,
            names(by),
            drift,
            exclude_bad,
            unweighted,
            max_distance,
            threshold,
            level,
            resamples,
            seed,
            groups=groups,
            max_weight=max_weight,
            pos_label=pos_label,
            reference=None if reference is None else names(reference),
            find=names(find),
            max_depth=max_depth,
            given=given() - ({"random_state"} if len(files) > 1 else set()),  # a comparison draws by the seed
        )
        found: Audit | Comparison
        if len(forecasts) > 1:
            if len(files) > 1:
                raise InputError("y_prob", "is given several times", allowed="that compares forecasts of one FILE")
            found = audit_forecasts(opened[0], forecasts, asked, Told(progress, tell))
        else:
            audited = []
            for file, table in zip(files, opened, strict=True):
                with said_of(file) if len(files) > 1 else nullcontext():
                    say = tell if len(files) == 1 else partial(_tell_of, file)
                    audited.append(audit_opened(table, asked, Told(progress, say)))
            found = audited[0].audit
        if len(files) > 1:
            from calibrant.findings.comparison import compare, refuse_idle_seed, very_same

            progress("Comparison")
            titles = [table.name or file for file, table in zip(files, opened, strict=True)]
            titles = titles if len(set(titles)) == len(titles) else files
            parts = [each.audit for each in audited], [each.rows for each in audited]
            for said in very_same(titles, parts[1]):
                tell(said)
            found = compare(titles, *parts, groups=[each.groups for each in audited], level=level, seed=seed)
            refuse_idle_seed(found, given())
        if html is not None:
            progress("Writing the report")
            with writing("--html"):
                found.to_html(html)
        progress.stop()
        show(found.to_json() if json else page(found))
        if html is not None:
            (tell if json else show)(f"Report: {html}")


def _tell_of(file: str, said: str) -> None:
    tell(f"{file}: {said}")


@app.command(cls=OnceWithJUnit)
def gate(
    file: Annotated[
        str | None, typer.Argument(help="CSV, Parquet, JSON lines, Arrow, sketches; a folder; a quoted pattern.")
    ] = None,
    max_distance: Annotated[
        float | None, typer.Option(help="Largest allowed distance from calibration; or use --max-regret.", **SHARE)
    ] = None,
    max_regret: Annotated[
        float | None,
        typer.Option(help="The most per row that acting on the predictions may lose against the best cut.", **SHARE),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(help="With --max-regret: predictions from here on are acted on; default: any threshold.", **SHARE),
    ] = None,
    level: Annotated[float, typer.Option(help="The verdict is wrong with at most this probability.", **SHARE)] = 0.05,
    y_true: Annotated[str | None, typer.Option(help="Column of outcomes, 0 or 1.")] = None,
    y_prob: Annotated[str | None, typer.Option(help="Column of predicted probabilities.")] = None,
    sample_weight: Annotated[str | None, typer.Option(help="Column of weights; needs --max-weight.")] = None,
    groups: Annotated[
        str | None,
        typer.Option(help="Column of patients, accounts, days, ...: each is drawn as a whole; needs --max-weight."),
    ] = None,
    max_weight: Annotated[
        float | None,
        typer.Option(help="The most that one row, or group, can weigh, known before they were drawn."),
    ] = None,
    anytime: Annotated[
        Path | None,
        typer.Option(metavar="STATE", help="Add FILE's rows to those of this state, and stop at any time."),
    ] = None,
    so_far: Annotated[
        bool, typer.Option("--so-far", help="With --anytime, and without FILE: say what STATE proves, and add no rows.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a sentence.")] = False,
    unweighted: Annotated[bool, typer.Option("--unweighted", help="Leave the column of weights out.")] = False,
    trials: Annotated[
        str | None,
        typer.Option(help="Column of numbers of trials; the outcome is the share of events. Needs --max-weight."),
    ] = None,
    by: Annotated[str | None, typer.Option(help="Columns, separated by commas: gate every segment too.")] = None,
    find: Annotated[
        str | None,
        typer.Option(help="Columns, separated by commas, or all: fail if a segment of them is proved beyond."),
    ] = None,
    max_depth: Annotated[int, typer.Option(min=1, max=4, help="With --find: columns that a segment fixes.")] = 2,
    baseline: Annotated[
        str | None, typer.Option(metavar="FILE|SKETCH", help="The last release's file: fail where FILE is worse.")
    ] = None,
    max_worse: Annotated[
        float | None,
        typer.Option(
            help="How much worse than the baseline: 0.02, or a tenth of the rarer outcome's rate if less.", **SHARE
        ),
    ] = None,
    junit: Annotated[Path | None, typer.Option(help="Write the checks here as JUnit XML.")] = None,
    summary: Annotated[Path | None, typer.Option(help="Append the checks to this Markdown file.")] = None,
    pos_label: Annotated[str | None, typer.Option(help="Label of the event, if outcomes are two labels.")] = None,
    exclude_bad: Annotated[bool, typer.Option("--exclude-bad", help=EXCLUDE_BAD)] = False,
    filesystem: Annotated[str | None, typer.Option(help=FILESYSTEM)] = None,
    distinct: Annotated[bool, typer.Option("--distinct", "--again", help=DISTINCT)] = False,
) -> None:
    """Decide, with proof, whether FILE's predictor is within a limit on its population.

    --max-distance limits the lower distance from calibration: what predictions and outcomes alone can prove; the true
    distance, given features, may be larger. For classes the top label is gated, for a log of lm-evaluation-harness the
    most probable choice. --max-regret limits what acting where predictions are at least the --threshold (by default
    the worst threshold) loses per row against the best cut, in payoff of 1 - t for an event that is acted on and t for
    another row that is not.

    Exit code 0: proved within. 1: proved beyond. 3: undecided, with about how many rows would decide. With several
    checks (--by, --find, --baseline) the worst: 1 before 3 before 0. 2: bad input, or output that cannot be written.
    70: an unforeseen failure, lack of memory included. 130: Ctrl-C. A column of weights, or one whose name says that it
    may hold them (weight, w, freq, exposure, ...), needs --max-weight, or --unweighted to leave it out. With --groups
    whole groups are drawn, and --max-weight is the most rows (or weight) that one can have.

    With --anytime STATE the rows of one file after the other are added up in STATE, which the first run creates. You
    may stop as soon as there is a verdict: it is wrong with probability at most the level, however often you look. Each
    FILE must hold new rows: rows that were added before are refused. Of a log that has grown only the rows behind those
    that STATE has are added, which is said. With --so-far, and without FILE, it
    prints what STATE proves so far.

    Rows count once: a file that is there twice, equal contents under two names, a total beside its parts, files that
    share rows and one that holds rows twice are refused; --distinct says that all rows are other ones.

    With --by every segment must be within. With --find no combination of up to --max-depth of the columns may be proved
    beyond by its mean error, all of them together. With --baseline the smooth calibration error may be above the
    baseline's by at most --max-worse: a paired test if both hold the same outcomes in the same order, else a test of
    two samples; above 200,000 rows the proved ends of both.

    --junit has a failure for each check that is beyond, an error for each that is undecided, and one error that says
    why where no verdict is reached. --summary adds the same to
    a Markdown file: --summary "$GITHUB_STEP_SUMMARY".

    For example: calibrant gate predictions.parquet --y-true clicked --y-prob score --max-distance 0.05 --level 0.05
    or: calibrant gate predictions.parquet --max-regret 0.002 --threshold 0.1
    """
    others = (file, anytime, summary, baseline)
    with explained(), no_verdict_told(junit, file or str(anytime), others), Progress() as progress:
        from calibrant.findings.effects import GATE, refuse_idle
        from calibrant.findings.tables import Told
        from calibrant.gate.checks import check_opened, check_state
        from calibrant.gate.table import Asked
        from calibrant.report.gate import EXIT_CODES, add_markdown, write_junit
        from calibrant.report.schema import gate_as_json
        from calibrant.tables.entry import open_table

        asked = None
        if so_far:
            refuse_idle(GATE, given(), ["so far"] if anytime is not None else ["no state"])
        elif file is None:
            ways = "name it; --anytime STATE --so-far says what a state proves, without FILE"
            raise InputError("FILE", "is missing, so that no rows can be checked", allowed=ways)
        else:
            asked = Asked(
                max_distance,
                level,
                y_true,
                y_prob,
                sample_weight,
                max_weight,
                unweighted,
                anytime,
                max_regret=max_regret,
                threshold=threshold,
                trials=trials,
                by=names(by),
                find=names(find),
                max_depth=max_depth,
                baseline=baseline,
                max_worse=max_worse,
                distinct=distinct,
                groups=groups,
                pos_label=pos_label,
                exclude_bad=exclude_bad,
                given=given(),
            )
        opened = None
        if file is not None:
            alone = distinct and anytime is None and baseline is None
            opened = open_table(file, filesystem=filesystem, pos_label=pos_label, distinct=alone, argument="FILE")
            opened.distinct = distinct
        held = [*([] if opened is None else opened.sources), *([] if baseline is None else [baseline])]
        for target, option in ((anytime, "--anytime"), (junit, "--junit"), (summary, "--summary")):
            if target is not None:
                check_target(target, option, held)
                held.append(str(target))
        if opened is not None and asked is not None:
            told = Told(progress, tell, hint=tell) if json else Told(progress, tell)
            decision = check_opened(opened, asked, told)
        else:
            assert anytime is not None
            own = {"level": level if "level" in given() else None, "max_weight": max_weight}
            decision = check_state(anytime, max_distance=max_distance, **own)
        progress.stop()
        if junit is not None:
            write_junit(decision, junit)
        if summary is not None:
            add_markdown(decision, summary)
        show(gate_as_json(decision) if json else decision.summary())
        raise Leave(EXIT_CODES[decision.verdict])


app.command(cls=Once)(sketches.sketch)
app.command(cls=Once)(sketches.merge)


@app.command(cls=Once)
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
        from calibrant.cli.ahead import compile_beside

        compile_beside(progress.compiling)
        from calibrant.cli.demo import comparison

        found = comparison(seed, progress)
        with writing("--folder"):
            found.to_html(target)
        progress.stop()
        show(page(found))
        show(f"Report: {target}")


@app.command(cls=Once)
def reproduce(
    name: Annotated[str | None, typer.Argument(help="Which table or figure; without it, all are listed.")] = None,
    out: Annotated[Path, typer.Option(help="Folder for NAME.md and NAME.svg.")] = Path(),
    data: Annotated[
        Path | None,
        typer.Option(help="Folder of the papers' predictions, if they are needed."),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A small version that takes seconds.")] = False,
) -> None:
    """Compute a paper's table or figure again, beside the paper's own numbers; it needs the package calibrant-papers.

    For example: calibrant reproduce unifying-theory-lemmas --out results
    """
    with explained(), Progress() as progress:
        try:
            from calibrant_papers import registry
        except ModuleNotFoundError as problem:
            if problem.name != "calibrant_papers":
                raise
            said = "computes papers' tables again with the package calibrant-papers, which is not installed"
            raise InputError("reproduce", said, allowed="in a checkout: pip install -e papers") from None

        idle = sorted(given() - {"name"})
        if name is None and idle:
            raise InputError(f"--{idle[0]}", "has no effect without NAME: all names are listed")
        if name is None:
            progress.stop()
            for each, sentence in registry.experiments().items():
                show(f"{each}: {sentence}")
            return
        for option in sorted(given() & registry.idle_of(name)):
            raise InputError(f"--{option}", f"has no effect on {name}")
        progress(name)
        done = registry.reproduce(name, quick=quick, data=data)
        with writing("--out"):
            written = registry.write(name, done, out)
        progress.stop()
        show(f"{done.finding} ({done.seconds:,.1f} s)")
        for path in written:
            show(f"Wrote {path}")
