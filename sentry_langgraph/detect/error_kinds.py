"""What kind of failure an error text of a tool tells of.

The table knows names, not meanings: HTTP status codes (RFC 9110 §15, RFC 6585), canonical gRPC
codes (grpc.io, status codes), exception classes of Python, `requests`, `httpx`, `botocore` and
the SDKs of model providers, `errno` names, and the phrases that servers put beside them. A code
counts only where the text says that it is one: an order number 503 is no outage. What matches
nothing is a `tool_error`: the call itself was wrong, or the tool is.

A file that may not be read ("Permission denied") is a `tool_error` too: another path may work,
where other credentials would be needed for `auth_or_config`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from sentry_langgraph.records import Status
from sentry_langgraph.taxonomy import Label

_END = 600
"""Characters at each end of an error that are read: what went wrong stands at the beginning,
and in a traceback at the end."""

_CODE = (
    r"(?:\b(?:http(?:/\d(?:\.\d)?)?|status|status[ _-]?code|code|error|error[ _-]?code|"
    r"response)\b[\"']?\s{{0,2}}[:=(\[<-]?\s{{0,2}}[\"']?(?:{codes})\b{told}|"
    r"^\W{{0,3}}(?:{codes})\b{told}|"
    r"\b(?:{codes})\s{{0,2}}(?:(?:client|server) error|[:,-]?\s{{0,2}}(?:{reasons})))"
)


_TOLD = r"(?!\s{1,2}(?:is|was|are|has|have|does|not|of|items?)\b)"
"""A number that something is said of is a value, not a code."""


@dataclass(frozen=True, slots=True)
class _Table:
    """The texts of one kind. Most texts hold none of the stems, and the pattern is not tried."""

    label: Label
    stems: tuple[str, ...]
    pattern: re.Pattern[str]

    def fits(self, text: str) -> bool:
        return any(stem in text for stem in self.stems) and bool(self.pattern.search(text))


def _table(label: Label, codes: str, reasons: str, stems: str, *others: str) -> _Table:
    code = _CODE.format(codes=codes, reasons=reasons, told=_TOLD)
    pattern = re.compile("|".join((code, rf"\b(?:{reasons})", *others)))
    return _Table(label, (*codes.split("|"), *stems.split()), pattern)


_RATE_LIMITED = _table(
    Label.RATE_LIMITED,
    "429",
    r"too many requests",
    "many throttl rate ratelimit slow requestlimit exhausted quota limit exceeded retry",
    r"\brate[ _-]?limit(?:s|ed|ing)?\b",
    r"\bratelimit(?:error|exceeded|ed)?",
    r"\bthrottl(?:ed|ing)|throttlingexception",
    r"\btoomanyrequests|slow ?down error|requestlimitexceeded",
    r"\bresource[ _]?exhausted",
    r"\b(?:quota|usage limit|request limit|limit of requests)\b.{0,30}"
    r"\b(?:exceeded|reached|exhausted)",
    r"\bexceeded\b.{0,30}\b(?:quota|requests? per|rate)\b",
    r"\bretry[ -]after\b",
)
_AUTH = _table(
    Label.AUTH_OR_CONFIG,
    "401|403|407",
    r"unauthori[sz]ed|forbidden|proxy authentication required",
    "auth forbidden permission denied key credential token secret invalid_ environment config "
    "login log sign certificate",
    r"\bunauthenticated\b|\bnot authenticated\b",
    r"\bpermission_denied\b|\bpermissiondenied(?:error)?\b",
    r"\bauthentication(?:[ _]?(?:error|failed|failure|required))\b|authenticationerror",
    r"\bauthori[sz]ation (?:failed|required|error|denied)\b",
    r"\baccess[ _]?denied(?:exception)?\b|\baccess (?:is|was) denied\b",
    r"\b(?:invalid|missing|incorrect|expired|no|bad|wrong|unknown|revoked)\b.{0,24}"
    r"\b(?:api[ _-]?keys?|credentials?|access[ _-]?tokens?|auth[ _-]?tokens?|bearer tokens?|"
    r"client[ _-]?secret)\b",
    r"\b(?:api[ _-]?key|credentials?|(?:access|auth|bearer|session)[ _-]?token|token)\b.{0,24}"
    r"\b(?:invalid|missing|incorrect|has expired|expired|not (?:set|found|provided|configured)|"
    r"revoked|required)\b",
    r"\bnocredentialserror\b|\bexpiredtoken|\binvalid_?(?:client|grant|api_key)\b",
    r"\benvironment variable\b.{0,60}\b(?:not set|missing|unset|required|not defined)\b",
    r"\b(?:is|was) not configured\b|\bmissing configuration\b|\bconfiguration error\b|"
    r"\bimproperlyconfigured\b|\bmisconfigured\b",
    r"\b(?:login|log in|sign in) (?:is )?required\b",
    r"\bcertificate[ _]verify[ _]failed\b|\bsslcertverificationerror\b",
)
_OUTAGE = _table(
    Label.DEPENDENCY_OUTAGE,
    "500|502|503|504|520|521|522|523|524|529",
    r"internal server error|bad gateway|service unavailable|gateway time-?out",
    "time deadline connect econn etimed ehost enet eai_ enotf epipe "
    "temporar later remote maxretry resol getaddr nodename unreachable route known dns down "
    "unavailable responding reachable overload offline server maintenance gateway",
    r"\btime[sd]?[ -]?out\b(?! of)|\btimeout(?:error|exception)?\b|timeouterror\b|"
    r"\b(?:read|connect|pool)timeout(?:error)?\b|\bdeadline[ _]?exceeded\b",
    r"\btemporar(?:il)?y (?:unavailable|down|failure|error|overloaded)\b|\btry again later\b",
    r"\bconnection (?:was |has been )?(?:refused|reset|aborted|closed|lost|error|failed|dropped)\b",
    r"\b(?:api)?connectionerror\b|\bconnection(?:refused|reset|aborted)(?:error)?\b|"
    r"\bremote(?:disconnected|protocolerror)\b|\bconnecterror\b|\bnewconnectionerror\b|"
    r"\bmaxretryerror\b|\bendpointconnectionerror\b",
    r"\be(?:connrefused|connreset|timedout|hostunreach|netunreach|ai_again|notfound|pipe)\b",
    r"\b(?:name or service not known|name resolution|getaddrinfo|nodename nor servname|"
    r"could not resolve host|no route to host|(?:network|host) is unreachable|dns)\b",
    r"\b(?:failed|unable|could ?n[o']t|cannot|can't) to connect\b|"
    r"\bcould ?n[o']t connect\b|\bcannot connect\b",
    r"\b(?:server|service|backend|database|api|upstream|host)\b.{0,20}"
    r"\b(?:is down|unavailable|unreachable|not responding|not reachable|overloaded|offline)\b",
    r"\boverloaded(?:_error)?\b|\binternalservererror\b|\bserviceunavailable(?:error)?\b",
    r"^\W{0,3}(?:error|statuscode|code)?\W{0,3}unavailable\b|\bstatuscode\.unavailable\b",
    r"\b(?:down for|under) maintenance\b",
)
_KINDS = (_RATE_LIMITED, _AUTH, _OUTAGE)

TRANSIENT = frozenset({Label.RATE_LIMITED, Label.DEPENDENCY_OUTAGE})
"""Kinds that pass by themselves: the same call may work later."""

INFRASTRUCTURE = TRANSIENT | {Label.AUTH_OR_CONFIG}
"""Kinds that no other arguments help against."""


def classify(text: str, status: Status = "error") -> Label | None:
    """The environment label of a tool's result; None where the call worked.

    Args:
        text: The result as the model sees it; both its ends are read.
        status: Whether the environment said that the call worked. What a successful result
            says is data, whatever it says.
    """
    if status != "error":
        return None
    return _kind(text if len(text) <= 2 * _END else f"{text[:_END]}\n{text[-_END:]}")


@lru_cache(maxsize=512)
def _kind(text: str) -> Label:
    lower = text.lower()
    return next((table.label for table in _KINDS if table.fits(lower)), Label.TOOL_ERROR)


_NOT_THERE = re.compile(
    r"\b(?:not found|no such|does(?:n't| not) exist|not available|unavailable|"
    r"unknown (?:id|key|name)|no longer exists?)\b",
    re.IGNORECASE,
)
"""Plainer than `records.reads_as_not_there`: what it finds is refused, not only advised on."""


def not_there(text: str) -> bool:
    """Whether an error says that what was asked for does not exist.

    A service that is not reachable just now says nothing about the target.
    """
    return _NOT_THERE.search(text[:2000]) is not None and classify(text) not in INFRASTRUCTURE
