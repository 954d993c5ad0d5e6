"""State dicts of transformers: HookedTransformer's names, the transposed ones of the first code, and modgrok's own.

All have a stream W_E[token] + W_pos[position], layers of attention and an MLP that add to it, and a readout W_U. Ours
has no embedding of "=", since that token never changes: its embedding and position become one, W_E["="] + W_pos[V].
Parts of several heads lie side by side in ours: W_Q[h, d, c] is query[d, h·part + c]. A bias that is missing is 0
where others are there.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from modgrok.networks.models import Transformer
from modgrok.networks.models.base import Norm
from modgrok.networks.models.transformer import Layer, LayerBiases, TransformerWeights, with_zeros
from modgrok.networks.readers.asking import Sizes
from modgrok.networks.readers.layouts import (
    Misfit,
    Reading,
    Said,
    TensorsByName,
    check_shape,
    check_used,
    with_activations,
)

ACTIVATIONS = ("relu", "gelu-exact", "tanh")
"""What is tried where the logits are known; torch's own GELU is the exact one."""


class Taken:
    """Tensors, and which of them were taken."""

    def __init__(self, tensors: TensorsByName) -> None:
        self.tensors, self.used = tensors, set[str]()

    def shape(self, name: str, axes: int) -> tuple[int, ...]:
        if name not in self.tensors:
            raise Misfit(f"{name} is missing")
        if self.tensors[name].ndim != axes:
            raise Misfit(f"{name} must have {axes} axes, got the shape {self.tensors[name].shape}")
        return self.tensors[name].shape

    def __call__(self, name: str, *shape: int) -> np.ndarray:
        self.used.add(name)
        return check_shape(self.tensors, name, shape)

    def optional(self, name: str, *shape: int) -> np.ndarray | None:
        return self(name, *shape) if name in self.tensors else None


class Tokens(NamedTuple):
    """How many values the variables have, and which token "=" is; None where it has none."""

    sizes: Sizes
    equals: int | None


def tokens_of(vocabulary: int, classes: int, context: int, said: Said) -> Tokens:
    """What the sizes of embedding, positions and readout say of the modulus and of "=".

    With one position more than variables, and one token more than values, "=" is that token.
    """
    variables = len(said.sizes.residues) if said.sizes else max(2, context - (context > 2))
    behind = context > variables and said.equals is not False
    one_more = behind and said.equals in (None, True) and classes in (vocabulary, vocabulary - 1)
    sizes = said.of(vocabulary - 1 if one_more else min(vocabulary, classes), variables)
    values = max(sizes.residues)
    if vocabulary < values or classes not in (sizes.classes, sizes.classes + 1) or context < variables:
        raise Misfit(
            f"{vocabulary} tokens, {classes} classes and {context} positions do not fit {sizes.text}: give the modulus "
            "that it was trained on, mod= (--mod)"
        )
    equals = values if said.equals is None or said.equals is True else int(said.equals)
    if behind and equals < vocabulary:
        return Tokens(sizes, equals)
    if said.equals is not None and said.equals is not False:
        raise Misfit(f'"=" cannot be token {equals}: it has {vocabulary} tokens and {context} positions')
    return Tokens(sizes, None)


def stream_of(
    embed: Float[np.ndarray, "token width"], positions: Float[np.ndarray, "position width"], tokens: Tokens
) -> tuple[np.ndarray, np.ndarray]:
    """Embedding and positions as ours has them: what is added at "=" is one vector."""
    variables, values = len(tokens.sizes.residues), max(tokens.sizes.residues)
    if tokens.equals is None:
        return embed[:values], positions[:variables]
    behind = embed[tokens.equals] + positions[variables]
    return embed[:values], np.concatenate([positions[:variables], behind[None]])


def side_by_side(weights: Float[np.ndarray, "head width part"]) -> Float[np.ndarray, "width parts"]:
    """The matrices of all heads as one."""
    return np.ascontiguousarray(np.moveaxis(weights, 0, 1).reshape(weights.shape[1], -1))


def depth_of(tensors: TensorsByName, pattern: str) -> int:
    found = {int(match[1]) for name in tensors if (match := re.match(pattern, name))}
    if found != set(range(len(found))):
        raise Misfit(f"its layers are numbered {', '.join(map(str, sorted(found)))}")
    return len(found)


def norm_of(take: Taken, scale: str, shift: str, width: int) -> tuple[Norm, ...]:
    found = take.optional(scale, width)
    return () if found is None else (Norm(found, take(shift, width)),)


# ------------------------------------------------------------------------------------------ HookedTransformer


def read_blocks(tensors: TensorsByName, said: Said, *, transposed: bool) -> list[Reading]:
    """embed.W_E (token, width), attn.W_Q (head, width, part), W_O (head, part, width), mlp.W_in (width, neuron).

    The first code has W_E (width, token), W_Q (head, part, width), W_O (width, parts), W_in (neuron, width) instead.
    """
    take = Taken(tensors)
    context, width = take.shape("pos_embed.W_pos", 2)
    classes = take.shape("unembed.W_U", 2)[1]
    vocabulary = take.shape("embed.W_E", 2)[1 if transposed else 0]
    embed = turned(take("embed.W_E", *swapped(transposed, vocabulary, width)), transposed)
    tokens = tokens_of(vocabulary, classes, context, said)
    heads, *axes = take.shape("blocks.0.attn.W_Q", 3)
    part, neurons = axes[0 if transposed else 1], take.shape("blocks.0.mlp.W_in", 2)[0 if transposed else 1]

    def layer(lead: str) -> Layer:
        inner = [
            side_by_side(turned(take(f"{lead}attn.W_{name}", heads, *swapped(transposed, width, part)), transposed))
            for name in "QKV"
        ]
        if transposed:
            output = take(f"{lead}attn.W_O", width, heads * part).T
        else:
            output = take(f"{lead}attn.W_O", heads, part, width).reshape(heads * part, width)
        expand = turned(take(f"{lead}mlp.W_in", *swapped(transposed, width, neurons)), transposed)
        contract = turned(take(f"{lead}mlp.W_out", *swapped(transposed, neurons, width)), transposed)
        biases = [take.optional(f"{lead}attn.b_{name}", heads, part) for name in "QKV"]
        biases = [None if bias is None else bias.reshape(-1) for bias in biases]
        biases.append(take.optional(f"{lead}attn.b_O", width))
        biases += [take.optional(f"{lead}mlp.b_in", neurons), take.optional(f"{lead}mlp.b_out", width)]
        norms = [norm_of(take, f"{lead}ln{k}.w", f"{lead}ln{k}.b", width) for k in (1, 2)]
        query, key, value = inner
        return Layer(query, key, value, output, expand, contract, norms[0] + norms[1], LayerBiases(*biases))

    bias = take.optional("unembed.b_U", classes)
    weights = TransformerWeights(
        *stream_of(embed, take("pos_embed.W_pos", context, width), tokens),
        tuple(layer(f"blocks.{k}.") for k in range(depth_of(tensors, r"blocks\.(\d+)\."))),
        norm_of(take, "ln_final.w", "ln_final.b", width),
        take("unembed.W_U", width, classes),
        bias,
    )
    check_used(tensors, take.used)
    words = "the first progress-measures code's names" if transposed else "HookedTransformer's names"
    return finished(weights, tokens, said, heads, words)


def swapped(transposed: bool, *shape: int) -> tuple[int, ...]:
    return shape[::-1] if transposed else shape


def turned(weights: np.ndarray, transposed: bool) -> np.ndarray:
    return np.ascontiguousarray(np.swapaxes(weights, -1, -2)) if transposed else weights


# ------------------------------------------------------------------------------------------ modgrok's own


def own(tensors: TensorsByName, said: Said) -> list[Reading]:
    """What the module of `to_torch` has: the names of modgrok's files, without what these say beside the tensors."""
    take = Taken(tensors)
    (values, width), (context, _) = take.shape("embed", 2), take.shape("positions", 2)
    parts, neurons = take.shape("layers.0.query", 2)[1], take.shape("layers.0.expand", 2)[1]
    variables = len(said.sizes.residues) if said.sizes else max(2, context - 1)
    sizes = said.of(values, variables)
    if max(sizes.residues) != values or context not in (variables, variables + 1):
        raise Misfit(f"it has {values} tokens and {context} positions, which do not fit {sizes.text}: give its modulus")
    shapes = dict.fromkeys(("query", "key", "value"), (width, parts)) | {"output": (parts, width)}
    shapes |= {"expand": (width, neurons), "contract": (neurons, width)}

    def layer(lead: str) -> Layer:
        biases = [take.optional(f"{lead}biases.{name}", shape[1]) for name, shape in shapes.items()]
        norms = [norm_of(take, f"{lead}norms.{k}.scale", f"{lead}norms.{k}.shift", width) for k in range(2)]
        matrices = {name: take(lead + name, *shape) for name, shape in shapes.items()}
        return Layer(**matrices, norms=norms[0] + norms[1], biases=LayerBiases(*biases))

    weights = TransformerWeights(
        take("embed", values, width),
        take("positions", context, width),
        tuple(layer(f"layers.{k}.") for k in range(depth_of(tensors, r"layers\.(\d+)\."))),
        norm_of(take, "norms.0.scale", "norms.0.shift", width),
        take("readout", width, sizes.classes),
        take.optional("bias", sizes.classes),
    )
    check_used(tensors, take.used)
    several = [said.heads] if said.heads else [heads for heads in (4, 1, 2, 8, 3, 6, 16) if parts % heads == 0]
    tokens = Tokens(sizes, None if context == variables else values)
    return [
        reading
        for heads in several
        for reading in finished(weights, tokens, said, heads, f"modgrok's own names, {heads} heads", "gelu")
    ]


def finished(
    weights: TransformerWeights, tokens: Tokens, said: Said, heads: int, words: str, gelu: str = "gelu-exact"
) -> list[Reading]:
    """The model of these weights, with every activation that it may have; biases that are missing are 0."""
    counts = {len(layer.norms) for layer in weights.layers}
    if counts | {2 * len(weights.norms)} not in ({0}, {2}):
        raise Misfit("only some of its layers have a normalisation")
    sizes, width, parts = tokens.sizes, weights.embed.shape[1], weights.layers[0].query.shape[1]
    if parts % heads:
        raise Misfit(f"its {parts} dimensions of queries are no multiple of {heads} heads")
    has_bias = weights.bias is not None or any(bias is not None for layer in weights.layers for bias in layer.biases)
    model = Transformer(
        sizes.residues,
        sizes.classes,
        width=width,
        depth=len(weights.layers),
        norm="layer" if weights.norms else "none",
        heads=heads,
        mlp_width=weights.layers[0].expand.shape[1],
        bias=has_bias,
        head_width=None if parts == width else parts // heads,
        equals=tokens.equals is not None,
    )
    behind = 'no token for "="' if tokens.equals is None else '"=" as a position of its own'
    behind = behind if tokens.equals is None or gelu == "gelu" else f'"=" as token {tokens.equals}'
    usual = [gelu if name == "gelu-exact" else name for name in ACTIVATIONS]
    filled = with_zeros(weights) if has_bias else weights
    return with_activations(model, filled, f"{words}, {behind}", said.activations(usual))


@dataclass(frozen=True)
class Layout:
    """A layout: the names that it is known by, what it is called, and its reader."""

    words: str
    marks: frozenset[str]
    read: Callable[[TensorsByName, Said], list[Reading]]


def blocks(tensors: TensorsByName, said: Said) -> list[Reading]:
    """HookedTransformer's layout, or the transposed one, whose W_O is a matrix and whose W_E has a column a token."""
    output, embed, positions = (tensors.get(name) for name in ("blocks.0.attn.W_O", "embed.W_E", "pos_embed.W_pos"))
    if output is not None:
        return read_blocks(tensors, said, transposed=output.ndim == 2)
    wide = embed is not None and positions is not None and embed.shape[0] == positions.shape[-1] != embed.shape[-1]
    return read_blocks(tensors, said, transposed=wide)


LAYOUTS = (
    Layout("a transformer with HookedTransformer's names", frozenset({"embed.W_E"}), blocks),
    Layout("a transformer with HookedTransformer's names", frozenset({"unembed.W_U"}), blocks),
    Layout("modgrok's own transformer", frozenset({"embed", "positions"}), own),
    Layout("modgrok's own transformer", frozenset({"embed", "layers.0.query"}), own),
)
