"""Answers that hold none: a form's placeholders, "unknown", and "the passages do not mention it"."""

from __future__ import annotations

import re

from ytrag_core.agent.claims import split_claims

__all__ = ["says_nothing", "without_placeholder"]

_PLACEHOLDER = re.compile(r"\A[\W_]*\Z")
_VAGUE = re.compile(
    r"(?:(?:the answer|it|this) is )?(?:unknown|n/a|none|null|unspecified|undetermined|unclear)"
    r"|not (?:(?:explicitly|clearly|directly) )?"
    r"(?:stated|mentioned|specified|given|provided|found|known|available|answered)\b.{0,80}"
    r"|no (?:answer|information|evidence|data)\b.{0,80}"
    r"|(?:答案)?(?:未知|不详|不知道|不明|无|暂无)"
    r"|(?:未|没有|没)(?:明确)?(?:提及|提到|说明|给出|找到|记载).{0,40}",
    re.IGNORECASE,
)
_MATERIAL = (
    r"(?:(?:given|provided|retrieved|available|cited|listed|above|following|numbered) "
    r"|(?:passages|facts) and )*"
    r"(?:passages?|facts?|evidence|context|information|texts?|documents?|sources?|knowledge base|material)"
    r"(?: (?:above|below|given|provided|retrieved|available|here|(?:and|or) (?:facts|passages)))*"
)
_SILENT = re.compile(
    rf"(?:unfortunately\W+)?(?:the |these |those )?{_MATERIAL}"
    r" (?:do(?:es)? not|don[’']t|doesn[’']t|cannot|can[’']t|did not|didn[’']t|lacks?)"
    r"(?: (?:explicitly|directly|clearly|seem to|appear to))*"
    r" (?:contain|mention|state|provide|say|specify|give|include|answer|tell|indicate|offer|reveal|name|show"
    r"|suffice)"
    rf"|none of the {_MATERIAL} "
    r"|there (?:is|are|was|were) (?:no|not enough|insufficient) (?:\w+ ){0,2}?"
    r"(?:information|mention|evidence|passages?|facts?|data|details?)\b"
    r"|(?:i|we|it) (?:cannot|can[’']t|could not|am unable to|is impossible to|is not possible to"
    r"|do not know|don[’']t know)\b"
    r"|(?:it|this|that|the (?:\w+ ){1,4}) ?is not (?:explicitly |directly )?"
    rf"(?:stated|mentioned|specified|given|provided|known|found|answered)\b[^,;]{{0,20}}(?:{_MATERIAL}|\Z)"
    r"|(?:抱歉\W*|很遗憾\W*)?(?:根据)?(?:以上|上述|所给的?|给出的?|提供的?|这些)*(?:段落|资料|材料|证据|事实|文中|信息|知识库)"
    r"(?:和(?:事实|段落))?(?:里|中)?(?:都|并|均|，)*(?:没有|未|没|不足以|无法|不能)"
    r"|(?:抱歉\W*|很遗憾\W*)?(?:我)?(?:无法|不能|没法)(?:(?:从|根据)\w{0,14})?(?:回答|确定|得知|判断|找到)",
    re.IGNORECASE,
)


_GOES_ON = re.compile(r"[;；:：]|\b(?:but|however|although|though)\b|但|不过|然而", re.IGNORECASE)


def without_placeholder(text: str) -> str:
    """Return a text, empty where it has no letter and no digit: the `...` of a form that was copied."""
    return "" if _PLACEHOLDER.match(text) else text


def says_nothing(text: str) -> bool:
    """Return whether a text says, in every sentence, that there is no answer.

    Parameters
    ----------
    text
        An answer in English or Chinese. One that goes on with an answer ("The passages do not say; from
        what I know ...") says something.
    """
    if not text.strip() or _PLACEHOLDER.match(text):
        return True
    claims = split_claims(text)
    return bool(claims) and all(_is_empty(claim.text.strip()) for claim in claims)


def _is_empty(sentence: str) -> bool:
    bare = sentence.strip(" .。!！\"'“”()（）*-")
    if _VAGUE.fullmatch(bare):
        return True
    return _SILENT.match(bare) is not None and not _GOES_ON.search(bare)
