"""Questions about networks that were dropped on the page: read once, and kept as long as the explorer runs."""

from __future__ import annotations

import shutil
from hashlib import sha256
from pathlib import Path
from typing import Any

from modgrok.base.errors import InputError
from modgrok.base.files import whole_file
from modgrok.base.results import plain_object
from modgrok.explorer.asking import Params
from modgrok.explorer.functions import put_table
from modgrok.explorer.limits import check_cells, check_modulus
from modgrok.explorer.network_answers import DROPPED, KEPT_NETWORKS, NETWORK_FILE, asked_network
from modgrok.explorer.recipes import of_stranger
from modgrok.explorer.views import Cells, neuron_view, still_shown
from modgrok.inspection.wrapping import wrap
from modgrok.networks.network import Network
from modgrok.training.inspecting import inspect

NAME_FILE = "name.txt"
"""Has the name that the file was sent with, beside the network."""


def dropped(params: Params) -> dict[str, Any]:
    """A file that was sent: read as somebody's network, checked, kept; the page is about its function from then on."""
    sent, tables = Path(str(params["file"])), Path(str(params["tables"]))
    try:
        network = wrap(sent)
    except InputError as error:
        raise InputError(str(error).replace(str(sent), sent.name)) from None
    check_modulus(network.modulus)
    check_cells(network.model.residues)
    name = sha256(sent.read_bytes()).hexdigest()[:32]
    forget_oldest(tables)
    network.save(tables / f"{DROPPED}{name}" / NETWORK_FILE)
    with whole_file(tables / f"{DROPPED}{name}" / NAME_FILE) as temporary:
        temporary.write_text(sent.name, encoding="utf-8")
    return {"network": name, "title": network.title, **subject(network, tables)}


def forget_oldest(tables: Path) -> None:
    """Room for one more: as many are kept as the explorer keeps of others."""
    kept = sorted(tables.glob(f"{DROPPED}*"), key=lambda folder: folder.stat().st_mtime)
    for folder in kept[: max(0, len(kept) + 1 - KEPT_NETWORKS)]:
        shutil.rmtree(folder, ignore_errors=True)


def subject(network: Network, tables: Path) -> dict[str, Any]:
    """What the page is about from now on: an expression, or a table of answers."""
    function = network.function
    if function.tree is not None:
        return {"expression": function.source, "mod": function.values, "table": ""}
    return {"expression": "", "mod": "", "table": put_table(tables, function, function.name)}


def looked(params: Params) -> dict[str, Any]:
    """What a dropped network computes: where it errs, its frequencies, its neurons."""
    network = asked_network(params).network
    found = inspect(network, film=[])
    name = Path(str(params["tables"])) / f"{DROPPED}{params['network']}" / NAME_FILE
    view = found.logits
    return plain_object(
        {
            "title": network.title,
            "model": network.model.name,
            "width": network.width,
            "parameters": network.parameters,
            "notes": network.notes,
            "variables": network.variables,
            "formula": not network.answers_itself,
            "text": found.summary(),
            "why": view.why,
            "analytical_share": view.analytical_share,
            "key_frequencies": view.key_frequencies,
            "shares": () if view.shares is None else view.shares,
            "layers": [layer.to_json() for layer in found.inside.layers],
            "table": Cells(network).view(network),
            "neurons": neuron_view(network, still_shown(network, None)) if network.width else None,
            "recipe": of_stranger(name.read_text(encoding="utf-8")),
        }
    )
