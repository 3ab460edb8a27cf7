"""Work beside a question: on the second core where it is free, else at once."""

from __future__ import annotations

import threading

import pytest

from ytrag_core.retrieval import beside
from ytrag_core.retrieval.beside import ALONE, SecondCore


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
