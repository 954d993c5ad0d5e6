"""modgrok classify: is it h(g1 + g2)? With a witness or an obstruction, and what that predicts."""

from __future__ import annotations

import argparse
from itertools import count
from typing import Any

from rich.console import Console
from rich.table import Table

from modgrok.algebra.expression import read, variables
from modgrok.algebra.polynomial import value_table
from modgrok.commands.common import facts_table
from modgrok.errors import InputError
from modgrok.loss_law.law import predict_from_table
from modgrok.progress import progress_bar
from modgrok.separable import classify_table
from modgrok.separable.decision import TIME_LIMIT

SHOWN_ENTRIES = 12
"""How many entries of g1, g2 and h people see; --json has them all."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("expression", help="a polynomial such as '(4n1 + n2^2)^3 + n1 n2'")
    parser.add_argument(
        "--mod", type=int, metavar="P", help="the modulus; composite moduli have the additive family only"
    )
    parser.add_argument("--fraction", type=float, default=0.5, help="share of the table that would be trained on")
    parser.add_argument(
        "--time-limit", type=float, default=TIME_LIMIT, metavar="SECONDS", help="limit for each family, then: unknown"
    )
    parser.add_argument(
        "--probe", action="store_true", help="train one small network too, and predict from its training loss"
    )


def run(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    tree, modulus = read(args.expression, args.mod)
    if not 0 < args.fraction < 1:
        raise InputError(f"--fraction must lie between 0 and 1, got {args.fraction}; give 0.5, for example")
    axes = at_least_two(variables(tree))
    table = value_table(tree, modulus, axes)
    found = classify_table(table, modulus, fraction=args.fraction, time_limit=args.time_limit)
    in_class = found.status == "in-class"
    expected = predict_from_table(
        table, modulus, fraction=args.fraction, in_class=in_class, redundancy=found.redundancy
    )
    result = {
        "expression": args.expression,
        "variables": [f"n{index}" for index in axes],
        **found.json(),
        "predicted_test_accuracy": expected.value,
        "predicted_error": expected.error,
        "reasons": [expected.reason, *found.reasons],
    }
    if args.probe:
        from modgrok.answers.probe import probe_table

        with progress_bar(console, "probing") as progress:
            result["probe"] = probe_table(table, modulus, fraction=args.fraction, progress=progress).json()
    return result


def at_least_two(occurring: tuple[int, ...]) -> tuple[int, ...]:
    """The variables that occur, and the first that does not where there is only one."""
    if len(occurring) > 1:
        return occurring
    other = next(index for index in count(1) if index not in occurring)
    return tuple(sorted((*occurring, other)))


def show(result: dict[str, Any], console: Console) -> None:
    console.print(f"[bold]{result['expression']}[/]  mod {result['modulus']}", highlight=False)
    console.print(families_table(result["families"]))
    facts = {"verdict": result["verdict"] + (f", {result['family']}" if result["family"] else "")}
    if result["witness"]:
        facts |= witness_facts(result["witness"], result["variables"], result["group_order"])
    facts |= {
        "redundancy": f"{100 * result['redundancy']:.1f} % at a training fraction of {result['fraction']:g}",
        "predicted test accuracy": f"{100 * result['predicted_test_accuracy']:.1f} %"
        + (f" ± {100 * result['predicted_error']:.1f} %" if result["predicted_error"] is not None else ""),
        "because": "\n".join(result["reasons"]),
        "time": f"{result['seconds']:.3f} s",
    }
    if "probe" in result:
        probe = result["probe"]
        facts["probe"] = (
            f"{100 * probe['predicted_test_accuracy']:.1f} % ± {100 * probe['error']:.1f} % expected from the training "
            f"loss {probe['train_loss']:.6f} of one network (width {probe['width']}, {probe['steps']} steps); "
            f"its test rows say {100 * probe['measured_test_accuracy']:.1f} %"
        )
    console.print(facts_table(facts), highlight=False)


def families_table(families: list[dict[str, Any]]) -> Table:
    table = Table("family", "group", "verdict", "why", box=None, pad_edge=False, header_style="bold")
    for found in families:
        group = f"Z_{found['group_order']}" + (" ∪ {∞}" if found["absorbing"] else "")
        why = found["excluded"] or "witness checked on every cell"
        if found["obstruction"]:
            why = f"{found['obstruction']['kind']}: {found['obstruction']['explanation']}"
        table.add_row(found["family"], group, found["verdict"], why)
    return table


def witness_facts(witness: dict[str, Any], names: list[str], order: int) -> dict[str, str]:
    parts = [key for key in witness if key.startswith("g")]
    facts = {f"{part}({name})": sequence(witness[part], "∞") for part, name in zip(parts, names)}
    facts[f"h on 0 … {order - 1}"] = sequence(witness["h"], "·")
    if witness["h_absorbing"] is not None:
        facts["h(∞)"] = str(witness["h_absorbing"])
    return facts


def sequence(entries: list[int | None], none: str) -> str:
    shown = " ".join(none if entry is None else str(entry) for entry in entries[:SHOWN_ENTRIES])
    return shown + (" …" if len(entries) > SHOWN_ENTRIES else "")
