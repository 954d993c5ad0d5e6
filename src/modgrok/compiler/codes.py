"""Experts that answer by the nearest code: products in any finite group, and tables that are looked up.

Every class q has a code z(q), a point of R^e, and no two have the same. An expert that computes the code s of the right
answer ranks that first, for z(q)·s - |z(q)|²/2 = (|s|² - |s - z(q)|²)/2 is largest where z(q) is nearest to s.

**A product in a group.** Let ρ be an orthogonal representation of real dimension D, and z_j(c) = w_jᵀ ρ(c) v_j. The
code of ab is a product of vectors, z_j(ab) = x_j(a)·y_j(b) with x_j(a) = ρ(a)ᵀ w_j and y_j(b) = ρ(b) v_j, and
2xy = (x + y)² - x² - y². Since ρ is orthogonal the squares add up to |w_j|² and |v_j|², whatever a and b are. So

    D neurons (x_jk + y_jk)² for each j, with the readout z_j(q) / 2, and one constant neuron

compute z(q)·z(ab) and whatever depends on q alone. For almost all w and v the codes differ if ρ is faithful, and ρ
may be the sum of several representations that are faithful together. One number for each element (e = 1) needs
**D + 1 neurons**; with e numbers, e·D + 1, codes lie further apart.

**Exact one-hot.** The characters of all real irreducible representations, each as often as it occurs in the functions
on the group, add up to the indicator: [ab = c] = (1/n) Σ (D/κ) tr ρ(a)ρ(b)ρ(c)ᵀ, with κ = 1, 2, 4 for the real, complex
and quaternionic kind. tr ρ(a)ρ(c)ᵀ is κ times the sum over every κ-th row (`algebra.representations`), so w_j are these
D/κ unit vectors, v_j all D of them, and D³/κ neurons: d³ for the real kind, 4d³ for pairs of complex ones, 2d³ for the
quaternionic. The trivial representation is the constant neuron's. For a cyclic group this is 2n - 1 for n odd.

**a b a⁻¹ at once.** wᵀ ρ(a)ρ(b)ρ(c) v = Σ_kl x_k(a) z_l(c) ρ(b)_kl, with x = ρ(a)ᵀw and z = ρ(c) v. Where c is a
function of a this is a product of D² numbers of a with D² of b, whose squares add up to |w|²|v|² and D: D² neurons.

**A table.** The code is a number, τ(q). With T(a, b) = τ(f(a, b)) and one neuron for every different row i,

    Σ_i ([a in row i] + T_i(b))² = 1 + 2 T(a, b) + Σ_i T_i(b)²,

so r neurons for r different rows, one that takes the last sum away, and the constant one look up any table; nm + n + m
neurons that know a cell, a row or a column each make its one-hot.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from heapq import heappop, heappush
from typing import Protocol

import numpy as np
from jaxtyping import Float, Int

from modgrok.algebra.representations import Representation
from modgrok.compiler.phases import over_fibres
from modgrok.compiler.random_weights import check_size
from modgrok.compiler.steps import Step
from modgrok.networks.circuit import Expert

CODE_LADDER = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
"""How many numbers a code has, tried in turn where fewer are not far enough apart; then all representations."""
SEARCH_WORK, MOST_ROUNDS, AT_ONCE = 1 << 27, 200, 32
"""Operations that the search for codes may take, in how many rounds, and how many codes it tries in each."""
MOST_SUBGROUPS = 3000
"""Intersections of kernels that are looked at for the smallest faithful choice of representations."""
LEAST_DISTANCE = 1e-6
"""Codes that are nearer, relative to the largest, are not told apart."""
MISSING = -2.0
"""The logit of a class that is never right, where codes rank."""
LARGEST_LOOKUP = 1 << 22
"""Cells of a table that is looked up."""


@dataclass(frozen=True, eq=False)
class CodeKernel:
    """The weights of a step that answers by codes, made, with the margin and the largest logit of real arithmetic.

    `frequencies` are the numbers of the representations that it uses, `count` how many numbers a code has.
    """

    expert: Expert
    margin: float
    largest: float
    exact: bool
    count: int = 1
    frequencies: Int[np.ndarray, "_"] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))


class Coded(Protocol):
    """What a step computes that is no sum over a cyclic group."""

    def kernel(self, step: Step, frequencies: str | int) -> CodeKernel: ...


@dataclass(frozen=True, eq=False, kw_only=True)
class CodedStep(Step):
    """A step of which `coded` makes the weights; `tables` and `outputs` mean what that says."""

    coded: Coded

    @property
    def group_order(self) -> int | None:
        return self.order if isinstance(self.coded, GroupProduct) else None


# ----------------------------------------------------------------------------------------------- products in groups


@dataclass(frozen=True, eq=False)
class GroupProduct:
    """outputs[tables[0, x0] · tables[1, x1]], or with `after` outputs[tables[0, x0] · tables[1, x1] · after[x0]]."""

    representations: tuple[Representation, ...]
    after: Int[np.ndarray, "p"] | None = None

    def kernel(self, step: Step, frequencies: str | int) -> CodeKernel:
        """With "minimal" the fewest numbers in a code, or so many; where several elements have one class, all
        representations: the codes of a class are no single point then."""
        injective = np.bincount(step.outputs).max() == 1
        fewest = 1 if frequencies == "minimal" else 0 if frequencies == "all" else int(frequencies)
        chosen = smallest_faithful(self.representations)
        width = sum(self.representations[k].dimension ** (1 if self.after is None else 2) for k in chosen)
        if injective and fewest and len(step.outputs) > 1:
            for count in [fewest, *(rung for rung in CODE_LADDER if rung > fewest)]:
                if count * width + 1 >= exact_width(self.representations, self.after is not None):
                    break
                codes = spread_codes(tuple(self.representations[k] for k in chosen), count)
                if codes.distance > LEAST_DISTANCE:
                    return self.ranking(step, codes, np.array(chosen))
        return self.one_hot(step)

    def ranking(self, step: Step, codes: Codes, chosen: Int[np.ndarray, "_"]) -> CodeKernel:
        values = codes.values
        bias = -(values**2).sum(axis=1) / 2
        logits = values @ values.T + bias
        own = np.diag(logits).copy()
        np.fill_diagonal(logits, -np.inf)
        margin, largest = float((own - logits.max(axis=1)).min()), max(float(np.abs(own).max()), -MISSING)
        expert = self.expert(step, codes, values, bias, MISSING)
        return CodeKernel(expert, margin, largest, False, values.shape[1], chosen)

    def one_hot(self, step: Step) -> CodeKernel:
        codes = all_codes(self.representations)
        check_size(step, exact_width(self.representations, self.after is not None))
        order = len(step.outputs)
        values = codes.values * np.concatenate([np.full(len(w), rho.dimension / order) for rho, w, _ in codes.parts])
        used = np.arange(1, len(self.representations))
        return CodeKernel(self.expert(step, codes, values, np.full(order, 1 / order), 0.0), 1.0, 1.0, True, 1, used)

    def expert(self, step: Step, codes: Codes, readout: np.ndarray, bias: np.ndarray, missing: float) -> Expert:
        """The neurons of the module's head; `readout` (element, code), what is wanted of an element alone, and the
        logit of a class that no element has."""
        lefts, rights, squares, repeats = [], [], [], []
        for rho, w, v in codes.parts:
            left = np.einsum("akj,ek->aej", rho.matrices[step.tables[0]], w)  # ρ(a)ᵀ w
            if self.after is None:
                right = np.einsum("bjk,ek->bej", rho.matrices[step.tables[1]], v)
                square = (w**2).sum(axis=1) + (v**2).sum(axis=1)
            else:
                last = np.einsum("ajk,ek->aej", rho.matrices[self.after], v)
                left = np.einsum("aek,ael->aekl", left, last).reshape(*left.shape[:2], -1)
                middle = rho.matrices[step.tables[1]].reshape(step.symbols, 1, -1)
                right = np.broadcast_to(middle, (step.symbols, len(w), middle.shape[2]))
                square = (w**2).sum(axis=1) * (v**2).sum(axis=1) + rho.dimension
            lefts.append(left.reshape(step.symbols, -1))
            rights.append(right.reshape(step.symbols, -1))
            squares.append(square)
            repeats.append(np.full(len(w), left.shape[2]))
        place = np.concatenate([np.arange(len(w)) for _, w, _ in codes.parts]) if codes.shared else None
        columns = readout if place is None else readout[:, place]
        rows = np.repeat(columns.T / 2, np.concatenate(repeats), axis=0)
        constants = bias - columns @ np.concatenate(squares) / 2
        return finished(step, np.stack([np.hstack(lefts), np.hstack(rights)]), rows, constants, missing)


def finished(
    step: Step,
    embed: Float[np.ndarray, "2 p width"],
    rows: Float[np.ndarray, "width order"],
    constants: Float[np.ndarray, "order"],
    missing: float,
) -> Expert:
    """The expert with its constant neuron; elements become classes, and `missing` is the logit of others."""
    readout = over_fibres(step, np.vstack([rows, constants]))
    readout[-1, np.bincount(step.outputs, minlength=step.classes) == 0] = missing
    one = np.full((*embed.shape[:2], 1), 1 / len(embed))
    return Expert(np.concatenate([embed, one], axis=2), np.ascontiguousarray(readout), 2)


@dataclass(frozen=True, eq=False)
class Codes:
    """z_j(c) = w_jᵀ ρ(c) v_j for each representation ρ; added up over representations if `shared`, else side by side.

    `distance` is the smallest between two codes, relative to the largest in size.
    """

    parts: tuple[tuple[Representation, Float[np.ndarray, "_ _"], Float[np.ndarray, "_ _"]], ...]
    values: Float[np.ndarray, "n e"]
    shared: bool
    distance: float = 1.0


def exact_width(representations: Sequence[Representation], sandwich: bool = False) -> int:
    """Neurons of an exact one-hot: 1 + Σ D³/κ over all but the trivial representation."""
    others = representations[1:]
    return 1 + sum(rho.multiplicity * rho.dimension ** (3 if sandwich else 2) for rho in others)


def all_codes(representations: Sequence[Representation]) -> Codes:
    parts = []
    for rho in representations[1:]:
        unit = np.eye(rho.dimension)
        rows = unit[:: rho.division]
        parts.append((rho, np.repeat(rows, len(unit), axis=0), np.tile(unit, (len(rows), 1))))
    order = len(representations[0].matrices)
    values = [rho.matrices[:, :: rho.division].reshape(order, -1) for rho, _, _ in parts]
    return Codes(tuple(parts), np.hstack(values) if values else np.zeros((order, 0)), False)


@lru_cache(maxsize=64)
def spread_codes(representations: tuple[Representation, ...], count: int) -> Codes:
    """Codes of `count` numbers that lie far apart: random ones are compared, and the best is climbed from.

    z_j(c) is linear in the entries of w_j v_jᵀ, so that many are tried in one product of matrices. The generator is
    seeded: the same call gives the same codes. They are scaled so that the largest is 1.
    """
    order, sizes = len(representations[0].matrices), [rho.dimension for rho in representations]
    entries = np.hstack([rho.matrices.reshape(order, -1) for rho in representations])
    cuts = np.cumsum([2 * size for size in sizes])[:-1]
    rng = np.random.default_rng([order, count])

    def values_of(vectors: Float[np.ndarray, "try e vector"]) -> Float[np.ndarray, "n try e"]:
        parts = [np.split(part, 2, axis=-1) for part in np.split(vectors, cuts, axis=-1)]
        outer = [(w[..., :, None] * v[..., None, :]).reshape(*vectors.shape[:2], -1) for w, v in parts]
        return np.asarray(np.einsum("nf,tef->nte", entries, np.concatenate(outer, axis=-1), optimize=True))

    work = order * count * (entries.shape[1] + order * (count > 1) + 16)
    rounds = int(np.clip(SEARCH_WORK // (work * AT_ONCE), 4, MOST_ROUNDS))
    best, best_distance, step = np.zeros((count, 2 * sum(sizes))), 0.0, 0.5
    for attempt in range(rounds):
        drawn = rng.normal(size=(AT_ONCE, *best.shape))
        if 2 * attempt < rounds:
            scales = np.exp(rng.normal(size=(AT_ONCE, 1, len(sizes))))
            drawn = drawn * np.repeat(scales, [2 * size for size in sizes], axis=-1)
        else:
            drawn = best + step * drawn
        found = distances(values_of(drawn))
        if found.max() > best_distance:
            best, best_distance = drawn[found.argmax()], float(found.max())
        elif 2 * attempt >= rounds:
            step = max(1e-4, step * 0.8)
    values = values_of(best[None])[:, 0]
    scale = np.sqrt(np.sqrt((values**2).sum(axis=1).max()))
    vectors = [np.split(part / scale, 2, axis=-1) for part in np.split(best, cuts, axis=-1)]
    parts = tuple(balanced(rho, w, v) for rho, (w, v) in zip(representations, vectors, strict=True))
    return Codes(parts, values / scale**2, True, best_distance)


def balanced(
    rho: Representation, w: np.ndarray, v: np.ndarray
) -> tuple[Representation, Float[np.ndarray, "e D"], Float[np.ndarray, "e D"]]:
    """The same codes from vectors of equal length, whose squares are the smallest."""
    ratio = np.sqrt(np.linalg.norm(v, axis=1, keepdims=True) / np.linalg.norm(w, axis=1, keepdims=True))
    return rho, w * ratio, v / ratio


def distances(values: Float[np.ndarray, "n try e"]) -> Float[np.ndarray, "try"]:
    """The smallest distance between two codes, relative to the largest code in size, of every try."""
    squares = (values**2).sum(axis=-1)
    if values.shape[2] == 1:
        nearest = np.diff(np.sort(values[:, :, 0], axis=0), axis=0).min(axis=0)
    else:
        between = np.array([closest(values[:, k], squares[:, k]) for k in range(values.shape[1])])
        nearest = np.sqrt(np.maximum(between, 0))
    return np.asarray(nearest / np.sqrt(squares.max(axis=0)))


def closest(values: Float[np.ndarray, "n e"], squares: Float[np.ndarray, "n"]) -> float:
    between = squares[:, None] + squares - 2 * values @ values.T
    np.fill_diagonal(between, np.inf)
    return float(between.min())


@lru_cache(maxsize=64)
def smallest_faithful(representations: tuple[Representation, ...]) -> list[int]:
    """The numbers of representations of least dimension in all that are faithful together.

    The shortest path from the whole group to the identity, where a representation leads from a subgroup to what its
    kernel leaves of it; of those with the same kernel only the smallest counts. Where there are too many subgroups, the
    greedy choice: it is the best one for a product of cyclic groups of prime order, whose characters are vectors.
    """
    smallest: dict[int, tuple[int, int]] = {}
    for k, rho in enumerate(representations):
        kernel = int("".join("01"[inside] for inside in rho.kernel.tolist()), 2)
        if kernel not in smallest or rho.dimension < smallest[kernel][0]:
            smallest[kernel] = (rho.dimension, k)
    whole = int("1" * len(representations[0].matrices), 2)
    identity = 1 << (len(representations[0].matrices) - 1)
    steps = sorted((cost, k, kernel) for kernel, (cost, k) in smallest.items() if kernel != whole)
    queue: list[tuple[int, int, int, list[int]]] = [(0, 0, whole, [])]
    seen: set[int] = set()
    while queue and len(seen) < MOST_SUBGROUPS:
        cost, _, left, chosen = heappop(queue)
        if left == identity:
            return sorted(chosen)
        if left in seen:
            continue
        seen.add(left)
        for more, k, kernel in steps:
            if (rest := left & kernel) != left and rest not in seen:
                heappush(queue, (cost + more, len(seen), rest, [*chosen, k]))
    left, chosen = whole, []
    for _, k, kernel in steps:
        if left & kernel != left:
            left, chosen = left & kernel, [*chosen, k]
    return sorted(chosen)


# ------------------------------------------------------------------------------------------------------- tables


def line_codes(classes: int) -> Float[np.ndarray, "class"]:
    """Equidistant numbers from -1 to 1."""
    return np.linspace(-1.0, 1.0, classes)


def line_kernel(step: Step, embed: np.ndarray, reads: np.ndarray, shift: float) -> CodeKernel:
    """Neurons that add up, with the weights `reads`, to the code of the answer and `shift`; and the constant one."""
    codes = line_codes(step.classes)
    rows = np.vstack([np.outer(reads, codes), -shift * codes - codes**2 / 2])
    one = np.full((*embed.shape[:2], 1), 1 / len(embed))
    gap = 2 / (step.classes - 1)
    return CodeKernel(Expert(np.concatenate([embed, one], axis=2), rows, 2), gap**2 / 2, 0.5, False)


@dataclass(frozen=True, eq=False)
class Lookup:
    """answers[x0] or answers[x0, x1]: a table, of whatever."""

    answers: Int[np.ndarray, "..."]

    def kernel(self, step: Step, frequencies: str | int) -> CodeKernel:
        if self.answers.ndim == 1:
            return self.column(step) if frequencies == "minimal" else self.one_hot_column(step)
        return self.by_rows(step) if frequencies == "minimal" else self.one_hot(step)

    def column(self, step: Step) -> CodeKernel:
        """One variable: the square root of its code and one."""
        embed = np.sqrt(line_codes(step.classes)[self.answers] + 1.0)[None, :, None]
        return line_kernel(step, embed, np.ones(1), 1.0)

    def by_rows(self, step: Step) -> CodeKernel:
        """A neuron for every different row, or column where these are fewer."""
        turned = len(np.unique(self.answers, axis=1).T) < len(np.unique(self.answers, axis=0))
        lines, place = np.unique(self.answers.T if turned else self.answers, axis=0, return_inverse=True)
        check_size(step, len(lines) + 2)
        values = line_codes(step.classes)[lines]
        embed = np.zeros((2, step.symbols, len(lines) + 1))
        embed[int(turned), : len(place), :-1] = np.eye(len(lines))[place.reshape(-1)]
        embed[int(not turned), : lines.shape[1], :-1] = values.T
        squares = (values**2).sum(axis=0)
        largest = float(squares.max())
        embed[int(not turned), : lines.shape[1], -1] = np.sqrt(largest - squares)
        if np.ptp(squares) == 0:
            embed = embed[:, :, :-1]
        return line_kernel(step, embed, np.full(embed.shape[2], 0.5), (1 + largest) / 2)

    def one_hot_column(self, step: Step) -> CodeKernel:
        used = np.unique(self.answers)
        embed = (self.answers[:, None] == used).astype(float)[None]
        readout = (used[:, None] == np.arange(step.classes)).astype(float)
        return CodeKernel(Expert(embed, readout, 2), 1.0, 1.0, True)

    def one_hot(self, step: Step) -> CodeKernel:
        """([a = i] + [b = j])² = [a = i] + [b = j] + 2 [a = i, b = j]."""
        rows, columns = self.answers.shape
        check_size(step, rows * columns + rows + columns)
        first, second = np.zeros((2, step.symbols, rows * columns + rows + columns))
        first[:rows] = np.hstack([np.repeat(np.eye(rows), columns, axis=1), np.eye(rows), np.zeros((rows, columns))])
        second[:columns] = np.hstack([np.tile(np.eye(columns), rows), np.zeros((columns, rows)), np.eye(columns)])
        cells = (self.answers[:, :, None] == np.arange(step.classes)) / 2.0
        readout = np.vstack([cells.reshape(rows * columns, -1), -cells.sum(axis=1), -cells.sum(axis=0)])
        return CodeKernel(Expert(np.stack([first, second]), readout, 2), 1.0, 1.0, True)


@dataclass(frozen=True, eq=False)
class Pairing:
    """x0·sizes[1] + x1, a number for every pair: s = ((s + 1)² - (s - 1)²) / 4 needs no product."""

    sizes: tuple[int, int]

    def kernel(self, step: Step, frequencies: str | int) -> CodeKernel:
        codes = line_codes(step.classes)
        embed = np.zeros((2, step.symbols, 2))
        embed[0, : self.sizes[0]] = codes[:: self.sizes[1], None] + [1.0, -1.0]
        embed[1, : self.sizes[1]] = (codes[: self.sizes[1], None] - codes[0]) + [0.0, 0.0]
        return line_kernel(step, embed, np.array([0.25, -0.25]), 0.0)
