"""What several commands share: progress bars, tables, and the report of a check."""

from __future__ import annotations

from typing import Any

from rich.table import Table

from modgrok.networks.network import Network
from modgrok.networks.verification import Verification


def facts_table(facts: dict[str, Any]) -> Table:
    """Two columns, name and value."""
    table = Table(show_header=False, box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(style="bold")
    table.add_column()
    for name, value in facts.items():
        table.add_row(name, str(value))
    return table


def network_json(network: Network) -> dict[str, Any]:
    """What a network is, as the keys that compile, verify and predict share."""
    return {
        "expression": network.expression,
        "modulus": network.modulus,
        "variables": network.variables,
        "method": network.method,
        "experts": [dict(step) for step in network.plan],
        "width": network.circuit.width,
        "parameters": network.circuit.parameters,
        "dtype": str(network.circuit.dtype),
    }


def verification_json(found: Verification) -> dict[str, Any]:
    return {
        "accuracy": found.accuracy,
        "mse": found.mse,
        "min_margin": found.min_margin,
        "rows_checked": found.rows_checked,
        "rows_total": found.rows_total,
        "errors": found.errors,
        "first_error": found.first_error,
    }


def verification_facts(result: dict[str, Any]) -> dict[str, str]:
    """The report of a check, for people."""
    checked = "every row" if result["rows_checked"] == result["rows_total"] else "a random sample"
    facts = {
        "accuracy": f"{100 * result['accuracy']:.6g} %",
        "mean squared error": f"{result['mse']:.4g}",
        "smallest margin": f"{result['min_margin']:.4g}",
        "rows checked": f"{result['rows_checked']:,} of {result['rows_total']:,} ({checked})",
    }
    if result["first_error"]:
        facts["first wrong row"] = ", ".join(map(str, result["first_error"]))
    return facts


def experts_table(experts: list[dict[str, Any]]) -> Table:
    table = Table("expert", "kind", "computes", "reads", "neurons", box=None, pad_edge=False, header_style="bold")
    for k, step in enumerate(experts, start=1):
        table.add_row(f"e{k}", step["kind"], step["text"], ", ".join(step["inputs"]), str(step["width"]))
    return table
