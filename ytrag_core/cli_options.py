"""Options that several commands share."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

__all__ = [
    "EncoderOption",
    "Extractor",
    "FolderArgument",
    "JsonOption",
    "KbOption",
    "Mode",
    "PathsArgument",
    "PrecisionChoice",
    "PrecisionOption",
    "QuestionArgument",
    "ReuseOption",
    "SchemaOption",
    "Style",
    "TopKOption",
    "UnknownTypes",
]


class Mode(StrEnum):
    """What to do where the evidence does not suffice."""

    OPEN = "open"
    REJECT = "reject"


class Extractor(StrEnum):
    """Who reads triples out of the text."""

    AUTO = "auto"
    LLM = "llm"
    OFFLINE = "offline"


class Style(StrEnum):
    """How a language model is asked about a passage."""

    CHUNK = "chunk"
    SENTENCES = "sentences"


class UnknownTypes(StrEnum):
    """What becomes of types that the schema lacks."""

    PROPOSE = "propose"
    DROP = "drop"


class PrecisionChoice(StrEnum):
    """In which numbers the encoder computes."""

    AUTO = "auto"
    FP32 = "fp32"
    INT8 = "int8"


JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]
EncoderOption = Annotated[
    str | None,
    typer.Option(
        "--encoder",
        metavar="NAME|FOLDER",
        help="The encoder: see `ytrag models list`, or a folder of your own.",
        show_default="that of the knowledge base, else all-MiniLM-L6-v2",
    ),
]
PrecisionOption = Annotated[
    PrecisionChoice,
    typer.Option("--precision", help="auto: that of the knowledge base, else what suits this processor."),
]
ReuseOption = Annotated[
    Path | None,
    typer.Option(
        "--reuse-vectors",
        metavar="KB",
        help="Take the vectors of texts that this knowledge base has too; it is only read.",
        show_default=False,
    ),
]
KbOption = Annotated[Path, typer.Option("--kb", metavar="DIR", help="The knowledge base, a directory.")]
SchemaOption = Annotated[
    str | None,
    typer.Option(
        "--schema",
        metavar="NAME|FILE",
        help="Graph schema: general, general_zh or a JSON file.",
        show_default=False,
    ),
]
TopKOption = Annotated[int, typer.Option("--top-k", min=1, help="How many passages and facts to return.")]
QuestionArgument = Annotated[str, typer.Argument(metavar="QUESTION", help="In English or Chinese.")]
FolderArgument = Annotated[Path, typer.Argument(metavar="FOLDER", help="What to read.")]
PathsArgument = Annotated[
    list[Path] | None,
    typer.Argument(metavar="[PATH]...", help="What to read; several are fine.", show_default=False),
]
