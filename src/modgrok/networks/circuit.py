"""The one shape of network: a directed acyclic graph of two-layer experts joined by softmax_β.

Axis names, used in every signature of the package:

    term      inputs of an expert            width     hidden neurons of an expert
    p         symbols an input can take      class     symbols the output can take
    row       inputs of a network, batched   variable  variables n1 … nV of the function
    net       members of an ensemble         expert    experts of a circuit

An expert computes  readout[·, q] · φ(Σ_s embed[s, n_s, ·])  with φ(x) = x^power: the paper's two-layer network,
where embed[s] is the transpose of its U^(s) (or P^(s)) and readout the transpose of its W (or Q). A compiled
polynomial is a circuit of several experts, a trained network is a circuit of one.

Wires are numbers: wire k is the variable n_{k+1} for k < variables, and the softmax of the output of expert
k - variables from there on. So `wires=((0, 1), (0, 2))` with two variables is an expert that reads n1 and n2,
and one that reads n1 and what the first computed. A wire may carry fewer symbols than an expert has columns for (its
other wires have more); then the last columns are never read.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, TypeAlias, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from modgrok.base.errors import InputError

Weights: TypeAlias = Array | np.ndarray
"""Compiled weights are made on the host in float64, trained ones live on the device; both are used alike."""

T = TypeVar("T")


def pytree(cls: type[T]) -> type[T]:
    """Register a frozen dataclass as a pytree; fields with the metadata "static" are no leaves.

    As `jax.tree_util.register_dataclass`, but JAX rebuilds an instance without its constructor. While a function is
    transformed the leaves may be anything (tracers, shapes, axes, an optimiser's settings for each weight): what a
    field is annotated with is promised, and checked in tests, where our own code makes an instance.
    """
    known = fields(cls)  # type: ignore[arg-type]
    static = [part.name for part in known if part.metadata.get("static")]
    leaves = [part.name for part in known if not part.metadata.get("static")]

    def flatten(tree: T) -> tuple[list[Any], tuple[Any, ...]]:
        return [getattr(tree, name) for name in leaves], tuple(getattr(tree, name) for name in static)

    def flatten_with_keys(tree: T) -> tuple[list[Any], tuple[Any, ...]]:
        children, aux = flatten(tree)
        return list(zip(map(jax.tree_util.GetAttrKey, leaves), children, strict=True)), aux

    def unflatten(aux: tuple[Any, ...], children: Iterable[Any]) -> T:
        tree = object.__new__(cls)
        for name, value in zip((*leaves, *static), (*children, *aux), strict=True):
            object.__setattr__(tree, name, value)
        return tree

    jax.tree_util.register_pytree_with_keys(cls, flatten_with_keys, unflatten, flatten)
    return cls


@pytree
@dataclass(frozen=True)
class Expert:
    """Weights of one two-layer network with activation x^power, or of an ensemble along a leading axis `net`."""

    embed: Float[Weights, "*net term p width"]
    readout: Float[Weights, "*net width class"]
    power: int = field(metadata={"static": True})

    @property
    def terms(self) -> int:
        return self.embed.shape[-3]

    @property
    def width(self) -> int:
        return self.embed.shape[-1]


@pytree
@dataclass(frozen=True)
class Circuit:
    """Experts in an order in which each reads only variables and earlier experts; the last one is the output.

    betas[k] is the inverse temperature of the softmax through which later experts read expert k; the last
    one is never read.
    """

    experts: tuple[Expert, ...]
    betas: Float[Weights, "*net expert"]
    wires: tuple[tuple[int, ...], ...] = field(metadata={"static": True})
    variables: int = field(metadata={"static": True})

    @property
    def width(self) -> int:
        """Hidden neurons in all."""
        return sum(expert.width for expert in self.experts)

    @property
    def parameters(self) -> int:
        return sum(expert.embed.size + expert.readout.size for expert in self.experts)

    @property
    def classes(self) -> int:
        return self.experts[-1].readout.shape[-1]

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(self.experts[-1].readout.dtype)

    def astype(self, dtype: np.typing.DTypeLike) -> Circuit:
        """The same circuit with its weights rounded to `dtype`, on the host."""
        rounded: Circuit = jax.tree.map(lambda leaf: np.asarray(leaf).astype(dtype), self)
        return rounded


def single(expert: Expert) -> Circuit:
    """A circuit of one expert that reads the variables in order: what training makes."""
    wires = (tuple(range(expert.terms)),)
    return Circuit((expert,), np.ones(1, expert.readout.dtype), wires, expert.terms)


def check_circuit(circuit: Circuit) -> Circuit:
    """`circuit` itself if its shapes and wires fit together; an `InputError` otherwise."""
    if not circuit.experts or len(circuit.experts) != len(circuit.wires) or circuit.variables < 1:
        raise InputError("a circuit needs at least one expert and variable, and one group of wires for each expert")
    if circuit.betas.shape != (len(circuit.experts),):
        raise InputError(f"{len(circuit.experts)} experts need as many betas, got shape {circuit.betas.shape}")
    for k, (expert, wires) in enumerate(zip(circuit.experts, circuit.wires, strict=True)):
        if expert.embed.ndim != 3 or expert.readout.ndim != 2 or expert.power < 1:
            raise InputError(f"expert {k} needs an embed of 3 axes, a readout of 2 and a power of at least 1")
        if expert.readout.shape[0] != expert.width or len(wires) != expert.terms:
            raise InputError(f"expert {k} has {expert.terms} terms, {len(wires)} wires and a readout that must fit")
        for wire in wires:
            if not 0 <= wire < circuit.variables + k:
                raise InputError(f"expert {k} reads wire {wire}; it may read 0 … {circuit.variables + k - 1}")
            if wire >= circuit.variables:
                source = circuit.experts[wire - circuit.variables]
                if source.readout.shape[1] > expert.embed.shape[1]:
                    raise InputError(
                        f"expert {k} reads {expert.embed.shape[1]} symbols, but its source puts out "
                        f"{source.readout.shape[1]}"
                    )
    return circuit


def hidden_neurons(expert: Expert, inputs: Sequence[Any]) -> Float[Weights, "width"]:
    """What the neurons of one expert add up on one row, before their activation.

    An input is a residue, whose column of `embed` is gathered, or a distribution over residues, whose columns
    are mixed; a one-hot distribution gives what the residue gives.
    """
    columns = [expert.embed[s][x] if jnp.ndim(x) == 0 else x @ expert.embed[s][: len(x)] for s, x in enumerate(inputs)]
    return sum(columns[1:], start=columns[0])


def expert_logits(expert: Expert, inputs: Sequence[Any]) -> Float[Weights, "class"]:
    """One expert on one row."""
    return hidden_neurons(expert, inputs) ** expert.power @ expert.readout


def wire_signals(circuit: Circuit, row: Int[Weights, "variable"]) -> list[Any]:
    """What every wire carries on one row: residues, then a distribution for each expert, and last the logits."""
    signals: list[Any] = [row[v] for v in range(circuit.variables)]
    for k, (expert, wires) in enumerate(zip(circuit.experts, circuit.wires, strict=True)):
        output = expert_logits(expert, [signals[w] for w in wires])
        last = k + 1 == len(circuit.experts)
        signals.append(output if last else jax.nn.softmax(circuit.betas[k] * output))
    return signals


def logits(circuit: Circuit, row: Int[Array, "variable"]) -> Float[Array, "class"]:
    """The circuit on one row of residues; batch it with `jax.vmap`."""
    output: Array = wire_signals(circuit, row)[-1]
    return output


@jax.jit
def batch_logits(circuit: Circuit, rows: Int[Array, "row variable"]) -> Float[Array, "row class"]:
    """The circuit on many rows, in the precision of its weights (no reduced-precision matrix units)."""
    with jax.default_matmul_precision("highest"):
        return jax.vmap(logits, in_axes=(None, 0))(circuit, rows)


def row_margins(logits: Float[np.ndarray, "row class"], labels: Int[np.ndarray, "row"]) -> Float[np.ndarray, "row"]:
    """Correct logit less the best wrong one; the logits are overwritten."""
    places = np.arange(len(labels))
    right = logits[places, labels].copy()
    logits[places, labels] = -np.inf
    with np.errstate(invalid="ignore"):  # infinite logits have no margin
        return np.asarray(right - logits.max(axis=1))
