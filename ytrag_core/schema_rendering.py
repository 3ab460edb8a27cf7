"""Schemas, proposed types and changes for the terminal and as JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from ytrag_core.console import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from ytrag_core.pipeline.draft import DraftReport
    from ytrag_core.schema.changes import Decision, Difference
    from ytrag_core.schema.evolution import Verdict
    from ytrag_core.schema.model import GraphSchema
    from ytrag_core.schema.proposals import Candidate
    from ytrag_core.storage.schema_store import ChangeRow

__all__ = [
    "candidate_json",
    "change_json",
    "schema_text",
    "show_candidates",
    "show_changes",
    "show_decisions",
    "show_differences",
    "show_schema",
    "show_support",
    "show_verdicts",
    "verdict_json",
]

_LONGEST = 60


def candidate_json(candidate: Candidate) -> dict[str, Any]:
    """Return a proposed type with its support, in JSON values."""
    from ytrag_core.schema.changes import support_json

    return {
        "kind": candidate.kind,
        "name": candidate.name,
        "description": candidate.description,
        **support_json(candidate),
    }


def verdict_json(verdict: Verdict) -> dict[str, Any]:
    """Return what would become of a proposed type, in JSON values."""
    return {
        **candidate_json(verdict.candidate),
        "outcome": verdict.outcome,
        "nearest": verdict.nearest,
        "similarity": verdict.similarity,
        "reason": verdict.reason,
    }


def change_json(change: ChangeRow) -> dict[str, Any]:
    """Return a change of the schema in JSON values."""
    return {
        "number": change.number,
        "version": change.version,
        "action": change.action,
        "who": change.who,
        "at": change.at,
        "why": change.why,
        "decisions": [dict(decision) for decision in change.decisions],
    }


def schema_text(schema: GraphSchema) -> str:
    """Return a schema as the text of a file: one type a line, so that a person can edit it."""
    fields = schema.model_dump(mode="json")
    lines = []
    for name, value in fields.items():
        if not isinstance(value, list) or not value:
            lines.append(f"  {json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}")
            continue
        types = ",\n".join(f"    {json.dumps(part, ensure_ascii=False)}" for part in value)
        lines.append(f"  {json.dumps(name)}: [\n{types}\n  ]")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def show_support(console: Console, report: DraftReport) -> None:
    """Show what speaks for each type of a drafted schema."""
    read = f"{report.n_passages} passages of {report.n_documents} documents, read {report.extractor}"
    console.print(Text(printable(read), style="bold cyan"))
    table = Table(box=None, pad_edge=False)
    table.add_column("kind", header_style="bold")
    table.add_column("name", header_style="bold")
    table.add_column("count", justify="right", header_style="bold")
    table.add_column("for example", header_style="bold")
    for each in report.draft.support:
        table.add_row(each.kind, _cell(each.name), str(each.count), _cell("; ".join(each.examples)))
    console.print(table)
    for problem in report.problems:
        console.print(Text(printable(f"set aside: {problem.source}: {problem.reason}")), soft_wrap=True)


def show_verdicts(console: Console, verdicts: Sequence[Verdict]) -> None:
    """Show proposed types and what would become of each."""
    if not verdicts:
        console.print("nothing is proposed about which nothing was decided")
        return
    table = _table("kind", "name", "confidence", "passages", "documents", "outcome", "because")
    for verdict in verdicts:
        table.add_row(*_support(verdict.candidate), verdict.outcome, _cell(verdict.reason))
    console.print(table)


def show_candidates(console: Console, candidates: Sequence[Candidate]) -> None:
    """Show proposed types with what speaks for them."""
    if not candidates:
        console.print("none")
        return
    table = _table("kind", "name", "confidence", "passages", "documents")
    for candidate in candidates:
        table.add_row(*_support(candidate))
    console.print(table)


def show_changes(
    console: Console, changes: Sequence[ChangeRow], schema: GraphSchema | None, *, with_evidence: bool
) -> None:
    """Show the changes of a schema, oldest first, or one of them with its evidence."""
    if not changes:
        console.print(
            "no graph schema" if schema is None else f"{schema.name} {schema.version}, never changed"
        )
        return
    for change in changes:
        head = f"{change.number}  {change.version}  {change.action}  by {change.who}  {change.at}"
        console.print(Text(printable(head), style="bold cyan"), soft_wrap=True)
        if change.why:
            console.print(Text(printable(f"   {change.why}"), style="dim"), soft_wrap=True)
        shown = change.decisions if with_evidence else change.decisions[:8]
        for decision in shown:
            console.print(Text(printable(f"   {_decision_line(decision)}")), soft_wrap=True)
            for one in decision.get("evidence", ()) if with_evidence else ():
                line = f"      {one['document_id']}: {one['text'] or one['chunk_id']}"
                console.print(Text(printable(line), style="dim"), soft_wrap=True)
        if len(shown) < len(change.decisions):
            console.print(f"   and {len(change.decisions) - len(shown)} more")


def show_decisions(console: Console, made: Sequence[Decision], schema: GraphSchema | None) -> None:
    """Show what was just decided, and the version that is in force now."""
    for decision in made:
        console.print(Text(printable(_decision_line(decision.to_json()))), soft_wrap=True)
    if not made:
        console.print("nothing was to be decided")
    if schema is not None:
        console.print(Text(printable(f"schema {schema.name} {schema.version}"), style="bold cyan"))


def show_differences(console: Console, found: Sequence[Difference]) -> None:
    """Show what tells two schemas apart."""
    if not found:
        console.print("no difference")
    signs = {"added": ("+", "green"), "removed": ("-", "red"), "changed": ("~", "yellow")}
    for each in found:
        sign, style = signs[each.change]
        console.print(Text(printable(f"{sign} {each.kind} {each.name}"), style=style), soft_wrap=True)
        for field, (one, two) in each.fields.items():
            console.print(Text(printable(f"    {field}: {_value(one)} -> {_value(two)}")), soft_wrap=True)


def show_schema(console: Console, schema: GraphSchema) -> None:
    """Show a schema: its types with their descriptions, ends and other names."""
    title = f"{schema.name}  {schema.language}  version {schema.version}"
    console.print(Text(printable(title), style="bold cyan"), soft_wrap=True)
    if schema.description:
        console.print(Text(printable(schema.description)), soft_wrap=True)
    _show_types(console, "entity types", [(part.name, "", part) for part in schema.entity_types])
    relations = [
        (part.name, f"{_ends(part.head)} -> {_ends(part.tail)}", part) for part in schema.relation_types
    ]
    _show_types(console, "relation types", relations)
    attributes = [(part.name, f"of {_ends(part.entity_types)}", part) for part in schema.attribute_types]
    _show_types(console, "attribute types", attributes)


def _show_types(console: Console, title: str, types: Sequence[tuple[str, str, Any]]) -> None:
    if not types:
        return
    console.print(Text(f"\n{len(types)} {title}", style="bold"))
    for name, ends, part in types:
        line = Text(printable(f"  {name}"), style="green")
        if ends:
            line.append(printable(f"  {ends}"), style="dim")
        console.print(line, soft_wrap=True)
        if part.description:
            console.print(Text(printable(f"      {part.description}")), soft_wrap=True)
        for label, texts in (("also", part.aliases), ("for example", part.examples)):
            if texts:
                console.print(
                    Text(printable(f"      {label}: {'; '.join(texts)}"), style="dim"), soft_wrap=True
                )


def _ends(names: Sequence[str]) -> str:
    return " | ".join(names) or "any"


def _support(candidate: Candidate) -> tuple[str, str, str, str, str]:
    return (
        candidate.kind,
        _cell(candidate.name),
        f"{candidate.confidence:.2f}",
        str(candidate.n_chunks),
        str(candidate.n_documents),
    )


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False)
    for column in columns:
        is_number = column in ("confidence", "passages", "documents")
        table.add_column(column, justify="right" if is_number else "left", header_style="bold")
    return table


def _cell(text: str) -> str:
    line = printable(" ".join(text.split()))
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 3]}..."


def _decision_line(decision: Any) -> str:
    name, kind = decision["name"], decision["kind"]
    said = {
        "add": f"+ {kind} {name}",
        "alias": f"= {kind} {name} is another name of {decision.get('target')}",
        "reject": f"- {kind} {name}",
    }[decision["outcome"]]
    if "n_chunks" not in decision:
        return said
    return (
        f"{said}  ({decision['n_chunks']} passages, {decision['n_documents']} documents, "
        f"confidence {decision['confidence']:.2f})"
    )


def _value(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return str(value) if value else "none"
