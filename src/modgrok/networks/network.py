"""A model with its weights and what it computes: the object that compile, train and mix make, and every verb takes.

    network(rows)            logits of rows of residues; also of a single row
    network.predict(rows)    the values it answers
    network.table()          its answers on the whole table, one axis for each variable

What a model cannot do is refused with a sentence: an MLP has no circuit of experts, and so no phase law.
`Network.save` writes one safetensors file; `networks.storage` says what is in it and reads it again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial
from math import prod
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

import jax
import numpy as np
from jaxtyping import Array, Float, Int, Integer, PyTree, Shaped

from modgrok.algebra.function import Function
from modgrok.algebra.stored_functions import words_kept
from modgrok.base.deprecation import Renamed
from modgrok.base.errors import InputError
from modgrok.base.files import write_text
from modgrok.base.fixed import is_fixed
from modgrok.base.results import Result, field_values, html_table, plain
from modgrok.base.stores import write_tensors
from modgrok.networks.circuit import Circuit, single
from modgrok.networks.description import ExpertPlan
from modgrok.networks.models import CircuitModel, Model, Power, Rows, Statistics
from modgrok.networks.models.base import check_statistics
from modgrok.networks.torch_source import import_module_file, torch_source
from modgrok.proofs.proof import Proof
from modgrok.proofs.waves import Claim

CHUNK_BYTES = 1 << 24
"""Memory that the activations of one chunk of rows may take: small enough to stay in the cache."""
FORMAT = 2
"""Of the files that `save` writes."""
FUNCTION = "function"
"""The tensor of the table that a network was made for, -1 in unknown cells."""
OWN_ANSWERS = "its own answers"
"""The function of a network of which nobody says what it computes, and whose answers are no formula that is known."""
LARGEST_TABLE = 1 << 27
"""Most rows of a table that a network is asked for at once."""

RowsLike: TypeAlias = Integer[Array, "..."] | Integer[np.ndarray, "..."] | Sequence[Any]
"""One residue for each variable in the last axis: a row, or any array of rows."""


@dataclass(frozen=True, eq=False, repr=False)
class Network(Result):
    """`model` with the weights `params` computes `function`.

    `method` says how it was made: exact, paper, mix, trained, snapped, or wrapped where others made it. `plan` tells
    what each expert of a circuit is for, `notes` what the compiler had to change, or how a file was read; `settings` is
    what the network was made with, as plain JSON values. `statistics` are those of batch normalisation, where a model
    has it.

    `proof` is what the kernel proved of these very weights in this process, and `unproved` says why it could not.
    `claimed` is whether the file that it came from says that it was proved, which proves nothing. `claims` are
    hints for the kernel, where a network is too large to be counted out. On `led` inputs a class leads that was left
    out of other people's logits, that of "=": there the network itself gives no value, and nothing is proved of it.
    """

    model: Model
    params: PyTree
    function: Function
    method: str
    plan: tuple[ExpertPlan, ...] = ()
    notes: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    statistics: tuple[Statistics, ...] = ()
    proof: Proof | None = None
    unproved: str = ""
    claimed: bool = False
    claims: tuple[Claim, ...] = ()
    led: int = 0
    snapshots: Mapping[int, Network] = field(default_factory=dict)
    """What it was at the steps of a training, where checkpoints were wrapped with it; its file does not keep them."""
    certificate = Renamed("proof", since="0.3", gone="0.4")

    def __post_init__(self) -> None:
        if self.proof is None:
            return
        stands = type(self) is Network and type(self.proof) is Proof and self.proof.about(self.subject, self.words)
        if self.led or not stands or not all(map(is_fixed, jax.tree.leaves(self.params))):
            object.__setattr__(self, "proof", None)

    def __reduce__(self) -> tuple[Any, ...]:
        """What another process gets, and a deep copy, has no proof: `verify` proves it again."""
        return type(self), tuple((field_values(self) | {"proof": None}).values())

    @classmethod
    def of_circuit(cls, circuit: Circuit, function: Function, method: str, **about: Any) -> Network:
        """A network whose weights are a circuit of experts."""
        return cls(CircuitModel.of(circuit, function.sizes), circuit, function, method, **about)

    # -------------------------------------------------------------------------------------- what it is

    @property
    def expression(self) -> str:
        """The expression that it was made for, as it was typed; the name of a table."""
        return self.function.source

    @property
    def modulus(self) -> int:
        """How many values its function has."""
        return self.function.values

    @property
    def variables(self) -> list[str]:
        """Names of the inputs, in the order in which the network reads them."""
        return list(self.function.variables)

    @property
    def title(self) -> str:
        """What it computes, in one phrase: 'n1 n2 mod 97', or 'mine.csv (30 × 40 → 17)'."""
        return self.function.titled(self.expression)

    @property
    def made(self) -> str:
        """How it was made, in a word: exact only where that is proved, since a file may say it of any weights."""
        proved = self.proof is not None and self.proof.holds
        return "compiled" if self.method == "exact" and not proved else self.method

    @property
    def answers_itself(self) -> bool:
        """Whether nobody says what is right: its function is what it answers, so it cannot be wrong."""
        return self.method == "wrapped" and self.expression == OWN_ANSWERS

    @property
    def words(self) -> tuple[Any, ...]:
        """What a proof of this network must be about, beside its weights: all that is said of its function."""
        function, structure = self.function, self.function.structure
        called = getattr(structure, "words_of_elements", ())
        values = function.digest if function.tree is None else function.tree
        return function.source, function.name, function.variables, function.sizes, structure, called, values

    @property
    def subject(self) -> tuple[Model, PyTree]:
        """The model and the weights that a proof of this network must be about."""
        return self.model, self.params

    @property
    def proof_text(self) -> str | None:
        """What is proved of it, or what its file says; None where nobody has asked."""
        if self.proof is not None:
            return self.proof.summary()
        if self.claimed:
            return "its file says that it is proved; `modgrok verify` checks"
        return f"not proved: {self.unproved}" if self.unproved else None

    @property
    def is_circuit(self) -> bool:
        """Whether it is a circuit of experts; a class that inherits from these may compute something else."""
        return type(self.model) in (Power, CircuitModel)

    @property
    def circuit(self) -> Circuit:
        """The network as a circuit of experts; an `InputError` for a model that is none."""
        if self.is_circuit:
            return self.params if isinstance(self.params, Circuit) else single(self.params)
        raise InputError(
            f"the model {self.model.name} is not a circuit of two-layer experts, which this needs; "
            "train one with model power, or compile one"
        )

    @property
    def width(self) -> int:
        """Hidden neurons in all; of a transformer, the dimension of its stream."""
        return self.model.width

    @property
    def parameters(self) -> int:
        """Weights in all; inverse temperatures do not count."""
        betas = len(self.params.experts) if isinstance(self.params, Circuit) else 0
        return sum(np.size(leaf) for leaf in jax.tree.leaves(self.params)) - betas

    @property
    def rows(self) -> int:
        """Rows of the whole table."""
        return prod(self.model.residues)

    def inputs(self) -> Int[np.ndarray, "row variable"]:
        """The inputs of every row of the table, in its order."""
        return np.indices(self.model.residues).reshape(len(self.model.residues), -1).T

    @property
    def known_rows(self) -> int:
        """Rows whose right answer is known: all of them, but for a table with unknown cells."""
        return self.function.known_cells

    @property
    def dtype(self) -> np.dtype:
        leaf: np.ndarray = jax.tree.leaves(self.params)[-1]
        return np.dtype(leaf.dtype)

    def summary(self) -> str:
        size = f", {self.width:,} {'neurons' if self.is_circuit else 'wide'}" if self.width else ""
        return f"{self.title}, {self.made} {self.model.name}{size}"

    def to_json(self) -> dict[str, Any]:
        """What the network is; its weights are in its file."""
        return {
            "expression": self.expression,
            "modulus": self.function.modulus,
            "variables": self.variables,
            "sizes": list(self.model.residues),
            "values": self.model.classes,
            "method": self.method,
            "model": self.model.name,
            "experts": plain(self.plan),
            "width": self.width,
            "parameters": self.parameters,
            "dtype": str(self.dtype),
            "proof": plain(self.proof),
            "unproved": self.unproved or None,
            "claimed": self.claimed,
            "notes": list(self.notes),
            "settings": plain(self.settings),
        }

    def _repr_html_(self) -> str:
        facts = {"model": f"{self.made} {self.model.name}", "neurons": f"{self.width:,}"}
        facts["weights"] = f"{self.parameters:,} ({self.dtype})"
        for k, expert in enumerate(self.plan, start=1):
            facts[f"expert {k}"] = f"{expert.kind} {self.formula(expert)} ({expert.width} neurons)"
        if self.proof_text is not None:
            facts["proof"] = self.proof_text
        return html_table(facts, self.title)

    def formula(self, expert: ExpertPlan) -> str:
        """What an expert computes; texts of a file that are no formula are not shown, as they may say anything."""
        written = self.function.tree is not None or self.function.written is not None
        known = FORMULAS | set(words_in(" ".join((self.expression, *self.variables))) if written else ())
        text = expert.text if isinstance(expert.text, str) and expert.text.isprintable() else "…"
        return text if text == self.expression or set(words_in(text)) <= known else "…"

    # -------------------------------------------------------------------------------------- what it computes

    def __call__(self, rows: RowsLike) -> Float[np.ndarray, "..."]:
        """Logits of rows of residues, shape (row, class); of one row, shape (class)."""
        return self.logits(rows)

    def logits(self, rows: RowsLike) -> Float[np.ndarray, "..."]:
        """Logits of rows of residues, in the precision of the weights; a single row gives a single vector.

        >>> from modgrok.compiler.compiling import compile
        >>> compile("n1 + n2", 5)([[3, 4], [1, 1]]).argmax(axis=-1).tolist()
        [2, 2]
        """
        checked = check_rows(self.model, rows)
        flat = checked.reshape(-1, self.model.variables)
        size = chunk_rows(self.model, max(1, len(flat)), self.dtype)
        with self.precision():
            parts = [
                np.asarray(model_logits(self.model, self.params, self.statistics, flat[first : first + size]))
                for first in range(0, len(flat), size)
            ]
        found = np.concatenate(parts) if parts else np.empty((0, self.model.classes), self.dtype)
        return found.reshape(*checked.shape[:-1], self.model.classes)

    def predict(self, rows: RowsLike) -> Int[np.ndarray, "..."] | np.int64:
        """The values that the network answers for rows of residues; the value, for a single row."""
        return np.asarray(self.logits(rows).argmax(axis=-1))

    def table(self) -> Int[np.ndarray, "..."]:
        """The network's answers on the whole table, one axis for each variable; in unknown cells, what it predicts."""
        if self.rows > LARGEST_TABLE:
            raise InputError(
                f"the table has {self.rows:,} rows, more than {LARGEST_TABLE:,}; ask for some rows instead"
            )
        size, shape = chunk_rows(self.model, self.rows, self.dtype), self.model.residues
        parts = [
            self.predict(np.stack(np.unravel_index(np.arange(first, min(first + size, self.rows)), shape), axis=1))
            for first in range(0, self.rows, size)
        ]
        return np.concatenate(parts).reshape(shape)

    def precision(self) -> AbstractContextManager[None]:
        """A context in which JAX computes in the precision of the weights."""
        context: AbstractContextManager[None] = jax.enable_x64(self.dtype == np.float64)
        return context

    def stored(self) -> tuple[dict[str, Any], dict[str, Shaped[np.ndarray, "..."]]]:
        """What a file of the network holds: one JSON object, and the weights by their names."""
        about = {
            "format": FORMAT,
            "model": {"name": self.model.name, **plain(field_values(self.model))},
            **{name: plain(getattr(self, name)) for name in ("expression", "modulus", "method", "plan")},
            **{name: plain(getattr(self, name)) for name in ("notes", "settings")},
            "certificate": None,  # what 0.2 wrote here was taken for a proof
            "claimed": self.claimed or (self.proof is not None and self.proof.holds),
            "claims": [
                {name: plain(value) for name, value in claim._asdict().items() if name not in CLAIMED_TABLES}
                for claim in self.claims
            ],
            "statistics": len(self.statistics),
        }
        tensors = self.weights()
        for k, claim in enumerate(self.claims):
            tensors |= {f"claims.{k}.{name}": getattr(claim, name).astype(np.int32) for name in CLAIMED_TABLES}
        if self.function.tree is None:
            named = {"name": self.function.name, "variables": list(self.function.variables)}
            about[FUNCTION] = named | words_kept(self.function)
            tensors[FUNCTION] = self.function.table.astype(np.int32)
        return about, tensors

    def weights(self) -> dict[str, Shaped[np.ndarray, "..."]]:
        """The weights as NumPy arrays by their names, those of the file; docs/your-network.md has names and shapes."""
        return named_leaves(self.params) | named_leaves({"statistics": self.statistics})

    def save(self, path: str | Path) -> Path:
        """Write the network to a safetensors file, whole or not at all; returns its path."""
        write_tensors(path, *self.stored())
        return Path(path)

    def write_torch(self, path: Path) -> list[Path]:
        """Write a Python module that computes this network in PyTorch, and the file of its weights beside it."""
        check_statistics(self.model, self.statistics)
        text = torch_source(self.model, self.params, title=self.title, variables=self.variables, stem=path.stem)
        weights = self.save(path.with_suffix(".safetensors"))
        write_text(path, text)
        return [path, weights]

    def to_torch(self) -> Any:
        """The network as a `torch.nn.Module`: rows of residues, int64, to logits. It needs the package torch.

        It is what `export --to torch` writes, imported; its weights are parameters that can be trained on.
        """
        with TemporaryDirectory() as folder:
            path, _ = self.write_torch(Path(folder) / "network.py")
            return import_module_file(path).load()


CLAIMED_TABLES = ("places", "outputs")
"""What a file holds of a claim as tensors; the rest is in its JSON object."""


FORMULAS = {"n", "e", "f", "g", "h", "mod", "over", "Z", "with", "an", "absorbing", "element"}
"""Words of the formulas in a plan."""


def words_in(text: str) -> list[str]:
    return re.findall(r"[^\W\d_]+", text)


def named_leaves(tree: PyTree) -> dict[str, Shaped[np.ndarray, "..."]]:
    """The leaves of a pytree by the path to them: `layers.0.query`."""
    leaves, _ = jax.tree_util.tree_flatten_with_path(tree)
    return {leaf_name(path): np.array(leaf, order="C") for path, leaf in leaves}


def leaf_name(path: tuple[object, ...]) -> str:
    return ".".join(str(getattr(key, "name", getattr(key, "idx", getattr(key, "key", key)))) for key in path)


def check_rows(model: Model, rows: RowsLike) -> Int[np.ndarray, "... variable"]:
    """`rows` as whole numbers with one residue for each variable in the last axis; an `InputError` otherwise."""
    try:
        found = np.asarray(rows)
    except ValueError:
        raise InputError("the rows differ in length; give an array of shape (rows, variables)") from None
    if found.ndim == 0 or found.shape[-1] != model.variables or not np.issubdtype(found.dtype, np.integer):
        raise InputError(
            f"rows need {model.variables} whole numbers each, got shape {found.shape} of {found.dtype}; "
            "give an array of shape (rows, variables)"
        )
    if found.size and (found.min() < 0 or (found >= np.array(model.residues)).any()):
        allowed = " and ".join(f"0 … {count - 1}" for count in dict.fromkeys(model.residues))
        raise InputError(f"rows must hold residues {allowed}, got {found.min()} … {found.max()}; reduce them first")
    return found.astype(np.int64, copy=False)


def chunk_rows(model: Model, count: int, dtype: np.dtype) -> int:
    """Rows whose activations and logits (a few copies each) take about `CHUNK_BYTES`."""
    numbers = model.activations() + 4 * model.classes
    return max(1, min(count, CHUNK_BYTES // (numbers * dtype.itemsize)))


@partial(jax.jit, static_argnums=0)
def model_logits(
    model: Model, params: PyTree, statistics: tuple[Statistics, ...], rows: Int[Array, "row variable"]
) -> Float[Array, "row class"]:
    """A model on many rows, in the precision of its weights (no reduced-precision matrix units)."""
    with jax.default_matmul_precision("highest"):
        return model.apply(params, Rows(rows), statistics=statistics)
