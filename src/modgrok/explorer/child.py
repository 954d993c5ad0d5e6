"""What runs in a child process: read a question from stdin, answer it on stdout, and so on until stdin ends.

    python -m modgrok.explorer.child

A question is one line of JSON: {"number": 7, "ask": its name, "params": {…}}. A reply is one line of JSON that says
what follows, {"kind": "answer", "bytes": 1234, …}, and then so many bytes: JSON, or a file. Before its answer, long
work sends events ({"kind": "event", "name": …}). The line {"stop": 7} asks the work on question number 7 to end at its
next chance. Where stdin ends, the server is gone: the work is asked to stop, and the process ends.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib import import_module
from queue import SimpleQueue
from typing import Any, BinaryIO

from modgrok.base.errors import ExpressionError, InputError
from modgrok.explorer.encoding import json_bytes
from modgrok.explorer.words import QUESTIONS

TASKS = ("training", "probe", "reproduction")
"""Long work; its functions are in `tasks`."""
SECONDS_OF_PEACE = 0.5
"""Without a question, before something is imported for later."""


class Outbox:
    """Replies, one at a time."""

    def __init__(self, stream: BinaryIO) -> None:
        self.stream, self.lock = stream, threading.Lock()

    def send(self, kind: str, payload: bytes, **about: Any) -> None:
        head = json_bytes({"kind": kind, "bytes": len(payload), **about})
        with self.lock, suppress(BrokenPipeError):  # a server that is gone asks nothing more; stdin ends too
            self.stream.write(head + b"\n" + payload)
            self.stream.flush()

    def event(self, name: str, value: dict[str, Any]) -> None:
        self.send("event", json_bytes(value), name=name)


class Inbox:
    """Questions, read by a thread of its own, so that a request to stop is seen while work goes on."""

    def __init__(self, stream: BinaryIO) -> None:
        self.stream, self.lines = stream, SimpleQueue[dict[str, Any] | None]()
        self.stopped, self.ended, self.busy = -1, False, False
        threading.Thread(target=self.read, daemon=True).start()

    def read(self) -> None:
        for line in self.stream:
            message = json.loads(line)
            if "stop" in message:
                self.stopped = message["stop"]
            else:
                self.lines.put(message)
        self.ended = True
        self.lines.put(None)

    def stop(self, number: int) -> bool:
        """Shall the work on this question end?"""
        return self.ended or self.stopped == number

    def __iter__(self) -> Iterator[dict[str, Any]]:
        while (message := self.lines.get()) is not None:
            self.busy = True
            yield message
            self.busy = not self.lines.empty()


def answer(message: dict[str, Any], inbox: Inbox, outbox: Outbox) -> None:
    """Answer one question; what a user got wrong, and what we did, are answers too."""
    try:
        found = find(message["ask"])(message["params"], lambda: inbox.stop(message["number"]), outbox)
        payload, name = found if isinstance(found, tuple) else (json_bytes(found), None)
        outbox.send("answer", payload, file=name)
    except ExpressionError as error:
        refuse(outbox, error.message, error.position)
    except InputError as error:
        refuse(outbox, str(error))
    except MemoryError:
        refuse(outbox, "this needs more memory than there is; take a smaller width or modulus")
    except Exception as error:
        traceback.print_exc()
        text = f"modgrok failed here ({type(error).__name__}: {error}); the terminal of the explorer shows where"
        outbox.send("failure", json_bytes({"error": text, "position": None}))


def refuse(outbox: Outbox, text: str, position: int | None = None) -> None:
    outbox.send("refusal", json_bytes({"error": text, "position": position}))


def find(name: str) -> Callable[[dict[str, Any], Callable[[], bool], Outbox], Any]:
    """What answers a question: its function is imported when it is first asked."""
    if name in TASKS:
        task = getattr(import_module("modgrok.explorer.tasks"), name)
        return lambda params, stop, outbox: task(params, outbox.event, stop)
    question = getattr(import_module(f"modgrok.explorer.{QUESTIONS[name].module}"), name)
    return lambda params, stop, outbox: question(params)


def warm(inbox: Inbox) -> None:
    """Import what most questions need, JAX among it, when nobody asks: the first verdicts need none of it."""
    for module in ("functions", "network_answers", "run_answers", "settings"):
        import_module(f"modgrok.explorer.{module}")
        time.sleep(SECONDS_OF_PEACE)
        while inbox.busy:
            time.sleep(SECONDS_OF_PEACE)


def main() -> None:
    from modgrok.base.compilation_cache import use_compilation_cache

    use_compilation_cache()
    outbox = Outbox(os.fdopen(os.dup(1), "wb"))
    os.dup2(2, 1)  # whatever prints shall not disturb the replies
    inbox = Inbox(sys.stdin.buffer)
    threading.Thread(target=warm, args=(inbox,), daemon=True).start()
    for message in inbox:
        answer(message, inbox, outbox)
    os._exit(0)  # `warm` may be in the middle of an import, which nobody waits for


if __name__ == "__main__":
    main()
