"""Asking the kernel about a network: its weights as they are, and the function in the words that were given.

What the kernel says is a `Proof`; where it has no argument, `NoProof` says why, and the network can only be checked
row by row.
"""

from __future__ import annotations

from dataclasses import replace
from operator import index
from typing import SupportsIndex

import jax
import numpy as np

from modgrok.algebra.trees import to_text
from modgrok.base.fixed import fixed
from modgrok.networks import circuit
from modgrok.networks.circuit import row_margins
from modgrok.networks.models import Logits, Mlp
from modgrok.networks.models.mlp import MlpWeights
from modgrok.networks.network import Network
from modgrok.proofs.expressions import read_expression, variables_of
from modgrok.proofs.networks import Circuit, Progress, Typed, prove_network
from modgrok.proofs.proof import NoProof, Proof
from modgrok.proofs.rounding import Expert
from modgrok.separable.certificates import own_table

TRIED = 1000
"""Rows on which a network is tried that cannot be proved."""
TRIED_LOGITS = 1 << 22
"""Logits of them that are computed at once."""


def prove(
    network: Network, *texts: str, modulus: SupportsIndex | None = None, progress: Progress | None = None
) -> Proof:
    """On how many rows the network is right, rounding included.

    `texts` are other words for the same expression, and `modulus` the one that was asked for: what somebody typed, and
    not what others made of it.
    """
    if network.led:
        raise NoProof(f'the class of "=", which is left out, leads on {network.led:,} inputs')
    typed, experts = typed_for(network, texts, modulus), kernel_circuit(network)
    subject, words = network.subject, network.words
    return prove_network(experts, typed, network.claims, subject=subject, words=words, progress=progress)


def proved(
    network: Network, *texts: str, modulus: SupportsIndex | None = None, progress: Progress | None = None
) -> Network:
    """The network, with weights that nobody can change, and its proof; or with none and a note that says why."""
    kept = replace(network, params=jax.tree.map(fixed, network.params), proof=None)
    try:
        return replace(kept, proof=prove(kept, *texts, modulus=modulus, progress=progress))
    except NoProof as reason:
        return replace(network, proof=None, unproved=str(reason))


def stands(network: Network, *texts: str, modulus: SupportsIndex | None = None) -> bool:
    """Whether a network that is not proved answers random rows as the kernel reads them from what was typed."""
    rows = np.random.default_rng(0).integers(0, network.model.residues, (TRIED, len(network.model.residues)))
    try:
        expected = typed_for(network, texts, modulus).at(rows)
    except NoProof:
        return False
    if expected.max() >= network.model.classes:
        return False
    size = max(1, TRIED_LOGITS // network.model.classes)
    rows, expected = rows[expected >= 0], expected[expected >= 0]
    return all(
        (row_margins(network.logits(rows[k : k + size]), expected[k : k + size]) > 0).all()
        for k in range(0, len(rows), size)
    )


def typed_for(network: Network, texts: tuple[str, ...], modulus: SupportsIndex | None) -> Typed:
    """What the network is to compute; `NoProof` if it says another modulus than was asked for."""
    function = network.function
    if function.tree is None:
        table = np.asarray(function.table, dtype=np.int64)
        if function.written is not None and not np.array_equal(table, own_table(function, texts)):
            raise NoProof("the table of the network is not that of its expression")
        return Typed((), network.modulus, table)
    asked = network.modulus if modulus is None else index(modulus)
    if network.modulus != asked:
        raise NoProof(f"the network is modulo {network.modulus}, and {asked} was asked for")
    read = variables_of(read_expression(function.source, asked))
    if function.variables != tuple(f"n{k}" for k in read):
        raise NoProof("its inputs are not the variables of its expression, in order")
    return Typed((*texts, function.source, function.name, to_text(function.tree)), network.modulus, None)


def kernel_circuit(network: Network) -> Circuit:
    """The network in the kernel's own form; `NoProof` for models whose rounding it cannot bound."""
    sizes = tuple(network.model.residues)
    check_parts(network)
    if type(network.model) is Mlp:
        if network.model.norm != "none":
            raise NoProof(f"the kernel has no bound for {network.model.norm} normalisation")
        if network.model.activation not in ("relu", "gelu", "square"):
            raise NoProof(f"the kernel has no bound for the rounding of {network.model.activation}")
        if jax.tree.leaves(network.params.biases) or network.model.bias:
            raise NoProof("the kernel has no bound for the rounding of biases")
        square, params = network.model.activation == "square", network.params
        activation, power = ("power", 2) if square else (network.model.activation, 1)
        matrices = tuple(map(np.asarray, (*params.hidden, params.readout)))
        only = Expert(np.asarray(params.embed), matrices, activation, power, sizes, 1.0)
        return Circuit((only,), (tuple(range(len(sizes))),), sizes)
    if type(network.model) is Logits:
        raise NoProof("its logits were computed elsewhere, by weights that the kernel does not see")
    if not network.is_circuit:
        raise NoProof(f"the kernel has no bound for the rounding of a {network.model.name}")
    wired = network.circuit
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


def check_parts(network: Network) -> None:
    """`NoProof` for weights that are kept in something else than their model keeps them in, which may change, or is
    read in another way than here."""
    params, model = network.params, network.model
    if type(model) is Mlp:
        fits = type(params) is MlpWeights and type(params.hidden) is tuple and len(params.hidden) == model.depth - 2
    elif network.is_circuit and type(params) is circuit.Circuit:
        experts, wires, fits = params.experts, params.wires, params.variables == model.variables
        fits = fits and type(experts) is tuple and all(map(is_expert, experts))
        fits = fits and type(wires) is tuple and all(type(own) is tuple for own in wires)
        fits = fits and all(type(wire) is int for own in wires for wire in own)
    else:
        fits = not network.is_circuit or is_expert(params)
    if not fits:
        raise NoProof("its weights are not kept as those of its model are")


def is_expert(params: object) -> bool:
    return type(params) is circuit.Expert and type(params.power) is int
