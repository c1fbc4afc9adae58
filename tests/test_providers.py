"""A chat model from settings talks to its server, with keys from the environment alone."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from sentry_langgraph.config import ModelOptions, load_config
from sentry_langgraph.errors import ConfigError
from sentry_langgraph.providers import chat_model


class _Server(HTTPServer):
    seen: list[dict[str, Any]]


class _Completions(BaseHTTPRequestHandler):
    """Answers every chat completion with the same words and keeps what it was asked."""

    server: _Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.seen.append({"path": self.path, "headers": dict(self.headers), **body})
        answer = {
            "id": "1",
            "object": "chat.completion",
            "created": 1,
            "model": body["model"],
            "choices": [
                {
                    "index": 0,
                    "finish_reason": "stop",
                    "message": {"role": "assistant", "content": "hello"},
                }
            ],
        }
        data = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[_Server]:
    """A chat completions server on the loopback interface."""
    found = _Server(("127.0.0.1", 0), _Completions)
    found.seen = []
    thread = threading.Thread(target=found.serve_forever, daemon=True)
    thread.start()
    yield found
    found.shutdown()
    thread.join()
    found.server_close()


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # the client keeps its sockets open
def test_the_model_speaks_to_its_server(server: _Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Address, name, key, headers and limits of the settings reach the server."""
    monkeypatch.setenv("SHOP_KEY", "secret-1")
    monkeypatch.setenv("SHOP_TITLE", "shop")
    section = {
        "base_url": f"http://127.0.0.1:{server.server_port}/v1",
        "model": "small",
        "api_key_env": "SHOP_KEY",
        "max_tokens": 9,
        "temperature": 0.0,
        "headers": {"X-Title": "SHOP_TITLE"},
    }
    model = chat_model(load_config({"model": section}).model)
    assert model.invoke("hi").content == "hello"
    (asked,) = server.seen
    assert asked["path"] == "/v1/chat/completions"
    assert (asked["model"], asked["max_completion_tokens"], asked["temperature"]) == ("small", 9, 0)
    headers = {name.lower(): value for name, value in asked["headers"].items()}
    assert (headers["authorization"], headers["x-title"]) == ("Bearer secret-1", "shop")
    assert "secret-1" not in repr(model)


def test_a_server_without_a_key() -> None:
    """`api_key_env: null` builds a model without any variable set."""
    options = ModelOptions(base_url="http://localhost:1/v1", model="small", api_key_env=None)
    assert chat_model(options)


@pytest.mark.parametrize("value", [None, "", "  "])
def test_a_missing_variable_is_named(monkeypatch: pytest.MonkeyPatch, value: str | None) -> None:
    """A variable that is not set, or is empty, is an error that names it and the setting."""
    monkeypatch.delenv("SHOP_KEY", raising=False)
    if value is not None:
        monkeypatch.setenv("SHOP_KEY", value)
    with pytest.raises(ConfigError, match="SHOP_KEY") as caught:
        chat_model(ModelOptions(model="small", api_key_env="SHOP_KEY"))
    assert caught.value.key == "model.api_key_env"
    with pytest.raises(ConfigError, match="SHOP_KEY"):
        chat_model(ModelOptions(model="m", api_key_env=None, headers={"X-Title": "SHOP_KEY"}))


def test_a_model_has_to_be_named() -> None:
    """Without a name there is no model."""
    with pytest.raises(ConfigError, match="no model is named"):
        chat_model(ModelOptions(api_key_env=None))


@pytest.mark.parametrize(
    "section",
    [
        {"base_url": "localhost:8000"},
        {"base_url": "https://user:pass@host/v1"},
        {"base_url": "file:///etc/passwd"},
        {"api_key_env": "lower_case"},
        {"headers": {"X Title": "A"}},
        {"temperature": 3},
        {"max_retries": 21},
        {"model": "two words"},
    ],
)
def test_unsound_settings(section: dict[str, Any]) -> None:
    """Addresses without scheme or with a password, and names that aren't names, are refused."""
    with pytest.raises(ConfigError):
        load_config({"model": section})
