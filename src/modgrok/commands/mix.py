"""modgrok mix: train experts on sums and products, join them, and check the polynomial that none of them has seen."""

from __future__ import annotations

import argparse
import time
from dataclasses import fields
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from modgrok.commands.common import facts_table, network_json, verification_facts, verification_json
from modgrok.networks.verification import verify
from modgrok.progress import progress_bar
from modgrok.training.mixture import TRAINED, MixSettings, mix


def add_arguments(parser: argparse.ArgumentParser) -> None:
    default = MixSettings()
    parser.add_argument("expression", help="a polynomial such as '2n1^4 n2 + n1^2 n2^2 + 3n1 n2^3'")
    parser.add_argument("--mod", type=int, metavar="P", help="the modulus (a prime wherever variables are multiplied)")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the network to a .safetensors file")
    parser.add_argument(
        "--trained",
        choices=list(TRAINED),
        default=default.trained,
        help="which experts are trained (default all); the others get analytical weights",
    )
    parser.add_argument(
        "--separate",
        action="store_true",
        help="train one expert for each step, instead of one sum and one product that are relabelled for all steps",
    )
    parser.add_argument("--width", type=int, default=default.width, help=f"neurons of an expert ({default.width})")
    parser.add_argument("--steps", type=int, default=default.steps, help=f"full-batch steps ({default.steps})")
    parser.add_argument(
        "--fraction",
        type=float,
        default=default.fraction,
        help=f"share of its own table that an expert is trained on ({default.fraction})",
    )
    parser.add_argument("--learning-rate", type=float, default=default.learning_rate, help="of AdamW")
    parser.add_argument("--weight-decay", type=float, default=default.weight_decay, help="of AdamW")
    parser.add_argument("--seed", type=int, default=default.seed, help="seed of splits and initial weights")


def run(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    settings = MixSettings(**{field.name: getattr(args, field.name) for field in fields(MixSettings)})
    start = time.perf_counter()
    with progress_bar(console, "training experts, network-steps") as progress:
        network = mix(args.expression, args.mod, settings, progress)
    trained = time.perf_counter()
    with progress_bar(console, "checking rows") as progress:
        found = verify(network, progress=progress)
    if args.out:
        network.save(args.out)
    return {
        **network_json(network),
        **verification_json(found),
        "settings": dict(network.settings),
        "file": str(args.out) if args.out else None,
        "seconds": {"train": trained - start, "verify": time.perf_counter() - trained},
        "exit_code": 0 if found.errors == 0 else 1,
    }


def show(result: dict[str, Any], console: Console) -> None:
    console.print(f"[bold]{result['expression']}[/]  mod {result['modulus']}", highlight=False)
    console.print(experts_table(result["experts"]))
    facts = {"hidden neurons": f"{result['width']:,}"} | verification_facts(result)
    if result["errors"]:
        facts["advice"] = advice(result["experts"])
    if result["file"]:
        facts["written to"] = result["file"]
    console.print(facts_table(facts))


def experts_table(experts: list[dict[str, Any]]) -> Table:
    headings = ("expert", "computes", "reads", "weights", "learnt from", "right on its table", "margin", "β")
    table = Table(*headings, box=None, pad_edge=False, header_style="bold")
    for k, step in enumerate(experts, start=1):
        weights, source = "analytical", "–"
        if step["trained"]:
            weights, source = "trained", f"{100 * step['train_fraction']:g} % of {step['task']}"
        right = f"{100 * step['own_accuracy']:.6g} %"
        margin, beta = f"{step['margin']:.3g}", f"{step['beta']:.3g}"
        table.add_row(f"e{k}", step["text"], ", ".join(step["inputs"]), weights, source, right, margin, beta)
    return table


def advice(experts: list[dict[str, Any]]) -> str:
    """What to do about a network that is wrong somewhere."""
    weak = [f"e{k}" for k, step in enumerate(experts, start=1) if step["own_accuracy"] < 1]
    if weak:
        return f"{', '.join(weak)} did not learn the whole table: try more --steps, --width or a larger --fraction"
    return "every expert is right on its own table, but the margins are small: try more --steps or --width"
