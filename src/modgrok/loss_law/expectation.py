"""The one answer to "what test accuracy is to be expected?": a number with its interval, or why there is none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from modgrok.base.results import Result, percent

Source = Literal["training loss", "table", "probe"]

INTERVAL = (0.05, 0.95)
"""Quantiles between which an interval lies: nine of ten networks that no fit has seen are inside."""


@dataclass(frozen=True, repr=False)
class Expectation(Result):
    """A test accuracy that is expected, and where that comes from.

    Of networks on tables that the expectation was not fitted to, half reach `value` and nine in ten lie between `low`
    and `high`. Where the calibration does not reach, all three are None, and `reason` says what it covers.

    >>> Expectation(0.818, 0.62, 0.97, "from its coincidences", "table")
    <Expectation: expected test accuracy 82 % (62 to 97 %), from the table alone>
    """

    value: float | None
    low: float | None
    high: float | None
    reason: str
    source: Source

    @property
    def covered(self) -> bool:
        """Whether the calibration reaches this case."""
        return self.value is not None

    @property
    def text(self) -> str:
        """The number with its interval."""
        if self.value is None or self.low is None or self.high is None:
            return "not known"
        return f"{percent(self.value, 0)} ({span_text(self.low, self.high)})"

    def compared(self, reached: float) -> str:
        """Whether what was reached is more or less than the interval; empty where it lies in it."""
        assert self.low is not None and self.high is not None, "nothing is expected here"
        return "more" if reached > self.high else "less" if reached < self.low else ""

    def summary(self) -> str:
        if not self.covered:
            return f"no test accuracy to expect from the {self.source}: {self.reason}"
        alone = "a probe" if self.source == "probe" else f"the {self.source} alone"
        return f"expected test accuracy {self.text}, from {alone}"


def span_text(low: float, high: float) -> str:
    """Two shares as '62 to 97 %'."""
    return f"{percent(low, 0).removesuffix(' %')} to {percent(high, 0)}"


def not_covered(reason: str, source: Source) -> Expectation:
    return Expectation(None, None, None, reason, source)
