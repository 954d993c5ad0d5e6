"""How much work a decision may take, counted in steps and never in seconds: a busy machine gives the same answer.

A step is about a thousand cells of a table looked at once, some 0.1 ms of Python. Every procedure pays for what it
does; when its share is used up it stops with `LimitReached`, and the decision goes on with another, or is `unknown`.
"""

from __future__ import annotations

STEPS_OF_EFFORT = 30_000
"""Steps that a question may take for each unit of effort."""
CELLS_OF_STEP = 1000


class LimitReached(Exception):
    """A stated number of steps was reached."""


class Budget:
    """A limit on steps, and how many were used."""

    def __init__(self, limit: int, parent: Budget | None = None) -> None:
        self.limit = limit
        self.used = 0
        self.parent = parent

    @property
    def left(self) -> int:
        return self.limit - self.used

    def part(self, limit: int) -> Budget:
        """A share of what is left; what it uses is counted here too."""
        return Budget(min(limit, self.left), self)

    def spend(self, steps: int = 1) -> None:
        self.check()
        budget: Budget | None = self
        while budget is not None:
            budget.used += steps
            budget = budget.parent

    def check(self) -> None:
        if self.used >= self.limit:
            raise LimitReached


def steps_for(cells: int) -> int:
    """The price of looking at so many cells."""
    return 1 + cells // CELLS_OF_STEP
