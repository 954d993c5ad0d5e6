"""The verb decompile: a network or a run read back into mathematics, with its training rows where they are known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from modgrok.base.errors import InputError
from modgrok.base.files import write_json, write_parquet
from modgrok.inspection.decompiling import Decompiled, decompile_network
from modgrok.inspection.wrapping import wrap
from modgrok.networks.network import Network
from modgrok.networks.storage import WEIGHTS, is_own_file
from modgrok.networks.verification import as_network
from modgrok.training.inspecting import NEURONS, check_inspectable, training_rows

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
    found = found.but(files=(*files, folder / NUMBERS))
    write_json(folder / NUMBERS, found.to_json())
    return found
