"""Which of the compiler's phase designs the neurons of a trained expert resemble, and how closely."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import factorial

import numpy as np

from modgrok.compiler.phases import exact_design, narrow_design
from modgrok.inspection.snap import mean
from modgrok.inspection.waves import FittedWaves
from modgrok.networks.circuit import Expert

ANGLES = 4096
"""Random angles over which leakage is averaged."""
CANCELS = 1e-3
"""A design cancels exactly if its leakage is below this share of what random phases leave."""


@dataclass(frozen=True)
class NearestDesign:
    """`designs` are the neurons per frequency that each design needs; `neurons_per_frequency` is what there is."""

    words: str
    designs: dict[str, int]
    name: str | None = None
    neurons_per_frequency: dict[str, float] | None = field(default=None)
    leakage: float | None = None
    leakage_ratio: float | None = None


def nearest_design(expert: Expert, waves: FittedWaves) -> NearestDesign:
    """The design, by what its phases leave of the terms that must cancel.

    Write θ_s for the angle 2π c_s f r_s / m of input s and φ for that of the class. The neurons of
    frequency f add up to Re(e^{-iφ} G) with G = Σ_k a_Q e^{-iψ_Q} (Σ_s a_s cos(θ_s + ψ_s))^S. Only one term
    of G is wanted, C e^{iΣθ_s} with C = S!/2^S Σ_k a_Q Π_s a_s e^{i(Σψ_s - ψ_Q)}; the others must cancel
    between neurons. The leakage is the root mean square over angles of G - C e^{iΣθ_s}, divided by |C|.
    Were phases independent, squares of the single neurons' leaks would add up; the leakage over that value
    is about 1 for the random design and 0 for an exact one. What no input moves does not count if constant
    neurons can remove it.
    """
    phased = waves.frequency[waves.has_phases]
    counts = [int(np.sum(phased == f)) for f in np.unique(phased)]
    designs = {"exact": exact_design(expert.terms).width}
    if expert.terms == 2:
        designs["narrow"] = narrow_design().width
    if not counts or expert.power != expert.terms or mean(waves.common[waves.active]) < 0.5:
        return NearestDesign("the neurons do not have the form of a design in this order", designs)
    median = float(np.median(counts))
    leakage, of_random = leakages(expert, waves)
    ratio = leakage / of_random
    if ratio < CANCELS:
        name = next((name for name, width in designs.items() if width == median), "exact")
        words = f"the {name} design: unwanted terms cancel to {leakage:.0e} of the wanted one"
    else:
        name = "random" if ratio > 0.5 else "exact"
        words = f"between random and exact phases: unwanted terms are {100 * ratio:.0f} % of what random phases leave"
    if ratio > 0.9:
        words = f"random phases: unwanted terms are {100 * ratio:.0f} % of what independent ones leave"
    needs = ", ".join(f"{name} needs {width}" for name, width in designs.items())
    return NearestDesign(
        f"{words}; {median:g} neurons per frequency ({needs})",
        designs,
        name,
        {"median": median, "least": min(counts), "most": max(counts)},
        leakage,
        ratio,
    )


def leakages(expert: Expert, waves: FittedWaves) -> tuple[float, float]:
    """The leakage as it is, and as it would be with independent phases, pooled over frequencies by power."""
    terms = expert.terms
    theta = np.random.default_rng(0).uniform(-np.pi, np.pi, (terms, ANGLES, 1))
    removable = bool((waves.alive & waves.constant).any())
    unwanted = independent = wanted = 0.0
    for f in np.unique(waves.frequency[waves.has_phases]):
        k = waves.has_phases & (waves.frequency == f)
        a, psi, a_q = waves.amplitude[:-1, None, k], waves.phase[:-1, None, k], waves.amplitude[-1, k]
        turn = a_q * np.exp(-1j * waves.readout_phase[k])
        signal = factorial(terms) / 2**terms * turn * np.prod(a * np.exp(1j * psi), axis=0)
        leak = turn * np.sum(a * np.cos(theta + psi), axis=0) ** terms - signal * np.exp(1j * theta.sum(axis=0))
        if removable:
            leak -= leak.mean(axis=0)
        unwanted += np.mean(np.abs(leak.sum(axis=1)) ** 2)
        independent += np.mean(np.sum(np.abs(leak) ** 2, axis=1))
        wanted += np.abs(signal.sum()) ** 2
    return float(np.sqrt(unwanted / wanted)), float(np.sqrt(independent / wanted))
