"""What is public is what is listed, and importing it loads nothing heavy."""

from __future__ import annotations

import importlib
import importlib.resources
import json
import pkgutil
import subprocess
import sys
import textwrap
from typing import Any

import pytest

import sentry_langgraph

HEAVY = ("chromadb", "langchain", "langchain_core", "langchain_openai", "langgraph", "pydantic")


def fresh(program: str) -> Any:
    """What a program prints as JSON, run in a process of its own."""
    out = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        env={"PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(out.stdout)


def test_importing_the_package_loads_nothing_heavy() -> None:
    """Neither a database nor a framework: the command line starts at once."""
    loaded = fresh("""
        import json, sys
        import sentry_langgraph
        print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})))
    """)
    assert "sentry_langgraph" in loaded
    assert not set(HEAVY) & set(loaded)


def test_wrapping_a_graph_loads_no_database() -> None:
    """Chroma takes a second to import: the first repair or lesson pays for it, if there is one."""
    loaded = fresh("""
        import json, sys
        from sentry_langgraph import Playbook, SentryCallback, SentryConfig, with_sentry
        SentryConfig().pipeline()
        print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})))
    """)
    assert "langgraph" in loaded
    assert not {"chromadb", "wordllama", "langchain_openai"} & set(loaded)


def test_what_is_visible_is_what_is_listed() -> None:
    """Completion in an editor shows the public names and no others."""
    assert dir(sentry_langgraph) == sorted(sentry_langgraph.__all__)
    assert sentry_langgraph.__all__ == sorted(sentry_langgraph.__all__)


@pytest.mark.parametrize("name", sentry_langgraph.__all__)
def test_every_public_name_loads(name: str) -> None:
    """And is documented where it is more than a text."""
    value = getattr(sentry_langgraph, name)
    if not isinstance(value, str):
        assert value.__doc__
        assert value.__module__.startswith("sentry_langgraph")


def test_star_import_gives_the_public_names() -> None:
    """No more and no fewer."""
    names = fresh("""
        import json
        before = set(globals())
        from sentry_langgraph import *
        print(json.dumps(sorted(set(globals()) - before - {"before"})))
    """)
    assert names == sorted(sentry_langgraph.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    """As of any module, with the name in it."""
    with pytest.raises(AttributeError, match="withsentry"):
        _ = sentry_langgraph.withsentry
    assert not hasattr(sentry_langgraph, "withsentry")


def modules() -> list[str]:
    """Every module of the package, without those that run when they are imported."""
    return [
        found.name
        for found in pkgutil.walk_packages(sentry_langgraph.__path__, "sentry_langgraph.")
        if not found.name.endswith("__main__")
    ]


@pytest.mark.parametrize("name", modules())
def test_every_module_says_what_it_is_and_lists_what_exists(name: str) -> None:
    """A docstring, and no name in `__all__` that is not there."""
    module = importlib.import_module(name)
    assert module.__doc__
    for public in getattr(module, "__all__", ()):
        assert hasattr(module, public)


def test_the_package_is_typed() -> None:
    """Type checkers look for this file."""
    package = importlib.resources.files("sentry_langgraph")
    assert package.joinpath("py.typed").is_file()
