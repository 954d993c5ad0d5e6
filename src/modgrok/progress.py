"""Signs of life from long work: one kind of callback, and what people see of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

Progress = Callable[[int, int], None]
"""Called with the units of work that are done, and with those in all."""

Say = Callable[[str], None]
"""Called with a line for the user, such as an estimate of time."""

QUIET_SECONDS, SECONDS_BETWEEN_LINES = 2, 5


@contextmanager
def progress_bar(console: Console, what: str) -> Iterator[Progress]:
    """A callback that draws a bar on a terminal; elsewhere, a line every few seconds."""
    if not console.is_terminal:
        yield _lines(console, what)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Bar(*columns, TimeRemainingColumn(), console=console, transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _lines(console: Console, what: str) -> Progress:
    quiet_until = time.monotonic() + QUIET_SECONDS

    def report(done: int, total: int) -> None:
        nonlocal quiet_until
        if done < total and time.monotonic() > quiet_until:
            quiet_until = time.monotonic() + SECONDS_BETWEEN_LINES
            console.print(f"{what}: {done:,} of {total:,}", highlight=False, markup=False)

    return report
