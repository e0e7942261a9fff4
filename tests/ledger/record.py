"""The record: a line for each entry, as what differs from the entry that it is most like; written and compared.

``python -m tests.ledger.record`` adds the entries of calls that are new, and leaves the others as they are.
"""

from __future__ import annotations

import json
import os
import platform
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

from tests.ledger import inputs
from tests.ledger.calls import calls
from tests.ledger.values import Plain, alike, flat

STORED = Path(__file__).parent / "record.json"
LIBRARIES = ("numpy", "scipy", "numba", "scikit-learn", "duckdb", "pyarrow", "narwhals", "pandas", "polars", "typer")


def environment() -> dict[str, str]:
    """What the last bits depend on: the libraries' versions, and the kind of the processor."""
    import numpy  # noqa: F401  # its matrix library is loaded with it
    from llvmlite.binding import get_host_cpu_name
    from threadpoolctl import threadpool_info

    cores = sorted({str(each.get("architecture")) for each in threadpool_info() if each["user_api"] == "blas"})
    processor = f"{platform.machine()} {get_host_cpu_name()}, BLAS for {', '.join(cores)}"
    return {"python": platform.python_version(), **{each: version(each) for each in LIBRARIES}, "processor": processor}


@contextmanager
def prepared() -> Iterator[None]:
    """A folder of its own with the rows as files; there alone are calls made."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        os.chdir(folder)
        try:
            inputs.write_files()
            yield
        finally:
            os.chdir(before)


def entries(wanted: Callable[[str], bool] = lambda _: True) -> dict[str, Plain]:
    """What every call gives, by its name."""
    with prepared():
        return {name: call() for name, call in calls().items() if wanted(name)}


def models(name: str, before: Iterable[str]) -> list[str]:
    """Entries that another may be told by: the first of the same call, and those of the same call and kind."""
    call, *kind = name.split(" / ")
    same = [each for each in before if each.split(" / ")[0] == call]
    return [*same[:1], *(each for each in same[1:] if kind and each.split(" / ")[1] == kind[0])]


def difference(before: Plain, now: Plain) -> Plain:
    """What turns one value into another: new values under "=", parts that are gone as "-"."""
    if isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        before, now = (dict(zip(map(str, range(len(each))), each, strict=True)) for each in (before, now))
    if not (isinstance(before, dict) and isinstance(now, dict)):
        return {"=": now} if isinstance(now, dict | list) else now
    changed = {key: difference(before[key], now[key]) for key in now if key in before and before[key] != now[key]}
    return {
        **changed,
        **{key: {"=": now[key]} for key in now if key not in before},
        **{k: "-" for k in before if k not in now},
    }


def applied(before: Plain, change: Plain) -> Plain:
    """The value that `difference` was made of."""
    if not isinstance(change, dict):
        return change
    if "=" in change:
        return change["="]
    if isinstance(before, list):
        return [applied(each, change[str(i)]) if str(i) in change else each for i, each in enumerate(before)]
    held = {key: applied(each, change[key]) if key in change else each for key, each in before.items()}
    held = {key: each for key, each in held.items() if change.get(key) != "-"}
    return held | {key: each["="] for key, each in change.items() if key not in before}


def write(found: dict[str, Plain], made: dict[str, str] | None = None) -> None:
    """Write the record anew: a line for each entry."""
    lines = [f'"environment": {json.dumps(made or environment())}']
    before: list[str] = []
    for name, value in found.items():
        tellings = [
            {"is": value},
            *({"like": each, "but": difference(found[each], value)} for each in models(name, before)),
        ]
        lines.append(min((f"{json.dumps(name)}: {_compact(each)}" for each in tellings), key=len))
        before.append(name)
    STORED.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def _compact(value: Plain) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def stored() -> tuple[dict[str, str], dict[str, Plain]]:
    """Where the record was made, and its entries."""
    held = json.loads(STORED.read_text())
    made = held.pop("environment")
    found: dict[str, Plain] = {}
    for name, told in held.items():
        found[name] = told["is"] if "is" in told else applied(found[told["like"]], told["but"])
    return made, found


def _summed_in_any_order(name: str, path: str) -> bool:
    """Whether threads of DuckDB add up what is in a leaf, in the order in which they come to it."""
    return name.startswith("audit_table / ") and ("/segments/" in path or path == "/to_dict()/sha256")


def changes(before: dict[str, Plain], now: dict[str, Plain], *, exact: bool, words: bool = True) -> list[str]:
    """A line for each leaf that differs, old and new; to the last bit, or up to how another processor rounds."""
    lines = []
    for name in {**before, **now}:
        if name not in before or name not in now:
            lines.append(f"{name}: {'is new' if name in now else 'is gone'}")
            continue
        old, new = flat(before[name]), flat(now[name])
        for path in {**old, **new}:
            a, b = old.get(path, "nothing"), new.get(path, "nothing")
            to_the_bit = exact and not _summed_in_any_order(name, path)
            if a != b and (to_the_bit or not (path.endswith("/sha256") or alike(a, b, words=words))):
                lines.append(f"{name} {path}: {a!r} -> {b!r}")
    return lines


if __name__ == "__main__":
    made, before = stored()
    write(before | entries(lambda name: name not in before), made)
