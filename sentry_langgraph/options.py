"""The base of every options model: closed, frozen, with bounds."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, StringConstraints


class Options(BaseModel):
    """Settings of one part. An unknown key is an error, and nothing changes after loading."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)


EnvName: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[A-Z_][A-Z0-9_]{0,127}$")]
"""The name of an environment variable, in capitals: a key does not pass for one."""

Switch: TypeAlias = Annotated[bool, Field(strict=True)]
"""True or false; never a number or a word."""

Count: TypeAlias = Annotated[int, Field(strict=True, ge=0, le=1_000_000)]
"""A whole number from 0."""

PositiveCount: TypeAlias = Annotated[int, Field(strict=True, ge=1, le=1_000_000)]
"""A whole number from 1."""

Share: TypeAlias = Annotated[float, Field(strict=True, ge=0.0, le=1.0, allow_inf_nan=False)]
"""A share or a confidence, from 0 to 1."""

Seconds: TypeAlias = Annotated[float, Field(strict=True, gt=0.0, le=86_400.0, allow_inf_nan=False)]
"""A time in seconds, above 0."""
