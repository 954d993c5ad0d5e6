"""The one way to a terminal: what users typed and what files hold is taken neither for markup nor for control codes."""

from __future__ import annotations

from typing import Any
from unicodedata import category

from rich.console import Console


class Plain(Console):
    """A console that does not end the process where nobody reads: rich would, with the code of a wrong result."""

    def on_broken_pipe(self) -> None:
        """What is told on the way is left out, and work goes on; an answer without a reader is the caller's affair."""
        if not self.stderr:
            raise BrokenPipeError
        self.quiet = True


def console(*, stderr: bool = False, **options: Any) -> Console:
    """A console that prints every string as it is: [/x] is no markup, :smile: no picture, a number has no colour."""
    return Plain(stderr=stderr, markup=False, emoji=False, highlight=False, **options)


def visible(text: str) -> str:
    r"""`text` with its control characters as escapes, so that a name or a value cannot drive the terminal.

    >>> print(visible("a\x1b[2Jb"))
    a\x1b[2Jb
    """
    return "".join(escaped(c) if category(c) in CONTROLS and c != "\n" else c for c in text)


CONTROLS = ("Cc", "Cf", "Cs")
"""Of Unicode: controls, invisible format characters, and halves of characters, which names of files may have."""


def escaped(character: str) -> str:
    return character.encode("unicode_escape").decode()
