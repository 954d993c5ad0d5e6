"""How many answers a formula must get right before it is more than luck.

Let a family have N formulas. Let answers be drawn at random, independently, with the shares in which they occur in the
table, or with those in which they occur in a cell's row, or in its column: what one input alone tells is no formula of
both. A formula that was fixed beforehand is then right in a cell with at most the share of the commonest answer; let π
be the mean of that over the n cells, the largest of the three. It is right in k cells or more with a probability of at
most exp(-n·D(k/n ‖ π)), D(a ‖ π) = a ln(a/π) + (1-a) ln((1-a)/(1-π)) (Chernoff and Hoeffding), and the best of all N
with at most N times that. A family accepts nothing for which this bound is above `CHANCE`. There are twelve families,
so a table of random answers gets any formula at all with a probability of at most twelve times `CHANCE`, however many
formulas were tried.

Shares as they occur matter: an untrained network may give half of its answers for one class, and change to another
where the sum of two numbers that it has for its inputs is above a threshold, which is h(g1 + g2), but no formula.
"""

from __future__ import annotations

from math import lgamma, log

import numpy as np
from jaxtyping import Float, Int

CHANCE = 1e-9
"""Largest probability that a family gives a formula to a table of random answers."""


def luckiest(answers: Int[np.ndarray, "..."]) -> float:
    """π: the share of the commonest answer, of the table or in the mean of the rows, or columns, of a table."""
    lines = [np.moveaxis(answers, axis, 0).reshape(len(answers), -1) for axis in range(answers.ndim)]
    every = [answers.reshape(1, -1), *(lines if answers.ndim > 1 else ())]
    shares = [np.mean([np.bincount(line).max() for line in each]) / each.shape[1] for each in every]
    return float(max(shares))


def weighed(
    answers: Int[np.ndarray, "..."], formula: Int[np.ndarray, "..."]
) -> tuple[Int[np.ndarray, "..."], Int[np.ndarray, "..."]]:
    """Answers and formula without the inputs that the formula does not read: there the commonest answer is taken."""
    for axis in reversed(range(answers.ndim)):
        if answers.ndim > 1 and (formula == formula.take([0], axis)).all():
            shape = (*answers.shape[:axis], *answers.shape[axis + 1 :])
            lines = np.moveaxis(answers, axis, -1).reshape(-1, answers.shape[axis])
            answers = np.array([np.bincount(line).argmax() for line in lines]).reshape(shape)
            formula = formula.take(0, axis)
    return answers, formula


def log_chance(cells: int, right: Int[np.ndarray, "k"], share: float, log_formulas: float) -> Float[np.ndarray, "k"]:
    """ln of the bound for each number of right cells; never above 0."""
    a = np.asarray(right, float) / cells
    if share >= 1:
        return np.zeros(len(a))
    with np.errstate(divide="ignore", invalid="ignore"):
        divergence = np.where(a > 0, a * np.log(a / share), 0) + np.where(
            a < 1, (1 - a) * np.log((1 - a) / (1 - share)), 0
        )
    return np.minimum(0.0, log_formulas - np.where(a > share, cells * divergence, 0))


def cells_needed(cells: int, share: float, log_formulas: float) -> int | None:
    """The fewest right cells that are no luck; None where not even all of them would do.

    >>> cells_needed(121, 1 / 11, 3 * log(11))
    41
    """
    enough = log_chance(cells, np.arange(cells + 1), share, log_formulas) <= log(CHANCE)
    return int(np.argmax(enough)) if enough.any() else None


def log_factorial(n: int) -> float:
    return lgamma(n + 1)
