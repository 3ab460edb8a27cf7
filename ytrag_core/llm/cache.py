"""Replies that are remembered by what was asked."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, Protocol

from ytrag_core.llm.chat import Completion
from ytrag_core.recent import Recent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ytrag_core.llm.chat import Message
    from ytrag_core.storage.meta import MetaStore

__all__ = ["MemoryReplies", "ReplyCache", "StoredReplies", "reply_key"]


class ReplyCache(Protocol):
    """Where replies are remembered."""

    def get(self, key: str) -> Completion | None:
        """Return the reply that was stored under this key, or None."""
        ...

    def put(self, key: str, completion: Completion, /) -> None:
        """Store a reply."""
        ...


def reply_key(
    model: str, messages: Sequence[Message], max_tokens: int, schema: Mapping[str, Any] | None = None
) -> str:
    """Return the SHA-256, in hexadecimal, of all that a reply depends on."""
    asked = [model, [[m.role, m.content] for m in messages], max_tokens, schema]
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()


class MemoryReplies(Recent[Completion]):
    """The replies used last, as long as the process runs.

    Parameters
    ----------
    n_replies
        How many are kept.
    """

    def __init__(self, n_replies: int = 1000) -> None:
        super().__init__(n_replies)


class StoredReplies:
    """The replies in a knowledge base's `meta.sqlite`.

    Parameters
    ----------
    meta
        Opened for writing; opened read-only, it answers and remembers nothing new.
    model
        Column of the table under which they are kept.
    """

    def __init__(self, meta: MetaStore, model: str = "chat", *, writable: bool = True) -> None:
        self._meta = meta
        self._model = model
        self._writable = writable

    def get(self, key: str) -> Completion | None:
        """Return the reply that was stored under this key, or None."""
        payload = self._meta.reply(key, self._model)
        if payload is None:
            return None
        try:
            known = Completion(**json.loads(payload))
        except (TypeError, ValueError):  # of another version
            return None
        return known if isinstance(known.text, str) else None

    def put(self, key: str, completion: Completion) -> None:
        """Store a reply, at once and for good."""
        if self._writable:
            self._meta.put_reply(key, self._model, json.dumps(asdict(replace(completion, cached=False))))
