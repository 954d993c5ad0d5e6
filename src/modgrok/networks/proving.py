"""Asking the kernel about a network: its weights as they are, and the function in the words that were given.

What the kernel says is a `Proof`; where it has no argument, `NoProof` says why, and the network can only be checked
row by row.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import jax
import numpy as np

from modgrok.networks.circuit import Circuit as Wired
from modgrok.networks.circuit import single
from modgrok.networks.models import Mlp
from modgrok.networks.network import Network
from modgrok.proofs.networks import Circuit, Progress, Typed, prove_network
from modgrok.proofs.proof import NoProof, Proof
from modgrok.proofs.rounding import Expert


def prove(network: Network, *texts: str, progress: Progress | None = None) -> Proof:
    """On how many rows the network is right, rounding included; `texts` are other words for the same expression."""
    table = None if network.function is None else np.asarray(network.function.table, dtype=np.int64)
    typed = Typed((*texts, network.expression) if table is None else (), network.modulus, table)
    circuit = kernel_circuit(network)
    for weights in jax.tree.leaves(network.params):
        if isinstance(weights, np.ndarray):
            weights.flags.writeable = False  # what is proved of them must stay true
    return prove_network(circuit, typed, network.claims, subject=network.params, words=network.words, progress=progress)


def proved(network: Network, *texts: str, progress: Progress | None = None) -> Network:
    """The network with its proof, or with none and a note that says why."""
    try:
        return replace(network, proof=prove(network, *texts, progress=progress))
    except NoProof as reason:
        return replace(network, proof=None, unproved=str(reason))


def kernel_circuit(network: Network) -> Circuit:
    """The network in the kernel's own form; `NoProof` for models whose rounding it cannot bound."""
    sizes = tuple(network.model.residues)
    if isinstance(network.model, Mlp):
        if network.model.norm != "none":
            raise NoProof(f"the kernel has no bound for {network.model.norm} normalisation")
        return Circuit((mlp_expert(network.model, network.params, sizes),), (tuple(range(len(sizes))),), sizes)
    if network.model.name not in ("power", "circuit"):
        raise NoProof(f"the kernel has no bound for the rounding of a {network.model.name}")
    wired = network.params if isinstance(network.params, Wired) else single(network.params)
    if {np.asarray(expert.embed).dtype for expert in wired.experts} != {np.asarray(wired.betas).dtype}:
        raise NoProof("its weights are not all of one precision")
    symbols = list(sizes)
    experts = []
    for k, (expert, wires) in enumerate(zip(wired.experts, wired.wires, strict=True)):
        embed, readout = np.asarray(expert.embed), np.asarray(expert.readout)
        read = tuple(symbols[wire] for wire in wires)
        experts.append(Expert(embed, (readout,), "power", expert.power, read, float(np.asarray(wired.betas)[k])))
        symbols.append(readout.shape[1])
    return Circuit(tuple(experts), wired.wires, sizes)


def mlp_expert(model: Mlp, params: Any, sizes: tuple[int, ...]) -> Expert:
    activation, power = ("power", 2) if model.activation == "square" else (model.activation, 1)
    matrices = (*params.hidden, params.readout)
    return Expert(np.asarray(params.embed), tuple(map(np.asarray, matrices)), activation, power, sizes, 1.0)
