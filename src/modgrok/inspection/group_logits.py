"""The analytical form over a group that is not cyclic: characters of its representations in place of cosines.

For f(a, b) = h(g1(a) · g2(b)) the logits of the analytical solution are Σ_ρ A_ρ χ_ρ(s t⁻¹) for the element s = g1(a) ·
g2(b) and the element t of a class, χ_ρ being the character of a real irreducible representation: it is largest at t =
s. Of the cyclic group these are the cosines of `inspection.logits`, and everything there holds with representations,
numbered as `algebra.representations` sorts them, in place of frequencies.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from modgrok.algebra.representations import Representation, inverses_of, real_irreducibles
from modgrok.inspection.logits import Templates
from modgrok.inspection.order import Labels
from modgrok.separable.procedures.quadrangles import Placed


@dataclass(frozen=True, eq=False)
class GroupTemplates(Templates):
    """K_ρ(s, q) = χ_ρ(s h⁻¹(q)⁻¹) on pairs of an element and a class."""

    order_name: ClassVar[str | None] = "group"
    placed: Placed
    irreducibles: tuple[Representation, ...]

    @classmethod
    def of_group(cls, placed: Placed) -> GroupTemplates:
        n = len(placed.products)
        labels = Labels(n, np.stack(placed.g), placed.h)
        sums = placed.products[np.ix_(*placed.g)].ravel()
        return cls(labels, np.arange(n * n), sums, np.arange(n), placed, real_irreducibles(placed.products))

    @cached_property
    def kernel(self) -> Float[np.ndarray, "representation element class"]:
        """K_ρ(s, q) without its mean over classes; the trivial representation comes first, as frequency 0 does."""
        quotient = self.placed.products[:, inverses_of(self.placed.products)]  # s t⁻¹
        by_class = quotient[:, np.argsort(self.placed.h)]
        kernel = np.stack([rho.character[by_class] for rho in self.irreducibles])
        return np.asarray(kernel - kernel.mean(axis=-1, keepdims=True))


def group_columns(
    templates: GroupTemplates, neurons: Float[np.ndarray, "row neuron"], layer: int
) -> dict[str, np.ndarray]:
    """For every neuron the representation that holds most of its variance over both inputs, and what is left over.

    With the projections P_ρ = (D / κn) χ_ρ(s t⁻¹) that is the part (P_1 + P_ρ) N (P_1 + P_ρ) of its table N by
    elements.
    """
    products, n = templates.placed.products, len(templates.placed.products)
    quotient = products[:, inverses_of(products)]
    by_element = np.argsort(templates.placed.g[0]), np.argsort(templates.placed.g[1])
    tables = neurons.T.reshape(-1, n, n)[:, by_element[0]][:, :, by_element[1]]
    tables = tables - tables.mean(axis=(1, 2), keepdims=True)
    total = np.sum(tables**2, axis=(1, 2))
    held = []
    for rho in templates.irreducibles[1:]:
        project = rho.multiplicity / n * rho.character[quotient] + 1 / n
        held.append(np.sum((project @ tables @ project) ** 2, axis=(1, 2)) / np.where(total > 0, total, 1))
    return {
        "layer": np.full(len(tables), layer),
        "neuron": np.arange(len(tables)),
        "representation": 1 + np.argmax(held, axis=0),
        "left_over": np.clip(1 - np.max(held, axis=0), 0, 1),
    }
