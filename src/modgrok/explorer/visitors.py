"""Who asks, and what belongs to them: folders, a stream of events, a token.

An explorer of one's own has one visitor, whoever opens its page. A public one has many, who must not see each other: a
visitor is a name that cannot be guessed, signed by this server, in a cookie. Its runs and files lie in a folder of its
own, so that the name of another's run leads nowhere. The folder is made when there is something to keep, and removed
when its visitor has been away, has too much in it, or when the server ends.
"""

from __future__ import annotations

import asyncio
import hmac
import os
import secrets
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from modgrok.explorer.encoding import json_bytes
from modgrok.explorer.events import Events
from modgrok.explorer.limits import MEGABYTE
from modgrok.explorer.rates import ADDRESS, Account
from modgrok.explorer.workers import Reply

SECONDS_KEPT = 1800.0
"""After so long without a request, what a visitor has is deleted."""
MOST_OF_VISITOR, MOST_OF_ALL = 64 * MEGABYTE, 400 * MEGABYTE
"""Bytes of files; of the oldest ones, and of the visitors who were away longest, are deleted beyond that."""
MOST_VISITORS = 400
"""Who have files here."""
MOST_KNOWN, SECONDS_KNOWN = 20_000, 300.0
"""Who have asked something, and how long those are known who have no files."""
KEPT_EVENTS, KEPT_EVENT_BYTES = 500, MEGABYTE // 2
SECONDS_BETWEEN_LOOKS = 5.0
PREFIX = "modgrok-public-"
SECONDS_UNTIL_DEAD = 600.0
"""A folder of a public explorer that was not touched for so long belongs to one that was killed."""
FAILED = json_bytes({"error": "modgrok failed here, which is not your fault; ask for something else", "position": None})


@dataclass(eq=False)
class Visitor:
    """Folders, events and token of one visitor; `hidden` are paths that no reply may have."""

    places: dict[str, str]
    token: str
    events: Events = field(default_factory=Events)
    name: str = ""
    folder: Path | None = None
    address: Account | None = None
    seen: float = 0.0
    streams: int = 0
    hidden: tuple[bytes, ...] = ()

    def told(self, payload: bytes) -> bytes:
        """JSON that a child sends, without the folders of this machine."""
        for path in self.hidden:
            payload = payload.replace(path, b"")
        return payload

    def shown(self, reply: Reply) -> Reply:
        """A child's reply as this visitor may see it: what failed in the inside is for the terminal of the server."""
        if not self.hidden or reply.file is not None:
            return reply
        return replace(reply, payload=FAILED if reply.kind == "failure" else self.told(reply.payload))


class Guest(NamedTuple):
    """Who makes one request, and the accounts that pay for it; an explorer of one's own asks nobody to pay."""

    visitor: Visitor
    accounts: tuple[Account, ...] = ()


class Visitors:
    """Of a public explorer. `busy` says whether a visitor has a job; `on_leave` is called with who is forgotten."""

    def __init__(self, root: Path) -> None:
        self.root, self.secret = root, secrets.token_bytes(32)
        self.kept: dict[str, Visitor] = {}
        self.busy: Callable[[Visitor], bool] = lambda visitor: False
        self.on_leave: Callable[[Visitor], None] = lambda visitor: None

    # -------------------------------------------------------------------------------------- names

    def sign(self, what: str, name: str) -> str:
        return hmac.new(self.secret, f"{what} {name}".encode(), "sha256").hexdigest()

    def cookie(self, name: str) -> str:
        """A visitor's name with a signature, without which anybody could make up names."""
        return f"{name}.{self.sign('visitor', name)}"

    def named(self, cookie: str) -> str | None:
        """The name in a cookie that this server has given; None for any other."""
        name, _, signature = cookie.partition(".")
        expected = self.sign("visitor", name)
        return name if hmac.compare_digest(signature.encode(), expected.encode()) else None

    # -------------------------------------------------------------------------------------- what they have

    def of(self, name: str) -> Visitor:
        """The visitor of a name."""
        visitor = self.kept.pop(name, None) or self.fresh(name)
        visitor.seen = time.monotonic()
        self.kept[name] = visitor  # at the end: who was away longest comes first
        if len(self.kept) > MOST_KNOWN:
            self.forget(next(each for each in self.kept.values() if not self.stays(each)))
        return visitor

    def stays(self, visitor: Visitor) -> bool:
        """Whether somebody listens or waits for something."""
        return bool(visitor.streams) or self.busy(visitor)

    def fresh(self, name: str) -> Visitor:
        nowhere = str(self.root / "nothing")
        places = {"runs": nowhere, "tables": nowhere, "report": nowhere, "census": ""}
        events = Events(KEPT_EVENTS, KEPT_EVENT_BYTES)
        hidden = (nowhere.encode(), str(self.root).encode())
        return Visitor(places, self.sign("page", name), events, name, hidden=hidden)

    def make_room(self, visitor: Visitor, address: Account) -> None:
        """Folders for what a visitor sends and trains. Who comes from one address displaces others from there alone."""
        if visitor.folder is not None:
            return
        neighbours = [each for each in self.having() if each.address is address]
        for others, most in ((neighbours, ADDRESS.at_once["visitors"]), (self.having(), MOST_VISITORS)):
            idle = [each for each in others if not self.stays(each)]
            for each in idle[: max(0, len(others) + 1 - most)]:
                self.forget(each)
        visitor.address = address
        visitor.folder = Path(tempfile.mkdtemp(prefix="visitor-", dir=self.root))
        visitor.places |= {name: str(visitor.folder / name) for name in ("runs", "tables")}
        visitor.hidden = (str(visitor.folder).encode(), *visitor.hidden)
        for name in ("runs", "tables"):
            (visitor.folder / name).mkdir()

    def having(self) -> list[Visitor]:
        """Who have a folder, those first who were away longest."""
        return [each for each in self.kept.values() if each.folder is not None]

    def forget(self, visitor: Visitor) -> None:
        """Delete what a visitor has; pages that listen come again, and find nothing."""
        self.kept.pop(visitor.name, None)
        visitor.events.close()
        if visitor.folder is not None:
            self.on_leave(visitor)
            shutil.rmtree(visitor.folder, ignore_errors=True)

    # -------------------------------------------------------------------------------------- what is deleted

    async def tidy_always(self) -> None:
        while True:
            await asyncio.sleep(SECONDS_BETWEEN_LOOKS)
            with suppress(OSError):  # what vanishes while it is looked at is gone, and the rest is looked at again
                await self.tidy()

    async def tidy(self) -> None:
        """Forget who is gone, and keep the disk level."""
        now = time.monotonic()
        for visitor in list(self.kept.values()):
            lasts = SECONDS_KEPT if visitor.folder is not None else SECONDS_KNOWN
            if not self.stays(visitor) and now - visitor.seen > lasts:
                self.forget(visitor)
        having = self.having()[::-1]
        sizes = await asyncio.to_thread(lambda: [shrunk(each.folder) for each in having if each.folder is not None])
        total = 0
        for visitor, size in zip(having, sizes, strict=True):
            total += size
            if total > MOST_OF_ALL and not self.busy(visitor):
                self.forget(visitor)
        self.root.touch()


def shrunk(folder: Path, most: int = MOST_OF_VISITOR) -> int:
    """The bytes in a visitor's folder, once the oldest of its runs and files are deleted that are beyond `most`."""
    found = sorted(((*newest_and_size(path), path) for path in entries(folder)), reverse=True)
    total = 0
    for at, (_, size, path) in enumerate(found):
        if at and total + size > most:
            shutil.rmtree(path, ignore_errors=True)
        else:
            total += size
    return total


def entries(folder: Path) -> Iterator[Path]:
    """The runs and files of a visitor, a folder each."""
    for place in ("runs", "tables"):
        yield from (folder / place).glob("*")


def newest_and_size(path: Path) -> tuple[float, int]:
    """When the last of its files was changed, and their bytes; those that are removed at this moment do not count."""
    newest, size = 0.0, 0
    for folder, _, names in os.walk(path):  # which passes over folders that vanish, as `rglob` does not
        for name in names:
            with suppress(OSError):
                found = os.lstat(os.path.join(folder, name))
                newest, size = max(newest, found.st_mtime), size + found.st_size
    return newest, size


def public_root() -> tempfile.TemporaryDirectory[str]:
    """A folder for visitors; those that killed servers have left are removed first."""
    for left in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        try:
            found = left.lstat()
        except OSError:
            continue
        ours = stat.S_ISDIR(found.st_mode) and (not hasattr(os, "getuid") or found.st_uid == os.getuid())
        if ours and time.time() - found.st_mtime > SECONDS_UNTIL_DEAD:
            shutil.rmtree(left, ignore_errors=True)
    return tempfile.TemporaryDirectory(prefix=PREFIX)
