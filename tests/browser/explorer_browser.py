"""A server, a watched browser and ways around the explorer's page, for its tests; these skip where one is missing."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import pytest
from explorer_client import Explorer

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed; `make dev` installs it")
pytest.importorskip("starlette", reason="the extra explore is not installed; `make dev` installs it")

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
PATIENCE = 180
"""Seconds to wait for what takes a moment on an idle machine; those that test are busy."""
expect = sync_api.expect
expect.set_options(timeout=1000 * PATIENCE)
BROWSER = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium; on Debian: apt-get install chromium"),
]
"""Marks of every file of tests here."""

VIEWS = {
    "function": ".facts a",
    "verdict": ".answer h2",
    "network": ".tiles dd:has-text('100 %')",
    "training": ".settings button:enabled",
    "census": ".scatter canvas",
    "paper": ".card",
}
"""Each view, and what is there once it shows all that it has."""

LONG_TASKS = """
window.longTasks = [];
new PerformanceObserver((list) => list.getEntries().forEach((task) => longTasks.push(task.duration)))
  .observe({ type: "longtask", buffered: true });
"""
CELLS = """(canvas) => {
  const { width, height } = canvas;
  const copy = new OffscreenCanvas(width, height).getContext("2d");
  copy.drawImage(canvas, 0, 0);
  const { data } = copy.getImageData(0, 0, width, height);
  const rows = Number(canvas.dataset.rows), columns = Number(canvas.dataset.columns), cell = width / columns;
  const at = (row, column) => 4 * (Math.floor((row + 0.5) * cell) * width + Math.floor((column + 0.5) * cell));
  return Array.from({ length: rows }, (_, row) => Array.from({ length: columns }, (_, column) =>
    Array.from(data.subarray(at(row, column), at(row, column) + 3)).join(",")));
}"""
"""The colour of every cell of a table's picture, row by row, as it stands on the screen."""


@contextmanager
def explorer(folder: Path, *options: str, patient: bool = False) -> Iterator[Explorer]:
    """An explorer; Ctrl-C ends it, and with it all that it had started."""
    with Explorer(folder, *options, patient=patient) as found:
        yield found
        children = found.children()
    until(lambda: not [pid for pid in children if Path(f"/proc/{pid}").exists()])


@contextmanager
def watched_page(browser: Any, address: str) -> Iterator[Any]:
    """A page; afterwards its console, its code and its requests must have given no cause for complaint."""
    context = browser.new_context(base_url=address, viewport={"width": 1280, "height": 900})
    context.add_init_script(LONG_TASKS)
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    context.set_default_timeout(1000 * PATIENCE)
    trouble: list[str] = []
    context.on("request", lambda request: trouble.append(request.url) if foreign(request.url, address) else None)
    context.on("weberror", lambda error: trouble.append(str(error.error)))
    context.on("console", lambda message: trouble.append(message.text) if complaint(message) else None)
    yield context.new_page()
    context.close()
    assert trouble == [], "\n".join(trouble)


def foreign(url: str, address: str) -> bool:
    parts = urlsplit(url)
    return parts.scheme not in ("data", "blob") and parts.netloc != urlsplit(address).netloc


def complaint(message: Any) -> bool:
    """Errors and warnings, and with them every reply of status 400 or more, which browsers log.

    But not that a font was loaded seconds before it was drawn: that depends on how busy the machine is.
    """
    return message.type in ("error", "warning") and "was preloaded" not in message.text


def still(page: Any) -> bool:
    """Whether nothing on the page is on its way to another colour or place."""
    return page.evaluate("document.getAnimations().every((each) => each.playState === 'finished')")


def until(condition: Callable[[], bool]) -> None:
    """Wait for what others make true. The page's policy forbids the browser's own way, which evaluates text."""
    last = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < last, "it did not come true"
        time.sleep(0.05)


def open_view(page: Any, view: str, expression: str = "n1 n2", mod: int = 23, **rest: str) -> None:
    more = "".join(f"&{name}={quote(value)}" for name, value in rest.items())
    page.goto(f"/?expression={quote(expression)}&mod={mod}&view={view}{more}")


def open_whole_view(page: Any, view: str) -> None:
    open_view(page, view)
    page.locator(VIEWS[view]).first.wait_for()
    until(lambda: still(page))


def copied(page: Any, kind: str = "command") -> str:
    """What the view offers to copy, from the clipboard."""
    page.locator("#recipe").get_by_role("button", name=f"Copy as {kind}").click()
    page.locator("#recipe .copied", has_text="Copied.").wait_for()
    return page.evaluate("navigator.clipboard.readText()")


def cells(page: Any) -> list[list[str]]:
    return page.locator("canvas.cells[data-rows]").first.evaluate(CELLS)
