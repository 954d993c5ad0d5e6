"""modgrok verify: a network against integer arithmetic."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from rich.console import Console

from modgrok.commands.common import facts_table, network_json, verification_facts, verification_json
from modgrok.networks.network import load
from modgrok.networks.verification import verify
from modgrok.progress import progress_bar


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("network", type=Path, help="a .safetensors file, or the folder of a training run")
    parser.add_argument("--sample", type=int, metavar="N", help="check N random rows instead of the whole table")
    parser.add_argument("--seed", type=int, default=0, help="seed of the sample")


def run(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    network = load(args.network)
    with progress_bar(console, "checking rows") as progress:
        found = verify(network, sample=args.sample, seed=args.seed, progress=progress)
    return {
        **network_json(network),
        **verification_json(found),
        "seconds": {"verify": found.seconds},
        "exit_code": 0 if found.errors == 0 else 1,
    }


def show(result: dict[str, Any], console: Console) -> None:
    console.print(f"[bold]{result['expression']}[/]  mod {result['modulus']}", highlight=False)
    console.print(facts_table(verification_facts(result)))
