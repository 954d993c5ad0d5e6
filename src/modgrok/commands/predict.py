"""modgrok predict: one row through a network, beside what integer arithmetic says."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import Any

from rich.console import Console

from modgrok.base.results import Result
from modgrok.commands.common import add_network, given_network, heading, say
from modgrok.networks.network import Network
from modgrok.networks.predicting import Prediction, predict
from modgrok.networks.verification import as_network


@dataclass(frozen=True, repr=False)
class Answered(Result):
    """A prediction together with the network that made it."""

    network: Network
    prediction: Prediction

    @property
    def exit_code(self) -> int:
        return 1 if self.prediction.correct is False else 0

    def summary(self) -> str:
        return self.prediction.summary()

    def to_json(self) -> dict[str, Any]:
        network = self.network
        about = {"expression": network.expression, "modulus": network.function.modulus, "variables": network.variables}
        return {**about, **self.prediction.to_json()}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_network(parser)
    parser.add_argument(
        "values",
        nargs="+",
        help="one residue for each variable; in a group or a field one element, by its name ('(1 2 3)', 'r^2 s', "
        "'t + 1') or its number (#17); put -- before values that begin with a minus",
    )


def run(args: argparse.Namespace, console: Console) -> Answered:
    network = as_network(given_network(args))
    found = predict(network, *args.values)
    assert isinstance(found, Prediction)
    return Answered(network, found)


def show(result: Answered, console: Console, args: argparse.Namespace) -> None:
    found, network = result.prediction, result.network
    inputs = ", ".join(f"{name} = {value}" for name, value in zip(network.variables, found.row_names, strict=True))
    heading(console, found.named(found.value), f"  ({found.judgement}, margin {found.margin:.4g})")
    say(console, f"{network.title} at {inputs}")
