"""The paper's analytical weights, written out entry by entry: an oracle for what is measured on networks."""

from __future__ import annotations

from math import cos, pi

import numpy as np

from modgrok.algebra.function import read_function
from modgrok.networks.circuit import Expert, single
from modgrok.networks.network import Network


def network_of(expert, expression, p):
    """The network of one expert."""
    return Network.of_circuit(single(expert), read_function(expression, p), "exact")


def sum_expert(p, width, coefficients, *, rng, offset=0, dtype=np.float64):
    """eq:solution_multisum for c_1 n_1 + … + c_S n_S + offset; also the frequencies and phases drawn."""
    terms = len(coefficients)
    frequencies = rng.permutation(np.arange(width) % ((p - 1) // 2) + 1)
    phases = rng.uniform(-pi, pi, (terms, width))
    embed, readout = np.empty((terms, p, width)), np.empty((width, p))
    for k in range(width):
        for n in range(p):
            for s, c in enumerate(coefficients):
                embed[s, n, k] = cos(2 * pi / p * frequencies[k] * c * n + phases[s, k])
            readout[k, n] = cos(-2 * pi / p * frequencies[k] * (n - offset) - phases[:, k].sum())
    return Expert(embed.astype(dtype), readout.astype(dtype), terms), frequencies, phases


def product_expert(p, width, exponents, *, rng, root, dtype=np.float64):
    """eq:solution_mul for n_1^a n_2^b …; `root` is a primitive root, the last neuron answers for zero."""
    terms = len(exponents)
    frequencies = rng.permutation(np.arange(width - 1) % ((p - 3) // 2) + 1)
    phases = rng.uniform(-pi, pi, (terms, width - 1))
    embed, readout = np.zeros((terms, p, width)), np.zeros((width, p))
    for k in range(width - 1):
        for r in range(p - 1):
            for s, a in enumerate(exponents):
                embed[s, pow(root, r, p), k] = cos(2 * pi / (p - 1) * frequencies[k] * a * r + phases[s, k])
            readout[k, pow(root, r, p)] = cos(-2 * pi / (p - 1) * frequencies[k] * r - phases[:, k].sum())
    embed[:, 0, -1] = readout[-1, 0] = width ** (1 / 3)  # its logit is the width, as that of the right class
    return Expert(embed.astype(dtype), readout.astype(dtype), terms), frequencies, phases
