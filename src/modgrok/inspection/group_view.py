"""What a network computes in a group: its logits and weights by representation, cosets, and the law of its factors.

The analytical logits of a word f with values in a group are Σ_ρ A_ρ K_ρ with K_ρ(row, q) = χ_ρ(f(row) q⁻¹), one for
every real irreducible representation ρ: over a cyclic group these are the cosines of `inspection.logits`. They are
orthogonal over all pairs of a value and a class, so that A_ρ and the shares of the variance follow as there, by least
squares over the rows; the trivial one is the mean that softmax ignores. A wider form is that of networks which answer
by codes (`compiler.codes`): any function of value and class that has one representation in both, a sum over ρ of
z(f(row))·M z(q) with the entries z of ρ.

**Neurons.** A weight over the elements, u(a), has the Fourier coefficients A_ρ = Σ_a u(a) ρ(a), and its square is
Σ_ρ (D/κn) ‖A_ρ‖²: the share of ρ is one summand. A neuron uses the representation that has most of its weights for a,
for b and for the class together.

**The law.** Where f(a, b) = g1(a) g2(b), a neuron with the weights u over g1(a), v over g2(b) and w over the class q
adds

    Σ u(a) v(b) w(q) χ_ρ(a b q⁻¹) = tr A_ρ B_ρ C_ρᵀ

to A_ρ. It adds most where C_ρ is a multiple of A_ρ B_ρ: ⟨A B, C⟩ / ‖A B‖ ‖C‖ is 1. For a cyclic group these are turned
planes, and the number is the cosine of ψ_a + ψ_b - ψ_q: the law that phases add up.

**Cosets.** u is constant on the cosets of a subgroup H as far as its mean over each coset has its variance.

The analytical form over a group that is not cyclic: characters of its representations in place of cosines.

For f(a, b) = h(g1(a) · g2(b)) the logits of the analytical solution are Σ_ρ A_ρ χ_ρ(s t⁻¹) for the element s = g1(a) ·
g2(b) and the element t of a class, χ_ρ being the character of a real irreducible representation: it is largest at t =
s. Of the cyclic group these are the cosines of `inspection.logits`, and everything there holds with representations,
numbered as `algebra.representations` sorts them, in place of frequencies.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Bool, Float, Int

from modgrok.algebra.groups import Group
from modgrok.algebra.representations import Representation, inverses_of, real_irreducibles
from modgrok.base.results import Result, percent, plain_object
from modgrok.inspection.logits import LARGEST_LOGITS, Templates
from modgrok.inspection.order import Labels
from modgrok.networks.models import Mlp
from modgrok.networks.network import Network
from modgrok.separable.procedures.quadrangles import Placed

ALIVE = 1e-3
"""Neurons whose squared weights are below this share of the largest are dead."""
ONE_REPRESENTATION, CONSTANT = 0.9, 0.95
"""Shares from which on a neuron has one representation, and is constant on cosets."""
HARDLY = 0.1
"""Share of the logits' variance below which it says nothing which representations hold most of the closed form."""
MOST_SUBGROUPS = 500


@dataclass(frozen=True, eq=False)
class Neurons:
    """The weights of hidden neurons by representation: of a, of b, and of the class, where it reads that directly.

    `coset_order` is the size of the largest subgroup on whose cosets the weights over a are constant, 1 if there is
    none; `law` is ⟨A B, C⟩ / ‖A B‖ ‖C‖ in the representation that a neuron uses, NaN where there is no readout.
    """

    alive: Bool[np.ndarray, "neuron"]
    shares: Float[np.ndarray, "block neuron representation"]
    used: Int[np.ndarray, "neuron"]
    law: Float[np.ndarray, "neuron"]
    coset_order: Int[np.ndarray, "neuron"]

    @property
    def one(self) -> Bool[np.ndarray, "neuron"]:
        """Living neurons of which every block has one representation, the same in all."""
        own = np.take_along_axis(self.shares, self.used[None, :, None], axis=2)[:, :, 0]
        return np.asarray(self.alive & (own.min(axis=0) >= ONE_REPRESENTATION))

    def median_law(self) -> float | None:
        held = self.law[self.alive & np.isfinite(self.law)]
        return float(np.median(held)) if len(held) else None


@dataclass(frozen=True, eq=False, repr=False)
class GroupView(Result):
    """A network of a word in a group; `shares` of the logits' variance are by representation, the trivial one first."""

    network: Network
    group: Group
    shares: Float[np.ndarray, "representation"] | None = None
    code_share: float | None = None
    word_share: float | None = None
    neurons: Neurons | None = None
    why: str | None = None
    seen: int = 0
    """At how many inputs the logits were looked at."""

    @property
    def closed_form_share(self) -> float | None:
        """The share of the logits' variance on the closed form, all representations together."""
        return None if self.shares is None else float(self.shares[1:].sum())

    @property
    def noise_share(self) -> float:
        """That of white noise."""
        return (len(self.group.representations) - 1) / (max(1, self.seen) * (self.group.order - 1))

    @property
    def code_noise_share(self) -> float:
        """That of white noise in the form of codes."""
        sizes = [rho.dimension**2 // rho.division for rho in self.group.representations[1:]]
        return sum(size**2 for size in sizes) / (max(1, self.seen) * (self.group.order - 1))

    def summary(self) -> str:
        if self.shares is None:
            return f"{self.network.title}: {self.why}"
        return f"{self.network.title}, {self.network.model.name}: {self.words}"

    @property
    def words(self) -> str:
        """What holds of the logits, where they were looked at."""
        told = f"{percent(self.closed_form_share, 1)} of the logits' variance on the closed form, "
        if self.word_share is not None and self.word_share < HARDLY:
            return f"{told}{percent(1 - self.word_share, 1)} of it on no function of the word's value"
        hold = "holds" if len(self.key) == 1 else "hold"
        return f"{told}{len(self.key)} of {len(self.group.representations) - 1} representations {hold} most of it"

    @property
    def key(self) -> tuple[int, ...]:
        """The numbers of the representations that hold 95 % of the closed form."""
        if self.shares is None or self.shares[1:].sum() <= 0:
            return ()
        strongest = np.argsort(-self.shares[1:], kind="stable")
        rising = np.cumsum(self.shares[1:][strongest])
        return tuple(sorted((1 + strongest[: np.searchsorted(rising, 0.95 * rising[-1]) + 1]).tolist()))

    def rows(self) -> list[dict[str, Any]]:
        """One row for each representation."""
        counts = np.zeros(len(self.group.representations), dtype=int)
        if self.neurons is not None:
            counts = np.bincount(self.neurons.used[self.neurons.alive], minlength=len(counts))
        return [
            {
                "representation": number,
                "kind": rho.kind,
                "degree": rho.degree,
                "kernel_order": int(rho.kernel.sum()),
                "logits_share": None if self.shares is None else float(self.shares[number]),
                "neurons": int(counts[number]) if self.neurons is not None else None,
            }
            for number, rho in enumerate(self.group.representations)
        ]

    def to_json(self) -> dict[str, Any]:
        found = self.neurons
        return plain_object(
            {
                "name": self.group.title,
                "group_order": self.group.order,
                "why": self.why,
                "closed_form_share": self.closed_form_share,
                "code_share": self.code_share,
                "word_share": self.word_share,
                "rows_seen": self.seen,
                "noise_share": self.noise_share,
                "code_noise_share": self.code_noise_share,
                "representations": self.rows(),
                "neurons_alive": None if found is None else int(found.alive.sum()),
                "one_representation_share": None if found is None else share_of(found.one, found.alive),
                "law_median": None if found is None else found.median_law(),
                "coset_share": None if found is None else share_of(found.coset_order > 1, found.alive),
                "coset_orders": {} if found is None else counted(found.coset_order[found.alive]),
            }
        )


def share_of(some: Bool[np.ndarray, "neuron"], alive: Bool[np.ndarray, "neuron"]) -> float:
    return float((some & alive).sum() / max(int(alive.sum()), 1))


def counted(numbers: Int[np.ndarray, "_"]) -> dict[int, int]:
    values, counts = np.unique(numbers, return_counts=True)
    return dict(zip(values.tolist(), counts.tolist(), strict=True))


def group_view(network: Network, *, cosets: bool = True) -> GroupView | None:
    """The view of a network whose function is a word in a group; None for other functions. Without `cosets` none are
    looked for. Where the logits of all inputs are too many, random inputs stand for them."""
    group = network.function.structure
    if not isinstance(group, Group) or network.function.written is None or group.order < 2:
        return None
    most, sizes = LARGEST_LOGITS // group.order, network.model.residues
    few = network.rows <= most
    rows = network.inputs() if few else np.random.default_rng(0).integers(0, sizes, (most, len(sizes)))
    logits = np.asarray(network.logits(rows), np.float64)
    if not np.isfinite(logits).all():
        return GroupView(network, group, why="some logits are no finite numbers: the training diverged")
    found = logits_shares(logits, network.function.at(rows), group)
    return GroupView(network, group, *found, neurons_of(network, group, cosets=cosets), seen=len(rows))


def logits_shares(
    logits: Float[np.ndarray, "row n"], values: Int[np.ndarray, "row"], group: Group
) -> tuple[Float[np.ndarray, "representation"], float, float]:
    """A_ρ ⟨L, K_ρ⟩ / ‖L‖² of every representation by least squares; the shares of codes and of all functions of value
    and class."""
    centred = logits - logits.mean(axis=1, keepdims=True)
    total = float((centred**2).sum())
    counts = np.bincount(values, minlength=group.order)
    sums = np.zeros((group.order, group.order))
    np.add.at(sums, values, centred)
    between = group.table[:, group.inverses]  # value times the inverse of a class
    characters = np.array([rho.character for rho in group.representations])
    characters[0] = 0.0
    products = characters @ np.bincount(between.reshape(-1), sums.reshape(-1))
    squares = len(values) * (characters**2).sum(axis=1)  # every value has each element once between it and a class
    found = products / np.maximum(squares, 1)
    means = sums / np.maximum(counts, 1)[:, None]
    common = (counts[:, None] * means).sum(axis=0) / counts.sum()
    weighted = np.sqrt(counts)[:, None] * (means - common)
    held = float((weighted**2).sum())
    scale = total if total > 0 else 1.0
    coded = 0.0
    for rho in group.representations[1:]:
        entries = rho.matrices[:, :: rho.division].reshape(group.order, -1) * np.sqrt(rho.dimension / group.order)
        between_entries = entries.T @ weighted @ entries
        coded += float((between_entries**2).sum())
    return found * products / scale, coded / scale, held / scale


# ---------------------------------------------------------------------------------------------------- neurons


def neurons_of(network: Network, group: Group, *, cosets: bool = True) -> Neurons | None:
    """Of a single expert, or of the first layer of an MLP; None for other models, and where the word is no product of
    a function of one variable and one of the other that move all elements. Without `cosets` none are looked for."""
    places = factors_of(network.function.table, group)
    blocks = weight_blocks(network)
    if places is None or blocks is None:
        return None
    placed = [np.empty_like(block) for block in blocks[:2]]
    for block, place, source in zip(placed, places, blocks, strict=False):
        block[place] = source
    weights = [*placed, *blocks[2:]]
    centred = [block - block.mean(axis=0) for block in weights]
    norms = np.array([(block**2).sum(axis=0) for block in centred])
    size = norms.prod(axis=0) ** (1 / len(norms))
    alive = size > ALIVE * max(float(size.max()), 1e-300)
    transforms = [transform(block, group) for block in weights]
    shares = np.array([[power(part, rho, group.order) for part, rho in zip(parts, group.representations, strict=True)]
                       for parts in transforms]).transpose(0, 2, 1)  # fmt: skip
    shares[:, :, 0] = 0.0  # a mean is no use of the trivial representation
    shares = shares / np.maximum(shares.sum(axis=2, keepdims=True), 1e-300)
    used = shares.prod(axis=0).argmax(axis=1)
    law = np.full(len(used), np.nan)
    if len(weights) == 3:
        for number in range(1, len(group.representations)):
            a, b, c = (parts[number] for parts in transforms)
            own = a @ b
            size_ = np.linalg.norm(own, axis=(1, 2)) * np.linalg.norm(c, axis=(1, 2))
            cosine = (own * c).sum(axis=(1, 2)) / np.maximum(size_, 1e-300)
            law = np.where(used == number, cosine, law)
    orders = coset_orders(placed[0], group) if cosets else np.ones(len(used), dtype=int)
    return Neurons(alive, shares, used, law, orders)


def weight_blocks(network: Network) -> list[Float[np.ndarray, "n neuron"]] | None:
    """The weights of every neuron over a, over b, and over the class where it is read out at once."""
    if network.model.variables != 2:
        return None
    if network.is_circuit:
        experts = network.circuit.experts
        if len(experts) != 1:
            return None
        embed, readout = np.asarray(experts[0].embed, float), np.asarray(experts[0].readout, float)
        return [embed[0], embed[1], readout.T] if experts[0].terms == 2 else None
    if type(network.model) is Mlp:
        embed = np.asarray(network.params.embed, float)
        direct = [] if network.params.hidden else [np.asarray(network.params.readout, float).T]
        return [embed[0], embed[1], *direct] if embed.ndim == 3 and embed.shape[0] == 2 else None
    return None


def factors_of(table: Int[np.ndarray, "n n"], group: Group) -> tuple[Int[np.ndarray, "n"], Int[np.ndarray, "n"]] | None:
    """g1 and g2 with f(a, b) = g1(a) g2(b), both of them permutations; None if f is no such word."""
    if table.shape != (group.order,) * 2 or (table < 0).any():
        return None
    right = table[0]
    left = group.table[table[:, 0], group.inverses[table[0, 0]]]
    same = (group.table[left[:, None], right] == table).all()
    moved = len(np.unique(left)) == len(np.unique(right)) == group.order
    return (left, right) if same and moved else None


def transform(block: Float[np.ndarray, "n neuron"], group: Group) -> list[Float[np.ndarray, "neuron D D"]]:
    """A_ρ = Σ_a u(a) ρ(a) of every neuron, for every representation."""
    flat = [rho.matrices.reshape(group.order, -1) for rho in group.representations]
    return [
        (block.T @ part).reshape(-1, rho.dimension, rho.dimension)
        for part, rho in zip(flat, group.representations, strict=True)
    ]


def power(
    coefficients: Float[np.ndarray, "neuron D D"], rho: Representation, order: int
) -> Float[np.ndarray, "neuron"]:
    """The part of Σ_a u(a)² that a representation has."""
    return np.asarray((coefficients**2).sum(axis=(1, 2)) * rho.dimension / (rho.division * order))


def coset_orders(block: Float[np.ndarray, "n neuron"], group: Group) -> Int[np.ndarray, "neuron"]:
    """The order of the largest subgroup on whose left cosets each neuron's weights are constant; 1 for none."""
    centred = block - block.mean(axis=0)
    total = np.maximum((centred**2).sum(axis=0), 1e-300)
    found = np.ones(block.shape[1], dtype=int)
    for subgroup in subgroups_of(group):
        if len(subgroup) < group.order:
            means = centred[np.array(group.cosets(subgroup))].mean(axis=1)
            constant = len(subgroup) * (means**2).sum(axis=0) / total >= CONSTANT
            found = np.where(constant, np.maximum(found, len(subgroup)), found)
    return found


@lru_cache(maxsize=8)
def subgroups_of(group: Group) -> tuple[tuple[int, ...], ...]:
    """Subgroups of two elements or more: the cyclic ones, and what two that are known generate, as far as there are
    not too many."""
    found = {group.subgroup([x]) for x in range(1, group.order)}
    cyclic, fresh = sorted(found, key=len), sorted(found, key=len)
    while fresh and len(found) < MOST_SUBGROUPS:
        made: set[tuple[int, ...]] = set()
        for subgroup in fresh:
            inside = set(subgroup)
            for other in cyclic:
                if len(found) + len(made) < MOST_SUBGROUPS and not inside.issuperset(other):
                    made.add(group.subgroup([*subgroup, *other]))
        fresh = sorted(made - found, key=len)
        found |= made
    return tuple(sorted(found, key=lambda subgroup: (len(subgroup), subgroup)))


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
