"""What the routes share: the two children, the queue, the stream of events, and answers that were given before."""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from collections import OrderedDict
from pathlib import Path
from typing import Any, TypeAlias

from modgrok.explorer.events import Events
from modgrok.explorer.jobs import Job, Jobs
from modgrok.explorer.words import QUESTIONS
from modgrok.explorer.workers import Reply, Worker

KEPT_ANSWERS, KEPT_BYTES = 4000, 32 << 20
"""Answers that are kept, and the bytes of them and of what they were asked with."""
PATIENCE = 120.0
"""Seconds after which a question is given up: the first ones wait for imports, and the machine may be busy."""
TRAINER_NICENESS = 5
"""A training lets questions go first where they share the processors."""

Key: TypeAlias = tuple[str, tuple[tuple[str, Any], ...]]
"""The name of a question, and what it is asked with."""


class Laboratory:
    """Made when the server starts, closed when it ends; `places` are the folders that questions are about."""

    def __init__(self, *, runs: Path, report: Path, census: Path | None) -> None:
        self.temporary = tempfile.TemporaryDirectory(prefix="modgrok-explorer-")
        self.tables = Path(self.temporary.name)
        self.places = {
            "runs": str(runs),
            "tables": str(self.tables),
            "report": str(report),
            "census": "" if census is None else str(census),
        }
        self.answers: OrderedDict[Key, Reply] = OrderedDict()
        self.bytes = 0
        self.events = Events()
        self.answerer = Worker("answers", patience=PATIENCE)
        self.trainer = Worker("trains", niceness=TRAINER_NICENESS)
        self.jobs = Jobs(self.trainer, self.events)

    async def open(self) -> None:
        """Start the children; needs the loop that will serve."""
        await asyncio.gather(self.answerer.start(), self.trainer.start())
        self.jobs.start()

    def refuse_all(self) -> None:
        """The server is about to end: streams end, and questions that wait are answered with that."""
        self.events.close()
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

    async def ask(self, name: str, params: dict[str, Any]) -> Reply:
        """The answer to a question, from memory where it lasts and was given before."""
        key = (name, tuple(sorted(params.items()))) if QUESTIONS[name].lasts else None
        if key is not None and (known := self.known(key)) is not None:
            return known
        reply = await self.answerer.ask(name, params | self.places)
        if key is not None and (reply.kind == "answer" or (reply.kind == "refusal" and "table" not in params)):
            self.keep(key, reply)
        return reply

    async def found(self, name: str, params: dict[str, Any]) -> tuple[Reply, dict[str, Any]]:
        """The reply, and what it says."""
        reply = await self.ask(name, params)
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

    def add(self, kind: str, ask: str, title: str, params: dict[str, Any], **about: Any) -> Job:
        return self.jobs.add(kind, ask, title, params | self.places, **about)


def size_of(key: Key, reply: Reply) -> int:
    """The memory that an answer takes, with the words that it was asked with."""
    return len(reply.payload) + sum(sys.getsizeof(part) for pair in key[1] for part in pair)
