"""Types of entities in few coarse kinds, which tell what cannot be one thing."""

from __future__ import annotations

__all__ = ["coarse_kind", "kinds_conflict"]

_KINDS = {
    "person": "person people human character figure 人物 人 角色 人名",
    "place": "place location city country region village province state natural-feature structure building "
    "river mountain island 地点 地方 地名 地理 城市 国家 地区 建筑",
    "body": "organisation organization company institution agency party team university school "
    "组织 机构 公司 企业 团体 学校",
    "event": "event war battle election disaster 事件 战争",
    "work": "work creative-work book film song album painting novel poem opera game document "
    "作品 书 书籍 电影 歌曲 文献",
    "living": "living-thing animal plant species 动物 植物 生物 物种",
}
_KIND_OF = {word: kind for kind, words in _KINDS.items() for word in words.split()}
_METONYMS = frozenset({"place", "body"})


def coarse_kind(type_name: str) -> str:
    """Return `person`, `place`, `body`, `event`, `work` or `living` for a type's name, else nothing.

    Parameters
    ----------
    type_name
        As a schema or a language model calls it, in English or Chinese.
    """
    return _KIND_OF.get("-".join(type_name.casefold().replace("_", " ").split()), "")


def kinds_conflict(first: str, second: str) -> bool:
    """Tell whether things of two coarse kinds are never one thing.

    Parameters
    ----------
    first, second
        As `coarse_kind` returns them; empty conflicts with nothing, and a place is often its government.
    """
    return bool(first and second and first != second and {first, second} != _METONYMS)
