"""Look for exact phase designs with few neurons: `python benchmarks/design_search.py` (docs/designs.md explains).

A neuron is a real form L = Re(w·z), z_s = e^{iθ_s}, with a complex readout R. A design is exact if Σ R L^S has no
Fourier mode e^{ik·θ} but k = (1, …, 1), with coefficient 1 (and k = 0 where a shared constant neuron is allowed).
The neurons are taken in orbits of a finite group of translations α: w_s → w_s e^{iα_s}, R → R e^{−iΣα}. Summed
over an orbit, a mode k survives iff (k − (1, …, 1))·α ≡ 0 for all α, so that few equations are left:

1. `scan` lists cyclic groups, with and without flips by π, for which only z_1 … z_S and one-variable modes
   survive. One orbit with equal amplitudes and a few one-variable neurons then are a design in closed form.
2. `search` solves the equations of a group for several orbits by Levenberg–Marquardt from random starts.
"""

from __future__ import annotations

import argparse
import itertools
import time
from math import factorial
from pathlib import Path

import numpy as np
from writing import write_found

RESULTS = Path(__file__).parent / "results" / "design_search.json"
EXACT = 1e-20
"""Sum of squared errors of all modes below which a solution counts as exact in float64."""


def fourier_modes(terms: int) -> np.ndarray:
    """All k with |k_1| + … + |k_S| at most S and of its parity: the modes of the S-th power of a form."""
    box = itertools.product(range(-terms, terms + 1), repeat=terms)
    sums = ((k, sum(map(abs, k))) for k in box)
    return np.array([k for k, total in sums if total <= terms and (terms - total) % 2 == 0])


class Equations:
    """The modes that a group of translations keeps, as polynomials in z_s = w_s/2 and its conjugate.

    `turns` generates the group, in units of a full turn; the translation by (½, …, ½), which maps a form to its
    negative, is always in it, and `size` counts elements up to it.
    """

    def __init__(self, terms: int, turns: list[tuple[float, ...]], *, constant: bool) -> None:
        self.terms = terms
        modes = fourier_modes(terms)
        kept = np.ones(len(modes), bool)
        for turn in turns:
            phase = (modes - 1) @ np.array(turn)
            kept &= np.abs(phase - np.round(phase)) < 1e-9
        if constant:
            kept &= modes.any(axis=1)
        self.modes = modes[kept]
        self.target = (self.modes == 1).all(axis=1).astype(complex)
        self.size = self.orbit_size(turns, np.ones(terms, bool))
        place = {tuple(k): i for i, k in enumerate(self.modes)}
        exponents, columns, values = [], [], []
        for e in itertools.product(range(terms + 1), repeat=2 * terms):
            k = tuple(a - b for a, b in zip(e[:terms], e[terms:], strict=True))
            if sum(e) == terms and k in place:
                exponents.append(e)
                columns.append(place[k])
                values.append(factorial(terms) / np.prod([factorial(n) for n in e]))
        self.exponents = np.array(exponents)
        self.sums = np.zeros((len(values), len(self.modes)))
        self.sums[np.arange(len(values)), columns] = values

    @staticmethod
    def orbit_size(turns: list[tuple[float, ...]], inputs: np.ndarray) -> int:
        """Distinct neurons, up to sign, in the orbit of one that reads `inputs` only."""

        def name(turn: np.ndarray) -> tuple[int, ...]:
            both = [np.round((turn + half) * 5040).astype(int) % 5040 for half in (0, 0.5)]
            return min(tuple(b[inputs]) for b in both)

        found, frontier = {name(np.zeros(len(inputs)))}, [np.zeros(len(inputs))]
        while frontier:
            steps = [(start + np.array(turn)) % 1 for start in frontier for turn in turns]
            frontier = []
            for step in steps:
                if name(step) not in found:
                    found.add(name(step))
                    frontier.append(step)
        return len(found)

    def coefficients(self, w: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Modes (…, mode) of Re(w·z)^S and their derivatives by w/2 and its conjugate, (…, mode, term)."""
        both = np.concatenate([w, w.conj()], axis=-1)[..., None] / 2
        powers = np.cumprod(np.concatenate([np.ones_like(both), *[both] * self.terms], axis=-1), axis=-1)
        factors = [powers[..., v, e] for v, e in enumerate(self.exponents.T)]
        before, after = [np.ones_like(factors[0])], [np.ones_like(factors[0])]
        for v in range(2 * self.terms):
            before.append(before[-1] * factors[v])
            after.append(after[-1] * factors[-1 - v])
        whole, slopes = before[-1] @ self.sums, []
        for v, e in enumerate(self.exponents.T):
            lowered = e * powers[..., v, np.maximum(e - 1, 0)]
            slopes.append((before[v] * lowered * after[-2 - v]) @ self.sums)
        slope = np.stack(slopes, axis=-1)
        return whole, slope[..., : self.terms], slope[..., self.terms :]


def real_parts(values: np.ndarray, axis: int = -1) -> np.ndarray:
    return np.concatenate([values.real, values.imag], axis=axis)


def search(equations: Equations, masks: np.ndarray, sizes: np.ndarray, starts: int, steps: int, seed: int) -> dict:
    """Levenberg–Marquardt on all starts at once; masks[i] says which inputs the neurons of orbit i read."""
    rng = np.random.default_rng(seed)
    orbits, terms = masks.shape
    w = (rng.normal(size=(starts, orbits, terms)) + 1j * rng.normal(size=(starts, orbits, terms))) * masks
    readout = rng.normal(size=(starts, orbits)) + 1j * rng.normal(size=(starts, orbits))
    free = np.concatenate([np.tile(masks[:, :, None], (1, 1, 2)).reshape(-1), np.ones(2 * orbits, bool)])

    def residual(w: np.ndarray, readout: np.ndarray) -> np.ndarray:
        power = equations.coefficients(w)[0]
        return real_parts(np.einsum("bnk,bn,n->bk", power, readout, sizes) - equations.target)

    damping = np.full(starts, 0.1)
    loss = (residual(w, readout) ** 2).sum(axis=1)
    for _ in range(steps):
        power, by_w, by_conjugate = equations.coefficients(w)
        error = real_parts(np.einsum("bnk,bn,n->bk", power, readout, sizes) - equations.target)
        weight = (readout * sizes)[:, :, None, None]
        by_real, by_imaginary = (by_w + by_conjugate) / 2 * weight, (by_w - by_conjugate) * 0.5j * weight
        columns = (
            np.stack([by_real, by_imaginary], axis=-1).transpose(0, 2, 1, 3, 4).reshape(starts, len(power[0, 0]), -1)
        )
        linear = np.stack([power, 1j * power], axis=-1) * sizes[:, None, None]
        linear = linear.transpose(0, 2, 1, 3).reshape(starts, power.shape[2], -1)
        jacobian = real_parts(np.concatenate([columns, linear], axis=-1)[:, :, free], axis=1)
        normal = jacobian @ jacobian.transpose(0, 2, 1) + damping[:, None, None] * np.eye(error.shape[1])
        change = np.zeros((starts, len(free)))
        change[:, free] = -np.einsum("bki,bk->bi", jacobian, np.linalg.solve(normal, error[:, :, None])[:, :, 0])
        pairs = change.reshape(starts, -1, 2)
        pairs = pairs[:, :, 0] + 1j * pairs[:, :, 1]
        new_w = w + pairs[:, : orbits * terms].reshape(w.shape)
        new_readout = readout + pairs[:, orbits * terms :]
        new_loss = (residual(new_w, new_readout) ** 2).sum(axis=1)
        better = new_loss < loss
        w = np.where(better[:, None, None], new_w, w)
        readout = np.where(better[:, None], new_readout, readout)
        loss = np.where(better, new_loss, loss)
        damping = np.clip(np.where(better, damping * 0.3, damping * 4), 1e-11, 1e8)
        if loss.min() < EXACT / 1e4:
            break
    best = int(loss.argmin())
    largest = (np.abs(readout[best]) * np.abs(w[best]).sum(axis=1) ** terms * sizes).sum()
    return {
        "exact": bool(loss[best] < EXACT),
        "loss": float(loss[best]),
        "gain": float(largest),
        "w": [[[float(z.real), float(z.imag)] for z in row] for row in w[best]],
        "readout": [[float(z.real), float(z.imag)] for z in readout[best]],
    }


def experiment(
    terms: int, turns: list[tuple[float, ...]], full: int, last_only: int, constant: bool, starts: int
) -> dict:
    """`full` orbits that read every input and `last_only` neurons that read the last input alone."""
    equations = Equations(terms, turns, constant=constant)
    last = np.arange(terms) == terms - 1
    single = Equations.orbit_size(turns, last)
    masks = np.array([np.ones(terms, bool)] * full + [last] * (last_only // single))
    sizes = np.array([equations.size] * full + [single] * (last_only // single), float)
    steps = 500
    result = search(equations, masks, sizes, starts, steps, seed=0)
    about = {"terms": terms, "turns": turns, "orbits": full, "orbit_size": equations.size, "constant": constant}
    about |= {"last_only": last_only, "width": int(sizes.sum()), "equations": 2 * len(equations.modes)}
    return about | {"starts": starts, "steps": steps} | result


def fourteen(cosine: float, h: float, factor: float) -> tuple[np.ndarray, np.ndarray]:
    """w (neuron, term) and readouts of the 14-neuron design for S = 3, in the letters of docs/designs.md.

    `cosine` is C; q0 is `factor` times the least value that makes τ0 positive.
    """
    corner = np.exp(1j * np.arccos(cosine) * np.array([0, 1, -1]))
    ahead, behind = np.roll(corner, -1), np.roll(corner, -2)
    c = 1j * (behind - ahead) / ((ahead[0] - corner[0]).conj() * (behind[0] - corner[0])).imag
    q = np.abs(c)
    q[0] = factor * 2 * q[1] * (cosine + 1) / (2 * h - 1)
    tau = q * (2 * h + 1) / (6 * (cosine - h))
    tau[0] = (q[0] * (2 * h - 1) - 2 * q[1] * (cosine + 1)) / (6 * (1 - h))
    squares, product = q / (6 * tau), np.abs(c) / (12 * tau)
    x = (np.sqrt(squares + 2 * product) + np.sqrt(np.maximum(squares - 2 * product, 0))) / 2
    root, quarter = np.exp(1j * np.angle(corner) / 2), 1j ** np.arange(4)
    first = np.outer(quarter, x * np.exp(-1j * np.angle(c)))
    forms = np.stack([first, np.outer(quarter.conj(), product / x), np.tile(root, (4, 1))], axis=-1)
    left, eta = ((q + 3 * tau) * np.stack([corner, np.ones(3)])).sum(axis=1).real, np.arccos(h) / 2
    single = -left.sum() / (12 * np.cos(eta)) + 1j * (left[0] - left[1]) / (12 * np.sin(eta))
    ends = [[0, 0, 2 * np.exp(1j * eta)], [0, 0, 2 * np.exp(-1j * eta)]]
    w = np.concatenate([forms.reshape(12, 3), ends])
    return w, np.concatenate([np.tile(2 * tau * root, 4), [single, single.conj()]])


def check_fourteen() -> dict:
    """The least gain over a grid of parameters, and the largest error there at random angles."""
    grid = itertools.product(np.linspace(0.55, 0.95, 41), np.linspace(0.05, 0.95, 19), (1.05, 1.1, 1.2, 1.5, 2))
    candidates = []
    for cosine, part, factor in grid:
        h = 0.5 + part * (cosine - 0.5)
        w, readout = fourteen(cosine, h, factor)
        candidates.append((float((np.abs(readout) * np.abs(w).sum(axis=1) ** 3).sum()), cosine, h, factor))
    gain, cosine, h, factor = min(candidates)
    w, readout = fourteen(cosine, h, factor)
    z = np.exp(1j * np.random.default_rng(0).uniform(0, 2 * np.pi, (1000, 3)))
    error = np.abs((z @ w.T).real ** 3 @ readout - z.prod(axis=1)).max()
    return {"cosine": cosine, "h": h, "factor": factor, "gain": gain, "error": float(error), "width": len(w)}


def scan(terms: int, largest: int, longest: int) -> list[dict]:
    """Groups ⟨d·π/M⟩ with no flips, even flips or all flips that keep z_1 … z_S and one-variable modes alone."""
    modes = fourier_modes(terms)
    inputs, wanted = (modes != 0).sum(axis=1), (modes == 1).all(axis=1)
    found: dict[tuple[int, int], dict] = {}
    flips = {"none": [], "even": [], "all": []}
    flips["even"] = [tuple(0.5 if s in (0, t) else 0.0 for s in range(terms)) for t in range(1, terms)]
    flips["all"] = [tuple(0.5 if s == t else 0.0 for s in range(terms)) for t in range(terms)]
    for (name, generators), m in itertools.product(flips.items(), range(1, longest + 1)):
        smallest = Equations.orbit_size(generators, np.ones(terms, bool)) if generators else 1
        if smallest > largest:
            continue
        kept = np.ones(len(modes), bool)
        for generator in generators:
            kept &= ((modes - 1) @ np.array(generator) % 1) == 0
        differences = (modes - 1)[kept]
        for d in itertools.product(range(2 * m), repeat=terms - 1):
            survive = differences @ np.array((1, *d)) % (2 * m) == 0
            if (inputs[kept][survive & ~wanted[kept]] > 1).any():
                continue
            size = Equations.orbit_size([tuple(x / (2 * m) for x in (1, *d)), *generators], np.ones(terms, bool))
            extra = modes[kept][survive & ~wanted[kept]]
            if size <= largest:
                entry = {"size": size, "d": [1, *d], "M": m, "flips": name, "one_variable_modes": extra.tolist()}
                found.setdefault((size, len(extra)), entry)
    return [found[key] for key in sorted(found)]


def main() -> None:
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    pair, quarter = (0.5, 0.5, 0.0), (0.25, 0.75, 0.0)
    plans: list[tuple[int, list[tuple[float, ...]], int, int, bool, int]] = [
        *[(2, [], n, 0, True, 32) for n in (3, 4)],
        *[(2, [], n, 0, False, 32) for n in (4, 5, 6)],
        *[(3, [], n, 0, False, 12) for n in (12, 15, 16)],
        *[(3, [quarter], 3, n, False, 200) for n in (1, 2, 3)],
        *[(3, [pair], n, k, False, 200) for n, k in ((5, 3), (6, 0), (6, 1), (6, 2))],
    ]
    start, searches = time.perf_counter(), []
    for plan in plans:
        result = experiment(*plan)
        searches.append(result)
        print({k: result[k] for k in ("terms", "turns", "width", "constant", "exact", "loss", "gain")}, flush=True)
    closed = check_fourteen()
    print(closed)
    scans = {"3": scan(3, 16, 12), "4": scan(4, 40, 8)}
    seconds = round(time.perf_counter() - start, 1)
    found = {"searches": searches, "fourteen": closed, "scans": scans, "seconds": seconds}
    write_found(__file__, RESULTS, found)


if __name__ == "__main__":
    main()
