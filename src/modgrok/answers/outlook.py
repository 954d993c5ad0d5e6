"""Whether a network will learn a function from part of its table: one decision, of which every sentence is made.

Three witnesses are heard. The law of tables (`loss_law.from_table`) tells the accuracy to expect; the law of shares
(`loss_law.fraction_law`) tells from which share of the table on half of all trainings reach 99 %; a probe is one
network that was trained. Half of them reach 99 % just where the accuracy to expect, which is a median, is 99 % or more.
So where the first two disagree the share is not told, since the accuracy is about this very table, nor is a larger
share where nearly all is expected from this one; where only the second is known, it alone decides; where neither is,
the probe does; and a probe that left the interval is told as such. A curve over shares, where it was asked for, stands
for the second.
"""

from __future__ import annotations

from dataclasses import dataclass

from modgrok.answers.probe import Probe
from modgrok.base.results import Result, percent
from modgrok.loss_law.expectation import Expectation, span_text
from modgrok.loss_law.fraction_law import GROKKED, fraction_law
from modgrok.loss_law.share_curve import ShareCurve

WIDE = 0.6
"""An interval that tells no more than that some networks learn a function and others do not."""
SURE, LIKELY, HALF, LITTLE = 0.95, 0.8, 0.5, 0.2
"""Expected accuracies from which on a network "should learn" a function, learns most, more than half, or a part."""

LEADS = {
    "learned": "A network should learn it from {part}",
    "often": "A network often learns it from {part}, but not always",
    "most": "A network learns most of it from {part}",
    "half": "A network learns more than half of it from {part}",
    "part": "A network learns a part of it from {part}",
    "hardly": "A network will hardly learn it from {part}",
    "open": "It is open whether a network learns it from {part}",
    "too little": "A network will hardly learn all of it from {part}",
    "probed": "One small network was trained on {part}",
    "unknown": "Whether a network learns it from {part} is not known",
}
"""What each outcome is called in a sentence."""


@dataclass(frozen=True, repr=False)
class Outlook(Result):
    """What to expect of a network that trains on `fraction` of a table.

    `outcome` is one of `LEADS`, `because` where that comes from, and `advice` what to do, empty where nothing is to be
    done. `expected` has the numbers, None where no trainings are like it; `enough` is the share of the table from which
    on half of all trainings grok, None where that is not known or `expected` says otherwise; `curve` has what is
    expected at other shares, where that was asked. Of a table that is not `whole` shares are those of its known cells.
    """

    outcome: str
    because: str
    advice: str
    fraction: float
    expected: Expectation
    enough: float | None
    probe: Probe | None
    curve: ShareCurve | None = None
    whole: bool = True
    told = ("outcome", "because", "advice")
    """An answer has the numbers among its own keys."""

    @property
    def text(self) -> str:
        """The decision in sentences; the advice is another."""
        parts = (self.lead, self.of_the_probe, self.of_the_share, self.of_the_curve, self.of_the_number)
        return " ".join(filter(None, parts))

    @property
    def lead(self) -> str:
        said = LEADS[self.outcome].format(part=share_text(self.fraction, self.whole))
        if self.outcome == "probed":
            right = percent(self.reached, 1)
            return f"{said} and got {right} of the unseen cells right. No number was to be expected: {self.because}."
        if self.outcome == "unknown":
            if self.enough is not None:
                said = f"Whether so little as {share_text(self.fraction, self.whole)} is enough was not measured"
            elif self.reached is not None:
                said = f"How much networks learn of it from {share_text(self.fraction, self.whole)} is not known"
            return f"{said}: {self.because}."
        if self.expected.value is None or self.expected.low is None or self.expected.high is None:
            return f"{said}."
        much, low, high = (percent(x, 0) for x in (self.expected.value, self.expected.low, self.expected.high))
        span = much if low == much == high else span_text(self.expected.low, self.expected.high)
        return f"{said}: expect {much} of the unseen cells right ({span} in nine networks of ten)."

    @property
    def reached(self) -> float | None:
        """What the probe got right of the cells that it had not seen."""
        return None if self.probe is None else self.probe.test_accuracy

    @property
    def of_the_probe(self) -> str:
        if self.reached is None or self.outcome == "probed":
            return ""
        beside = self.expected.compared(self.reached) if self.expected.covered else ""
        if not self.expected.covered and self.enough is not None:
            denied = (self.reached >= GROKKED) != (self.outcome == "learned")
            beside = ("less" if self.outcome == "learned" else "more") if denied else ""
        than = f", {beside} than was to be expected" if beside else ""
        return f"The probe, one small network, got {percent(self.reached, 1)} of them right{than}."

    @property
    def of_the_share(self) -> str:
        if self.enough is None:
            return ""
        less = " or less" * (self.enough <= fraction_law().fraction_range[0])
        return f"It is expected to grok from about {percent(self.enough, 0)} of the table{less}."

    @property
    def of_the_curve(self) -> str:
        return "" if self.curve is None else f"{self.curve.text[:1].upper()}{self.curve.text[1:]}."

    @property
    def of_the_number(self) -> str:
        """Why there is no closer number, where the law of shares alone has decided."""
        told = self.expected.covered or self.outcome in ("unknown", "probed")
        return "" if told else f"No closer number is known: {self.expected.reason}."

    @property
    def accuracy(self) -> str:
        """The accuracy to expect in a few words."""
        if self.expected.covered or self.outcome == "unknown":
            return self.expected.text
        if self.outcome == "probed":
            return f"not known, {percent(self.reached, 0)} by a probe"
        return f"{percent(GROKKED, 0)} or more" if self.outcome == "learned" else f"below {percent(GROKKED, 0)}"

    def summary(self) -> str:
        return f"{self.outcome}: expected test accuracy {self.accuracy}"


def outlook(
    expected: Expectation,
    share: float | None,
    fraction: float,
    probe: Probe | None = None,
    curve: ShareCurve | None = None,
    *,
    whole: bool = True,
) -> Outlook:
    """What the accuracy to expect, the share that is enough and a probe say together."""
    told = share is not None and curve is None and agrees(share, expected, fraction)
    enough = share if told else None
    outcome, because = outcome_of(expected, enough, fraction)
    if outcome == "unknown" and probe is not None and probe.test_accuracy is not None:
        outcome = "probed"
    advice = ""
    if outcome == "unknown" and probe is None:
        advice = "a probe trains one small network on it and sees (--probe)"
    elif outcome != "learned" and enough is not None and enough > fraction:
        advice = f"train on more than {percent(enough, 0)} of the table"
    return Outlook(outcome, because, advice, fraction, expected, enough, probe, curve, whole)


def agrees(share: float, expected: Expectation, fraction: float) -> bool:
    """Whether half of the trainings reach 99 % by the one just where they do by the other, or one alone speaks.

    A larger share than asked is no news where nearly all is expected from this one.
    """
    if expected.value is None:
        return True
    return expected.value >= GROKKED if share <= fraction else expected.value < SURE


def outcome_of(expected: Expectation, enough: float | None, fraction: float) -> tuple[str, str]:
    """One of `LEADS`, and where it comes from."""
    if expected.value is None or expected.low is None or expected.high is None:
        least = fraction_law().fraction_range[0]
        if enough is None or fraction < enough <= least:
            return "unknown", expected.reason
        because = f"half of the trainings on functions of its kind grok from {percent(enough, 0)} of the table on"
        return "learned" if enough <= fraction else "too little", because
    value, low, high = expected.value, expected.low, expected.high
    if value < SURE and high - low > WIDE:
        return "open", expected.reason
    if value >= SURE and (enough is None or enough <= fraction):
        return "learned" if low >= LIKELY else "often", expected.reason
    levels = {"most": LIKELY, "half": HALF, "part": LITTLE}
    return next((name for name, least in levels.items() if value >= least), "hardly"), expected.reason


def share_text(fraction: float, whole: bool = True) -> str:
    share = "half" if fraction == 0.5 else f"{100 * fraction:g} %"
    return f"{share} of its {'table' if whole else 'known cells'}"
