"""The events of a question as an asynchronous iterator."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from ytrag_core.agent.asking import answer_question

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from ytrag_core.agent.asking import Asking
    from ytrag_core.agent.events import Event
    from ytrag_core.agent.run import Library

__all__ = ["stream_events"]


async def stream_events(question: str, library: Library, asking: Asking) -> AsyncGenerator[Event, None]:
    """Answer a question in a thread, and yield everything that happens on the way.

    Parameters
    ----------
    question, library, asking
        As for `ytrag_core.agent.asking.answer_question`.

    Yields
    ------
    Event
        The last one is `Done`. Whoever stops listening ends the work before its next call or retrieval.

    Raises
    ------
    YtragError
        What `answer_question` raises.
    """
    loop = asyncio.get_running_loop()
    events: asyncio.Queue[Event | BaseException | None] = asyncio.Queue()
    cancelled = threading.Event()

    def tell(event: Event | BaseException | None) -> None:
        # A loop that is closed, at whatever moment, has nobody left who listens.
        if not cancelled.is_set():
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(events.put_nowait, event)

    def work() -> None:
        try:
            answer_question(
                question, library, replace(asking, on_event=tell, stream=True, cancelled=cancelled)
            )
        except Exception as error:  # noqa: BLE001 - raised again where the events are awaited
            tell(error)
        tell(None)

    thread = threading.Thread(target=work, name="ytrag-ask", daemon=True)
    thread.start()
    try:
        while (event := await events.get()) is not None:
            if isinstance(event, BaseException):
                raise event
            yield event
    finally:
        cancelled.set()
