"""The options of the commands, made from the fields of what they ask for; how a line is read; where a report goes."""

from __future__ import annotations

import inspect
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import astuple, fields
from decimal import Decimal
from pathlib import Path
from types import GenericAlias
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer
from typer.core import TyperCommand, TyperGroup

from calibrant.door.errors import FileError, InputError
from calibrant.door.request import Kind, Option, Request, in_list
from calibrant.exits import BAD_INPUT, OPTIONS, Leave, in_words, show, tell

if TYPE_CHECKING:
    from calibrant.findings.comparison import Comparison
    from calibrant.findings.results import Audit


def _share(text: str) -> float:
    """A number as an option takes it: 0.05 or 5%; a decimal comma is refused with the spelling."""
    entry = str(text).strip()
    try:
        return float(Decimal(entry[:-1].strip()) / 100) if entry.endswith("%") else float(entry)
    except (ValueError, ArithmeticError):
        if "," in entry:
            raise typer.BadParameter(f"{entry!r} has a comma; write {entry.replace(',', '.')}") from None
        raise typer.BadParameter(f"{entry!r} is not a number; write it like 0.05 or 5%") from None


_TYPES: dict[Kind, Any] = {
    **dict.fromkeys(("text", "names", "values", "any"), str),
    **dict.fromkeys(("share", "number"), float),
    "whole": int,
    "flag": bool,
    "path": Path,
}
"""What the command line reads a value of each kind as."""


def takes(options_of: type[Request], *, several: Collection[str] = ()) -> Callable[[Callable[..., None]], Any]:
    """Let a command take a request's options, which it is given as one mapping; `several` may stand more than once.

    They stand behind what the command needs, and before its own options.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = dict(inspect.signature(command, eval_str=True).parameters)
        del own["options"]
        declared = {name: each for name, each in options_of.options().items() if each.help is not None}
        defaults = {each.name: each.default for each in fields(options_of)}
        parameters = [_parameter(name, each, defaults[name], name in several) for name, each in declared.items()]
        first = [each for each in own.values() if each.default is each.empty]
        rest = [each for each in own.values() if each.default is not each.empty]

        def run(**values: Any) -> None:
            options = {name: values.pop(name) for name in declared}
            command(**values, options=options)

        signature = inspect.Signature([*first, *parameters, *rest])
        run.__name__, run.__doc__ = command.__name__, command.__doc__
        run.__annotations__ = {each.name: each.annotation for each in signature.parameters.values()}
        run.__signature__ = signature  # type: ignore[attr-defined]  # where `inspect`, and typer, look first
        return run

    return decorate


def _parameter(name: str, option: Option, default: Any, several: bool) -> inspect.Parameter:
    """An option as typer takes it from a signature."""
    flags = option.flags or ("--" + name.replace("_", "-"),)
    OPTIONS[name] = flags[0]
    share: dict[str, Any] = {"parser": _share, "metavar": "SHARE"} if option.kind == "share" else {}
    more = {"metavar": option.metavar} if option.metavar else share
    declared = typer.Option(*flags, help=option.help, min=option.least, max=option.most, **more)
    kind: Any = GenericAlias(list, (_TYPES[option.kind],)) if several else _TYPES[option.kind]
    if option.kind == "names" or default is None:
        default = option.command
    annotation = cast("Any", Annotated)[kind if default is not None else kind | None, declared]
    return inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default, annotation=annotation)


def names(listed: str | None) -> tuple[str, ...]:
    """Columns that were listed."""
    return () if listed is None else in_list(listed)


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


_PLAIN = {int: re.compile(r"0|[1-9][0-9]{0,14}"), float: re.compile(r"(0|[1-9][0-9]{0,14})(\.[0-9]{1,15})?")}
"""Numbers that pydantic reads as Python does."""


class _AsTheyAre:
    """Texts, plain numbers and defaults, which typer would load pydantic for, a tenth of a second."""

    def __init__(self, parameter: Any) -> None:
        self._kind, self._by_typer = parameter.type_descriptor.annotation, parameter.get_runtime_param
        self._low, self._high = (getattr(parameter, end, None) for end in ("min", "max"))

    def __call__(self) -> _AsTheyAre:
        """Attributes of a parameter that typer reads."""
        return self

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """The value of an option or argument, of the kind that was declared."""
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        if type(value) is self._kind:
            return value
        if self._kind == list[str] and isinstance(value, list | tuple) and all(type(each) is str for each in value):
            return list(value)
        if self._kind in _PLAIN and type(value) is str and _PLAIN[self._kind].fullmatch(value):
            number = self._kind(value)
            if (self._low is None or self._low <= number) and (self._high is None or number <= self._high):
                return number
        return self._by_typer().coerce(value, param=param, ctx=ctx)


def _lightly(parameter: Any) -> Any:
    """A parameter that hands on texts and defaults as they are, where typer is one that loads pydantic."""
    given_by = getattr(parameter, "get_runtime_param", None)
    if given_by is not None and not isinstance(given_by, _AsTheyAre):
        parameter.get_runtime_param = _AsTheyAre(parameter)
    return parameter


class OneLine(TyperGroup):
    """As typer's, with every usage error in one line and exit code 2."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Its options and arguments, ``--help`` among them."""
        return [_lightly(each) for each in super().get_params(ctx)]

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

    def get_params(self, ctx: Any) -> list[Any]:
        """Its options and arguments, ``--help`` among them."""
        return [_lightly(each) for each in super().get_params(ctx)]

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
                if name in ("--by", "--find", "--reference", "--strata")
                else f"is given {single.count(twice)} times, and takes one value",
                ctx=ctx,
                param=twice,
            )
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Call the command, which may ask what was `given`."""
        sources = {name: ctx.get_parameter_source(name) for name in ctx.params}
        explicit = {name for name, source in sources.items() if source.name not in ("DEFAULT", "DEFAULT_MAP")}
        _given.set(frozenset(explicit))
        return super().invoke(ctx)


OUTPUTS = ("--junit", "--summary", "--html")
"""Options of files that say why there is no result, where there is none."""


class OnceTold(Once):
    """As `Once`; why arguments cannot be read is written to the files of results as well."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments; those that click does not take end in an error that has a message."""
        words = list(args)
        try:
            return super().parse_args(ctx, args)
        except Exception as problem:
            if hasattr(problem, "format_message"):  # not --help, which ends like this too
                own = {option for each in self.get_params(ctx) for option in each.opts if option in OUTPUTS}
                targets, others = _outputs_among(words, own)
                tell_no_result(targets, f"calibrant {self.name}", others, _in_words(problem), json="--json" in words)
            raise


def _outputs_among(args: list[str], options: Collection[str]) -> tuple[dict[str, Path], list[str]]:
    """The files that these options name, and all other arguments."""
    targets, others, words = {}, [], iter(args)
    for arg in words:
        option, equals, value = arg.partition("=")
        value = value if equals else next(words, "") if option in options else ""
        if option in options and value:
            targets[option] = Path(value)
        else:
            others.append(arg)
    return targets, others


def _is_empty(value: Any) -> bool:
    """Whether a text of an option, or one of several, holds nothing."""
    texts = value if isinstance(value, list | tuple) else [value]
    return any(isinstance(text, str) and not text.strip() for text in texts)


_PAGE, _LEAST = 80, 24
"""Columns of a page, and of one on a terminal that is narrower than can be read."""


def check_target(target: Path, option: str, sources: Sequence[str] = ()) -> None:
    """Find out before the work whether the report can be written, and that it replaces no input."""
    try:
        _check_target(target, option, sources)
    except OSError as problem:
        raise FileError(option, f"{str(target)!r} cannot be written: {problem.strerror or problem}") from None


def check_targets(targets: Mapping[str, Path | None], sources: Sequence[str]) -> None:
    """Check the places of several options; each may hold no input, and no output of another."""
    before = list(sources)
    for option, target in targets.items():
        if target is not None:
            check_target(target, option, before)
            before.append(str(target))


def _check_target(target: Path, option: str, sources: Sequence[str]) -> None:
    if target.is_dir():
        raise FileError(option, f"{str(target)!r} is a folder; name a file")
    folder = Path(os.path.realpath(target)).parent if target.is_symlink() else target.parent
    if not folder.is_dir():
        wrong = "is not a folder" if folder.exists() else "does not exist; create it first"
        link = f"{str(target)!r} is a link into " if target.is_symlink() else ""
        raise FileError(option, f"{link}{str(folder)!r}, which {wrong}" if link else f"{str(folder)!r} {wrong}")
    if target.exists():
        if not target.is_file():
            raise FileError(option, f"{str(target)!r} is not a plain file; name a file to write")
        if any(Path(source).exists() and target.samefile(source) for source in sources):
            raise FileError(option, f"{str(target)!r} is an input file itself; name another")
    if any(os.path.realpath(target) == os.path.realpath(source) for source in sources):
        raise FileError(option, f"{str(target)!r} is written by another option as well; name another")
    try:
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as problem:
        raise FileError(option, f"the folder {str(folder)!r} cannot be written to: {problem.strerror}") from None


@contextmanager
def no_result_told(
    targets: Mapping[str, Path | None], title: str, others: Sequence[object], *, json: bool
) -> Iterator[None]:
    """Write into the files of these options why there is no result, unless that is one of the other files."""
    try:
        yield
    except Leave:
        raise
    except BaseException as problem:
        why = in_words(problem) if isinstance(problem, InputError | OSError) else "no verdict was reached"
        tell_no_result(targets, title, others, why, json=json)
        raise


def tell_no_result(
    targets: Mapping[str, Path | None], title: str, others: Sequence[object], why: str, *, json: bool
) -> None:
    """Write why there is no result into the files of these options, if it can be; as JSON where that was asked for."""
    if json:
        from json import dumps

        with suppress(Exception):  # what went wrong before is what is told
            show(dumps({"title": title, "error": why}, indent=2))
    wanted = {option: target for option, target in targets.items() if target is not None}
    for option, target in wanted.items():
        with suppress(Exception):  # what went wrong before is what is told
            inputs = [each for other in others if other is not None for each in _files(str(other))]
            rest = [str(each) for other, each in wanted.items() if other != option]
            check_target(target, option, [*inputs, *rest])
            from calibrant.report.gate import NO_RESULT

            NO_RESULT[option](title, why, target)


def _files(name: str) -> list[str]:
    """The name of an input, and of the files that it stands for."""
    path = Path(name)
    inside = path.rglob("*") if path.is_dir() else Path(path.anchor).glob(name[len(path.anchor) :])
    return [name, *map(str, inside)]


@contextmanager
def writing(option: str) -> Iterator[None]:
    """A fault of writing within names this option."""
    try:
        yield
    except FileError as problem:
        raise FileError(option, problem.problem) if problem.argument == "path" else problem from None


def page(finding: Audit | Comparison, *, everything: bool = False) -> str:
    """A finding's page for whoever reads the standard output: no wider than a terminal, in letters that it can show."""
    from calibrant.report.text import ASCII, UNICODE
    from calibrant.report.text import page as text_page

    width = _PAGE
    if sys.stdout is not None and sys.stdout.isatty():
        width = max(_LEAST, min(width, shutil.get_terminal_size().columns))
    try:
        "".join(astuple(UNICODE)).encode(getattr(sys.stdout, "encoding", None) or "ascii")
        marks = UNICODE
    except (UnicodeError, LookupError):
        marks = ASCII
    return text_page(finding, width, marks, everything=everything)
