"""modgrok compile: a polynomial to a network, checked on the spot."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from modgrok.commands.common import (
    experts_table,
    facts_table,
    network_json,
    verification_facts,
    verification_json,
)
from modgrok.compiler.compiling import DTYPES, METHODS, ExactSettings, PaperSettings, compile
from modgrok.errors import InputError
from modgrok.networks.network import Network
from modgrok.networks.verification import verify
from modgrok.progress import progress_bar

WHOLE_ROWS, WHOLE_WORK = 1 << 20, 1 << 39
"""Tables of up to so many rows, and rows times weights, are checked whole after compiling; larger ones by a sample."""
SAMPLE, SAMPLE_WORK = 100_000, 1 << 36
SETTINGS = {
    "exact": ("frequencies", "dtype"),
    "paper": ("mul_width", "add_width", "beta", "normalisation", "seed", "dtype"),
}
"""The flags that belong to each method; one that is not given keeps the method's own default."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    exact, paper = ExactSettings(), PaperSettings()
    parser.add_argument("expression", help="a polynomial such as '2n1^4 n2 + n1^2 n2^2 + 3n1 n2^3'")
    parser.add_argument("--mod", type=int, metavar="P", help="the modulus (a prime wherever variables are multiplied)")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the network to a .safetensors file")
    parser.add_argument("--explain", action="store_true", help="print the plan with groups, frequencies and margins")
    parser.add_argument("--sample", type=int, metavar="N", help="check N random rows instead of the whole table")
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
        type=_frequencies,
        metavar="all|minimal|K",
        help="all: exact one-hot outputs (default); minimal: fewest neurons that are right everywhere; or a number",
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


def _frequencies(text: str) -> str | int:
    return int(text) if text.lstrip("-").isdigit() else text


def given_settings(args: argparse.Namespace) -> dict[str, Any]:
    """The settings of the chosen method that were given; an `InputError` for one of the other method."""
    allowed = SETTINGS[args.method]
    for name in {name for names in SETTINGS.values() for name in names} - set(allowed):
        if getattr(args, name) is not None:
            other = next(method for method, names in SETTINGS.items() if name in names)
            flag = "--" + name.replace("_", "-")
            raise InputError(
                f"{flag} belongs to --method {other}, but the method is {args.method}; give one or the other"
            )
    return {name: getattr(args, name) for name in allowed if getattr(args, name) is not None}


def default_sample(network: Network) -> int | None:
    """How many rows to check if the user does not say: all (None) where that takes seconds."""
    rows, weights = network.modulus**network.circuit.variables, network.circuit.parameters
    if rows <= WHOLE_ROWS and rows * weights <= WHOLE_WORK:
        return None
    return max(1000, min(SAMPLE, SAMPLE_WORK // weights))


def run(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    start = time.perf_counter()
    network = compile(args.expression, args.mod, method=args.method, **given_settings(args))
    compiled = time.perf_counter()
    sample = default_sample(network) if args.sample is None else args.sample
    with progress_bar(console, "checking rows") as progress:
        found = verify(network, sample=sample, progress=progress)
    checked = time.perf_counter()
    if args.out:
        network.save(args.out)
    settings = dict(network.settings)
    return {
        **network_json(network),
        **verification_json(found),
        "certificate": settings.pop("certificate", None),
        "notes": settings.pop("notes", []),
        "settings": settings,
        "file": str(args.out) if args.out else None,
        "seconds": {
            "compile": compiled - start,
            "verify": checked - compiled,
            "save": time.perf_counter() - checked if args.out else 0.0,
        },
        "explain": args.explain,
        "exit_code": 0 if found.errors == 0 else 1,
    }


def show(result: dict[str, Any], console: Console) -> None:
    console.print(f"[bold]{result['expression']}[/]  mod {result['modulus']}", highlight=False)
    console.print(plan_table(result["experts"]) if result["explain"] else experts_table(result["experts"]))
    facts = {"hidden neurons": f"{result['width']:,}", "parameters": f"{result['parameters']:,}"}
    facts |= verification_facts(result)
    if result["certificate"]:
        facts["certificate"] = certificate_text(result["certificate"])
    for note in result["notes"]:
        facts["note"] = note
    if result["file"]:
        facts["written to"] = result["file"]
    console.print(facts_table(facts))


def certificate_text(certificate: dict[str, Any]) -> str:
    rounding = f"rounding in {certificate['dtype']} at most {certificate['error_bound']:.2g}"
    proof = f"margin {certificate['margin']:.3g}, {rounding}"
    return f"proved right on every input ({proof})" if certificate["holds"] else f"not proved ({proof})"


def plan_table(experts: list[dict[str, Any]]) -> Table:
    """Every expert with its group, frequencies, margin and inverse temperature."""
    table = Table("expert", "computes", "reads", "group", "freq.", "neurons", "margin", "β", box=None, pad_edge=False)
    for k, step in enumerate(experts, start=1):
        group = f"Z_{step['order']}" + (" + 0" if step["absorbing"] else "")
        frequencies = step.get("frequencies")
        count = (
            "random"
            if frequencies is None
            else ", ".join(map(str, frequencies))
            if len(frequencies) < 4
            else str(len(frequencies))
        )
        margin, beta = (f"{step[key]:.3g}" if key in step else "" for key in ("margin", "beta"))
        table.add_row(f"e{k}", step["text"], ", ".join(step["inputs"]), group, count, str(step["width"]), margin, beta)
    return table
