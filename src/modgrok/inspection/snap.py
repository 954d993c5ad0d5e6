"""The snapped network: one cosine per block, with phases that obey the law, and nothing else.

If it still computes the function, the cosines are the solution and not just a feature of it.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int

from modgrok.inspection.waves import FittedWaves
from modgrok.networks.circuit import Expert
from modgrok.networks.network import Network, chunk_rows
from modgrok.networks.verification import answers, row_chunks

MOST_WORK = 1 << 38
"""The snapped network is checked on the whole table, or on as many random rows as take so many multiplications."""


def snap(expert: Expert, waves: FittedWaves) -> Expert:
    """The expert with each block of an active neuron replaced by its fitted cosine, and dead neurons by zero.

    The law's residual δ is shared equally: ψ_s + δ/(S+1) and ψ_Q - δ/(S+1) obey it exactly. Where a wave has a sign
    instead of a phase, signs stay. Constant neurons stay, and so do the weights of residues without a place: no cosine
    describes how a product treats zero.
    """
    share = np.where(waves.has_phases, waves.residual / (expert.terms + 1), 0)
    phase = waves.phase + share * np.array([*[1] * expert.terms, -1])[:, None]
    neurons = np.flatnonzero(waves.active)

    def cosine(block: int, places: Int[np.ndarray, "place"]) -> Float[np.ndarray, "place width"]:
        turns = np.outer(places, waves.frequency[neurons]) % waves.period / waves.period
        return np.asarray(waves.amplitude[block, neurons] * np.cos(2 * np.pi * turns + phase[block, neurons]))

    embed, readout = np.array(expert.embed), np.array(expert.readout)
    embed[:, :, ~waves.alive], readout[~waves.alive] = 0, 0
    for s, table in enumerate(waves.labels.tables):
        placed = np.flatnonzero(table >= 0)
        embed[s][np.ix_(placed, neurons)] = cosine(s, table[placed])
    readout[np.ix_(neurons, waves.labels.classes)] = 0
    for t in waves.labels.reached:
        readout[neurons, waves.labels.outputs[t]] += cosine(-1, np.array([t]))[0]
    return Expert(embed, readout, expert.power)


def accuracies(network: Network, table: Int[np.ndarray, "p ..."] | None = None) -> tuple[float, float, int]:
    """Share of right answers over the whole table, and over its rows without a zero; and the number of rows checked.

    Right are the values of the network's expression, or of `table`, one axis per variable. Where the whole table takes
    more than `MOST_WORK`, random rows are checked.
    """
    count = min(network.known_rows, max(1, MOST_WORK // network.parameters))
    size = chunk_rows(network.model, count, network.dtype)
    right, nonzero = [], []
    for rows in row_chunks(network, count, size, np.random.default_rng(0)):
        values = answers(network, rows) if table is None else table[tuple(rows.T)]
        right.append(network.predict(rows) == values)
        nonzero.append(np.all(rows != 0, axis=1))
    every = np.concatenate(right)
    return mean(every), mean(every[np.concatenate(nonzero)]), count


def mean(values: np.ndarray) -> float:
    """The mean, or 0 of nothing: networks may have no living neuron."""
    return float(np.mean(values)) if values.size else 0.0
