"""State dicts as other people's code writes them, and what they compute, in plain NumPy: the oracle of the readers.

Each layout is a function that gives random weights by their names and a function from rows to logits, written from the
formulas of the code it stands for, token by token.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

P = 7


def relu(x):
    return np.maximum(x, 0)


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def random(rng, *shape):
    return (rng.normal(size=shape) * 0.6).astype(np.float32)


def hooked(rng, *, p=P, layers=1, width=8, heads=2, part=4, neurons=12, classes=None, biases=False, norms=False):
    """HookedTransformer's names and axes; tokens 0 … p-1 and "=" as p, three positions."""
    vocabulary, classes = p + 1, classes or p
    w = {"embed.W_E": random(rng, vocabulary, width), "pos_embed.W_pos": random(rng, 3, width)}
    for k in range(layers):
        lead = f"blocks.{k}."
        w |= {f"{lead}attn.W_{name}": random(rng, heads, width, part) for name in "QKV"}
        w |= {f"{lead}attn.W_O": random(rng, heads, part, width)}
        w |= {f"{lead}mlp.W_in": random(rng, width, neurons), f"{lead}mlp.W_out": random(rng, neurons, width)}
        if biases:
            w |= {f"{lead}attn.b_{name}": random(rng, heads, part) for name in "QKV"}
            w |= {f"{lead}attn.b_O": random(rng, width), f"{lead}mlp.b_in": random(rng, neurons)}
            w |= {f"{lead}mlp.b_out": random(rng, width)}
            w |= {f"{lead}attn.mask": np.tril(np.ones((3, 3), bool)), f"{lead}attn.IGNORE": np.array(-np.inf, "f4")}
        if norms:
            w |= {f"{lead}ln{n}.{name}": 1 + random(rng, width) for n in (1, 2) for name in "wb"}
    if norms:
        w |= {f"ln_final.{name}": 1 + random(rng, width) for name in "wb"}
    w |= {"unembed.W_U": random(rng, width, classes)}
    if biases:
        w |= {"unembed.b_U": random(rng, classes)}
    return w, lambda rows: hooked_logits(w, rows, p, layers)[:, :p]


def hooked_logits(w, rows, p, layers):
    """The forward pass of HookedTransformer, one row and one head at a time."""

    def normed(x, name):
        if f"{name}.w" not in w:
            return x
        deviation = np.sqrt(((x - x.mean(-1, keepdims=True)) ** 2).mean(-1, keepdims=True) + 1e-5)
        return (x - x.mean(-1, keepdims=True)) / deviation * w[f"{name}.w"] + w[f"{name}.b"]

    out = []
    for row in rows:
        x = w["embed.W_E"][[*row, p]].astype(float) + w["pos_embed.W_pos"]
        for k in range(layers):
            lead = f"blocks.{k}."
            h, added = normed(x, f"{lead}ln1"), w.get(f"{lead}attn.b_O", 0) + np.zeros_like(x)
            for head in range(len(w[f"{lead}attn.W_Q"])):
                q, key, v = (
                    h @ w[f"{lead}attn.W_{name}"][head]
                    + (w[f"{lead}attn.b_{name}"][head] if f"{lead}attn.b_Q" in w else 0)
                    for name in "QKV"
                )
                scores = np.where(np.tri(3, dtype=bool), q @ key.T / np.sqrt(q.shape[1]), -np.inf)
                added = added + softmax(scores) @ v @ w[f"{lead}attn.W_O"][head]
            x = x + added
            hidden = relu(normed(x, f"{lead}ln2") @ w[f"{lead}mlp.W_in"] + w.get(f"{lead}mlp.b_in", 0))
            x = x + hidden @ w[f"{lead}mlp.W_out"] + w.get(f"{lead}mlp.b_out", 0)
        out.append(normed(x, "ln_final")[-1] @ w["unembed.W_U"] + w.get("unembed.b_U", 0))
    return np.array(out)


def transposed(rng, *, p=P, width=8, heads=2, neurons=12):
    """The first progress-measures code: most matrices the other way round, one W_O for all heads, p + 1 classes."""
    part = width // heads
    w = {"embed.W_E": random(rng, width, p + 1), "pos_embed.W_pos": random(rng, 3, width)}
    w |= {f"blocks.0.attn.W_{name}": random(rng, heads, part, width) for name in "KQV"}
    w |= {"blocks.0.attn.W_O": random(rng, width, heads * part), "blocks.0.attn.mask": np.tril(np.ones((3, 3), "f4"))}
    w |= {"blocks.0.mlp.W_in": random(rng, neurons, width), "blocks.0.mlp.b_in": random(rng, neurons)}
    w |= {"blocks.0.mlp.W_out": random(rng, width, neurons), "blocks.0.mlp.b_out": random(rng, width)}
    w |= {"unembed.W_U": random(rng, width, p + 1)}

    def logits(rows):
        tokens = np.concatenate([rows, np.full((len(rows), 1), p)], axis=1)
        x = np.einsum("dbp->bpd", w["embed.W_E"][:, tokens]).astype(float) + w["pos_embed.W_pos"]
        k, q, v = (np.einsum("ihd,bpd->biph", w[f"blocks.0.attn.W_{name}"], x) for name in "KQV")
        scores = np.einsum("biph,biqh->biqp", k, q)
        shares = softmax(np.where(np.tri(3, dtype=bool), scores, -1e10) / np.sqrt(part))
        z = np.einsum("biph,biqp->biqh", v, shares)
        flat = np.moveaxis(z, 1, 2).reshape(len(rows), 3, heads * part)
        x = x + np.einsum("df,bqf->bqd", w["blocks.0.attn.W_O"], flat)
        hidden = relu(np.einsum("md,bpd->bpm", w["blocks.0.mlp.W_in"], x) + w["blocks.0.mlp.b_in"])
        x = x + np.einsum("dm,bpm->bpd", w["blocks.0.mlp.W_out"], hidden) + w["blocks.0.mlp.b_out"]
        return (x @ w["unembed.W_U"])[:, -1, :p]

    return w, logits


def one_hots(rows, p):
    return np.concatenate([np.eye(p)[rows[:, 0]], np.eye(p)[rows[:, 1]]], axis=1)


def on_one_hots(rng, *, p=P, widths=(12,), bias=True, act=relu):
    """torch.nn.Sequential of linear layers on one-hots side by side: layers 0, 2, …"""
    sizes = (2 * p, *widths, p)
    w = {}
    for k, (before, after) in enumerate(pairwise(sizes)):
        w[f"{2 * k}.weight"] = random(rng, after, before)
        if bias:
            w[f"{2 * k}.bias"] = random(rng, after)

    def logits(rows):
        x = one_hots(rows, p)
        for k in range(len(widths) + 1):
            x = (x if k == 0 else act(x)) @ w[f"{2 * k}.weight"].T + w.get(f"{2 * k}.bias", 0)
        return x

    return w, logits


def on_embeddings(rng, *, p=P, d=5, width=12, added=False, tokens=None, bias=True, two=False, act=relu):
    """An embedding, concatenated or added, a hidden layer and a readout, as torch names them."""
    names = ("embed_a", "embed_b") if two else ("embedding",)
    w = {f"{name}.weight": random(rng, tokens or p, d) for name in names}
    w |= {"fc1.weight": random(rng, width, d if added else 2 * d), "fc2.weight": random(rng, p, width)}
    if bias:
        w |= {"fc1.bias": random(rng, width), "fc2.bias": random(rng, p)}

    def logits(rows):
        tables = [w[f"{name}.weight"].astype(float) for name in (names if two else names * 2)]
        parts = [table[rows[:, v]] for v, table in enumerate(tables)]
        x = sum(parts) if added else np.concatenate(parts, axis=1)
        hidden = act(x @ w["fc1.weight"].T + w.get("fc1.bias", 0))
        return hidden @ w["fc2.weight"].T + w.get("fc2.bias", 0)

    return w, logits


def squares(rng, *, p=P, width=12, names=("embedding", "readout"), shared=False, torch_like=False):
    """(E1[n1] + E2[n2])² R: an embedding for each variable, or one for both."""
    w = {names[0]: random(rng, p, width) if shared else random(rng, 2, p, width), names[1]: random(rng, width, p)}
    if torch_like:
        w = {f"{names[0]}.weight": w[names[0]], f"{names[1]}.weight": w[names[1]].T.copy()}

    def logits(rows):
        embed = next(iter(w.values())).astype(float)
        first, second = (embed, embed) if shared else embed
        readout = list(w.values())[1].T if torch_like else list(w.values())[1]
        return (first[rows[:, 0]] + second[rows[:, 1]]) ** 2 @ readout

    return w, logits


LAYOUTS = {
    "hooked": lambda rng: hooked(rng),
    "hooked with biases": lambda rng: hooked(rng, layers=2, biases=True),
    "hooked with norms": lambda rng: hooked(rng, biases=True, norms=True),
    "hooked with wide heads and p + 1 classes": lambda rng: hooked(rng, heads=3, part=5, classes=P + 1),
    "transposed": lambda rng: transposed(rng),
    "one-hots, two layers": lambda rng: on_one_hots(rng),
    "one-hots, three layers": lambda rng: on_one_hots(rng, widths=(12, 9)),
    "one-hots, three square layers": lambda rng: on_one_hots(rng, widths=(10, 10, 10), bias=False),
    "embeddings concatenated": lambda rng: on_embeddings(rng),
    "embeddings concatenated, p + 1 tokens": lambda rng: on_embeddings(rng, tokens=P + 1, bias=False),
    "embeddings added": lambda rng: on_embeddings(rng, added=True),
    "two embeddings added": lambda rng: on_embeddings(rng, added=True, two=True),
    "two embeddings concatenated": lambda rng: on_embeddings(rng, two=True, bias=False),
}
"""With ReLU, whose activation must be said where weights are random: a network that learned nothing is never sure."""
