"""Models by stage: shared limits and ledger, remembered replies, usage that an endpoint does not tell."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from tests.chat_endpoint import chat, endpoint, failure, streamed
from tests.clocks import PatientClock
from ytrag_core.config import LLMSettings
from ytrag_core.errors import ConfigError, LLMError, ReplyError
from ytrag_core.llm.cache import MemoryReplies, StoredReplies, reply_key
from ytrag_core.llm.chat import Completion, Message
from ytrag_core.llm.limits import RateLimits
from ytrag_core.llm.stages import STAGES, StageModels
from ytrag_core.llm.usage import Usage, UsageLedger
from ytrag_core.storage.meta import MetaStore

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence
    from pathlib import Path

MESSAGES = [Message("system", "Be brief."), Message("user", "Who?")]
REPLY = Completion("Ada", 120, 8, "stop")


@dataclass
class Counting:
    """Says the same, and counts; cannot stream."""

    reply: Completion | LLMError = REPLY
    n_asked: int = 0
    schemas: list[Any] = field(default_factory=list)

    def complete(
        self, messages: Sequence[Message], *, max_tokens: int, schema: Mapping[str, Any] | None = None
    ) -> Completion:
        self.n_asked += 1
        self.schemas.append(schema)
        if isinstance(self.reply, LLMError):
            raise self.reply
        return self.reply


def drained(stream: Generator[str, None, Completion]) -> tuple[list[str], Completion]:
    pieces = []
    while True:
        try:
            pieces.append(next(stream))
        except StopIteration as stop:
            return pieces, stop.value


def test_each_stage_has_its_model_and_all_share_the_rest() -> None:
    clock = PatientClock()
    settings = LLMSettings(base_url="http://localhost/v1", model="large")
    with endpoint(chat("ok"), chat("ok"), chat("ok"), streamed("o", "k")) as served:
        settings = settings.model_copy(update={"base_url": served.base_url})
        limits = RateLimits(60.0, clock=clock)
        models = StageModels.of_endpoint(settings, {"extract": "small", "judge": "small"}, limits=limits)
        for stage in ("extract", "judge", "reason"):
            models.model(stage).complete(MESSAGES, max_tokens=9)
        assert drained(models.model("reason").stream(MESSAGES, max_tokens=9))[0] == ["o", "k"]
    assert [request["model"] for request in served.requests] == ["small", "small", "large", "large"]
    assert models.ledger.by_stage() == {
        "extract": Usage(1, 120, 8),
        "judge": Usage(1, 120, 8),
        "reason": Usage(2, 240, 16),
    }
    assert models.ledger.total() == Usage(4, 480, 32)
    assert models.limits is limits
    assert models.model("extract").identity == f"small at {served.base_url}"


def test_what_an_endpoint_refuses_is_learnt_once_for_all_stages_of_a_model() -> None:
    with endpoint(failure(400, "Use max_completion_tokens"), chat("ok")) as served:
        models = StageModels.of_endpoint(LLMSettings(base_url=served.base_url, model="m"))
        for stage in STAGES:
            models.model(stage).complete(MESSAGES, max_tokens=9)
    assert len(served.requests) == len(STAGES) + 1


def test_unknown_stages_are_told() -> None:
    models = StageModels(Counting())
    with pytest.raises(ConfigError, match="no stage 'think'; there are extract, decompose"):
        models.model("think")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="no stage 'think'"):
        StageModels(Counting(), {"think": Counting()})  # type: ignore[dict-item]


def test_usage_that_is_not_told_is_estimated() -> None:
    models = StageModels(Counting(Completion("Ada Lovelace")))
    done = models.model("reason").complete(MESSAGES, max_tokens=9)
    assert done.estimated
    assert 0 < done.completion_tokens < 8
    assert done.prompt_tokens > 4
    assert models.ledger.total() == Usage(1, done.prompt_tokens, done.completion_tokens)


def test_failures_are_counted_too() -> None:
    models = StageModels(
        Counting(LLMError("gone")),
        {"judge": Counting(ReplyError("empty", prompt_tokens=7, completion_tokens=2))},
    )
    with pytest.raises(LLMError):
        models.model("reason").complete(MESSAGES, max_tokens=9)
    with pytest.raises(ReplyError):
        models.model("judge").complete(MESSAGES, max_tokens=9)
    assert models.ledger.by_stage() == {"reason": Usage(1), "judge": Usage(1, 7, 2)}


def test_a_stream_that_breaks_off_is_counted() -> None:
    with endpoint(streamed("a", lost=True)) as served:
        models = StageModels.of_endpoint(LLMSettings(base_url=served.base_url, model="m"))
        with pytest.raises(LLMError, match="middle of its reply"):
            drained(models.model("reason").stream(MESSAGES, max_tokens=9))
    broken = models.ledger.total()
    assert broken.llm_calls == 1
    assert broken.prompt_tokens > 0 < broken.completion_tokens


def test_a_stream_that_nobody_reads_to_its_end_is_counted() -> None:
    with endpoint(streamed("a", "b")) as served:
        models = StageModels.of_endpoint(LLMSettings(base_url=served.base_url, model="m"))
        stream = models.model("reason").stream(MESSAGES, max_tokens=9)
        assert next(stream) == "a"
        stream.close()
    used = models.ledger.by_stage()["reason"]
    assert used.llm_calls == 1
    assert used.prompt_tokens > 0 < used.completion_tokens


def test_who_cannot_stream_gives_one_piece() -> None:
    models = StageModels(Counting())
    assert drained(models.model("reason").stream(MESSAGES, max_tokens=9)) == (["Ada"], REPLY)
    assert models.ledger.total() == Usage(1, 120, 8)


def test_replies_are_remembered() -> None:
    model = Counting()
    models = StageModels(model, cache=MemoryReplies())
    first = models.model("reason").complete(MESSAGES, max_tokens=9)
    again = models.model("judge").complete(MESSAGES, max_tokens=9)
    assert (first.cached, again.cached) == (False, True)
    assert (again.text, Usage.of(again), again.finish_reason) == ("Ada", Usage(), "stop")
    assert drained(models.model("reason").stream(MESSAGES, max_tokens=9)) == (["Ada"], again)
    assert model.n_asked == 1
    assert models.ledger.by_stage() == {"reason": Usage(1, 120, 8)}
    for messages, max_tokens, schema in (
        (MESSAGES[1:], 9, None),
        (MESSAGES, 10, None),
        (MESSAGES, 9, {"type": "object"}),
    ):
        assert not models.model("reason").complete(messages, max_tokens=max_tokens, schema=schema).cached
    assert model.n_asked == 4
    assert not models.with_cache(None).model("reason").complete(MESSAGES, max_tokens=9).cached
    assert models.ledger.total().llm_calls == 5


@pytest.mark.parametrize("reply", [Completion("Ad", 120, 8, "length"), LLMError("gone"), ReplyError("empty")])
def test_what_is_cut_or_failed_is_not_remembered(reply: Completion | LLMError) -> None:
    cache = MemoryReplies()
    models = StageModels(Counting(reply), cache=cache)
    for _ in range(2):
        try:
            assert not models.model("reason").complete(MESSAGES, max_tokens=9).cached
        except LLMError:
            continue
    assert models.ledger.total().llm_calls == 2


def test_the_same_model_elsewhere_is_another() -> None:
    one, other = (
        StageModels.of_endpoint(LLMSettings(base_url=f"http://user:pass@{host}/v1", model="m")).model(
            "reason"
        )
        for host in ("a", "b")
    )
    assert one.identity != other.identity
    assert "pass" not in one.identity
    assert reply_key(one.identity, MESSAGES, 9) != reply_key(other.identity, MESSAGES, 9)


def test_memory_keeps_what_was_used_last() -> None:
    cache = MemoryReplies(2)
    for key in "ab":
        cache.put(key, Completion(key))
    assert cache.get("a") == Completion("a")
    cache.put("c", Completion("c"))
    assert (cache.get("a"), cache.get("b"), cache.get("c")) == (Completion("a"), None, Completion("c"))


def test_replies_outlive_the_process_in_the_knowledge_base(tmp_path: Path) -> None:
    model = Counting(Completion("周岚 \ud83d", 1, 2, "stop"))
    for _ in range(2):
        with MetaStore(tmp_path / "meta.sqlite") as meta:
            models = StageModels(model, cache=StoredReplies(meta))
            done = models.model("summarise").complete(MESSAGES, max_tokens=9)
            assert done.text == "周岚 \ud83d"
    assert model.n_asked == 1
    with MetaStore(tmp_path / "meta.sqlite", writable=False) as meta:
        reader = StageModels(model, cache=StoredReplies(meta, writable=False))
        assert reader.model("summarise").complete(MESSAGES, max_tokens=9).cached
        assert not reader.model("summarise").complete(MESSAGES, max_tokens=10).cached


def test_a_stored_reply_of_another_version_is_asked_for_again(tmp_path: Path) -> None:
    with MetaStore(tmp_path / "meta.sqlite") as meta:
        cache = StoredReplies(meta)
        for key, payload in (("a", '{"texts": []}'), ("b", "no JSON"), ("c", "[]"), ("d", '{"text": 5}')):
            meta.put_reply(key, "chat", payload)
            assert cache.get(key) is None


def test_the_ledger_adds_up_under_threads() -> None:
    ledger = UsageLedger()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: ledger.add(STAGES[n % 5], Usage(1, n, 2 * n)), range(1000)))
    total = ledger.total()
    assert total == Usage(1000, 499_500, 999_000)
    assert total.total_tokens == 1_498_500
    assert set(ledger.by_stage()) == set(STAGES)
    assert UsageLedger().total() == Usage()


def test_prompts_are_the_users_where_there_are_any(tmp_path: Path) -> None:
    (tmp_path / "evidence.en.txt").write_text("{question}", encoding="utf-8")
    models = StageModels(Counting(), prompts=tmp_path)
    assert models.prompt("evidence", "en") == "{question}"
    assert models.with_cache(None).prompt("evidence", "en") == "{question}"
    assert "{passages}" in models.prompt("evidence", "zh")
