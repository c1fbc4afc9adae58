"""The base of every options model: closed, frozen, with bounds; and what several of them share."""

from __future__ import annotations

from collections.abc import Mapping
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

HeaderName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9-]{1,64}$")]
"""The name of an HTTP header."""


class ModelOptions(Options):
    """An OpenAI-compatible chat model, for `sentry_langgraph.providers.chat_model`.

    Attributes:
        base_url: Where the API is; left out, the API of OpenAI. Without user and password.
        model: Name of the model, as the provider writes it.
        api_key_env: Name of the environment variable that holds the key; `null` for a server
            that asks for none. The key itself never stands in a file.
        timeout: Seconds to wait for an answer.
        max_retries: Tries after a failed request.
        max_tokens: Most tokens of one answer; left out, the provider decides.
        temperature: Randomness of the answer; left out, the provider decides.
        headers: HTTP headers to send, each with the name of the environment variable that
            holds its value.
    """

    base_url: (
        Annotated[
            str, StringConstraints(pattern=r"^https?://[A-Za-z0-9\[][^\s@?#]*$", max_length=2_000)
        ]
        | None
    ) = None
    model: Annotated[str, StringConstraints(pattern=r"^\S{1,200}$")] | None = None
    api_key_env: EnvName | None = "OPENAI_API_KEY"
    timeout: Seconds = 60.0
    max_retries: Annotated[Count, Field(le=20)] = 2
    max_tokens: PositiveCount | None = None
    temperature: Annotated[float, Field(ge=0.0, le=2.0, allow_inf_nan=False)] | None = None
    headers: Mapping[HeaderName, EnvName] = Field(default_factory=dict)
