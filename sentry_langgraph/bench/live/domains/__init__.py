"""The domains of the live benchmark. All names and data are invented."""

from __future__ import annotations

from sentry_langgraph.bench.live.domains.fleet import FLEET
from sentry_langgraph.bench.live.domains.library import LIBRARY
from sentry_langgraph.bench.live.domains.shop import SHOP
from sentry_langgraph.bench.live.world import Domain

DOMAINS: dict[str, Domain] = {domain.name: domain for domain in (SHOP, LIBRARY, FLEET)}
"""By name."""

__all__ = ["DOMAINS"]
