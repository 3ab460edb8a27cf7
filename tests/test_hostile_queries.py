"""Questions as people and programs send them: shouted, wide, decomposed, endless, without any name."""

from __future__ import annotations

import json
import math
import unicodedata
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from tests.bases import write_edges, write_facts, write_openie
from tests.chat_endpoint import Reply, endpoint
from ytrag_core.agent.paths import path_line
from ytrag_core.config import ROUTES, LLMSettings, RetrievalSettings
from ytrag_core.errors import ConfigError, QueryError
from ytrag_core.evaluation.datasets import Question
from ytrag_core.evaluation.run import evaluate
from ytrag_core.knowledge_base import KnowledgeBase
from ytrag_core.llm.chat import Message
from ytrag_core.llm.openai_model import OpenAIModel
from ytrag_core.retrieval.lexicon import Lexicon, build_lexicon, split_units
from ytrag_core.retrieval.mentions import find_mentions

if TYPE_CHECKING:
    from ytrag_core.embedding.encoder import Encoder
    from ytrag_core.retrieval.model import Evidence

QUESTION = "Who founded the house that printed The Drowned Almanac?"
HOSTILE = [
    "?",
    "the of is a",
    "🎉👩‍👩‍👧",
    "nul\0nul",
    "\ud800 half",
    "[bold]{0} %s[/bold]",
    "\u0301\u0301",
    "１９８４",
    "灯塔" * 1000,
    "Paris " * 400,
]


def facts_of(evidence: Evidence) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(json.dumps(evidence.to_json(), allow_nan=False))
    assert all(math.isfinite(value) for value in document.pop("timings_ms").values())
    del document["question"]
    return document


@pytest.fixture(scope="module")
def bases(tmp_path_factory: pytest.TempPathFactory, encoder: Encoder) -> dict[str, KnowledgeBase]:
    """Return knowledge bases that lack something: triples, names, passages, or another of anything."""
    root = tmp_path_factory.mktemp("odd")
    passages = [{"id": f"p{i}", "title": "", "text": f"Text number {i} about rivers."} for i in range(3)]
    write_openie(root / "no triples", passages, [{"passage_id": "p0", "entities": ["Rhine"], "triples": []}])
    write_openie(root / "no names", passages, [])
    write_facts(root / "one fact", [("Paris", "is", "Paris")])
    for name in ("no triples", "no names", "one fact"):
        KnowledgeBase.build(root / f"kb {name}", [root / name], format="openie", encoder=encoder)
    write_edges(
        root / "homonyms",
        pa.table(
            {
                "id": ["a", "b", "c", "d"],
                "name": ["Springfield", "Springfield", "Ohio", "Homer Simpson"],
                "type": ["city", "city", "state", "person"],
            }
        ),
        pa.table(
            {
                "src": ["a", "b", "d"],
                "relation": ["located in", "located in", "lives in"],
                "dst": ["c", "c", "b"],
            }
        ),
    )
    KnowledgeBase.build(root / "kb homonyms", [root / "homonyms"], format="edges", encoder=encoder)
    return {folder.name[3:]: KnowledgeBase.open(folder, encoder=encoder) for folder in root.glob("kb *")}


@pytest.mark.parametrize("name", ["no triples", "no names", "one fact", "homonyms"])
def test_no_question_and_no_route_breaks_an_odd_knowledge_base(
    bases: dict[str, KnowledgeBase], name: str
) -> None:
    for question in HOSTILE:
        for routes in (None, *((route,) for route in ROUTES)):
            evidence = bases[name].retrieve(question, top_k=1000, routes=routes)
            facts_of(evidence)
            assert all(set(chunk.routes) <= set(routes or ROUTES) for chunk in evidence.chunks)
        assert bases[name].ask(question).answer


@pytest.mark.parametrize(
    "asked",
    [
        QUESTION.upper(),
        QUESTION.lower(),
        "".join(chr(ord(sign) + 0xFEE0) if sign.isalnum() else sign for sign in QUESTION).replace(
            " ", "\u3000"
        ),
    ],
)
def test_the_way_a_question_is_typed_does_not_matter(sample_kb: KnowledgeBase, asked: str) -> None:
    plain, typed = sample_kb.retrieve(QUESTION), sample_kb.retrieve(asked)
    assert typed.question == asked
    assert [chunk.id for chunk in typed.chunks[:5]] == [chunk.id for chunk in plain.chunks[:5]]
    assert path_line(typed.paths[0].triples) == path_line(plain.paths[0].triples)


def test_accents_may_be_composed_or_not() -> None:
    name = "Nenciulești"
    lexicon = Lexicon.from_arrays(
        build_lexicon([(0, name), (1, unicodedata.normalize("NFD", "Besançon"))], [])
    )
    assert lexicon.lookup(unicodedata.normalize("NFD", name)) == (0,)
    assert lexicon.lookup("Besançon") == (1,)


def test_a_shouted_possessive_is_no_part_of_a_name() -> None:
    assert [unit.text for unit in split_units("DAMERJOG'S COUNTRY")] == ["damerjog", "country"]


@pytest.mark.parametrize("question", ["which country is damerjog in", "WHICH COUNTRY IS DAMERJOG IN"])
def test_where_the_question_has_one_case_the_names_tell_which_are_capitalised(question: str) -> None:
    names = ["Damerjog", "country", "in"]
    lexicon = Lexicon.from_arrays(build_lexicon(enumerate(names), names))
    settings = RetrievalSettings()
    found = find_mentions(question, lexicon, settings, names.__getitem__)
    weights = {mention.surface.lower(): mention.weight for mention in found}
    assert weights["country"] == pytest.approx(settings.common_noun_factor * weights["damerjog"])
    cased = find_mentions("Which country is Damerjog in", lexicon, settings, names.__getitem__)
    assert {mention.surface.lower(): mention.weight for mention in cased} == pytest.approx(weights)


def test_a_chinese_alias_of_a_common_noun_is_no_common_noun() -> None:
    names = ["salt organ", "Nimbrel"]
    lexicon = Lexicon.from_arrays(
        build_lexicon([*enumerate(names), (0, "盐管风琴"), (1, "宁布雷尔")], ["盐"])
    )
    found = find_mentions("宁布雷尔的盐管风琴", lexicon, RetrievalSettings(), names.__getitem__)
    assert [mention.weight for mention in found] == [0.5, 0.5]


def test_a_path_calls_each_node_one_way_and_no_two_nodes_alike(bases: dict[str, KnowledgeBase]) -> None:
    evidence = bases["homonyms"].retrieve("In which state is the Springfield that Homer Simpson lives in?")
    longest = max(evidence.paths, key=lambda path: len(path.triples))
    assert len(longest.triples) == 3
    for path in evidence.paths:
        ends = [{(triple.head, triple.head_hint), (triple.tail, triple.tail_hint)} for triple in path.triples]
        assert all(len(one & other) == 1 for one, other in pairwise(ends))
        assert len(set().union(*ends)) == len(path.triples) + 1
        assert "; " not in path_line(path.triples)


def test_an_endless_question_is_refused_with_its_length(sample_kb: KnowledgeBase) -> None:
    with pytest.raises(QueryError, match=r"1,000,000 characters.*shorten"):
        sample_kb.retrieve("灯塔" * 500_000)


def test_one_route_may_be_given_by_its_name(sample_kb: KnowledgeBase) -> None:
    assert facts_of(sample_kb.retrieve(QUESTION, routes="dense")) == facts_of(
        sample_kb.retrieve(QUESTION, routes=["dense"])
    )
    with pytest.raises(QueryError, match="'Dense'"):
        sample_kb.retrieve(QUESTION, routes="Dense")


def test_a_graph_without_passages_says_so_when_it_is_measured() -> None:
    question = Question("q", "Where?", supporting_ids=("p",))
    with pytest.raises(ConfigError, match="has no passages"):
        evaluate({"none": lambda *_: []}, [question], documents={})


@pytest.mark.parametrize("usage", ['"none"', "[]", '{"prompt_tokens": "many", "completion_tokens": -5}'])
def test_a_reply_with_nonsense_for_usage_is_still_a_reply(usage: str) -> None:
    body = f'{{"choices": [{{"message": {{"content": "Ismarra [1]"}}}}], "usage": {usage}}}'
    with endpoint(Reply(body)) as served:
        model = OpenAIModel(LLMSettings(base_url=served.base_url, model="m"))
        completion = model.complete([Message("user", "?")], max_tokens=5)
    assert (completion.text, completion.prompt_tokens, completion.completion_tokens) == ("Ismarra [1]", 0, 0)
