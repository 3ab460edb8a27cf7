"""The names under which models write records and their parts, English and Chinese."""

from __future__ import annotations

from typing import Literal

__all__ = [
    "ATTRIBUTES",
    "CONTAINERS",
    "ENTITIES",
    "KIND_WORDS",
    "NO_TYPES",
    "PARTS",
    "TRIPLES",
    "TYPES",
    "VAGUE",
    "WORDED_CONFIDENCE",
]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


ENTITIES = _words("entities entity_types nodes 实体 实体列表")
ATTRIBUTES = _words("attributes attribute properties 属性 属性列表")
TRIPLES = _words("relations triples relationships edges facts triplets 关系 三元组 关系列表")
TYPES = _words("new_types new_schema_types proposed_types 新类型")
CONTAINERS = ENTITIES | ATTRIBUTES | TRIPLES | TYPES
"""Names of the lists that a reply consists of."""

PARTS = {
    "name": ("name", "entity_name", "title", "text", "名称", "名字", "实体名", "实体名称", "entity", "实体"),
    "type": ("type", "entity_type", "label", "category", "class", "类型", "类别"),
    "aliases": ("aliases", "alias", "also_known_as", "other_names", "synonyms", "别名", "又名"),
    "attributes": ("attributes", "properties", "属性"),
    "entity": ("entity", "entity_name", "subject", "owner", "实体", "主体", "name"),
    "attribute": ("attribute", "attribute_name", "property", "key", "属性", "属性名", "name"),
    "value": ("value", "attribute_value", "值", "属性值"),
    "head": (
        "head",
        "head_entity",
        "source",
        "subject",
        "src",
        "source_entity",
        "from",
        "头",
        "头实体",
        "主语",
    ),
    "relation": (
        "relation",
        "relation_type",
        "relationship",
        "predicate",
        "rel",
        "label",
        "type",
        "verb",
        "关系",
        "谓语",
        "关系类型",
        "description",
    ),
    "tail": (
        "tail",
        "tail_entity",
        "target",
        "object",
        "dst",
        "tgt",
        "target_entity",
        "to",
        "尾",
        "尾实体",
        "宾语",
    ),
    "kind": ("kind", "种类"),
    "description": ("description", "definition", "meaning", "描述", "说明", "定义"),
    "confidence": ("confidence", "score", "probability", "certainty", "置信度"),
}
"""Part of a record -> the keys that it is written under, the likeliest first."""

KIND_WORDS: dict[str, Literal["entity", "relation", "attribute"]] = {
    **dict.fromkeys(("entity", "entity_type", "entities", "node", "nodes", "实体", "实体类型"), "entity"),
    **dict.fromkeys(
        ("relation", "relation_type", "relations", "edge", "relationship", "关系", "关系类型"), "relation"
    ),
    **dict.fromkeys(
        ("attribute", "attribute_type", "attributes", "property", "属性", "属性类型"), "attribute"
    ),
}

VAGUE = frozenset(
    {
        "n/a",
        "na",
        "none",
        "null",
        "unknown",
        "not specified",
        "not stated",
        "not mentioned",
        "unspecified",
        "?",
    }
    | {"-", "...", "无", "未知", "不详", "未提及", "没有", "暂无", "空"}
)
"""What models write where they have nothing to say; in a graph it would link all things unknown."""

NO_TYPES = VAGUE | _words(
    "entity entities attribute attributes relation relations relationship property value type node noun name"
    " other others misc miscellaneous string text 实体 属性 关系 类型 值 名称 其他 其它"
)
"""What models give as an entity's type where they have none: words of the form itself."""

WORDED_CONFIDENCE = {
    **dict.fromkeys(("very high", "certain", "很高"), 0.95),
    **dict.fromkeys(("high", "高"), 0.85),
    **dict.fromkeys(("medium", "moderate", "中", "中等"), 0.6),
    **dict.fromkeys(("low", "低"), 0.3),
}
