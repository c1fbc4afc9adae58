"""The pages are complete, up to date, and build without a warning."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml

import sentry_langgraph
from docs import labels
from sentry_langgraph.cli.app import COMMANDS
from sentry_langgraph.taxonomy import Label

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "sentry_langgraph"
README = (ROOT / "README.md").read_text(encoding="utf-8")

_LINK = re.compile(r"\]\((?!https?://|#)([^)#\s]+)")


def test_labels_are_up_to_date() -> None:
    """The tables of labels are what the taxonomy gives."""
    assert labels.current() == labels.render().strip("\n"), "run `python -m tests.docs.labels`"


def test_labels_say_what_finds_them() -> None:
    """A label counts as found where a detector or the healer names it, and nowhere else."""
    sources = [*(PACKAGE / "detect").glob("*.py"), PACKAGE / "graph/healing.py"]
    text = "\n".join(path.read_text(encoding="utf-8") for path in sources)
    named = {Label[name] for name in re.findall(r"\bLabel\.([A-Z_]+)\b", text)}
    assert named == set(labels.FOUND_BY)


def test_limits_name_the_labels_without_a_detector() -> None:
    """The README's list of labels without a detector is complete."""
    limits = README.partition("## Limits")[2].partition("\n## ")[0]
    for label in set(Label) - set(labels.FOUND_BY):
        kind = labels.DEFINITIONS[label].type.value
        assert f"`{label.value}`" in limits or f"`{kind}`" in limits
    for label in labels.FOUND_BY:
        assert f"`{label.value}`" not in limits


def test_links_lead_somewhere() -> None:
    """Every relative link of the README and of the pages has a target."""
    for path in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        for target in _LINK.findall(path.read_text(encoding="utf-8")):
            assert (path.parent / target).exists(), f"{path.name} links to {target}"


def test_commands_that_pages_name_exist() -> None:
    """No page names a command of `sentry` that there isn't."""
    for path in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        for name in re.findall(r"`sentry ([a-z]+)", path.read_text(encoding="utf-8")):
            known = name in COMMANDS or path.match("design/*.md")
            assert known, f"{path.name} names `sentry {name}`"


def test_readme_sets_a_machine_up_with_two_commands() -> None:
    """One marked section holds exactly the two commands for a fresh machine."""
    section = README.partition("## Set up a fresh machine")[2].partition("\n## ")[0]
    assert re.findall(r"^\$ (.+)$", section, re.MULTILINE) == [
        "pip install . && sentry demo",
        'pip install -e ".[dev]" && pytest',
    ]


def test_changelog_names_the_version() -> None:
    """The newest entry of the changelog is the version of the package."""
    text = (ROOT / "docs/changelog.md").read_text(encoding="utf-8")
    newest = re.search(r"^## \[(?!Unreleased)([^\]]+)\]", text, re.MULTILINE)
    assert newest is not None
    assert newest[1] == sentry_langgraph.__version__


def test_api_page_covers_the_public_names() -> None:
    """Every name that the package exports is on the API page."""
    text = (ROOT / "docs/reference/api.md").read_text(encoding="utf-8")
    for name in sentry_langgraph.__all__:
        assert name == "__version__" or re.search(rf"^::: [\w.]+\.{name}$", text, re.MULTILINE), (
            name
        )


def test_every_page_is_in_the_navigation() -> None:
    """A page that the navigation leaves out would not be found."""

    class Loader(yaml.SafeLoader):
        pass

    Loader.add_multi_constructor("tag:yaml.org,2002:python/", lambda *_: None)
    site = yaml.load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"), Loader)

    def pages(entry: object) -> list[str]:
        if isinstance(entry, str):
            return [entry]
        inner = entry.values() if isinstance(entry, dict) else entry
        return [page for one in inner for page in pages(one)]

    there = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    assert set(pages(site["nav"])) == there


@pytest.mark.slow
@pytest.mark.skipif(
    find_spec("mkdocs") is None or find_spec("mkdocstrings") is None,
    reason='the pages are built with pip install ".[docs]"',
)
def test_pages_build(tmp_path: Path) -> None:
    """`mkdocs build --strict` has nothing to complain of."""
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr
    built = list((tmp_path / "site").rglob("*.html"))
    assert tmp_path / "site/reference/api/index.html" in built
    unread = [page.parent.name for page in built if "```" in page.read_text(encoding="utf-8")]
    assert not unread, "a fence was not read as one"
