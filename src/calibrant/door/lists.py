"""Names in one text with commas between them, as the command line takes several."""

from __future__ import annotations

import re

_NAME = re.compile(r'"(?P<quoted>(?:[^"]|"")*)"(?=,|$)|(?P<plain>[^,]*)')


def in_list(text: str) -> tuple[str, ...]:
    """The names; one that holds a comma stands in double quotes, and a quote within them twice, as in CSV.

    >>> in_list('day,"a,b",c'), in_list('5" pipe')
    (('day', 'a,b', 'c'), ('5" pipe',))
    """
    names, at = [], 0
    while at <= len(text):
        match = _NAME.match(text, at)
        assert match is not None  # the second way takes any text
        names.append(match["plain"] if match["quoted"] is None else match["quoted"].replace('""', '"'))
        at = match.end() + 1
    return tuple(names)
