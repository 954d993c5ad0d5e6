"""Bounds of the nuclear norm of a one-hot tensor: from above by a factorisation, from below by a dual certificate.

**Above.** ‖T‖ <= Σ w_k + ‖T - X‖ for any atoms, and the norm of what they leave is at most the sum of the nuclear
norms of its slices, along any of the three modes: each slice is a matrix, times one unit vector.

**Below.** ‖T‖ >= ⟨T, Y⟩ / s for every Y and every s >= σ(Y). The spectral norm of a tensor is hard to bound. Two
bounds are used:

* σ(Y) is at most the spectral norm of each unfolding, which is a matrix. The best Y for that is known: the bound is
  the nuclear norm of the unfolding.
* σ(Y)² = max |Σ_ab Y[a, b, ·] u_a v_b|² is the largest value at u ⊗ v of the matrix M = Σ_q y_q y_qᵀ over pairs (a,
  b), where y_q is the slice Y_q as a vector. For real u ⊗ v the matrix M' with a and a' exchanged, M'[(a, b), (a',
  b')] = M[(a', b), (a, b')], has the same values: it sends Z to Σ_q Y_q Zᵀ Y_q. So σ(Y)² is at most the largest
  eigenvalue of θ M + (1 - θ) M' for each θ. For the product of complex numbers θ = 1/2 is exact, for that of matrices
  θ = 0; near random tables it is off by about n^(1/4), and no fast certificate is known to be better (tensor
  principal components: arXiv:1507.03269).

The largest eigenvalue is bounded from Lanczos' method with a random start (Kuczyński and Woźniakowski 1992): after k
steps the largest Ritz value is below it by more than ε times the spread of the eigenvalues with a probability of at
most 1.648 √N exp(-√ε (2k - 1)), N the size of the matrix. ε is chosen so that this is 10⁻⁹. Rounding errors are not
bounded; all is in float64. So these are bounds for people, not proofs by the kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain

import numpy as np
from jaxtyping import Float

from modgrok.separable.measures.nuclear import Atoms, Estimate, OneHot, in_one_thread, swept

Tensor = Float[np.ndarray, "n1 n2 n3"]
Plane = Float[np.ndarray, "n1 n2"]

STEPS = 60
"""Of Lanczos' method."""
DOUBT = 1e-9
"""The probability that a largest eigenvalue is larger than its bound."""
ROUNDING = 1e-10
"""Eigenvalues below this share of the largest count as 0."""
MIXTURES = (0.0, 0.25, 0.5)
"""θ, the shares of M; with 1 it is an unfolding."""
POLISHING = (0.06, 0.03, 0.015, 0.007, 0.003, 0.001)
"""Levels at which the atoms are fitted further, so that less is left of T."""


def dense(tensor: OneHot) -> Tensor:
    """T; unknown cells are 0."""
    n1, n2, values = tensor.sides
    a, b = np.nonzero(tensor.table >= 0)
    found = np.zeros((n1, n2, values))
    found[a, b, tensor.table[a, b]] = 1
    return found


def written(atoms: Atoms) -> Tensor:
    u, v, x = (part.astype(np.float64) for part in atoms.directions)
    pairs = (u[:, None, :] * v[None, :, :] * atoms.weights).reshape(-1, len(atoms.weights))
    return np.asarray(pairs @ x.T).reshape(len(u), len(v), len(x))


def size_of(atoms: Atoms) -> float:
    """Σ |u_k| |v_k| |x_k| w_k, with lengths as they are in float64."""
    lengths = [np.linalg.norm(part.astype(np.float64), axis=0) for part in atoms.directions]
    return float((lengths[0] * lengths[1] * lengths[2] * atoms.weights).sum())


def by_slices(tensor: Tensor) -> float:
    """The least, over the three modes, of the sums of the nuclear norms of all slices."""
    turned = (tensor, tensor.transpose(1, 0, 2), tensor.transpose(2, 0, 1))
    return float(min(np.linalg.svd(slices, compute_uv=False).sum() for slices in turned))


def upper_bound(tensor: OneHot, found: Estimate) -> float:
    """The least of several bounds: T by its slices, and each set of atoms, scaled to explain T, with what it leaves."""
    whole = dense(tensor)
    known = (tensor.table >= 0)[:, :, None]
    with in_one_thread():
        best = by_slices(whole)
        for atoms in (found.history[-1].atoms, polished(tensor, found.history[-1].atoms)):
            x = written(atoms) * known
            for scale in (1.0, float((x * whole).sum()) / max(float((x * x).sum()), 1e-12)):
                best = min(best, abs(scale) * size_of(atoms) + by_slices(whole - scale * x))
    return best


def polished(tensor: OneHot, atoms: Atoms) -> Atoms:
    """The atoms after sweeps at falling levels, which leave less of T."""
    unit = np.sqrt(tensor.cells / tensor.sides[2])
    for level in POLISHING:
        atoms = swept(tensor, atoms, float(unit * level)) if len(atoms.weights) else atoms
    return atoms


def lower_bound(tensor: OneHot, found: Estimate) -> float:
    """The largest of ⟨T, Y⟩ over a bound of σ(Y), over the unfoldings, and over Y = T - X at every second level.

    Where cells are unknown Y must be 0 there, and the best Y of an unfolding is not: T itself stands for those.
    """
    whole = dense(tensor)
    known = (tensor.table >= 0)[:, :, None]
    unfoldings = [np.moveaxis(whole, mode, 0).reshape(whole.shape[mode], -1) for mode in range(3)]
    with in_one_thread():
        best = max(gram_roots(rows).sum() for rows in unfoldings) if known.all() else 0.0
        residuals = ((whole - written(level.atoms)) * known for level in found.history[::2])
        for y in residuals if known.all() else chain([whole], residuals):
            inner = float((whole * y).sum())
            if inner > best * 1e-9:
                best = max(best, inner / spectral_bound(y))
    return float(best)


def gram_roots(rows: Float[np.ndarray, "side rest"]) -> Float[np.ndarray, "side"]:
    """The singular values of a wide matrix; those that may be rounding errors are 0, which lowers their sum."""
    values = np.linalg.eigvalsh(rows @ rows.T)
    return np.sqrt(np.where(values > ROUNDING * values[-1], values, 0))


def spectral_bound(y: Tensor) -> float:
    """A number that σ(Y) does not exceed, but for `DOUBT`."""
    best = min(gram_roots(np.moveaxis(y, mode, 0).reshape(y.shape[mode], -1))[-1] for mode in range(3))
    n1, n2, values = y.shape
    by_rows = np.ascontiguousarray(y.transpose(0, 2, 1)).reshape(-1, n2)
    by_values = np.ascontiguousarray(y.transpose(2, 0, 1)).reshape(-1, n2)
    rows = by_values.reshape(values, -1)

    def operator(share: float) -> Callable[[Plane], Plane]:
        def apply(z: Plane) -> Plane:
            exchanged = (by_rows @ z.T).reshape(n1, -1) @ by_values  # all slices at once: two large products
            plain = ((rows @ z.ravel()) @ rows).reshape(z.shape) if share else 0.0
            return np.asarray(share * plain + (1 - share) * exchanged)

        return apply

    bounds = [largest_eigenvalue(operator(share), y.shape[:2]) for share in MIXTURES]
    return float(min(best, np.sqrt(max(min(bounds), 0.0))))


def largest_eigenvalue(apply: Callable[[Plane], Plane], shape: tuple[int, ...], *, seed: int = 0) -> float:
    """What the largest eigenvalue of a symmetric operator does not exceed, but for `DOUBT` (Lanczos, see above)."""
    size = int(np.prod(shape))
    steps = min(STEPS, size)
    basis = np.zeros((steps, size))
    start = np.random.default_rng(seed).standard_normal(size)
    basis[0] = start / np.linalg.norm(start)
    diagonal, beside = np.zeros(steps), np.zeros(max(steps - 1, 0))
    for k in range(steps):
        image = apply(basis[k].reshape(shape)).ravel()
        diagonal[k] = image @ basis[k]
        for _ in range(2):
            image = image - basis[: k + 1].T @ (basis[: k + 1] @ image)
        length = float(np.linalg.norm(image))
        if k + 1 == steps:
            break
        if length < 1e-12:  # an invariant space: what is left of the operator is looked at from another start
            other = np.random.default_rng(seed + k + 1).standard_normal(size)
            other -= basis[: k + 1].T @ (basis[: k + 1] @ other)
            image, length = other, float(np.linalg.norm(other))
            beside[k] = 0.0
        else:
            beside[k] = length
        basis[k + 1] = image / length
    ritz = np.linalg.eigvalsh(np.diag(diagonal) + np.diag(beside, 1) + np.diag(beside, -1))
    if steps == size:
        return float(ritz[-1])
    doubt = (np.log(2 * 1.648 * np.sqrt(size) / DOUBT) / (2 * steps - 1)) ** 2
    return float(ritz[-1] + doubt / (1 - 2 * doubt) * (ritz[-1] - ritz[0]))
