"""The test accuracy to expect from part of a table, without any training: a smooth law fitted to the censuses.

Networks of three architectures were trained at the default settings on tables of five dozen kinds, from sums to noise.
What each reached on the cells that it had not seen is a function of few numbers of the table and the share: how far the
table completes itself by a simple tensor and by a vote (`separable.measures.completion`), what equal rows and columns
give away (`redundancy`, `permuted_redundancy`), what the commonest value does, its side, how many values it
effectively takes, whether it is symmetric. The law is a mean of small networks from these numbers to three quantiles,
each fitted without a sixth of the kinds: where they disagree the interval is wider, and where they disagree much
there is no number. `studies.table_law` fits them, and measures the errors on kinds that were left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import as_file, files
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import ArrayLike

from modgrok.base.results import percent
from modgrok.base.stores import open_tensors
from modgrok.loss_law.expectation import Expectation, not_covered
from modgrok.separable import redundancy
from modgrok.separable.classification import dependent_axes
from modgrok.separable.measures.completion import completion, vote
from modgrok.separable.measures.complexity import entropy, permuted_redundancy

FILE = "table_law.safetensors"
MODEL_NAMES = {"power": "x² network", "mlp": "MLP", "transformer": "transformer"}
"""The architectures of which the law knows, as `train` calls them, and in words."""
FEW_SIDES = {"mlp": (24, 43), "transformer": (24, 43)}
"""Between which sides those were trained that have not been trained on all sides."""
EDGE = 0.01
"""Shares are compared by their logits, which end here."""
BEYOND, SLOPE = 0.02, 0.01
"""Quantiles are stretched by the first on both sides and clipped, so that they reach 0 and 1; the second is the slope
that a clipped quantile keeps while the law is fitted."""

ROUNDING = 1e-3
"""Of a per cent, by which an end may be beyond a whole one."""

Rows = Float[np.ndarray, "*row"]


class TableFacts(NamedTuple):
    """What the law is asked about: numbers of one table and share, or columns for the rows of a census."""

    completion: ArrayLike
    vote: ArrayLike
    redundancy: ArrayLike
    permuted_redundancy: ArrayLike
    guess: ArrayLike
    variety: ArrayLike
    symmetric: ArrayLike
    side: ArrayLike
    fraction: ArrayLike


@dataclass(frozen=True)
class ModelLaw:
    """What the law is for one architecture.

    Intervals move out by `widened` times how far the members disagree; above `reach` there is no number. `error` is
    the mean absolute error of the expected accuracy, and `coverage` the share of trainings in their intervals, both on
    `networks` trainings of kinds (or tables) that the members asked were not fitted to.
    """

    networks: int
    steps: int
    widened: float
    reach: float
    error: Mapping[str, float]
    coverage: Mapping[str, float]


@dataclass(frozen=True)
class TableLaw:
    """Weights of the members, with the range of sides and shares that they were fitted to."""

    made_by: str
    side_range: tuple[int, int]
    fraction_range: tuple[float, float]
    models: Mapping[str, ModelLaw]
    centre: Float[np.ndarray, "input"]
    scale: Float[np.ndarray, "input"]
    weights: Mapping[str, np.ndarray]

    def quantiles(self, facts: TableFacts, model: str) -> Float[np.ndarray, "member *row quantile"]:
        """The lower end, the median and the upper end that each member expects."""
        asked = (inputs(facts, model) - self.centre) / self.scale
        return np.stack([forward(one, asked) for one in members(self.weights)])


def members(weights: Mapping[str, Any]) -> list[dict[str, Any]]:
    count = len(next(iter(weights.values())))
    return [{name: tensor[k] for name, tensor in weights.items()} for k in range(count)]


def inputs(facts: TableFacts, model: str) -> Float[np.ndarray, "*row input"]:
    """What a member sees; shares as logits, where small differences near 0 and 1 count."""
    completed, voted, twins, permuted, guess, variety, symmetric, side, fraction = (np.asarray(x, float) for x in facts)
    columns: tuple[np.ndarray | float, ...] = (
        *(logit(x) for x in (completed, voted, twins, permuted, guess, fraction)),
        completed,
        voted,
        variety,
        symmetric,
        np.log2(side),
        float(model == "mlp"),
        float(model == "transformer"),
    )
    return np.stack(np.broadcast_arrays(*columns), axis=-1)


def logit(share: Rows) -> Rows:
    clipped = np.clip(share, EDGE, 1 - EDGE)
    return np.asarray(np.log(clipped / (1 - clipped)))


def forward(weights: Mapping[str, Any], x: Any, xp: Any = np) -> Any:
    """Two layers of tanh, and three outputs: the median's logit, and how far below and above it the ends are.

    `xp` is NumPy, or jax.numpy where the law is fitted.
    """

    def affine(x: Any, layer: str) -> Any:
        found = x @ weights[f"w{layer}"]
        return found + xp.broadcast_to(weights[f"b{layer}"], found.shape)

    out = affine(xp.tanh(affine(xp.tanh(affine(x, "1")), "2")), "3")
    down, middle, up = out[..., 0], out[..., 1], out[..., 2]
    logits = xp.stack([middle - xp.logaddexp(down, 0.0), middle, middle + xp.logaddexp(up, 0.0)], axis=-1)
    stretched = (1 + 2 * BEYOND) * (0.5 + 0.5 * xp.tanh(logits / 2)) - BEYOND
    clipped = xp.clip(stretched, 0.0, 1.0)
    return clipped + SLOPE * (stretched - clipped)


@lru_cache(maxsize=1)
def table_law() -> TableLaw:
    """The law that the package ships."""
    with as_file(files("modgrok.loss_law") / FILE) as path, open_tensors(path, "a law of tables") as file:
        tensors = {name: file(name) for name in sorted(file.names)}
        about = file.about["law"]
    models = {name: ModelLaw(**found) for name, found in about.pop("models").items()}
    (low, high), (first, last) = about["side_range"], about["fraction_range"]
    centre, scale = (tensors.pop(name) for name in ("centre", "scale"))
    return TableLaw(about["made_by"], (low, high), (first, last), models, centre, scale, tensors)


def expected_from_table(
    table: Int[np.ndarray, "n1 ..."], values: int | None, *, fraction: float, model: str = "power"
) -> Expectation:
    """The test accuracy to expect of a network that trains on `fraction` of the known cells of a table.

    Unknown cells are negative. What counts is how many cells are seen: a table of which half is known is asked like a
    whole one of which half as much is trained on.
    """
    law = table_law()
    if reason := why_no_table(table, values, fraction, model, law):
        return not_covered(reason, "table")
    assert values is not None, "a table that is covered is square"
    return expected_by(law, known_facts(table.astype(np.int32).tobytes(), values, fraction), model)


@lru_cache(maxsize=4)
def known_facts(cells: bytes, values: int, fraction: float) -> TableFacts:
    """`facts_of` a square table, which takes a second; a training and the answer about its function ask alike."""
    return facts_of(np.frombuffer(cells, np.int32).reshape(values, values), values, fraction)


def facts_of(table: Int[np.ndarray, "n n"], values: int, fraction: float) -> TableFacts:
    """The numbers of a table and a share; no row is sure to equal another where cells are unknown."""
    known = table[table >= 0]
    completed, voted = completion(table, values, fraction), vote(table, values, fraction)
    assert completed is not None and voted is not None, "some known cells are left to judge"
    whole = len(known) == table.size
    return TableFacts(
        completion=completed,
        vote=voted,
        redundancy=redundancy(table, fraction) if whole else 0.0,
        permuted_redundancy=permuted_redundancy(table, fraction) if whole else 0.0,
        guess=np.bincount(known).max() / len(known),
        variety=entropy(known) / np.log2(values),
        symmetric=float((table == table.T).all()),
        side=values,
        fraction=fraction * len(known) / table.size,
    )


def expected_by(law: TableLaw, facts: TableFacts, model: str) -> Expectation:
    """What the members say together; the ends are whole per cents outwards, as people read them."""
    low, value, high, apart = (float(x) for x in told(law, facts, model))
    known = law.models[model]
    if apart > known.reach:
        return not_covered(
            "no trainings of the census are enough like this one (laws that were fitted without some of its kinds of "
            f"tables differ by {percent(apart, 0)} here, and {percent(known.reach, 0)} is the limit)",
            "table",
        )
    sides = " on tables of {} to {} rows".format(*FEW_SIDES[model]) if model in FEW_SIDES else ""
    reason = (
        f"from how well such a part of the table tells the rest, by {known.networks:,} trainings of "
        f"{MODEL_NAMES[model]}s at the default settings{sides}; on kinds of tables that it had not seen this law was "
        f"off by {percent(known.error['kinds'], 0)} of the cells"
    )
    ends = float(np.floor(100 * low + ROUNDING)) / 100, float(np.ceil(100 * high - ROUNDING)) / 100
    return Expectation(round(value, 4), *ends, reason, "table")


def told(law: TableLaw, facts: TableFacts, model: str) -> Float[np.ndarray, "4 *row"]:
    """Lower end, expected accuracy, upper end, and how far the members disagree."""
    found = law.quantiles(facts, model)
    apart = found[..., 1].std(axis=0)
    low, value, high = np.moveaxis(found.mean(axis=0), -1, 0)
    outwards = law.models[model].widened * apart
    value = np.clip(value, 0.0, 1.0)
    ends = np.clip(low - outwards, 0.0, value), np.clip(high + outwards, value, 1.0)
    return np.stack([ends[0], value, ends[1], apart])


def why_no_table(
    table: Int[np.ndarray, "n1 ..."], values: int | None, fraction: float, model: str, law: TableLaw
) -> str:
    """What puts a table outside the trainings, after what these cover; empty if nothing does."""
    (low, high), (first, last) = law.side_range, law.fraction_range
    dependent = dependent_axes(table)
    known = int((table >= 0).sum())
    seen = fraction * known / table.size
    if table.ndim > 2:
        this = f"this one has {table.ndim} variables"
    elif np.ptp(table[table >= 0]) == 0:
        this = "this one is constant"
    elif len(dependent) < 2:
        this = "this one depends on one variable" if dependent else "no known cells tell on what this one depends"
    elif values is None or table.shape != (values, values):
        this = "here rows, columns and values differ in number"
    elif not low <= values <= high:
        this = f"here the modulus is {values}"
    elif not first <= seen <= last:
        this = f"here the share is {seen:.3g}"
    elif round(fraction * known) == known:
        this = "here no known cell would be left to test"
    elif model not in law.models:
        this = f"and for the models {', '.join(law.models)}, not {model}"
    else:
        return ""
    return (
        f"that was measured for functions of two variables with {low} to {high} values and shares from {first:g} to "
        f"{last:g} of the table; {this}"
    )
