"""What else a user could pick: published rules of other projects, and packages from PyPI.

A rule of a project that can't be installed alone is written anew from its documented thresholds,
each in a file of its own with its source. A package is run as it is, where it is installed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

from sentry_langgraph.bench.peers.browser_use import BrowserUse
from sentry_langgraph.bench.peers.deerflow import DeerFlow
from sentry_langgraph.bench.peers.events import Level, Rule
from sentry_langgraph.bench.peers.gemini_cli import GeminiCli
from sentry_langgraph.bench.peers.longguard import LongGuard, RepeatsOnly
from sentry_langgraph.bench.peers.loopguard import LoopGuard
from sentry_langgraph.bench.peers.openclaw import OpenClaw
from sentry_langgraph.bench.peers.openhands import OpenHands
from sentry_langgraph.bench.peers.triage import Triage


@dataclass(frozen=True, slots=True)
class Peer:
    """A rule to compare with.

    Attributes:
        name: What the tables call it.
        source: Where its rule is published.
        make: Makes a rule for one run.
        levels: What it can do, the mildest first.
        package: The distribution on PyPI that is run; empty where the rule is written anew.
    """

    name: str
    source: str
    make: Callable[[], Rule]
    levels: tuple[Level, ...]
    package: str = ""


PEERS: tuple[Peer, ...] = (
    Peer("OpenHands", "https://github.com/OpenHands/software-agent-sdk", OpenHands, ("stop",)),
    Peer("Gemini CLI", "https://github.com/google-gemini/gemini-cli", GeminiCli, ("stop",)),
    Peer("browser-use", "https://github.com/browser-use/browser-use", BrowserUse, ("warning",)),
    Peer("DeerFlow", "https://github.com/bytedance/deer-flow", DeerFlow, ("warning", "stop")),
    Peer("OpenClaw", "https://github.com/openclaw/openclaw", OpenClaw, ("warning", "stop")),
    Peer(
        "longguard",
        "https://pypi.org/project/longguard/",
        LongGuard,
        ("warning", "stop"),
        "longguard",
    ),
    Peer(
        "longguard, repeats only",
        "https://pypi.org/project/longguard/",
        RepeatsOnly,
        ("warning",),
        "longguard",
    ),
    Peer(
        "loopguard-runtime",
        "https://pypi.org/project/loopguard-runtime/",
        LoopGuard,
        ("warning", "stop"),
        "loopguard-runtime",
    ),
    Peer(
        "triage-agent",
        "https://pypi.org/project/triage-agent/",
        Triage,
        ("warning",),
        "triage-agent",
    ),
)
"""All that is compared with, in the order of the tables."""


@dataclass(frozen=True, slots=True)
class Lineup:
    """What takes part.

    Attributes:
        peers: The rules that run.
        versions: Of the packages among them.
        missing: Why the others don't, by name.
    """

    peers: tuple[Peer, ...]
    versions: dict[str, str]
    missing: dict[str, str]


def lineup() -> Lineup:
    """The peers that can run here; of the others, why not."""
    peers: list[Peer] = []
    versions: dict[str, str] = {}
    missing: dict[str, str] = {}
    for peer in PEERS:
        try:
            if peer.package:
                versions[peer.package] = version(peer.package)
            peer.make()
        except PackageNotFoundError:
            missing[peer.name] = f"not installed: pip install {peer.package}"
        except Exception as error:  # a package of others: whatever it does, the rest is measured
            missing[peer.name] = f"it can't be started: {type(error).__name__}: {error}"
        else:
            peers.append(peer)
    return Lineup(tuple(peers), versions, missing)
