"""modgrok verify: a network against integer arithmetic."""

from __future__ import annotations

import argparse
from typing import Any

from rich.console import Console

from modgrok.base.printing import facts_table
from modgrok.base.progress import progress_bar
from modgrok.commands.common import CheckedNetwork, add_network, given_network, heading, say_how_read
from modgrok.networks.verification import as_network, verify


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_network(parser)
    parser.add_argument("--sample", type=int, metavar="N", help="check N random inputs instead of the whole table")
    parser.add_argument("--seed", type=int, default=0, help="seed of the sample (default 0)")


def run(args: argparse.Namespace, console: Console) -> CheckedNetwork:
    network = as_network(given_network(args))
    with progress_bar(console, "checking inputs") as progress:
        found = verify(network, sample=args.sample, seed=args.seed, progress=progress)
    return CheckedNetwork(network, found, found.seconds)


def csv_rows(result: CheckedNetwork) -> list[dict[str, Any]]:
    """One row: what was checked, and what was found."""
    return [{"network": result.network.title, **result.verification.to_json()}]


def show(result: CheckedNetwork, console: Console, args: argparse.Namespace) -> None:
    network = result.network
    heading(console, network.title, f", {network.made} {network.model.name}: {result.verification.verdict}")
    say_how_read(console, network)
    console.print(facts_table(result.verification.facts()))
