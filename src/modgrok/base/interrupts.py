"""Ctrl-C and SIGTERM: how a process of the command line is interrupted, and what it says of that with its exit code.

Batch systems and containers end a process by SIGTERM. It is raised as `Terminated`, a KeyboardInterrupt, so whoever
saves something from Ctrl-C saves it from SIGTERM too. It counts once, since some who send it send it twice (`timeout`,
to a process and to its group); a second Ctrl-C interrupts what the first one let end.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

SECONDS_TO_REPEAT = 0.02
Handler = Callable[[int, FrameType | None], None]


class Terminated(KeyboardInterrupt):
    """SIGTERM."""


came: list[int] = []
"""SIGTERM, once it has come."""


def terminate(number: int, frame: FrameType | None) -> None:
    """What SIGTERM does to a process of the command line."""
    if number not in came:
        came.append(number)
        raise Terminated


HANDLERS: dict[int, Handler] = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: terminate}
"""What interrupts the command line, where nobody has put another handler in its place."""


def exit_code() -> int:
    """Of a process that was interrupted, as shells say it: 128 and the number of the signal."""
    return 128 + (signal.SIGTERM if came else signal.SIGINT)


@contextmanager
def handled(numbers: Iterable[int], how: Handler) -> Iterator[None]:
    """These signals are given to `how`, as long as the block runs."""
    before = {number: signal.signal(number, how) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def held_back() -> Iterator[None]:
    """Interruptions wait for the end of the block: libraries in C++ crash if one falls into their import."""
    in_main_thread = threading.current_thread() is threading.main_thread()
    usual = [number for number, handler in HANDLERS.items() if in_main_thread and signal.getsignal(number) is handler]
    waiting: list[int] = []
    with handled(usual, lambda number, frame: waiting.append(number)):
        yield
    if waiting:
        HANDLERS[waiting[0]](waiting[0], None)


class Stop:
    """Whether somebody asked for the end: work that comes to a good end by itself looks here now and then."""

    def __init__(self) -> None:
        self.asked = False

    def __call__(self) -> bool:
        return self.asked

    def handle(self, number: int, frame: FrameType | None) -> None:
        again, self.asked = self.asked, True
        if number == signal.SIGTERM and number not in came:
            came.append(number)
        elif again and number == signal.SIGINT:
            raise KeyboardInterrupt


@contextmanager
def stop_on_interrupt() -> Iterator[Stop]:
    """A `Stop` that Ctrl-C or SIGTERM asks; a second Ctrl-C interrupts at once."""
    stop, saved = Stop(), signal.getsignal(signal.SIGTERM) is terminate
    with handled([signal.SIGINT, signal.SIGTERM] if saved else [signal.SIGINT], stop.handle):
        yield stop


def repeat_interrupts() -> None:
    """What comes where Python cannot raise it, in a callback of the garbage collector, say, comes once more."""
    usual = sys.unraisablehook

    def hook(found: Any) -> None:
        if issubclass(found.exc_type, KeyboardInterrupt):
            if found.exc_type is Terminated:
                came.clear()
            again = threading.Timer(SECONDS_TO_REPEAT, interrupt, [found.exc_type])
            again.daemon = True
            again.start()
        else:
            usual(found)

    sys.unraisablehook = hook


def interrupt(kind: type[KeyboardInterrupt]) -> None:
    """Ctrl-C or SIGTERM for the main thread, also where it waits for the system."""
    number = signal.SIGTERM if kind is Terminated else signal.SIGINT
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(threading.main_thread().ident or 0, number)
    else:
        signal.raise_signal(number)
