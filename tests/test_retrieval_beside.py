"""Work beside a question: on the second core where it is free, else at once."""

from __future__ import annotations

import os
import signal
import threading
import time
import warnings
from typing import TYPE_CHECKING

import pytest

from ytrag_core.retrieval import beside
from ytrag_core.retrieval.beside import ALONE, SecondCore

if TYPE_CHECKING:
    from ytrag_core.knowledge_base import KnowledgeBase
    from ytrag_core.retrieval.model import Evidence

QUESTION = "In which city was the designer of the Thirteen Lamps Bridge born?"


def ask(kb: KnowledgeBase, question: str, routes: str | None) -> Evidence:
    return kb.retrieve(question, routes=None if routes is None else [routes])


def thread_name() -> str:
    return threading.current_thread().name


@pytest.fixture
def two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beside, "available_cores", lambda: 2)


@pytest.mark.usefixtures("two_cores")
def test_a_question_alone_has_the_second_core() -> None:
    core = SecondCore()
    with core.lent() as lent:
        assert lent.start(thread_name)().startswith("ytrag-beside")
        with core.lent() as second:
            assert second.start(thread_name)() == thread_name()
        assert lent.start(thread_name)().startswith("ytrag-beside")
    with core.lent() as lent:
        assert lent.start(thread_name)().startswith("ytrag-beside")


def test_on_one_core_the_caller_does_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beside, "available_cores", lambda: 1)
    with SecondCore().lent() as lent:
        assert lent.start(thread_name)() == thread_name()


@pytest.mark.usefixtures("two_cores")
def test_what_is_started_is_done_in_order_and_may_be_asked_for_twice() -> None:
    done: list[int] = []
    go = threading.Event()

    def first() -> int:
        assert go.wait(30)
        done.append(1)
        return 1

    def second(before: int) -> int:
        done.append(2)
        return before + 1

    with SecondCore().lent() as lent:
        one = lent.start(first)
        two = lent.start(lambda: second(one()))
        go.set()
        assert (two(), one(), two()) == (2, 1, 2)
    assert done == [1, 2]


@pytest.mark.usefixtures("two_cores")
def test_an_error_comes_out_where_the_result_is_asked_for() -> None:
    with SecondCore().lent() as lent:
        started = lent.start(int, "no number")
        with pytest.raises(ValueError, match="no number"):
            started()
    with pytest.raises(ValueError, match="no number"):
        ALONE.start(int, "no number")


@pytest.mark.usefixtures("two_cores")
def test_a_question_that_fails_gives_the_core_back() -> None:
    core = SecondCore()
    with pytest.raises(KeyError), core.lent():
        raise KeyError("the question")
    with core.lent() as lent:
        assert lent.start(thread_name)().startswith("ytrag-beside")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_process_asks_with_threads_of_its_own(sample_kb: KnowledgeBase) -> None:
    wanted = {
        routes: [hit.id for hit in ask(sample_kb, QUESTION, routes).chunks] for routes in (None, "dense")
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # that a process with threads is forked
        child = os.fork()
    if child == 0:
        same = False
        try:
            sample_kb.encoder.forget_queries()
            same = all(
                [hit.id for hit in ask(sample_kb, QUESTION, routes).chunks] == ids
                for routes, ids in wanted.items()
            )
        finally:
            os._exit(0 if same else 1)
    deadline = time.monotonic() + 60
    while (ended := os.waitpid(child, os.WNOHANG)) == (0, 0) and time.monotonic() < deadline:
        time.sleep(0.01)
    if ended == (0, 0):
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    assert ended == (child, 0)
