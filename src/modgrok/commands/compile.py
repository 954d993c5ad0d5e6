"""modgrok compile: a polynomial, or a table with a witness, to a network, checked on the spot."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

from modgrok.base.printing import facts_table, text_table
from modgrok.base.progress import progress_bar
from modgrok.commands.common import CheckedNetwork, add_function, given_function, heading, structure_given
from modgrok.compiler.compiling import DTYPES, METHODS, ExactSettings, PaperSettings, compile
from modgrok.networks.description import ExpertPlan
from modgrok.networks.network import Network
from modgrok.networks.verification import proved_whole, verify
from modgrok.separable.verdict import group_text, in_symbols

WHOLE_ROWS, WHOLE_WORK = 1 << 20, 1 << 39
"""Tables of up to so many rows, and rows times weights, are checked whole after compiling; larger ones by a sample."""
SAMPLE, SAMPLE_WORK = 100_000, 1 << 36
SETTINGS = ("frequencies", "dtype", "mul_width", "add_width", "beta", "normalisation", "seed")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    exact, paper = ExactSettings(), PaperSettings()
    add_function(parser, "a polynomial such as '2n1^4 n2 + n1^2 n2^2 + 3n1 n2^3'")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the network to a .safetensors file")
    parser.add_argument("--explain", action="store_true", help="print the plan with groups, frequencies and margins")
    parser.add_argument("--sample", type=int, metavar="N", help="check N random inputs instead of the whole table")
    parser.add_argument(
        "--method",
        choices=list(METHODS),
        default="exact",
        help="exact: designed phases, no error, proved (default); paper: random phases, as published",
    )
    parser.add_argument(
        "--dtype", choices=DTYPES, help=f"type of the weights (exact: {exact.dtype}, paper: {paper.dtype})"
    )
    one = parser.add_argument_group("settings of --method exact")
    one.add_argument(
        "--frequencies",
        type=lambda text: int(text) if text.lstrip("-").isdigit() else text,
        metavar="all|minimal|K",
        help="all: exact one-hot outputs (default); minimal: the fewest neurons that are right everywhere (default in "
        "groups that are not cyclic, in fields, and for tables that are looked up); or how many frequencies to use "
        "(in groups: how many numbers a code has, see docs/group-networks.md)",
    )
    two = parser.add_argument_group("settings of --method paper")
    two.add_argument("--mul-width", type=int, metavar="N", help=f"neurons of a product expert ({paper.mul_width})")
    two.add_argument("--add-width", type=int, metavar="N", help=f"neurons of a sum expert ({paper.add_width})")
    two.add_argument("--beta", type=float, help=f"inverse temperature between experts ({paper.beta:g})")
    two.add_argument("--seed", type=int, help=f"seed of the random phases ({paper.seed})")
    two.add_argument(
        "--normalisation",
        choices=["printed", "table"],
        help="amplitude of sum experts: as printed in the paper (default), or as its Table 1 was made",
    )


def default_sample(network: Network) -> int | None:
    """How many rows to check if the user does not say: all (None) where that takes seconds."""
    if network.rows <= WHOLE_ROWS and network.rows * network.parameters <= WHOLE_WORK:
        return None
    return max(1000, min(SAMPLE, SAMPLE_WORK // network.parameters))


def run(args: argparse.Namespace, console: Console) -> CheckedNetwork:
    start = time.perf_counter()
    settings = {name: getattr(args, name) for name in SETTINGS}
    function = given_function(args, "compile")
    network = compile(function, args.mod, **structure_given(args), method=args.method, **settings)
    sample = default_sample(network) if args.sample is None else args.sample
    if sample is not None and args.sample is None and network.proof is not None and network.proof.holds:
        found = proved_whole(network, time.perf_counter())
    else:
        with progress_bar(console, "checking inputs") as progress:
            found = verify(network, sample=sample, progress=progress)
    files = (network.save(args.out),) if args.out else ()
    return CheckedNetwork(network, found, time.perf_counter() - start, files)


def show(result: CheckedNetwork, console: Console, args: argparse.Namespace) -> None:
    network = result.network
    heading(
        console,
        network.title,
        f": {network.width:,} hidden neuron{'s' * (network.width != 1)}, {result.verification.verdict}",
    )
    console.print(plan_table(network.plan) if args.explain else experts_table(network.plan))
    facts = {"parameters": f"{network.parameters:,}"} | result.verification.facts()
    if network.notes:
        facts["notes" if len(network.notes) > 1 else "note"] = "\n".join(network.notes)
    if network.function.read_as:
        facts = {"read as": network.function.read_as} | facts
    if result.files:
        facts["written to"] = str(result.files[0])
    console.print(facts_table(facts))


def experts_table(experts: tuple[ExpertPlan, ...]) -> Table:
    return text_table(
        ("expert", "kind", "computes", "reads", "neurons"),
        [(f"e{k}", e.kind, e.text, ", ".join(e.inputs), str(e.width)) for k, e in enumerate(experts, start=1)],
    )


def plan_table(experts: tuple[ExpertPlan, ...]) -> Table:
    """Every expert with its group, frequencies, margin and inverse temperature."""
    rows = []
    for k, e in enumerate(experts, start=1):
        cyclic = "" if e.group_order is None else in_symbols(group_text(e.group_order, e.absorbing))
        group = f"order {e.group_order}" if e.kind == "group" else cyclic
        known = "" if e.frequencies is None else ", ".join(map(str, e.frequencies))
        few = e.frequencies is not None and len(e.frequencies) < 4
        frequencies = "random" if e.frequencies is None else known if few else str(len(e.frequencies))
        margin, beta = ("" if number is None else f"{number:.3g}" for number in (e.margin, e.beta))
        rows.append((f"e{k}", e.text, ", ".join(e.inputs), group, frequencies, str(e.width), margin, beta))
    return text_table(("expert", "computes", "reads", "group", "freq.", "neurons", "margin", "β"), rows)
