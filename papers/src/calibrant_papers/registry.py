"""What can be reproduced: name, what it is, and the function that runs it."""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import IO, TYPE_CHECKING

from calibrant.door.errors import FileError, InputError
from calibrant.door.output import write_whole_bytes
from calibrant_papers.processors import processors

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
    "nearly-linear-time-table-2": ("postprocessing", "table_2", "smooth error of networks after recalibration"),
    "nearly-linear-time-figure-3": ("nearly_linear_time", "figure_3", "three measures against sample size"),
    "nearly-linear-time-table-3": ("nearly_linear_time", "table_3", "seconds for the smooth error"),
    "nearly-linear-time-lemma-13": ("nearly_linear_time", "lemma_13", "smooth error against lower distance"),
    "nearly-linear-time-theorems-5-and-6": ("sample_complexity", "theorems_5_and_6", "rows that two errors need"),
    "hardness-subset-sum": ("hardness", "subset_sum", "distances that decide subset sums"),
    "hardness-one-sided-convergence": ("hardness", "one_sided", "empirical distance, above and below the true one"),
    "hardness-birthday": ("hardness", "birthday", "domains that no small sample can distinguish"),
    "open-ratios": ("open_ratios", "open_ratios", "small laws that come near to constants that are open; minutes"),
    "advice": ("advised", "advice", "which recalibration is chosen, and how often a calibrated predictor is changed"),
    "gain-coverage": ("gain_coverage", "gain_coverage", "how often a map's true gain is outside its interval; minutes"),
    "certified-gains": (
        "certified_gains",
        "certified_gains",
        "rows that a proved gain takes, of one probability and of classes; minutes",
    ),
    "type-one-errors": ("type_one", "type_one_errors", "false rejections of every test but T-Cal's; half an hour"),
    "type-one-errors-corners": (
        "type_one",
        "type_one_errors_in_corners",
        "the same where predictions are rare or certain; minutes",
    ),
    "measures-compared": (
        "measures_compared",
        "measures_compared",
        "value for calibrated predictions, continuity and cost",
    ),
    "power": ("error_rates", "power", "how often each test rejects, against three kinds of departure"),
    "test-power": (
        "calibration_power",
        "power",
        "how often calibration_test and other tests reject; a quarter of an hour",
    ),
    "test-levels": ("calibration_levels", "levels", "how often calibration_test rejects calibrated predictions"),
    "weighted-levels": (
        "weighted_levels",
        "weighted_levels",
        "how often calibrated rows are rejected that were sampled by outcome, weighted or censored; an hour",
    ),
    "interval-coverage": ("error_rates", "interval_coverage", "how often every bound and band holds; ten minutes"),
    "population-bounds": (
        "population",
        "population_intervals",
        "coverage, widths and rows needed of the population's bounds; minutes",
    ),
    "anytime-gate": ("anytime", "anytime_gate", "false verdicts of CalibrationGate, and the rows it needs; minutes"),
    "weighted-sketches": (
        "weighted_sketches",
        "weighted_sketches",
        "CalibrationGate, sketches and their test, with weights over 1,000 times; minutes",
    ),
    "changed-meaning": (
        "changed_meaning",
        "changed_meaning",
        "alarms of drift beside a reference, without and with a change; minutes",
    ),
    "unlike-groups": ("unlike_groups", "unlike_groups", "levels by groups that are few, rare, huge or unlike; minutes"),
    "known-rows": (
        "known_rows",
        "known_rows",
        "few groups, the same items with other outcomes, and gates of sampled, censored and grouped rows; minutes",
    ),
    "row-origins": (
        "row_origins",
        "row_origins",
        "panels, differences and gates of sampled, weighted, censored and grouped rows; minutes",
    ),
    "first-screen": (
        "first_screen",
        "first_screen",
        "curve, band, direction and examples of the first screen; minutes",
    ),
    "segments": ("segment_rates", "segment_rates", "power, false discoveries and intervals of segments; minutes"),
    "segment-repair": (
        "segment_repair",
        "segment_repair",
        "repair by segment beside MCGrad and Platt scaling, on held-out rows; minutes",
    ),
    "found-segments": ("segment_search_rates", "found_segments", "false alarms and power of found segments; minutes"),
    "found-in-groups": ("segment_groups", "found_in_groups", "the same for rows in groups; minutes"),
    "found-in-sums": ("segment_sums", "found_in_sums", "the same for tables too large to be read; minutes"),
    "gate-find": ("gate_find", "gate_find", "false verdicts and power of the gate's search for segments; minutes"),
    "planted-fault": ("planted_fault", "planted_fault", "one planted fault: who finds it, and who repairs it"),
    "truthfulness": ("truthfulness", "truthfulness", "reports that look better calibrated than the truth; minutes"),
    "few-surprises": ("few_surprises", "few_surprises", "coverage of resampled intervals just above their minimum"),
    "clinical-coverage": (
        "clinical_coverage",
        "clinical_coverage",
        "coverage of the clinical panel's intervals, rare events and 200 rows included; minutes",
    ),
    "regret-gate": ("regret_gate", "regret_gate", "false verdicts of the gate on regret; minutes"),
    "comparison-coverage": ("comparisons", "comparison_coverage", "how often differences are covered; minutes"),
    "real-predictions": ("verdicts", "real_predictions", "what audit and gate say of the papers' predictions"),
    "tcal-table-1": ("tcal", "table_1", "verdicts and errors of CIFAR-10 networks, recalibrated six ways"),
    "tcal-table-2": ("tcal", "table_2", "the same of CIFAR-100 networks"),
    "tcal-table-3": ("tcal", "table_3", "the same of ImageNet networks"),
    "tcal-figure-2": ("tcal", "figure_2", "why the statistic is debiased"),
    "tcal-figures-3-and-4": ("tcal", "figures_3_and_4", "power against the oscillating family, of three statistics"),
    "tcal-figure-5": ("tcal", "figure_5", "smallest detected error against sample size"),
    "tcal-theorem-3": ("tcal", "theorem_3", "smallest detected error in norms below 2; minutes"),
    "tcal-figure-6": ("tcal_diagrams", "figure_6", "reliability of a network, recalibrated three ways"),
    "tcal-figures-7-and-10": ("tcal", "figures_7_and_10", "sample splitting and cross-fitting"),
    "tcal-figure-8": ("tcal", "figure_8", "the statistic as an estimate"),
    "tcal-figure-9": ("tcal", "figure_9", "two ways of resampling"),
    "verified-deviation": ("squared_error", "deviation", "how near both estimators come to the squared error"),
    "verified-brier": ("squared_error", "brier", "what 10 to 100 bins cost and certify"),
    "type-one-errors-tcal": (
        "type_one",
        "type_one_errors_tcal",
        "false rejections of T-Cal and its relatives; an hour",
    ),
}
_NETWORKS = "github.com/dh7401/T-Cal, experiments/data"
_TEN_CLASSES = "github.com/p-lambda/verified_calibration, data/cifar_probs.dat"
_PUBLISHED = {
    **dict.fromkeys(("tcal-table-1", "tcal-table-2", "tcal-table-3", "tcal-figure-6", "first-screen"), _NETWORKS),
    **dict.fromkeys(("verified-deviation", "verified-brier"), _TEN_CLASSES),
    "nearly-linear-time-table-2": f"{_NETWORKS}, and {_TEN_CLASSES}",
    "real-predictions": f"{_NETWORKS}; precip_niamey_2016 comes with R's reliabilitydiag",
}
"""Who published the predictions that an experiment takes; the others draw their own."""
_BUNDLED = {"segment-repair": "breast_cancer comes with scikit-learn, fair and anes96 with statsmodels"}
"""What comes with a library that the experiment takes it from."""
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
    run = _run_of(name)
    start = time.perf_counter()
    return replace(run(quick, data), seconds=time.perf_counter() - start)


def idle_of(name: str) -> set[str]:
    """Which of `quick` and `data` an experiment has no use for: those of its parameters that begin with an underscore."""
    return {each[1:] for each in signature(_run_of(name)).parameters if each.startswith("_")}


def _run_of(name: str) -> Run:
    if name not in _HOME:
        raise InputError("name", f"is {name!r:.60}; see experiments() or `calibrant reproduce` for the names")
    module, function, _ = _HOME[name]
    run: Run = getattr(import_module(f"calibrant_papers.{module}"), function)
    return run


def needed(data: Path | None) -> Path:
    """Return the folder of real predictions, or say that it is needed."""
    if data is None:
        raise InputError("data", _NO_FOLDER)
    return data


def needs_data(name: str) -> bool:
    """Whether an experiment takes predictions that somebody published."""
    return name in _PUBLISHED


def data_of(name: str) -> str:
    """Where an experiment's data come from, as its page says."""
    if name in _BUNDLED:
        return f"Data: {_BUNDLED[name]}; the rest is drawn by the command, from seeds of its own."
    if not needs_data(name):
        return "Data: drawn by the command, from seeds of its own."
    return f"Data: predictions that their authors published ({_PUBLISHED[name]}), in FOLDER, as they are or as Parquet."


def page(name: str, done: Reproduction) -> str:
    """What is written: title, finding, tables, picture, data, and last the command with the seconds that it took."""
    lines = [f"# {done.title}", "", f"**{done.finding}**", "", done.body.strip(), ""]
    if done.figure is not None:
        lines += [f"![{done.title}]({name}.svg)", ""]
    cores = processors()
    command = f"calibrant reproduce {name}" + " --data FOLDER" * needs_data(name)
    lines += [data_of(name), ""]
    lines += [f"`{command}`; {done.seconds:,.0f} s on {cores} processor{'s' * (cores > 1)}.", ""]
    return "\n".join(lines)


def write(name: str, done: Reproduction, folder: Path) -> list[Path]:
    """Write NAME.md, and NAME.svg where there is a figure, each whole or not at all; the paths written.

    Raises
    ------
    FileError
        If the folder cannot be written to; an old file stays as it was.
    """
    import matplotlib as mpl

    made = {folder / f"{name}.md": page(name, done).encode()}
    if done.figure is not None:
        drawn = io.BytesIO()
        with mpl.rc_context({"svg.hashsalt": name}):
            done.figure.savefig(drawn, format="svg", metadata={"Date": None})
        made[folder / f"{name}.svg"] = drawn.getvalue()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, content in made.items():
            write_whole_bytes(path, partial(_put, content))
    except OSError as problem:
        raise FileError("out", f"{str(folder)!r} cannot be written to: {problem.strerror or problem}") from None
    except FileError as problem:
        raise FileError("out", problem.problem) from None
    return list(made)


def _put(content: bytes, file: IO[bytes]) -> None:
    file.write(content)


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Rows as a Markdown table; numbers with four significant digits."""
    lines = ["| " + " | ".join(head) + " |", "| " + " | ".join("---" for _ in head) + " |"]
    lines += ["| " + " | ".join(_cell(value) for value in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def _cell(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
