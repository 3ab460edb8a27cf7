"""A real HTTP server on this machine that speaks, or fails to speak, the chat-completions protocol."""

from __future__ import annotations

import json
import threading
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@dataclass(frozen=True)
class Reply:
    """One HTTP answer: the body, then pieces with pauses between them; `stalled` never ends it."""

    body: str
    status: int = 200
    content_type: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    pieces: tuple[bytes, ...] = ()
    stalled: bool = False
    lost: bool = False
    pause: float = 0.0


USAGE = {"prompt_tokens": 120, "completion_tokens": 8, "total_tokens": 128}


def chat(text: Any, **fields: Any) -> Reply:
    """Return a proper chat completion; `finish_reason` and `reasoning_content` go where they belong."""
    message = {"role": "assistant", "content": text}
    if "reasoning_content" in fields:
        message["reasoning_content"] = fields.pop("reasoning_content")
    choice = {"index": 0, "message": message, "finish_reason": fields.pop("finish_reason", "stop")}
    return Reply(
        json.dumps({"id": "1", "object": "chat.completion", "choices": [choice], "usage": USAGE} | fields)
    )


def streamed(
    *texts: Any,
    usage: Any = USAGE,
    finish_reason: str | None = "stop",
    done: bool = True,
    stalled: bool = False,
    lost: bool = False,
) -> Reply:
    """Return a chat completion as events, one a text; `None` stands for an event without content.

    Parameters
    ----------
    usage
        Sent in an event of its own; None leaves it out.
    finish_reason, done
        None and False leave out the event that ends the reply and the mark that ends the stream.
    stalled, lost
        After the texts the server falls silent, or closes the connection in the middle.
    """
    events: list[dict[str, Any]] = [
        {"choices": [{"index": 0, "delta": {"role": "assistant", "content": text}, "finish_reason": None}]}
        for text in texts
    ]
    broken = stalled or lost
    if finish_reason is not None and not broken:
        events.append({"choices": [{"index": 0, "delta": {}, "finish_reason": finish_reason}]})
    if usage is not None and not broken:
        events.append({"choices": [], "usage": usage})
    pieces = [f"data: {json.dumps(event, ensure_ascii=False)}\n\n".encode() for event in events]
    if done and not broken:
        pieces.append(b"data: [DONE]\n\n")
    return Reply("", content_type="text/event-stream", pieces=tuple(pieces), stalled=stalled, lost=lost)


def failure(status: int, message: str = "no", **headers: str) -> Reply:
    """Return an error in the protocol's form; clients need not wait before they try again."""
    body = json.dumps({"error": {"message": message, "type": "error"}})
    return Reply(body, status, headers={"retry-after-ms": "1", **headers})


@dataclass
class Endpoint:
    """A running server: where it is, what it was asked, and the requests whose silence was waited for."""

    base_url: str
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    waited_for: list[int] = field(default_factory=list)

    def await_requests(self, n: int) -> None:
        """Wait until so many requests were read: a client may have given up before."""
        end = time.monotonic() + 300
        while len(self.requests) < n:
            assert time.monotonic() < end, f"{len(self.requests)} of {n} requests came"
            time.sleep(0.002)


@contextmanager
def endpoint(*replies: Reply) -> Iterator[Endpoint]:
    """Serve the replies in turn, the last one for ever."""

    def in_turn(n_asked: int, request: dict[str, Any]) -> Reply:
        return replies[min(n_asked, len(replies)) - 1]

    with answering(in_turn) as served:
        yield served


@contextmanager
def relay(base_url: str) -> Iterator[Endpoint]:
    """Serve what another endpoint answers: a witness of what it was asked. Streams come in one piece."""

    def forward(n_asked: int, request: dict[str, Any]) -> Reply:
        asked = {name: value for name, value in request.items() if name != "path"}
        address = base_url.removesuffix("/v1") + request["path"]
        sent = urllib.request.Request(
            address, json.dumps(asked).encode(), {"content-type": "application/json"}
        )
        try:
            with urllib.request.urlopen(sent, timeout=900) as answer:
                return Reply(answer.read().decode(), content_type=answer.headers["content-type"])
        except urllib.error.HTTPError as error:
            with error:
                return Reply(error.read().decode(), error.code)

    with answering(forward) as served:
        yield served


@contextmanager
def answering(answer: Callable[[int, dict[str, Any]], Reply]) -> Iterator[Endpoint]:
    """Serve what `answer` returns for the number of a request, from 1, and its body with its path."""
    stopped = threading.Event()
    mutex = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers["content-length"])
            request = {"path": self.path, **json.loads(self.rfile.read(length))}
            with mutex:
                served.requests.append(request)
                served.headers.append({name.lower(): value for name, value in self.headers.items()})
                n_asked = len(served.requests)
            reply = answer(n_asked, request)
            if reply.delay:
                stopped.wait(reply.delay)
            payload = reply.body.encode()
            self.send_response(reply.status)
            self.send_header("content-type", reply.content_type)
            if not reply.pieces:
                self.send_header("content-length", str(len(payload)))
            elif reply.lost:
                self.send_header("content-length", str(sum(map(len, reply.pieces)) + 100))
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.end_headers()
            for piece in (payload, *reply.pieces):
                self.wfile.write(piece)
                self.wfile.flush()
                if reply.pause:
                    stopped.wait(reply.pause)
            if reply.stalled and not stopped.wait(60):
                served.waited_for.append(n_asked)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 64

        def handle_error(self, request: object, client_address: object) -> None:
            """A client that timed out has gone; that is what the test wants."""

    server = Server(("127.0.0.1", 0), Handler)
    served = Endpoint(f"http://127.0.0.1:{server.server_port}/v1")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield served
    finally:
        stopped.set()
        server.shutdown()
        server.server_close()
        thread.join()
