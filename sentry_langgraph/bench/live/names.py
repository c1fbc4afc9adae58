"""What a measurement can be of, by name: nothing here is slow to import."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

Protocol: TypeAlias = Literal["native", "json"]
"""Tool calls of the API's own, or one JSON object a turn."""

Arm: TypeAlias = Literal["off", "rules", "rules-bare"]
"""`off`: the bare agent. `rules`: Sentry's defaults. `rules-bare`: the same, and the tools'
descriptions give nothing away."""

PROTOCOLS: tuple[Protocol, ...] = get_args(Protocol)
ARMS: tuple[Arm, ...] = get_args(Arm)
DOMAIN_NAMES = ("shop", "library", "fleet")
