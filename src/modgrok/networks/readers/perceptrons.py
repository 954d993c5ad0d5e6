"""State dicts of MLPs and x² networks, by their shapes: a beginning that reads residues, layers, a readout.

Whatever a first layer reads, its weights on residue n of variable v are one vector, the embedding of ours:

    one-hots side by side      embed[v, n] = W[:, v·p + n]
    one-hots added             embed[v, n] = W[:, n]
    embeddings side by side    embed[v, n] = W[:, v·d … (v+1)·d] E[n]
    embeddings added           embed[v, n] = W E[n]
    embeddings alone           embed[v, n] = E[n], or E_v[n]

A matrix whose name ends in `weight` is one of torch's layers, (outputs, inputs), but for an embedding; others have
their inputs first where the shape allows that.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from jaxtyping import Float

from modgrok.networks.circuit import Expert, Weights
from modgrok.networks.models import Mlp, Power
from modgrok.networks.models.mlp import MlpWeights
from modgrok.networks.readers.asking import Sizes
from modgrok.networks.readers.layouts import Reading, Said, TensorsByName, weight_of, with_activations

ACTIVATIONS = ("relu", "square", "gelu-exact", "tanh")
MOST_MATRICES = 8
FIRST, LAST = (
    re.compile(r"emb|W_E\b|wte|tok", re.IGNORECASE),
    re.compile(r"unemb|readout|W_U\b|head|out|final|last", re.I),
)


@dataclass(frozen=True, eq=False)
class Beginning:
    """What reads the residues: the embedding of ours, what it is called, and the matrices that it was made of.

    `layer` is the one of them whose bias is added, if any.
    """

    embed: Float[np.ndarray, "variable p width"]
    words: str
    used: tuple[str, ...]
    layer: str


@dataclass(frozen=True, eq=False)
class Chain:
    """A whole reading: the beginning, hidden matrices and the readout (inputs first), with the names of all."""

    beginning: Beginning
    names: tuple[str, ...]
    matrices: tuple[np.ndarray, ...]


def perceptron_readings(tensors: TensorsByName, said: Said) -> list[Reading]:
    """Every MLP that these tensors can be; nothing where there is none."""
    matrices = {name: tensors[name] for name in sorted(tensors, key=natural) if tensors[name].ndim in (2, 3)}
    vectors = {name: tensors[name] for name in sorted(tensors, key=natural) if tensors[name].ndim == 1}
    if not 2 <= len(matrices) <= MOST_MATRICES or len(matrices) + len(vectors) != len(tensors):
        return []
    found = [(sizes, chain) for sizes in possible_sizes(matrices, said) for chain in chains(matrices, sizes)]
    fitting = [each for each in found if agrees(each[1])] or found
    return [reading for sizes, chain in fitting for reading in finished(chain, vectors, sizes, said)]


def natural(name: str) -> tuple[tuple[int, int | str], ...]:
    """Names in the order that people count in: layer 2 before layer 10."""
    parts = re.split(r"(\d+)", name)
    return tuple((0, int(part)) if part.isdigit() else (1, part) for part in parts if part)


def possible_sizes(matrices: TensorsByName, said: Said) -> list[Sizes]:
    """The sizes that were said, or all moduli that some axis of some matrix can be."""
    if said.sizes is not None:
        return [said.sizes]
    lengths = {length for matrix in matrices.values() for length in matrix.shape[-2:]}
    moduli = sorted({value for length in lengths for value in (length, length - 1) if value >= 2})
    return [said.of(modulus) for modulus in moduli]


def chains(matrices: TensorsByName, sizes: Sizes) -> Iterator[Chain]:
    """Every way from residues to classes through all matrices; those that go against the names only if none else.

    None goes through what is called an embedding later on: a wrong modulus would find its way there.
    """
    found = [
        Chain(start, (start.layer, *names), tuple(path))
        for start in beginnings(matrices, sizes)
        for names, path in paths(
            {name: matrix for name, matrix in matrices.items() if name not in start.used}, start.embed.shape[2], sizes
        )
    ]
    found = [chain for chain in found if not any(map(embedding, chain.names[1:]))]
    fitting = [chain for chain in found if agrees(chain)] or found
    embedded = {chain.beginning.used[0] for chain in fitting if len(chain.beginning.used) > 1}
    yield from [chain for chain in fitting if not activated_embedding(chain, embedded)]


def activated_embedding(chain: Chain, embedded: set[str]) -> bool:
    """Whether what is called an embedding would be a first layer, though there is a layer that can read it."""
    (first, *others) = chain.beginning.used
    return not others and first in embedded and FIRST.search(first) is not None


def embedding(name: str) -> bool:
    return FIRST.search(name) is not None and LAST.search(name) is None


def agrees(chain: Chain) -> bool:
    """Whether no name that is that of a readout stands early."""
    begin, rest = chain.beginning.used, chain.names[1:]
    return any(LAST.search(name) for name in rest) or not any(LAST.search(name) for name in begin)


def beginnings(matrices: TensorsByName, sizes: Sizes) -> Iterator[Beginning]:
    """Every beginning that the shapes allow."""
    values, variables = max(sizes.residues), len(sizes.residues)
    for name, matrix in matrices.items():
        if matrix.ndim == 3 and matrix.shape[:2] == (variables, values):
            yield Beginning(matrix, "an embedding for each variable", (name,), name)
    plain = {name: matrix for name, matrix in matrices.items() if matrix.ndim == 2}
    for name, matrix in plain.items():
        for layer in inputs_first(name, matrix):
            if layer.shape[0] == sum(sizes.residues) and variables > 1:
                yield Beginning(split(layer, sizes), "one-hots side by side", (name,), name)
            elif layer.shape[0] in (values, values + 1) and variables > 1:
                yield Beginning(np.repeat(layer[None, :values], variables, axis=0), "one-hots added", (name,), name)
    tables = [name for name, matrix in plain.items() if matrix.shape[0] in (values, values + 1)]
    for name in tables:
        yield from on_embeddings(plain, (name,) * variables, sizes)
    for first, second in pairwise(tables):
        if variables == 2 and plain[first].shape == plain[second].shape:
            both = np.stack([plain[first][:values], plain[second][:values]])
            yield Beginning(both, "an embedding for each variable", (first, second), first)
            yield from on_embeddings(plain, (first, second), sizes)


def on_embeddings(plain: TensorsByName, names: tuple[str, ...], sizes: Sizes) -> Iterator[Beginning]:
    """A first layer on embeddings, side by side or added; alone they were given as one-hots added already."""
    values, used = max(sizes.residues), tuple(dict.fromkeys(names))
    embeddings = [plain[name][:values].astype(np.float64) for name in names]
    width = embeddings[0].shape[1]
    for name in (name for name in plain if name not in names):
        for layer in inputs_first(name, plain[name]):
            if layer.shape[0] == len(names) * width:
                parts = np.split(layer.astype(np.float64), len(names))
                embed = np.stack([table @ part for table, part in zip(embeddings, parts, strict=True)])
                yield Beginning(embed.astype(layer.dtype), "embeddings side by side", (*used, name), name)
            elif layer.shape[0] == width:
                embed = np.stack([table @ layer.astype(np.float64) for table in embeddings])
                yield Beginning(embed.astype(layer.dtype), "embeddings added", (*used, name), name)


def inputs_first(name: str, matrix: np.ndarray) -> Sequence[np.ndarray]:
    """A matrix with its inputs first; both ways where its name does not say which they are, unless it is square."""
    if name.endswith("weight") and not FIRST.search(name):
        return (matrix.T,)
    return (matrix,) if matrix.shape[0] == matrix.shape[1] else (matrix, matrix.T)


def split(layer: Float[np.ndarray, "one_hot width"], sizes: Sizes) -> Float[np.ndarray, "variable p width"]:
    """The rows of each variable's one-hots, filled up with zeros where it has fewer values than others."""
    parts = np.split(layer, np.cumsum(sizes.residues)[:-1])
    longest = max(sizes.residues)
    return np.stack([np.pad(part, ((0, longest - len(part)), (0, 0))) for part in parts])


def paths(
    matrices: TensorsByName, width: int, sizes: Sizes
) -> Iterator[tuple[tuple[str, ...], tuple[np.ndarray, ...]]]:
    """Every order of all matrices in which each reads what the one before it gives, and the last gives classes.

    Matrices of one shape stand in the order of their names.
    """
    seen: set[tuple[int, ...]] = set()
    for name, matrix in matrices.items():
        if matrix.ndim != 2 or matrix.shape in seen:
            continue
        seen.add(matrix.shape)
        rest = {other: tensor for other, tensor in matrices.items() if other != name}
        for layer in inputs_first(name, matrix):
            if layer.shape[0] != width:
                continue
            if rest:
                for names, following in paths(rest, layer.shape[1], sizes):
                    yield (name, *names), (layer, *following)
            elif layer.shape[1] in (sizes.classes, sizes.classes + 1):
                yield (name,), (layer,)


def finished(chain: Chain, vectors: TensorsByName, sizes: Sizes, said: Said) -> list[Reading]:
    """The models of a chain with each activation; nothing if its biases do not fit."""
    *hidden, readout = chain.matrices
    layers = [chain.beginning.embed.shape[2], *(matrix.shape[1] for matrix in hidden)]
    biases = biases_of(chain.names, vectors, [*layers, readout.shape[1]])
    if biases is None:
        return []
    embed = np.ascontiguousarray(chain.beginning.embed)
    words = f"{chain.beginning.words}, {len(layers) + 1} layers"
    model = Mlp(
        sizes.residues,
        sizes.classes,
        width=layers[0],
        depth=len(layers) + 1,
        bias=bool(biases),
        widths=() if len(set(layers)) == 1 else tuple(layers),
    )
    weights = MlpWeights(embed, tuple(map(np.ascontiguousarray, hidden)), (), np.ascontiguousarray(readout), biases)
    names = said.activations(ACTIVATIONS)
    found = with_activations(model, weights, words, [name for name in names if name != "square" or biases or hidden])
    if "square" in names and not biases and not hidden:
        exponents = sorted({2, len(sizes.residues)})
        bare = not any(name.endswith("weight") for name in chain.names)  # an embedding and a readout, no torch layers
        weight = 1.0 if bare else weight_of("square", names)
        found += [
            power(embed, weights.readout, sizes, exponent, words)._replace(weight=weight) for exponent in exponents
        ]
    return found


def power(embed: np.ndarray, readout: Weights, sizes: Sizes, exponent: int, words: str) -> Reading:
    """Two layers without biases and x² between them: the paper's network."""
    model = Power(sizes.residues, sizes.classes, width=embed.shape[2], power=exponent)
    return Reading(model, Expert(embed, readout, exponent), f"{words}, x^{exponent}")


def biases_of(names: Sequence[str], vectors: TensorsByName, layers: Sequence[int]) -> tuple[np.ndarray, ...] | None:
    """A bias for each layer, 0 where only others have one; none where there are none, None if some fit no layer.

    A bias belongs to the layer of its name (`fc1.bias` to `fc1.weight`), else to the next layer of its length.
    """
    if not vectors:
        return ()
    left, found = dict(vectors), list[np.ndarray]()
    kind = next(iter(vectors.values())).dtype
    for name, length in zip(names, layers, strict=True):
        fits = [other for other in left if left[other].shape[0] == length]
        own = [other for other in fits if stem(other) == stem(name)]
        bare = [other for other in fits if not any(stem(other) == stem(each) for each in names)]
        taken = [left.pop(other) for other in (own or bare)[:1]] or [np.zeros(length, kind)]
        found.append(taken[0])
    return None if left else tuple(found)


def stem(name: str) -> str:
    """The layer that a tensor belongs to, by its name."""
    return re.sub(r"(weight|kernel|bias|[Ww]_?(?=\w*$)|b_?(?=\w*$))", "", name.rpartition(".")[0] or name)
