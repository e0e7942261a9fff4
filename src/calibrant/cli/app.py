"""The command line: parses, calls, prints; no arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from calibrant.cli.demo import demo
from calibrant.cli.options import (
    Once,
    OnceTold,
    OneLine,
    check_target,
    check_targets,
    given,
    names,
    no_result_told,
    page,
    takes,
    writing,
)
from calibrant.door.errors import InputError
from calibrant.door.request import AuditRequest, Listener, Request, refuse_idle
from calibrant.exits import Leave, explained, show, tell
from calibrant.gate.catalogue import GATE
from calibrant.gate.request import GateRequest
from calibrant.progress import Progress

if TYPE_CHECKING:
    from calibrant.findings.comparison import Comparison
    from calibrant.findings.matching import Match, Source
    from calibrant.findings.results import Audit
    from calibrant.findings.tables import Audited
    from calibrant.tables.table import Table


_OUT = typer.Option("--out", "-o", help="File to write, ending in .sketch or .parquet.")
_OVERWRITE = typer.Option("--overwrite", help="Replace OUT if it exists.")


@takes(Request)
def sketch(
    file: Annotated[str, typer.Argument(metavar="FILE", help="CSV, Parquet, JSON lines, Arrow; a folder; a pattern.")],
    out: Annotated[Path, _OUT],
    overwrite: Annotated[bool, _OVERWRITE] = False,
    *,
    options: Mapping[str, Any],
) -> None:
    """Write the calibration sketch of FILE's rows: a few megabytes that audit, gate and merge take instead of the rows.

    With --by OUT is Parquet with a row for each day, segment, ...: its columns, n_rows, and sketch, the sketch's bytes.

    For example: calibrant sketch 'logs/day=2026-01-31/*.parquet' --y-true clicked --y-prob score -o 2026-01-31.sketch
    """
    with explained(), Progress() as progress:
        from calibrant.findings.tables import keep_rows
        from calibrant.tables.entry import open_table

        request = Request.from_command(options)
        table = open_table(
            file, filesystem=request.filesystem, pos_label=request.pos_label, distinct=request.distinct, argument="FILE"
        )
        check_target(out, "--out", table.sources)
        with writing("--out"):
            result = keep_rows(table, out, request, Listener(progress, tell), overwrite=overwrite)
        progress.stop()
        show(result.summary(out))


def merge(
    files: Annotated[
        list[str],
        typer.Argument(metavar="SKETCH ...", help="Files that `calibrant sketch` or `merge` wrote; a pattern."),
    ],
    out: Annotated[Path, _OUT],
    by: Annotated[
        str | None, typer.Option(help="Columns, separated by commas: add up the sketches of each of their values.")
    ] = None,
    overwrite: Annotated[bool, _OVERWRITE] = False,
    distinct: Annotated[bool, typer.Option("--distinct", help=Request.options()["distinct"].help)] = False,
) -> None:
    """Add up sketches into one, or with --by into one for each day, segment, ...

    Nothing is written unless every sketch is whole and can be added to the others. A sketch that is there twice, or
    that holds what another holds or the sum of others, is refused: its rows would count twice.

    For example: calibrant merge 'days/*.sketch' -o month.sketch
    """
    with explained(), Progress() as progress:
        from calibrant.door.values import counted
        from calibrant.tables.sketches import keep_merged, open_sketches

        inputs = [open_sketches(file) for file in files]
        check_target(out, "--out", [each for sketches in inputs for each in sketches.files])
        progress("Adding up")
        with writing("--out"):
            result = keep_merged(inputs, out, by=names(by), overwrite=overwrite, distinct=distinct)
        progress.stop()
        if result.unlisted:
            first, more = result.unlisted[0], len(result.unlisted) - 1
            also = f", as {'was' if more == 1 else 'were'} {counted(more, 'other')}" if more else ""
            tell(
                f"{first} was written without the list of what it holds{also}: "
                "rows that it shares with others are seen only where all their sums are equal."
            )
        show(result.summary(out))


MOST_FILES = 8
DRIFT = 1  # the exit code of an audit whose predictions are proved wrong by a period, or changed since the reference


app = typer.Typer(
    cls=OneLine,
    help="How far predicted probabilities are from calibrated, where, and whether the number can be trusted.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _version(show: bool) -> None:
    if show:
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


@app.command("audit", cls=OnceTold)
@takes(AuditRequest, several=["y_prob"])
def audit_file(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE ...", help="CSV, Parquet, JSON lines, Arrow, sketches; a folder; a quoted pattern."
        ),
    ],
    html: Annotated[Path | None, typer.Option(help="Write a self-contained report here.")] = None,
    certificate: Annotated[
        Path | None, typer.Option(help="Write here what proves the distances; check_certificate checks it alone.")
    ] = None,
    items: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="With several FILEs whose outcomes differ: ids of the items that all are about; 'in order' for none.",
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of the page.")] = False,
    everything: Annotated[bool, typer.Option("--all", help="Print the measures, tests and ranges as well.")] = False,
    *,
    options: dict[str, Any],
) -> None:
    """Report how far the predictions in FILE are from calibrated; compare several files, or forecasts.

    Exit code 0: done, with any result. With --drift, 1: predictions are proved wrong by a period; with --reference, a
    change is proved. 2: bad input, or output that cannot be written.

    For example: calibrant audit predictions.parquet --y-true clicked --y-prob score --html report.html
    """
    forecasts = options["y_prob"] or []
    options["y_prob"] = forecasts[0] if len(forecasts) == 1 else None
    several = max(len(files), len(forecasts)) > 1
    title, others = ", ".join(files), (*files, certificate)
    with (
        explained(),
        no_result_told({"--html": html}, title, others, json=json),
        Progress(max(len(files), len(forecasts))) as progress,
    ):
        if everything:
            _refuse_everything(json, several)
        request = AuditRequest.from_command(options, given())  # before anything that takes longer to load
        request = request.of_several if len(files) > 1 else request
        request = replace(request, everything=everything or json or html is not None)
        from calibrant.cli.compilation import compile_beside

        # first, for the process beside this one to begin while the rest is loaded
        compile_beside(progress.compiling, everything=request.everything)
        inputs = _open_files(files, items, request)
        _check_places(html, certificate, inputs, several)
        result, audited = _audit_inputs(files, inputs, forecasts, items, request, progress)
        if certificate is not None:
            progress("Certificate")
            _write_certificate(audited[0], files[0], certificate)
        if html is not None:
            progress("Writing the report")
            with writing("--html"):
                result.to_html(html)
        progress.stop()
        show(result.to_json() if json else page(result, everything=everything))
        _say_places({"Report": html, "Certificate": certificate}, tell if json else show)
        if _proved_wrong([each.audit for each in audited] or getattr(result, "audits", ()), options["reference"]):
            raise Leave(DRIFT)


def _say_places(targets: Mapping[str, Path | None], say: Callable[[str], None]) -> None:
    """Say where what was written lies."""
    for what, target in targets.items():
        if target is not None:
            say(f"{what}: {target}")


def _write_certificate(audited: Audited, file: str, target: Path) -> None:
    """Write the certificate once the file itself confirms it."""
    proof = audited.certificate()
    with writing("--certificate"):
        proof.confirm(file)
        proof.write(target)


def _refuse_everything(json: bool, several: bool) -> None:
    """Refuse --all where it has no effect."""
    if json:
        raise InputError("--all", "has no effect beside --json, which prints everything")
    if several:
        raise InputError("--all", "is of one FILE and one column of predictions: a comparison prints no more")


def _check_places(html: Path | None, certificate: Path | None, inputs: Sequence[Table], several: bool) -> None:
    """Refuse places that cannot be written to, and a certificate of several audits."""
    sources = [each for table in inputs for each in table.sources]
    check_targets({"--html": html, "--certificate": certificate}, sources)
    if certificate is not None and several:
        raise InputError("certificate", "is of one FILE and one column of predictions")


def _open_files(files: Sequence[str], items: str | None, request: AuditRequest) -> list[Table]:
    from calibrant.tables.entry import open_table
    from calibrant.tables.table import take_as_distinct

    if len(files) > MOST_FILES:
        problem = f"is {len(files)} files; up to {MOST_FILES} are set side by side, many as one by a quoted pattern"
        raise InputError("FILE", problem)
    if items is not None and len(files) == 1:
        raise InputError("items", "has no effect on one FILE")
    where = {"filesystem": request.filesystem, "pos_label": request.pos_label}
    inputs = [open_table(file, **where, argument="FILE") for file in files]
    if request.distinct:
        take_as_distinct(inputs, "FILE")
    return inputs


def _audit_inputs(
    files: Sequence[str],
    inputs: Sequence[Table],
    forecasts: Sequence[str],
    items: str | None,
    request: AuditRequest,
    progress: Progress,
) -> tuple[Audit | Comparison, list[Audited]]:
    """The audit of one file, or the comparison of files or forecasts; and the audits of files with their rows."""
    if len(forecasts) > 1:
        from calibrant.findings.tables import audit_forecasts

        if len(files) > 1:
            raise InputError("y_prob", "is given several times", allowed="that compares forecasts of one FILE")
        return audit_forecasts(inputs[0], forecasts, request, Listener(progress, tell)), []
    audited = _audit_files(files, inputs, request, progress)
    if len(files) > 1:
        return _compare_files(files, inputs, audited, items, request, progress), audited
    return audited[0].audit, audited


def _audit_files(
    files: Sequence[str], inputs: Sequence[Table], request: AuditRequest, progress: Progress
) -> list[Audited]:
    """Audit each file; of several a sentence or an error begins with its name."""
    from calibrant.findings.faults import said_of, say_of
    from calibrant.findings.tables import audit_opened

    if len(files) == 1:
        return [audit_opened(inputs[0], request, Listener(progress, tell))]
    audited = []
    for file, table in zip(files, inputs, strict=True):
        with said_of(file):
            audited.append(audit_opened(table, request, Listener(progress, say_of(file, tell))))
    return audited


def _compare_files(
    files: Sequence[str],
    inputs: Sequence[Table],
    audited: Sequence[Audited],
    items: str | None,
    request: AuditRequest,
    progress: Progress,
) -> Comparison:
    """Compare the audits of files by their rows, or by the items that these are about."""
    from calibrant.findings.comparison import compare, refuse_idle_draws, very_same
    from calibrant.findings.matching import Pairing, Source

    progress("Comparison")
    titles = [table.name or file for file, table in zip(files, inputs, strict=True)]
    titles = titles if len(set(titles)) == len(titles) else list(files)
    audits, rows = [each.audit for each in audited], [each.rows for each in audited]
    for problem in very_same(titles, rows):
        tell(problem)
    sources = [Source(table, name, of.columns) for table, name, of in zip(inputs, titles, audits, strict=True)]
    match, unmatched = _match(sources, audited, items, request)
    if match is not None:  # the column of ids was looked at
        audits = [replace(a, not_looked_at=tuple(n for n in a.not_looked_at if n != match.how)) for a in audits]
    pairing = Pairing(match, unmatched, items is not None, any(each.is_log for each in sources))
    drawn: dict[str, Any] = {"level": request.level, "seed": request.random_state}
    result = compare(titles, audits, rows, groups_of=[each.groups for each in audited], pairing=pairing, **drawn)
    refuse_idle_draws(result, given())
    if match is None or result.not_compared is not None:
        return result
    return replace(result, matching=match.sentence(titles))


def _match(
    sources: Sequence[Source], audited: Sequence[Audited], items: str | None, request: AuditRequest
) -> tuple[Match | None, str | None]:
    """Match rows of the same items, where all files are of single rows and none was left out."""
    from calibrant.findings.matching import match_rows

    outcomes = [each.rows[0] for each in audited if each.rows is not None]
    if len(outcomes) < len(audited) or any(each.audit.n_excluded for each in audited):
        return None, None
    return match_rows(sources, outcomes, items, distinct=request.distinct)


def _proved_wrong(audits: Iterable[Audit], reference: str | None) -> bool:
    """Whether a period proves predictions wrong, or a change since the reference."""
    periods = [period for each in audits for period in each.periods]
    readings = [each.reading if reference is None else each.since_reference for each in periods]
    return any(each is not None and each.reject for each in readings)


def _request_to_gate(file: str | None, so_far: bool, options: Mapping[str, Any]) -> GateRequest | None:
    """The request of a gate that reads FILE; None where only a state is read."""
    if so_far:
        modes = ["so far"] if options["anytime"] is not None else ["no state"]
        refuse_idle(GATE, given(), modes, GateRequest.flag)
        return None
    if file is None:
        ways = "name it; --anytime STATE --so-far says what a state proves, without FILE"
        raise InputError("FILE", "is missing, so that no rows can be checked", allowed=ways)
    return GateRequest.from_command(options, given())


def _open_to_gate(file: str, options: Mapping[str, Any]) -> Table:
    """The table of a gate; where all its rows are other ones, that is of the state's and the baseline's rows, too."""
    from calibrant.tables.entry import open_table

    alone = options["distinct"] and options["anytime"] is None and options["baseline"] is None
    where = {name: options[name] for name in ("filesystem", "pos_label")}
    table = open_table(file, **where, distinct=alone, argument="FILE")
    table.distinct = options["distinct"]
    return table


@app.command(cls=OnceTold)
@takes(GateRequest)
def gate(
    file: Annotated[
        str | None, typer.Argument(help="CSV, Parquet, JSON lines, Arrow, sketches; a folder; a quoted pattern.")
    ] = None,
    so_far: Annotated[
        bool, typer.Option("--so-far", help="With --anytime, and without FILE: say what STATE proves, and add no rows.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a sentence.")] = False,
    junit: Annotated[Path | None, typer.Option(help="Write the checks here as JUnit XML.")] = None,
    summary: Annotated[Path | None, typer.Option(help="Append the checks to this Markdown file.")] = None,
    *,
    options: dict[str, Any],
) -> None:
    """Decide, with proof, whether FILE's predictor is within a limit on its population.

    --max-distance limits the lower distance from calibration: what predictions and outcomes alone can prove; the true
    distance, given features, may be larger. For classes the top label is gated, for a log of lm-evaluation-harness the
    most probable choice. --max-regret limits the loss per row of acting on
    predictions of at least the --threshold t, against the best cut. Without --threshold the worst one counts. Payoffs
    are 1 - t for an event that is acted on, and t for another row that is not.

    Exit code 0: proved within. 1: proved beyond. 3: undecided, with about how many rows would decide. With several
    checks (--by, --find, --baseline) the worst: 1 before 3 before 0. 2: bad input, or output that cannot be written.
    70: an unforeseen failure, lack of memory included. 130: Ctrl-C. A column of weights needs --max-weight,
    or --unweighted to leave it out; so does one with such a name (weight, w, freq, exposure, ...). With --groups
    whole groups are drawn, and --max-weight is the most rows (or weight) that one can have.

    With --anytime STATE the rows of one file after the other are added up in STATE, which the first run creates. You
    may stop as soon as there is a verdict: it is wrong with probability at most the level, however often you look. Each
    FILE must hold new rows: rows that were added before are refused. Of a log that has grown its new rows are added,
    and the command says so. With --so-far, and without FILE, it
    prints what STATE proves so far.

    Rows count once. Refused are a file that is there twice, equal contents under two names, and a total beside its
    parts. So are files that share rows, and one that holds rows twice. --distinct says that all rows are other ones.

    With --by every segment must be within. With --find no combination of up to --max-depth of the columns may be proved
    beyond by its mean error, all of them together. With --baseline the smooth calibration error may be above the
    baseline's by at most --max-worse. Rows with the same outcomes in the same order are paired, others are two samples.
    Above 200,000 rows the proved ends of both are compared.

    --junit has a failure for each check that is beyond, and an error for each that is undecided. Without a verdict it
    has one error that says why. --summary adds the same to a Markdown file: --summary "$GITHUB_STEP_SUMMARY".

    For example: calibrant gate predictions.parquet --y-true clicked --y-prob score --max-distance 0.05 --level 0.05
    or: calibrant gate predictions.parquet --max-regret 0.002 --threshold 0.1
    """
    anytime, baseline = options["anytime"], options["baseline"]
    others, targets = (file, anytime, baseline), {"--junit": junit, "--summary": summary}
    with explained(), no_result_told(targets, file or str(anytime), others, json=json), Progress() as progress:
        from calibrant.gate.checks import check_opened, check_state
        from calibrant.report.gate import EXIT_CODES, add_markdown, write_junit
        from calibrant.report.schema import gate_as_json

        request = _request_to_gate(file, so_far, options)
        table = None if file is None else _open_to_gate(file, options)
        sources = [*([] if table is None else table.sources), *([] if baseline is None else [baseline])]
        check_targets({"--anytime": anytime, "--junit": junit, "--summary": summary}, sources)
        if table is not None and request is not None:
            listener = Listener(progress, tell, hint=tell) if json else Listener(progress, tell)
            decision = check_opened(table, request, listener)
        else:
            assert anytime is not None
            own = {"level": options["level"] if "level" in given() else None, "max_weight": options["max_weight"]}
            decision = check_state(anytime, max_distance=options["max_distance"], **own)
        progress.stop()
        if junit is not None:
            write_junit(decision, junit)
        if summary is not None:
            add_markdown(decision, summary)
        show(gate_as_json(decision) if json else decision.summary())
        raise Leave(EXIT_CODES[decision.verdict])


app.command(cls=Once)(sketch)
app.command(cls=Once)(merge)
app.command(cls=Once)(demo)


@app.command(cls=Once)
def reproduce(
    name: Annotated[str | None, typer.Argument(help="Which table or figure; without it, all are listed.")] = None,
    out: Annotated[Path, typer.Option(help="Folder for NAME.md and NAME.svg.")] = Path(),
    data: Annotated[Path | None, typer.Option(help="Folder of the papers' predictions, if they are needed.")] = None,
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
            missing = "computes papers' tables again with the package calibrant-papers, which is not installed"
            raise InputError("reproduce", missing, allowed="in a checkout: pip install -e papers") from None

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
        pages = registry.reproduce(name, quick=quick, data=data)
        with writing("--out"):
            written = registry.write(name, pages, out)
        progress.stop()
        show(f"{pages.finding} ({pages.seconds:,.1f} s)")
        for path in written:
            show(f"Wrote {path}")
