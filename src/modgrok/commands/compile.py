"""modgrok compile: a polynomial to a network, checked on the spot."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

from rich.console import Console

from modgrok.commands.common import (
    experts_table,
    facts_table,
    network_json,
    progress_bar,
    verification_facts,
    verification_json,
)
from modgrok.compiler import PaperSettings, compile
from modgrok.verification import verify

WHOLE_TABLE = 1 << 20
"""Tables up to this size are checked whole after compiling; larger ones by a sample."""
SAMPLE = 100_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    defaults = PaperSettings()
    parser.add_argument("expression", help="a polynomial such as '2n1^4 n2 + n1^2 n2^2 + 3n1 n2^3'")
    parser.add_argument("--mod", type=int, metavar="P", help="the modulus (a prime wherever variables are multiplied)")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the network to a .safetensors file")
    parser.add_argument("--method", choices=["paper"], default="paper", help="paper: random phases")
    parser.add_argument("--mul-width", type=int, default=defaults.mul_width, help="neurons of a product expert")
    parser.add_argument("--add-width", type=int, default=defaults.add_width, help="neurons of a sum expert")
    parser.add_argument("--beta", type=float, default=defaults.beta, help="inverse temperature between experts")
    parser.add_argument("--seed", type=int, default=defaults.seed, help="seed of the random phases")
    parser.add_argument(
        "--normalisation",
        choices=["printed", "table"],
        default=defaults.normalisation,
        help="amplitude of sum experts: as printed in the paper (correct logit 1), or as its Table 1 was made",
    )
    parser.add_argument("--dtype", choices=["float32", "float64"], default=defaults.dtype, help="type of the weights")
    parser.add_argument("--sample", type=int, metavar="N", help="check N random rows instead of the whole table")


def run(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    start = time.perf_counter()
    settings = ("mul_width", "add_width", "beta", "seed", "normalisation", "dtype")
    network = compile(args.expression, args.mod, **{name: getattr(args, name) for name in settings})
    compiled = time.perf_counter()
    sample = args.sample
    if sample is None and network.modulus**network.circuit.variables > WHOLE_TABLE:
        sample = SAMPLE
    with progress_bar(console, "checking rows") as progress:
        found = verify(network, sample=sample, progress=progress)
    if args.out:
        network.save(args.out)
    return {
        **network_json(network),
        **verification_json(found),
        "settings": dict(network.settings),
        "file": str(args.out) if args.out else None,
        "seconds": {"compile": compiled - start, "verify": found.seconds},
        "exit_code": 0 if found.errors == 0 else 1,
    }


def show(result: dict[str, Any], console: Console) -> None:
    console.print(f"[bold]{result['expression']}[/]  mod {result['modulus']}", highlight=False)
    console.print(experts_table(result["experts"]))
    facts = {"hidden neurons": f"{result['width']:,}", "parameters": f"{result['parameters']:,}"}
    facts |= verification_facts(result)
    if result["file"]:
        facts["written to"] = result["file"]
    console.print(facts_table(facts))
