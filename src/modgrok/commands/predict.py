"""modgrok predict: one row through a network, beside what integer arithmetic says."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from rich.console import Console

from modgrok.networks.network import load
from modgrok.networks.verification import predict


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("network", type=Path, help="a .safetensors file, or the folder of a training run")
    parser.add_argument("values", type=int, nargs="+", help="one residue for each variable")


def run(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    network = load(args.network)
    answer = predict(network, *args.values)
    return {
        "expression": network.expression,
        "modulus": network.modulus,
        "inputs": dict(zip(network.variables, answer.inputs)),
        "prediction": answer.value,
        "expected": answer.expected,
        "correct": answer.correct,
        "margin": answer.margin,
        "exit_code": 0 if answer.correct else 1,
    }


def show(result: dict[str, Any], console: Console) -> None:
    inputs = ", ".join(f"{name} = {value}" for name, value in result["inputs"].items())
    judgement = "correct" if result["correct"] else f"wrong: integers give {result['expected']}"
    console.print(f"{result['expression']} mod {result['modulus']} at {inputs}", highlight=False)
    console.print(f"[bold]{result['prediction']}[/]  ({judgement}, margin {result['margin']:.4g})", highlight=False)
