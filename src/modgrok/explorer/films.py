"""A training as a film that a page plays: for every kept step the cells that are right, the numbers, and the neurons.

Everything is there at once, so that a page shows any moment without asking again, and one that is shared has nobody
to ask. It is small: a bit for each cell, a byte for each weight that is drawn and each angle.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from modgrok.base.progress import Progress
from modgrok.base.results import plain_object
from modgrok.explorer.encoding import encoded
from modgrok.explorer.lenses import Lens, Moment, lens_of
from modgrok.explorer.limits import LOCAL
from modgrok.explorer.views import Cells
from modgrok.inspection.film import host_blocks_of
from modgrok.inspection.order import order_of
from modgrok.inspection.spectrum import periodicity
from modgrok.networks.losses import LOSSES, losses_of_rows
from modgrok.networks.network import Network, named_leaves

NUMBERS = ("train_accuracy", "test_accuracy", "train_loss", "test_loss", "ipr")
NO_PLACE = -128
"""Stands for a place of a wave at which no residue lies."""
ROWS_AT_ONCE = 16_384


def film(
    snapshots: Mapping[int, Network], last: int, final: Network, progress: Progress | None = None
) -> dict[str, Any]:
    """The film of a training that kept `snapshots` and ended at step `last` with the network `final`, by which neurons
    are chosen and placed."""
    if final.rows > LOCAL.cells:
        return {"steps": [], "why": f"a film is of a table of up to {LOCAL.cells:,} cells, this one has {final.rows:,}"}
    if not all(np.isfinite(weights).all() for weights in named_leaves(final.params).values()):
        return {
            "steps": [],
            "why": "there is no film: the training diverged, its weights are no numbers",
        }
    cells, lens = Cells(final), lens_of(final)
    steps = sorted({*(step for step in snapshots if step < last), last})
    hits, numbers, moments = [], [], []
    for done, step in enumerate(steps, start=1):
        network = final if step == last else snapshots[step]
        right, losses = answered(network, cells)
        hits.append(np.packbits(right))
        numbers.append(measured(network, cells, right, losses))
        moments.append(lens.look(network))
        if progress is not None:
            progress(done, len(steps))
    return plain_object(
        {
            "steps": steps,
            "why": None,
            "sizes": list(final.model.residues),
            "variables": list(final.variables),
            "trained": encoded(np.packbits(cells.trained), "u8"),
            "known": encoded(np.packbits(cells.right >= 0), "u8"),
            "right": encoded(np.concatenate(hits), "u8"),
            "numbers": {name: [row[name] for row in numbers] for name in NUMBERS},
            "neurons": drawn_waves(lens, moments),
            "spectrum": drawn_spectrum(lens, moments),
            "law": drawn_law(lens, moments),
        }
    )


def answered(network: Network, cells: Cells) -> tuple[Bool[np.ndarray, "row"], Float[np.ndarray, "row"]]:
    """Which cells a network has right, and its loss in each; NaN where the cell, or the loss, is not known here."""
    rows = network.inputs()
    word = str(network.settings.get("loss", "cross-entropy"))
    right, losses = np.zeros(len(rows), bool), np.full(len(rows), np.nan)
    for first in range(0, len(rows), ROWS_AT_ONCE):
        part = slice(first, first + ROWS_AT_ONCE)
        logits, wanted = np.asarray(network.logits(rows[part])), cells.right[part]
        right[part] = logits.argmax(axis=1) == wanted
        if word in LOSSES:
            losses[part] = losses_of_rows(LOSSES[word], logits, np.maximum(wanted, 0))
    losses[cells.right < 0] = np.nan
    return right, losses


def measured(
    network: Network, cells: Cells, right: Bool[np.ndarray, "row"], losses: Float[np.ndarray, "row"]
) -> dict[str, float | None]:
    """The numbers beside a moment: those that training measures, at any step."""
    found: dict[str, float | None] = {}
    for part, rows in (("train", cells.trained), ("test", ~cells.trained & (cells.right >= 0))):
        found[f"{part}_accuracy"] = float(right[rows].mean()) if rows.any() else None
        found[f"{part}_loss"] = float(losses[rows].mean()) if rows.any() else None
    order = order_of(network.function, str(network.settings.get("order", "auto")))
    blocks = host_blocks_of(network)
    has_waves = any(order.places.period[axis] > 0 for axis in blocks.places)
    found["ipr"] = float(periodicity(blocks, order.places).mean()) if has_waves else None
    return found


def drawn_waves(lens: Lens, moments: list[Moment]) -> dict[str, Any] | None:
    """Waves in 127ths of the largest weight that each neuron ever has, by step, neuron and place."""
    if not lens.neurons:
        return None
    waves = np.stack([moment.waves for moment in moments])
    largest = np.nanmax(np.abs(waves), axis=(0, 2))
    largest = np.where(largest > 0, largest, 1.0)
    steps = np.where(np.isnan(waves), NO_PLACE, np.round(127 * np.nan_to_num(waves) / largest[:, None]))
    return {
        "shown": list(lens.neurons),
        "what": lens.waves,
        "places": lens.places,
        "period": waves.shape[2],
        "waves": encoded(steps, "i8"),
        "frequency": encoded(np.stack([moment.frequency for moment in moments]), "u16"),
        "amplitude": encoded(np.stack([moment.amplitude for moment in moments]) / largest, "f32"),
        "phase": encoded(np.stack([moment.phase for moment in moments]), "f32"),
    }


def drawn_spectrum(lens: Lens, moments: list[Moment]) -> dict[str, Any] | None:
    """The size of the weights that read inputs, in every bin; the first, that of the mean, is left out."""
    sizes = np.stack([moment.spectrum for moment in moments])[:, 1:]
    if not lens.neurons or not sizes.size or not sizes.any():
        return None
    return {"what": lens.spectrum, "names": list(lens.bins[1:]), "sizes": encoded(sizes, "f32")}


def drawn_law(lens: Lens, moments: list[Moment]) -> dict[str, Any] | None:
    """The dots of the law by step: angles in 256ths of a turn, or cosines in 127ths; sizes in 255ths of the largest."""
    if not lens.law:
        return None
    x, y, size = (np.stack([getattr(moment, name) for moment in moments]) for name in ("x", "y", "size"))
    size = np.sqrt(size / max(float(size.max()), 1e-300))
    turns = lens.law == "phases"
    return {
        "kind": lens.law,
        "text": lens.law_text,
        "dots": x.shape[1],
        "x": encoded(np.floor(x / (2 * np.pi) * 256) % 256, "u8") if turns else None,
        "y": encoded(np.floor(y / (2 * np.pi) * 256) % 256, "u8") if turns else encoded(np.round(127 * y), "i8"),
        "size": encoded(np.round(255 * size), "u8"),
        "of": encoded(np.stack([moment.kind for moment in moments]), "u16"),
    }
