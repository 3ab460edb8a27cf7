"""Graph schemas load by name or file, in both forms, and say clearly what is wrong with them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from tests.house import REPOSITORY
from ytrag_core.errors import SchemaError
from ytrag_core.schema.advice import advice
from ytrag_core.schema.load import format_text, load_schema, parse_schema, schema_names
from ytrag_core.schema.model import TYPE_KINDS

if TYPE_CHECKING:
    from ytrag_core.schema.model import GraphSchema


def parsed(fields: object) -> GraphSchema:
    return parse_schema(json.dumps(fields, ensure_ascii=False), name="test", where="the test's text")


SCHEMAS = REPOSITORY / "schemas"
SMALL: dict[str, Any] = {
    "entity_types": [{"name": "person", "description": "Someone."}, {"name": "place"}],
    "relation_types": [{"name": "born in", "head": ["person"], "tail": ["place"]}, {"name": "knows"}],
    "attribute_types": [{"name": "age", "entity_types": ["person"]}, {"name": "size"}],
}


FORMAT = jsonschema.Draft202012Validator(json.loads(format_text()))


def test_the_seeds_are_there() -> None:
    subjects = ("encyclopedia", "finance", "general", "law", "medicine", "novel", "textbook")
    wanted = {name for subject in subjects for name in (subject, f"{subject}_zh")}
    assert wanted <= set(schema_names())


@pytest.mark.parametrize("name", schema_names())
def test_bundled_schemas_are_complete(name: str) -> None:
    schema = load_schema(name)
    assert schema.name == name
    assert schema.language == ("zh" if name.endswith("_zh") else "en")
    assert schema.description
    assert advice(schema) == []
    for kind in TYPE_KINDS:
        parts = schema.types(kind)
        assert len(parts) >= 15
        said = [part.description for part in parts]
        assert all(len(text) >= 5 for text in said)
        assert len(set(said)) == len(said), "a description tells its type from all others"


@pytest.mark.parametrize("name", schema_names())
def test_bundled_schemas_are_of_the_published_format(name: str) -> None:
    FORMAT.validate(json.loads((SCHEMAS / f"{name}.json").read_text(encoding="utf-8")))
    FORMAT.validate(load_schema(name).model_dump(mode="json"))


@pytest.mark.parametrize("name", schema_names())
def test_every_type_of_a_seed_can_be_linked(name: str) -> None:
    schema = load_schema(name)
    used = {end for relation in schema.relation_types for end in (*relation.head, *relation.tail)}
    used |= {owner for attribute in schema.attribute_types for owner in attribute.entity_types}
    assert used == {kind.name for kind in schema.entity_types}


def test_the_published_format_is_a_format() -> None:
    jsonschema.Draft202012Validator.check_schema(json.loads(format_text()))
    assert "graph.schema" not in schema_names()
    assert FORMAT.is_valid({"Nodes": ["person"], "Relations": [], "Attributes": []})
    assert FORMAT.is_valid(SMALL | {"$schema": "graph.schema.json"})
    assert parsed(SMALL | {"$schema": "graph.schema.json"}) == parsed(SMALL)


def test_aliases_find_their_type() -> None:
    schema = parsed(
        SMALL
        | {
            "entity_types": [
                {"name": "person", "aliases": ["human", "人"], "examples": ["Ada"]},
                {"name": "place"},
            ]
        }
    )
    assert schema.canonical("entity", "HUMAN") == schema.canonical("entity", "人") == "person"
    assert schema.canonical("entity", "dragon") == "dragon"
    assert schema.canonical("relation", "Born_In") == "born in"
    assert schema.allows("human", "born in", "place")
    assert schema.find("attribute", "human") is None
    assert parse_schema(schema.model_dump_json(), name="x", where="x") == schema


def test_advice_says_what_could_be_better() -> None:
    told = advice(
        parsed(
            {
                "language": "en",
                "entity_types": [{"name": "person", "description": "Someone."}, {"name": "place"}],
                "relation_types": [
                    {"name": "knows", "description": "Is with.", "head": ["person"], "tail": ["person"]}
                ],
                "attribute_types": [{"name": "age", "description": "Years.", "aliases": ["Knows"]}],
            }
        )
    )
    assert [text.partition(" ")[0] for text in told] == ["1", "no", "knows"]
    assert "no relation reaches place" in told[1]


def test_lists_that_came_later_leave_old_versions_as_they_were() -> None:
    assert load_schema("general_zh").version == "3b85ed81e6ea"
    assert parsed(SMALL).model_dump(mode="json")["entity_types"][1] == {"name": "place", "description": ""}


def test_the_two_languages_are_parallel() -> None:
    english, chinese = load_schema("general"), load_schema("general_zh")
    kinds = zip(english.entity_types, chinese.entity_types, strict=True)
    translated = {one.name: other.name for one, other in kinds}
    for one, other in zip(english.relation_types, chinese.relation_types, strict=True):
        assert tuple(translated[name] for name in one.head) == other.head
        assert tuple(translated[name] for name in one.tail) == other.tail
    for one_value, other_value in zip(english.attribute_types, chinese.attribute_types, strict=True):
        assert tuple(translated[name] for name in one_value.entity_types) == other_value.entity_types


def test_lookup_ignores_case_spacing_and_underscores() -> None:
    schema = load_schema("general")
    relation = schema.relation_type("Born_In")
    assert relation is not None
    assert relation.name == "born in"
    assert schema.entity_type(" Creative  Work ") == schema.entity_type("creative work") is not None
    assert schema.attribute_type("Birth Date") is not None
    assert schema.entity_type("dragon") is None


def test_allows_checks_both_ends() -> None:
    schema = parsed(SMALL)
    assert schema.allows("person", "born in", "place")
    assert not schema.allows("place", "born in", "person")
    assert schema.allows("place", "knows", "person")
    assert schema.allows("", "born in", "")
    assert not schema.allows("dragon", "knows", "person")
    assert not schema.allows("person", "eats", "place")
    assert schema.allows_attribute("person", "age")
    assert not schema.allows_attribute("place", "age")
    assert schema.allows_attribute("place", "size")
    assert not schema.allows_attribute("place", "born in")


def test_a_file_takes_its_stem_as_name(tmp_path: Path) -> None:
    file = tmp_path / "ships.json"
    file.write_text("\ufeff" + json.dumps(SMALL), encoding="utf-8")
    assert load_schema(file).name == "ships"
    assert load_schema(str(file)) == load_schema(file)


def test_a_path_object_never_means_a_bundled_schema() -> None:
    with pytest.raises(SchemaError, match="no schema file at general"):
        load_schema(Path("general"))


def test_the_version_follows_the_content() -> None:
    schema = parsed(SMALL)
    changed = parsed(SMALL | {"description": "for tests"})
    assert schema.version == parsed(SMALL).version
    assert schema.version != changed.version
    assert len(schema.version) == 12


def test_plain_lists_are_read() -> None:
    schema = parsed({"Nodes": ["person", "城市", "Person"], "Relations": ["born_in"], "Attributes": ["age"]})
    assert [kind.name for kind in schema.entity_types] == ["person", "城市"]
    assert schema.allows("person", "born in", "城市")
    assert schema.allows_attribute("城市", "age")


def test_a_dumped_schema_loads_again() -> None:
    schema = load_schema("general_zh")
    assert parse_schema(schema.model_dump_json(), name="other", where="the dump") == schema


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ([], "holds a list"),
        ("person", "holds a text"),
        ({}, "has the keys nothing"),
        ({"types": ["person"]}, "has the keys 'types'"),
        ({"entity_types": []}, "no entity type; at least 1"),
        ({"entity_types": ["person"]}, r"entity_types\[0\]"),
        ({"entity_types": [{"name": "  "}]}, "an empty name"),
        ({"entity_types": [{"name": 3}]}, r"entity_types\[0\]\.name"),
        ({"entity_types": [{"name": "person"}, {"name": "Person"}]}, "entity type 'Person' repeats 'person'"),
        ({"entity_types": [{"name": "person", "colour": "red"}]}, r"entity_types\[0\]\.colour"),
        (
            {"entity_types": [{"name": "person"}, {"name": "place", "aliases": ["Person"]}]},
            "entity type 'Person' repeats 'person'",
        ),
        ({"entity_types": [{"name": "person", "aliases": "human"}]}, r"entity_types\[0\]\.aliases"),
        ({"entity_types": [{"name": "person", "examples": [""]}]}, r"entity_types\[0\]\.examples"),
        (
            SMALL | {"relation_types": [{"name": "eats", "head": ["dragon"]}]},
            "'eats', head: 'dragon' is no entity",
        ),
        (
            SMALL | {"relation_types": [{"name": "eats", "tail": ["food"]}]},
            "'eats', tail: 'food' is no entity",
        ),
        (SMALL | {"relation_types": [{"name": "eats"}, {"name": "Eats"}]}, "relation type 'Eats' repeats"),
        (SMALL | {"relation_types": [{"name": "eats", "head": "person"}]}, r"relation_types\[0\]\.head"),
        (
            SMALL | {"attribute_types": [{"name": "age", "entity_types": ["rock"]}]},
            "'rock' is no entity type",
        ),
        ({"Nodes": "person"}, "'Nodes' holds a text"),
        ({"Nodes": ["person", 7]}, r"Nodes\[1\] is 7"),
        ({"Nodes": []}, "at least 1"),
        ({"Nodes": ["person"], "Edges": []}, "the key 'Edges'"),
    ],
)
def test_a_malformed_schema_is_refused_with_its_reason(fields: Any, complaint: str) -> None:
    with pytest.raises(SchemaError, match=complaint):
        parsed(fields)
    # What names refer to, and that they stand once, is beyond a JSON Schema.
    if not any(word in complaint for word in ("repeats", "is no entity")):
        assert not FORMAT.is_valid(fields)


def test_many_faults_are_summed_up() -> None:
    with pytest.raises(SchemaError, match="and 4 more"):
        parsed({"entity_types": [{"name": number} for number in range(9)]})


def test_a_file_that_is_no_schema_is_refused(tmp_path: Path) -> None:
    broken, latin, deep = tmp_path / "broken.json", tmp_path / "latin.json", tmp_path / "deep.json"
    broken.write_text('{"entity_types": [', encoding="utf-8")
    latin.write_bytes('{"description": "café"}'.encode("latin-1"))
    deep.write_text("[" * 200_000, encoding="utf-8")
    with pytest.raises(SchemaError, match=r"broken\.json is no JSON: .* line 1, column 19"):
        load_schema(broken)
    with pytest.raises(SchemaError, match="is not UTF-8"):
        load_schema(latin)
    with pytest.raises(SchemaError, match="nested too deeply"):
        load_schema(deep)
    with pytest.raises(SchemaError, match="cannot be read: Is a directory"):
        load_schema(tmp_path)
    half = tmp_path / "half.json"
    half.write_text('{"Nodes": ["\\ud800"]}', encoding="utf-8")
    with pytest.raises(SchemaError, match="half a character"):
        load_schema(half)


@pytest.mark.parametrize("source", ["generic", ""])
def test_an_unknown_name_is_told_the_known_ones(source: str) -> None:
    with pytest.raises(SchemaError, match="general, general_zh"):
        load_schema(source)


def test_a_missing_file_is_told_apart_from_a_name() -> None:
    with pytest.raises(SchemaError, match=r"no schema file at nowhere\.json"):
        load_schema("nowhere.json")
