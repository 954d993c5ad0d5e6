"""One error grammar: what was given, what is allowed, how to fix it.

Every mistake a user can make ends as an `InputError` whose text is one line in that order. The command line
prints it and exits with code 2; Python callers catch it as a `ValueError`.
"""

from __future__ import annotations

from collections.abc import Collection
from importlib import import_module
from typing import Any


class InputError(ValueError):
    """Something a user gave cannot be used; the message says what, what is allowed, and how to fix it."""


class FaultError(RuntimeError):
    """modgrok itself is wrong: what it made did not stand the kernel's test. The message asks for a report."""


class ExpressionError(InputError):
    """An expression cannot be read; `position` is the offset of the first character that is wrong."""

    def __init__(self, message: str, text: str, position: int) -> None:
        self.message, self.text, self.position = message, text, position
        super().__init__(f"{message}\n{excerpt(text, position)}")


def optional(package: str, what: str, extra: str | None = None) -> Any:
    """A package that may be missing; an `InputError` that says what needs it, and how to get it."""
    try:
        return import_module(package)
    except ImportError:
        source = package if extra is None else f"'modgrok[{extra}]'"
        raise InputError(f"{what} needs the package {package}; install it with: pip install {source}") from None


def check_choice(what: str, value: object, allowed: Collection[object]) -> None:
    """An `InputError` unless `value` is one of the allowed ones."""
    if value not in allowed:
        raise InputError(f"{what} must be {' or '.join(map(str, allowed))}, got {value!r}")


def excerpt(text: str, position: int, width: int = 72) -> str:
    """The part of `text` around `position` on one line, with a caret under the place."""
    start = max(0, min(position - width // 2, len(text) - width))
    line = "".join(c if c.isprintable() else " " for c in text[start : start + width])
    lead = "…" if start else ""
    tail = "…" if start + width < len(text) else ""
    return f"  {lead}{line}{tail}\n  {' ' * (len(lead) + position - start)}^"
