"""In which numbers an encoder computes, and whether this processor does the smaller ones well."""

from __future__ import annotations

import ctypes
import ctypes.util
import sys
from functools import cache
from pathlib import Path
from typing import Literal

from ytrag_core.errors import ModelError

__all__ = ["CONVERSIONS", "VECTORS", "Precision", "choose_precision", "multiplies_bytes", "same_vectors"]

Precision = Literal["fp32", "int8"]
"""`fp32` computes as the published model does; `int8` multiplies matrices of small integers."""

CONVERSIONS: dict[Precision, str] = {"fp32": "fp32-2", "int8": "int8-3"}
"""Precision and version of the converted file, and its folder in the cache: new with another graph."""

VECTORS: dict[Precision, str] = {"fp32": "fp32-1", "int8": "int8-3"}
"""The first conversion that makes the same vectors but for rounding; it is what a fingerprint says."""

_EARLIER: dict[Precision, tuple[str, ...]] = {"fp32": ("fp32-1",), "int8": ()}

_SLOW = "this processor has no fast products of 8-bit integers (neither VNNI nor AVX2)"
_CPUINFO = Path("/proc/cpuinfo")
_FLAGS = {"avx512_vnni", "avx_vnni", "avx2", "asimddp"}
"""What Linux calls the instructions that add products of 8-bit integers: in one step on x86 (two), in three
with AVX2, which is still half as fast again as float ones, and on 64-bit ARM."""

_MACOS_SWITCHES = ("hw.optional.arm.FEAT_DotProd", "hw.optional.avx2_0")


def same_vectors(precision: Precision) -> tuple[str, ...]:
    """Return the conversions whose vectors may be mixed, that of today first."""
    return CONVERSIONS[precision], *_EARLIER[precision]


@cache
def multiplies_bytes() -> bool:
    """Tell whether this processor adds products of 8-bit integers faster than float ones.

    Returns
    -------
    bool
        True with VNNI (either), AVX2 or the dot products of 64-bit ARM; False also where the system does not
        say.
    """
    if sys.platform == "darwin":
        return any(map(_macos_switch, _MACOS_SWITCHES))
    try:
        text = _CPUINFO.read_text(encoding="ascii", errors="replace")
    except OSError:
        return False
    return _lists_one(text)


def _lists_one(cpuinfo: str) -> bool:
    """Tell whether the first list of features in Linux's description of the processors has one of ours."""
    for line in cpuinfo.splitlines():
        name, _, values = line.partition(":")
        if name.strip() in ("flags", "Features"):
            return not _FLAGS.isdisjoint(values.split())
    return False


def _macos_switch(name: str) -> bool:
    """Ask macOS for a number that is 1 where the processor has a feature."""
    value = ctypes.c_int(0)
    size = ctypes.c_size_t(ctypes.sizeof(value))
    try:
        ask = ctypes.CDLL(ctypes.util.find_library("c")).sysctlbyname
    except (OSError, AttributeError):
        return False
    failed = ask(name.encode(), ctypes.byref(value), ctypes.byref(size), None, ctypes.c_size_t(0))
    return not failed and value.value == 1


def choose_precision(wanted: Literal["auto", "fp32", "int8"]) -> tuple[Precision, str | None]:
    """Settle the precision that is used.

    Parameters
    ----------
    wanted
        `auto` takes int8 where the processor gains by it, else fp32: what is found with either is the same
        but for noise, and a knowledge base of int8 is encoded in two thirds of the time or less.

    Returns
    -------
    precision
        `fp32` or `int8`.
    note
        What a user should know about the choice; None where there is nothing to say.

    Raises
    ------
    ModelError
        If `wanted` is none of the three.
    """
    if wanted == "fp32":
        return "fp32", None
    if wanted == "auto":
        if multiplies_bytes():
            return "int8", None
        return "fp32", f"{_SLOW}: fp32 is used"
    if wanted != "int8":
        raise ModelError(f"the precision {wanted!r} is not known: choose auto, fp32 or int8")
    if multiplies_bytes():
        return "int8", None
    return "int8", f"{_SLOW}: int8 gives the same vectors here, but is no gain"
