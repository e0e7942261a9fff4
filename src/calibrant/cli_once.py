"""A command that refuses an option given twice, of which only the last would count."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperCommand


class Once(TyperCommand):
    """As typer's, with every option at most once unless it takes several values or none."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Look for options that are given twice, then read the arguments."""
        _, _, order = self.make_parser(ctx).parse_args(args=list(args))
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
