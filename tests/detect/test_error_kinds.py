"""An error text says what kind of failure it is: by codes, names and phrases, not by numbers."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from strategies import TEXTS

from sentry_langgraph.detect.error_kinds import INFRASTRUCTURE, TRANSIENT, classify
from sentry_langgraph.taxonomy import Label

KINDS = {
    Label.RATE_LIMITED: [
        "Error 429: too many requests",
        "429 Client Error: Too Many Requests for url",
        "HTTP 429",
        "status_code=429",
        '{"error": {"code": 429, "message": "slow down"}}',
        "openai.RateLimitError: Error code: 429",
        "RESOURCE_EXHAUSTED: quota",
        "Quota exceeded for metric",
        "ThrottlingException: Rate exceeded",
    ],
    Label.AUTH_OR_CONFIG: [
        "401 Unauthorized",
        "HTTP/1.1 403 Forbidden",
        "StatusCode.PERMISSION_DENIED",
        "Invalid API key provided",
        "Error: SHOP_API_KEY environment variable is not set",
        "Access denied for user 'root'@'localhost'",
        "AuthenticationError: no",
        "the token has expired",
        "NoCredentialsError: Unable to locate credentials",
        "SSLCertVerificationError: certificate verify failed",
    ],
    Label.DEPENDENCY_OUTAGE: [
        "error: request timed out",
        "error: 503 service unavailable",
        "Error: 500 Internal Server Error",
        "502 Bad Gateway",
        "ConnectionError: HTTPSConnectionPool",
        "httpx.ReadTimeout",
        "connect ECONNREFUSED 127.0.0.1:5432",
        "<_InactiveRpcError StatusCode.UNAVAILABLE>",
        "Error code: 529 - overloaded_error",
        "socket.gaierror: [Errno -2] Name or service not known",
        "the database is down",
        "Traceback (most recent call last):\n" + "  File x\n" * 400 + "TimeoutError",
    ],
    Label.TOOL_ERROR: [
        "",
        "Error: Order 503 not found",
        "KeyError: 500",
        "cat: /root/x: Permission denied",
        "Error: order #429 is not pending",
        "Error: time out of range",
        "Error: code 500 is not a valid zip",
        "Error: flight 401 not available",
        "ERROR 1064 (42000): You have an error in your SQL syntax",
        "Unexpected token } in JSON",
        "ModuleNotFoundError: No module named x",
        "division by zero",
    ],
}


@pytest.mark.parametrize(
    ("label", "text"), [(label, text) for label, texts in KINDS.items() for text in texts]
)
def test_each_kind_is_told_by_its_text(label: Label, text: str) -> None:
    """Codes count where the text calls them codes; what fits nothing is an error of the tool."""
    assert classify(text) is label


@pytest.mark.parametrize("text", ["429 too many requests", "401", "a page about outages: 503"])
def test_what_a_successful_result_says_is_data(text: str) -> None:
    """Only the environment says that a call failed."""
    assert classify(text, "success") is None


def test_the_groups_hold_what_their_names_say() -> None:
    """Access does not come back by waiting."""
    assert {Label.RATE_LIMITED, Label.DEPENDENCY_OUTAGE} == TRANSIENT
    assert {Label.AUTH_OR_CONFIG} == INFRASTRUCTURE - TRANSIENT


@given(TEXTS)
def test_any_text_has_a_kind(text: str) -> None:
    """One of the four, and the same for any case of letters."""
    assert classify(text) in KINDS


@pytest.mark.parametrize("unit", ["error ", "code: ", "invalid ", "exceeded quota ", "a", "\u0130"])
def test_long_texts_are_read_at_their_ends_only(unit: str) -> None:
    """A megabyte costs no more than a page."""
    text = unit * (1_000_000 // len(unit))
    started = time.perf_counter()
    classify(text)
    assert time.perf_counter() - started < 0.2
