"""How much structure a value table has, measured on the table alone, without any training.

Three lookups generalise redundancy: a learner who knows which cells, rows or columns correspond answers what the
training set tells about them. Two norms look at the one-hot tensor T[a, b, q] = [f(a, b) = q] as a whole.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from jaxtyping import Float, Int

from modgrok.separable.measures.redundancy import answered_share, redundancy
from modgrok.separable.reductions.reduction import line_classes

Table = Int[np.ndarray, "p p"]
Matrices = Float[np.ndarray, "p p probe"]

PROBES = 16
"""Random vectors for the estimate of a trace."""


# ----------------------------------------------------------------------------------------------- lookups


def permuted_redundancy(table: Table, fraction: float) -> float:
    """The lookup ceiling of a learner who knows which rows (and columns) are equal up to a permutation of the values.

    Let rows a and a' agree up to a permutation. The value at (a, b) follows if (a', b) is known, and the
    permutation at that value is known from another column b' of the same values: (a', b') and (a, b') trained. Of the
    m - 1 other rows of the class, J ~ Binomial(m - 1, φ) are trained at b, where φ is the fraction; each of the k - 1
    other columns where row a has the value f(a, b) then helps with probability φ (1 - (1 - φ)^J). Rows, columns
    and equal twins are taken as independent chances.
    """
    missed = (1 - answered_by_rows(table, fraction)) * (1 - answered_by_rows(table.T, fraction).T)
    return float(1 - (1 - redundancy(table, fraction)) * missed.mean())


def answered_by_rows(table: Table, fraction: float) -> Float[np.ndarray, "p p"]:
    """The probability with which each cell follows from the rows that equal its own up to a permutation."""
    _, classes = line_classes(np.stack([first_appearance(row) for row in table]))
    members = np.bincount(classes)[classes]
    fibres = np.stack([np.bincount(row, minlength=len(table))[row] for row in table])
    answered = np.zeros(table.shape)
    for m in np.unique(members[members > 1]):
        trained = np.arange(m)
        helps = fraction * (1 - (1 - fraction) ** trained)
        chance = binomial(trained, int(m) - 1, fraction)
        rows = members == m
        answered[rows] = 1 - np.sum(chance * (1 - helps) ** (fibres[rows][..., None] - 1), axis=-1)
    return answered


def binomial(k: Int[np.ndarray, "count"], n: int, share: float) -> Float[np.ndarray, "count"]:
    """The probability of k successes in n trials, by logarithms: scipy.stats takes a second to import."""
    from scipy.special import gammaln, xlog1py, xlogy

    ways = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    return np.asarray(np.exp(ways + xlogy(k, share) + xlog1py(n - k, -share)))


def first_appearance(row: Int[np.ndarray, "p"]) -> Int[np.ndarray, "p"]:
    """The row with its values numbered by their first appearance: equal for rows that differ by a permutation."""
    _, first, inverse = np.unique(row, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse]


def orbit_redundancy(table: Table, fraction: float) -> float:
    """The lookup ceiling of a learner who knows the orbits of the automorphisms of the table.

    An automorphism permutes rows and columns and keeps every value. Its orbits are found by refinement: cells
    start with their value as colour, and a cell is coloured anew by its colour and the multisets of colours in its row
    and in its column until the number of colours rests. That may join orbits and never splits one, so it is an upper
    bound: one class for each value in x + y, one for each cell in a random table.
    """
    colours = np.unique(table, return_inverse=True)[1].reshape(table.shape)
    count = 0
    while colours.max() + 1 > count:
        count = int(colours.max()) + 1
        rows = np.unique(np.sort(colours, axis=1), axis=0, return_inverse=True)[1].reshape(-1)
        columns = np.unique(np.sort(colours.T, axis=1), axis=0, return_inverse=True)[1].reshape(-1)
        keys = (colours * len(table) + rows[:, None]) * len(table) + columns[None, :]
        colours = np.unique(keys, return_inverse=True)[1].reshape(table.shape)
    return answered_share(colours, fraction)


# ------------------------------------------------------------------------------------------- values and norms


def entropy(table: Int[np.ndarray, "..."]) -> float:
    """The entropy of the values over all cells, in bits: how much there is to tell of one cell."""
    counts = np.bincount(table.ravel())
    shares = counts[counts > 0] / table.size
    return float(-(shares * np.log2(shares)).sum())


def unfolding_norm(table: Table) -> float:
    """The largest nuclear norm of the three p × p² unfoldings of T, a lower bound of its nuclear norm, over p^(3/2).

    The singular values of the first unfolding are the roots of the eigenvalues of its Gram matrix, which counts the
    columns in which two rows agree. So nothing here depends on how rows fit together three at a time, and x + y and
    a random table are nearly alike. The third Gram matrix is diagonal: how often each value occurs.
    """
    p = len(table)
    agreements = [(lines[:, None, :] == lines[None, :, :]).sum(axis=2) for lines in (table, table.T)]
    spectra = [np.linalg.eigvalsh(matrix.astype(np.float64)) for matrix in agreements]
    spectra.append(np.bincount(table.ravel(), minlength=p).astype(np.float64))
    return float(max(np.sqrt(np.maximum(values, 0)).sum() for values in spectra) / p**1.5)


def effective_rank(table: Table) -> float:
    """The effective rank of K = Σ_q T_q ⊗ T_q over p²: how many directions the coincidences of values spread over.

    K[(a, a'), (b, b')] = [f(a, b) = f(a', b')] is a p² × p² matrix with singular values σ. If f(a, b) = a + b they are
    p, p times, since K/p projects onto what the shifts keep; for a random table they spread over all p². The
    effective rank (Σσ²)² / Σσ⁴ tells these apart. Σσ² counts the coincidences, and Σσ⁴ = E‖KᵀKz‖² over random
    normal z counts how often three coincidences of a rectangle force the fourth. The constant direction that every
    table shares is taken away. Both sums are estimated from the same random z, whose errors partly cancel.
    """
    p = len(table)
    forward, backward = coincidences(table), coincidences(np.ascontiguousarray(table.T))
    probes = np.random.default_rng(0).standard_normal((PROBES, p, p))
    image = centred(forward(centred(np.ascontiguousarray(np.moveaxis(probes, 0, 2)))))
    second, fourth = (np.sum(z**2) / PROBES for z in (image, centred(backward(image))))
    return float(second**2 / max(fourth, 1e-30) / p**2)


def coincidences(table: Table) -> Callable[[Matrices], Matrices]:
    """Z ↦ K Z = Σ_q T_q Z T_qᵀ, for several Z side by side along the last axis.

    For each b the sums S_b[q, a'] = Σ_b' T_q[a', b'] Z[b, b'] take p² additions, since all T_q together have p² ones;
    the image at (a, a') is Σ_b S_b[f(a, b), a']. S_b stays in a processor's cache, the p³ numbers S would not.
    """
    from scipy.sparse import csr_array

    p = len(table)
    a, b = np.indices(table.shape).reshape(2, -1)
    gather = csr_array((np.ones(p * p), (table.ravel() * p + a, b)), shape=(p * p, p))

    def apply(z: Matrices) -> Matrices:
        image, taken = (np.zeros((p, p * z.shape[2])) for _ in range(2))
        for b in range(p):
            image += np.take((gather @ z[b]).reshape(p, -1), table[:, b], axis=0, out=taken, mode="clip")
        return image.reshape(z.shape)

    return apply


def centred(z: Matrices) -> Matrices:
    return np.asarray(z - z.mean(axis=(0, 1)))
