"""The one answer to "what test accuracy is to be expected?": a number with its error, or why there is none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from modgrok.results import Result, percent

Source = Literal["training loss", "table", "probe"]


@dataclass(frozen=True, repr=False)
class Expectation(Result):
    """A test accuracy that is expected, and where that comes from.

    `error` is the mean absolute error of such expectations near that value, over networks and tables that they were
    not fitted to. Where the calibration does not reach, value and error are None, and `reason` says what it covers.

    >>> Expectation(0.818, 0.109, "from its coincidences", "table")
    <Expectation: expected test accuracy 81.8 % ± 10.9 %, from the table alone>
    """

    value: float | None
    error: float | None
    reason: str
    source: Source

    @property
    def covered(self) -> bool:
        """Whether the calibration reaches this case."""
        return self.value is not None

    @property
    def text(self) -> str:
        """The number with its error."""
        if self.value is None or self.error is None:
            return "not known"
        return f"{percent(self.value, 1)} ± {100 * self.error:.1f} %"

    def summary(self) -> str:
        if not self.covered:
            return f"no test accuracy to expect from the {self.source}: {self.reason}"
        alone = "a probe" if self.source == "probe" else f"the {self.source} alone"
        return f"expected test accuracy {self.text}, from {alone}"


def not_covered(reason: str, source: Source) -> Expectation:
    return Expectation(None, None, reason, source)
