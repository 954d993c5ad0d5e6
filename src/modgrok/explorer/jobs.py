"""The queue of long work: one thing at a time in a child of its own, so that questions are answered meanwhile."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

from modgrok.explorer.encoding import json_bytes
from modgrok.explorer.events import Events
from modgrok.explorer.limits import LONGEST_QUEUE
from modgrok.explorer.workers import Reply, Worker, WorkerDied

MOST_DEATHS = 3
"""A training whose child dies so often without a step in between is given up."""


class QueueFull(Exception):
    """No room for another job."""


@dataclass(eq=False)
class Job:
    """Work that waits or goes on; `ask` is the name of the task, `run` and `item` what it is about."""

    job: str
    kind: str
    ask: str
    title: str
    params: dict[str, Any]
    run: str | None = None
    item: str | None = None
    state: str = "queued"
    cancelled: bool = False
    deaths: int = field(default=0, repr=False)

    def to_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("job", "kind", "title", "run", "item", "state")}


class Jobs:
    """Jobs in the order in which they were asked for; events tell how they go."""

    def __init__(self, worker: Worker, events: Events) -> None:
        self.worker, self.events = worker, events
        self.jobs: list[Job] = []
        self.count = 0
        self.arrived = asyncio.Event()
        self.loop_task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self.loop_task = asyncio.create_task(self.work())

    def add(self, kind: str, ask: str, title: str, params: dict[str, Any], **about: Any) -> Job:
        if len(self.jobs) >= LONGEST_QUEUE:
            raise QueueFull(f"{LONGEST_QUEUE} jobs wait already; stop one of them, or wait")
        self.count += 1
        job = Job(f"{kind}-{self.count}", kind, ask, title, params, **about)
        job.params = params | {"job": job.job}
        self.jobs.append(job)
        self.changed()
        self.arrived.set()
        return job

    def of_run(self, run: str) -> Job | None:
        return next((job for job in self.jobs if job.run == run), None)

    def named(self, name: str) -> Job | None:
        return next((job for job in self.jobs if job.job == name), None)

    def stop(self, job: Job) -> str:
        """Take a job out of the queue, or ask it to end; what becomes of it."""
        job.cancelled = True
        if job.state == "queued":
            self.jobs.remove(job)
            self.changed()
            return "removed"
        self.halt(job)
        return "stopping"

    def halt(self, job: Job) -> None:
        if job.kind == "training":
            self.worker.stop_current()
        else:
            self.worker.end_current()

    def listed(self) -> list[dict[str, Any]]:
        return [job.to_json() for job in self.jobs]

    def changed(self) -> None:
        self.events.publish("queue", {"queue": self.listed()})

    # -------------------------------------------------------------------------------------- the one loop

    async def work(self) -> None:
        while True:
            while not self.jobs:
                self.arrived.clear()
                await self.arrived.wait()
            job = self.jobs[0]
            job.state = "running"
            self.changed()
            try:
                await self.carry_out(job)
            finally:
                if job in self.jobs:
                    self.jobs.remove(job)
                self.changed()

    async def carry_out(self, job: Job) -> None:
        """Do the job; a training whose child dies goes on from its checkpoint in the next child."""
        if job.kind == "training":
            self.events.publish("begin", {"job": job.job, "run": job.run, "title": job.title})
        while True:
            try:
                reply = await self.worker.ask(job.ask, job.params, lambda name, data: self.pass_on(job, name, data))
                return self.finish(job, reply)
            except WorkerDied as error:
                job.deaths += 1
                if self.worker.closing:
                    return
                if job.cancelled or job.kind != "training" or job.deaths >= MOST_DEATHS:
                    text = "it was stopped" if job.cancelled else str(error)
                    return self.finish(job, Reply("failure", json_bytes({"error": text})))
                self.events.publish("worker", {"text": RESTARTED, "run": job.run})

    def pass_on(self, job: Job, name: str, data: bytes) -> None:
        job.deaths = 0
        self.events.publish(name, data)
        if job.cancelled:
            self.halt(job)  # again: a child that was just being started has not heard of it

    def finish(self, job: Job, reply: Reply) -> None:
        found = json.loads(reply.payload)
        error = None if reply.kind == "answer" else found["error"]
        about = {"job": job.job, "kind": job.kind, "run": job.run, "item": job.item, "error": error}
        if job.kind == "training":
            state = "failed" if error else found["state"]
            self.events.publish("end", {**about, "state": state, "outcome": found.get("outcome")})
        else:
            self.events.publish("answer", {**about, "result": None if error else found})

    async def close(self) -> None:
        if self.loop_task is not None:
            self.loop_task.cancel()
            await asyncio.gather(self.loop_task, return_exceptions=True)


RESTARTED = (
    "The process that trains ended unexpectedly; it was started again, and the run goes on from its last checkpoint."
)
