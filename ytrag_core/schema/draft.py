"""A first draft of a schema: proposed types grouped, counted, named, and made into a valid schema."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ytrag_core.schema.model import AttributeType, EntityType, GraphSchema, RelationType, type_key
from ytrag_core.schema.resemblance import Neighbours

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ytrag_core.schema.evolution import TypeJudge
    from ytrag_core.schema.model import TypeKind

__all__ = ["Draft", "Found", "Support", "draft_schema", "group_found"]

_N_EXAMPLES = 5
_MIN_SHARE = 0.15
_MIN_TYPED = 0.5
_MOST_ENDS = 6
_MOST_ALIASES = 6


@dataclass(slots=True)
class Found:
    """A type as a sample of documents shows it.

    Attributes
    ----------
    kind
        `entity`, `relation` or `attribute`.
    name
        Its name.
    description
        What falls under it; may be empty.
    count
        How often it was seen: distinct things, statements, or passages.
    examples
        Things, statements (`head | tail`) or values, by how often they were seen.
    forms
        Spellings, by how often they were seen.
    heads, tails
        Types of what stands before and after a relation, or of what has an attribute (heads), by how often
        they were seen; under the empty name what has no type.
    """

    kind: TypeKind
    name: str
    description: str = ""
    count: int = 0
    examples: Counter[str] = field(default_factory=Counter)
    forms: Counter[str] = field(default_factory=Counter)
    heads: Counter[str] = field(default_factory=Counter)
    tails: Counter[str] = field(default_factory=Counter)

    @property
    def n_bearers(self) -> int:
        """How many things a relation starts from; of other kinds, how many examples there are."""
        return len({example.partition(" | ")[0] for example in self.examples})

    def absorb(self, other: Found) -> None:
        """Take in what was found under another name of the same type."""
        self.count += other.count
        self.description = self.description or other.description
        self.forms[other.name] += other.count
        for name in ("examples", "forms", "heads", "tails"):
            getattr(self, name).update(getattr(other, name))


@dataclass(frozen=True, slots=True)
class Support:
    """What speaks for a type of a draft."""

    kind: TypeKind
    name: str
    count: int
    examples: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return its JSON form."""
        return {"kind": self.kind, "name": self.name, "count": self.count, "examples": list(self.examples)}


@dataclass(frozen=True, slots=True)
class Draft:
    """A schema and what speaks for each of its types, most frequent first."""

    schema: GraphSchema
    support: tuple[Support, ...]


def group_found(found: Sequence[Found], judge: TypeJudge, seed: GraphSchema | None) -> list[Found]:
    """Return types with those that are one under several names put together, most frequent first.

    Parameters
    ----------
    found
        Types of one kind.
    judge
        Tells names apart.
    seed
        A schema whose types lend their names and descriptions to what is found of them; None for none.
    """
    grouped: dict[str, Found] = {}
    ordered = sorted(found, key=lambda one: (-one.count, one.name))
    if not ordered:
        return []
    kind = ordered[0].kind
    empty = GraphSchema(name="-", entity_types=(EntityType(name="-"),))
    near = Neighbours(kind, empty, judge.encode, judge.threshold, judge.language)
    near.prepare([(one.name, one.description) for one in ordered])
    for one in ordered:
        known = seed.find(kind, one.name) if seed is not None else None
        if known is not None:
            one.forms[one.name] += one.count
            one.name, one.description = known.name, known.description
        likeness = near.judge(one.name, one.description)
        if likeness.verdict == "same" and likeness.nearest in grouped:
            grouped[likeness.nearest].absorb(one)
            continue
        grouped[one.name] = one
        near.add(one.name, one.name, one.description)
    return sorted(grouped.values(), key=lambda one: (-one.count, one.name))


def draft_schema(
    found: Mapping[TypeKind, Sequence[Found]],
    *,
    name: str,
    language: str,
    description: str,
    most: Mapping[TypeKind, int],
    least: int,
) -> Draft:
    """Return a valid schema of the types that were found often enough.

    Parameters
    ----------
    found
        The types by kind, grouped, most frequent first.
    name, language, description
        Of the schema.
    most
        How many types of each kind it may have.
    least
        How often a type must have been seen; the most frequent entity type is taken anyway.
    """
    chosen: dict[TypeKind, list[Found]] = {
        kind: _chosen(kind, found.get(kind, ()), most[kind], least) for kind in most
    }
    entities = chosen["entity"]
    known = {type_key(one.name): one.name for one in entities}
    schema = GraphSchema(
        name=name,
        language=language,
        description=description,
        entity_types=tuple(
            EntityType(name=one.name, description=one.description, aliases=aliases, examples=_examples(one))
            for one, aliases in _with_aliases(entities)
        ),
        relation_types=tuple(
            RelationType(
                name=one.name,
                description=one.description,
                aliases=aliases,
                examples=_examples(one),
                head=_ends(one.heads, known),
                tail=_ends(one.tails, known),
            )
            for one, aliases in _with_aliases(chosen["relation"])
        ),
        attribute_types=tuple(
            AttributeType(
                name=one.name,
                description=one.description,
                aliases=aliases,
                examples=_examples(one),
                entity_types=_ends(one.heads, known),
            )
            for one, aliases in _with_aliases(chosen["attribute"])
        ),
    )
    support = [
        Support(kind, one.name, one.count, _examples(one)) for kind, types in chosen.items() for one in types
    ]
    return Draft(schema, tuple(support))


def _chosen(kind: TypeKind, found: Sequence[Found], most: int, least: int) -> list[Found]:
    frequent = [
        one for one in found if one.count >= least and (not one.examples or one.n_bearers >= min(least, 2))
    ][:most]
    if frequent or kind != "entity":
        return frequent
    return list(found[:1]) or [Found("entity", "thing", "Whatever the texts name.")]


def _with_aliases(found: Sequence[Found]) -> Iterable[tuple[Found, tuple[str, ...]]]:
    """Yield each type with its other names, none of which names another type."""
    taken = {type_key(one.name) for one in found}
    for one in found:
        aliases: list[str] = []
        for form, _ in sorted(one.forms.items(), key=lambda counted: (-counted[1], counted[0])):
            key = type_key(form)
            if key not in taken and len(aliases) < _MOST_ALIASES:
                taken.add(key)
                aliases.append(form)
        yield one, tuple(aliases)


def _examples(one: Found) -> tuple[str, ...]:
    ordered = sorted(one.examples.items(), key=lambda counted: (-counted[1], counted[0]))
    return tuple(text for text, _ in ordered if text.strip())[:_N_EXAMPLES]


def _ends(counts: Counter[str], known: Mapping[str, str]) -> tuple[str, ...]:
    """Return the types that stand at an end; none, for any, where too few of them are known."""
    total = sum(counts.values())
    typed: Counter[str] = Counter()
    for name, count in counts.items():
        if type_key(name) in known:
            typed[known[type_key(name)]] += count
    if not total or sum(typed.values()) < _MIN_TYPED * total:
        return ()
    ordered = sorted(typed.items(), key=lambda counted: (-counted[1], counted[0]))
    enough = [name for name, count in ordered if count >= _MIN_SHARE * sum(typed.values())]
    return tuple(enough[:_MOST_ENDS])
