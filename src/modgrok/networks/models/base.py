"""What every model is: a frozen description of a network, and pure functions of its weights.

A `Model` holds what a compilation depends on (sizes, depth, activation, …) and no weights. Its fields beyond `residues`
and `classes` are settings of a training under the same names, so a new model is one class in one file:

    @dataclass(frozen=True)
    class Toy(Model):
        width: int = 16
        def init(self, scale, *, key): ...                  # untrained weights, with an `embed` and a `readout`
        def apply(self, params, rows, **_): ...             # logits of many rows

`mg.train(…, model=Toy(width=32))` trains it; `mg.register("toy", model=Toy)`, or an entry in `networks.models.MODELS`,
gives it a name. Training, measuring, saving, loading, verifying and asking it follow. Where its weights are not an
embedding (variable, residue, width) and a readout, it says itself which `blocks` of them are measured and what its
`norms` are; one that can be exported says how (`onnx`, `torch`).

Inputs are residues: embeddings are gathered, never multiplied by one-hots.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from functools import partial
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree

from modgrok.base.errors import InputError
from modgrok.networks.circuit import Weights
from modgrok.networks.onnx_graph import Graph

ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "relu": jax.nn.relu,
    "gelu": jax.nn.gelu,
    "gelu-exact": partial(jax.nn.gelu, approximate=False),
    "square": jnp.square,
    "tanh": jnp.tanh,
}
"""gelu is the usual approximation by tanh, gelu-exact x times the normal distribution function."""


class Rows(NamedTuple):
    """Rows to apply a network to; `weights` are theirs in the statistics of a batch, 1 in all."""

    inputs: Int[Weights, "row variable"]
    weights: Float[Array, "row"] | None = None


class Statistics(NamedTuple):
    """Mean and variance of a layer's pre-activations over the training rows: what batch normalisation takes."""

    mean: Float[Weights, "width"]
    variance: Float[Weights, "width"]


class Blocks(NamedTuple):
    """Weights that are waves in the analytical solution, one block for each input or class that a neuron reads.

    `places` names what a block is laid out by: 0 … V-1 for the residues of a variable, V for the classes.
    """

    weights: Float[Weights, "block width p"]
    places: tuple[int, ...]


class Inside(NamedTuple):
    """What lies between the inputs and the logits of many rows, layer by layer, as it was when the logits were read.

    `neurons` are those of hidden layers after their activation, `attention` the shares that the last token's heads
    give to each token; both are empty for models that have none.
    """

    neurons: tuple[Float[Array, "row neuron"], ...] = ()
    attention: tuple[Float[Array, "row head token"], ...] = ()


@dataclass(frozen=True)
class Model:
    """residues[v] is the number of values that variable v can take, `classes` that of the output.

    A model that a user makes has neither: it gets them where it is put to work. A class without a `name` has its own,
    in small letters.
    """

    name: ClassVar[str]
    residues: tuple[int, ...] = ()
    classes: int = 0
    width: int = field(default=1, kw_only=True)

    def __init_subclass__(cls) -> None:
        if "name" not in vars(cls):
            cls.name = cls.__name__.lower()

    @property
    def variables(self) -> int:
        return len(self.residues)

    @property
    def largest(self) -> int:
        """The number of columns of an embedding that serves all variables."""
        return max(self.residues)

    @classmethod
    def settings(cls) -> tuple[str, ...]:
        """The settings of a training that this model has."""
        return tuple(field.name for field in fields(cls) if field.name not in ("residues", "classes"))

    def init(self, scale: Float[Array, ""], *, key: PRNGKeyArray) -> PyTree:
        """Untrained weights; `scale` multiplies what is usual for the model."""
        raise NotImplementedError

    def apply(
        self, params: PyTree, rows: Rows, *, statistics: tuple[Statistics, ...] = (), key: PRNGKeyArray | None = None
    ) -> Float[Array, "row class"]:
        """The logits of many rows. Neurons are dropped only where a key is given.

        Batch normalisation takes `statistics` where given (those of the training rows), else those of the rows.
        """
        raise NotImplementedError

    def inside(self, params: PyTree, rows: Rows, *, statistics: tuple[Statistics, ...] = ()) -> Inside:
        """Hidden neurons and attention on many rows, without dropout; nothing for a model that does not tell."""
        return Inside()

    def blocks(self, params: PyTree) -> Blocks:
        """The weights whose periodicity is measured: a neuron's columns of the embedding."""
        return Blocks(params.embed.swapaxes(1, 2), tuple(range(self.variables)))

    def activations(self) -> int:
        """Numbers that a row leaves in memory for the gradient, estimated."""
        return 8 * self.width

    @property
    def sees_whole_batch(self) -> bool:
        """Whether the logits of a row depend on the other rows of a training batch."""
        return False

    def statistics(self, params: PyTree, rows: Rows) -> tuple[Statistics, ...]:
        """What batch normalisation takes from these rows; nothing for models without it."""
        return ()

    def applied(self, updates: PyTree) -> PyTree:
        """The part of an optimiser's update that is added to the weights: all of it, unless some are held fixed."""
        return updates

    def norms(self, params: PyTree) -> tuple[Float[Array, ""], Float[Array, ""]]:
        """Length of the weights that read inputs, and of those that give logits."""
        return length(params.embed), length(params.readout)

    def onnx(self, graph: Graph, params: PyTree, statistics: tuple[Statistics, ...]) -> None:
        """`apply` in the operators of ONNX; the last node has the output `logits`."""
        raise self.without_export("onnx")

    def torch(self, params: PyTree) -> tuple[dict[str, Any], str]:
        """Constants, and the text of a class `Network` that computes `apply` in PyTorch."""
        raise self.without_export("torch")

    def without_export(self, to: str) -> InputError:
        """Why there is none, and which of modgrok's own models have one."""
        kinds = [kind for kind in Model.__subclasses__() if kind.__module__.startswith(f"{__package__}.")]
        *others, last = (kind.name for kind in kinds if getattr(kind, to) is not getattr(Model, to))
        return InputError(f"the model {self.name} has no export to {to}; {', '.join(others)} and {last} have one")

    def skeleton(self) -> PyTree:
        """Shapes of the weights, without weights."""
        return jax.eval_shape(lambda: self.init(jnp.float32(1), key=jax.random.key(0)))

    def parameters(self) -> int:
        return sum(leaf.size for leaf in jax.tree.leaves(self.skeleton()))


def length(weights: Array) -> Float[Array, ""]:
    return jnp.sqrt(jnp.sum(weights**2))


def check_statistics(model: Model, statistics: tuple[Statistics, ...]) -> None:
    """An `InputError` if a network with batch normalisation lacks the statistics of its training rows."""
    if model.sees_whole_batch and not statistics:
        raise InputError("a network with batch normalisation needs the statistics of its training; train it first")


def check_range(what: str, value: int, least: int, largest: int) -> None:
    if not least <= value <= largest:
        raise InputError(f"{what} must be from {least} to {largest}, got {value}")


# ------------------------------------------------------------------------------------------ what models share


def normal(key: PRNGKeyArray, shape: tuple[int, ...], scale: Float[Array, ""], inputs: int) -> Array:
    """Normal weights of variance scale² / inputs."""
    return scale / jnp.sqrt(float(inputs)) * jax.random.normal(key, shape)


EPSILON = 1e-5
"""Added to a variance before a normalisation divides by its root."""


def used_rows(embed: Float[Array, "variable p width"], residues: tuple[int, ...]) -> Float[Array, "variable p width"]:
    """An embedding with zeros for the residues that a variable does not have, where their numbers differ."""
    if len(set(residues)) == 1:
        return embed
    return jnp.where(np.arange(embed.shape[1])[None, :, None] < np.array(residues)[:, None, None], embed, 0)


class Norm(NamedTuple):
    """Scale and shift of a normalisation."""

    scale: Float[Weights, "width"]
    shift: Float[Weights, "width"]


def identity_norms(norm: str, width: int, count: int) -> tuple[Norm, ...]:
    """`count` normalisations that change nothing yet; none for a network without them."""
    return () if norm == "none" else tuple(Norm(jnp.ones(width), jnp.zeros(width)) for _ in range(count))


def layer_norm(x: Float[Array, "... width"], norm: Norm | None) -> Float[Array, "... width"]:
    if norm is None:
        return x
    return standardised(x, jnp.mean(x, axis=-1, keepdims=True), jnp.var(x, axis=-1, keepdims=True), norm)


def standardised(x: Array, mean: Array, variance: Array, norm: Norm) -> Array:
    scale, shift = (jnp.expand_dims(weight, range(x.ndim - 1)) for weight in norm)
    return (x - mean) * jax.lax.rsqrt(variance + EPSILON) * scale + shift


def plus(x: Float[Array, "... width"], bias: Float[Weights, "width"] | None) -> Float[Array, "... width"]:
    """x with a bias, where there is one."""
    return x if bias is None else x + jnp.expand_dims(bias, range(x.ndim - 1))


def dropped(x: Array, rate: float, key: PRNGKeyArray | None, place: int) -> Array:
    """x with a share `rate` of it set to zero at random and the rest enlarged, so that its mean stays."""
    if key is None or rate == 0:
        return x
    kept = jax.random.bernoulli(jax.random.fold_in(key, place), 1 - rate, x.shape)
    return jnp.where(kept, x / (1 - rate), 0)


def on_cpu() -> bool:
    return jax.default_backend() == "cpu"


def gathered_sum(embed: Float[Array, "term p width"], inputs: Int[Weights, "row term"]) -> Float[Array, "row width"]:
    """Σ_s embed[s, n_s, ·] for every row.

    Its gradient sums the gradients g of the rows by residue. On a CPU that is a scatter-add, in the order of the rows.
    On a GPU a scatter-add would be atomic, in whatever order rows come, with other last bits every time; there it is
    the product Σ_row [n_s = a] g[row] with one-hots, which tensor cores do.
    """
    return (gathered_columns if on_cpu() else gathered_by_products)(embed, jnp.asarray(inputs))


def gathered_columns(embed: Array, inputs: Array) -> Array:
    columns = [embed[s][inputs[:, s]] for s in range(embed.shape[0])]
    return sum(columns[1:], start=columns[0])


@jax.custom_vjp
def gathered_by_products(embed: Array, inputs: Array) -> Array:
    return gathered_columns(embed, inputs)


def _products_forward(embed: Array, inputs: Array) -> tuple[Array, tuple[Array, Array]]:
    return gathered_columns(embed, inputs), (inputs, jnp.arange(embed.shape[1]))


def _products_backward(kept: tuple[Array, Array], gradient: Float[Array, "row width"]) -> tuple[Array, None]:
    inputs, residues = kept
    onehots = jax.nn.one_hot(inputs.T, residues.size, dtype=gradient.dtype)
    return jnp.einsum("srp,rk->spk", onehots, gradient), None


gathered_by_products.defvjp(_products_forward, _products_backward)


TORCH_PARTS = '''

def below(tensors, lead):
    return {name[len(lead):]: tensor for name, tensor in tensors.items() if name.startswith(lead)}


def parameters(tensors, count, lead):
    return torch.nn.ParameterList(tensors[f"{lead}.{k}"] for k in range(count) if f"{lead}.{k}" in tensors)


def plus(x, bias):
    return x if bias is None else x + bias


def activation(x):
    if ACTIVATION == "relu":
        return torch.relu(x)
    if ACTIVATION == "square":
        return x**2
    if ACTIVATION == "tanh":
        return torch.tanh(x)
    return torch.nn.functional.gelu(x, approximate="tanh" if ACTIVATION == "gelu" else "none")


class Norm(torch.nn.Module):
    """A layer's normalisation: scale and shift."""

    def __init__(self, tensors):
        super().__init__()
        self.scale, self.shift = (torch.nn.Parameter(tensors[name]) for name in ("scale", "shift"))

    def forward(self, x):
        mean = x.mean(-1)[..., None]
        return self.standardised(x, mean, ((x - mean) ** 2).mean(-1)[..., None])

    def standardised(self, x, mean, variance):
        return (x - mean) / (variance + EPSILON) ** 0.5 * self.scale + self.shift


def norms(tensors, count):
    return torch.nn.ModuleList(Norm(found) for k in range(count) if (found := below(tensors, f"norms.{k}.")))
'''
"""What the modules of MLPs and transformers in PyTorch begin with. Parameters have the names that the file has."""
