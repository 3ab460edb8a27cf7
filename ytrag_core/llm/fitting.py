"""A model's JSON brought into the form that was asked for: lists for texts, texts for numbers, and so on."""

from __future__ import annotations

import re
import types
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import AliasChoices, BaseModel

from ytrag_core.errors import ReplyError
from ytrag_core.llm.json_text import json_from_reply

__all__ = ["fit"]

_LISTS = (list, tuple, set, frozenset, Sequence)
_SEPARATOR = re.compile(r"[\n;；、]+")
_BULLET = re.compile(r"\A\s*(?:[-*•·]|\(?\d{1,3}[.)、])\s+")
_NUMBER = re.compile(r"[\s\[(【#]*([-+]?\d+)(?:([.,])(\d+))?\s*([%％]?)\D*")
_NAMING = ("name", "value", "text", "content", "answer", "title", "label", "id")
_YES = {"true", "yes", "y", "1", "是", "对", "真", "有"}
_NO = {"false", "no", "n", "0", "否", "不", "不是", "假", "没有", "无"}


def fit(value: Any, wanted: Any) -> Any:
    """Return `value` as near to the type `wanted` as can be done without guessing what it says.

    Parameters
    ----------
    value
        Parsed JSON.
    wanted
        A pydantic model, or any type that may be the annotation of its fields.

    Returns
    -------
    Any
        Parsed JSON; what cannot be brought nearer is returned as it is, for pydantic to complain about.
    """
    origin, arguments = get_origin(wanted), get_args(wanted)
    if origin is Annotated:
        return fit(value, arguments[0])
    if origin in (Union, types.UnionType):
        return _fit_union(value, arguments)
    if origin is Literal:
        return _fit_choice(value, arguments)
    if origin in _LISTS or wanted in _LISTS:
        return _fit_list(value, origin or wanted, arguments)
    if origin in (dict, Mapping) or wanted is dict:
        return _fit_mapping(value, arguments)
    if not isinstance(wanted, type):
        return value
    if issubclass(wanted, BaseModel):
        return _fit_model(value, wanted)
    if issubclass(wanted, Enum):
        return _fit_choice(value, tuple(member.value for member in wanted))
    return _fit_scalar(value, wanted)


def _fit_union(value: Any, arguments: tuple[Any, ...]) -> Any:
    choices = [argument for argument in arguments if argument is not type(None)]
    if value is None and len(choices) < len(arguments):
        return None
    if any(isinstance(choice, type) and type(value) is choice for choice in choices):
        return value
    return fit(value, choices[0]) if choices else value


def _fit_choice(value: Any, choices: tuple[Any, ...]) -> Any:
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, dict):
        value = _fit_scalar(value, str)
    if value in choices or not isinstance(value, str):
        return value
    plain = _plain(value)
    return next((choice for choice in choices if isinstance(choice, str) and _plain(choice) == plain), value)


def _fit_list(value: Any, kind: Any, arguments: tuple[Any, ...]) -> Any:
    fixed = kind is tuple and arguments and arguments[-1] is not Ellipsis
    if fixed:
        parts = list(value.values()) if isinstance(value, dict) else value
        if not isinstance(parts, list) or len(parts) != len(arguments):
            return value
        return [fit(part, argument) for part, argument in zip(parts, arguments, strict=True)]
    item = arguments[0] if arguments else Any
    if isinstance(value, str):
        value = _listed(value, item)
    elif isinstance(value, dict):
        value = _items_of(value, item)
    elif value is None:
        value = []
    elif not isinstance(value, list):
        value = [value]
    return [fit(part, item) for part in value if part is not None]


def _listed(text: str, item: Any) -> list[Any]:
    """Return the list that a text stands for."""
    inside = _json_inside(text)
    if isinstance(inside, list):
        return inside
    if inside is not None:
        return [inside]
    if item is not str:
        return [text] if text.strip() else []
    return [part for line in _SEPARATOR.split(text) if (part := _BULLET.sub("", line).strip())]


def _items_of(fields: dict[str, Any], item: Any) -> list[Any]:
    """Return the list that an object stands for: itself, or one item a key."""
    known = _keys(item) if _is_model(item) else {}
    if known and not any(_plain(key) in known for key in fields):
        values = list(fields.items())
        if all(isinstance(value, dict) for _, value in values) and "name" in known:
            return [{known["name"]: key, **value} for key, value in values]
        if len(values) == 1 and isinstance(values[0][1], list):
            return values[0][1]
    if item is str and not any(name in fields for name in _NAMING):
        return [value if isinstance(value, str) else key for key, value in fields.items()]
    return [fields]


def _fit_mapping(value: Any, arguments: tuple[Any, ...]) -> Any:
    if isinstance(value, str):
        inside = _json_inside(value)
        value = value if inside is None else inside
    if isinstance(value, list):
        pairs = [_pair(item) for item in value]
        if not all(pairs):
            return value
        value = dict(pair for pair in pairs if pair)
    if value is None:
        return {}
    if not isinstance(value, dict) or len(arguments) != 2:
        return value
    return {key: fit(item, arguments[1]) for key, item in value.items()}


def _pair(item: Any) -> tuple[str, Any] | None:
    values = list(item.values()) if isinstance(item, dict) else item
    if isinstance(item, dict) and len(item) == 1:
        values = list(*item.items())
    if isinstance(values, list) and len(values) == 2 and isinstance(values[0], str):
        return values[0], values[1]
    return None


def _fit_model(value: Any, wanted: type[BaseModel]) -> Any:
    known = _keys(wanted)
    if isinstance(value, str):
        inside = _json_inside(value)
        value = value if inside is None else inside
    if isinstance(value, str) and value.strip():
        value = _model_of_text(value, wanted, known)
    if isinstance(value, list):
        value = _model_of_list(value, wanted, known)
    if not isinstance(value, dict):
        return value
    named: dict[str, Any] = {}
    for key, item in value.items():
        named[known.get(_plain(key)) or key] = item
    if len(named) == 1 and not named.keys() & set(known.values()):
        (inside,) = named.values()
        records = isinstance(inside, list) and any(isinstance(item, dict) for item in inside)
        if records or isinstance(inside, dict):
            return _fit_model(inside, wanted)
    fields = {known[_plain(name)]: field for name, field in wanted.model_fields.items()}
    fitted = {}
    for key, item in named.items():
        field = fields.get(key)
        brought = item if field is None else fit(item, field.annotation)
        defaults = field is not None and not field.is_required()
        if brought is None and defaults and type(None) not in get_args(fields[key].annotation):
            continue  # null where the default belongs
        fitted[key] = brought
    return fitted


def _model_of_text(text: str, wanted: type[BaseModel], known: dict[str, str]) -> Any:
    """Return the object that a text stands for: the only field that must be there, if it is a text."""
    needed = [name for name, field in wanted.model_fields.items() if field.is_required()]
    needed = needed or list(wanted.model_fields)
    if len(needed) == 1 and wanted.model_fields[needed[0]].annotation is str:
        return {known[_plain(needed[0])]: text}
    return text


def _model_of_list(value: list[Any], wanted: type[BaseModel], known: dict[str, str]) -> Any:
    """Return the object that a list stands for: its only item, or the one field of it that it fits."""
    keys = {_plain(key) for item in value if isinstance(item, dict) for key in item}
    if len(value) == 1 and keys & known.keys():
        return value[0]
    lists = {
        name: get_args(field.annotation)
        for name, field in wanted.model_fields.items()
        if get_origin(field.annotation) in _LISTS
    }
    if len(lists) > 1:
        models = {name: item[0] for name, item in lists.items() if item and _is_model(item[0])}
        lists = {name: () for name, item in models.items() if keys & _keys(item).keys()}
    return {known[_plain(next(iter(lists)))]: value} if len(lists) == 1 else value


def _is_model(wanted: Any) -> bool:
    return isinstance(wanted, type) and issubclass(wanted, BaseModel)


def _keys(wanted: type[BaseModel]) -> dict[str, str]:
    """Map each name that a field may go by, in plain form, to the key that pydantic reads."""
    keys: dict[str, str] = {}
    for name, field in wanted.model_fields.items():
        alias = field.validation_alias or field.alias
        others = alias.choices if isinstance(alias, AliasChoices) else [alias]
        names = [other for other in others if isinstance(other, str)]
        key = names[0] if names else name
        for each in (*names, name):
            keys.setdefault(_plain(each), key)
    return keys


def _fit_scalar(value: Any, wanted: type) -> Any:
    if wanted is str:
        return _text(value)
    if wanted is bool and isinstance(value, str):
        word = value.strip().casefold()
        return True if word in _YES else False if word in _NO else value
    if wanted in (int, float) and isinstance(value, str):
        match = _NUMBER.fullmatch(value)
        if match:
            number = _number(*match.groups())
            return int(number) if wanted is int and number.is_integer() else number
    return value


def _number(whole: str, mark: str | None, rest: str | None, percent: str) -> float:
    """Return a number as it was written; a comma before three digits parts thousands, but for 0,875."""
    thousands = mark == "," and len(rest or "") == 3 and whole.strip("+-") != "0"
    number = float(f"{whole}{rest}" if thousands else f"{whole}.{rest or 0}")
    return number / 100.0 if percent else number


def _text(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, list):
        texts = [_text(item) for item in value]
        return ", ".join(texts) if all(isinstance(text, str) for text in texts) else value
    if isinstance(value, dict):
        named = [value[name] for name in _NAMING if isinstance(value.get(name), str)]
        texts = named or [item for item in value.values() if isinstance(item, str)]
        return texts[0] if named or len(texts) == 1 else value
    return value


def _json_inside(text: str) -> Any:
    """Return the JSON that a text is, None where it is none."""
    if (text.lstrip()[:1], text.rstrip()[-1:]) not in (("{", "}"), ("[", "]")):
        return None
    try:
        return json_from_reply(text)
    except ReplyError:
        return None


def _plain(name: str) -> str:
    """Return a name as it is compared: no case, no separators."""
    return re.sub(r"[\s_\-]+", "", name).casefold()
