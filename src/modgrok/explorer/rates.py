"""How much one visitor, and one address, may ask of a public explorer in a time and at once."""

from __future__ import annotations

import time
from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from math import ceil

MOST_ACCOUNTS = 10_000
"""Of visitors, and of addresses; who was away longest begins anew."""
OF_SECOND = 8.0
"""Points that a second of computing costs, beside the one that a request costs."""
OF_FILE = 20.0
"""What a file costs that is sent, in points."""
OF_PAGE = 0.1
"""What one of the page's own files costs: a visit loads some thirty."""


class TooMuch(Exception):
    """More than one may ask; `seconds` is when to ask again."""

    def __init__(self, reason: str, seconds: float) -> None:
        self.reason, self.seconds = reason, ceil(seconds)
        super().__init__(reason)


class Bucket:
    """Points to spend: `size` at first, and `per_second` more until it is full again.

    Whoever has any may spend them; what something cost is known afterwards, so a bucket may owe as much as it holds.
    """

    def __init__(self, size: float, per_second: float) -> None:
        self.size, self.per_second = size, per_second
        self.points, self.looked = size, time.monotonic()

    def level(self) -> float:
        """What is left now, as a share of all."""
        now = time.monotonic()
        self.points = min(self.size, self.points + (now - self.looked) * self.per_second)
        self.looked = now
        return self.points / self.size

    def wait(self, cost: float) -> float:
        """Seconds until so much can be spent; 0 for now."""
        self.level()
        return max(0.0, (min(cost, self.size) - self.points) / self.per_second)

    def spend(self, cost: float) -> None:
        self.level()
        self.points = max(-self.size, self.points - cost)


@dataclass(frozen=True)
class Allowance:
    """What an account may: points a second and in store, jobs begun an hour, and how many things of a kind at once."""

    whose: str
    points: float
    per_second: float
    jobs_an_hour: int
    at_once: Mapping[str, int]


VISITOR = Allowance("you", 240, 6, 20, {"questions": 8, "streams": 4, "files": 1, "jobs": 2})
ADDRESS = Allowance(
    "your address", 960, 24, 60, {"questions": 32, "streams": 16, "files": 2, "jobs": 4, "visitors": 40}
)
TOLD = {
    "questions": "questions at once",
    "streams": "open pages",
    "files": "files at once",
    "jobs": "jobs in the queue",
}


class Account:
    """What one visitor or one address has spent, and what it holds now."""

    def __init__(self, allowance: Allowance) -> None:
        self.allowance, self.held = allowance, Counter[str]()
        self.points = Bucket(allowance.points, allowance.per_second)
        self.begun = Bucket(allowance.jobs_an_hour, allowance.jobs_an_hour / 3600)


class Accounts:
    """Accounts of one kind by name; those that were used last are kept."""

    def __init__(self, allowance: Allowance) -> None:
        self.allowance = allowance
        self.known: OrderedDict[str, Account] = OrderedDict()

    def of(self, name: str) -> Account:
        account = self.known.setdefault(name, Account(self.allowance))
        self.known.move_to_end(name)
        if len(self.known) > MOST_ACCOUNTS:
            self.known.popitem(last=False)
        return account


def spend(accounts: Iterable[Account], cost: float) -> None:
    """Take the points for a request from each account, or none from any: then `TooMuch`."""
    accounts = tuple(accounts)
    for account in accounts:
        if seconds := account.points.wait(cost):
            raise TooMuch(f"{account.allowance.whose} asked for much in a short time; wait {ceil(seconds)} s", seconds)
    charge(accounts, cost)


def charge(accounts: Iterable[Account], cost: float) -> None:
    """Take what something has cost."""
    for account in accounts:
        account.points.spend(cost)


def begin(accounts: Iterable[Account]) -> None:
    """Count a job that is begun."""
    accounts = tuple(accounts)
    for account in accounts:
        if seconds := account.begun.wait(1):
            most = account.allowance.jobs_an_hour
            raise TooMuch(
                f"this public demo begins {most} trainings an hour for {account.allowance.whose}; wait "
                f"{ceil(seconds)} s, or install modgrok (pip install modgrok)",
                seconds,
            )
    for account in accounts:
        account.begun.spend(1)


@contextmanager
def held(accounts: Iterable[Account], kind: str) -> Iterator[None]:
    """Hold one of a kind; `TooMuch` where an account holds as many as it may."""
    accounts = tuple(accounts)
    for account in accounts:
        check_room(account, kind, account.held[kind])
    for account in accounts:
        account.held[kind] += 1
    try:
        yield
    finally:
        for account in accounts:
            account.held[kind] -= 1


def check_room(account: Account, kind: str, number: int) -> None:
    """Whether an account that has so many of a kind may have one more."""
    if number >= account.allowance.at_once[kind]:
        raise TooMuch(f"{number} {TOLD[kind]} are all that {account.allowance.whose} may have; wait for one to end", 5)
