"""A command that knows which options were given, and refuses one given twice, or filled with empty text."""

from __future__ import annotations

from contextvars import ContextVar
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand

from calibrant.terminal import tell_junit

_ARGUMENTS = {"resamples": "n_resamples", "seed": "random_state"}
"""What an option is called in Python, where that is another name."""
_given: ContextVar[frozenset[str]] = ContextVar("given", default=frozenset())


def given() -> frozenset[str]:
    """Arguments that the command line gives, even where it gives what is the default."""
    return _given.get()


class Once(TyperCommand):
    """As typer's, with every option at most once unless it takes several values or none."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Look for options that are given twice and for empty text, then read the arguments."""
        texts, _, order = self.make_parser(ctx).parse_args(args=list(args))
        empty: Any = next((each for each in self.get_params(ctx) if _is_empty(texts.get(each.name or ""))), None)
        if empty is not None:
            raise typer.BadParameter("is empty; is a variable that was to fill it not set?", ctx=ctx, param=empty)
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
                tell_junit(junit, "calibrant gate", others, problem.format_message())
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
