"""modgrok mix: train experts on sums and products, join them, and check the polynomial that none of them has seen."""

from __future__ import annotations

import argparse
import time
from dataclasses import fields
from pathlib import Path

from rich.console import Console
from rich.table import Table

from modgrok.base.printing import facts_table, text_table
from modgrok.base.progress import progress_bar
from modgrok.base.results import percent
from modgrok.commands.common import CheckedNetwork, heading
from modgrok.networks.description import ExpertPlan
from modgrok.networks.verification import verify
from modgrok.training.mixture import TRAINED, MixSettings, mix


def add_arguments(parser: argparse.ArgumentParser) -> None:
    default = MixSettings()
    parser.add_argument("expression", help="a polynomial such as '2n1^4 n2 + n1^2 n2^2 + 3n1 n2^3'")
    parser.add_argument("--mod", type=int, metavar="M", help="the modulus, any number of at least 2")
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
    parser.add_argument(
        "--width", type=int, default=default.width, help=f"neurons of an expert (default {default.width})"
    )
    parser.add_argument("--steps", type=int, default=default.steps, help=f"full-batch steps (default {default.steps})")
    parser.add_argument(
        "--fraction",
        type=float,
        default=default.fraction,
        help="share of its own table that an expert is trained on (what the modulus needs, and more where an expert "
        "did not learn its table from that)",
    )
    parser.add_argument(
        "--learning-rate", type=float, default=default.learning_rate, help=f"of AdamW (default {default.learning_rate})"
    )
    parser.add_argument(
        "--weight-decay", type=float, default=default.weight_decay, help=f"of AdamW (default {default.weight_decay:g})"
    )
    parser.add_argument(
        "--seed", type=int, default=default.seed, help=f"seed of splits and initial weights (default {default.seed})"
    )


def run(args: argparse.Namespace, console: Console) -> CheckedNetwork:
    settings = {field.name: getattr(args, field.name) for field in fields(MixSettings)}
    start = time.perf_counter()
    with progress_bar(console, "compiling, training experts; steps in all") as progress:
        network = mix(args.expression, args.mod, **settings, progress=progress)
    with progress_bar(console, "checking inputs") as progress:
        found = verify(network, progress=progress)
    files = (network.save(args.out),) if args.out else ()
    return CheckedNetwork(network, found, time.perf_counter() - start, files)


def show(result: CheckedNetwork, console: Console, args: argparse.Namespace) -> None:
    network = result.network
    title = f"{network.expression} mod {network.modulus}"
    heading(console, title, f": {network.width:,} hidden neurons, {result.verification.verdict}")
    console.print(experts_table(network.plan))
    facts = result.verification.facts()
    if network.settings["fraction"] is None and (words := shares_words(network.plan, network.modulus)):
        facts["share of the tables"] = words
    if not result.correct:
        facts["advice"] = advice(network.plan)
    if result.files:
        facts["written to"] = str(result.files[0])
    console.print(facts_table(facts))


def experts_table(experts: tuple[ExpertPlan, ...]) -> Table:
    rows = []
    for k, e in enumerate(experts, start=1):
        weights, source = "analytical", "–"
        if e.learned is not None:
            weights, source = "trained", f"{100 * e.learned.fraction:g} % of {e.learned.task}"
        right = percent(e.own_accuracy, 4)
        numbers = (f"{e.margin:.3g}", f"{e.beta:.3g}")
        rows.append((f"e{k}", e.text, ", ".join(e.inputs), weights, source, right, *numbers))
    headings = ("expert", "computes", "reads", "weights", "learned from", "right on its table", "margin", "β")
    return text_table(headings, rows)


def shares_words(experts: tuple[ExpertPlan, ...], modulus: int) -> str:
    """What share of its table each task was learned from, where mix chose it; empty where nothing was trained."""
    shares = {e.learned.task: e.learned.fraction for e in experts if e.learned is not None}
    chosen = "; ".join(f"{percent(share, 0)} of {task}" for task, share in shares.items())
    whole = [task for task, share in shares.items() if share == 1]
    text = f"{chosen} (--fraction sets another share)" if shares else ""
    if whole:
        text += (
            f". No smaller part of the table of {' and '.join(whole)} was enough: modulo {modulus} it has too few "
            "cells to tell the rule from other rules"
        )
    return text


def advice(experts: tuple[ExpertPlan, ...]) -> str:
    """What to do about a network that is wrong somewhere."""
    weak = [f"e{k}" for k, e in enumerate(experts, start=1) if e.own_accuracy is not None and e.own_accuracy < 1]
    if weak:
        return f"{', '.join(weak)} did not learn the whole table: try more --steps, --width or a larger --fraction"
    return "every expert is right on its own table, but the margins are small: try more --steps or --width"
