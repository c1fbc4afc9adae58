"""`--cases FILE` runs another file of cases instead of the shipped one."""

from __future__ import annotations

from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--cases`."""
    parser.addoption(
        "--cases",
        action="store",
        default=None,
        metavar="FILE",
        help="run the cases of this file (one JSON object a line) instead of the shipped ones",
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test for each run and each sentence of each case."""
    if "item" not in metafunc.fixturenames:
        return
    from cases.items import items_of

    given = metafunc.config.getoption("--cases", None)
    items = items_of(Path(given) if given else None)
    metafunc.parametrize("item", items, ids=[item.id for item in items])


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what is known to fail, and leave out what checks the shipped file only."""
    from cases.expected_failures import REASONS

    other = config.getoption("--cases", None)
    for item in items:
        if item.get_closest_marker("shipped_cases") and other:
            item.add_marker(pytest.mark.skip(reason="checks the shipped file"))
        case = getattr(item, "callspec", None)
        wanted = case.params.get("item") if case is not None else None
        if not other and wanted is not None and getattr(wanted, "id", None) in REASONS:
            item.add_marker(pytest.mark.xfail(reason=REASONS[wanted.id], strict=True))


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line("markers", "shipped_cases: checks the shipped file of cases")
