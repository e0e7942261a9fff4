"""What several commands take: shares, names with commas between, and what such options are told as."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from decimal import Decimal
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from calibrant.cli.terminal import tell_junit
from calibrant.door.lists import in_list
from calibrant.exits import BAD_INPUT, tell

EXCLUDE_BAD = "Leave out rows with nulls, NaN, text or numbers out of range."
DISTINCT = "Count all rows as other ones, whatever they hold; the same file twice is refused all the same."
FILESYSTEM = "Where FILE lies: an address such as s3://bucket, or s3, gcs; by default on this machine."


def _share(text: str) -> float:
    """A number as an option takes it: 0.05 or 5%; a decimal comma is refused with the spelling."""
    said = str(text).strip()
    try:
        return float(Decimal(said[:-1].strip()) / 100) if said.endswith("%") else float(said)
    except (ValueError, ArithmeticError):
        if "," in said:
            raise typer.BadParameter(f"{said!r} has a comma; write {said.replace(',', '.')}") from None
        raise typer.BadParameter(f"{said!r} is not a number; write it like 0.05 or 5%") from None


SHARE: dict[str, Any] = {"parser": _share, "metavar": "SHARE"}
"""Of options that take a number from 0 to 1, or a percentage."""


def names(listed: str | None) -> tuple[str, ...]:
    """Columns that were listed."""
    return () if listed is None else in_list(listed)


_ARGUMENTS = {"resamples": "n_resamples", "seed": "random_state"}
"""What an option is called in Python, where that is another name."""
_given: ContextVar[frozenset[str]] = ContextVar("given", default=frozenset())


def given() -> frozenset[str]:
    """Arguments that the command line gives, even where it gives what is the default."""
    return _given.get()


@contextmanager
def _in_one_line() -> Iterator[None]:
    """Say what is wrong with the command line as all else that is wrong with the input is said."""
    try:
        yield
    except typer.BadParameter.__base__ as problem:  # type: ignore[misc]  # of click, which typer brings along
        if type(problem).__name__ == "NoArgsIsHelpError":
            raise
        tell(f"calibrant: {_in_words(problem)}")
        raise typer.Exit(BAD_INPUT) from None


def _in_words(problem: Any) -> str:
    param = getattr(problem, "param", None)
    if not isinstance(problem, typer.BadParameter) or param is None or not problem.message:
        return str(problem.format_message().rstrip("."))
    argument = param.param_type_name == "argument"
    name = (param.metavar or param.name).split()[0].upper() if argument else max(param.opts, key=len)
    return f"{name}{' ' if problem.message.startswith('is ') else ': '}{problem.message.rstrip('.')}"


class OneLine(TyperGroup):
    """As typer's, with every usage error in one line and exit code 2."""

    def make_context(self, *args: Any, **options: Any) -> Any:
        """Read what stands before the command."""
        with _in_one_line():
            return super().make_context(*args, **options)

    def invoke(self, ctx: Any) -> Any:
        """Read the command's own arguments, and call it."""
        with _in_one_line():
            return super().invoke(ctx)


class Once(TyperCommand):
    """As typer's, with every option at most once unless it takes several values or none."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Look for options that are given twice and for empty text, then read the arguments."""
        texts, _, order = self.make_parser(ctx).parse_args(args=list(args))
        empty: Any = next((each for each in self.get_params(ctx) if _is_empty(texts.get(each.name or ""))), None)
        if empty is not None:
            raise typer.BadParameter("is empty; is the variable set?", ctx=ctx, param=empty)
        single = [
            each for each in order if not each.multiple and each.nargs == 1 and not getattr(each, "is_flag", False)
        ]
        twice: Any = next(
            (each for each in single if single.count(each) > 1 and each.param_type_name == "option"), None
        )
        if twice is not None:
            name = max(twice.opts, key=len)
            raise typer.BadParameter(
                f"is given {single.count(twice)} times, and takes one value; several columns have commas between them"
                if name in ("--by", "--find", "--reference")
                else f"is given {single.count(twice)} times, and takes one value",
                ctx=ctx,
                param=twice,
            )
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Call the command, which may ask what was `given`."""
        sources = {name: ctx.get_parameter_source(name) for name in ctx.params}
        found = {name for name, source in sources.items() if source.name not in ("DEFAULT", "DEFAULT_MAP")}
        _given.set(frozenset(_ARGUMENTS.get(name, name) for name in found))
        return super().invoke(ctx)


class OnceWithJUnit(Once):
    """As `Once`; why arguments cannot be read is written to the file of ``--junit`` as well."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments; those that click does not take end in an error that has a message."""
        said = list(args)
        try:
            return super().parse_args(ctx, args)
        except Exception as problem:
            if hasattr(problem, "format_message"):  # not --help, which ends like this too
                junit, others = _junit_among(said)
                tell_junit(junit, "calibrant gate", others, _in_words(problem))
            raise


def _junit_among(args: list[str]) -> tuple[Path | None, list[str]]:
    """What ``--junit`` names, and all other arguments."""
    for at, arg in enumerate(args):
        if arg.startswith("--junit="):
            return Path(arg.partition("=")[2]), args[:at] + args[at + 1 :]
        if arg == "--junit" and at + 1 < len(args):
            return Path(args[at + 1]), args[:at] + args[at + 2 :]
    return None, args


def _is_empty(value: Any) -> bool:
    """Whether a text of an option, or one of several, holds nothing."""
    texts = value if isinstance(value, list | tuple) else [value]
    return any(isinstance(text, str) and not text.strip() for text in texts)
