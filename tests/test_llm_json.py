"""JSON, and records, out of what language models write."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ytrag_core.errors import LLMError, ReplyError
from ytrag_core.llm.structured import json_from_reply

if TYPE_CHECKING:
    from pathlib import Path

ADA = {"name": "Ada"}
PLAIN = st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(max_size=20)
JSON = st.recursive(
    PLAIN, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
)
OBJECTS = st.dictionaries(st.text(min_size=1, max_size=8), JSON, min_size=1, max_size=4)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('{"name": "Ada"}', ADA),
        ('\ufeff  {"name": "Ada"}\n', ADA),
        # Reasoning, fences, prose
        ('<think>is it {"name": "Bob"}?</think>\n{"name": "Ada"}', ADA),
        ('well, {"name": "Bob"}\n</think>{"name": "Ada"}', ADA),
        ('<think>It must be {"name": "Ada"}', ADA),
        ('```json\n{"name": "Ada"}\n```', ADA),
        ('```\n{"name": "Ada"}', ADA),
        ('Sure! Here it is:\n```JSON\n{"name": "Ada"}\n```\nAsk me for more [any time].', ADA),
        ('```json\n{"name": "```Ada```"}\n```', {"name": "```Ada```"}),
        ('好的，结果如下：{"name": "周岚"}。希望有帮助！', {"name": "周岚"}),
        ('As [1] and [2, 3] say: {"name": "Ada"} (see [4])', ADA),
        ('It is [probably] this: {"name": "Ada"}', ADA),
        ('First {"a": 1}, no: {"name": "Ada", "born": 1815}', {"name": "Ada", "born": 1815}),
        ('{"a": 1}\n{"a": 2}\n', [{"a": 1}, {"a": 2}]),
        ('{"a": 1},{"a": 2}', [{"a": 1}, {"a": 2}]),
        ("[1, 2]", [1, 2]),
        # Nearly JSON
        ("{'name': 'Ada', 'alive': False, 'city': None}", {"name": "Ada", "alive": False, "city": None}),
        ("{'name': 'it\\'s'}", {"name": "it's"}),
        ("Sure: {'t': [('a', 'b'), ('c',)], 'n': None}.", {"t": [["a", "b"], ["c"]], "n": None}),
        ("{'path': 'C:\\dir', 'n': 1}", {"path": "C:\\dir", "n": 1}),
        ("{'a': 1, 'a': {1, 2}}", {"a": [1, 2]}),
        ('{name: "Ada"}', ADA),
        ('{"name": "Ada",}', ADA),
        ('{"name": "Ada" // who else\n, /* or */ "born": 1815,}', {"name": "Ada", "born": 1815}),
        ("{“name”: “Ada”}", ADA),
        ('{"name": "the "big" one", "n": 2}', {"name": 'the "big" one', "n": 2}),
        ('{"name": "two\nlines"}', {"name": "two\nlines"}),
        ('{"name": "Ada" "born": 1815}', {"name": "Ada", "born": 1815}),
        # JSON in a string
        ('"{\\"name\\": \\"Ada\\"}"', ADA),
        (json.dumps(json.dumps(json.dumps(ADA))), ADA),
        ('{\\"name\\": \\"Ada\\"}', ADA),
        # Keys given twice
        ('{"t": [1], "t": [2]}', {"t": [1, 2]}),
        ('{"t": {"a": 1}, "t": {"b": 2}}', {"t": {"a": 1, "b": 2}}),
        ('{"name": "Bob", "name": "Ada"}', ADA),
        ('{"name": "Ada", "name": null}', ADA),
        # Numbers and characters that are none
        ('{"a": NaN, "b": [Infinity, -Infinity], "c": 1e999}', {"a": None, "b": [None, None], "c": None}),
        ('{"a": "\\ud800x"}', {"a": "\ufffdx"}),
        # Cut
        ('{"e": [{"n": "Ada"}, {"n": "Charles Bab', {"e": [{"n": "Ada"}]}),
        ('{"e": [{"n": "Ada", "t": ["per', {"e": []}),
        ('{"t": [["a", "b", "c"], ["d", "e"', {"t": [["a", "b", "c"]]}),
        ('{"e": [{"n": "Ada"}, {"n": "Bob"}', {"e": [{"n": "Ada"}, {"n": "Bob"}]}),
        ('["Ada", "Charles Bab', ["Ada"]),
        ('{"answer": "Ada, the first', {"answer": "Ada, the first"}),
        ('```json\n{"e": [{"n": "Ada"}, {"n": "Cha', {"e": [{"n": "Ada"}]}),
    ],
)
def test_what_is_found(text: str, wanted: Any) -> None:
    assert json_from_reply(text) == wanted


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "an empty text arrived"),
        ("  \n", "an empty text arrived"),
        ("I do not know.", "'I do not know.' arrived"),
        ("true", "'true' arrived"),
        ('"Ada"', "arrived"),
        ("42", "arrived"),
        ("x" * 5000, r"x\.\.\.' arrived"),
        ('("entity"<|>Ada<|>PERSON)', "arrived"),
    ],
)
def test_what_holds_no_json_is_named(text: str, told: str) -> None:
    with pytest.raises(ReplyError, match=told) as caught:
        json_from_reply(text)
    assert isinstance(caught.value, LLMError)
    assert len(str(caught.value)) < 250


@pytest.mark.parametrize("text", ["[" * 50_000, '{"a":' * 50_000, "{" * 10_000 + "}" * 10_000, "[{" * 3000])
def test_bottomless_replies_end(text: str) -> None:
    try:
        json_from_reply(text)
    except ReplyError:
        return


@given(OBJECTS, st.sampled_from(["", "Sure:\n", "```json\n", "<think>no</think>", "好的："]))
def test_sound_json_is_returned_as_it_is(value: dict[str, Any], before: str) -> None:
    after = "\n```" if before.startswith("```") else ""
    assert json_from_reply(before + json.dumps(value) + after) == value
    assert json_from_reply(before + json.dumps(value, ensure_ascii=False, indent=1) + after) == value


@given(st.text(alphabet="{}[]\"'\\:, \nan1e-.<think>/`", max_size=200))
@settings(max_examples=300)
def test_anything_is_json_or_an_error(text: str) -> None:
    try:
        value = json_from_reply(text)
    except ReplyError:
        return
    assert isinstance(value, dict | list)
    json.dumps(value, allow_nan=False)


def test_no_cut_invents_a_name(shared_data: Path) -> None:
    path = shared_data / "hongloumeng_extraction_zh" / "openie.jsonl"
    for line in path.read_text(encoding="utf-8").splitlines()[:5]:
        names = json.loads(line)["entities"]
        text = json.dumps(
            {"entities": [{"name": name, "about": f"书中的“{name}”"} for name in names], "done": True},
            ensure_ascii=False,
        )
        kept = 0
        for end in range(14, len(text)):
            entities = json_from_reply(text[:end]).get("entities") or []
            assert {entity["name"] for entity in entities} <= set(names)
            assert all(entity["about"] in text for entity in entities)
            assert len(entities) >= kept
            kept = len(entities)
        assert kept == len(names) > 0
