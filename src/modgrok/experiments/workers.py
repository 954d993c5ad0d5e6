"""Who does the tasks of a long job: this thread, threads of this process, or workers elsewhere (`elsewhere`).

A job gives out tasks in a window, never all at once, takes what comes back in the order in which it ends, and alone
writes files: so it can be killed at any time, and so can whoever works for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Generic, Protocol, TypeVar, runtime_checkable

Task = TypeVar("Task")
Done = TypeVar("Done")
TaskIn = TypeVar("TaskIn", contravariant=True)
Answer = TypeVar("Answer")


@runtime_checkable
class Workers(Protocol[TaskIn, Done]):
    """Those who do tasks: `window` of them may be given out before the first is done."""

    @property
    def window(self) -> int: ...
    @property
    def devices(self) -> int:
        """How many devices they have in all."""

    def submit(self, task: TaskIn, /) -> Future[Done]: ...
    def ask(self, question: Callable[[], Answer], /) -> Answer:
        """What one of them answers: about the device that it has, say."""

    def close(self) -> None: ...


class ThisThread(Generic[Task, Done]):
    """Does a task as soon as it is given: an interruption stops it at once."""

    window = devices = 1

    def __init__(self, work: Callable[[Task], Done]) -> None:
        self.work = work

    def submit(self, task: Task) -> Future[Done]:
        future: Future[Done] = Future()
        future.set_result(self.work(task))
        return future

    def ask(self, question: Callable[[], Answer]) -> Answer:
        return question()

    def close(self) -> None:
        pass


class Threads(Generic[Task, Done]):
    """Some threads of this process; what they have begun comes to its end."""

    devices = 1

    def __init__(self, work: Callable[[Task], Done], count: int) -> None:
        self.work, self.window, self.pool = work, count, ThreadPoolExecutor(count)

    def submit(self, task: Task) -> Future[Done]:
        return self.pool.submit(self.work, task)

    def ask(self, question: Callable[[], Answer]) -> Answer:
        return question()

    def close(self) -> None:
        self.pool.shutdown(cancel_futures=True)


def in_window(workers: Workers[Task, Done], tasks: Iterator[Task]) -> Iterator[tuple[Task, Done]]:
    """Every task with its result as it ends; at most `workers.window` of them are given out at a time.

    If the process is interrupted, tasks that can be called back are; the others are finished and given too, before the
    interruption goes on.
    """
    pending: dict[Future[Done], Task] = {}
    interruption: KeyboardInterrupt | None = None
    while True:
        try:
            while interruption is None and len(pending) < workers.window and (task := next(tasks, None)) is not None:
                pending[workers.submit(task)] = task
            if not pending:
                break
            ended, _ = wait(pending, return_when=FIRST_COMPLETED)
        except KeyboardInterrupt as interrupted:
            if interruption is not None:
                raise
            interruption = interrupted
            pending = {future: task for future, task in pending.items() if not future.cancel()}
            continue
        for future in ended:
            yield pending.pop(future), future.result()
    if interruption is not None:
        raise interruption
