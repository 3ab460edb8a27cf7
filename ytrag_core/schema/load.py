"""Find a graph schema by its name or its file, and read it."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from ytrag_core.errors import SchemaError
from ytrag_core.schema.model import GraphSchema, type_key

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

__all__ = ["format_text", "load_schema", "parse_schema", "schema_names"]

_PACKAGE = "ytrag_core.schemas"
_FORMAT = "graph.schema.json"
_LISTS = {"Nodes": "entity_types", "Relations": "relation_types", "Attributes": "attribute_types"}
_WANTED = (
    'an object with "entity_types", "relation_types" and "attribute_types", or one with "Nodes", "Relations" '
    'and "Attributes", was wanted'
)
_MAX_SHOWN = 5


def schema_names() -> list[str]:
    """Return the names of the schemas that come with ytrag, in alphabetical order."""
    return sorted(_bundled())


def format_text() -> str:
    """Return the JSON Schema of graph schema files, for editors and other programs."""
    return resources.files(_PACKAGE).joinpath(_FORMAT).read_text(encoding="utf-8")


def load_schema(source: str | Path) -> GraphSchema:
    """Load a graph schema.

    Parameters
    ----------
    source
        The name of a schema that comes with ytrag (`schema_names`), or a JSON file. A `Path`, or a text that
        ends in `.json` or holds a path separator, always means a file; a bundled name goes before a file.

    Returns
    -------
    GraphSchema
        Validated: names are unique and every type that is referred to exists.

    Raises
    ------
    SchemaError
        When there is no such schema or file, or it is malformed; the message says where and what was wanted.
    """
    if isinstance(source, Path):
        return _read_file(source)
    bundled = _bundled().get(source)
    if bundled is not None:
        return parse_schema(bundled.read_text(encoding="utf-8"), name=source, where=f"schema {source!r}")
    path = Path(source)
    if path.suffix == ".json" or len(path.parts) > 1 or path.is_file():
        return _read_file(path)
    raise SchemaError(
        f"{source!r} is neither a bundled schema nor a file; "
        f"take one of {', '.join(schema_names())}, or give the path of a JSON file"
    )


def parse_schema(text: str, *, name: str, where: str) -> GraphSchema:
    """Read a graph schema from JSON, in our own form or as plain lists of names.

    Parameters
    ----------
    text
        A JSON object: {name?, language?, description?, entity_types: [{name, description?}], relation_types:
        [{name, description?, head?, tail?}], attribute_types: [{name, description?, entity_types?}]}, each
        type with aliases and examples where it has any, or {Nodes: [...], Relations: [...], Attributes:
        [...]} with names only, where a repeated name counts once. `$schema`, by which an editor finds the
        format, may stand in either.
    name
        What the schema is called where the text does not say.
    where
        What messages call the text.

    Raises
    ------
    SchemaError
        When the text is no JSON, or not a schema.
    """
    try:
        fields = json.loads(text)
    except json.JSONDecodeError as error:
        raise SchemaError(
            f"{where} is no JSON: {error.msg} at line {error.lineno}, column {error.colno}"
        ) from None
    except ValueError:
        raise SchemaError(f"{where} holds a number of thousands of digits; {_WANTED}") from None
    except RecursionError:
        raise SchemaError(f"{where} is nested too deeply; {_WANTED}") from None
    if not isinstance(fields, dict):
        raise SchemaError(f"{where} holds {_kind(fields)}; {_WANTED}")
    try:
        json.dumps(fields, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise SchemaError(f"{where} holds half a character (a lone surrogate); write it out") from None
    fields.pop("$schema", None)
    if _LISTS.keys() & fields.keys():
        fields = _from_lists(fields, where)
    elif "entity_types" not in fields:
        shown = ", ".join(map(repr, list(fields)[:_MAX_SHOWN])) or "nothing"
        raise SchemaError(f"{where} has the keys {shown}; {_WANTED}")
    try:
        return GraphSchema.model_validate({"name": name} | fields)
    except ValidationError as error:
        raise SchemaError(f"{where} is malformed: {_complaints(error)}") from None


def _bundled() -> dict[str, Traversable]:
    entries = resources.files(_PACKAGE).iterdir()
    return {entry.name.removesuffix(".json"): entry for entry in entries if _is_schema(entry.name)}


def _is_schema(name: str) -> bool:
    return name.endswith(".json") and name != _FORMAT


def _read_file(path: Path) -> GraphSchema:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise SchemaError(
            f"no schema file at {path}; "
            f"give a JSON file, or one of the bundled names {', '.join(schema_names())}"
        ) from None
    except UnicodeDecodeError as error:
        raise SchemaError(f"{path} is not UTF-8 (byte {error.start}); save it as UTF-8") from None
    except OSError as error:
        raise SchemaError(f"{path} cannot be read: {error.strerror}; a JSON file was wanted") from error
    return parse_schema(text, name=path.stem, where=str(path))


def _from_lists(fields: dict[str, Any], where: str) -> dict[str, Any]:
    """Turn plain lists of names into our own form, each name once."""
    others = [key for key in fields if key not in _LISTS]
    if others:
        raise SchemaError(
            f"{where} has the key {others[0]!r} beside its lists; only {', '.join(_LISTS)} belong there"
        )
    parts: dict[str, Any] = {}
    for key, target in _LISTS.items():
        names = fields.get(key, [])
        if not isinstance(names, list):
            raise SchemaError(f"{where}: {key!r} holds {_kind(names)}; a list of names was wanted")
        unique: dict[str, str] = {}
        for position, name in enumerate(names):
            if not isinstance(name, str) or not name.strip():
                shown = json.dumps(name, ensure_ascii=False)[:60]
                raise SchemaError(f"{where}: {key}[{position}] is {shown}; a name was wanted")
            unique.setdefault(type_key(name), name)
        parts[target] = [{"name": name} for name in unique.values()]
    return parts


def _kind(value: object) -> str:
    kinds = {dict: "an object", list: "a list", str: "a text", bool: "a truth value", type(None): "null"}
    return kinds.get(type(value), "a number")


def _complaints(error: ValidationError) -> str:
    problems = error.errors(include_url=False, include_context=False)
    shown = [_complaint(problem["loc"], problem["msg"]) for problem in problems[:_MAX_SHOWN]]
    if len(problems) > len(shown):
        shown.append(f"and {len(problems) - len(shown)} more")
    return "; ".join(shown)


def _complaint(location: tuple[int | str, ...], message: str) -> str:
    place = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in location).lstrip(".")
    message = message.removeprefix("Value error, ")
    return f"{place}: {message}" if place else message
