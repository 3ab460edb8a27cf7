"""A real HTTP server on this machine that speaks, or fails to speak, the chat-completions protocol."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True)
class Reply:
    """One HTTP answer."""

    body: str
    status: int = 200
    content_type: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0


def chat(text: Any, **fields: Any) -> Reply:
    """Return a proper chat completion."""
    message = {"role": "assistant", "content": text}
    usage = {"prompt_tokens": 120, "completion_tokens": 8, "total_tokens": 128}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return Reply(
        json.dumps({"id": "1", "object": "chat.completion", "choices": [choice], "usage": usage} | fields)
    )


def failure(status: int, message: str = "no", **headers: str) -> Reply:
    """Return an error in the protocol's form; clients need not wait before they try again."""
    body = json.dumps({"error": {"message": message, "type": "error"}})
    return Reply(body, status, headers={"retry-after-ms": "1", **headers})


@dataclass
class Endpoint:
    """A running server: where it is, and what it was asked."""

    base_url: str
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)


@contextmanager
def endpoint(*replies: Reply) -> Iterator[Endpoint]:
    """Serve the replies in turn, the last one for ever."""
    stopped = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers["content-length"])
            served.requests.append({"path": self.path, **json.loads(self.rfile.read(length))})
            served.headers.append({name.lower(): value for name, value in self.headers.items()})
            reply = replies[min(len(served.requests), len(replies)) - 1]
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
