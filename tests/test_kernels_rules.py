"""What every kernel file must keep to, checked on its source and on what was compiled from it."""

from __future__ import annotations

import ast
import importlib
import inspect
import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from numba import int64, types

from ytrag_core.kernels import decorator
from ytrag_core.kernels.decorator import REGISTRY, kernel

FOLDER = Path(__file__).resolve().parent.parent / "kernels"
FILES = sorted(p for p in FOLDER.glob("*.py") if p.stem not in {"__init__", "decorator", "instructions"})
MODULES = [importlib.import_module(f"ytrag_core.kernels.{path.stem}") for path in FILES]
KERNELS = {name: entry for name, entry in REGISTRY.items() if name.startswith("ytrag_core.kernels.")}
interpreted = bool(numba.config.DISABLE_JIT)  # type: ignore[attr-defined]
compiled_only = pytest.mark.skipif(interpreted, reason="NUMBA_DISABLE_JIT=1: kernels are plain functions")

ALLOWED = {"__future__", "typing", "numpy", "numpy.typing", "numba", "decorator", "instructions"}


def imported_modules(tree: ast.Module) -> set[str]:
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
    return found


def decorator_calls(function: ast.FunctionDef) -> list[ast.Call]:
    return [
        d
        for d in function.decorator_list
        if isinstance(d, ast.Call) and isinstance(d.func, ast.Name) and d.func.id == "kernel"
    ]


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_source_keeps_to_the_rules(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert imported_modules(tree) <= ALLOWED
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            assert isinstance(node, ast.FunctionDef)
            assert node in tree.body, f"{node.name} is nested"
            calls = decorator_calls(node)
            assert len(node.decorator_list) == len(calls) == 1, f"{node.name} is no @kernel"
            assert len(calls[0].args) == 1, f"{node.name} needs one explicit signature"
        if isinstance(node, ast.Attribute | ast.Name):
            name = node.attr if isinstance(node, ast.Attribute) else node.id
            assert name not in {"njit", "jit", "vectorize", "guvectorize", "stencil", "objmode"}
        if isinstance(node, ast.keyword) and node.arg == "fastmath":
            assert not isinstance(node.value, ast.Constant), "name the flags: fastmath=True drops NaN checks"


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_inputs_are_arrays_and_outputs_are_fresh_or_named_out(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for function in (node for node in tree.body if isinstance(node, ast.FunctionDef)):
        inputs = {a.arg for a in function.args.args if not a.arg.startswith("out_")}
        for node in ast.walk(function):
            if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
                target = node.value
                assert not (isinstance(target, ast.Name) and target.id in inputs), (
                    f"{function.name} writes to its input {ast.unparse(target)}"
                )


def test_every_kernel_is_registered() -> None:
    defined = {
        f"ytrag_core.kernels.{path.stem}.{node.name}"
        for path in FILES
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef)
    }
    assert defined == set(KERNELS)


@compiled_only
@pytest.mark.parametrize("name", sorted(KERNELS))
def test_one_closed_signature_of_read_only_contiguous_inputs(name: str) -> None:
    function: Any = KERNELS[name].function
    (signature,) = function.nopython_signatures
    for parameter, type_ in zip(inspect.signature(function.py_func).parameters, signature.args, strict=True):
        if isinstance(type_, types.Array):
            assert type_.layout == "C"
            assert type_.mutable == parameter.startswith("out_"), f"{parameter} is {type_}"
        else:
            assert isinstance(type_, types.Number | types.Boolean), f"{parameter} is {type_}"
    with pytest.raises(TypeError):
        function(*(np.zeros((1,) * 7, np.complex64) for _ in signature.args))
    assert len(function.nopython_signatures) == 1


@compiled_only
def test_read_only_arrays_are_taken_and_other_types_refused() -> None:
    from ytrag_core.kernels.topk import top_k

    scores = np.array([1, 3, 2], np.float32)
    assert top_k(scores, 2).tolist() == [1, 2]
    scores.flags.writeable = False
    assert top_k(scores, 2).tolist() == [1, 2]
    with pytest.raises(TypeError, match="No matching definition"):
        top_k(scores.astype(np.float64), 2)  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match="No matching definition"):
        top_k(np.zeros(6, np.float32)[::2], 2)


@compiled_only
def test_a_read_only_output_is_refused() -> None:
    from ytrag_core.kernels.topk import keep_largest

    keys = np.arange(4, dtype=np.uint64)
    keys.flags.writeable = False
    with pytest.raises(TypeError, match="No matching definition"):
        keep_largest(keys, 4, 2)


@pytest.mark.parametrize("flag", ["nnan", "ninf", "fast"])
def test_flags_that_break_nan_are_refused(flag: str) -> None:
    with pytest.raises(ValueError, match=flag):
        kernel((int64,), fastmath=frozenset({"nsz", flag}))


def source_less_function() -> Any:
    """Return a function that Numba finds no file for, as in an install where nothing can be cached."""
    namespace: dict[str, Any] = {}
    exec("def double(value):\n    return value * 2\n", namespace)
    namespace["double"].__module__ = "generated"
    return namespace["double"]


@compiled_only
def test_without_a_cache_kernels_work_and_one_warning_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decorator, "_warned_uncached", False)
    monkeypatch.delitem(REGISTRY, "generated.double", raising=False)
    decorate = kernel((int64,))
    with pytest.warns(RuntimeWarning, match="NUMBA_CACHE_DIR"):
        double = decorate(source_less_function())
    assert double(21) == 42
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        decorate(source_less_function())
    assert not REGISTRY.pop("generated.double").from_cache


CHILD = """
import importlib, sys
import numpy as np
for stem in sys.argv[1:]:
    importlib.import_module(f"ytrag_core.kernels.{stem}")
from ytrag_core.kernels.csr import walk_csr
from ytrag_core.kernels.decorator import REGISTRY
from ytrag_core.kernels.ppr import ppr_power
from ytrag_core.kernels.topk import top_k
assert all(type(entry.function).__name__ == "function" for entry in REGISTRY.values())
ends = np.array([0, 1, 2], np.int32), np.array([1, 2, 3], np.int32)
walk = walk_csr(*ends, np.ones(3, np.float32), 4)
print(top_k(ppr_power(*walk, np.array([1, 0, 0, 0], np.float32), 0.5, 50, 0.0, True), 4).tolist())
"""


def test_kernels_run_interpreted() -> None:
    child = subprocess.run(
        [sys.executable, "-W", "error", "-c", CHILD, *(path.stem for path in FILES)],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert child.returncode == 0, child.stderr
    assert child.stdout.strip() == "[0, 1, 2, 3]"
