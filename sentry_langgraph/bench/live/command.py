"""The command line of `sentry bench live`. What is slow to import is imported when it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sentry_langgraph.bench.live.names import ARMS, DOMAIN_NAMES, PROTOCOLS


def live(  # noqa: PLR0917 (options of the command line have no order)
    base_url: Annotated[
        str, typer.Option("--base-url", metavar="URL", help="An OpenAI-compatible API.")
    ],
    model: Annotated[str, typer.Option("--model", metavar="NAME", help="The model's name there.")],
    protocol: Annotated[
        str,
        typer.Option(
            "--protocol",
            metavar="|".join(PROTOCOLS),
            help="Tool calls of the API, or one JSON object a turn.",
        ),
    ] = "native",
    domain: Annotated[
        str, typer.Option("--domain", metavar="NAMES", help=f"Of {', '.join(DOMAIN_NAMES)}.")
    ] = ",".join(DOMAIN_NAMES),
    arms: Annotated[
        str, typer.Option("--arms", metavar="NAMES", help=f"Of {', '.join(ARMS)}.")
    ] = ",".join(ARMS),
    tasks: Annotated[
        int | None, typer.Option("--tasks", min=1, help="Only so many tasks of each domain.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="FILE", help="Keep each result here, and go on where it ended."
        ),
    ] = None,
    json_file: Annotated[
        Path | None,
        typer.Option("--json", metavar="FILE", help="Write the figures to FILE, as JSON."),
    ] = None,
    transcripts: Annotated[
        bool, typer.Option("--transcripts", help="Keep what was said, with --out.")
    ] = False,
    api_key_env: Annotated[
        str | None,
        typer.Option("--api-key-env", metavar="NAME", help="Environment variable with the key."),
    ] = None,
    timeout: Annotated[
        float, typer.Option("--timeout", min=1, help="Seconds to wait for one answer.")
    ] = 300.0,
    max_turns: Annotated[
        int, typer.Option("--max-turns", min=1, help="Calls of the model in one run.")
    ] = 16,
    max_tokens: Annotated[
        int, typer.Option("--max-tokens", min=16, help="Tokens of one answer.")
    ] = 256,
    parallel: Annotated[
        int, typer.Option("--parallel", min=1, max=64, help="Runs at the same time.")
    ] = 1,
) -> None:
    """Measure what Sentry does for a real model on tasks that can be checked."""
    for path, option in ((out, "--out"), (json_file, "--json")):
        if path is not None and not path.parent.is_dir():
            raise typer.BadParameter(f"there is no directory {path.parent}", param_hint=option)
    domains = _names(domain, DOMAIN_NAMES, "--domain")
    chosen = _names(arms, ARMS, "--arms")
    spoken = _names(protocol, PROTOCOLS, "--protocol")[0]
    from sentry_langgraph.bench.live.drive import drive  # noqa: PLC0415 - slow import

    drive(
        domains=domains,
        arms=chosen,
        protocol=spoken,
        tasks=tasks,
        max_turns=max_turns,
        transcripts=transcripts,
        out=out,
        json_file=json_file,
        base_url=base_url,
        model=model,
        api_key_env=api_key_env,
        timeout=timeout,
        max_tokens=max_tokens,
        parallel=parallel,
    )


def _names(text: str, known: tuple[str, ...], option: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    wrong = next((name for name in names if name not in known), None)
    if wrong is not None or not names:
        said = f"{wrong!r} is not one of" if wrong is not None else "give one of"
        raise typer.BadParameter(f"{said} {', '.join(known)}", param_hint=option)
    return names
