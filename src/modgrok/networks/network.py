"""A circuit together with what it computes: the object that compile and train make, and every verb takes.

On disk it is one safetensors file: the weights as tensors (`expert.0.embed`, `expert.0.readout`, …, `betas`)
and one JSON object under the metadata key `modgrok` with everything else, so that any tool that reads
safetensors can open it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from modgrok.algebra.expression import parse, variable_names, variables
from modgrok.algebra.field import check_modulus
from modgrok.errors import InputError
from modgrok.files import whole_file
from modgrok.networks.circuit import Circuit, Expert, check_circuit

FORMAT = 1


@dataclass(frozen=True)
class Network:
    """`circuit` computes `expression` modulo `modulus`; `plan` says what each expert is for.

    `plan` has one mapping per expert, with at least `kind`, `inputs` (names of wires) and `width`; `settings`
    holds what the network was made with (seed, widths, learning rate, …), as plain JSON values.
    """

    circuit: Circuit
    expression: str
    modulus: int
    method: str
    plan: tuple[Mapping[str, Any], ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def variables(self) -> list[str]:
        """Names of the inputs, in the order in which the circuit reads them."""
        return variable_names(parse(self.expression))

    def save(self, path: str | Path) -> None:
        """Write the network to `path`, whole or not at all."""
        tensors = {"betas": np.asarray(self.circuit.betas)}
        for k, expert in enumerate(self.circuit.experts):
            tensors[f"expert.{k}.embed"] = np.ascontiguousarray(expert.embed)
            tensors[f"expert.{k}.readout"] = np.ascontiguousarray(expert.readout)
        about = {
            "format": FORMAT,
            "expression": self.expression,
            "modulus": self.modulus,
            "method": self.method,
            "variables": self.circuit.variables,
            "wires": self.circuit.wires,
            "powers": [expert.power for expert in self.circuit.experts],
            "plan": [dict(step) for step in self.plan],
            "settings": dict(self.settings),
        }
        with whole_file(path) as temporary:
            save_file(tensors, temporary, metadata={"modgrok": json.dumps(about, allow_nan=False)})


def load(path: str | Path) -> Network:
    """The network in `path`; an `InputError` if the file is missing, damaged, or holds something else."""
    path = Path(path)
    if path.is_dir():
        path = path / "weights.safetensors"
    try:
        with safe_open(path, framework="numpy") as file:
            about = json.loads((file.metadata() or {})["modgrok"])
            if "model" in about:
                raise InputError(
                    f"{path} holds a trained {about['model']}, which is no two-layer power network; only these can be "
                    "verified, inspected or exported: train one with --model power"
                )
            if about["format"] != FORMAT:
                raise InputError(f"{path} has format {about['format']}; this modgrok reads {FORMAT}: upgrade modgrok")
            experts = tuple(
                Expert(file.get_tensor(f"expert.{k}.embed"), file.get_tensor(f"expert.{k}.readout"), int(power))
                for k, power in enumerate(about["powers"])
            )
            wires = tuple(tuple(int(wire) for wire in group) for group in about["wires"])
            circuit = check_circuit(Circuit(experts, file.get_tensor("betas"), wires, int(about["variables"])))
        return check_network(
            Network(
                circuit,
                str(about["expression"]),
                check_modulus(about["modulus"]),
                str(about["method"]),
                tuple(dict(step) for step in about["plan"]),
                dict(about["settings"]),
            )
        )
    except InputError as error:
        raise InputError(f"{path} cannot be used: {str(error).splitlines()[0]}") from None
    except FileNotFoundError:
        raise InputError(f"no such network: {path}; `modgrok compile … --out {path}` makes one") from None
    except (OSError, SafetensorError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(
            f"{path} is not a modgrok network, or was cut short ({type(error).__name__}: {error}); "
            "`modgrok compile … --out FILE` makes one"
        ) from None


def check_network(network: Network) -> Network:
    """`network` itself if its circuit can compute its expression; an `InputError` otherwise."""
    circuit, expected = network.circuit, len(variables(parse(network.expression)))
    if circuit.variables != expected:
        raise InputError(f"the expression has {expected} variables and the circuit {circuit.variables}")
    for expert, wires in zip(circuit.experts, circuit.wires):
        for weights in (expert.embed, expert.readout, circuit.betas):
            if weights.dtype not in (np.float32, np.float64):
                raise InputError(f"weights must be float32 or float64, got {weights.dtype}")
        residues = expert.embed.shape[1]
        if residues != network.modulus and any(wire < circuit.variables for wire in wires):
            raise InputError(f"an expert reads variables modulo {residues}, the network is modulo {network.modulus}")
    if circuit.classes != network.modulus:
        raise InputError(f"the circuit has {circuit.classes} classes, the modulus is {network.modulus}")
    return network
