"""From how much of a table a network learns it: what is expected at every share, as a curve."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from modgrok.base.progress import Progress
from modgrok.base.results import Result, percent
from modgrok.loss_law.expectation import Expectation
from modgrok.loss_law.fraction_law import GROKKED
from modgrok.loss_law.from_table import expected_from_table

SHARES = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
"""Shares of the table that are asked about."""


@dataclass(frozen=True, repr=False)
class ShareCurve(Result):
    """What is expected at each of some shares of a table.

    `half` and `whole` are the shares from which on half of the unseen cells, and nearly all of them, are expected to be
    right, by straight lines between the shares that were asked; None where no share is enough, or nothing is expected.
    """

    shares: tuple[float, ...]
    expected: tuple[Expectation, ...]
    half: float | None
    whole: float | None

    @property
    def known(self) -> bool:
        """Whether something is expected at any share."""
        return any(each.covered for each in self.expected)

    @property
    def text(self) -> str:
        """The curve in a few words."""
        if not self.known:
            return "what to expect from other shares is not known either"
        enough = {"half of the rest": self.half, "all of it": self.whole}
        said = [f"{what} from {percent(share, 0)}" for what, share in enough.items() if share is not None]
        if said:
            return ", ".join(said)
        value = max(each.value for each in self.expected if each.value is not None)
        return f"at no share half of the rest: {percent(value, 0)} at most"

    def summary(self) -> str:
        return self.text


def share_curve(
    table: Int[np.ndarray, "n1 ..."], values: int | None, model: str = "power", *, progress: Progress | None = None
) -> ShareCurve:
    """What to expect of networks that train on more and more of a table.

    >>> share_curve(np.zeros((13, 13), int), 13).text
    'what to expect from other shares is not known either'
    """
    found = []
    for number, share in enumerate(SHARES):
        found.append(expected_from_table(table, values, fraction=share, model=model))
        if progress is not None:
            progress(number + 1, len(SHARES))
    reached = [each.value for each in found]
    return ShareCurve(SHARES, tuple(found), first_share(SHARES, reached, 0.5), first_share(SHARES, reached, GROKKED))


def first_share(shares: tuple[float, ...], reached: list[float | None], level: float) -> float | None:
    """From which share on a level is reached for good, on straight lines between shares of which something is known.

    >>> first_share((0.1, 0.2, 0.3), [0.0, 0.4, 0.8], 0.6), first_share((0.1, 0.2), [0.0, 0.4], 0.6)
    (0.25, None)
    """
    known = [(share, value) for share, value in zip(shares, reached, strict=True) if value is not None]
    if not known or known[-1][1] < level:
        return None
    later_share, later = known[-1]
    for share, value in reversed(known[:-1]):
        if value < level:
            return round(share + (level - value) / (later - value) * (later_share - share), 4)
        later_share, later = share, value
    return later_share
