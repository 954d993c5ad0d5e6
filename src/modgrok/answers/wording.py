"""An answer in sentences, as a colleague would give it: what the function is, and whether a network will learn it."""

from __future__ import annotations

from modgrok.answers.disguise import Disguise
from modgrok.answers.probe import Probe
from modgrok.base.results import percent
from modgrok.loss_law.expectation import Expectation, span_text
from modgrok.loss_law.fraction_law import fraction_law
from modgrok.separable.classification import Classification, FamilyVerdict
from modgrok.separable.families import CONSTANT, FAMILIES, ONE_VARIABLE
from modgrok.separable.measures.symmetries import Symmetries
from modgrok.separable.verdict import Verdict

REASONS = {
    "distinct-lines": "more distinct rows or columns than the group has elements",
    "counting": "its values need more elements than the group has",
    "no-cyclic-automorphism": "no symmetry moves all of its rows round in one cycle",
    "pairs": "pairs of its columns differ in ways that no group allows",
    "closed-trail": "its rows need a closed walk longer than the group",
    "rivals": "more lines that must differ than the group has elements",
    "rival-cells": "more sums that must differ than the group has elements",
    "search": "a case distinction that ends in contradictions",
    "symmetry": "its symmetries need more room than the group has",
}
LEARNED = 0.99
"""The accuracy from which on a training counts as grokked."""
WIDE = 0.6
"""An interval that tells no more than that some networks learn a function and others do not."""
SURE, LIKELY, HALF, LITTLE = 0.95, 0.8, 0.5, 0.2
"""Expected accuracies from which on a network "should learn" a function, learns most, more than half, or a part."""


def what_it_is(found: Classification, closed: Disguise | None, known: int | None = None) -> str:
    """The verdict as the end of a sentence that begins with the function: 'is a sum, 2 n1 + 3 n2'.

    Where only `known` of the cells are known, it is about these: the others may hold anything.
    """
    best = found.best
    if best is None:
        return why_it_is_nothing(found, whole=known is None)
    if best.family == CONSTANT.name:
        return "is constant"
    if best.family == ONE_VARIABLE.name:
        return "depends on one variable alone"
    kind = f"{'is' if known is None else f'agrees in its {known:,} known cells with'} a {FAMILIES[best.family].noun}"
    if closed is not None:
        return f"{kind}, {closed}" if closed.plain else f"{kind} in disguise: {closed}"
    return f"{kind} in disguise: {relabelled(best)}"


def relabelled(best: FamilyVerdict) -> str:
    """What a witness without a closed form says."""
    witness = best.verdict.witness
    names = " + ".join(f"g{s}" for s in range(1, len(witness.g) + 1)) if witness is not None else "g1 + g2"
    return f"h({names}) over {best.group}, each g a relabelling of one variable and h one of the sum"


def why_it_is_nothing(found: Classification, whole: bool) -> str:
    """No family is known to fit: that is proved, or it is open which one might."""
    undecided = [FAMILIES[f.family].noun for f in found.families if not f.refuted]
    if undecided:
        return f"may be a {' or a '.join(undecided)} in disguise: this effort did not decide it"
    proved = "that is proved" if whole else "that is proved, whatever its unknown cells hold"
    if not all(f.proof for f in found.families):
        proved = "the search excluded it, in more steps than the kernel checks"
    if any(f.verdict.up_to for f in found.families):  # families of other groups than those of sums and products
        return f"is not h(g1 + g2) over {' nor over '.join(f.group for f in found.families)}: {proved}"
    names = [FAMILIES[f.family].noun for f in found.families]
    none = f"neither a {' nor a '.join(names)}" if len(names) > 1 else f"no {names[0]}"
    return f"is {none} in disguise: {proved}"


def brief(verdict: Verdict) -> str:
    """Why a family fits or not, in a few words; the proof says it in full."""
    if verdict.witness is not None:
        return "a witness, checked on every cell"
    if verdict.obstruction is None:
        return "no witness and no proof with this effort"
    return REASONS.get(verdict.obstruction.kind, f"a proof by {verdict.obstruction.kind}")


def will_it_learn(expected: Expectation, fraction: float) -> str:
    """What is expected of a network, how sure that is, and from what."""
    part = share_text(fraction)
    if expected.value is None or expected.low is None or expected.high is None:
        return f"Whether a network learns it from {part} is not known: {expected.reason}."
    value, low = expected.value, expected.low
    if value < SURE and expected.high - low > WIDE:
        lead = f"It is open whether a network learns it from {part}"
    elif value >= SURE and low >= LIKELY:
        lead = f"A network should learn it from {part}"
    elif value >= SURE:
        lead = f"A network often learns it from {part}, but not always"
    elif value >= LIKELY:
        lead = f"A network learns most of it from {part}"
    elif value >= HALF:
        lead = f"A network learns more than half of it from {part}"
    elif value >= LITTLE:
        lead = f"A network learns a part of it from {part}"
    else:
        lead = f"A network will hardly learn it from {part}"
    much = percent(value, 0)
    often = "as many" if percent(low, 0) == much == percent(expected.high, 0) else span_text(low, expected.high)
    return f"{lead}: expect {much} of the unseen cells right, and {often} in nine cases of ten."


def in_line(share: float | None, expected: Expectation, fraction: float) -> float | None:
    """The share that is enough, unless the accuracy to expect says otherwise: that is about this very table."""
    if share is None or expected.value is None:
        return share
    denied = share > fraction if expected.value >= LEARNED else share < fraction and expected.value < SURE
    return None if denied else share


def how_much_is_enough(share: float | None) -> str:
    """From how much of the table half of the trainings grok, as one more sentence; empty where that is not known."""
    if share is None:
        return ""
    least = fraction_law().fraction_range[0]
    return f" It is expected to grok from about {percent(share, 0)} of the table{' or less' * (share <= least)}."


def what_the_probe_reached(probe: Probe | None) -> str:
    """What one small network got right, as one more sentence; empty without one that was tested."""
    if probe is None or probe.test_accuracy is None:
        return ""
    return f" The probe, one small network, got {percent(probe.test_accuracy, 1)} of them right."


def share_text(fraction: float) -> str:
    return "half of its table" if fraction == 0.5 else f"{100 * fraction:g} % of its table"


def structure(symmetries: Symmetries, names: tuple[str, ...]) -> str:
    """Symmetries beyond the class, in a sentence; scalings are counted modulo primes alone, so others say nothing."""
    (a, b), found = names, []
    if symmetries.shifts > 1:
        found.append(f"{symmetries.shifts:,} of the {symmetries.cells[0]:,} shifts ({a} + s, {b} + t)")
    if (symmetries.scalings or 1) > 1:
        found.append(f"{symmetries.scalings:,} of the {symmetries.cells[1]:,} scalings (s {a}, t {b})")
    none = "no shift permutes" if symmetries.scalings is None else "no shift and no scaling permutes"
    lead = f"{' and '.join(found)} permute its values" if found else f"{none} its values"
    return f"{lead}; its one-hot tensor spreads over {percent(symmetries.characters, 1)} of the frequency pairs"


def twins(redundancy: float, fraction: float) -> str:
    """What equal rows and columns give away."""
    if not redundancy:
        return "no two rows and no two columns are equal"
    return (
        f"{percent(redundancy, 0)} of the unseen cells have a twin in {share_text(fraction)}, through equal rows or "
        "columns; a network that saw every twin would know them"
    )
