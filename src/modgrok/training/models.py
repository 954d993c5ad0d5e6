"""What can be trained: networks as pure functions of a pytree of weights.

    power        the paper's two-layer network, x^power between an embedding and a readout: an `Expert`
    mlp          `depth` layers of weights without biases, the first an embedding of each variable: an `Mlp`
    transformer  `depth` causal layers on the tokens n1 … nV and "=", read out at "=": a `Transformer`

`init` draws the weights that an `Architecture` has, `apply` gives the logits of many rows. Inputs are residues:
embeddings are gathered, never multiplied by one-hots. All weights have an `embed` and a `readout`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from modgrok.errors import InputError
from modgrok.networks.circuit import Expert

HEADS = 4
"""Attention heads of a transformer's layer."""

EXPANSION = 4
"""Hidden neurons of a transformer's MLP for each dimension of the stream."""

ACTIVATIONS: dict[str, Callable[[Array], Array]] = {"relu": jax.nn.relu, "gelu": jax.nn.gelu, "square": jnp.square}
NORMS = {"power": ("none",), "mlp": ("none", "layer", "batch"), "transformer": ("none", "layer")}
"""The models, and the normalisations that each may have."""

DEPTHS = {"power": (2, 2), "mlp": (2, 4), "transformer": (1, 2)}
"""Least and largest depth: layers of weights; for transformers, layers of attention and MLP."""


@dataclass(frozen=True)
class Architecture:
    """Which network. `activation` is that of an mlp; the others have theirs (x^power, and ReLU)."""

    model: str = "power"
    depth: int = 2
    activation: str = "relu"
    norm: str = "none"
    dropout: float = 0.0

    def __post_init__(self) -> None:
        for name, value, allowed in (
            ("model", self.model, tuple(NORMS)),
            ("activation", self.activation, tuple(ACTIVATIONS)),
        ):
            if value not in allowed:
                raise InputError(f"{name} must be {' or '.join(allowed)}, got {value!r}")
        if self.norm not in NORMS[self.model]:
            raise InputError(f"norm of a {self.model} must be {' or '.join(NORMS[self.model])}, got {self.norm!r}")
        least, largest = DEPTHS[self.model]
        if not least <= self.depth <= largest:
            raise InputError(f"depth of a {self.model} must be from {least} to {largest}, got {self.depth}")
        if not 0 <= self.dropout < 1:
            raise InputError(f"dropout must be at least 0 and below 1, got {self.dropout}")


POWER = Architecture()
"""The paper's network."""


@runtime_checkable
class Sizes(Protocol):
    """What `init` needs to know; a `training.Shape` knows it."""

    @property
    def modulus(self) -> int: ...
    @property
    def variables(self) -> int: ...
    @property
    def width(self) -> int: ...
    @property
    def power(self) -> int: ...
    @property
    def architecture(self) -> Architecture: ...


class Norm(NamedTuple):
    scale: Float[Array, "width"]
    shift: Float[Array, "width"]


class Moments(NamedTuple):
    """Mean and variance of a layer's pre-activations over the training rows."""

    mean: Float[Array, "width"]
    variance: Float[Array, "width"]


class Mlp(NamedTuple):
    """`norms` has one for each layer of neurons, or none."""

    embed: Float[Array, "variable p width"]
    hidden: tuple[Float[Array, "width width"], ...]
    norms: tuple[Norm, ...]
    readout: Float[Array, "width class"]


class Layer(NamedTuple):
    """Attention, then an MLP, each added to the stream; `norms` are in front of them, or there are none."""

    query: Float[Array, "width width"]
    key: Float[Array, "width width"]
    value: Float[Array, "width width"]
    output: Float[Array, "width width"]
    expand: Float[Array, "width neuron"]
    contract: Float[Array, "neuron width"]
    norms: tuple[Norm, ...]


class Transformer(NamedTuple):
    """`positions` are added to the tokens; that of "=" is its embedding. `norms`: one before the readout, or none."""

    embed: Float[Array, "p width"]
    positions: Float[Array, "token width"]
    layers: tuple[Layer, ...]
    norms: tuple[Norm, ...]
    readout: Float[Array, "width class"]


def init(sizes: Sizes, scale: Float[Array, ""], *, key: PRNGKeyArray) -> Any:
    """Untrained weights; `scale` multiplies what is usual for the model."""
    return {"power": init_power, "mlp": init_mlp, "transformer": init_transformer}[sizes.architecture.model](
        sizes, scale, key=key
    )


def init_power(sizes: Sizes, scale: Float[Array, ""], *, key: PRNGKeyArray) -> Expert:
    """Normal weights of standard deviation scale / (2 · width)^(1/3), in both layers."""
    embed_key, readout_key = jax.random.split(key)
    std = scale / (2 * sizes.width) ** (1 / 3)
    embed = std * jax.random.normal(embed_key, (sizes.variables, sizes.modulus, sizes.width))
    readout = std * jax.random.normal(readout_key, (sizes.width, sizes.modulus))
    return Expert(embed, readout, sizes.power)


def init_mlp(sizes: Sizes, scale: Float[Array, ""], *, key: PRNGKeyArray) -> Mlp:
    """Normal weights of variance scale² / (number of inputs that are not zero)."""
    keys = jax.random.split(key, sizes.architecture.depth)
    width, layers = sizes.width, sizes.architecture.depth - 1
    embed = normal(keys[0], (sizes.variables, sizes.modulus, width), scale, sizes.variables)
    hidden = tuple(normal(k, (width, width), scale, width) for k in keys[1:-1])
    readout = normal(keys[-1], (width, sizes.modulus), scale, width)
    return Mlp(embed, hidden, identities(sizes.architecture, width, layers), readout)


def init_transformer(sizes: Sizes, scale: Float[Array, ""], *, key: PRNGKeyArray) -> Transformer:
    """Normal weights of variance scale² / (number of inputs); embeddings have that of scale² / width."""
    d = sizes.width
    embed_key, position_key, layers_key, readout_key = jax.random.split(key, 4)

    def layer(key: PRNGKeyArray) -> Layer:
        keys = jax.random.split(key, 6)
        shapes = [(d, d)] * 4 + [(d, EXPANSION * d), (EXPANSION * d, d)]
        q, k, v, o, up, down = (normal(key, shape, scale, shape[0]) for key, shape in zip(keys, shapes))
        return Layer(q, k, v, o, up, down, identities(sizes.architecture, d, 2))

    return Transformer(
        embed=normal(embed_key, (sizes.modulus, d), scale, d),
        positions=normal(position_key, (sizes.variables + 1, d), scale, d),
        layers=tuple(layer(k) for k in jax.random.split(layers_key, sizes.architecture.depth)),
        norms=identities(sizes.architecture, d, 1),
        readout=normal(readout_key, (d, sizes.modulus), scale, d),
    )


def normal(key: PRNGKeyArray, shape: tuple[int, ...], scale: Float[Array, ""], inputs: int) -> Array:
    return scale / jnp.sqrt(inputs) * jax.random.normal(key, shape)


def identities(architecture: Architecture, width: int, count: int) -> tuple[Norm, ...]:
    if architecture.norm == "none":
        return ()
    return tuple(Norm(jnp.ones(width), jnp.zeros(width)) for _ in range(count))


class Rows(NamedTuple):
    """Rows to apply a network to.

    `groups`, where given, must list the same rows: gradients of gathered embeddings are summed by it. `weights` are
    those of the rows in a batch's moments, 1 in all.
    """

    inputs: Int[Array, "row variable"]
    groups: Int[Array, "variable p slot"] | None = None
    weights: Float[Array, "row"] | None = None


def apply(
    architecture: Architecture,
    params: Any,
    rows: Rows,
    *,
    moments: tuple[Moments, ...] = (),
    key: PRNGKeyArray | None = None,
) -> Float[Array, "row class"]:
    """The logits of many rows. Neurons are dropped only where a key is given.

    Batch normalisation takes its `moments` where given (`batch_moments` of the training rows), else those of the rows.
    """
    if architecture.model == "power":
        hidden = gathered_sum(jnp.asarray(params.embed), rows.inputs, rows.groups) ** params.power
        return dropped(hidden, architecture.dropout, key, 0) @ params.readout
    if architecture.model == "mlp":
        return apply_mlp(architecture, params, rows, moments, key)[0]
    return apply_transformer(architecture, params, rows, key)


def batch_moments(architecture: Architecture, params: Any, rows: Rows) -> tuple[Moments, ...]:
    """What batch normalisation takes from these rows; nothing for networks without it."""
    return apply_mlp(architecture, params, rows, (), None)[1] if architecture.norm == "batch" else ()


def apply_mlp(
    architecture: Architecture, params: Mlp, rows: Rows, moments: tuple[Moments, ...], key: PRNGKeyArray | None
) -> tuple[Float[Array, "row class"], tuple[Moments, ...]]:
    used: list[Moments] = []
    hidden = gathered_sum(params.embed, rows.inputs, rows.groups)
    for k in range(architecture.depth - 1):
        if k > 0:
            hidden = hidden @ params.hidden[k - 1]
        if architecture.norm == "layer":
            hidden = layer_norm(hidden, params.norms[k])
        elif architecture.norm == "batch":
            used.append(moments[k] if moments else weighted_moments(hidden, rows.weights))
            hidden = standardised(hidden, used[-1].mean[None], used[-1].variance[None], params.norms[k])
        hidden = dropped(ACTIVATIONS[architecture.activation](hidden), architecture.dropout, key, k)
    return hidden @ params.readout, tuple(used)


def apply_transformer(
    architecture: Architecture, params: Transformer, rows: Rows, key: PRNGKeyArray | None
) -> Float[Array, "row class"]:
    """Only the stream at "=" is followed through the last layer: nothing else is read out."""
    variables = rows.inputs.shape[1]
    tokens = [
        gathered_sum(
            params.embed[None], rows.inputs[:, v : v + 1], None if rows.groups is None else rows.groups[v, None]
        )
        for v in range(variables)
    ]
    stream = jnp.stack([*tokens, jnp.zeros_like(tokens[0])], axis=1) + params.positions[None]
    for k, layer in enumerate(params.layers):
        read = 1 if k + 1 == len(params.layers) else variables + 1
        attention_norm, mlp_norm = layer.norms or (None, None)
        mixed = attend(layer, layer_norm(stream, attention_norm), read)
        stream = stream[:, -read:] + dropped(mixed, architecture.dropout, key, 2 * k)
        neurons = jax.nn.relu(layer_norm(stream, mlp_norm) @ layer.expand)
        stream = stream + dropped(neurons @ layer.contract, architecture.dropout, key, 2 * k + 1)
    return layer_norm(stream[:, -1], params.norms[0] if params.norms else None) @ params.readout


def attend(layer: Layer, stream: Float[Array, "row token width"], read: int) -> Float[Array, "row read width"]:
    """Causal attention of the last `read` tokens."""
    rows, tokens, width = stream.shape

    def heads(x: Array) -> Float[Array, "row token head part"]:
        return x.reshape(rows, -1, HEADS, width // HEADS)

    queries, keys, values = (
        heads(stream[:, -read:] @ layer.query),
        heads(stream @ layer.key),
        heads(stream @ layer.value),
    )
    scores = jnp.einsum("rqhc,rkhc->rhqk", queries, keys) / jnp.sqrt(width // HEADS)
    causal = np.tri(tokens, dtype=bool)[-read:]
    shares = jax.nn.softmax(jnp.where(causal[None, None], scores, -jnp.inf), axis=-1)
    return jnp.einsum("rhqk,rkhc->rqhc", shares, values).reshape(rows, read, width) @ layer.output


def layer_norm(x: Float[Array, "... width"], norm: Norm | None) -> Float[Array, "... width"]:
    if norm is None:
        return x
    return standardised(x, jnp.mean(x, axis=-1, keepdims=True), jnp.var(x, axis=-1, keepdims=True), norm)


def standardised(x: Array, mean: Array, variance: Array, norm: Norm) -> Array:
    scale, shift = (jnp.expand_dims(weight, range(x.ndim - 1)) for weight in norm)
    return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * scale + shift


def weighted_moments(x: Float[Array, "row width"], weights: Float[Array, "row"] | None) -> Moments:
    if weights is None:
        weights = jnp.full(x.shape[0], 1 / x.shape[0])
    mean = weights @ x
    return Moments(mean, weights @ (x - mean[None]) ** 2)


def dropped(x: Array, rate: float, key: PRNGKeyArray | None, place: int) -> Array:
    """x with a share `rate` of it set to zero at random and the rest enlarged, so that its mean stays."""
    if key is None or rate == 0:
        return x
    kept = jax.random.bernoulli(jax.random.fold_in(key, place), 1 - rate, x.shape)
    return jnp.where(kept, x / (1 - rate), 0)


def periodic_part(params: Any) -> Expert:
    """The weights whose periodicity is measured, as an expert whose blocks they are.

    The power network itself. In the others a neuron has its columns of the embedding alone; the last of them stands
    in the readout's place, which is one more block to every measure of periodicity.
    """
    if isinstance(params, Expert):
        return params
    embed = params.embed if params.embed.ndim == 3 else params.embed[None]
    return Expert(embed[:-1], jnp.swapaxes(embed[-1], 0, 1), 1)


def activations(sizes: Sizes) -> int:
    """Numbers that a row leaves in memory for the gradient, estimated."""
    architecture, width = sizes.architecture, sizes.width
    if architecture.model == "transformer":
        token = (8 + 2 * EXPANSION) * width
        return token * ((architecture.depth - 1) * (sizes.variables + 1) + 1) + 4 * (sizes.variables + 1) * width
    per_layer = 4 + 2 * (architecture.norm != "none") + (architecture.dropout > 0)
    return (architecture.depth - 1) * per_layer * width


def gathered_sum(
    embed: Float[Array, "term p width"],
    inputs: Int[Array, "row term"],
    groups: Int[Array, "term p slot"] | None = None,
) -> Float[Array, "row width"]:
    """Σ_s embed[s, n_s, ·] for every row.

    Its gradient sums the rows' gradients by residue. Without groups that is a scatter-add, the quickest. With
    them each residue gathers its own rows: no atomic additions, so a GPU gives the same bits every time.
    """
    if groups is not None:
        return grouped_sum(embed, inputs, groups)
    columns = [embed[s][inputs[:, s]] for s in range(embed.shape[0])]
    return sum(columns[1:], start=columns[0])


@jax.custom_vjp
def grouped_sum(embed: Array, inputs: Array, groups: Array) -> Array:
    return gathered_sum(embed, inputs)


def _grouped_forward(embed: Array, inputs: Array, groups: Array) -> tuple[Array, Array]:
    return gathered_sum(embed, inputs), groups


def _grouped_backward(groups: Array, gradient: Float[Array, "row width"]) -> tuple[Array, None, None]:
    by_residue = jnp.take(gradient, groups, axis=0, mode="fill", fill_value=0)
    return jnp.sum(by_residue, axis=2), None, None


grouped_sum.defvjp(_grouped_forward, _grouped_backward)
