"""What can be reproduced: name, what it is, and the function that runs it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from calibrant.door.errors import FileError, InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class Reproduction:
    """One table or figure of a paper, computed again.

    Attributes
    ----------
    title, finding : str
        What it is, and what it showed, in a sentence.
    body : str
        Tables beside the paper's numbers and notes, as Markdown.
    figure : matplotlib Figure or None
        The picture, where there is one.
    seconds : float
        How long it took.
    """

    title: str
    finding: str
    body: str
    figure: Figure | None = None
    seconds: float = 0.0


Run = Callable[[bool, Path | None], Reproduction]
"""Takes `quick`, for a small version that ends within seconds, and the folder of real predictions."""

_HOME = {
    "unifying-theory-figure-2": ("unifying_theory", "figure_2", "six measures against temperature"),
    "unifying-theory-lemmas": ("unifying_theory", "lemmas", "the examples of Lemmas 4.5, 6.8 and 6.9, exactly"),
    "nearly-linear-time-table-1": ("nearly_linear_time", "table_1", "what a tester can tell apart, by sample size"),
    "nearly-linear-time-figure-3": ("nearly_linear_time", "figure_3", "three measures against sample size"),
    "nearly-linear-time-table-3": ("nearly_linear_time", "table_3", "seconds for the smooth error"),
    "nearly-linear-time-lemma-13": ("nearly_linear_time", "lemma_13", "smooth error against lower distance"),
    "nearly-linear-time-theorems-5-and-6": ("sample_complexity", "theorems_5_and_6", "rows that two errors need"),
    "hardness-subset-sum": ("hardness", "subset_sum", "distances that decide subset sums"),
    "hardness-one-sided-convergence": ("hardness", "one_sided", "empirical distance, above and below the true one"),
    "hardness-birthday": ("hardness", "birthday", "domains that no small sample tells apart"),
    "type-one-errors": ("type_one", "type_one_errors", "false rejections of every test but T-Cal's; half an hour"),
    "type-one-errors-corners": (
        "type_one",
        "type_one_errors_in_corners",
        "the same where predictions are rare or certain",
    ),
    "measures-compared": ("measures_compared", "measures_compared", "value without fault, continuity and cost"),
    "power": ("error_rates", "power", "how often each test rejects, against three kinds of departure"),
    "interval-coverage": ("error_rates", "interval_coverage", "how often every bound and band holds; ten minutes"),
    "few-surprises": ("few_surprises", "few_surprises", "coverage of resampled intervals just above their minimum"),
    "comparison-coverage": ("comparisons", "comparison_coverage", "how often differences are covered; half an hour"),
    "real-predictions": ("verdicts", "real_predictions", "what audit and gate say of the papers' predictions"),
    "tcal-table-1": ("tcal", "table_1", "verdicts and errors of CIFAR-10 networks, recalibrated six ways"),
    "tcal-table-2": ("tcal", "table_2", "the same of CIFAR-100 networks"),
    "tcal-table-3": ("tcal", "table_3", "the same of ImageNet networks"),
    "tcal-figure-2": ("tcal", "figure_2", "why the statistic is debiased"),
    "tcal-figures-3-and-4": ("tcal", "figures_3_and_4", "power against the oscillating family, beside the rivals"),
    "tcal-figure-5": ("tcal", "figure_5", "smallest detected error against sample size"),
    "tcal-figures-7-and-10": ("tcal", "figures_7_and_10", "sample splitting and cross-fitting"),
    "tcal-figure-8": ("tcal", "figure_8", "the statistic as an estimate"),
    "tcal-figure-9": ("tcal", "figure_9", "two ways of resampling"),
    "verified-deviation": ("verified", "deviation", "how near both estimators come to the squared error"),
    "verified-brier": ("verified", "brier", "what 10 to 100 bins cost and certify"),
    "verified-postprocessing": ("verified", "postprocessing", "smooth error of networks after recalibration"),
    "type-one-errors-tcal": ("type_one", "type_one_errors_tcal", "the same of T-Cal and its relatives; an hour"),
}
_NO_FOLDER = "is needed here: the folder that holds the papers' predictions"


def experiments() -> dict[str, str]:
    """Name of every experiment, with what it is."""
    return {name: sentence for name, (_, _, sentence) in _HOME.items()}


def reproduce(name: str, *, quick: bool = False, data: Path | None = None) -> Reproduction:
    """Run one experiment; `data` is the folder of real predictions, for those that take them.

    Raises
    ------
    InputError
        If there is none of that name, or it needs a folder.
    """
    if name not in _HOME:
        raise InputError("name", f"is {name!r:.60}; see experiments() or `calibrant reproduce` for the names")
    module, function, _ = _HOME[name]
    found = getattr(import_module(f"calibrant.experiments.{module}"), function)
    run: Run = _from_text(name, found) if module == "tcal" else found
    start = time.perf_counter()
    return replace(run(quick, data), seconds=time.perf_counter() - start)


def _from_text(name: str, function: Callable[..., str]) -> Run:
    """Wrap a function that returns its whole text, and takes the folder if it reads networks' predictions."""

    def run(_quick: bool, data: Path | None) -> Reproduction:
        text = function(needed(data)) if "table" in name else function()
        title, _, body = text.partition("\n")
        return Reproduction(title.lstrip("# "), "", body)

    return run


def needed(data: Path | None) -> Path:
    """Return the folder of real predictions, or say that it is needed."""
    if data is None:
        raise InputError("data", _NO_FOLDER)
    return data


def page(name: str, done: Reproduction) -> str:
    """What is written: title, finding, tables, picture, and the command with the seconds that it took, the last line."""
    lines = [f"# {done.title}", "", *([f"**{done.finding}**", ""] if done.finding else []), done.body.strip(), ""]
    if done.figure is not None:
        lines += [f"![{done.title}]({name}.svg)", ""]
    cores = os.cpu_count() or 1
    lines += [f"`calibrant reproduce {name}`; {done.seconds:,.0f} s on {cores} processor{'s' * (cores > 1)}.", ""]
    return "\n".join(lines)


def write(name: str, done: Reproduction, folder: Path) -> list[Path]:
    """Write NAME.md, and NAME.svg where there is a figure; the paths written.

    Raises
    ------
    FileError
        If the folder cannot be written to.
    """
    import matplotlib as mpl

    picture = folder / f"{name}.svg"
    text = folder / f"{name}.md"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        text.write_text(page(name, done))
        if done.figure is None:
            return [text]
        with mpl.rc_context({"svg.hashsalt": name}):
            done.figure.savefig(picture, metadata={"Date": None})
    except OSError as error:
        raise FileError(str(folder), f"cannot be written to ({error.strerror})") from None
    return [text, picture]


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Rows as a Markdown table; numbers with four significant digits."""
    lines = ["| " + " | ".join(head) + " |", "| " + " | ".join("---" for _ in head) + " |"]
    lines += ["| " + " | ".join(_cell(value) for value in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def _cell(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
