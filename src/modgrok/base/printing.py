"""The one way to a terminal: what users typed and what files hold is taken neither for markup nor for control codes."""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from typing import Any
from unicodedata import category

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

KEPT_SPACE = "\ufdd0"
"""Stands for a space at which no line breaks, and for no character. (Rich breaks lines at no-break spaces.)"""
SIZES = ("COLUMNS", "LINES")
"""Variables that say how large a terminal is."""
LARGEST_SIZE = 10_000


class Plain(Console):
    """A console that does not end the process where nobody reads: rich would, with the code of a wrong result.

    Whatever is printed is made visible here, so that nobody who prints has to think of it, and no line is
    broken before a %.
    """

    def render_str(self, text: str, **options: Any) -> Text:
        return super().render_str(text.replace(" %", f"{KEPT_SPACE}%"), **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else visible(text).replace(KEPT_SPACE, " "), style, control)

    def on_broken_pipe(self) -> None:
        """What is told on the way is left out, and work goes on; an answer without a reader is the caller's affair."""
        if not self.stderr:
            raise BrokenPipeError
        self.quiet = True


def console(*, stderr: bool = False, **options: Any) -> Console:
    """A console that prints every string as it is: [/x] is no markup, :smile: no picture, a number has no colour."""
    known = {name: value for name, value in os.environ.items() if name not in SIZES or is_size(value)}
    return Plain(stderr=stderr, markup=False, emoji=False, highlight=False, _environ=known, **options)


def is_size(value: str) -> bool:
    """A terminal without columns would show nothing, without a word; what is no number of them counts for nothing."""
    return value.isascii() and value.isdigit() and len(value) < 9 and 0 < int(value) <= LARGEST_SIZE


def visible(text: str) -> str:
    r"""`text` with its control characters as escapes, so that a name or a value cannot drive the terminal.

    >>> print(visible("a\x1b[2Jb"))
    a\x1b[2Jb
    """
    return "".join(c.encode("unicode_escape").decode() if category(c) in CONTROLS and c != "\n" else c for c in text)


CONTROLS = ("Cc", "Cf", "Cs")
"""Of Unicode: controls, invisible format characters, and halves of characters, which names of files may have."""


def warn_visibly() -> None:
    """Warnings and lines of the log, which may quote names, reach the terminal as everything else does."""
    usual = warnings.formatwarning
    warnings.formatwarning = lambda *about, **more: visible(usual(*about, **more))

    class Visible(logging.Formatter):
        def format(self, record: logging.LogRecord) -> str:
            return visible(super().format(record))

    if logging.lastResort is not None:
        logging.lastResort.setFormatter(Visible())


LONGEST_LINE = 10_000
"""Characters of a line of a table that is written to a pipe or a file."""


def facts_table(facts: Mapping[str, object]) -> Table:
    """Two columns, name and value."""
    table = Table(show_header=False, box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(style="bold")
    table.add_column()
    for name, value in facts.items():
        table.add_row(visible(name), visible(str(value)))
    return table


def text_table(
    headings: Sequence[str], rows: Sequence[Sequence[str]], *, widths: Sequence[int | None] = (), gap: int = 2
) -> Table:
    """Rows of plain text under bold headings; words that are too long are folded, never cut."""
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, gap, 0, 0))
    for heading, width in zip(headings, widths or [None] * len(headings), strict=True):
        table.add_column(visible(heading), width=width, overflow="fold")
    for row in rows:
        table.add_row(*map(visible, row))
    return table


def cell(value: object) -> str:
    """A value as tables print it; a dash where there is none."""
    if value is None or (isinstance(value, float) and not isfinite(value)):
        return "–"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def markdown_table(headings: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    """Lines of Markdown, and the empty one behind them; whole numbers with commas."""
    shown = [[f"{cell:,}" if isinstance(cell, int) else str(cell).replace("|", "\\|") for cell in row] for row in rows]
    return [f"| {' | '.join(row)} |" for row in (headings, ["---"] * len(headings), *shown)] + [""]


def print_table(terminal: Console, table: Table) -> None:
    """A table that fits a terminal; elsewhere its lines are as long as they need to be, for other tools to read."""
    (terminal if terminal.is_terminal else console(file=terminal.file, width=LONGEST_LINE)).print(table)


def fits(terminal: Console, table: Table) -> bool:
    """Has the table room on the terminal without breaking a line?"""
    wide = terminal.options.update(width=LONGEST_LINE)
    return not terminal.is_terminal or terminal.measure(table, options=wide).maximum <= terminal.width
