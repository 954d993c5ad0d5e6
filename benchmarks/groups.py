"""Do trained networks multiply in groups as the closed form does?

    python benchmarks/groups.py train FOLDER            trains 48 networks, some minutes on a GPU
    python benchmarks/groups.py judge FOLDER            writes benchmarks/results/groups.json
    python benchmarks/groups.py page                    the table in docs/group-networks.md

For S5, A5, D30 and Q8, and for the x² network, a 3-layer ReLU MLP and a one-layer transformer: networks that learn the
table from a part of it, and beside them the same networks untrained, and trained on as many random values instead,
without weight decay: these memorise. Measured is the share of the logits' variance on Σ_ρ A_ρ χ_ρ(a b q⁻¹), by
representation, and of the weights what `modgrok inspect` shows.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
from writing import write_found

from modgrok.algebra.groups import group
from modgrok.base.files import read_json, write_text
from modgrok.inspection.group_view import group_view, logits_shares, share_of
from modgrok.inspection.logits import whole_logits
from modgrok.networks.network import Network
from modgrok.networks.storage import load
from modgrok.training.train import train

WORD = "a b"
FRACTIONS = {"S5": 0.5, "A5": 0.6, "D30": 0.5, "Q8": 1.0}
"""The part of the table that trains; the 64 cells of Q8 are too few to keep some back."""
MODELS: dict[str, dict[str, Any]] = {
    "power": {"steps": 4000},
    "mlp": {"steps": 5000, "depth": 3, "activation": "relu"},
    "transformer": {"steps": 10000},
}
"""Settings that differ from the presets."""
SEEDS = {"trained": (0, 1), "memorised": (0,), "untrained": (0,)}
OUT = Path(__file__).parent / "results" / "groups.json"
PAGE = Path(__file__).parent.parent / "docs" / "group-networks.md"


def trainings(names: list[str]) -> list[tuple[str, str, str, int]]:
    return [(name, model, kind, seed) for name in names for model in MODELS for kind in SEEDS for seed in SEEDS[kind]]


def trained(name: str, model: str, kind: str, seed: int, steps: int | None) -> Network:
    settings = MODELS[model] | {"model": model, "fraction": FRACTIONS[name], "seed": seed, "metrics_every": 500}
    settings["steps"] = {"untrained": 1}.get(kind, steps or settings["steps"])
    if kind == "untrained":
        settings |= {"learning_rate": 1e-12, "metrics_every": 1}
    if kind != "memorised":
        return train(WORD, group=name, live=False, **settings).network
    order = group(name).order
    values = np.random.default_rng(seed).integers(0, order, (order, order))
    return train(values, order, live=False, **settings | {"weight_decay": 0.0}).network


def train_all(folder: Path, names: list[str], steps: int | None) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, model, kind, seed in trainings(names):
        path = folder / f"{name}-{model}-{kind}-{seed}.safetensors"
        if not path.exists():
            start = time.monotonic()
            trained(name, model, kind, seed, steps).save(path)
            print(f"{path.name}: {time.monotonic() - start:.0f} s", flush=True)


def judged(path: Path) -> dict[str, Any]:
    """One row of the result: shares of a network's logits and weights."""
    name, model, kind, seed = path.stem.rsplit("-", 3)
    network, own = load(path), group(name)
    logits, right = whole_logits(network), own.table.reshape(-1)
    shares, code_share, word_share = logits_shares(logits, right, own)
    view = group_view(network)
    neurons = view.neurons if view is not None else None
    rows = logits.argmax(axis=1) == right
    return {
        "group": name,
        "model": model,
        "kind": kind,
        "seed": int(seed),
        "accuracy": float(rows.mean()),
        "closed_form_share": float(shares[1:].sum()),
        "code_share": code_share,
        "word_share": word_share,
        "noise_share": (len(own.representations) - 1) / (len(rows) * (own.order - 1)),
        "by_representation": {
            f"{number}: {rho.title}": float(shares[number])
            for number, rho in enumerate(own.representations)
            if number and shares[number] > 0.01
        },
        "neurons_alive": None if neurons is None else int(neurons.alive.sum()),
        "one_representation_share": None if neurons is None else share_of(neurons.one, neurons.alive),
        "law_median": None if neurons is None else neurons.median_law(),
        "coset_share": None if neurons is None else share_of(neurons.coset_order > 1, neurons.alive),
    }


def judge(folder: Path, out: Path, asked: argparse.Namespace) -> None:
    networks = tuple(sorted(folder.glob("*.safetensors")))
    rows = [judged(path) for path in networks]
    found = {"word": WORD, "fractions": FRACTIONS, "models": MODELS, "rows": rows}
    write_found(__file__, out, found, asked, read=networks)
    for row in rows:
        share, law = row["closed_form_share"], row["law_median"]
        print(f"{row['group']:4} {row['model']:12} {row['kind']:10} right {row['accuracy']:.4f}, closed {share:.4f}"
              f", one representation {row['one_representation_share']}, law {law}")  # fmt: skip


def spread(rows: list[dict[str, Any]], key: str, digits: int = 1) -> str:
    """The smallest and the largest number of some rows, as percentages."""
    found = sorted(100 * row[key] for row in rows if row[key] is not None)
    if not found:
        return "–"
    low, high = f"{found[0]:.{digits}f}", f"{found[-1]:.{digits}f}"
    return f"{low} %" if low == high else f"{low} to {high} %"


def page(rows: list[dict[str, Any]]) -> None:
    """The table between two marks of docs/group-networks.md."""
    heads = ("group", "model", "right", "closed form", "codes", "any function of ab and q", "memorised: closed form",
             "memorised: codes", "neurons of one representation", "law", "constant on cosets")  # fmt: skip
    lines = [f"| {' | '.join(heads)} |", "|---|---|" + "---:|" * (len(heads) - 2)]
    for name in FRACTIONS:
        for model in MODELS:
            mine = [row for row in rows if (row["group"], row["model"]) == (name, model)]
            good, bad = ([row for row in mine if row["kind"] == kind] for kind in ("trained", "memorised"))
            keys = ("accuracy", "closed_form_share", "code_share", "word_share")
            cells = [name, model, *(spread(good, key) for key in keys)]
            cells += [spread(bad, "closed_form_share"), spread(bad, "code_share")]
            cells.append(spread(good, "one_representation_share"))
            laws = [row["law_median"] for row in good if row["law_median"] is not None]
            cells += [f"{min(laws):.3f}" if laws else "–", spread(good, "coset_share")]
            lines.append(f"| {' | '.join(cells)} |")
    before, _, rest = PAGE.read_text().partition("<!-- trained -->\n")
    _, _, after = rest.partition("<!-- end of trained -->\n")
    write_text(PAGE, before + "<!-- trained -->\n" + "\n".join(lines) + "\n<!-- end of trained -->\n" + after)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("do", choices=["train", "judge", "page"])
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--groups", default=",".join(FRACTIONS))
    parser.add_argument("--steps", type=int, help="train so many steps instead, to try it out")
    parser.add_argument("--out", type=Path, default=OUT)
    args = parser.parse_args()
    if args.do == "page":
        page(read_json(args.out)["rows"])
    elif args.do == "train":
        train_all(args.folder, args.groups.split(","), args.steps)
    else:
        judge(args.folder, args.out, args)


if __name__ == "__main__":
    main()
