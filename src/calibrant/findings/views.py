"""How findings are shown: the one place that looks up, to the views in `report/`, by name and only when asked."""

from __future__ import annotations

import json
import os
from typing import Any

from calibrant.door.output import write_whole_bytes
from calibrant.door.values import Result
from calibrant.lazily import MissingLibraryError, above


def view(module: str, name: str) -> Any:
    """A function of a module of `report/`, which reads findings and computes nothing."""
    return getattr(above(f"report.{module}"), name)


class Finding(Result):
    """Ways in which every finding shows itself."""

    def __str__(self) -> str:
        """The answer in about ten lines; `summary` is the whole page."""
        return str(view("text", "short")(self))

    def _repr_html_(self) -> str | None:
        """Page of a notebook: the first screen, sentences and picture; None without matplotlib."""
        try:
            return str(view("notebook", "cell")(self))
        except MissingLibraryError:
            return None

    def summary(self) -> str:
        """Return it as a page of plain text, at most 80 columns wide."""
        return str(view("text", "page")(self))

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain dicts, lists, numbers and words, with the version of their layout."""
        return dict(view("schema", "as_dict")(self))

    def to_json(self) -> str:
        """Return `to_dict` as JSON."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)

    def to_html(self, path: str | os.PathLike[str]) -> None:
        """Write a self-contained HTML report, whole or not at all.

        Raises FileError if the file cannot be written; an old file stays as it was.
        """
        # The file is opened before anything is drawn, which takes seconds.
        write_whole_bytes(path, lambda file: file.write(view("html", "document")(self).encode()))
