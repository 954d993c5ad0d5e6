"""modgrok inspect: what a network's logits compute and the waves in its weights, with figures."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from math import isfinite, pi
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from modgrok.base.printing import text_table
from modgrok.base.progress import progress_bar
from modgrok.base.results import percent
from modgrok.commands.common import add_network, folder_beside, given_network, say, say_how_read
from modgrok.inspection.experts import statistics
from modgrok.inspection.film import Film
from modgrok.inspection.group_view import GroupView
from modgrok.inspection.inspecting import Inspection
from modgrok.inspection.logits import LogitsView
from modgrok.inspection.order import ORDER_NAMES
from modgrok.training.inspecting import inspect, write_inspection

MOST_REPRESENTATIONS = 12
"""That are shown, those with most of the logits first."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_network(parser)
    parser.add_argument(
        "--order",
        choices=ORDER_NAMES,
        default="auto",
        help="order of residues in which to look for waves (default auto: the function's own)",
    )
    parser.add_argument("--no-film", action="store_true", help="leave out the film of a run that kept snapshots")
    parser.add_argument(
        "--out",
        type=Path,
        help="folder for figures, tables and the snapped network (default: beside the network)",
    )


def run(args: argparse.Namespace, console: Console) -> Inspection:
    with progress_bar(console, "inspecting") as progress:
        film = () if args.no_film else None
        found = inspect(given_network(args), order=args.order, film=film, progress=progress)
    folder = args.out or folder_beside(args.network, "inspection")
    with progress_bar(console, f"drawing figures into {folder}"):
        return write_inspection(found, folder)


def show(result: Inspection, console: Console, args: argparse.Namespace) -> None:
    console.print(found_in(result), style="bold")
    say_how_read(console, result.network)
    if result.experts:
        show_experts(result, console)
    if result.in_group is not None:
        show_group(result.in_group, console)
    if result.in_group is None or result.experts:
        show_inside(result, console)
        show_logits(result.logits, console)
    elif result.logits.losses:
        console.print(version_table(result.logits))
    if result.network.answers_itself:
        say(console, "no function was given, so the network was compared with its own answers")
    if result.film is not None:
        show_film(result.film, console)
    if result.files:
        say(console, f"written to {result.files[0].parent}")


def found_in(result: Inspection) -> str:
    """What was found, in a sentence."""
    if result.snapped is None:
        return f"{result.summary()}."
    found = statistics(result.experts)
    law = found["phase_residual_median"]
    obey = "obey" if law is not None and law < pi / 4 else "do not obey"  # by chance π/2
    phases = "" if law is None else f", their phases {obey} the phase law (median error {radians(law)}),"
    return (
        f"{result.network.title}, {result.network.model.name}: {percent(found['common_frequency_share'], 1)} of its "
        f"{found['alive'] - found['constant']:,} active neurons have one frequency{phases} and with every neuron "
        f"replaced by its cosines it gets {percent(result.accuracy)} of the table right."
    )


def show_experts(result: Inspection, console: Console) -> None:
    """What holds of each expert, their designs, and the snapped network."""
    experts = [expert.to_json() for expert in result.experts]
    parts = [("network", statistics(result.experts) | {"order": result.order})] if len(experts) > 1 else []
    parts += [(f"expert {k}" if parts else "network", expert) for k, expert in enumerate(experts, start=1)]
    console.print(columns_of(parts) if len(parts) <= MOST_COLUMNS else lines_of(parts))
    designs: dict[str, list[str]] = {}
    for number, expert in enumerate(experts, start=1):
        designs.setdefault(expert["nearest_design"]["words"], []).append(str(number))
    for words, numbers in designs.items():
        one = len(numbers) == 1
        who = f"expert {numbers[0]}" if one else "all experts" if len(designs) == 1 else f"experts {', '.join(numbers)}"
        say(console, f"{who if len(experts) > 1 else 'phases'}: {words}")
    if result.accuracy_nonzero != result.accuracy:
        say(console, f"with one cosine per block: {percent(result.accuracy_nonzero)} right where no input is zero")


def columns_of(parts: Sequence[tuple[str, dict[str, Any]]]) -> Table:
    """A column for each expert."""
    table = Table("", box=None, pad_edge=False)
    for name, _ in parts:
        table.add_column(name, justify="right")
    for label, cell in ROWS.items():
        table.add_row(label, *(cell(part) for _, part in parts))
    return table


def lines_of(parts: Sequence[tuple[str, dict[str, Any]]]) -> Table:
    """A line for each of many experts, with what has room."""
    rows = [[name, *(ROWS[label](part) for label in HEADINGS)] for name, part in parts]
    return text_table(("", *HEADINGS.values()), rows)


def show_group(view: GroupView, console: Console) -> None:
    """Logits and neurons by representation, and what holds of the neurons."""
    if view.shares is None:
        say(console, f"logits: {view.why}")
        return
    sampled = "" if view.seen == view.network.rows else f" at {view.seen:,} random inputs of {view.network.rows:,}"
    say(
        console,
        f"logits{sampled}: {percent(view.closed_form_share, 1)} of their variance on the closed form in "
        f"{view.group.title} (noise: {percent(view.noise_share)}), {percent(view.code_share, 1)} on codes of one "
        f"representation each (noise: {percent(view.code_noise_share)}), {percent(view.word_share, 1)} on any "
        "function of the word's value",
    )
    rows = sorted(view.rows()[1:], key=lambda row: -(row["logits_share"] or 0))
    more = len(rows) - MOST_REPRESENTATIONS
    cells = [
        (str(row["representation"]), f"{row['kind']}, degree {row['degree']}", percent(row["logits_share"], 1),
         "–" if row["neurons"] is None else str(row["neurons"]))
        for row in rows[:MOST_REPRESENTATIONS]
    ]  # fmt: skip
    console.print(text_table(("no.", "representation", "of the logits", "neurons"), cells))
    if more > 0:
        say(console, f"and {more} more, with less of the logits; --json has all")
    found = view.to_json()
    if view.neurons is not None:
        law = (
            ""
            if found["law_median"] is None
            else f", the law of their factors holds to {found['law_median']:.3f} (median; 1 is exact)"
        )
        say(
            console,
            f"neurons: {found['neurons_alive']} alive, {percent(found['one_representation_share'], 1)} of them in one "
            f"representation{law}, {percent(found['coset_share'], 1)} constant on cosets of a subgroup",
        )


def show_inside(result: Inspection, console: Console) -> None:
    """For each layer of hidden neurons, how far they are functions of one frequency."""
    for number, layer in enumerate(result.inside.layers, start=1):
        found = layer.to_json()
        say(
            console,
            f"layer {number}: {found['active']} of {found['neurons']} neurons active, "
            f"{percent(found['explained'], 1)} of their variance on one frequency, "
            f"{percent(found['one_frequency_share'], 1)} of them with 85 % or more",
        )


def show_logits(view: LogitsView, console: Console) -> None:
    if view.templates is None:
        say(console, f"logits: {view.why}")
        if view.input_spectrum is not None:
            say(console, input_shares(view.input_spectrum.to_json()))
    else:
        say(
            console,
            f"logits: {percent(view.analytical_share, 1)} of their variance on the analytical form "
            f"({view.order} order; noise: {percent(view.templates.noise_share)}), "
            f"{percent(view.sum_share, 1)} on any function of the sum of places",
        )
        keys = view.key_frequencies
        named = f"key frequencies ({len(keys)}): {in_stretches(keys)}"
        say(console, named if keys else "no key frequencies: noise would have as much")
    if view.losses:
        console.print(version_table(view))
    if view.templates is not None and (apart := view.templates.rows_apart):
        say(console, f"left out: {apart:,} inputs without a place in this order, such as zero in a product")


def input_shares(shares: dict[str, Any]) -> str:
    """What the logits depend on, in a sentence."""
    names = ("constant", "one_input", "sum", "difference", "other")
    listed = ", ".join(f"{name.replace('_', ' ')} {percent(shares[name], 1)}" for name in names)
    return f"their variance by what it depends on ({shares['order']} order): {listed}"


def in_stretches(numbers: Sequence[int]) -> str:
    """Whole numbers, three or more in a row by their ends.

    >>> in_stretches([1, 2, 3, 4, 6, 8, 9])
    '1 to 4, 6, 8, 9'
    """
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(f"{run[0]} to {run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs)


def version_table(view: LogitsView) -> Table:
    """Loss and accuracy of the logits, of the key frequencies alone and of the rest, on each part of the table."""
    names = {"full": "as they are", "restricted": "key frequencies alone", "excluded": "without these"}
    losses, accuracies = view.losses or {}, view.accuracies or {}
    parts = [part for part in losses["full"] if part != "all"] or ["all"]
    loss = view.loss.replace("mse", "squared error")
    headings = (f"logits ({loss})", *(f"loss, {part}" for part in parts), *(f"right, {part}" for part in parts))
    rows = [
        (
            label,
            *(f"{losses[version][part]:.3g}" for part in parts),
            *(percent(accuracies[version][part], 1) for part in parts),
        )
        for version, label in names.items()
        if version in losses
    ]
    return text_table(headings, rows)


def show_film(film: Film, console: Console) -> None:
    """The first, middle and last of the steps."""
    chosen = sorted({0, len(film.steps) // 4, len(film.steps) // 2, 3 * len(film.steps) // 4, len(film.steps) - 1})
    part = "train" if film.known("full_loss_train") else "all"
    columns: dict[str, tuple[str, Callable[[float], str]]] = {
        "step": ("step", lambda step: f"{step:,}"),
        "accuracy": ("full_accuracy_all", lambda share: percent(share, 1)),
        "closed form" if film.group else "analytical share": ("analytical_share", lambda share: percent(share, 1)),
        "restricted": ("restricted_loss_all", "{:.3g}".format),
        f"excluded, {part}": (f"excluded_loss_{part}", "{:.3g}".format),
        "mean IPR": ("ipr", "{:.3f}".format),
        "neurons in one representation": ("one_representation_share", lambda share: percent(share, 1)),
        "law": ("law_median", "{:.3f}".format),
    }
    known = {heading: column for heading, column in columns.items() if film.known(column[0])}
    numbers = [[(film.measures[name][k].item(), cell) for name, cell in known.values()] for k in chosen]
    rows = [[cell(number) if isfinite(number) else "–" for number, cell in row] for row in numbers]
    console.print(text_table(tuple(known), rows))


def radians(value: float | None) -> str:
    return "no phases" if value is None else f"{value:.2g} rad"


def ratio(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


ROWS: dict[str, Callable[[dict[str, Any]], str]] = {
    "order of residues": lambda part: part["order"],
    "neurons alive": lambda part: f"{part['alive']} of {part['width']}",
    "constant neurons / neurons for zero": lambda part: f"{part['constant']} / {part['answer_zero']}",
    "mean IPR, all / alive": lambda part: f"{ratio(part['ipr'])} / {ratio(part['ipr_alive'])}",
    "neurons on one frequency": lambda part: percent(part["common_frequency_share"], 1),
    "phase law, median error": lambda part: radians(part["phase_residual_median"]),
    "power in one cosine": lambda part: percent(part["power_explained"], 1),
    "frequencies used": lambda part: str(part["frequencies_used"]),
}
"""What people see: a row per number, a column per expert."""
MOST_COLUMNS = 3
HEADINGS = {
    "order of residues": "order",
    "neurons alive": "alive",
    "neurons on one frequency": "one freq.",
    "phase law, median error": "phase law",
    "power in one cosine": "one cosine",
    "frequencies used": "waves",
}
"""Of these rows, where a circuit has so many experts that each has a line."""
