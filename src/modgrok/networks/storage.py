"""Reading networks: one safetensors file that any tool can open, weights as tensors, the rest as one JSON object.

Tensors have the names of the weights (`experts.0.embed`, `betas`; `embed`, `readout`; `layers.0.query`, …), those of
batch normalisation `statistics.0.mean`, …. The metadata key `modgrok` holds the JSON object: `format` (2), `model` (its
name and sizes), `expression`, `modulus`, `method`, `plan`, `notes`, `settings` and `claimed`, whether its maker had
it proved, which proves nothing here. A network that was made for a table has it as the tensor `function`, and its
name and variables under the key `function`. One that is too large to be counted out has `claims`, hints for the
kernel about each expert.

Loading checks that shapes, wires, modulus and expression fit together: JAX clamps indices that are out of range, so a
file that does not fit would give wrong answers and no error. Files of format 1 are read as well.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jaxtyping import Shaped

from modgrok.algebra.expression import parse, variables
from modgrok.algebra.field import check_modulus
from modgrok.algebra.function import Function, from_table
from modgrok.algebra.table_files import UNKNOWN
from modgrok.errors import InputError
from modgrok.networks.circuit import Circuit, Expert, check_circuit
from modgrok.networks.description import ExpertPlan, Learned, expert_plan_from
from modgrok.networks.models import MODELS, CircuitModel, Model, Statistics
from modgrok.networks.models.circuit_model import ExpertSizes
from modgrok.networks.network import CLAIMED_TABLES, FORMAT, FUNCTION, Network, leaf_name
from modgrok.proofs.waves import Claim
from modgrok.stores import DamagedError, open_tensors

WEIGHTS = "weights.safetensors"
"""The network in the folder of a run."""
LONGEST_NAME = 300
"""Of a table and of its variables: what is shown of a stranger's file."""

Tensors = Callable[[str], Shaped[np.ndarray, "..."]]
"""Gives the tensor of a name."""


def load(path: str | Path) -> Network:
    """The network in a file, or in the folder of a run; an `InputError` if it is missing, damaged, or something else.

    Args:
        path: a .safetensors file that `Network.save` wrote, or a run folder.

    Returns:
        The network, whatever its model; `network(rows)` computes.
    """
    path = Path(path)
    if path.is_dir() and not (path / WEIGHTS).exists():
        raise InputError(
            f"the folder {path} is no run, it has no {WEIGHTS}; `modgrok runs {path}` lists the runs in it"
        )
    path = path / WEIGHTS if path.is_dir() else path
    try:
        with open_tensors(path, "a modgrok network") as file:
            about = file.about
            if about.get("format", 1) not in READERS:
                raise InputError(f"it has format {about['format']}; this modgrok reads {FORMAT}: upgrade modgrok")
            used: set[str] = set()

            def tensor(name: str) -> Shaped[np.ndarray, "..."]:
                used.add(name)
                return file(name)

            network = check_network(READERS[about.get("format", 1)](about, tensor))
            if unused := sorted(file.names - used):
                raise InputError(f"it holds weights that its {network.model.name} has no place for: {unused[0]}")
            return network
    except DamagedError as error:
        raise DamagedError(f"{error}; `modgrok compile … --out FILE` makes a network") from None
    except InputError as error:
        raise InputError(f"{path} cannot be used: {str(error).splitlines()[0]}") from None
    except OverflowError:
        raise InputError(f"{path} cannot be used: a number in it is out of all bounds") from None
    except FileNotFoundError:
        raise InputError(f"no such network: {path}; `modgrok compile … --out {path}` makes one") from None


# --------------------------------------------------------------------------------------------- format 2


def read_format_2(about: Mapping[str, Any], tensor: Tensors) -> Network:
    model = model_from(about["model"])
    names = named_paths(model.skeleton())
    leaves = [checked_leaf(name, tensor(name), shape) for name, shape in names.items()]
    params = jax.tree.unflatten(jax.tree.structure(model.skeleton()), leaves)
    layers = range(whole(about.get("statistics", 0)))
    return Network(
        model,
        params,
        str(about["expression"]),
        check_modulus(about["modulus"]),
        str(about["method"]),
        tuple(expert_plan_from(step) for step in about["plan"]),
        tuple(map(str, about["notes"])),
        dict(about["settings"]),
        tuple(Statistics(tensor(f"statistics.{k}.mean"), tensor(f"statistics.{k}.variance")) for k in layers),
        stored_function(about, tensor) if FUNCTION in about else None,
        claimed=claims_proof(about.get("claimed"), about.get("certificate")),
        claims=tuple(claim_from(k, claim, tensor) for k, claim in enumerate(about.get("claims") or ())),
    )


def claims_proof(claimed: Any, certificate: Any) -> bool:
    """Whether a file says that its network is proved; version 0.2 wrote a certificate."""
    return claimed is True or isinstance(certificate, Mapping)


def claim_from(number: int, stored: Mapping[str, Any], tensor: Tensors) -> Claim:
    """A hint about an expert; the kernel checks it against the weights, here it only gets its types."""
    places, outputs = (of_whole_numbers(tensor(f"claims.{number}.{name}"), name) for name in CLAIMED_TABLES)
    absorbed = stored["absorbed"]
    return Claim(
        whole(stored["order"]),
        places,
        outputs,
        None if absorbed is None else whole(absorbed),
        tuple(map(whole, stored["frequencies"])),
        str(stored["rule"]),
        tuple(map(str, stored["forms"])),
        str(stored["result"]),
        whole(stored["generator"]),
    )


def of_whole_numbers(table: Shaped[np.ndarray, "..."], what: str) -> Shaped[np.ndarray, "..."]:
    if table.dtype.kind != "i" or not table.size:
        raise InputError(f"{what} must be a tensor of whole numbers, got {table.size} of {table.dtype}")
    return table.astype(np.int64)


def whole(value: Any) -> int:
    if type(value) is not int or not -(2**31) <= value < 2**31:
        raise InputError(f"a whole number is needed, got {value!r:.40}")
    return value


def stored_function(about: Mapping[str, Any], tensor: Tensors) -> Function:
    """The table that the network was made for."""
    named = about[FUNCTION]
    table = of_whole_numbers(tensor(FUNCTION), "its table")
    if table.min() < UNKNOWN:
        raise InputError(f"its table must have values of at least 0, {UNKNOWN} where unknown, got {table.min()}")
    name, variables_ = str(named["name"]), tuple(map(str, named["variables"]))
    if not all(text.isprintable() and len(text) <= LONGEST_NAME for text in (name, *variables_)):
        raise InputError(f"names of its table must be printable, and have at most {LONGEST_NAME} characters")
    return from_table(table, about["modulus"], name, variables_, "its table")


def named_paths(skeleton: Any) -> dict[str, tuple[int, ...]]:
    leaves, _ = jax.tree_util.tree_flatten_with_path(skeleton)
    return {leaf_name(path): leaf.shape for path, leaf in leaves}


def checked_leaf(name: str, found: Shaped[np.ndarray, "..."], shape: tuple[int, ...]) -> Shaped[np.ndarray, "..."]:
    if found.shape != shape:
        raise InputError(f"{name} must have shape {shape}, got {found.shape}")
    return found


def model_from(stored: Mapping[str, Any]) -> Model:
    """The model that a file names, with its sizes."""
    kind = MODELS.get(stored["name"])
    if kind is None:
        raise InputError(f"its model is {stored['name']!r}; this modgrok has {', '.join(MODELS)}")
    settings = {field.name: setting(field.name, str(field.type), stored[field.name]) for field in fields(kind)}
    if kind is CircuitModel:
        settings["experts"] = tuple(ExpertSizes(*map(whole, sizes)) for sizes in stored["experts"])
        settings["wires"] = tuple(tuple(map(whole, group)) for group in stored["wires"])
    return kind(**settings)


def setting(name: str, kind: str, value: Any) -> Any:
    """A setting of a model, if it is what its field is annotated with; lists of a JSON file as the tuples they were."""
    numbers = value if isinstance(value, list) else [value]
    if kind in WHOLE and not (isinstance(value, list) == (kind == "tuple[int, ...]") and all(map(is_size, numbers))):
        if not (value is None and kind == "int | None"):
            raise InputError(f"{name} of its model must be whole numbers of at least 1, got {value!r}")
    elif kind == "float" and not (type(value) in (int, float) and 0 <= value < 1):
        raise InputError(f"{name} of its model must be a number from 0 to 1, got {value!r}")
    return tuple(value) if isinstance(value, list) else value


WHOLE = ("int", "int | None", "tuple[int, ...]")


def is_size(value: Any) -> bool:
    return type(value) is int and 1 <= value < 2**31


# --------------------------------------------------------------------------------------------- format 1


def read_format_1(about: Mapping[str, Any], tensor: Tensors) -> Network:
    """A file of modgrok 0.1: a circuit, or the weights of a trained MLP or transformer with its settings."""
    if "model" in about:
        return read_trained_1(about, tensor)
    experts = tuple(
        Expert(tensor(f"expert.{k}.embed"), tensor(f"expert.{k}.readout"), int(power))
        for k, power in enumerate(about["powers"])
    )
    wires = tuple(tuple(int(wire) for wire in group) for group in about["wires"])
    circuit = check_circuit(Circuit(experts, tensor("betas"), wires, int(about["variables"])))
    settings = dict(about["settings"])
    certificate, notes = settings.pop("certificate", None), settings.pop("notes", [])
    return Network.of_circuit(
        circuit,
        str(about["expression"]),
        check_modulus(about["modulus"]),
        str(about["method"]),
        plan=tuple(expert_plan_1(step) for step in about["plan"]),
        claimed=claims_proof(None, certificate),
        notes=tuple(notes),
        settings=settings,
    )


def expert_plan_1(step: Mapping[str, Any]) -> ExpertPlan:
    task = step.get("task")
    frequencies = step.get("frequencies")
    return ExpertPlan(
        kind=step["kind"],
        text=step.get("text", ""),
        inputs=tuple(step["inputs"]),
        width=step["width"],
        group_order=step.get("order"),
        absorbing=step.get("absorbing", False),
        frequencies=None if frequencies is None else tuple(frequencies),
        margin=step.get("margin"),
        beta=step.get("beta"),
        own_accuracy=step.get("own_accuracy"),
        learned=None if task is None else Learned(task, step["train_fraction"], step["task_accuracy"]),
    )


def read_trained_1(about: Mapping[str, Any], tensor: Tensors) -> Network:
    settings = dict(about["settings"])
    if settings.get("norm") == "batch":
        raise InputError("it was trained with batch normalisation, whose statistics format 1 did not keep; train again")
    modulus = check_modulus(settings["modulus"])
    kind, inputs = MODELS[about["model"]], len(variables(parse(settings["expression"], modulus)))
    chosen = {name: settings[name] for name in kind.settings()}
    model = kind((modulus,) * inputs, modulus, **chosen)
    leaves, structure = jax.tree_util.tree_flatten_with_path(model.skeleton())
    found = [checked_leaf(name, tensor(name), leaf.shape) for name, leaf in ((name_1(p), leaf) for p, leaf in leaves)]
    params = jax.tree.unflatten(structure, found)
    return Network(model, params, settings["expression"], modulus, "trained", settings=settings)


def name_1(path: tuple[Any, ...]) -> str:
    return jax.tree_util.keystr(path).lstrip(".")


READERS = {1: read_format_1, 2: read_format_2}


def check_network(network: Network) -> Network:
    """`network` itself if its model can compute its expression; an `InputError` otherwise."""
    check_words(network)
    expected = len(network.variables)
    if network.model.variables != expected:
        raise InputError(f"the expression has {expected} variables and the network {network.model.variables}")
    for leaf in jax.tree.leaves(network.params):
        if leaf.dtype not in (np.float32, np.float64):
            raise InputError(f"weights must be float32 or float64, got {leaf.dtype}")
    sizes = (network.modulus,) * expected if network.function is None else network.function.sizes
    if network.model.residues != sizes or network.model.classes != network.modulus:
        raise InputError(
            f"the network reads {network.model.residues} residues and has {network.model.classes} classes, "
            f"{f'the modulus is {network.modulus}' if network.function is None else network.function.title}"
        )
    if isinstance(network.params, (Circuit, Expert)):
        circuit = check_circuit(network.circuit)
        for expert, wires in zip(circuit.experts, circuit.wires, strict=True):
            residues = expert.embed.shape[1]
            read = [sizes[wire] for wire in wires if wire < circuit.variables]
            if residues < max(read, default=0):
                raise InputError(f"an expert reads variables modulo {residues}, the network is modulo {max(read)}")
    return network


METHODS = ("exact", "paper", "mix", "trained", "snapped")
KINDS = ("sum", "product", "relabel", "squares", "remainders", "separable", "trained")


def check_words(network: Network) -> None:
    """What is shown of a network stands in lists: its file says what it holds, and not how good that is."""
    if network.method not in METHODS:
        raise InputError(f"its method must be one of {', '.join(METHODS)}")
    if any(step.kind not in KINDS or type(step.width) is not int for step in network.plan):
        raise InputError(f"an expert of its plan must be one of {', '.join(KINDS)}, with a number of neurons")
