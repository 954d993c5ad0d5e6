"""Workers of a Ray cluster: processes of this machine, or of many. Ray's core tasks are all that is used.

A task goes out as a plain value and its result comes back as one, so machines need no folder in common. Ray gives a
task to somebody else when a worker or its machine dies; tasks are pure functions, so it does not matter who does them.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from types import ModuleType
from typing import Any, Generic

from modgrok.base.compilation_cache import use_compilation_cache
from modgrok.base.errors import InputError, optional
from modgrok.experiments.workers import Answer, Done, Task

WHERE = "train on a Ray cluster: local (this machine), auto (the one it belongs to) or HOST:PORT"
"""The addresses of Ray, for people."""
START = "start one with `ray start --head`, or give --ray local"
SECONDS_TO_ANSWER = 5.0
RETRIES = 20
"""How often a task is tried again after the death of its worker; one that kills every worker must come to an end."""
TASKS_PER_DEVICE = 2
"""One that is worked on, and one that waits beside it."""
TRAVELLING = ("MODGROK_CACHE", "MODGROK_FUSED")
"""Variables of this process that its workers are to have too."""


class RayWorkers(Generic[Task, Done]):
    """Workers that each have a GPU, if there is one in the cluster, and a CPU core otherwise.

    `address` is "local" for a cluster of this machine that ends with this process, "auto" for the one that was started
    on this machine, or HOST:PORT. Who has called `ray.init` keeps that connection.
    """

    def __init__(self, work: Callable[[Task], Done], address: str) -> None:
        self.ray = the_extra(address)
        self.connected = not self.ray.is_initialized()
        if self.connected:
            connect(self.ray, address)
        self.kind = "GPU" if self.ray.cluster_resources().get("GPU") else "CPU"
        self.remote = self.remote_function()
        if not work.__module__.startswith("modgrok"):  # of the repository's studies, which workers need not have
            self.ray.cloudpickle.register_pickle_by_value(sys.modules[work.__module__.partition(".")[0]])
        self.work = self.ray.put(work)
        self.out: dict[Future[Any], Any] = {}

    @property
    def devices(self) -> int:
        """As many as there are now: machines may come and go."""
        return max(1, int(self.ray.cluster_resources().get(self.kind, 0)))

    @property
    def window(self) -> int:
        return TASKS_PER_DEVICE * self.devices

    def remote_function(self) -> Any:
        """What a worker runs. It stays for the next task (max_calls=0): its programs are compiled."""
        variables = {name: os.environ[name] for name in TRAVELLING if name in os.environ}
        variables["JAX_PLATFORMS"] = "" if self.kind == "GPU" else "cpu"
        return self.ray.remote(
            num_cpus=1,
            num_gpus=int(self.kind == "GPU"),
            max_calls=0,
            max_retries=RETRIES,
            runtime_env={"env_vars": variables},
        )(at_work)

    def ask(self, question: Callable[[], Answer]) -> Answer:
        """What a worker answers: about its device, say."""
        answer: Answer = self.given_out(self.ray.put(question)).result()
        return answer

    def submit(self, task: Task) -> Future[Done]:
        return self.given_out(self.work, task)

    def given_out(self, *work: Any) -> Future[Any]:
        """A function and what it takes, on their way."""
        mine: Future[Any] = Future()
        self.out[mine] = reference = self.remote.remote(*work)

        def ended(theirs: Future[Any]) -> None:
            self.out.pop(mine, None)
            settle(mine, theirs)

        reference.future().add_done_callback(ended)
        return mine

    def close(self) -> None:
        """Tasks that are not done are given up."""
        if self.connected:
            self.ray.shutdown()
        else:
            for reference in list(self.out.values()):
                self.ray.cancel(reference, force=True)


def at_work(work: Callable[..., Done], *task: Any) -> Done:
    """What runs in a worker: workers of a machine share the programs that they compile."""
    use_compilation_cache()
    return work(*task)


def settle(mine: Future[Done], theirs: Future[Done]) -> None:
    """Hand over a result, or what was raised in the worker as it would have been raised here."""
    if theirs.cancelled() or not mine.set_running_or_notify_cancel():
        return
    error = theirs.exception()
    if error is None:
        mine.set_result(theirs.result())
    elif isinstance(cause := getattr(error, "cause", None), Exception) and not type(cause).__module__.startswith(
        "ray."
    ):
        mine.set_exception(cause)
    else:
        mine.set_exception(InputError(reason(cause or error)))


def reason(error: BaseException) -> str:
    """Why Ray could not do a task, in a line."""
    lines = first_line(error), *str(error).strip().splitlines()
    if missing := [line for line in lines if line.startswith(("ModuleNotFoundError: ", "AttributeError: "))]:
        said = missing[-1].split(": ", 1)[1]
        return f"a worker cannot take tasks: {said}; every machine of the cluster needs the same modgrok and Python"
    again = "the same call goes on with what is missing"
    return f"Ray gave up a task, after {RETRIES} attempts if its workers died: {lines[0]}; {again}"


def check_ray(address: str) -> None:
    """An `InputError` where a cluster is asked for in a way that cannot be."""
    if address not in ("local", "auto") and not re.fullmatch(r"[^:/\s]+:\d+", address):
        raise InputError(f"ray is local, auto or the HOST:PORT of a cluster, such as 10.0.0.5:6379; got {address!r}")
    the_extra(address)
    if ":" in address:
        host, port = address.split(":")
        try:
            socket.create_connection((host, int(port)), timeout=SECONDS_TO_ANSWER).close()
        except (OSError, OverflowError) as error:  # Ray itself would wait for minutes
            raise InputError(f"nobody answers at {address}: {error}; {START}") from None


def the_extra(address: str) -> ModuleType:
    """The package, which reads these variables when it is imported: nothing is sent to its makers, and a cluster that
    is ours alone asks for a token, since Ray listens on all interfaces."""
    if "ray" not in sys.modules:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        if address == "local":
            os.environ.setdefault("RAY_AUTH_MODE", "token")
    module: ModuleType = optional("ray", "--ray", "ray")
    return module


def connect(ray: ModuleType, address: str) -> None:
    """Join the cluster, or start one on this machine, without a word."""
    own = {"include_dashboard": False} if address == "local" else {}
    try:
        with handler_kept(signal.SIGTERM):
            ray.init(address, log_to_driver=False, logging_level="ERROR", **own)
    except ConnectionError as error:
        if address == "auto":
            raise InputError(f"this machine belongs to no Ray cluster; {START}") from None
        raise InputError(f"no Ray cluster at {address}: {first_line(error)}; {START}") from None
    except (RuntimeError, ValueError, OSError) as error:
        raise InputError(f"Ray does not start: {first_line(error)}; {START}") from None


@contextmanager
def handler_kept(number: int) -> Iterator[None]:
    """A signal does after the block what it did before: Ray ends the process at SIGTERM, whatever it has to save."""
    before = signal.getsignal(number)
    yield
    if before is not None and threading.current_thread() is threading.main_thread():
        signal.signal(number, before)


def first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
