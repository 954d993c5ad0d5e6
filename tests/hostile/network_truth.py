"""What integers say of a network's rows, and what NumPy computes from its weights."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
from random_words import GROUPS as NAMED, products
from true_certificates import EXPRESSIONS

from modgrok.networks.models import Mlp
from modgrok.networks.network import Network


def answered(network: Network) -> np.ndarray | None:
    """What integers say for each row of the table, below 0 where nobody knows; None for unknown words."""
    if network.function.written is not None:
        return worth(network.function.name, network.function.structure)
    if network.function.tree is None:
        return np.asarray(network.function.table).reshape(-1)
    modulus, text = network.modulus, network.expression.strip()
    function = {"n2 + n1": EXPRESSIONS["n1 + n2"], "n1 + n3": EXPRESSIONS["n1 + n2"]}.get(text, EXPRESSIONS.get(text))
    if function is None:
        return None
    one_variable = text in ("3", "n1^2")
    rows = np.indices(network.model.residues).reshape(network.model.variables, -1).T
    return np.array([(function(*row, 0) if one_variable else function(*row)) % modulus for row in rows.tolist()])


def quaternion(x: int, y: int) -> int:
    """±1, ±i, ±j, ±k are 0, 2; 1, 3; 4, 6; 5, 7, as r = i and s = j have them."""
    units = {0: (0, 0), 2: (1, 0), 1: (0, 1), 3: (1, 1), 4: (0, 2), 6: (1, 2), 5: (0, 3), 7: (1, 3)}
    signs = {(1, 2): (0, 3), (2, 3): (0, 1), (3, 1): (0, 2), (2, 1): (1, 3), (3, 2): (1, 1), (1, 3): (1, 2)}
    (s, a), (t, b) = units[x], units[y]
    sign, unit = (1, 0) if a == b and a else (0, a + b) if not a * b else signs[a, b]
    return next(k for k, value in units.items() if value == ((s + t + sign) % 2, unit))


def permutation(x: int, y: int) -> int:
    found = list(permutations(range(3)))
    return found.index(tuple(found[x][i] for i in found[y]))


GROUPS = {
    "S3": [[permutation(x, y) for y in range(6)] for x in range(6)],
    "Q8": [[quaternion(x, y) for y in range(8)] for x in range(8)],
    **{f"Z{n}": [[(x + y) % n for y in range(n)] for x in range(n)] for n in (4, 5, 6, 8)},
    "Z2^2": [[x ^ y for y in range(4)] for x in range(4)],
}
FOUR = [[0, 0, 0, 0], [0, 1, 2, 3], [0, 2, 3, 1], [0, 3, 1, 2]]
"""Products in the field of four elements, t² = t + 1; sums are x ^ y."""


def worth(name: str, structure: Any) -> np.ndarray | None:
    """What words in small groups and fields are worth on every row; None for those that stand in no list."""
    text, _, place = name.rpartition(" in ")
    table = structure.table.tolist() if getattr(structure, "spelling", "") is None else None
    if place in NAMED:
        table = GROUPS.get(place) or products(place)
    if table is not None and text in ("a b", "b a", "a b a^-1"):
        pairs = [(a, b) for a in range(len(table)) for b in range(len(table))]
        inverse = [row.index(0) for row in table]
        values = {
            "a b": lambda a, b: table[a][b],
            "b a": lambda a, b: table[b][a],
            "a b a^-1": lambda a, b: table[table[a][b]][inverse[a]],
        }
        return np.array([values[text](*pair) for pair in pairs])
    if place == "GF(4)" and text in ("n1 n2 + t", "n1 + n2", "n1 n2"):
        own = {
            "n1 n2 + t": lambda a, b: FOUR[a][b] ^ 2,
            "n1 + n2": lambda a, b: a ^ b,
            "n1 n2": lambda a, b: FOUR[a][b],
        }
        return np.array([own[text](a, b) for a in range(4) for b in range(4)])
    if name in ("n1/n2 mod 5", "n1/n2 in GF(5)"):
        return np.array([a * pow(b, 3, 5) % 5 if b else -1 for a in range(5) for b in range(5)])
    return None


def right_rows(network: Network, answers: np.ndarray, *, flush: bool) -> np.ndarray:
    """Where the right logit leads all others, computed from the weights in their precision."""
    rows = np.indices(network.model.residues).reshape(network.model.variables, -1).T
    with np.errstate(all="ignore"):
        logits = np.array(computed(network, rows, flush))
        places = np.arange(len(rows))
        right = logits[places, answers].copy()
        logits[places, answers] = -np.inf
        return np.asarray(right > logits.max(axis=1))


def computed(network: Network, rows: np.ndarray, flush: bool) -> np.ndarray:
    """Logits, layer by layer; with `flush` whatever falls below the smallest normal number is 0, and β·logit is not
    rounded before the largest is taken from it."""
    params, dtype = network.params, network.dtype
    tiny = np.finfo(dtype).tiny

    def kept(x: np.ndarray) -> np.ndarray:
        x = np.asarray(x, dtype=dtype)
        return np.where(np.abs(x) < tiny, dtype.type(0), x) if flush else x

    def times(x: np.ndarray, matrix: Any) -> np.ndarray:
        if not flush:
            return x @ np.asarray(matrix, dtype=dtype)
        return kept(kept(x[:, :, None] * kept(matrix)[None]).sum(axis=1, dtype=dtype))

    if isinstance(network.model, Mlp):
        x = kept(sum(kept(params.embed)[s][rows[:, s]] for s in range(rows.shape[1])))
        for matrix in (*params.hidden, params.readout):
            x = times(kept(activated(network.model.activation, x)), matrix)
        return x
    circuit = network.circuit
    signals: list[Any] = list(rows.T)
    for k, (expert, wires) in enumerate(zip(circuit.experts, circuit.wires, strict=True)):
        embed = kept(expert.embed)
        read = [signals[wire] for wire in wires]
        parts = [embed[s][x] if x.ndim == 1 else times(x, embed[s][: x.shape[1]]) for s, x in enumerate(read)]
        x = kept(sum(parts[1:], start=parts[0]))
        raised = x
        for _ in range(int(expert.power) - 1):
            raised = kept(raised * x)
        logits = times(raised, expert.readout)
        if k + 1 == len(circuit.experts):
            return logits
        scaled_ = kept(kept(circuit.betas)[k] * logits)
        shifted = scaled_ - scaled_.max(axis=1, keepdims=True)
        if flush:  # and where a product need not be rounded before something is taken from it, it is not
            wide = np.longdouble if dtype == np.float64 else np.float64
            product = np.asarray(circuit.betas)[k].astype(wide) * logits.astype(wide)
            shifted = product - scaled_.max(axis=1, keepdims=True)
        mass = kept(np.exp(kept(shifted)))
        signals.append(kept(mass / mass.sum(axis=1, keepdims=True)))
    raise AssertionError("a circuit has experts")


def activated(name: str, x: np.ndarray) -> np.ndarray:
    if name == "relu":
        return np.maximum(x, 0)
    if name == "square":
        return x * x
    half, root = x.dtype.type(0.5), x.dtype.type(np.sqrt(2 / np.pi))
    return half * x * (1 + np.tanh(root * (x + x.dtype.type(0.044715) * x**3)))
