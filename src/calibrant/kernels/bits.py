"""Position of the highest and lowest set bit of a 64-bit word, as the processor's own instruction."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic


def _counter(instruction: str) -> Any:
    def intrinsic_body(_typing_context: Any, _word: Any) -> Any:
        def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            return getattr(builder, instruction)(arguments[0], ir.Constant(ir.IntType(1), 1))

        return types.uint64(types.uint64), generate

    intrinsic_body.__name__ = instruction
    return intrinsic(intrinsic_body)


leading_zeros = _counter("ctlz")
trailing_zeros = _counter("cttz")
