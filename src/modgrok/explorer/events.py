"""What happens, as one numbered stream that every page of a visitor reads at its own pace and resumes where it was.

Only the last events are remembered, once for all pages: a page that is slower, or was away longer, is told to
fetch again what it shows. So fifty pages cost no more memory than one.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import deque
from collections.abc import AsyncIterator
from typing import Any

from modgrok.explorer.encoding import json_bytes

KEPT = 2000
KEPT_BYTES = 16 << 20
LONGEST_NUMBER = 18
"""Digits of an event's number, of which no server sends so many."""
SECONDS_BETWEEN_SIGNS = 15.0
"""A line without meaning after so much silence tells a page that the stream is alive, and us that the page is."""


class Events:
    """The stream. `instance` tells the numbers of this server from those of one that ran before."""

    def __init__(self, most: int = KEPT, most_bytes: int = KEPT_BYTES) -> None:
        self.most, self.most_bytes = most, most_bytes
        self.instance = secrets.token_hex(4)
        self.kept: deque[bytes] = deque()
        self.size = 0
        self.first = 1
        self.closed = False
        self.happened = asyncio.Event()

    @property
    def next(self) -> int:
        """The number of the event that comes next."""
        return self.first + len(self.kept)

    def publish(self, name: str, payload: bytes | dict[str, Any]) -> None:
        data = payload if isinstance(payload, bytes) else json_bytes(payload)
        message = f"id: {self.instance}-{self.next}\nevent: {name}\ndata: ".encode() + data + b"\n\n"
        self.kept.append(message)
        self.size += len(message)
        while len(self.kept) > self.most or self.size > self.most_bytes:
            self.size -= len(self.kept.popleft())
            self.first += 1
        self.wake()

    def wake(self) -> None:
        """Every page that waits looks again; those that begin to wait from now on get an event of their own."""
        happened, self.happened = self.happened, asyncio.Event()
        happened.set()

    def close(self) -> None:
        """End every stream."""
        self.closed = True
        self.wake()

    def resumed(self, last: str | None) -> int | None:
        """The number from which a page goes on that has seen `last`; None where that is no longer known."""
        if not last:
            return self.next
        instance, _, number = last.rpartition("-")
        if instance != self.instance or not number.isdecimal() or len(number) > LONGEST_NUMBER:
            return None
        place = int(number) + 1
        return place if self.first <= place <= self.next else None

    async def stream(self, last: str | None, hello: dict[str, Any]) -> AsyncIterator[bytes]:
        """What one page reads: a greeting, what it missed, and what happens from then on."""
        place = self.resumed(last)
        yield b"retry: 1000\n" + unnumbered("hello", hello)
        if place is None:
            yield unnumbered("reset", {})
            place = self.next
        while not self.closed:
            happened = self.happened
            if place < self.first:
                yield unnumbered("reset", {})
                place = self.next
            elif place < self.next:
                waiting = [self.kept[k - self.first] for k in range(place, self.next)]
                place = self.next
                yield b"".join(waiting)
            else:
                try:
                    async with asyncio.timeout(SECONDS_BETWEEN_SIGNS):
                        await happened.wait()
                except TimeoutError:
                    yield b": still here\n\n"


def unnumbered(name: str, value: dict[str, Any]) -> bytes:
    return f"event: {name}\ndata: ".encode() + json_bytes(value) + b"\n\n"
