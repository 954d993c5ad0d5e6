"""Compiled and trained networks in other people's tools: ONNX, PyTorch and TransformerLens.

All exports compute the logits of `Network.logits`: a model says how (`Model.onnx`, `Model.torch`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from modgrok.base.errors import InputError, optional
from modgrok.base.files import whole_file
from modgrok.base.results import Result
from modgrok.networks.network import Network
from modgrok.networks.onnx_graph import Graph
from modgrok.networks.transformer_lens import write_lens
from modgrok.networks.verification import NetworkLike, as_network

FORMATS = {"onnx": ".onnx", "torch": ".py", "transformer-lens": ".py"}


@dataclass(frozen=True, repr=False)
class Exported(Result):
    """A network that was written for another tool."""

    expression: str
    modulus: int | None
    format: str
    files: tuple[Path, ...]

    @property
    def heading(self) -> str:
        """What was written, and for whom."""
        modulus = "" if self.modulus is None else f" mod {self.modulus}"
        return f"{self.expression}{modulus} as {self.format}"

    def summary(self) -> str:
        return f"{self.heading}: {', '.join(map(str, self.files))}"


def export(network: NetworkLike, to: str, out: str | Path | None = None) -> Exported:
    """Write a network for ONNX runtimes, PyTorch or TransformerLens.

    Args:
        network: a network, a run, or the path of either.
        to: "onnx"; "torch" for a Python module with its weights beside it; "transformer-lens" for a module with
            TransformerLens's hooks, and beside it the state dict and the configuration of HookedTransformer.
        out: the file to write; beside the network's file by default.

    Returns:
        `Exported`, with the `files` that were written.
    """
    if to not in FORMATS:
        raise InputError(f"format must be one of {', '.join(FORMATS)}, got {to!r}; safetensors is the native one")
    found = as_network(network)
    path = beside(network, to) if out is None else Path(out)
    if path.suffix != FORMATS[to]:
        raise InputError(
            f"an export to {to} is a {FORMATS[to]} file, got {path}; name it {path.with_suffix(FORMATS[to])}"
        )
    files = EXPORTERS[to](found, path)
    return Exported(found.expression, found.function.modulus, to, tuple(files))


def beside(network: NetworkLike, to: str) -> Path:
    """The default file of an export: NET.onnx for NET.safetensors, RUN/network.onnx for a run folder.

    That to TransformerLens has tensors of its own beside it, so it is called NET_lens.py.
    """
    if not isinstance(network, (str, Path)):
        raise InputError("a network that is in no file needs a path to export to, such as network" + FORMATS[to])
    place = Path(network)
    file = (place / "network" if place.is_dir() else place).with_suffix(FORMATS[to])
    return file.with_name(f"{file.stem}_lens.py") if to == "transformer-lens" else file


def export_onnx(network: Network, path: Path) -> list[Path]:
    """One file with the graph of `onnx_graph`."""
    optional("onnx", "exporting to ONNX", "onnx")
    graph = Graph(network.dtype)
    network.model.onnx(graph, network.params, network.statistics)
    file = graph.file(network.model.variables, network.model.classes, network.title)
    with whole_file(path) as temporary:
        temporary.write_bytes(file)
    return [path]


def export_module(network: Network, path: Path, write: Callable[[Network, Path], list[Path]]) -> list[Path]:
    """A Python module with weights beside it; needs no torch to write."""
    if not path.stem.isidentifier():
        raise InputError(f"the file must be importable, got {path.name}; use letters, digits and _ such as network.py")
    return write(network, path)


EXPORTERS: dict[str, Callable[[Network, Path], list[Path]]] = {
    "onnx": export_onnx,
    "torch": partial(export_module, write=Network.write_torch),
    "transformer-lens": partial(export_module, write=write_lens),
}
"""That for torch writes the weights as `Network.save` does, so an export beside a network leaves it as it is."""
