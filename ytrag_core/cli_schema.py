"""The commands `ytrag schema` about schemas themselves: list, check, show, format, and a first draft."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - typer reads it
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ytrag_core.cli_options import (
    EncoderOption,
    Extractor,
    JsonOption,
    PathsArgument,
    PrecisionChoice,
    PrecisionOption,
    checked_out,
)
from ytrag_core.cli_schema_review import add_review_commands, open_history
from ytrag_core.console import emit_json, note, printable, progress_bars, stderr_console, stdout_console
from ytrag_core.errors import ConfigError
from ytrag_core.schema_rendering import show_schema

if TYPE_CHECKING:
    from ytrag_core.schema.model import GraphSchema

__all__ = ["schema_app"]

schema_app = typer.Typer(
    no_args_is_help=True,
    help="Graph schemas: choose, check or draft one, and review how that of a knowledge base grows.",
    epilog="Start with: ytrag schema list, ytrag schema show general",
)

SchemaArgument = Annotated[str, typer.Argument(metavar="NAME|FILE", help="A bundled schema or a JSON file.")]


@schema_app.command("list", epilog="Example: ytrag schema list")
def list_schemas(as_json: JsonOption = False) -> None:
    """List the schemas that come with ytrag; take one with --schema NAME, or start your own from it."""
    from rich.text import Text

    from ytrag_core.schema.load import load_schema, schema_names

    schemas = [load_schema(name) for name in schema_names()]
    if as_json:
        emit_json({"schemas": [_summary(schema) for schema in schemas]})
        return
    console = stdout_console()
    for schema in schemas:
        line = Text(f"{schema.name:<16} {schema.language}  ", style="green")
        line.append(_counted(schema), style="dim")
        console.print(line, soft_wrap=True)
        console.print(Text(printable(f"    {schema.description}")), soft_wrap=True)


@schema_app.command("check", epilog="Example: ytrag schema check my-schema.json")
def check(source: SchemaArgument, as_json: JsonOption = False) -> None:
    """Check a schema file: what is wrong with it (exit code 2), or what it holds and what could be better."""
    from rich.text import Text

    from ytrag_core.schema.advice import advice
    from ytrag_core.schema.load import load_schema

    schema = load_schema(source)
    told = advice(schema)
    if as_json:
        emit_json({"ok": True, **_summary(schema), "advice": told})
        return
    console = stdout_console()
    line = f"{schema.name} is a graph schema: {_counted(schema)}, version {schema.version}"
    console.print(Text(printable(line), style="green"), soft_wrap=True)
    for text in told:
        console.print(Text(printable(f"  {text}")), soft_wrap=True)


@schema_app.command("show", epilog="Example: ytrag schema show general > my-schema.json --json")
def show(
    source: Annotated[
        str | None,
        typer.Argument(metavar="[NAME|FILE]", help="A bundled schema or a JSON file.", show_default=False),
    ] = None,
    kb: Annotated[
        Path | None,
        typer.Option(
            "--kb", metavar="DIR", help="The one in force in this knowledge base.", show_default=False
        ),
    ] = None,
    version: Annotated[
        int | None,
        typer.Option(
            "--version",
            metavar="NUMBER",
            help="With --kb: an earlier version of it.",
            show_default="in force",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show a schema; with --json as a schema file, to be edited and given back as --schema FILE."""
    schema = _chosen(source, kb, version)
    if as_json:
        emit_json(schema.model_dump(mode="json"))
    else:
        show_schema(stdout_console(), schema)


@schema_app.command("format", epilog="Example: ytrag schema format > graph.schema.json")
def show_format() -> None:
    """Print the JSON Schema of schema files, by which editors and other programs check them."""
    import json

    from ytrag_core.schema.load import format_text

    emit_json(json.loads(format_text()))


@schema_app.command("induce", epilog="Example: ytrag schema induce notes/ --out my-schema.json")
def induce(
    paths: PathsArgument,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="Write the schema here.", show_default="standard output"),
    ] = None,
    extractor: Annotated[
        Extractor, typer.Option(help="Who reads: a language model where one is set, or rules without one.")
    ] = Extractor.AUTO,
    sample: Annotated[
        int | None,
        typer.Option(
            "--sample", min=1, metavar="N", help="Passages to read.", show_default="2000; 48 for a model"
        ),
    ] = None,
    encoder: EncoderOption = None,
    precision: PrecisionOption = PrecisionChoice.AUTO,
    as_json: JsonOption = False,
) -> None:
    """Draft a schema from a sample of documents: a file to review, edit and give to --schema.

    What speaks for each type is listed on standard error, and printed beside the schema with --json.
    """
    from ytrag_core.environment import language_models, load_encoder
    from ytrag_core.pipeline.draft import induce_schema
    from ytrag_core.schema_rendering import schema_text, show_support

    target = checked_out(out)
    models = None if extractor is Extractor.OFFLINE else language_models()
    if extractor is Extractor.LLM and models is None:
        raise ConfigError(
            "--extractor llm needs a language model: set YTRAG_LLM_BASE_URL and YTRAG_LLM_MODEL, "
            "or draft without one by --extractor offline"
        )
    with progress_bars() as progress:
        report = induce_schema(
            paths,
            load_encoder(progress, encoder, precision.value),
            models=models,
            n_passages=sample,
            name="draft" if target is None else target.stem,
            progress=progress,
        )
    if target is not None:
        target.write_text(schema_text(report.schema), encoding="utf-8")
    if as_json:
        emit_json(report.to_json())
        return
    show_support(stderr_console(), report)
    if target is None:
        emit_json(report.schema.model_dump(mode="json"))
    else:
        note(f"review it, then: ytrag schema check {target}")


add_review_commands(schema_app)


def _chosen(source: str | None, kb: Path | None, version: int | None) -> GraphSchema:
    from ytrag_core.schema.load import load_schema

    if (source is None) == (kb is None) or (version is not None and kb is None):
        raise ConfigError("give the name or file of a schema, or --kb DIR for that of a knowledge base")
    if kb is None:
        return load_schema(source or "")
    with open_history(kb, writable=False) as history:
        if version is not None:
            return history.schema_at(version)
        schema = history.in_force()
    if schema is None:
        raise ConfigError(
            f"{kb} has no graph schema; give one with --schema when you index or import into it"
        )
    return schema


def _summary(schema: GraphSchema) -> dict[str, Any]:
    from ytrag_core.schema.model import TYPE_KINDS

    return {
        "name": schema.name,
        "language": schema.language,
        "description": schema.description,
        "version": schema.version,
        "counts": {kind: len(schema.types(kind)) for kind in TYPE_KINDS},
    }


def _counted(schema: GraphSchema) -> str:
    counts = [
        (len(schema.entity_types), "entity types"),
        (len(schema.relation_types), "relation types"),
        (len(schema.attribute_types), "attribute types"),
    ]
    return ", ".join(f"{count} {name}" for count, name in counts)
