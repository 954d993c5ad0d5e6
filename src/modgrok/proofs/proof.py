"""What a proof is: an object that only the kernel makes, about weights and words that it was given in this process.

A file can say that something is proved; that is a claim, and no reader turns a claim into a `Proof`.
"""

from __future__ import annotations

from dataclasses import InitVar, dataclass, field
from typing import Any, NoReturn

import numpy as np

from modgrok.base.results import Result, plain

_KERNEL = object()
"""Whoever makes a proof must hold this; `tests/test_architecture.py` sees to it that only this room does."""


class NoProof(Exception):
    """Why nothing is proved, in a sentence: neither true nor false."""


class TooMuchWork(NoProof):
    """A claim that would take longer to check than its reader allows."""


class ProofOf(Result):
    """What proofs have in common: they are made by the kernel, and cannot be written, copied, changed or loaded."""

    def __init_subclass__(cls) -> None:
        if cls.__module__ != __name__:
            raise TypeError("there are no other kinds of proof than those of the kernel")

    def __post_init__(self, _made_by: object) -> None:
        if _made_by is not _KERNEL:
            raise TypeError("a proof is made by the kernel from weights or from a table; it cannot be built or loaded")

    def __reduce__(self) -> NoReturn:
        raise TypeError("a proof cannot be stored; prove it again where it is needed")


@dataclass(frozen=True, repr=False, eq=False)
class Proof(ProofOf):
    """On how many rows a network is right, rounding included.

    `right` rows are proved right and `wrong` ones proved wrong; on `undecided` ones two answers are so close that
    rounding in `dtype` may choose; `unknown` ones have no right answer, and are none of the `rows`. `margin` is the
    smallest lead of the answer over all others, and `error_bound` the most that rounding can change of a logit.
    `subject` is the model with the weights that it is about.
    """

    rows: int
    right: int
    wrong: int
    undecided: int
    dtype: str
    margin: float
    error_bound: float
    method: str
    subject: tuple[Any, ...] = field(repr=False)
    words: tuple[Any, ...] = field(repr=False)
    unknown: int = 0
    _made_by: InitVar[object] = None

    @property
    def holds(self) -> bool:
        """Whether the network is proved right on every row."""
        return self.right == self.rows

    @property
    def whole(self) -> str:
        """What a proof says that holds."""
        return "proved right on every input" + " whose answer is known" * (self.unknown > 0)

    def about(self, subject: tuple[Any, ...], words: tuple[Any, ...]) -> bool:
        """Whether this proof is about this very model and these weights, and the function that these words say."""
        return [*map(id, self.subject)] == [*map(id, subject)] and self.words == words

    def summary(self) -> str:
        rounding = f"margin {self.margin:.3g}, rounding in {self.dtype} at most {self.error_bound:.2g}"
        if self.holds:
            return f"{self.whole} ({rounding})"
        rest = [f"{self.wrong:,} proved wrong"] * bool(self.wrong)
        rest += [f"{self.undecided:,} so close that rounding may choose"] * bool(self.undecided)
        return f"proved right on {self.right:,} of {self.rows:,} rows in {self.dtype}, {', '.join(rest)}"

    def to_json(self) -> dict[str, Any]:
        names = ("holds", "right", "wrong", "undecided", "dtype", "margin", "error_bound", "method")
        return {"rows_total": self.rows, **{name: plain(getattr(self, name)) for name in names}}


@dataclass(frozen=True, repr=False, eq=False)
class VerdictProof(ProofOf):
    """That a table is, or is not, of the form that a claim says; `reason` is the kernel's own sentence.

    `claim` is what the kernel has read, `subject` whoever claims it, and `table` what it is about.
    """

    in_class: bool
    reason: str
    claim: Any = field(default=None, repr=False)
    subject: object = field(default=None, repr=False)
    table: np.ndarray | None = field(default=None, repr=False)
    _made_by: InitVar[object] = None

    def about(self, family: str, subject: object) -> bool:
        """Whether this proof is about this very claim."""
        return self.claim.family == family and self.subject is subject

    def about_table(self, table: np.ndarray) -> bool:
        return self.table is table or (self.table is not None and np.array_equal(self.table, table))

    def summary(self) -> str:
        return f"proved: {self.reason}"

    def to_json(self) -> dict[str, Any]:
        return {"in_class": self.in_class, "reason": self.reason}
