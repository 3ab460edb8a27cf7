"""Prompts: texts in files, English and Chinese, that a user's own files may replace.

A prompt is a text with places to fill, as `str.format` has them: `{question}`; a literal brace is doubled.
"""

from __future__ import annotations

import logging
import re
from functools import cache
from importlib.resources import files
from string import Formatter
from typing import TYPE_CHECKING

from ytrag_core.errors import ConfigError
from ytrag_core.llm.language import LANGUAGES, Language

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["check_prompts", "prompt", "prompt_names"]

_log = logging.getLogger(__name__)

_FILE = re.compile(r"(?P<name>[a-z][a-z0-9_]*)\.(?P<language>[a-z]{2})\.txt")
_PACKAGE = "ytrag_core.llm.prompts"
_FALLBACK: Language = "en"
_MAX_BYTES = 1_000_000


def prompt(name: str, language: Language, folder: Path | None = None) -> str:
    """Return a prompt, to be filled by `str.format`.

    Parameters
    ----------
    name
        Which one, of `prompt_names()`.
    language
        The language wanted. What there is not in it is English.
    folder
        A user's own prompts: its `NAME.LANGUAGE.txt` comes before the built-in one, file by file.

    Returns
    -------
    str
        Without the last line end of its file.

    Raises
    ------
    ConfigError
        When the user's file cannot be read, or has a place that the built-in prompt has not.
    KeyError
        When no prompt has that name.
    """
    builtin = _builtin(name, language)
    if folder is None:
        return builtin
    path = folder / f"{name}.{language}.txt"
    text = _read(path)
    if text is None:
        return builtin
    known = _places(builtin, f"the built-in prompt {name}.{language}")
    unknown = _places(text, str(path)) - known
    if unknown:
        raise ConfigError(
            f"{path} has {_listed(unknown)}, which nothing fills; the prompt {name} may have "
            f"{_listed(known) if known else 'no places at all'}, and a literal brace is written {{{{ or }}}}"
        )
    return text


def prompt_names() -> tuple[str, ...]:
    """Return the names of the built-in prompts, sorted."""
    found = (_FILE.fullmatch(entry.name) for entry in files(_PACKAGE).iterdir())
    return tuple(sorted({match["name"] for match in found if match}))


def check_prompts(folder: Path) -> None:
    """Refuse a folder of prompts of which one could not be used, or would never be looked at.

    One that leaves out a place of the built-in prompt is warned about.

    Raises
    ------
    ConfigError
        When there is no such folder, a file of it is called like no prompt, or `prompt` refuses one.
    """
    if not folder.is_dir():
        raise ConfigError(f"{folder} is no folder; wanted one with prompts, such as answer_open.en.txt")
    names = prompt_names()
    for path in sorted(folder.iterdir()):
        match = _FILE.fullmatch(path.name)
        if not match:
            continue
        languages: dict[str, Language] = {known: known for known in LANGUAGES}
        language = languages.get(match["language"])
        if match["name"] not in names or language is None:
            raise ConfigError(
                f"{path} replaces no prompt: there are {', '.join(names)}, "
                f"each in {' and '.join(LANGUAGES)}; rename or remove it"
            )
        own = _places(prompt(match["name"], language, folder), str(path))
        left_out = _places(_builtin(match["name"], language), path.name) - own
        if left_out:
            _log.warning("%s has no place for %s: the model will not be told", path, _listed(left_out))


@cache
def _builtin(name: str, language: str) -> str:
    for wanted in (language, _FALLBACK):
        resource = files(_PACKAGE) / f"{name}.{wanted}.txt"
        if resource.is_file():
            return resource.read_text(encoding="utf-8").removesuffix("\n")
    raise KeyError(f"there is no prompt {name!r}; there are {', '.join(prompt_names())}")


def _read(path: Path) -> str | None:
    if not path.is_file():
        return None
    try:
        raw = path.read_bytes()
        text = raw.decode("utf-8-sig").replace("\r\n", "\n").removesuffix("\n")
    except OSError as error:
        raise ConfigError(f"the prompt {path} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError:
        raise ConfigError(f"the prompt {path} is not in UTF-8; save it so") from None
    if len(raw) > _MAX_BYTES or not text.strip():
        state = "empty; remove it to get the built-in one" if not text.strip() else "longer than a megabyte"
        raise ConfigError(f"the prompt {path} is {state}")
    return text


def _places(text: str, where: str) -> frozenset[str]:
    """Return the names of the places in a prompt; `where` is named in the error."""
    try:
        parsed = list(Formatter().parse(text))
    except ValueError as error:
        raise ConfigError(f"{where}: {error}; a literal brace is written {{{{ or }}}}") from None
    names = set()
    for _, name, form, conversion in parsed:
        if name is None:
            continue
        if form or conversion or not name.isidentifier():
            place = name + (f"!{conversion}" if conversion else "") + (f":{form}" if form else "")
            raise ConfigError(
                f"{where} has the place {{{place[:60]}}}; wanted a plain name such as {{question}}; "
                "a literal brace is written {{ or }}"
            )
        names.add(name)
    return frozenset(names)


def _listed(names: frozenset[str]) -> str:
    return ", ".join(f"{{{name}}}" for name in sorted(names))
