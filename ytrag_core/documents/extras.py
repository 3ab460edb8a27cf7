"""Parsers that are installed on demand, and what to say where one is missing."""

from __future__ import annotations

__all__ = ["MissingParserError"]


class MissingParserError(ValueError):
    """The parser of a kind of file is not installed; the message says how to install it."""

    def __init__(self, kind: str, package: str) -> None:
        super().__init__(f"{kind} is read by {package}, which is not installed: pip install 'ytrag[docs]'")
