"""A model that knows every solution, in process and behind an OpenAI-compatible server."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from langchain_core.messages import AIMessage

from sentry_langgraph.bench.live.domains import DOMAINS
from sentry_langgraph.bench.live.world import Call, Domain, Task
from sentry_langgraph.testing import ScriptedChatModel, ai, call

TASKS = [(domain, task) for domain in DOMAINS.values() for task in domain.tasks]
IDS = [f"{domain.name}: {task.id}" for domain, task in TASKS]


def right_answer(task: Task) -> str:
    """The first alternative of every fact."""
    return " ".join(fact[0] for fact in task.facts) or "It is done."


def as_json(made: Call) -> str:
    """A call as one JSON object."""
    return json.dumps({"thought": "next", "tool": made[0], "args": dict(made[1])})


def json_model(calls: Sequence[Call], answer: str) -> ScriptedChatModel:
    """Makes `calls`, one JSON object a turn, and ends on `answer`."""
    finish = as_json(("finish", {"text": answer}))
    return ScriptedChatModel(script=[*map(as_json, calls), finish])


def native_model(calls: Sequence[Call], answer: str) -> ScriptedChatModel:
    """Makes `calls` as tool calls and ends on `answer`."""
    turns = [
        ai("", call(name, dict(args), id=f"c{number}")) for number, (name, args) in enumerate(calls)
    ]
    return ScriptedChatModel(script=[*turns, AIMessage(answer)])


def asked(messages: Sequence[Mapping[str, Any]]) -> tuple[Domain, Task]:
    """The task whose request stands in a history."""
    first = next(message["content"] for message in messages if message["role"] == "user")
    return next((domain, task) for domain, task in TASKS if task.request == first)


class Oracle:
    """Answers chat completions with the next call of the solution.

    Args:
        limit: Requests after which it refuses.
        usage: Whether it reports tokens.
    """

    def __init__(self, limit: int | None = None, usage: bool = True) -> None:
        self.limit = limit
        self.usage = usage
        self.requests: list[dict[str, Any]] = []
        self._lock = threading.Lock()

    def answer(self, request: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """Status and body for a request."""
        with self._lock:
            self.requests.append(request)
            if self.limit is not None and len(self.requests) > self.limit:
                return 400, {"error": {"message": "the oracle is tired", "type": "tired"}}
        messages = request["messages"]
        _, task = asked(messages)
        done = sum(message["role"] == "assistant" for message in messages)
        message: dict[str, Any] = {"role": "assistant", "content": right_answer(task)}
        if done < len(task.solution):
            name, args = task.solution[done]
            function = {"name": name, "arguments": json.dumps(dict(args))}
            calls = [{"id": f"c{done}", "type": "function", "function": function}]
            message = {"role": "assistant", "content": "", "tool_calls": calls}
        if "tools" not in request:
            finish = ("finish", {"text": right_answer(task)})
            text = as_json(task.solution[done] if done < len(task.solution) else finish)
            message = {"role": "assistant", "content": text}
        body: dict[str, Any] = {
            "id": "x",
            "object": "chat.completion",
            "created": 0,
            "model": "oracle",
            "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
        }
        if self.usage:
            tokens = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
            body["usage"] = tokens
        return 200, body


@contextmanager
def served(oracle: Oracle) -> Iterator[str]:
    """The oracle behind an API on loopback; gives its base URL."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            status, body = oracle.answer(json.loads(self.rfile.read(length)))
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
