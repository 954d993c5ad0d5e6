"""modgrok export: a network for ONNX runtimes, PyTorch or TransformerLens."""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.console import Console

from modgrok.commands.common import say
from modgrok.networks.export import FORMATS, Exported, export


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("network", type=Path, help="a .safetensors file, or the folder of a training run")
    parser.add_argument(
        "--to", choices=list(FORMATS), required=True, help="onnx; torch: a module and its weights; transformer-lens"
    )
    parser.add_argument("--out", type=Path, metavar="FILE", help="where to write (default: beside the network)")


def run(args: argparse.Namespace, console: Console) -> Exported:
    return export(args.network, args.to, args.out)


def show(result: Exported, console: Console, args: argparse.Namespace) -> None:
    say(console, f"{result.heading}:")
    for path in result.files:
        say(console, f"  {path}")
