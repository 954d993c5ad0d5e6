"""One server and one browser for each file of tests; every page is watched.

An error in a page's console, an error in its code, or a request to another host fails the test that opened it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    from browser.explorer_browser import explorer

    with explorer(tmp_path_factory.mktemp("explorer")) as found:
        yield found


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from browser.explorer_browser import CHROMIUM, sync_api

    with sync_api.sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture
def page(server: Any, browser: Any) -> Iterator[Any]:
    from browser.explorer_browser import watched_page

    with watched_page(browser, server.address) as found:
        yield found
