"""As much of a Databricks workspace, on loopback, as a test answers for."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

Answer = Callable[[str, str, Any], tuple[int, Any] | None]
"""Method, path with its query, and body; status and answer. None is 404: the client looks around first."""


@contextmanager
def answering(answer: Answer) -> Iterator[str]:
    """The address of a server that answers so."""

    class Answering(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self._answer(json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}"))

        def do_GET(self) -> None:
            self._answer(None)

        def _answer(self, body: Any) -> None:
            status, said = answer(self.command, self.path, body) or (404, {})
            told = json.dumps(said).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(told)))
            self.end_headers()
            self.wfile.write(told)

        def log_message(self, *_args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Answering) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
