"""What the routes share: the two children, the queue, who asks, and answers that were given before."""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias

from modgrok.explorer.jobs import Job, Jobs
from modgrok.explorer.limits import LOCAL, Limits
from modgrok.explorer.rates import begin, held
from modgrok.explorer.visitors import Guest, Visitor
from modgrok.explorer.words import QUESTIONS
from modgrok.explorer.workers import Reply, Worker

KEPT_ANSWERS, KEPT_BYTES = 4000, 32 << 20
"""Answers that are kept, and the bytes of them and of what they were asked with."""
TRAINER_NICENESS = 5
"""A training lets questions go first where they share the processors."""
OWN = {"table", "network", "run", "compared"}
"""Words of questions about what a visitor has sent or trained."""

Key: TypeAlias = tuple[str, tuple[tuple[str, Any], ...], str]
"""The name of a question, what it is asked with, and the visitor whose things it is about, if it is about any."""


class Laboratory:
    """Made when the server starts, closed when it ends. `everyone` is the visitor that an explorer of one's own has."""

    def __init__(
        self,
        *,
        runs: Path,
        report: Path,
        census: Path | None,
        token: str = "",
        limits: Limits = LOCAL,
        variables: Mapping[str, str] = MappingProxyType({}),
        temporary: tempfile.TemporaryDirectory[str] | None = None,
    ) -> None:
        self.temporary = temporary or tempfile.TemporaryDirectory(prefix="modgrok-explorer-")
        places = {
            "runs": str(runs),
            "tables": self.temporary.name,
            "report": str(report),
            "census": "" if census is None else str(census),
        }
        self.everyone = Visitor(places, token)
        self.limits = limits
        self.answers: OrderedDict[Key, Reply] = OrderedDict()
        self.bytes = 0
        self.answerer = Worker("answers", patience=limits.patience, variables=variables)
        self.trainer = Worker("trains", niceness=TRAINER_NICENESS, variables=variables)
        self.jobs = Jobs(self.trainer, limits)

    async def open(self) -> None:
        """Start the children; needs the loop that will serve."""
        await asyncio.gather(self.answerer.start(), self.trainer.start())
        self.jobs.start()

    def visitors(self) -> list[Visitor]:
        """All whose events somebody may read."""
        return [self.everyone]

    def make_room(self, guest: Guest) -> None:
        """Before something of a guest's is kept."""

    def lasts(self, name: str) -> bool:
        """Whether the answer to a question is the same as long as the server runs."""
        return QUESTIONS[name].lasts

    def refuse_all(self) -> None:
        """The server is about to end: streams end, and questions that wait are answered with that."""
        for visitor in self.visitors():
            visitor.events.close()
        self.answerer.refuse_all("the explorer ends")

    async def close(self) -> None:
        """End what runs: a training writes its checkpoint first."""
        self.trainer.closing = self.answerer.closing = True
        await asyncio.gather(self.trainer.close(), self.answerer.close(1.0))
        await self.jobs.close()
        self.temporary.cleanup()

    def end_at_once(self) -> None:
        """Wait for nothing that runs; a training goes on from its last checkpoint another time."""
        self.trainer.closing = self.answerer.closing = True
        self.trainer.kill()
        self.answerer.kill()

    async def ask(self, guest: Guest, name: str, params: dict[str, Any]) -> Reply:
        """The answer to a question, from memory where it lasts and was given before."""
        own = bool(OWN & params.keys())
        key = (name, tuple(sorted(params.items())), guest.visitor.name if own else "") if self.lasts(name) else None
        if key is not None and (known := self.known(key)) is not None:
            return known
        with held(guest.accounts, "questions"):
            asked = params | guest.visitor.places
            reply = guest.visitor.shown(await self.answerer.ask(name, asked, payers=guest.accounts))
        if key is not None and (reply.kind == "answer" or (reply.kind == "refusal" and not own)):
            self.keep(key, reply)
        return reply

    async def found(self, guest: Guest, name: str, params: dict[str, Any]) -> tuple[Reply, dict[str, Any]]:
        """The reply, and what it says."""
        reply = await self.ask(guest, name, params)
        return reply, json.loads(reply.payload)

    def known(self, key: Key) -> Reply | None:
        reply = self.answers.get(key)
        if reply is not None:
            self.answers.move_to_end(key)
        return reply

    def keep(self, key: Key, reply: Reply) -> None:
        if key in self.answers:
            return
        self.answers[key] = reply
        self.bytes += size_of(key, reply)
        while self.bytes > KEPT_BYTES or len(self.answers) > KEPT_ANSWERS:
            self.bytes -= size_of(*self.answers.popitem(last=False))

    def forget(self, visitor: Visitor) -> None:
        """Answers about what a visitor had are not kept any longer than that."""
        for key in [key for key in self.answers if key[2] == visitor.name]:
            self.bytes -= size_of(key, self.answers.pop(key))

    def add(self, guest: Guest, kind: str, ask: str, title: str, params: dict[str, Any], **about: Any) -> Job:
        self.jobs.check_room(guest)
        begin(guest.accounts)
        self.make_room(guest)
        return self.jobs.add(guest, kind, ask, title, params | guest.visitor.places, **about)


def size_of(key: Key, reply: Reply) -> int:
    """The memory that an answer takes, with the words that it was asked with."""
    return len(reply.payload) + sum(sys.getsizeof(part) for pair in key[1] for part in pair)
