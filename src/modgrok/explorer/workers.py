"""A child process that answers one question after another, and is started again when it dies.

The server's loop never computes: it writes a line and waits for the reply, whose bytes it passes on as they are.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from modgrok.explorer.encoding import json_bytes
from modgrok.explorer.rates import OF_SECOND, Account, charge

COMMAND = (sys.executable, "-m", "modgrok.explorer.child")
SECONDS_TO_END = 120.0
"""How long a child that is asked to end may finish what it writes: a moment, which is long on a busy machine."""


class WorkerDied(Exception):
    """The child ended before it answered; what it was asked is not done."""


@dataclass(frozen=True)
class Reply:
    """What a child said: `kind` is answer, refusal (of bad input) or failure; `file` names a file that it sends."""

    kind: str
    payload: bytes
    file: str | None = None


OnEvent = Callable[[str, bytes], None]
"""Called with the name of an event and its JSON."""


@dataclass(eq=False)
class Question:
    """Something to ask, until its reply is there."""

    name: str
    params: dict[str, Any]
    reply: asyncio.Future[Reply]
    on_event: OnEvent | None = None
    payers: tuple[Account, ...] = ()
    number: int = 0

    def credit(self) -> float:
        """What who asks has left to spend, as a share; the poorest of those who pay counts."""
        return min((payer.points.level() for payer in self.payers), default=0.0)


class Worker:
    """One child. Questions wait in line; those that nobody waits for any more are left out.

    `patience` is how many seconds an answer may take before the child is ended and started again; None for any time.
    Where questions are paid for, who has spent least is answered first. `variables` are added to its environment.
    """

    def __init__(
        self,
        name: str,
        *,
        patience: float | None = None,
        niceness: int = 0,
        variables: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.name, self.patience, self.niceness, self.variables = name, patience, niceness, variables
        self.waiting: deque[Question] = deque()
        self.arrived = asyncio.Event()
        self.process: asyncio.subprocess.Process | None = None
        self.current: Question | None = None
        self.asked = self.restarts = 0
        self.closing = self.killed = self.overgrown = False
        self.loop_task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        await self.spawn()
        self.loop_task = asyncio.create_task(self.work())

    async def spawn(self) -> None:
        """A child in a session of its own: Ctrl-C on a terminal reaches the server alone, which ends its children."""
        self.process = await asyncio.create_subprocess_exec(
            *COMMAND,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env={**environment(), **self.variables},
            **apart(),
        )
        self.killed = self.overgrown = False
        if self.niceness and hasattr(os, "setpriority"):
            with contextlib.suppress(OSError):
                os.setpriority(os.PRIO_PROCESS, self.process.pid, self.niceness)

    async def ask(
        self,
        name: str,
        params: dict[str, Any],
        on_event: OnEvent | None = None,
        payers: tuple[Account, ...] = (),
    ) -> Reply:
        """The child's reply; `WorkerDied` where it ended before."""
        question = Question(name, params, asyncio.get_running_loop().create_future(), on_event, payers)
        self.waiting.append(question)
        self.arrived.set()
        return await question.reply

    def refuse_all(self, reason: str) -> None:
        """Nobody waits for an answer any more."""
        for question in (*self.waiting, self.current):
            if question is not None and not question.reply.done():
                question.reply.set_exception(WorkerDied(reason))

    def stop_current(self) -> None:
        """Ask the work that goes on to end at its next chance."""
        if self.current is not None:
            self.write({"stop": self.current.number})

    def end_current(self) -> None:
        """End the work that goes on at once, with its child; another takes its place."""
        if self.process is not None and self.current is not None:
            self.kill()

    # -------------------------------------------------------------------------------------- the one loop

    async def work(self) -> None:
        while True:
            while not self.waiting:
                self.arrived.clear()
                await self.arrived.wait()
                if self.overgrown:
                    await self.revive()
            question = max(self.waiting, key=Question.credit)  # the first of equals
            self.waiting.remove(question)
            if question.reply.done():
                continue
            self.current, began = question, time.monotonic()
            try:
                async with asyncio.timeout(self.patience):
                    reply = await self.answered(question)
                if not question.reply.done():
                    question.reply.set_result(reply)
            except Exception as error:  # whatever a child does, the next question finds one that answers
                reason = self.reason(error)
                await self.revive()
                if not question.reply.done():
                    question.reply.set_exception(WorkerDied(reason))
            finally:
                self.current = None
                charge(question.payers, OF_SECOND * (time.monotonic() - began))

    def reason(self, error: Exception) -> str:
        if isinstance(error, TimeoutError):
            return f"this took more than {self.patience:g} seconds, which is the explorer's limit; ask for less"
        if self.overgrown:
            return "this took more memory than there is for one question; ask for less"
        return "the process that computes ended unexpectedly and was started again; try once more"

    async def answered(self, question: Question) -> Reply:
        assert self.process is not None and self.process.stdout is not None
        if self.process.returncode is not None:
            await self.revive()
        self.asked += 1
        question.number = self.asked
        self.write({"number": self.asked, "ask": question.name, "params": question.params})
        while True:
            line = await self.process.stdout.readline()
            if not line:
                raise WorkerDied
            head = json.loads(line)
            payload = await self.process.stdout.readexactly(head["bytes"])
            if head["kind"] != "event":
                return Reply(head["kind"], payload, head.get("file"))
            if question.on_event is not None:
                question.on_event(head["name"], payload)

    def write(self, message: dict[str, Any]) -> None:
        assert self.process is not None and self.process.stdin is not None
        if self.process.stdin.is_closing():  # it has been asked to end
            return
        with contextlib.suppress(ConnectionError, RuntimeError):
            self.process.stdin.write(json_bytes(message) + b"\n")

    async def revive(self) -> None:
        """A new child in place of the one that died, or that is ended now."""
        self.kill()
        if self.process is not None:
            await self.process.wait()
        if not self.closing:
            self.restarts += 1
            await self.spawn()

    def kill(self) -> None:
        """Once, and past asyncio: its own kill takes the exit code of a child that has just died away from itself."""
        if self.process is not None and self.process.returncode is None and not self.killed:
            self.killed = True
            with contextlib.suppress(ProcessLookupError):
                if hasattr(signal, "SIGKILL"):
                    os.kill(self.process.pid, signal.SIGKILL)
                else:
                    self.process.kill()

    def keep_level(self, most: int) -> None:
        """Replace a child that holds more memory than it may when it rests, or half as much again at work.

        Programs that JAX has compiled stay in a process, so that one that is asked for many shapes grows.
        """
        if self.process is None or self.overgrown:
            return
        self.overgrown = memory(self.process.pid) > (most if self.current is None else 1.5 * most)
        if self.overgrown and self.current is not None:
            self.kill()
        elif self.overgrown:
            self.arrived.set()  # the loop starts another

    async def close(self, seconds: float = SECONDS_TO_END) -> None:
        """End the child: its stdin ends, which asks it to stop; after some seconds it is killed."""
        self.closing = True
        if self.process is None:
            return
        if self.process.stdin is not None:
            self.process.stdin.close()
        try:
            async with asyncio.timeout(seconds if self.current is not None else 1.0):
                await self.process.wait()
        except TimeoutError:
            self.kill()
            await self.process.wait()
        if self.loop_task is not None:
            self.loop_task.cancel()
            await asyncio.gather(self.loop_task, return_exceptions=True)


def memory(pid: int) -> int:
    """Resident bytes of a process, on Linux; 0 where that cannot be read."""
    try:
        with open(f"/proc/{pid}/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


def apart() -> dict[str, Any]:
    """What keeps Ctrl-C on the terminal from a child: a session of its own, or a group of processes."""
    group = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", None)  # Windows
    return {"start_new_session": True} if group is None else {"creationflags": group}


def environment() -> dict[str, str]:
    """That of this process; the package is the one that runs here, wherever it lies."""
    from pathlib import Path

    package = str(Path(__file__).parents[2])
    path = os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH", "")]))
    return os.environ | {"PYTHONPATH": path}
