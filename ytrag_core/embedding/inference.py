"""Runs an ONNX encoder on token ids: the one place that knows ONNX Runtime."""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ytrag_core.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from types import ModuleType

    import onnxruntime as ort
    from numpy.typing import NDArray

__all__ = ["open_session", "run_session"]

_LOAD_ERRORS = (
    "Fail",
    "InvalidArgument",
    "InvalidGraph",
    "InvalidProtobuf",
    "NoSuchFile",
    "NotImplemented",
    "RuntimeException",
)
"""The runtime's exceptions; they have no common base."""


@contextmanager
def _interrupts_later() -> Iterator[None]:
    """Hold Ctrl-C back: in the middle of a native import it would come out as an ImportError."""
    before = signal.getsignal(signal.SIGINT)
    if before is None or threading.current_thread() is not threading.main_thread():
        yield
        return
    heard: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: heard.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if heard:
            signal.raise_signal(heard[0])


@cache
def _runtime() -> tuple[ModuleType, tuple[type[Exception], ...]]:
    """Import ONNX Runtime, only where something is to be encoded; return it and its exceptions."""
    try:
        with _interrupts_later():
            import onnxruntime
        from onnxruntime.capi import onnxruntime_pybind11_state as state  # pyright: ignore[reportAttributeAccessIssue]
    except ImportError as error:
        raise ModelError(
            f"ONNX Runtime, which runs the encoder, cannot be imported ({error}). Install it with "
            "`pip install onnxruntime`; where pip finds no build for this system (32-bit, musl Linux such as "
            "Alpine, a Python newer than its builds), use 64-bit Linux with glibc or macOS, and a Python "
            "that it supports"
        ) from error
    return onnxruntime, tuple(getattr(state, name) for name in _LOAD_ERRORS)


def open_session(model: Path, n_threads: int, *, spin: bool = False) -> ort.InferenceSession:
    """Load a model.

    Parameters
    ----------
    model
        The ONNX file.
    n_threads
        Threads of one run; with one, `run_session` computes in the caller's thread.
    spin
        Whether threads wait for each other in a busy loop, from the start to the end of a run and not
        beyond: for short runs, in which waking a thread takes as long as its work.

    Returns
    -------
    InferenceSession
        May be run by several threads at once.

    Raises
    ------
    ModelError
        If ONNX Runtime is missing or the file is none that it can load.
    """
    runtime, load_errors = _runtime()
    options = runtime.SessionOptions()
    options.intra_op_num_threads = n_threads
    options.inter_op_num_threads = 1
    # One block for all activations of a run, remembered for every shape, is colder and grows.
    options.enable_mem_pattern = False
    options.add_session_config_entry("session.intra_op.allow_spinning", str(int(spin)))
    options.add_session_config_entry("session.force_spinning_stop", "1")
    try:
        session: ort.InferenceSession = runtime.InferenceSession(
            str(model), options, providers=["CPUExecutionProvider"]
        )
    except load_errors as error:
        raise ModelError(
            f"the encoder {model} cannot be loaded ({error}): remove its folder and try again"
        ) from error
    return session


def run_session(session: ort.InferenceSession, ids: NDArray[np.int64]) -> NDArray[np.float32]:
    """Encode texts of one length.

    Parameters
    ----------
    session
        The model.
    ids
        (n_texts, n_tokens) int64, without padding. A model with an input for a mask, as a user's own may
        have, is told so.

    Returns
    -------
    ndarray
        (n_texts, dimension) float32.
    """
    feeds = {"input_ids": ids}
    if len(session.get_inputs()) > 1:
        feeds["attention_mask"] = np.ones_like(ids)
    outputs: list[Any] = list(session.run(None, feeds))
    vectors: NDArray[np.float32] = outputs[0]
    return vectors
