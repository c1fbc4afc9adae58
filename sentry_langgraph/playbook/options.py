"""Settings of the playbook."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from sentry_langgraph.options import EnvName, Options, PositiveCount, Seconds, Share, Switch


class RankingOptions(Options):
    """How lessons are weighed.

    Attributes:
        half_life_days: Days after which a lesson that was not used counts half.
        prior_recoveries: Recoveries that every lesson is credited with beforehand.
        prior_relapses: Relapses that every lesson is charged with beforehand.
        quarantine_uses: Uses before a lesson can be quarantined.
        quarantine_below: A lesson is quarantined when the lower bound of its success falls
            below this share.
        credibility: How sure that lower bound is.
    """

    half_life_days: Annotated[float, Field(gt=0.0, le=36_500.0, allow_inf_nan=False)] = 30.0
    prior_recoveries: PositiveCount = 1
    prior_relapses: PositiveCount = 1
    quarantine_uses: PositiveCount = 5
    quarantine_below: Share = 0.2
    credibility: Annotated[float, Field(gt=0.5, lt=1.0, allow_inf_nan=False)] = 0.9


class PlaybookOptions(Options):
    """Where lessons are kept, and how they are found again.

    Attributes:
        kind: `chroma` keeps lessons across runs, `memory` for the life of the process, `none`
            keeps none.
        path: Directory of the embedded Chroma database. Relative paths start at the working
            directory of the moment the playbook is built. Nothing else should write there.
        host: Host of a Chroma server. Where it is set, `path` is not used.
        port: Port of the server.
        ssl: Whether the server is reached by HTTPS.
        token_env: Name of the environment variable that holds the server's token.
        token_header: The header that carries the token; `Authorization` as a bearer token.
        tenant: Tenant on the server.
        database: Database on the server.
        collection: The Chroma collection: 3 to 128 letters, digits, `.`, `_`, `-`.
        embeddings: `auto` (wordllama where it works, else hashed n-grams), `wordllama`,
            `hashed`, or `pkg.module:attribute` of a LangChain `Embeddings`: an object, a class
            or a factory without arguments.
        lock_timeout: Seconds to wait for other threads and processes.
        request_timeout: Seconds to wait for the server, per request.
        max_lessons: Most lessons kept; beyond it the least useful ones go.
        owner: Whose view of a shared playbook this is. Where it is set, new lessons carry it
            and only lessons that carry it are seen.
        ranking: How lessons are weighed.
    """

    kind: Literal["chroma", "memory", "none"] = "chroma"
    path: Annotated[str, StringConstraints(min_length=1, pattern=r"^[^\x00]+$")] = (
        ".sentry/playbook"
    )
    host: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._:\[\]-]+$")] | None = None
    port: Annotated[int, Field(strict=True, ge=1, le=65_535)] = 8000
    ssl: Switch = False
    token_env: EnvName | None = None
    token_header: Literal["Authorization", "X-Chroma-Token"] = "Authorization"
    tenant: Annotated[str, StringConstraints(min_length=3)] = "default_tenant"
    database: Annotated[str, StringConstraints(min_length=3)] = "default_database"
    collection: Annotated[
        str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{1,126}[A-Za-z0-9]$")
    ] = "sentry_playbook"
    embeddings: Annotated[
        str, StringConstraints(pattern=r"^(auto|wordllama|hashed|\w+(\.\w+)*:\w+(\.\w+)*)$")
    ] = "auto"
    lock_timeout: Seconds = 10.0
    request_timeout: Seconds = 10.0
    max_lessons: PositiveCount = 1000
    owner: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9@._-]{1,128}$")] | None = None
    ranking: RankingOptions = RankingOptions()

    @model_validator(mode="after")
    def _server_settings_need_a_host(self) -> PlaybookOptions:
        if self.host is None and (self.ssl or self.token_env):
            raise ValueError("`ssl` and `token_env` belong to a Chroma server: set `host` too")
        return self
