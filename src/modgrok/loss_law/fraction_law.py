"""How much of a table is enough: the share from which on half of the trainings of a function in the class grok.

Whether a training on a share f of a table modulo p groks is a matter of chance near an edge that is sharp for sums and
products, and blurred for functions that are such a sum or product after relabelling. The chance is logistic,

    logit P = w · (1, ln p, ln f, 1 - variety, -ln(1 - redundancy)),

with weights of their own for each kind; the last two are for relabelled ones only. `variety` is the entropy of the
values over log2 p, `redundancy` the share of unseen cells with a twin. For the others P = 1/2 is a power law,
f = c p^-b. `modgrok census fractions` fits the weights, and the package ships those of the large census.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import as_file, files
from math import exp, log, log2

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import ArrayLike

from modgrok.base.files import read_json
from modgrok.separable.classification import Classification
from modgrok.separable.measures.complexity import entropy
from modgrok.separable.measures.redundancy import answered_share, twin_classes
from modgrok.separable.verdict import MEASURED, MULTIPLICATIVE

GROKKED = 0.99
"""The test accuracy from which on a training counts as grokked."""
LEAST_VARIETY = 0.9
"""Of a sum or product whose values are not relabelled into fewer; 0 alone is commoner than the others."""
MOST_TWINS = 0.999
"""Redundancy is cut off here, that its logarithm stays finite."""
FILE = "fraction_law.json"


@dataclass(frozen=True)
class KindLaw:
    """The law of one kind of function.

    `weights` are the five of a table, or three where a kind has no others; `by_modulus` the three of p and f alone.
    On moduli that were held out, `misjudged` is the share of trainings that grokked against even odds or did not
    grok with them, for either. `edge_error` is how far the law lies from the edge of a single modulus on average.
    """

    networks: int
    weights: tuple[float, ...]
    by_modulus: tuple[float, ...]
    misjudged: float
    misjudged_by_modulus: float
    edge_error: float | None

    def boundary(self, modulus: ArrayLike) -> np.ndarray:
        """The share at which half of the trainings of this kind grok, c p^-b, whatever else their tables are like."""
        constant, of_modulus, of_fraction = self.by_modulus
        return np.asarray(np.exp(-(constant + of_modulus * np.log(modulus)) / of_fraction))


@dataclass(frozen=True)
class FractionLaw:
    """The law of each kind, and the moduli and shares that it was measured at."""

    made_by: str
    modulus_range: tuple[int, int]
    fraction_range: tuple[float, float]
    kinds: Mapping[str, KindLaw]


def kind_of(family: ArrayLike, redundancy: ArrayLike, variety: ArrayLike) -> np.ndarray:
    """The kind of a function of the class: its family, 'additive' or 'multiplicative', and whether it is relabelled."""
    plain = (np.asarray(redundancy) == 0) & (np.asarray(variety) >= LEAST_VARIETY)
    product = np.asarray(family) == MULTIPLICATIVE.name
    return np.where(
        plain,
        np.where(product, "product", "sum"),
        np.where(product, "relabelled product", "relabelled sum"),
    )


def features(
    modulus: ArrayLike, fraction: ArrayLike, variety: ArrayLike, redundancy: ArrayLike
) -> Float[np.ndarray, "*row feature"]:
    """What the weights stand for."""
    twins = -np.log1p(-np.minimum(np.asarray(redundancy, float), MOST_TWINS))
    columns = (1.0, np.log(modulus), np.log(fraction), 1 - np.asarray(variety, float), twins)
    return np.stack(np.broadcast_arrays(*columns), axis=-1)


@lru_cache(maxsize=1)
def fraction_law() -> FractionLaw:
    """The law that the package ships."""
    with as_file(files("modgrok.loss_law") / FILE) as path:
        stored = read_json(path)
    kinds = {
        kind: KindLaw(**found | {name: tuple(found[name]) for name in ("weights", "by_modulus")})
        for kind, found in stored["kinds"].items()
    }
    pairs = {name: tuple(stored[name]) for name in ("modulus_range", "fraction_range")}
    return FractionLaw(**stored | pairs | {"kinds": kinds})


def enough(table: Int[np.ndarray, "p ..."], modulus: int | None, found: Classification) -> float | None:
    """The share of a table from which on half of the trainings at the default settings grok.

    None where that was not measured, and where not even the largest measured share is enough. If the least one is, it
    is the answer.
    """
    law = fraction_law()
    least, largest = law.fraction_range
    if found.family not in MEASURED or table.ndim != 2 or (table < 0).any():
        return None
    if modulus is None or not law.modulus_range[0] <= modulus <= law.modulus_range[1]:
        return None
    classes, variety = twin_classes(table), entropy(table) / log2(modulus)
    kind = law.kinds[str(kind_of(found.family, answered_share(classes, least), variety))]

    def even(log_fraction: float) -> bool:
        fraction = exp(log_fraction)
        row = features(modulus, fraction, variety, answered_share(classes, fraction))
        return bool(row[: len(kind.weights)] @ kind.weights >= 0)

    low, high = log(least), log(largest)
    if not even(high):
        return None
    for _ in range(10):
        middle = (low + high) / 2
        low, high = (low, middle) if even(middle) else (middle, high)
    return exp(high) if not even(log(least)) else least
