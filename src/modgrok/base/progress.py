"""Signs of life from long work: one kind of callback, and what people see of it.

On a terminal that is a bar, in a notebook a bar of HTML, and elsewhere (a pipe, a log file) a line every few seconds,
which comes from a thread of its own: also where a single piece of work takes minutes.
"""

from __future__ import annotations

import html
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress as Bar,
    ProgressColumn,
    Task as BarTask,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

Progress = Callable[[int, int], None]
"""Called with the units of work that are done, and with those in all."""

Say = Callable[[str], None]
"""Called with a line for the user, such as an estimate of time."""

QUIET_SECONDS, SECONDS_BETWEEN_LINES = 2.0, 5.0
UPDATES_PER_SECOND = 4
"""Of a notebook's output."""


@contextmanager
def progress_bar(console: Console, what: str) -> Iterator[Progress]:
    """A callback that draws a bar on a terminal and in a notebook; elsewhere, a line every few seconds."""
    if console.is_jupyter:
        show = notebook_output()
        yield lambda done, total: show(html_bar(what, done, total), done >= total)
    elif console.is_terminal:
        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
        )
        with Bar(*columns, RateColumn(), TimeRemainingColumn(), console=console, transient=True) as bar:
            task = bar.add_task(what, total=None)
            yield lambda done, total: bar.update(task, completed=done, total=total)
    else:
        now = ""

        def report(done: int, total: int) -> None:
            nonlocal now
            now = f": {done:,} of {total:,}"

        with line_every_few_seconds(console, lambda: f"{what}{now}"):
            yield report


class RateColumn(ProgressColumn):
    """Units of work a second, of late."""

    def render(self, task: BarTask) -> Text:
        speed = task.finished_speed or task.speed
        text = "" if speed is None else f"{speed:,.0f}/s" if speed >= 100 else f"{speed:.3g}/s"
        return Text(text, "progress.data.speed")


@contextmanager
def line_every_few_seconds(console: Console, text: Callable[[], str]) -> Iterator[None]:
    """Prints `text()` with the seconds that have passed, now and then while the block works; short work is silent."""
    began, ended = time.monotonic(), threading.Event()

    def speak() -> None:
        pause = QUIET_SECONDS
        while not ended.wait(pause):
            passed = f"{time.monotonic() - began:.0f} s"
            console.print(f"{text()} ({passed})", soft_wrap=True)
            pause = SECONDS_BETWEEN_LINES

    thread = threading.Thread(target=speak, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def notebook_output() -> Callable[[str, bool], None]:
    """A function that shows HTML in one place of a notebook, a few times a second; where its flag is set, always.

    IPython alone does it; widgets, which may not be installed, are not needed.
    """
    from IPython import display as screen

    handle = screen.display(screen.HTML(""), display_id=True)
    shown = 0.0

    def show(text: str, always: bool) -> None:
        nonlocal shown
        if always or time.monotonic() - shown >= 1 / UPDATES_PER_SECOND:
            shown = time.monotonic()
            handle.update(screen.HTML(text))

    return show


def html_bar(what: str, done: int, total: int) -> str:
    """A bar with its numbers."""
    return f"<progress value='{done}' max='{max(total, 1)}'></progress> {html.escape(what)}: {done:,} of {total:,}"
