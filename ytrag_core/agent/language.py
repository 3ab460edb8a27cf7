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
    "unfinished": {
        "en": "No answer was reached within the budget of this question.",
        "zh": "在这个问题的预算之内没有得出答案。",
    },
    "unusable": {
        "en": "The language model gave no usable reply.",
        "zh": "语言模型没有给出可用的回复。",
    },
    "failed": {
        "en": "The language model failed before there was an answer.",
        "zh": "语言模型在得出答案之前出错了。",
    },
    "known": {"en": "Found so far:", "zh": "目前已查到："},
    "own": {"en": " (the model's own knowledge)", "zh": "（模型自身的知识）"},
    "none": {"en": "(none)", "zh": "（无）"},
    "sub_questions": {"en": "Sub-questions:", "zh": "子问题："},
    "open": {"en": "open", "zh": "未解决"},
    "looked_up": {"en": "Looked up so far:", "zh": "已查过："},
    "last_open": {
        "en": 'This is the last step: decide for "answer" or "refuse" now.',
        "zh": '这是最后一步：现在必须决定 "answer" 或 "refuse"。',
    },
    "last_reject": {
        "en": 'This is the last step: decide for "answer" or "refuse" now.',
        "zh": '这是最后一步：现在必须决定 "answer" 或 "refuse"。',
    },
    "no_answer": {
        "en": (
            "The language model gave no answer within the budget of this question, so this is the evidence "
            "itself."
        ),
        "zh": "语言模型在这个问题的预算之内没有给出回答，以上是证据本身。",
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
