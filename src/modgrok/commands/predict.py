"""modgrok predict: one row through a network, beside what integer arithmetic says."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from modgrok.base.results import Result
from modgrok.commands.common import MODULUS_KEY, heading, say
from modgrok.networks.network import Network
from modgrok.networks.storage import load
from modgrok.networks.verification import Prediction, predict

KEYS = {
    "expression": "of the network",
    **MODULUS_KEY,
    "variables": "names of the inputs",
    "row": "the value of each",
    "value": "the network's answer",
    "expected": "that of integers, or of the table; `null` where the table does not know",
    "correct": "whether they agree, or `null`",
    "margin": "correct logit − best wrong logit; where nobody knows, of the answer − the next best",
}


@dataclass(frozen=True, repr=False)
class Answered(Result):
    """A prediction together with the network that made it."""

    network: Network
    prediction: Prediction

    def summary(self) -> str:
        return self.prediction.summary()

    def to_json(self) -> dict[str, Any]:
        network = self.network
        about = {"expression": network.expression, "modulus": network.function.modulus, "variables": network.variables}
        return {**about, **self.prediction.to_json()}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("network", type=Path, help="a .safetensors file, or the folder of a training run")
    parser.add_argument("values", type=int, nargs="+", help="one residue for each variable")


def run(args: argparse.Namespace, console: Console) -> Answered:
    network = load(args.network)
    found = predict(network, *args.values)
    assert isinstance(found, Prediction)
    return Answered(network, found)


def exit_code(result: Answered) -> int:
    return 1 if result.prediction.correct is False else 0


def show(result: Answered, console: Console, args: argparse.Namespace) -> None:
    found, network = result.prediction, result.network
    named = [part.name(value) for part, value in zip(network.function.inputs, found.row, strict=True)]
    inputs = ", ".join(f"{name} = {value}" for name, value in zip(network.variables, named, strict=True))
    say(console, f"{network.title} at {inputs}")
    heading(console, found.named(found.value), f"  ({found.judgement}, margin {found.margin:.4g})")
