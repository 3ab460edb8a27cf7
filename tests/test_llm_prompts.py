"""Prompts in files, and a user's own in their place."""

from __future__ import annotations

from string import Formatter
from typing import TYPE_CHECKING

import pytest

from ytrag_core.errors import ConfigError
from ytrag_core.llm import prompts
from ytrag_core.llm.language import LANGUAGES, question_language
from ytrag_core.llm.prompts import check_prompts, prompt, prompt_names

if TYPE_CHECKING:
    from pathlib import Path


def places(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name is not None}


@pytest.mark.parametrize("name", prompt_names())
def test_every_prompt_is_there_in_both_languages_with_the_same_places(name: str) -> None:
    english, chinese = (prompt(name, language) for language in LANGUAGES)
    assert places(english) == places(chinese)
    assert question_language(chinese) == "zh"
    assert question_language(english) == "en"
    assert "" not in places(english)
    assert not english.endswith("\n")


def test_a_users_file_comes_first(tmp_path: Path) -> None:
    (tmp_path / "evidence.en.txt").write_bytes(b"\xef\xbb\xbfMine: {{x}}\r\n{question}\r\n")
    assert prompt("evidence", "en", tmp_path) == "Mine: {{x}}\n{question}"
    assert prompt("evidence", "en", tmp_path).format(question="Who?") == "Mine: {x}\nWho?"
    assert prompt("evidence", "zh", tmp_path) == prompt("evidence", "zh")
    assert prompt("evidence", "en") != prompt("evidence", "en", tmp_path)
    (tmp_path / "notes.md").write_text("not a prompt", encoding="utf-8")
    check_prompts(tmp_path)


def test_a_place_that_is_left_out_is_warned_about(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "evidence.en.txt").write_text("{passages} {question}", encoding="utf-8")
    check_prompts(tmp_path)
    (warning,) = caplog.messages
    assert "evidence.en.txt has no place for {facts}" in warning


def test_what_is_missing_in_a_language_is_english(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "only.en.txt").write_text("Only {this}\n", encoding="utf-8")
    monkeypatch.setattr(prompts, "files", lambda _: tmp_path)
    assert prompt("only", "zh") == "Only {this}"
    assert prompt_names() == ("only",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{question} {passage}", r"has \{passage\}, which nothing fills.*may have \{facts\}, \{passages\}"),
        ('{"answer": "{question}"}', r"literal brace is written \{\{ or \}\}"),
        ("{question", r"evidence\.en\.txt: .*literal brace is written \{\{ or \}\}"),
        ("question}", "literal brace"),
        ("{question.__class__}", r"has the place \{question\.__class__\}; wanted a plain name"),
        ("{question!r:>5}", r"has the place \{question!r:>5\}"),
        ("{} {0}", r"has the place \{\}"),
        ("  \n", "is empty; remove it"),
        ("x" * 1_000_001, "longer than a megabyte"),
    ],
)
def test_a_file_that_cannot_be_used_is_an_error(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "evidence.en.txt"
    path.write_text(text, encoding="utf-8")
    for look in (lambda: prompt("evidence", "en", tmp_path), lambda: check_prompts(tmp_path)):
        with pytest.raises(ConfigError, match=message) as caught:
            look()
        assert str(path) in str(caught.value)


def test_other_encodings_and_names_are_told(tmp_path: Path) -> None:
    (tmp_path / "evidence.zh.txt").write_bytes("问题".encode("gb18030"))
    with pytest.raises(ConfigError, match="not in UTF-8"):
        check_prompts(tmp_path)
    (tmp_path / "evidence.zh.txt").rename(tmp_path / "evidenz.zh.txt")
    with pytest.raises(ConfigError, match=r"replaces no prompt: there are answer_open.*each in en and zh"):
        check_prompts(tmp_path)
    (tmp_path / "evidenz.zh.txt").rename(tmp_path / "evidence.fr.txt")
    with pytest.raises(ConfigError, match=r"evidence\.fr\.txt replaces no prompt"):
        check_prompts(tmp_path)
    with pytest.raises(ConfigError, match="is no folder"):
        check_prompts(tmp_path / "none")


def test_an_unknown_prompt_is_a_mistake_of_ours() -> None:
    with pytest.raises(KeyError, match="there is no prompt 'evidenz'"):
        prompt("evidenz", "en")


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Who?", "en"),
        ("谁?", "zh"),
        ("谁是 Ada Lovelace 的老师？", "zh"),
        ("Ada Lovelace King 是谁", "zh"),
        ("Who is 周岚?", "en"),
        ("the teacher of 欧阳修远", "en"),
        ("周岚 Ada", "zh"),
        ("周 Ada Lovelace", "en"),
        ("周岚 is 谁", "zh"),
        ("", "en"),
    ],
)
def test_language(text: str, language: str) -> None:
    assert question_language(text) == language
