"""Provenance of a state's rows: its premises on any later day, which no later file may change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any


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
