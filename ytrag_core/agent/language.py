"""The language to talk in, and the few texts that are said in it."""

from __future__ import annotations

import re
from importlib.resources import files
from typing import Literal

__all__ = ["Language", "phrase", "prompt", "question_language"]

Language = Literal["en", "zh"]

_CJK = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
_WORD = re.compile(r"[A-Za-z\u00c0-\u024f]+")

_PHRASES: dict[str, dict[Language, str]] = {
    "path": {"en": "The path that links them", "zh": "把它们连起来的路径"},
    "facts": {"en": "Facts", "zh": "事实"},
    "passages": {"en": "Passages", "zh": "段落"},
    "nothing": {
        "en": "Nothing in the knowledge base bears on this question.",
        "zh": "知识库中没有与这个问题有关的内容。",
    },
    "refusal": {
        "en": "The evidence found in the knowledge base does not answer this question.",
        "zh": "知识库中找到的证据不足以回答这个问题。",
    },
    "no_model": {
        "en": (
            "No language model is configured, so this is the evidence itself. For a written answer set "
            "YTRAG_LLM_BASE_URL, YTRAG_LLM_MODEL and, where the endpoint wants one, YTRAG_LLM_API_KEY."
        ),
        "zh": (
            "没有配置语言模型，以上是证据本身。若要得到成文的回答，请设置 YTRAG_LLM_BASE_URL、"
            "YTRAG_LLM_MODEL，以及（接口需要时）YTRAG_LLM_API_KEY。"
        ),
    },
}


def question_language(question: str) -> Language:
    """Return `zh` when the question has at least as many Chinese characters as Latin words, else `en`."""
    n_cjk = len(_CJK.findall(question))
    return "zh" if n_cjk and n_cjk >= len(_WORD.findall(question)) else "en"


def phrase(name: str, language: Language) -> str:
    """Return a fixed text; an unknown name is a `KeyError`."""
    return _PHRASES[name][language]


def prompt(name: str, language: Language) -> str:
    """Return the text of `agent/prompts/NAME.LANGUAGE.txt`, without its last line end."""
    resource = files("ytrag_core.agent.prompts") / f"{name}.{language}.txt"
    return resource.read_text(encoding="utf-8").removesuffix("\n")
