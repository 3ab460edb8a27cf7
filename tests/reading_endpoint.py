"""A real chat server that reads passages: it replies like a model, or misbehaves as a test wants."""

from __future__ import annotations

import json
import re
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from tests.chat_endpoint import Reply, chat

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Answer = Callable[["Asked"], Reply]

_FACT = re.compile(r"(\w+ \w+) built the (\w+ \w+)\.")


@dataclass(frozen=True)
class Asked:
    """One request: its last turn, all of its turns, and how often that last turn was asked so far."""

    text: str
    turns: list[dict[str, str]]
    body: dict[str, Any]
    n_before: int

    @property
    def passage(self) -> str:
        """The passage that it is about; empty where it is about none."""
        return self.text.rpartition("Passage:\n")[2] if "Passage:\n" in self.text else ""


@dataclass
class ReadingServer:
    """A running server, and what it was asked."""

    base_url: str
    asked: list[Asked] = field(default_factory=list)
    mutex: threading.Lock = field(default_factory=threading.Lock)

    def environment(self, **more: str) -> dict[str, str]:
        """Return what the command line has to be told."""
        return {"YTRAG_LLM_BASE_URL": self.base_url, "YTRAG_LLM_MODEL": "reader", **more}

    def passages(self) -> list[str]:
        """Return the passages that were sent, in order, repeats included."""
        return [asked.passage for asked in list(self.asked) if asked.passage]


def facts_of(passage: str) -> dict[str, Any]:
    """Return what a passage of `built` sentences says, in the form that is asked for."""
    found = _FACT.findall(passage)
    names = [(head, "person") for head, _ in found] + [(tail, "structure") for _, tail in found]
    return {
        "entities": [{"name": name, "type": kind, "aliases": []} for name, kind in names],
        "attributes": [],
        "relations": [{"head": head, "relation": "built", "tail": tail} for head, tail in found],
        "new_types": [],
    }


def reads(asked: Asked) -> Reply:
    """Reply as a good model does; communities are named by their number."""
    if asked.passage:
        return chat(json.dumps(facts_of(asked.passage)))
    numbers = [int(number) for number in re.findall(r"^\[(\d+)\]", asked.text, re.MULTILINE)]
    named = [{"id": n, "name": f"Group {n} of it", "summary": f"Summary {n}."} for n in numbers]
    return chat(json.dumps({"communities": named}))


@contextmanager
def reading_server(answer: Answer = reads) -> Iterator[ReadingServer]:
    """Serve `answer` for every request, each in a thread of its own."""
    stopped = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            turns = body["messages"]
            with served.mutex:
                text = turns[-1]["content"]
                n_before = sum(1 for earlier in served.asked if earlier.text == text)
                asked = Asked(text, turns, body, n_before)
                served.asked.append(asked)
            reply = answer(asked)
            if reply.delay:
                stopped.wait(reply.delay)
            payload = reply.body.encode()
            self.send_response(reply.status)
            self.send_header("content-type", reply.content_type)
            self.send_header("content-length", str(len(payload)))
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(payload)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 64

        def handle_error(self, request: object, client_address: object) -> None:
            """A client that was killed has gone; that is what the test wants."""

    server = Server(("127.0.0.1", 0), Handler)
    served = ReadingServer(f"http://127.0.0.1:{server.server_port}/v1")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield served
    finally:
        stopped.set()
        server.shutdown()
        server.server_close()
        thread.join()
