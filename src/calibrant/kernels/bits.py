"""Position of the highest and lowest set bit of a 64-bit word, as the processor's own instruction."""

from __future__ import annotations

import functools
from typing import Any


class _Counter:
    """An instruction; numba, which is loaded where a kernel is compiled, takes it for its own kind of function."""

    def __init__(self, instruction: str) -> None:
        self._instruction = instruction

    @functools.cached_property
    def _numba_type_(self) -> Any:
        from llvmlite import ir
        from numba import types
        from numba.core.registry import cpu_target
        from numba.extending import intrinsic

        def body(_typing_context: Any, _word: Any) -> Any:
            def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
                return getattr(builder, self._instruction)(arguments[0], ir.Constant(ir.IntType(1), 1))

            return types.uint64(types.uint64), generate

        body.__name__ = self._instruction
        context = cpu_target.typing_context
        function = intrinsic(body)
        context.refresh()
        return context.resolve_value_type(function)


leading_zeros: Any = _Counter("ctlz")
trailing_zeros: Any = _Counter("cttz")
