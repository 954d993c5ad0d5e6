"""A server and a watched browser for the tests of the explorer's page."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from modgrok.explorer.client import Explorer

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
PATIENCE = 180
"""Seconds to wait for what takes a moment on an idle machine; those that test are busy."""

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
def explorer(folder: Path) -> Iterator[Explorer]:
    """An explorer; Ctrl-C ends it, and with it all that it had started."""
    with Explorer(folder) as found:
        yield found
        children = found.children()
    until(lambda: not [pid for pid in children if Path(f"/proc/{pid}").exists()])


@contextmanager
def watched_page(browser: Any, address: str) -> Iterator[Any]:
    """A page; afterwards its console, its code and its requests must have given no cause for complaint."""
    context = browser.new_context(base_url=address, viewport={"width": 1280, "height": 900})
    context.add_init_script(LONG_TASKS)
    context.set_default_timeout(1000 * PATIENCE)
    trouble: list[str] = []
    context.on("request", lambda request: trouble.append(request.url) if foreign(request.url, address) else None)
    context.on("weberror", lambda error: trouble.append(str(error.error)))
    context.on("console", lambda message: trouble.append(message.text) if complaint(message) else None)
    yield context.new_page()
    context.close()
    assert trouble == []


def foreign(url: str, address: str) -> bool:
    parts = urlsplit(url)
    return parts.scheme not in ("data", "blob") and parts.netloc != urlsplit(address).netloc


def complaint(message: Any) -> bool:
    """Errors and warnings; browsers log every answer of status 400 too, which is how a refusal reaches the page."""
    return message.type in ("error", "warning") and "status of 400" not in message.text


def still(page: Any) -> bool:
    """Whether nothing on the page is on its way to another colour or place."""
    return page.evaluate("document.getAnimations().every((each) => each.playState === 'finished')")


def until(condition: Callable[[], bool]) -> None:
    """Wait for what others make true. The page's policy forbids the browser's own way, which evaluates text."""
    last = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < last, "it did not come true"
        time.sleep(0.05)
