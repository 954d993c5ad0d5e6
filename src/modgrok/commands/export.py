"""modgrok export: a network for ONNX runtimes or PyTorch."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from rich.console import Console

from modgrok.networks.export import FORMATS, export
from modgrok.networks.network import load


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("network", type=Path, help="a .safetensors file, or the folder of a training run")
    parser.add_argument("--to", choices=list(FORMATS), required=True, help="onnx, or torch: a module and its weights")
    parser.add_argument("--out", type=Path, metavar="FILE", help="where to write (default: beside the network)")


def run(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    network = load(args.network)
    beside = args.network / "network" if args.network.is_dir() else args.network
    files = export(network, args.to, args.out or beside.with_suffix(FORMATS[args.to]))
    return {
        "expression": network.expression,
        "modulus": network.modulus,
        "format": args.to,
        "files": [str(path) for path in files],
    }


def show(result: dict[str, Any], console: Console) -> None:
    console.print(f"{result['expression']} mod {result['modulus']} as {result['format']}:", highlight=False)
    for path in result["files"]:
        console.print(f"  {path}", highlight=False)
