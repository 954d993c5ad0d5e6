"""Are networks read back right? Grokked ones as foreign files without a word about their function, and ones that have
none.

    modgrok zoo build --out ZOO                       # trains 200: a quarter of an hour of a core; or, larger ones,
    python benchmarks/decompile_zoo.py ZOO            # some minutes of a GPU
    python benchmarks/decompile.py ZOO … [--out FILE] # judges them: some minutes of two cores

Every network is written as somebody else's file: an array of logits, or a state dict (of torch's `Sequential` on
one-hots for MLPs and x² networks, of HookedTransformer for transformers). `mg.wrap` reads that file and `mg.decompile`
says what it computes; all that is said beside a state dict is its activation. Right is the table of the function by
Python's integers, or of the group by tuples (`decompile_zoo`), on every row.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
from decompile_zoo import Entry, model_of, table
from safetensors import safe_open
from safetensors.numpy import save_file

import modgrok as mg
from modgrok.algebra.function import from_table
from modgrok.base.files import write_json
from modgrok.base.provenance import KEY, of_script
from modgrok.networks.network import Network, leaf_name
from modgrok.networks.storage import read_weights

RESULTS = Path(__file__).parent / "results" / "decompile.json"
ENTRY = ("kind", "model", "function", "size", "seed", "fraction", "weight_decay")
FORMS = ("logits", "state dict")
"""In which networks are written, by turns."""
LONGEST_AGREEMENT = 0.99
"""Of the rows on which a twin must answer alike."""


class Judged(NamedTuple):
    """A network that is judged: what it is (`group`, `kind`, `model`, `function`, `size`), and the right table."""

    name: str
    about: dict[str, Any]
    right: np.ndarray
    network: Network


def networks_in(zoo: Path) -> Iterator[Judged]:
    """Those of `modgrok zoo build` that learned or memorised, or the files of `decompile_zoo`."""
    groups = {"learned": "grokked", "memorised": "memorised"}
    if any(zoo.glob("*/truth.json")):
        for each in (each for each in mg.zoo(zoo) if each.truth["outcome"] in groups):
            about = dict(each.truth) | {"group": groups[each.truth["outcome"]]}
            yield Judged(each.name, about, each.table, each.anonymous())
    for path in sorted(zoo.glob("*.safetensors")):
        about, entry, network = read(path)
        yield Judged(path.stem, about, table(entry.function, entry.size), network)


def read(path: Path) -> tuple[dict[str, Any], Entry, Network]:
    """A network of the zoo, and what stands in its header."""
    with safe_open(path, "numpy") as file:
        about = json.loads(file.metadata()["about"])
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    entry = Entry(**{name: about[name] for name in ENTRY})
    model = model_of(entry)
    params = read_weights(model, tensors.__getitem__, leaf_name)
    blank = from_table(np.zeros(model.residues, int), model.classes, "nothing said")
    return about, entry, Network(model, params, blank, "trained")


# --------------------------------------------------------------------------------------------- foreign files


def foreign_file(network: Network, form: str, folder: Path) -> tuple[Path, dict[str, Any]]:
    """The network in a file as others write it, and what `wrap` is told beside it."""
    if form == "logits":
        path, p = folder / "logits.npy", network.model.classes
        np.save(path, network.logits(network.inputs()).reshape(p, p, p))
        return path, {}
    path, name = folder / "weights.safetensors", network.model.name
    made = hooked(network) if name == "transformer" else sequential(network)
    save_file({key: np.ascontiguousarray(values, np.float32) for key, values in made.items()}, path)
    return path, {"activation": "square" if name == "power" else "relu"}


def sequential(network: Network) -> dict[str, np.ndarray]:
    """torch.nn.Sequential(Linear, activation, Linear) on one-hots side by side."""
    params = network.params
    embed = np.asarray(params.embed)
    found = {"0.weight": embed.reshape(-1, embed.shape[2]).T, "2.weight": np.asarray(params.readout).T}
    biases = getattr(params, "biases", ())
    return found | {f"{layer}.bias": np.asarray(bias) for layer, bias in zip((0, 2), biases, strict=False)}


def hooked(network: Network) -> dict[str, np.ndarray]:
    """HookedTransformer's names; "=" is a token whose embedding is zero, since its position says all."""
    params, heads = network.params, network.model.heads  # type: ignore[attr-defined]
    width = network.model.width
    layer = params.layers[0]

    def split(matrix: Any) -> np.ndarray:
        return np.asarray(matrix).reshape(width, heads, -1).transpose(1, 0, 2)

    return {
        "embed.W_E": np.concatenate([np.asarray(params.embed), np.zeros((1, width))]),
        "pos_embed.W_pos": np.asarray(params.positions),
        "blocks.0.attn.W_Q": split(layer.query),
        "blocks.0.attn.W_K": split(layer.key),
        "blocks.0.attn.W_V": split(layer.value),
        "blocks.0.attn.W_O": np.asarray(layer.output).reshape(heads, -1, width),
        "blocks.0.mlp.W_in": np.asarray(layer.expand),
        "blocks.0.mlp.W_out": np.asarray(layer.contract),
        "unembed.W_U": np.asarray(params.readout),
    }


# --------------------------------------------------------------------------------------------------- judging


def judged(given: Judged, form: str) -> dict[str, Any]:
    """What comes of one network."""
    name, about, right, network = given
    with tempfile.TemporaryDirectory() as folder:
        file, told = foreign_file(network, form, Path(folder))
        began = time.perf_counter()
        wrapped = mg.wrap(file, **told)
        found = mg.decompile(wrapped)
        seconds = time.perf_counter() - began
    twin = None if found.twin is None else found.twin.to_json()
    return {
        "name": name,
        **{key: about[key] for key in ("group", "kind", "model", "function", "size")},
        "form": form,
        "read_as": wrapped.model.name,
        "accuracy": float((network.table() == right).mean()),
        "formula": found.formula,
        "family": found.recognised.family,
        "right": found.function is not None and bool((found.function.table == right).all()),
        "agreement": None if twin is None else twin["agreement"],
        "errors": None if twin is None else twin["original_errors"],
        "same_error": None if twin is None else twin["same_error"],
        "made_of": None if twin is None else twin["made_of"],
        "analytical_share": None if found.view is None else found.view.analytical_share,
        "why": found.recognised.why,
        "seconds": round(seconds, 3),
    }


def fresh(zoo: Path, count: int) -> dict[str, dict[str, int]]:
    """Formulas for networks that no rule was made with: untrained ones, and weights in another order."""
    files, found = sorted(zoo.glob("grokked-*.safetensors")), Counter[tuple[str, str]]()
    formulas: Counter[tuple[str, str]] = Counter()
    for k in range(count):
        rng = np.random.default_rng(10_000 + k)
        _, entry, network = read(files[k * 5 % len(files)])
        untrained = network.model.init(np.float32(rng.choice([0.5, 1, 2])), key=jax.random.key(10_000 + k))
        shuffled = jax.tree.map(
            lambda leaf, rng=rng: rng.permutation(np.ravel(leaf)).reshape(leaf.shape), network.params
        )
        for group, weights in (("untrained", untrained), ("shuffled", shuffled)):
            own = replace(network, params=jax.tree.map(np.asarray, weights))
            found[group, entry.model] += 1
            formulas[group, entry.model] += mg.decompile(own).formula is not None
    return {", ".join(kind): {"networks": found[kind], "formulas": formulas[kind]} for kind in sorted(found)}


def is_good(row: dict[str, Any]) -> bool:
    """The right function and a twin that agrees, of a grokked network; no formula, of any other."""
    if row["group"] in ("grokked", "timing"):
        return row["right"] and row["agreement"] is not None and row["agreement"] >= LONGEST_AGREEMENT
    return row["formula"] is None


def counts(rows: list[dict[str, Any]], *keys: str) -> dict[str, dict[str, int]]:
    """How many there are of each kind, and how many are good."""
    total = Counter(", ".join(str(row[key]) for key in keys) for row in rows)
    good = Counter(", ".join(str(row[key]) for key in keys) for row in rows if is_good(row))
    return {kind: {"networks": total[kind], "good": good[kind]} for kind in sorted(total)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("zoo", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--fresh", type=int, default=0, help="so many untrained and shuffled networks of other seeds")
    args = parser.parse_args()
    if args.fresh:
        began = time.perf_counter()
        told = fresh(args.zoo[0], args.fresh)
        write_json(args.out, {"fresh": told, KEY: of_script(began, {"fresh": args.fresh})})
        print(json.dumps(told, indent=1))
        return
    began, rows = time.perf_counter(), list[dict[str, Any]]()
    for k, given in enumerate(each for zoo in args.zoo for each in networks_in(zoo)):
        rows.append(judged(given, FORMS[k % len(FORMS)]))
        row = rows[-1]
        if not is_good(row):
            print(json.dumps(row), flush=True)
        elif k % 20 == 0:
            print(f"{k + 1} networks, {sum(map(is_good, rows))} as they should be", flush=True)
    told = {
        "by_group": counts(rows, "group"),
        "by_kind": counts(rows, "group", "kind"),
        "by_model": counts(rows, "group", "model"),
        "by_form": counts(rows, "group", "form"),
    }
    logs = [log.read_text().split("\n{", 1)[-1] for zoo in args.zoo for log in sorted(zoo.glob("log*.txt"))]
    made = of_script(began, {"zoo": [zoo.name for zoo in args.zoo]})
    write_json(args.out, told | {"trained": [json.loads("{" + log) for log in logs], "rows": rows, KEY: made})
    print(json.dumps(told, indent=1))


if __name__ == "__main__":
    main()
