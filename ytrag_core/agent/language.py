"""The few texts that are said to the asker, in the language that was asked in."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ytrag_core.llm.language import Language

__all__ = ["phrase"]

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


def phrase(name: str, language: Language) -> str:
    """Return a fixed text; an unknown name is a `KeyError`."""
    return _PHRASES[name][language]
