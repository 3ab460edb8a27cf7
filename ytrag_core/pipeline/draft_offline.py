"""Types that passages show without a language model: of names, of what sentences say, of words between."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from ytrag_core.documents.segmentation import chinese_share, chinese_tokens
from ytrag_core.documents.sentences import split_sentences
from ytrag_core.extraction import chinese, english
from ytrag_core.extraction.offline import extract_offline
from ytrag_core.extraction.words import VERBS
from ytrag_core.schema.draft import Found
from ytrag_core.schema.model import type_key
from ytrag_core.schema.resemblance import relation_core

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ytrag_core.documents.model import Chunk
    from ytrag_core.extraction.model import Extraction
    from ytrag_core.pipeline.report import Progress
    from ytrag_core.schema.model import GraphSchema, TypeKind

__all__ = ["find_offline", "stated_class"]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_CHINESE = 0.3
_LONGEST_RELATION = 4
_LONGEST_CHINESE = 6
_LINKS = frozenset({english.MENTIONED, english.ALIAS, chinese.MENTIONED, chinese.ALIAS, "的", "是", "为"})
_EMPTY_WORDS = _words("""
    a about according after against all also among and around as at based be been before beginning
    between both but by called comprising during each early first following for formerly from had has
    have he her his how in include includes including into is it its late like made more most named near
    new no not now of on one only or other out over own since so some specifically starting such than
    that the their them then there these they this those through to two under until up use used using
    via was well were when where which while who whose will with within without name work
""")
_ENDINGS = frozenset({"of", "by", "in", "to", "at", "from", "for", "against", "near", "on"})
_SPEECH = _words("""
    added asked answered began continued cried exclaimed replied returned said says thought told
""")
_IS_A = re.compile(
    r"\b(?:is|was|are|were)\s+(?:(?:also|now|then)\s+)?(?:an?|one\s+of\s+the|the)\s+"
    r"((?:[\w'’-]+\s+){0,6}?)([a-z][a-z-]{2,})"
    r"(?=\s+(?:of|in|on|at|by|for|from|to|with|near|that|which|who|whose|where|and|or|as|whom|between|under)\b"
    r"|\s+\w+(?:ed|ing)\b|\s+(?:born|held|made|set|built|known|written|won|led)\b|[,.;:()]|\s*$)"
)
_PERSON_NOUN = re.compile(r"(?:er|or|ist|ian|man|woman|person|king|queen|bishop|saint|politician)$")
_NO_CLASS = _words("""
    area body capital case end fact first form group kind last lot member most name need number one part
    place process result same second series set side source state subject term thing time type use way
    work
""")
_PLACED = re.compile(r"(?:is|was|are|were) (?:an?|one of the|the) (?:[\w-]+ ){1,5}in$")
_CHINESE_IS_A = re.compile(
    r"[，,\s]?(?:是|为)(?:一[个位种座部家名本首条项所只支]|[^，。；！？\n]{0,18}?的|)([^，。；！？\n的]{1,12})[。；，]"
)
_NO_CHINESE_CLASS = _words("""
    人 之一 事 者 时候 情况 东西 地方 问题 方面 原因 结果 关系 意思 样子
""")


def find_offline(
    chunks: Sequence[Chunk], seed: GraphSchema, progress: Progress
) -> dict[TypeKind, list[Found]]:
    """Return the types that passages show, each as often as it was seen.

    Parameters
    ----------
    chunks
        The passages.
    seed
        The general schema of their language, in whose types the offline extractor speaks.
    progress
        Told of each passage.

    Returns
    -------
    dict
        By kind, ungrouped: entity types are the extractor's own and the classes that sentences state (`X was
        a lighthouse in ...`); relations are the words that lead from one name to another, attributes those
        that lead to a date or quantity.
    """
    collector = _Collector(seed)
    for done, chunk in enumerate(chunks, 1):
        collector.read(chunk, extract_offline(chunk))
        progress("look for types", done, len(chunks))
    return collector.found


def stated_class(sentence: str, is_chinese: bool) -> str:
    """Return the noun that a sentence says its subject is, in lower case, or nothing.

    Parameters
    ----------
    sentence
        One sentence: `Apollo 11 was a spaceflight conducted by ...` gives `spaceflight`.
    is_chinese
        Whether it is Chinese: `少林寺是一座位于河南的佛教寺院。` gives `寺院`.
    """
    if not is_chinese:
        match = _IS_A.search(sentence)
        noun = match[2] if match else ""
        return "" if noun in _NO_CLASS or noun in _EMPTY_WORDS else noun
    match = _CHINESE_IS_A.search(sentence)
    if match is None:
        return ""
    words = [word for word, flag in chinese_tokens(match[1]) if flag.startswith("n")]
    noun = words[-1] if words and match[1].endswith(words[-1]) else ""
    return "" if len(noun) < 2 or noun in _NO_CHINESE_CLASS else noun


class _Collector:
    """Counts types over passages."""

    def __init__(self, seed: GraphSchema) -> None:
        self.found: dict[TypeKind, list[Found]] = {"entity": [], "relation": [], "attribute": []}
        self._seed = seed
        self._rows: dict[tuple[TypeKind, str], Found] = {}
        self._seen: set[tuple[str, str]] = set()

    def read(self, chunk: Chunk, extraction: Extraction) -> None:
        types = {mention.name: mention.type for mention in extraction.entities if mention.type}
        self._read_classes(chunk, extraction, types)
        for mention in extraction.entities:
            kind = types.get(mention.name, "")
            if kind:
                # Things count once, however often they are named; what is named often is a good example.
                row = self._count("entity", kind, mention.name)
                row.count -= (kind, mention.name) in self._seen
                self._seen.add((kind, mention.name))
        for head, relation, tail in extraction.triples:
            # What is a city in a country is located in it.
            core = "located in" if _PLACED.match(relation) else relation_core(relation)
            if relation not in _LINKS and _says_something(core):
                row = self._count("relation", core, f"{head} | {tail}", form=relation)
                row.heads[self._type(types, head)] += 1
                row.tails[self._type(types, tail)] += 1
        for entity, attribute, value in extraction.attributes:
            core = relation_core(attribute)
            if _says_something(core):
                self._count("attribute", core, value, form=attribute).heads[self._type(types, entity)] += 1

    def _read_classes(self, chunk: Chunk, extraction: Extraction, types: dict[str, str]) -> None:
        """Learn what sentences say their subject is; that says more than the extractor's guess."""
        is_chinese = chinese_share(chunk.text) >= _CHINESE
        names = [mention.name for mention in extraction.entities]
        for start, end in split_sentences(chunk.text):
            sentence = chunk.text[start:end].strip()
            subject = next((name for name in names if sentence.startswith(name)), "")
            if not subject and start == 0 and chunk.start == 0 and names:
                subject = names[0]
            noun = stated_class(sentence, is_chinese) if subject else ""
            if not noun or (types.get(subject) and _PERSON_NOUN.search(noun)):
                continue
            if _PERSON_NOUN.search(noun):
                types.setdefault(subject, "person")
            else:
                types[subject] = noun

    def _type(self, types: dict[str, str], name: str) -> str:
        kind = types.get(name, "")
        return self._seed.canonical("entity", kind) if kind else ""

    def _count(self, kind: TypeKind, name: str, example: str, form: str = "") -> Found:
        row = self._rows.get((kind, type_key(name)))
        if row is None:
            row = self._rows[kind, type_key(name)] = Found(kind, name)
            self.found[kind].append(row)
        row.count += 1
        row.examples[example] += 1
        if form and type_key(form) != type_key(name):
            row.forms[form] += 1
        return row


@lru_cache(maxsize=100_000)
def _is_chinese_verb(relation: str) -> bool:
    """Tell whether Chinese words are verbs, with prepositions at most: no names, adverbs, conjunctions."""
    flags = [flag for _, flag in chinese_tokens(relation)]
    return flags[0][0] in "vp" and any(flag[0] == "v" for flag in flags) and all(f[0] in "vpu" for f in flags)


def _says_something(relation: str) -> bool:
    """Tell whether the words between two names state something, or only hold a sentence together."""
    if chinese_share(relation) >= _CHINESE:
        return 2 <= len(relation) <= _LONGEST_CHINESE and _is_chinese_verb(relation)
    words = relation.split()
    if not 1 <= len(words) <= _LONGEST_RELATION or not all(word.isalpha() for word in words):
        return False
    telling = [word for word in words if len(word) > 2 and word not in _EMPTY_WORDS and word not in _SPEECH]
    is_verb = any(word in VERBS or word.endswith(("ed", "ing", "en", "es")) for word in telling)
    return bool(telling) and (is_verb or words[-1] in _ENDINGS)
