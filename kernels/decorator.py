"""The ``@kernel`` decorator: one explicit signature, compiled at import, cached where that is possible."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numba
from numba import config, types

if TYPE_CHECKING:
    from collections.abc import Callable

P = ParamSpec("P")
R = TypeVar("R")

_warned_uncached = False


@dataclass(frozen=True, slots=True, eq=False)
class CompiledKernel:
    """What became of one kernel at import.

    Attributes
    ----------
    name : str
        Module and function name.
    function : Callable
        The compiled function, or the plain one under ``NUMBA_DISABLE_JIT=1``.
    seconds : float
        Time spent compiling or loading the machine code.
    from_cache : bool
        Whether the machine code came from the disk cache.
    """

    name: str
    function: Callable[..., Any]
    seconds: float
    from_cache: bool


REGISTRY: dict[str, CompiledKernel] = {}
"""Every kernel of the modules imported so far, by name."""


def ro(dtype: Any, ndim: int = 1) -> Any:
    """Return the type of a C-contiguous input array; read-only and writable arrays both fit it."""
    return types.Array(dtype, ndim, "C", readonly=True)


def rw(dtype: Any, ndim: int = 1) -> Any:
    """Return the type of a C-contiguous array that the kernel writes; a read-only array is refused."""
    return types.Array(dtype, ndim, "C")


def kernel(
    signature: Any, *, parallel: bool = False, fastmath: frozenset[str] = frozenset()
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Compile a function for one signature, without the interpreter lock.

    Parameters
    ----------
    signature : str, tuple of numba types or numba signature
        The only argument types the kernel takes; anything else raises TypeError when called.
    parallel : bool
        Whether ``prange`` loops run on several threads.
    fastmath : frozenset of str
        LLVM flags out of ``{"nsz", "arcp", "contract", "afn", "reassoc"}``. NaN and infinity keep their
        meaning, so ``nnan`` and ``ninf`` are refused.

    Returns
    -------
    Callable
        A decorator; what it returns is registered in `REGISTRY`.

    Raises
    ------
    ValueError
        If `fastmath` holds a flag outside the list.

    Notes
    -----
    Division by zero follows numpy (inf, nan) and raises nothing, which lets loops vectorise. Under
    ``NUMBA_DISABLE_JIT=1`` the plain function is returned.
    """
    refused = fastmath - {"nsz", "arcp", "contract", "afn", "reassoc"}
    if refused:
        raise ValueError(f"fastmath flags {sorted(refused)} are not allowed in a kernel; NaN must stay NaN")

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        name = f"{function.__module__}.{function.__qualname__}"
        if config.DISABLE_JIT:  # type: ignore[attr-defined]
            REGISTRY[name] = CompiledKernel(name, function, 0.0, from_cache=False)
            return function
        started = time.perf_counter()
        options = {"nogil": True, "parallel": parallel, "fastmath": set(fastmath), "error_model": "numpy"}
        compiled: Any = _compile(function, signature, options)
        from_cache = bool(compiled.stats.cache_hits)
        REGISTRY[name] = CompiledKernel(name, compiled, time.perf_counter() - started, from_cache)
        return compiled  # type: ignore[no-any-return]

    return decorate


def _compile(function: Callable[..., Any], signature: Any, options: dict[str, Any]) -> Any:
    """Compile `function`, cached if the disk lets us, and close it to other signatures."""
    try:
        dispatcher = numba.njit(**options)(function)
        dispatcher.enable_caching()
        dispatcher.compile(signature)
    except (RuntimeError, OSError) as error:
        _warn_uncached(error)
        dispatcher = numba.njit(**options)(function)
        dispatcher.compile(signature)
    dispatcher.disable_compile()
    return dispatcher


def _warn_uncached(error: Exception) -> None:
    """Say once that kernels will be compiled anew in each process."""
    global _warned_uncached
    if _warned_uncached:
        return
    _warned_uncached = True
    warnings.warn(
        f"compiled kernels cannot be cached ({error}), so each start compiles them anew; "
        "set NUMBA_CACHE_DIR to a writable directory",
        RuntimeWarning,
        stacklevel=4,
    )
