"""Instructions of the processor that Numba has no words for: float16 conversion and prefetching.

Numba's cache does not see edits in this file: after one, remove ``kernels/__pycache__``.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import config, types
from numba.core.registry import cpu_target
from numba.extending import intrinsic

LINE = 64
"""Bytes of a cache line."""

READ, KEEP_IN_ALL_CACHES, DATA = 0, 3, 1

WITHOUT_COMPILER = bool(config.DISABLE_JIT)  # type: ignore[attr-defined]
"""Whether kernels run as plain Python."""


def converts_halves() -> bool:
    """Return whether the processor that Numba compiles for has instructions for float16.

    Without them LLVM would call a function of the C library for every number, where there is one.
    """
    target: Any = cpu_target.target_context
    triple, _, features = target.codegen().magic_tuple()
    return triple.startswith(("aarch64", "arm64")) or "+f16c" in features.split(",")


def widen_interpreted(bits: Any) -> np.float32:
    """Return the value of a float16 given by its bits."""
    return np.float32(np.uint16(bits).view(np.float16))


def narrow_interpreted(value: Any) -> np.uint16:
    """Return the bits of a float32 rounded to float16."""
    return np.uint16(np.float32(value).astype(np.float16).view(np.uint16))


def prefetch_interpreted(rows: Any, row: Any) -> None:
    """Do nothing."""


def widen_by_bits(bits: Any) -> Any:
    """Return the value of a finite float16 given by its bits, by arithmetic on them."""
    # Sign-extended, shifted and with the copies of the sign masked out, a half's bits are a float's but for
    # an exponent bias 112 lower: hence the power of two, which mends subnormals too.
    wide = np.int32(np.uint16(bits).view(np.int16))
    moved = np.int32((wide << np.int32(13)) & np.int32(-0x70002000))
    return np.float32(moved.view(np.float32) * np.float32(2.0**112))


def narrow_by_bits(value: Any) -> Any:
    """Return the bits of a float32 of at most 65504, rounded to float16, by arithmetic on them."""
    bits = np.uint32(np.float32(value).view(np.uint32))
    sign = np.uint32((bits & np.uint32(0x80000000)) >> np.uint32(16))
    magnitude = np.uint32(bits & np.uint32(0x7FFFFFFF))
    if magnitude >= np.uint32(0x38800000):
        odd = np.uint32((magnitude >> np.uint32(13)) & np.uint32(1))
        rounded = np.uint32(magnitude - np.uint32(0x38000000) + np.uint32(0xFFF) + odd)
        code = np.uint32(rounded >> np.uint32(13))
    else:
        # From 0.5 to 1 a float's last bit is worth 2**-24, just as a subnormal half's: the sum rounds it.
        shifted = np.float32(abs(np.float32(value)) + np.float32(0.5))
        code = np.uint32(np.uint32(shifted.view(np.uint32)) - np.uint32(0x3F000000))
    return np.uint16(code | sign)


def typed_widen(typing_context: Any, bits: Any) -> Any:
    """Type `widen` for Numba and write its LLVM code."""

    def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fpext(builder.bitcast(arguments[0], ir.HalfType()), ir.FloatType())

    return types.float32(types.uint16), write


def typed_narrow(typing_context: Any, value: Any) -> Any:
    """Type `narrow` for Numba and write its LLVM code."""

    def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(builder.fptrunc(arguments[0], ir.HalfType()), ir.IntType(16))

    return types.uint16(types.float32), write


def typed_prefetch(typing_context: Any, rows: Any, row: Any) -> Any:
    """Type `prefetch_row` for Numba and write its LLVM code."""
    signature = types.void(rows, types.int64)

    def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        byte, word, size = ir.IntType(8).as_pointer(), ir.IntType(32), ir.IntType(64)
        function = builder.module.declare_intrinsic(
            "llvm.prefetch", [byte], ir.FunctionType(ir.VoidType(), [byte, word, word, word])
        )
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        n_bytes = builder.extract_value(array.strides, 0)
        first = builder.gep(builder.bitcast(array.data, byte), [builder.mul(arguments[1], n_bytes)])
        how = [ir.Constant(word, code) for code in (READ, KEEP_IN_ALL_CACHES, DATA)]
        loop, after = builder.append_basic_block("prefetch"), builder.append_basic_block("prefetched")
        before = builder.block
        builder.branch(loop)
        builder.position_at_end(loop)
        offset = builder.phi(size)
        offset.add_incoming(ir.Constant(size, 0), before)
        builder.call(function, [builder.gep(first, [offset]), *how])
        following = builder.add(offset, ir.Constant(size, LINE))
        offset.add_incoming(following, loop)
        builder.cbranch(builder.icmp_signed("<", following, n_bytes), loop, after)
        builder.position_at_end(after)
        return context.get_dummy_value()

    return signature, write


widen: Any
"""Return the float32 value of a float16 given by its bits, a uint16; finite without the instruction."""

narrow: Any
"""Return the bits, a uint16, of a float32 rounded to nearest, ties to even; of at most 65504 likewise."""

prefetch_row: Any
"""Ask for row ``row`` of the C-contiguous array ``rows``, which will be read soon; any row is harmless."""

if WITHOUT_COMPILER:
    widen, narrow, prefetch_row = widen_interpreted, narrow_interpreted, prefetch_interpreted
else:
    prefetch_row = intrinsic(typed_prefetch)
    if converts_halves():
        widen, narrow = intrinsic(typed_widen), intrinsic(typed_narrow)
    else:
        widen = numba.njit(error_model="numpy")(widen_by_bits)
        narrow = numba.njit(error_model="numpy")(narrow_by_bits)
