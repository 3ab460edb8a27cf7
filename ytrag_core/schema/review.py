"""A person's choices about proposed types: names to decisions."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from ytrag_core.errors import SchemaError
from ytrag_core.schema.changes import Decision
from ytrag_core.schema.model import type_key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ytrag_core.schema.model import GraphSchema, TypeKind
    from ytrag_core.schema.proposals import Candidate

__all__ = ["acceptances", "named", "rejections"]


def named(proposed: Sequence[Candidate], names: Sequence[str], kind: TypeKind | None) -> list[Candidate]:
    """Return the proposed types that are meant, each once, in the order of the names.

    Parameters
    ----------
    proposed
        All proposed types.
    names
        Names in any case and spacing.
    kind
        Only types of this kind; None where the name alone is to tell.

    Raises
    ------
    SchemaError
        If nothing of that name is proposed, or types of several kinds are.
    """
    found: dict[tuple[str, str], Candidate] = {}
    for name in names:
        fits = [
            candidate
            for candidate in proposed
            if candidate.key == type_key(name) and kind in (None, candidate.kind)
        ]
        if not fits:
            raise SchemaError(_unknown(proposed, name, kind))
        if len(fits) > 1:
            kinds = " and ".join(candidate.kind for candidate in fits)
            raise SchemaError(f"{name!r} is proposed as {kind or kinds}; say which with --kind")
        found.setdefault((fits[0].kind, fits[0].key), fits[0])
    return list(found.values())


def _unknown(proposed: Sequence[Candidate], name: str, kind: TypeKind | None) -> str:
    fits = [candidate for candidate in proposed if kind in (None, candidate.kind)]
    near = get_close_matches(type_key(name), [candidate.key for candidate in fits], n=3)
    names = [candidate.name for candidate in fits if candidate.key in near]
    what = f"no {kind} type" if kind else "no type"
    advice = f"did you mean {', '.join(names)}?" if names else "list them with `ytrag schema proposals`"
    return f"{what} {name!r} is proposed; {advice}"


def acceptances(
    schema: GraphSchema,
    chosen: Sequence[Candidate],
    *,
    target: str | None = None,
    description: str | None = None,
) -> list[Decision]:
    """Return the decisions by which proposed types enter.

    Parameters
    ----------
    schema
        The schema that they enter.
    chosen
        The types.
    target
        They become other names of this type instead of types of their own.
    description
        What a single new type is to say instead of the proposed description.

    Raises
    ------
    SchemaError
        If the target is no type of the schema.
    """
    if target is None:
        return [
            Decision(
                "add",
                candidate.kind,
                candidate.name,
                description=candidate.description if description is None else description,
                candidate=candidate,
            )
            for candidate in chosen
        ]
    made = []
    for candidate in chosen:
        known = schema.find(candidate.kind, target)
        if known is None:
            names = [part.name for part in schema.types(candidate.kind)]
            near = get_close_matches(target, names, n=3) or names[:5]
            raise SchemaError(
                f"{target!r} is no {candidate.kind} type of schema {schema.name!r}; "
                f"it has {', '.join(near) or 'none'}"
            )
        made.append(Decision("alias", candidate.kind, candidate.name, target=known.name, candidate=candidate))
    return made


def rejections(chosen: Sequence[Candidate]) -> list[Decision]:
    """Return the decisions by which proposed types are kept out."""
    return [Decision("reject", candidate.kind, candidate.name, candidate=candidate) for candidate in chosen]
