"""Options that several commands share."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ytrag_core.errors import ConfigError

__all__ = [
    "ChunkOverlapOption",
    "ChunkTokensOption",
    "EncoderOption",
    "Evolution",
    "EvolveOption",
    "Extractor",
    "FolderArgument",
    "JsonOption",
    "KbOption",
    "Mode",
    "PathsArgument",
    "PrecisionChoice",
    "PrecisionOption",
    "QuestionArgument",
    "Resolve",
    "ResolveOption",
    "SchemaOption",
    "SomePathsArgument",
    "Style",
    "SummariesOption",
    "TopKOption",
    "UnknownTypes",
    "VectorOptions",
    "checked_out",
    "comma_depths",
    "comma_names",
]


class Mode(StrEnum):
    """How a question is answered, and what is done where the evidence does not suffice."""

    OPEN = "open"
    REJECT = "reject"
    NO_AGENT = "no-agent"
    EVIDENCE = "evidence"


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


class Evolution(StrEnum):
    """What happens to types that passages propose and the schema lacks."""

    OFF = "off"
    REVIEW = "review"
    AUTO = "auto"


class Resolve(StrEnum):
    """Which names are one entity."""

    EXACT = "exact"
    ALIASES = "aliases"
    SIMILAR = "similar"


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


@dataclass(frozen=True, slots=True)
class VectorOptions:
    """Which encoder makes the vectors, in which numbers, and where some of them are already."""

    encoder: EncoderOption = None
    precision: PrecisionOption = PrecisionChoice.AUTO
    reuse_vectors: ReuseOption = None


KbOption = Annotated[Path, typer.Option("--kb", metavar="DIR", help="The knowledge base, a directory.")]
EvolveOption = Annotated[
    Evolution,
    typer.Option(
        "--evolve",
        help="Types that the schema lacks: not proposed, kept for `ytrag schema proposals`, or let in "
        "where enough speaks for them.",
    ),
]
SchemaOption = Annotated[
    str | None,
    typer.Option(
        "--schema",
        metavar="NAME|FILE",
        help="Graph schema: a name of `ytrag schema list`, or a JSON file.",
        show_default=False,
    ),
]
SummariesOption = Annotated[
    bool,
    typer.Option("--summaries", help="Let the language model that is set name communities."),
]
ChunkTokensOption = Annotated[
    int | None,
    typer.Option(
        "--chunk-tokens",
        metavar="N",
        min=16,
        max=4096,
        help="Longest passage, in tokens of the encoder; a change cuts all documents anew.",
        show_default="that of the knowledge base, else 240",
    ),
]
ChunkOverlapOption = Annotated[
    int | None,
    typer.Option(
        "--chunk-overlap",
        metavar="N",
        min=0,
        help="Up to N tokens of whole sentences that a passage has in common with the one before.",
        show_default="that of the knowledge base, else 0",
    ),
]
ResolveOption = Annotated[
    Resolve | None,
    typer.Option(
        "--resolve",
        help="Names that are one entity: of one key, also stated aliases, also variants of one name.",
        show_default="that of the knowledge base, else similar",
    ),
]
TopKOption = Annotated[int, typer.Option("--top-k", min=1, help="How many passages and facts to return.")]
QuestionArgument = Annotated[str, typer.Argument(metavar="QUESTION", help="In English or Chinese.")]
FolderArgument = Annotated[Path, typer.Argument(metavar="FOLDER", help="What to read.")]
PathsArgument = Annotated[list[Path], typer.Argument(metavar="PATH", help="What to read; several are fine.")]
SomePathsArgument = Annotated[
    list[Path] | None,
    typer.Argument(metavar="PATH", help="What to read; several are fine.", show_default=False),
]


def checked_out(out: Path | None) -> Path | None:
    """Refuse a place that cannot be written before the work is done; None stays None."""
    if out is not None and (out.is_dir() or not out.parent.is_dir()):
        what = "a folder" if out.is_dir() else f"in {out.parent}, which is no folder"
        raise ConfigError(f"--out {out} is {what}; give the name of a file to write")
    return out


def comma_names(text: str | None, option: str) -> list[str] | None:
    """Return the names in an option with commas between them, None where it is not given."""
    if text is None:
        return None
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise ConfigError(f"{option} wants names with commas between them, {text!r} arrived")
    return list(dict.fromkeys(names))


def comma_depths(text: str) -> list[int]:
    """Return the depths in --top-k with commas between them."""
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() and int(part) >= 1 for part in parts):
        raise ConfigError(f"--top-k wants whole numbers from 1 with commas between them, {text!r} arrived")
    return [int(part) for part in parts]
