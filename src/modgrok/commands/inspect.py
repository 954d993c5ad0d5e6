"""modgrok inspect: the waves in a network's weights, with figures."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from modgrok.commands.common import FILES_KEY, say
from modgrok.inspection.inspecting import Inspection, inspect
from modgrok.inspection.order import ORDER_NAMES

KEYS = {
    "expression": "of the network",
    "modulus": "of the network",
    "order": "the order of residues in which the weights are periodic: `additive`, `multiplicative`, `witness`, or "
    "`mixed` where experts differ",
    "width": "hidden neurons",
    "alive": "neurons that weight decay has left alive: squared norm over 10⁻³ of the largest",
    "constant": "living neurons that act as a bias: the same for every residue",
    "answer_zero": "living neurons whose readout is about the class of zero",
    "ipr": "mean inverse participation ratio over all neurons",
    "ipr_alive": "the same over the living ones",
    "ipr_histogram": "`edges` and `counts` of the IPR of living neurons",
    "common_frequency_share": "share of the living neurons whose blocks all have one frequency",
    "phase_residual_median": "median of |Σψ_s − ψ_Q| in radians, over neurons that have phases",
    "phase_residual_quantiles": "the same at 0.1, 0.5 and 0.9",
    "neurons_with_phases": "how many neurons that is",
    "power_explained": "mean share of squared weights that one cosine per block carries",
    "frequencies_used": "how many frequencies living neurons have, over all experts",
    "snapped": "`accuracy` of the network with one cosine per block, `accuracy_nonzero` where no input is zero, and "
    "`rows_checked`",
    "nearest_design": "of the last expert: `name`, `words`, `designs` (neurons per frequency they need), "
    "`neurons_per_frequency`, `leakage`, `leakage_ratio`",
    "experts": "the same keys for each expert, with `multipliers`, `offset`, `ipr_blocks` (mean IPR of each block, "
    "`null` where no order makes it a wave) and `neurons_per_frequency`",
} | FILES_KEY


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("network", type=Path, help="a run folder or a .safetensors file")
    parser.add_argument(
        "--order",
        choices=ORDER_NAMES,
        default="auto",
        help="order of residues in which to look for waves; auto (default) takes the function's own",
    )
    parser.add_argument(
        "--out",
        type=Path,
        help="folder for figures, neurons.parquet and the snapped network (default: beside it)",
    )


def run(args: argparse.Namespace, console: Console) -> Inspection:
    folder = args.out or default_folder(args.network)
    say(console, f"drawing figures in {folder}")
    return inspect(args.network, order=args.order, out=folder)


def default_folder(path: Path) -> Path:
    """RUN/inspection for a run folder, NET-inspection for NET.safetensors."""
    return path / "inspection" if path.is_dir() else path.with_name(f"{path.stem}-inspection")


def show(result: Inspection, console: Console, args: argparse.Namespace) -> None:
    found = result.to_json()
    table = Table(title=Text(f"{found['expression']} mod {found['modulus']}"), title_justify="left", box=None)
    table.add_column("")
    parts = [("network", found)] if len(found["experts"]) > 1 else []
    parts += [(f"expert {k}", expert) for k, expert in enumerate(found["experts"], start=1)]
    for name, _ in parts:
        table.add_column(name, justify="right")
    for label, cell in ROWS.items():
        table.add_row(label, *(cell(part) for _, part in parts))
    console.print(table)
    for name, part in parts[-len(found["experts"]) :]:
        say(console, f"{name}: {part['nearest_design']['words']}")
    snapped = found["snapped"]
    say(
        console,
        f"snapped to one cosine per block: {snapped['accuracy']:.2%} of the table right, "
        f"{snapped['accuracy_nonzero']:.2%} where no input is zero",
    )
    say(console, f"written to {result.files[0].parent}")


def radians(value: float | None) -> str:
    return "none has phases" if value is None else f"{value:.2g} rad"


def ratio(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


ROWS: dict[str, Callable[[dict[str, Any]], str]] = {
    "order of residues": lambda part: part["order"],
    "neurons alive": lambda part: f"{part['alive']} of {part['width']}",
    "of these constant / answer for zero": lambda part: f"{part['constant']} / {part['answer_zero']}",
    "mean IPR, all / alive": lambda part: f"{ratio(part['ipr'])} / {ratio(part['ipr_alive'])}",
    "one common frequency": lambda part: f"{part['common_frequency_share']:.1%}",
    "phase law, median residual": lambda part: radians(part["phase_residual_median"]),
    "power in one cosine": lambda part: f"{part['power_explained']:.1%}",
    "frequencies used": lambda part: str(part["frequencies_used"]),
}
"""What people see: a row per number, a column per expert."""
