"""modgrok inspect: the waves in a network's weights, with figures."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table

from modgrok.figures.inspection import draw
from modgrok.files import whole_file
from modgrok.inspection.inspecting import ORDER_NAMES, Inspection, inspect_network, neuron_columns
from modgrok.networks.network import load


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("network", type=Path, help="a run folder or a .safetensors file")
    parser.add_argument(
        "--order",
        choices=ORDER_NAMES,
        default="auto",
        help="order of residues in which to look for waves; auto (default) takes the one that explains most",
    )
    parser.add_argument(
        "--out",
        type=Path,
        help="folder for figures, neurons.parquet and the snapped network (default: beside it)",
    )


def run(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    network = load(args.network)
    inspection = inspect_network(network, order=args.order)
    folder = args.out or default_folder(args.network)
    console.print(f"drawing figures in {folder}")
    written = [write_neurons(inspection, folder / "neurons.parquet"), folder / "snapped.safetensors"]
    replace(network, circuit=inspection.snapped, method="snapped").save(written[1])
    written += draw(inspection, folder)
    return {**inspection.json(), "written": [str(path) for path in written]}


def default_folder(path: Path) -> Path:
    """RUN/inspection for a run folder, NET-inspection for NET.safetensors."""
    return path / "inspection" if path.is_dir() else path.with_name(f"{path.stem}-inspection")


def write_neurons(inspection: Inspection, path: Path) -> Path:
    columns = {name: pa.array(values, from_pandas=True) for name, values in neuron_columns(inspection).items()}
    with whole_file(path) as temporary:
        pq.write_table(pa.table(columns), temporary)
    return path


def show(result: dict[str, Any], console: Console) -> None:
    table = Table(title=f"{result['expression']} mod {result['modulus']}", title_justify="left", box=None)
    table.add_column("")
    parts = [("network", result)] if len(result["experts"]) > 1 else []
    parts += [(f"expert {k}", expert) for k, expert in enumerate(result["experts"], start=1)]
    for name, _ in parts:
        table.add_column(name, justify="right")
    for label, cell in ROWS.items():
        table.add_row(label, *(cell(part) for _, part in parts))
    console.print(table)
    for name, part in parts[-len(result["experts"]) :]:
        console.print(f"{name}: {part['nearest_design']['words']}")
    snapped = result["snapped"]
    console.print(
        f"snapped to one cosine per block: {snapped['accuracy']:.2%} of the table right, "
        f"{snapped['accuracy_nonzero']:.2%} where no input is zero"
    )
    console.print(f"written to {Path(result['written'][0]).parent}")


def radians(value: float | None) -> str:
    return "none has phases" if value is None else f"{value:.2g} rad"


ROWS = {
    "order": lambda part: part["order"],
    "neurons alive": lambda part: f"{part['alive']} of {part['width']}",
    "of these constant / answer for zero": lambda part: f"{part['constant']} / {part['answer_zero']}",
    "mean IPR, all / alive": lambda part: f"{part['ipr']:.3f} / {part['ipr_alive']:.3f}",
    "one common frequency": lambda part: f"{part['common_frequency_share']:.1%}",
    "phase law, median residual": lambda part: radians(part["phase_residual_median"]),
    "power in one cosine": lambda part: f"{part['power_explained']:.1%}",
    "frequencies used": lambda part: str(part["frequencies_used"]),
}
"""What people see: a row per number, a column per expert."""
