"""The verb inspect: a network or a run looked at, with its training rows and its film where they are known.

The verb decompile: a network or a run read back into mathematics, with its training rows where they are known.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from modgrok.base.errors import InputError
from modgrok.base.files import write_json, write_parquet
from modgrok.base.progress import Progress
from modgrok.base.stores import finite_number, whole_number
from modgrok.inspection.decompiling import Decompiled, decompile_network
from modgrok.inspection.film import film_of
from modgrok.inspection.inspecting import Inspection, inspect_network, neuron_columns
from modgrok.inspection.wrapping import training_mask, wrap
from modgrok.networks.network import Network, named_leaves
from modgrok.networks.storage import WEIGHTS, is_own_file
from modgrok.networks.verification import NetworkLike, as_network, known_cells
from modgrok.training.data import train_count
from modgrok.training.snapshots import Snapshots, snapshots_in
from modgrok.training.steps import split_of

NEURONS, SNAPPED, FILM, GIF = "neurons.parquet", "snapped.safetensors", "film.parquet", "film.gif"
ROWS_LOOKED_AT = 10_000
"""Most rows whose logits are looked at before all of them are."""


def inspect(
    network: NetworkLike,
    *,
    order: str = "auto",
    film: Iterable[tuple[int, Network]] | None = None,
    out: str | Path | None = None,
    progress: Progress | None = None,
) -> Inspection:
    """What a network computes: its logits for every model, and the waves in the weights of a circuit of experts.

    Args:
        network: a network, a run, or the path of either.
        order: the order of residues for the weights of experts: additive, multiplicative, witness, or auto, the one of
            the function.
        film: pairs of a step and the network as it was then; by default the snapshots of a run that kept some. An empty
            list leaves the film out.
        out: a folder for figures, tables and the snapped network; nothing is written without it.
        progress: called with the steps of the film that are done, and with all of them.

    Returns:
        An `Inspection`; `to_json()` has the numbers, `plot_logits()`, `plot_phases()`, … the figures.

    >>> from modgrok.compiler.compiling import compile
    >>> inspect(compile("n1 + n2", 11)).order
    'additive'
    """
    frames = kept_film(network) if film is None else list(film)
    given = as_network(network)
    if not frames:  # a film tells when a training diverged
        check_inspectable(given)
    found = inspect_network(given, order=order)
    found = found.but(training=training_rows(found.network))
    if frames:
        found = found.but(film=film_of(frames, final=found.logits, training=found.training, progress=progress))
    return found if out is None else write_inspection(found, Path(out))


def check_inspectable(network: Network) -> None:
    """An `InputError` unless weights and logits are numbers that can be squared: spectra and variances are squares."""
    for name, weights in named_leaves(network.params).items():
        check_squares(network, name, weights)
    some = np.linspace(0, network.rows - 1, min(network.rows, ROWS_LOOKED_AT)).astype(np.int64)
    rows = np.stack(np.unravel_index(some, network.model.residues), axis=1)
    check_squares(network, "its answer", np.asarray(network.logits(rows), np.float64))


def check_squares(network: Network, what: str, numbers: Float[np.ndarray, "..."]) -> None:
    largest = float(np.abs(numbers).max(initial=0))
    if not largest < np.sqrt(np.finfo(numbers.dtype).max) / max(numbers.size, 1):
        shown = (
            f"numbers up to {largest:.2g}, too large to be squared"
            if isfinite(largest)
            else "numbers that are not finite"
        )
        raise InputError(
            f"{network.title} cannot be inspected: {what} holds {shown}; its training diverged, or its file was made so"
        )


def kept_film(network: NetworkLike) -> Collection[tuple[int, Network]]:
    """The snapshots of a run, or of the one in a folder; nothing where there are none."""
    if isinstance(network, (str, Path)):
        return snapshots_in(Path(network)).items()
    kept: Snapshots = getattr(network, "snapshots", {})
    return kept.items()


def training_rows(network: Network) -> Bool[np.ndarray, "table"] | None:
    """Which rows of the table a network was trained on; None where its settings do not tell."""
    if (said := training_mask(network)) is not None:
        return said
    settings = network.settings
    if network.method != "trained" or not {"seed", "fraction"} <= set(settings):
        return None
    seed, fraction = whole_number(settings["seed"], "seed"), finite_number(settings["fraction"], "fraction")
    rows, known = network.known_rows, known_cells(network)
    trained = np.asarray(split_of(seed, rows))[: train_count(fraction, rows)]
    mask = np.zeros(network.rows, bool)
    mask[trained if known is None else known[trained]] = True
    return mask


def write_inspection(found: Inspection, folder: Path) -> Inspection:
    """The same inspection, with its figures and tables in a folder."""
    from modgrok.figures.inspection import inspection_figures
    from modgrok.figures.style import save_figures

    files = []
    if found.snapped is not None:
        files += [folder / NEURONS, folder / SNAPPED]
        write_parquet(files[0], neuron_columns(found))
        found.snapped.save(files[1])
    if found.film is not None:
        from modgrok.figures.film import save_animation

        files += [folder / FILM, folder / GIF]
        write_parquet(folder / FILM, found.film.columns())
        save_animation(found.film, folder / GIF)
    return found.but(files=(*files, *save_figures(inspection_figures(found), folder)))


TWIN, NUMBERS = "twin.safetensors", "decompiled.json"


def decompile(
    network: Any, *, mod: int | None = None, training: Any = None, out: str | Path | None = None
) -> Decompiled:
    """From a network back to mathematics: which function its answers are, which waves compute it, a closed-form twin.

    What the network was made for is not asked: the function is found from its answers. It is a sum, a product, a power
    or a polynomial, one of these in disguise, or the table of a group; there may be errors. No formula is given that a
    table of random answers would get too, nor one that only holds where the network was trained.

    Args:
        network: a network, a run, or the path of either; or whatever `wrap` takes, such as an array of logits, a torch
            module, or a file of somebody else's weights.
        mod: the modulus of what `wrap` takes, where it does not tell it itself.
        training: which rows trained it, for what `wrap` takes: a mask over the table, numbers of rows, or rows.
        out: a folder for the twin, the figure, a table of the neurons and all numbers; nothing is written without it.

    Returns:
        A `Decompiled`: `.formula` (None if there is none), `.function`, `.recognised` (what was tried, which rows err),
        `.waves`, `.view` (variance explained, restricted and excluded loss), `.neurons`, `.twin`, `.paragraph()`,
        `.plot()`.

    >>> from modgrok.compiler.compiling import compile
    >>> decompile(compile("3 n1 + n2 + 2", 11)).formula
    '3 n1 + n2 + 2 mod 11'
    """
    own = isinstance(getattr(network, "network", network), Network)
    if own or (isinstance(network, (str, Path)) and is_own(Path(network))):
        if mod is not None or training is not None:
            raise InputError("modgrok's own networks know their modulus and training set; leave mod and training out")
        given = as_network(network)
    else:
        given = wrap(network, mod=mod, training=training)
    check_inspectable(given)
    found = decompile_network(given, training_rows(given))
    return found if out is None else write_decompiled(found, Path(out))


def is_own(path: Path) -> bool:
    """Whether there is a file of modgrok's own, or a folder that is a run; also where nothing is, for the error."""
    return not path.exists() or (path / WEIGHTS).exists() or (path.is_file() and is_own_file(path))


def write_decompiled(found: Decompiled, folder: Path) -> Decompiled:
    """The same, with twin, neurons, figure and numbers in a folder."""
    from modgrok.figures.style import save_figures

    files = []
    if found.twin is not None:
        files.append(found.twin.network.save(folder / TWIN))
    if found.neurons is not None:
        write_parquet(folder / NEURONS, dict(found.neurons))
        files.append(folder / NEURONS)
    files += save_figures({"decompiled": found.plot()}, folder)
    found = replace(found, files=(*files, folder / NUMBERS))
    write_json(folder / NUMBERS, found.to_json())
    return found
