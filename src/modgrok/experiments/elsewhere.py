"""Who works elsewhere than in this process, by the address that asks for it: the one table of such executors.

Whatever takes an address (sweeps, censuses, items of the paper, their options, the repository's studies) asks here. So
an executor is a class of `workers.Workers` that is made of what they do and an address, and an entry in `EXECUTORS`: it
is asked for by "name:…", and what begins with no name of the table is an address of Ray's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from modgrok.experiments.ray_workers import WHERE as RAY_WHERE, RayWorkers, check_ray
from modgrok.experiments.workers import Done, Task, Workers


class Executor(NamedTuple):
    """`where` tells people which addresses it has, `check` refuses those that it cannot work at."""

    where: str
    check: Callable[[str], None]
    workers: Callable[[Callable[[Any], Any], str], Workers[Any, Any]]


RAY = Executor(RAY_WHERE, check_ray, RayWorkers)
EXECUTORS: dict[str, Executor] = {"ray": RAY}
WHERE = "; or ".join(executor.where for executor in EXECUTORS.values())
"""What the option --ray says of itself."""


def executor_at(address: str) -> Executor:
    return EXECUTORS.get(address.partition(":")[0], RAY)


def check_address(address: str | None) -> None:
    """An `InputError` where nobody can work at an address; None is this process."""
    if address is not None:
        executor_at(address).check(address)


def workers_at(address: str, work: Callable[[Task], Done]) -> Workers[Task, Done]:
    """Those who work at an address."""
    return executor_at(address).workers(work, address)
