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

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields, replace
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jaxtyping import PyTree, Shaped

from modgrok.algebra.cells import UNKNOWN
from modgrok.algebra.expression import parse_any
from modgrok.algebra.field import check_modulus
from modgrok.algebra.function import Function, from_expression
from modgrok.algebra.polynomial import LARGEST_TABLE
from modgrok.algebra.stored_functions import function_from
from modgrok.base.errors import InputError
from modgrok.base.files import regular_file
from modgrok.base.stores import (
    ABOUT,
    MISFITS,
    DamagedError,
    finite_number,
    of_kind,
    open_tensors,
    whole_list,
    whole_number,
)
from modgrok.networks.circuit import Circuit, Expert, check_circuit
from modgrok.networks.description import ExpertPlan, expert_plan_from
from modgrok.networks.models import MODELS, CircuitModel, Model, Statistics
from modgrok.networks.models.circuit_model import ExpertSizes
from modgrok.networks.network import CLAIMED_TABLES, FORMAT, FUNCTION, OWN_ANSWERS, Network, leaf_name
from modgrok.proofs.waves import Claim

WEIGHTS = "weights.safetensors"
"""The network in the folder of a run."""
LONGEST_NAME = 300
"""Of a table and of its variables: what is shown of a stranger's file."""
PLAIN_NAME = re.compile(
    r"[^\W\d]\w*|table ([0-9a-f]{6}|'[^']*')|function [0-9a-f]{6}|.*\.(csv|npy|parquet)", re.IGNORECASE
)
"""Of a table: that of a Python function, of a file, or one that says that it is a table."""
FILE_SAYS = "its file says: "
"""Stands before the notes of a file, which may say anything."""

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
    check_no_table(path)
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
            return with_plain_plan(network)
    except DamagedError as error:
        raise DamagedError(f"{error}; `modgrok compile … --out FILE` makes a network") from None
    except InputError as error:
        raise InputError(f"{path} cannot be used: {str(error).splitlines()[0]}") from None
    except OverflowError:
        raise InputError(f"{path} cannot be used: a number in it is out of all bounds") from None
    except FileNotFoundError:
        raise InputError(no_such_network(path)) from None


def no_such_network(path: Path) -> str:
    return (
        f"no such network: {path}; give a file that `modgrok compile … --out net.safetensors` wrote, or a run's folder"
    )


def check_no_table(path: Path) -> None:
    """Refuse a table of values where a network is meant."""
    if path.suffix.lower() in (".csv", ".parquet") and path.exists():
        raise InputError(
            f"{path} is a table of values and no network; give the folder of a run, or a file of weights: "
            f"`modgrok compile {path} --out net.safetensors` makes one, and `modgrok train {path}` trains one"
        )


def is_own_file(path: Path) -> bool:
    """Whether a file, of whatever name, says that modgrok wrote it; one of other people's has tensors alone."""
    from safetensors import SafetensorError, safe_open

    try:
        with regular_file(path), safe_open(path, framework="numpy") as file:
            return ABOUT in (file.metadata() or {})
    except (OSError, SafetensorError, *MISFITS):
        return False


# --------------------------------------------------------------------------------------------- format 2


def read_format_2(about: Mapping[str, Any], tensor: Tensors) -> Network:
    model = model_from(about["model"])
    layers = range(whole_number(about.get("statistics", 0), "statistics"))
    return Network(
        model,
        read_weights(model, tensor, leaf_name),
        stored_function(about, tensor),
        str(about["method"]),
        tuple(expert_plan_from(step) for step in about["plan"]),
        notes_of(about["notes"]),
        dict(about["settings"]),
        tuple(Statistics(tensor(f"statistics.{k}.mean"), tensor(f"statistics.{k}.variance")) for k in layers),
        claimed=claims_proof(about.get("claimed"), about.get("certificate")),
        claims=tuple(claim_from(k, claim, tensor) for k, claim in enumerate(about.get("claims") or ())),
    )


def claims_proof(claimed: object, certificate: object) -> bool:
    """Whether a file says that its network is proved; version 0.2 wrote a certificate."""
    return claimed is True or isinstance(certificate, Mapping)


def claim_from(number: int, stored: Mapping[str, Any], tensor: Tensors) -> Claim:
    """A hint about an expert; the kernel checks it against the weights, here it only gets its types."""
    places, outputs = (of_whole_numbers(tensor(f"claims.{number}.{name}"), name) for name in CLAIMED_TABLES)
    absorbed = stored["absorbed"]
    return Claim(
        whole_number(stored["order"], "order"),
        places,
        outputs,
        None if absorbed is None else whole_number(absorbed, "absorbed"),
        whole_list(stored["frequencies"], "frequencies"),
        str(stored["rule"]),
        tuple(map(str, stored["forms"])),
        str(stored["result"]),
        whole_number(stored["generator"], "generator"),
    )


def of_whole_numbers(table: Shaped[np.ndarray, "..."], what: str) -> Shaped[np.ndarray, "..."]:
    if table.dtype.kind != "i" or not table.size:
        raise InputError(f"{what} must be a tensor of whole numbers, got {table.size} of {table.dtype}")
    return table.astype(np.int64)


def stored_function(about: Mapping[str, Any], tensor: Tensors) -> Function:
    """What the network was made for: an expression, or a table."""
    if FUNCTION not in about:
        return from_expression(str(about["expression"]), check_modulus(about["modulus"]))
    named = about[FUNCTION]
    table = of_whole_numbers(tensor(FUNCTION), "its table")
    if table.min() < UNKNOWN:
        raise InputError(f"its table must have values of at least 0, {UNKNOWN} where unknown, got {table.min()}")
    name, variables_ = str(named["name"]), tuple(map(str, named["variables"]))
    if not all(text.isprintable() and len(text) <= LONGEST_NAME for text in (name, *variables_)):
        raise InputError(f"names of its table must be printable, and have at most {LONGEST_NAME} characters")
    name = name if "written" in named else called_a_table(name)
    return function_from(named, table, check_modulus(about["modulus"]), name, variables_, "its table")


def called_a_table(name: str) -> str:
    """The name of a table in a file, quoted if it could be taken for an expression, which nobody has compared."""
    if name == OWN_ANSWERS or (PLAIN_NAME.fullmatch(name) and not is_readable(name)):
        return name
    return f"table {name!r}"


def is_readable(name: str) -> bool:
    """Whether it is an expression: xy and n1n2 are words, and products."""
    try:
        parse_any(name)
    except InputError:
        return False
    return True


def notes_of(notes: Sequence[object]) -> tuple[str, ...]:
    """Notes of a file, as what they are."""
    return tuple(FILE_SAYS + str(note).removeprefix(FILE_SAYS) for note in notes)


def read_weights(model: Model, tensor: Tensors, name_of: Callable[[tuple[Any, ...]], str]) -> PyTree:
    """The weights of a model, each of its shape; `name_of` says by which name a file has the leaf of a path."""

    def checked(path: tuple[Any, ...], leaf: jax.ShapeDtypeStruct) -> Shaped[np.ndarray, "..."]:
        name, found = name_of(path), tensor(name_of(path))
        if found.shape != leaf.shape:
            raise InputError(f"{name} must have shape {leaf.shape}, got {found.shape}")
        return found

    return jax.tree_util.tree_map_with_path(checked, model.skeleton())


def model_from(stored: Mapping[str, Any]) -> Model:
    """The model that a file names, with its sizes."""
    kind = MODELS.get(stored["name"])
    if kind is None:
        known = ", ".join(MODELS)
        raise InputError(f"its model is {stored['name']!r}; this modgrok has {known}; mg.register gives it others")
    settings = {  # a file of an earlier version lacks what its model did not have then
        field.name: setting(field.name, type_name(field.type), stored[field.name])
        for field in fields(kind)
        if field.name in stored or field.default is MISSING or field.name in ("residues", "classes")
    }
    if kind is CircuitModel:
        settings["experts"] = tuple(ExpertSizes(*sizes) for sizes in settings["experts"])
        check_terms(settings["experts"], settings["wires"])
    read = (*settings["residues"], *(expert.residues for expert in settings.get("experts", ())))
    if max(read, default=0) > LARGEST_TABLE:
        raise InputError(f"it reads {max(read):,} residues, above the limit of {LARGEST_TABLE:,}")
    return kind(**settings)


def type_name(kind: object) -> str:
    """The type of a field as text, which it is not in a class that was written in a notebook."""
    return kind.__name__ if isinstance(kind, type) else str(kind)


def setting(name: str, kind: str, stored: Any) -> Any:
    """A setting of a model, if the file has it in the type that the model declares; lists are the tuples they were."""
    if stored is None and kind.endswith("| None"):
        return None
    if kind == "str":
        return of_kind(stored, name, str)
    if kind == "bool":
        return of_kind(stored, name, bool)
    if kind == "float":
        return finite_number(stored, name)
    return whole_number(stored, name) if kind.startswith("int") else frozen(stored, name)


def frozen(stored: Any, name: str) -> tuple[Any, ...]:
    """Lists of whole numbers, and lists of such lists, as the tuples they were."""
    lists = of_kind(stored, name, list)
    return tuple(frozen(x, name) if isinstance(x, list) else whole_number(x, f"each of {name}") for x in lists)


def check_terms(experts: Sequence[ExpertSizes], wires: Sequence[Sequence[int]]) -> None:
    """An expert reads a wire for each of its terms; a file that says otherwise may say any number of them."""
    for number, (expert, read) in enumerate(zip(experts, wires, strict=False)):
        if expert.terms != len(read):
            raise InputError(f"expert {number} has {expert.terms:,} terms and {len(read):,} wires")


# --------------------------------------------------------------------------------------------- format 1


def read_format_1(about: Mapping[str, Any], tensor: Tensors) -> Network:
    """A file of modgrok 0.1: a circuit, or the weights of a trained MLP or transformer with its settings."""
    if "model" in about:
        return read_trained_1(about, tensor)
    experts = tuple(
        Expert(tensor(f"expert.{k}.embed"), tensor(f"expert.{k}.readout"), whole_number(power, "power"))
        for k, power in enumerate(about["powers"])
    )
    wires = tuple(whole_list(group, "wires") for group in about["wires"])
    circuit = check_circuit(Circuit(experts, tensor("betas"), wires, whole_number(about["variables"], "variables")))
    settings = dict(about["settings"])
    certificate, notes = settings.pop("certificate", None), settings.pop("notes", [])
    return Network.of_circuit(
        circuit,
        from_expression(str(about["expression"]), check_modulus(about["modulus"])),
        str(about["method"]),
        plan=tuple(expert_plan_1(step) for step in about["plan"]),
        claimed=claims_proof(None, certificate),
        notes=notes_of(notes),
        settings=settings,
    )


def expert_plan_1(step: Mapping[str, Any]) -> ExpertPlan:
    """A plan of format 1 as one of format 2 has it."""
    task, same = (
        step.get("task"),
        ("kind", "inputs", "width", "absorbing", "frequencies", "margin", "beta", "own_accuracy"),
    )
    learned = {"task": task, "fraction": step.get("train_fraction"), "task_accuracy": step.get("task_accuracy")}
    return expert_plan_from(
        {name: step[name] for name in same if name in step}
        | {"text": step.get("text", ""), "group_order": step.get("order"), "learned": None if task is None else learned}
    )


def read_trained_1(about: Mapping[str, Any], tensor: Tensors) -> Network:
    settings = dict(about["settings"])
    if settings.get("norm") == "batch":
        raise InputError("it was trained with batch normalisation, whose statistics format 1 did not keep; train again")
    function, kind = from_expression(settings["expression"], settings["modulus"]), MODELS[about["model"]]
    declared = {field.name: type_name(field.type) for field in fields(kind)}
    chosen = {name: setting(name, declared[name], settings[name]) for name in kind.settings() if name in settings}
    model = kind(function.sizes, function.values, **chosen)
    params = read_weights(model, tensor, lambda path: jax.tree_util.keystr(path).lstrip("."))
    return Network(model, params, function, "trained", settings=settings)


READERS = {1: read_format_1, 2: read_format_2}


def check_network(network: Network) -> Network:
    """`network` itself if its model can compute its expression; an `InputError` otherwise."""
    check_words(network)
    expected = len(network.variables)
    reading = network.params.variables if isinstance(network.params, Circuit) else network.model.variables
    if {network.model.variables, reading} != {expected}:
        raise InputError(f"the expression has {expected} variables and the network {reading}")
    for leaf in jax.tree.leaves(network.params):
        if leaf.dtype not in (np.float32, np.float64):
            raise InputError(f"weights must be float32 or float64, got {leaf.dtype}")
    sizes, table = network.function.sizes, network.function.tree is None
    if network.model.residues != sizes or network.model.classes != network.modulus:
        raise InputError(
            f"the network reads {network.model.residues} residues and has {network.model.classes} classes, "
            f"{network.title if table else f'the modulus is {network.modulus}'}"
        )
    if network.is_circuit:
        circuit = check_circuit(network.circuit)
        for expert, wires in zip(circuit.experts, circuit.wires, strict=True):
            residues = expert.embed.shape[1]
            read = [sizes[wire] for wire in wires if wire < circuit.variables]
            if residues < max(read, default=0):
                raise InputError(f"an expert reads variables modulo {residues}, the network is modulo {max(read)}")
    return network


METHODS = ("exact", "lookup", "paper", "mix", "trained", "snapped", "wrapped", "twin")
KINDS = ("sum", "product", "relabel", "squares", "remainders", "separable", "group", "lookup", "pairs", "trained")


def check_words(network: Network) -> None:
    """What is shown of a network stands in lists: its file says what it holds, and not how good that is."""
    if network.method not in METHODS:
        raise InputError(f"its method must be one of {', '.join(METHODS)}")
    if any(step.kind not in KINDS or type(step.width) is not int for step in network.plan):
        raise InputError(f"an expert of its plan must be one of {', '.join(KINDS)}, with a number of neurons")


def with_plain_plan(network: Network) -> Network:
    """The network with a plan whose texts are formulas and names of its own: others could say anything."""
    names = {*network.variables, *(f"e{k}" for k in range(1, len(network.plan) + 1))}
    plan = tuple(
        replace(step, text=network.formula(step), inputs=tuple(name if name in names else "…" for name in step.inputs))
        for step in network.plan
    )
    return replace(network, plan=plan)
