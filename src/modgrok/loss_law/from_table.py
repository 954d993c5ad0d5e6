"""The test accuracy to expect from part of a table, without any training.

A falling curve over the table's *complexity*: the effective rank of its coincidences (`separable.complexity`), which
counts as 0 in the class. Where the table's redundancy promises more than the curve, that is expected instead. These
two lines are the whole definition; `classify` asks for one table, and a census, which fits the curves and measures
their errors, for all of its rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Int

from modgrok.algebra.field import factors_text, is_prime
from modgrok.loss_law.calibration import calibration
from modgrok.loss_law.expectation import Expectation, not_covered
from modgrok.results import percent
from modgrok.separable.classification import dependent_axes
from modgrok.separable.complexity import effective_rank


def complexity(rank: Any, in_class: Any) -> Any:
    """What the curves are over; of one table, or of many."""
    return np.where(in_class, 0.0, rank)


def at_least_twins(accuracy: Any, redundancy: Any) -> Any:
    """What the curve says, or the redundancy where that is more; of one table, or of many."""
    return np.maximum(accuracy, redundancy)


def expected_from_table(
    table: Int[np.ndarray, "p ..."], modulus: int, *, fraction: float, in_class: bool, redundancy: float
) -> Expectation:
    """The test accuracy to expect of a two-layer network that trains on `fraction` of the table.

    Between the fractions of the census, straight.
    """
    reason = why_no_table(table, modulus, fraction)
    if reason:
        return not_covered(reason, "table")
    curves = calibration().from_table.curves
    fractions = [entry.fraction for entry in curves]
    rank = 0.0 if in_class else effective_rank(np.asarray(table))
    x = complexity(rank, in_class)
    from_curve = float(np.interp(fraction, fractions, [entry.curve.at(x) for entry in curves]))
    value = float(at_least_twins(from_curve, redundancy))
    error = float(np.interp(fraction, fractions, [entry.curve.error(value) for entry in curves]))
    if in_class:
        reason = "of the census's networks on tables in the class, at least half reached this"
    else:
        reason = (
            f"coincidences of values spread over {100 * rank:.1f} % of all directions (about 1 % for sums, 36 % for "
            "noise); of the census's tables with that share, half were learned better and half worse"
        )
    if value > from_curve:
        reason += f"; that alone says {percent(from_curve, 1)}, and the redundancy promises more"
    return Expectation(value, error, reason, "table")


def why_no_table(table: Int[np.ndarray, "p ..."], modulus: int, fraction: float) -> str:
    """What puts a table outside the calibration, after what that covers; empty if nothing does."""
    known = calibration().from_table
    (low, high), first, last = known.modulus, known.curves[0].fraction, known.curves[-1].fraction
    dependent = dependent_axes(np.asarray(table))
    if table.ndim > 2:
        this = f"this one has {table.ndim} variables"
    elif len(dependent) < 2:
        this = "this one depends on one variable" if dependent else "this one is constant"
    elif not is_prime(modulus):
        this = f"here the modulus is {modulus} = {factors_text(modulus)}"
    elif not low <= modulus <= high:
        this = f"here the modulus is {modulus}"
    elif not first <= fraction <= last:
        this = f"here the share is {fraction:g}"
    else:
        return ""
    return (
        f"expectations were measured for functions of two variables modulo primes from {low} to {high} that train on "
        f"a share from {first:g} to {last:g} of the table; {this}"
    )
