"""The errors a caller may meet, in one small tree under `YtragError`.

Every message says what arrived, what was wanted and what to do about it.
"""

from __future__ import annotations

__all__ = [
    "ConfigError",
    "DocumentError",
    "EncoderSettingsError",
    "GraphFormatError",
    "LLMError",
    "LockedError",
    "ModelError",
    "NewerFormatError",
    "QueryError",
    "ReplyError",
    "SchemaError",
    "SnapshotError",
    "WriteError",
    "YtragError",
]


class YtragError(Exception):
    """Base of every error that ytrag raises on purpose."""


class ConfigError(YtragError, ValueError):
    """A setting or a command-line value is missing, malformed or contradicts another."""


class DocumentError(YtragError, ValueError):
    """A document, or a folder of them, cannot be read."""


class GraphFormatError(YtragError, ValueError):
    """Triples, nodes, edges or arrays are not of the form they should have."""


class SchemaError(YtragError, ValueError):
    """A graph schema is malformed."""


class SnapshotError(YtragError, OSError):
    """A knowledge base on disk is empty, foreign, truncated, corrupted or of a newer format."""


class NewerFormatError(SnapshotError):
    """A knowledge base was written by a later version of ytrag, which has to read it."""


class WriteError(SnapshotError):
    """The disk is full, or a place cannot be written; what was there before is as it was."""


class LockedError(YtragError, RuntimeError):
    """Another process is writing the knowledge base."""


class QueryError(YtragError, LookupError):
    """A question, or an option of a query, cannot be served."""


class ModelError(YtragError, RuntimeError):
    """An encoder is missing, damaged or does not fit the stored vectors."""


class EncoderSettingsError(ModelError, ConfigError):
    """A user's own encoder is described wrongly, or its folder is not of the form it should have."""


class LLMError(YtragError, RuntimeError):
    """A language-model endpoint failed or answered with something unusable."""


class ReplyError(LLMError):
    """A language model replied, but with nothing that can be used.

    Attributes
    ----------
    prompt_tokens, completion_tokens
        What the reply cost all the same; 0 where the endpoint does not say.
    """

    def __init__(self, message: str, *, prompt_tokens: int = 0, completion_tokens: int = 0) -> None:
        super().__init__(message)
        self.prompt_tokens = prompt_tokens
        self.completion_tokens = completion_tokens
