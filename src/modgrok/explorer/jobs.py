"""The queue of long work: one thing at a time in a child of its own, so that questions are answered meanwhile."""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from dataclasses import dataclass, field
from typing import Any

from modgrok.explorer.encoding import json_bytes
from modgrok.explorer.limits import LOCAL, Limits
from modgrok.explorer.rates import Account, check_room
from modgrok.explorer.visitors import Guest, Visitor
from modgrok.explorer.workers import Reply, Worker, WorkerDied

MOST_DEATHS = 3
"""A training whose child dies so often without a step in between is given up."""
SECONDS_TO_SAVE = 10.0
"""How long a training whose time is over may still save itself."""


class QueueFull(Exception):
    """No room for another job."""


@dataclass(eq=False)
class Job:
    """Work that waits or goes on; `ask` is the name of the task, `run` and `item` what it is about."""

    visitor: Visitor
    job: str
    kind: str
    ask: str
    title: str
    params: dict[str, Any]
    run: str | None = None
    item: str | None = None
    state: str = "queued"
    cancelled: bool = False
    expired: bool = False
    deaths: int = field(default=0, repr=False)
    accounts: tuple[Account, ...] = field(default=(), repr=False)
    began: float | None = field(default=None, repr=False)

    def to_json(self) -> dict[str, Any]:
        """What it is; `compiling` says for how many seconds it has been at work without a first point."""
        compiling = None if self.began is None else round(time.monotonic() - self.began, 1)
        about = {name: getattr(self, name) for name in ("job", "kind", "title", "run", "item", "state")}
        return about | {"compiling": compiling}

    @property
    def model(self) -> str:
        """The model that is trained: what a training waits for before its first step depends on it most."""
        return str((self.params.get("settings") or {}).get("model") or "")


class Jobs:
    """Jobs in the order in which they were asked for; their visitors' events tell how they go."""

    def __init__(self, worker: Worker, limits: Limits = LOCAL) -> None:
        self.worker, self.limits = worker, limits
        self.jobs: list[Job] = []
        self.waited: dict[str, float] = {}  # seconds to the first point of the last training of each model
        self.arrived = asyncio.Event()
        self.loop_task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self.loop_task = asyncio.create_task(self.work())

    def check_room(self, guest: Guest) -> None:
        """Whether there is room for another job of this guest."""
        if len(self.jobs) >= self.limits.queue:
            raise QueueFull(f"{self.limits.queue} jobs wait already; stop one of them, or wait")
        for account in guest.accounts:
            check_room(account, "jobs", sum(account in job.accounts for job in self.jobs))

    def add(self, guest: Guest, kind: str, ask: str, title: str, params: dict[str, Any], **about: Any) -> Job:
        self.check_room(guest)
        name = f"{kind}-{secrets.token_hex(8)}"
        job = Job(guest.visitor, name, kind, ask, title, params | {"job": name}, accounts=guest.accounts, **about)
        self.jobs.append(job)
        self.changed()
        self.arrived.set()
        return job

    def of(self, visitor: Visitor) -> list[Job]:
        """The jobs of a visitor; others' are not to be seen or stopped."""
        return [job for job in self.jobs if job.visitor is visitor]

    def of_run(self, visitor: Visitor, run: str) -> Job | None:
        return next((job for job in self.of(visitor) if job.run == run), None)

    def named(self, visitor: Visitor, name: str) -> Job | None:
        return next((job for job in self.of(visitor) if job.job == name), None)

    def stop(self, job: Job) -> str:
        """Take a job out of the queue, or ask it to end; what becomes of it."""
        job.cancelled = True
        if job.state == "queued":
            self.remove(job)
            return "removed"
        self.halt(job)
        return "stopping"

    def halt(self, job: Job) -> None:
        if job.kind == "training":
            self.worker.stop_current()
        else:
            self.worker.end_current()

    def listed(self, visitor: Visitor) -> list[dict[str, Any]]:
        """The jobs of a visitor, each with how many are before it, whosever they are.

        `compiled_in` is how long the last training of the same model took to its first point.
        """
        return [
            job.to_json() | {"before": at, "compiled_in": self.waited.get(job.model)}
            for at, job in enumerate(self.jobs)
            if job.visitor is visitor
        ]

    def remove(self, job: Job) -> None:
        if job in self.jobs:
            self.jobs.remove(job)
        self.changed(job)

    def changed(self, *jobs: Job) -> None:
        """Tell everybody in the queue where they stand, and who had one of these jobs."""
        for visitor in {id(job.visitor): job.visitor for job in (*self.jobs, *jobs)}.values():
            visitor.events.publish("queue", {"queue": self.listed(visitor)})

    # -------------------------------------------------------------------------------------- the one loop

    async def work(self) -> None:
        while True:
            while not self.jobs:
                self.arrived.clear()
                await self.arrived.wait()
            job = self.jobs[0]
            job.state, job.began = "running", time.monotonic()
            self.changed()
            timer = self.limited(job)
            try:
                await self.carry_out(job)
            finally:
                timer.cancel()
                self.remove(job)

    def limited(self, job: Job) -> asyncio.Task[None]:
        """Ends a job when its time is over: a training is asked to save itself first."""

        async def end() -> None:
            if self.limits.seconds is None:
                return
            await asyncio.sleep(self.limits.seconds)
            job.expired = True
            self.halt(job)
            await asyncio.sleep(SECONDS_TO_SAVE)
            self.worker.end_current()

        return asyncio.create_task(end())

    async def carry_out(self, job: Job) -> None:
        """Do the job; a training whose child dies goes on from its checkpoint in the next child."""
        if job.kind == "training":
            job.visitor.events.publish("begin", {"job": job.job, "run": job.run, "title": job.title})
        while True:
            try:
                reply = await self.worker.ask(job.ask, job.params, lambda name, data: self.pass_on(job, name, data))
                return self.finish(job, reply)
            except WorkerDied as error:
                job.deaths += 1
                if self.worker.closing:
                    return
                if job.cancelled or job.expired or job.kind != "training" or job.deaths >= MOST_DEATHS:
                    text = "it was stopped" if job.cancelled else str(error)
                    return self.finish(job, Reply("refusal", json_bytes({"error": text})))
                job.visitor.events.publish("worker", {"text": RESTARTED, "run": job.run})

    def pass_on(self, job: Job, name: str, data: bytes) -> None:
        job.deaths = 0
        if name == "point" and job.began is not None:
            self.waited[job.model] = round(time.monotonic() - job.began, 1)
            job.began = None
        job.visitor.events.publish(name, job.visitor.told(data))
        if job.cancelled or job.expired:
            self.halt(job)  # again: a child that was just being started has not heard of it

    def finish(self, job: Job, reply: Reply) -> None:
        found = json.loads(job.visitor.shown(reply).payload)
        error = None if reply.kind == "answer" else found["error"]
        if job.expired and not job.cancelled and found.get("state") != "finished":
            error = f"{self.limits.place} works on one thing for {self.limits.seconds:g} s; {self.limits.more} longer"
        about = {"job": job.job, "kind": job.kind, "run": job.run, "item": job.item, "error": error}
        if job.kind == "training":
            state = found["state"] if reply.kind == "answer" else "failed"
            job.visitor.events.publish("end", {**about, "state": state, "outcome": found.get("outcome")})
        else:
            job.visitor.events.publish("answer", {**about, "result": None if error else found})

    async def close(self) -> None:
        if self.loop_task is not None:
            self.loop_task.cancel()
            await asyncio.gather(self.loop_task, return_exceptions=True)


RESTARTED = (
    "The process that trains ended unexpectedly; it was started again, and the run goes on from its last checkpoint."
)
