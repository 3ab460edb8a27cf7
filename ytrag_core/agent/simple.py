"""Tells, without a model, whether a question can be answered from one place."""

from __future__ import annotations

import re

from ytrag_core.llm.language import question_language

__all__ = ["is_simple"]

_LONGEST = 500
"""Whoever writes more characters than this asks for more than one thing."""
_ROLES = (
    "country|nation|state|province|county|district|city|town|village|birthplace|hometown|capital|continent"
    "|place|region|island|location|area|school|university|college|alma mater|company|firm|employer"
    "|organi[sz]ation|association|party|group|band|team|club|league|label|publisher|printer|house"
    "|performer|singer|artist|musician|director|producer|writer|author|composer|creator|maker|builder"
    "|designer|architect|painter|inventor|founder|discoverer|owner|keeper|leader|ruler|king|queen|president|mayor"
    "|spouse|wife|husband|partner|father|mother|parent|son|daughter|child|sibling|brother|sister|uncle|aunt"
    "|teacher|student|pupil|mentor|predecessor|successor|actor|actress|character|player|coach|person|man|woman"
    "|individual|people|ship|vessel|book|novel|film|movie|song|album|sport|language|currency|river"
)
_CLAUSE = re.compile(
    rf"\b(?:the|an?|that|this)\s+(?:[\w'’-]+\s+){{0,5}}?(?:{_ROLES})s?\s*,?\s*"
    r"(?:(?:in|on|at|of|from|to|by|under|with|aboard|for)\s+)?(?:wh(?:ere|ich|o|ose|om|en)|that)\b",
    re.IGNORECASE,
)
_ANY_CLAUSE = re.compile(
    r"\S[^?]*?[a-z'’]\s*,?\s+(?:(?:in|on|at|of|from|to|by|under|with|aboard|for)\s+which|whose|whom)\b"
)
_SILENT_CLAUSE = re.compile(
    rf"\b(?:the|an?)\s+(?:\w+\s+)?(?:{_ROLES})s?\s+(?:the\s+)?(?:[A-Z][\w'’.-]*\s+){{1,6}}(?:is|was|are|were|has|had|plays?|belongs?|comes?|came|died|lived|work(?:s|ed))\b"
)
_PARTICIPLE = re.compile(
    rf"\b(?:the|an?)\s+(?:\w+\s+){{0,2}}?(?:{_ROLES})s?\s+"
    r"(?:containing|including|named|called|considered|known|featuring|led|ruled|founded|written|made|owned|born|considered|located|bordering|releasing|publishing|holding|hosting)\b",
    re.IGNORECASE,
)
_ROLE_OF = re.compile(
    rf"\b(?:the\s+)?(?:[\w-]+\s+){{0,2}}?(?P<role>{_ROLES})s?(?:\s+of\s+(?:birth|death|origin|citizenship|residence))?\s+of\s+",
    re.IGNORECASE,
)
_POSSESSIVE = re.compile(
    rf"\b[\w.&-]+(?:'s|’s|s'|s’)\s+(?:[\w-]+\s+){{0,3}}?(?:{_ROLES})s?\b(?P<after>[^?]*)", re.IGNORECASE
)
_COMPOUND = re.compile(rf"[A-Z][\w'’]*\s+(?:{_ROLES})s?\b(?P<after>[^?]*)")
_ASKS_ROLE = re.compile(
    r"\A\W*(?:who|what|which)(?:'s|’s|\s+(?:is|was|are|were))?\s*(?:(?!(?:did|does|do|of|by|in)\b)\w+\s+){0,3}\Z"
    r"|\A\W*where\s+(?:is|was|are|were)\s+(?:the\s+)?(?:\w+\s+)?\Z|\A\W*\Z",
    re.IGNORECASE,
)
_LEADS = re.compile(
    r"\b(?:of|in|by|from|at|for)\s+(?:the\s+)?\Z|\b(?:of|in|by|from|at|for)\s+the\s", re.IGNORECASE
)
_TWICE = re.compile(r"\b(?:both|as well as|in common|same)\b", re.IGNORECASE)

_WHO_ZH = (
    "人|者|作者|作家|导演|歌手|演员|主角|编剧|作曲家|画家|设计师|建筑师|发明家|创始人|创办人|创建者|丈夫|妻子|父亲|母亲"
    "|儿子|女儿|兄弟|姐妹|哥哥|弟弟|老师|学生|弟子|师父|前任|继任者|国王|皇帝|总统|首领"
)
_WHAT_ZH = (
    "国家|城市|城镇|省份|县|州|村|地区|首都|出生地|故乡|家乡|母校|学校|大学|公司|商号|出版社|乐队|球队|组织"
    "|机构|船|书|小说|电影"
)
_BACK_ZH = re.compile(
    r"[，,；;].*(?:这|那|该)(?:位|家|个|座|所|部|本|条|艘|名|支|人)|[，,；;]\s*(?:他|她|它|其)(?!他|它|中|们)"
)
_CLAUSE_ZH = re.compile(
    rf"(?:[^的，。？]{{2,}}[了过在于]?[^的，。？]*)的(?:那[位个家座所部本艘名])?(?:{_WHO_ZH})(?!民|数|口|物|类|员|选|气)(?P<after>[^？?]*)"
)
_PLACE_ZH = re.compile(rf"所在的?(?:那[个座])?(?:{_WHAT_ZH})(?P<after>[^？?]*)")
_CHAIN_ZH = re.compile(rf"[^的，。？]+的(?:{_WHO_ZH}|{_WHAT_ZH})的(?P<after>[^？?]*)")
_NAMES_IT_ZH = re.compile(r"\A(?:是|为|叫|名叫|叫做|在|位于)?(?:谁|什么|哪|何|[？?]|\Z)")
_ENDS_ZH = re.compile(
    r"\A(?:们)?(?:分别|主要|究竟|到底|一共|共)?(?:都)?(?:是|为|叫|有|在|位于|包括|称为|名叫|叫做|被称为)?(?:谁|什么|哪|何|多少|几|怎)"
    r"|\A(?:们)?(?:是|为|叫|有|在|位于|包括)?[^的]{0,2}\Z"
)


def is_simple(question: str) -> bool:
    """Return whether a question seems to need one fact only, so that taking it apart is no use.

    Parameters
    ----------
    question
        In English or Chinese.

    Notes
    -----
    Rules about how questions nest one description in another: a relative clause on a role or a place ("the
    city where ..."), a role of a role ("the sibling of the performer of ..."), a possessive that goes on
    ("X's country left ..."), in Chinese a clause before 的 and a person or place that something further is
    asked about. A question that only looks plain ("the grandmother of ...") passes for simple.
    """
    if len(question) > _LONGEST:
        return False
    if question_language(question) == "zh":
        return not _nests_chinese(question)
    return not _nests_english(" ".join(question.split()))


def _nests_english(question: str) -> bool:
    if _CLAUSE.search(question) or _ANY_CLAUSE.search(question) or _SILENT_CLAUSE.search(question):
        return True
    if _PARTICIPLE.search(question) or _TWICE.search(question):
        return True
    for match in _ROLE_OF.finditer(question):
        if not _ASKS_ROLE.match(question[: match.start()]):
            return True
    possessive = _POSSESSIVE.search(question)
    if possessive and (_goes_on(possessive["after"]) or _LEADS.search(question[: possessive.start()])):
        return True
    compound = _COMPOUND.search(question)
    return compound is not None and _LEADS.search(question[: compound.start()]) is not None


def _goes_on(after: str) -> bool:
    """Return whether more is said behind a description than that it is."""
    words = re.sub(r"\A\s*(?:of (?:birth|death|origin|citizenship))?\s*(?:'s|’s)?", "", after).split()
    return len(words) >= 2


def _nests_chinese(question: str) -> bool:
    if _BACK_ZH.search(question):
        return True
    place = _PLACE_ZH.search(question)
    if place is not None and not _NAMES_IT_ZH.match(place["after"]):
        return True
    for pattern in (_CHAIN_ZH, _CLAUSE_ZH):
        for match in pattern.finditer(question):
            if match["after"] and not _ENDS_ZH.match(match["after"]):
                return True
    return False
