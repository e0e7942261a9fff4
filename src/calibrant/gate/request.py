"""A request for a gate of a table, and the premises of a state's rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

from calibrant.door.errors import InputError
from calibrant.door.request import CalibrationRequest, option
from calibrant.gate.catalogue import GATE

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class GateRequest(CalibrationRequest):
    """A request for a gate of a table."""

    effects = GATE
    differs: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "y_true": {"help": "Column of outcomes, 0 or 1."},
        "sample_weight": {"help": "Column of weights; needs --max-weight."},
        "by": {"help": "Columns, separated by commas: gate every segment too.", "json": "checks"},
        "distinct": {"flags": ("--distinct", "--again")},
        "trials": {"help": "Column of numbers of trials; the outcome is the share of events. Needs --max-weight."},
        "groups": {"help": "Column of patients, accounts, days, ...: each is drawn as a whole; needs --max-weight."},
        "max_weight": {"help": "The most that one row, or group, can weigh, known before they were drawn."},
        "max_distance": {
            "help": "Largest allowed distance from calibration: 0.02, or a tenth of the rarer outcome's rate if less."
        },
        "threshold": {"help": "With --max-regret: predictions from here on are acted on; default: any threshold."},
        "level": {"help": "The verdict is wrong with at most this probability."},
        "find": {
            "help": "Columns, separated by commas, or all: fail if a segment of them is proved beyond.",
            "json": "checks",
        },
        "max_depth": {"json": "checks"},
    }

    max_regret: float | None = option(
        None,
        "share",
        "The most per row that acting on the predictions may lose against the best cut.",
        "premises.max_regret",
    )
    baseline: str | None = option(
        None, "text", "The last release's file: fail where FILE is worse.", "premises.baseline", metavar="FILE|SKETCH"
    )
    max_worse: float | None = option(
        None,
        "share",
        "How much worse than the baseline: 0.02, or a tenth of the rarer outcome's rate if less.",
        "premises.max_worse",
    )
    items: str | None = option(
        None,
        "text",
        "With --baseline: column of ids of the items that both are about; 'in order' for none.",
        "premises.matching",
        metavar="COLUMN",
    )
    anytime: Path | None = option(
        None,
        "path",
        "Add FILE's rows to those of this state, and stop at any time.",
        "premises.anytime",
        metavar="STATE",
    )

    def __post_init__(self) -> None:
        """Refuse, before anything is read, what can be no gate."""
        if self.max_distance is not None and self.max_regret is not None:
            ways = "the largest distance from calibration, or the most that acting may lose"
            raise InputError("max_distance", "is given beside --max-regret", allowed=f"one of the two: {ways}")
        super().__post_init__()
        self.refuse(*self.modes)

    @property
    def modes(self) -> tuple[str, ...]:
        """Names of the modes that apply to a table of any kind."""
        on = {
            "state without a limit": self.anytime is not None and self.max_distance is self.max_regret is None,
            "distance": self.max_regret is None,
            "regret": self.max_regret is not None,
            "no state": self.anytime is None,
            "state": self.anytime is not None,
            "baseline": bool(self.baseline),
            "no baseline": not self.baseline,
            "no search": not self.find,
            "too deep": self.too_deep,
            "segments": bool(self.by or self.find),
            "trials": self.trials is not None,
            "horizon": self.horizon is not None,
            "horizon of rows": self.horizon is not None and self.groups is None,
            "no horizon": self.horizon is None,
            "fractions": self.sampling_fractions is not None and self.groups is None,
        }
        return tuple(mode for mode, applies in on.items() if applies)

    @property
    def single_rows(self) -> tuple[str, ...]:
        """Names of the modes that apply where no row has a weight, which of sketches is known when they are read."""
        segments = bool(self.by or self.find) and self.groups is self.sample_weight is None
        on = {"segments of single rows": segments, "baseline of single rows": bool(self.baseline)}
        return tuple(mode for mode, applies in on.items() if applies)

    @property
    def _bound_of_groups(self) -> str:
        """The option that groups need besides: a gate proves nothing without it."""
        alone = self.sample_weight is None and self.sampling_fractions is None and self.horizon is None
        most = (
            "most outcomes that one has"
            if self.trials
            else "most rows that one has"
            if alone
            else "most that one weighs"
        )
        return f" --max-weight N, the {most}"

    @property
    def weighted(self) -> bool:
        """Whether weights, trials or groups are to be used."""
        own = self.sample_weight, self.max_weight, self.trials, self.groups, self.sampling_fractions, self.horizon
        return any(each is not None for each in own)


@dataclass(frozen=True, slots=True)
class Provenance:
    """Provenance of rows, of one file or of all that a state holds."""

    columns: Mapping[str, str] = field(default_factory=dict)  # argument -> column
    # unweighted, exclude_bad, distinct: whether columns of weights, or bad rows, were to be left out, and sources taken
    # as distinct rows, of any file
    unweighted: bool = False
    exclude_bad: bool = False
    distinct: bool = False
    pos_label: str | None = None  # label of the event
    perhaps_groups: str | None = None  # a column whose name says that its rows may belong together
    complete: bool = True  # whether all that was left out is known: not of a sketch, nor of states before layout 4

    def changes(self, later: Provenance) -> Iterator[tuple[str, str, str]]:
        """Argument, what it was, and what it is in a later file, of each that may not change."""
        for argument, name in self.columns.items():
            if later.columns.get(argument, name) != name:
                yield argument, f"column {name!r}", f"column {later.columns[argument]!r}"
        if None not in (self.pos_label, later.pos_label) and self.pos_label != later.pos_label:
            yield "pos_label", repr(self.pos_label), repr(later.pos_label)

    def joined(self, later: Provenance) -> Provenance:
        """Of both together."""
        return replace(
            self,
            columns={**self.columns, **later.columns},
            unweighted=self.unweighted or later.unweighted,
            exclude_bad=self.exclude_bad or later.exclude_bad,
            distinct=self.distinct or later.distinct,
            pos_label=self.pos_label if later.pos_label is None else later.pos_label,
            perhaps_groups=self.perhaps_groups or later.perhaps_groups,
            complete=self.complete and later.complete,
        )

    def to_dict(self) -> dict[str, Any]:
        """As JSON, and as the premises have it."""
        return {**asdict(self), "columns": dict(self.columns)}

    @classmethod
    def from_dict(cls, entries: Mapping[str, Any]) -> Provenance:
        """From JSON; raises ValueError or TypeError for anything else."""
        provenance = cls(**entries)
        flags = (provenance.unweighted, provenance.exclude_bad, provenance.distinct, provenance.complete)
        texts = (*provenance.columns, *provenance.columns.values())
        perhaps = (provenance.pos_label, provenance.perhaps_groups)
        if not (
            all(type(each) is bool for each in flags)
            and all(isinstance(each, str) for each in texts)
            and all(isinstance(each, str | None) for each in perhaps)
        ):
            raise ValueError("its rows were read in no way that rows are read")
        return provenance
