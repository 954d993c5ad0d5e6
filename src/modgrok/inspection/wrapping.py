"""The verb wrap: a network that somebody else trained, as a `Network` that every verb takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool, Int, PyTree

from modgrok.algebra.field import check_modulus
from modgrok.algebra.function import Function, FunctionLike, from_table, read_function
from modgrok.base.errors import InputError, check_choice
from modgrok.base.files import read_bytes
from modgrok.networks.models import Logits, Model
from modgrok.networks.models.base import ACTIVATIONS
from modgrok.networks.models.logits_table import LogitsTable
from modgrok.networks.network import OWN_ANSWERS, Network
from modgrok.networks.readers.asking import (
    Asked,
    Sizes,
    answers_of,
    ask_array,
    ask_callable,
    ask_module,
    equals_note,
    is_module,
    sized_by,
)
from modgrok.networks.readers.layouts import Said, TensorsByName
from modgrok.networks.readers.onnx_files import ask_onnx, onnx_file, weights_in
from modgrok.networks.readers.state_dicts import computing, led_by_equals, readings, surest
from modgrok.networks.readers.weight_files import (
    LARGEST_WEIGHTS,
    MOST_FRAMES,
    SUFFIXES,
    SUFFIXES_TEXT,
    arrays_in,
    read_weights,
    step_in,
)
from modgrok.networks.storage import WEIGHTS, check_no_table, is_own_file, load
from modgrok.recognition.recognising import LARGEST_ANSWERS, recognise

TRAINING_ROWS = "training_rows"
"""The setting that says which rows of the table trained a network."""


def wrap(
    source: Any,
    function: FunctionLike | None = None,
    mod: int | None = None,
    *,
    group: str | None = None,
    field: int | None = None,
    training: Any = None,
    equals: int | bool | None = None,
    activation: str | None = None,
    heads: int | None = None,
) -> Network:
    """A network that was made elsewhere, for every verb: verify, inspect, predict, export.

    Weights in a known layout become a full `Transformer`, `Mlp` or `Power`, whose neurons and attention can be seen; of
    anything else the logits are known. docs/your-network.md has the layouts.

    Args:
        source: a function from rows of residues to logits (NumPy, JAX or torch); an array of logits over the table,
            of shape (p, p, p) or (p², p); a torch module, which is called on tokens; a state dict; the path of a
            .safetensors, .pt, .onnx or .npy file; or a folder or list of checkpoints, which make a film.
        function: what it was trained on, as every verb takes it. By default it is found: the formula that its answers
            are (`mg.recognise`), or the answers themselves where they are none.
        mod: the modulus; files and arrays mostly tell it themselves.
        group, field: the finite group or field of the function, as `read_function` takes them.
        training: which rows of the table it was trained on: a mask over the table, numbers of rows, or rows.
        equals: the token of "=" that stands behind the variables, or False where none does; by default it is found.
        activation: of an MLP or a transformer, where its file has weights alone; by default it is found.
        heads: of a transformer whose file does not tell them.

    Returns:
        A `Network` with the method `wrapped`; `notes` say how it was read.

    >>> wrap(lambda rows: np.eye(5)[rows.sum(axis=1) % 5], "n1 + n2", mod=5)
    <Network: n1 + n2 mod 5, wrapped logits>
    """
    if activation is not None:
        check_choice("activation", activation, ACTIVATIONS)
    if function is None and (group is not None or field is not None):
        raise InputError("a group or a field is that of a function: give it too, function='a b' (--function 'a b')")
    known = None if function is None else read_function(function, mod, group=group, field=field)
    sizes = sized_by(known) if known is not None else None if mod is None else Sizes((check_modulus(mod),) * 2, mod)
    asking = Asking(known, Said(sizes, equals, activation, heads), mod)
    try:
        network = asking.film(frames_in(source))
    except InputError as error:
        if not isinstance(source, (str, Path)) or str(source) in str(error):
            raise
        raise InputError(f"{source} cannot be read: {error}") from None
    if training is None:
        return network
    return replace(network, settings={TRAINING_ROWS: rows_given(training, sizes_of(network.model))})


def frames_in(source: object) -> list[tuple[int, object]]:
    """What is to be wrapped, with the steps of a training that they are of; the last one is the network."""
    if isinstance(source, (str, Path)) and (Path(source) / WEIGHTS).is_file():  # a run
        return [(0, Path(source) / WEIGHTS)]
    if isinstance(source, (str, Path)) and Path(source).is_dir():
        files = [path for path in Path(source).iterdir() if path.suffix.lower() in SUFFIXES]
        if not files:
            raise InputError(f"the folder {source} has no {SUFFIXES_TEXT} file")
        return frames_in(sorted(files))
    if isinstance(source, (str, Path)):
        return frames_of_file(Path(source))
    if not isinstance(source, (list, tuple)) or not source:
        return [(0, source)]
    named = all(isinstance(each, (str, Path)) for each in source)
    if (named or all(map(is_network, source))) and len(source) > MOST_FRAMES:
        raise InputError(f"{len(source):,} checkpoints are above the limit of {MOST_FRAMES:,}; give some of them")
    if named:
        steps = [step_in(Path(each)) for each in source]
        numbers = [step for step in steps if step is not None]
        told = numbers if len(set(numbers)) == len(source) else list(range(len(source)))
        return sorted(zip(told, map(Path, source), strict=True), key=lambda frame: frame[0])
    return list(enumerate(source)) if all(map(is_network, source)) else [(0, source)]


def is_network(source: object) -> bool:
    """Whether one of several in a list is a whole network: a state dict, a module, or logits over a table."""
    return isinstance(source, Mapping) or is_module(source) or getattr(source, "ndim", 0) >= 3


def frames_of_file(path: Path) -> list[tuple[int, object]]:
    """A file, or what it holds where that is several state dicts."""
    check_no_table(path)
    if path.suffix.lower() not in SUFFIXES:
        raise InputError(f"a network is a {SUFFIXES_TEXT} file or a folder of them, got {path}")
    if path.suffix.lower() == ".onnx" or is_own_file(path):
        return [(0, path)]
    content = read_weights(path)
    if content.logits is not None:
        return [(0, content.logits)]
    return sorted(((step or 0, tensors) for step, tensors in content.frames), key=lambda frame: frame[0])


@dataclass(frozen=True)
class Asking:
    """What is known beforehand: the function, what was said of it; `like` is how another step of it was read."""

    known: Function | None
    said: Said
    mod: int | None
    like: str | None = None

    def film(self, frames: Sequence[tuple[int, object]]) -> Network:
        """The network of the last frame; the others are what it was at earlier steps, read in the same way."""
        (*earlier, (step, last)) = frames
        network = self.network(last)
        if not earlier:
            return network
        said = replace(self.said, sizes=sizes_of(network.model))
        same = replace(self, known=network.function, said=said, like=network.notes[0])
        steps = {step: same.network(each) for step, each in earlier} | {step: network}
        return replace(network, snapshots=dict(sorted(steps.items())))

    def network(self, source: object) -> Network:
        """The network of one source."""
        if isinstance(source, Path):
            return self.of_file(source)
        if isinstance(source, Network):
            self.check_own(source)
            if self.known is None:
                return source
            same = source.function == self.known  # of another function its file says nothing
            return replace(source, function=self.known, method="wrapped", claimed=source.claimed and same)
        if isinstance(source, Mapping):
            return self.of_tensors(arrays_in(source))
        if is_module(source):
            asked = ask_module(source, self.needed("torch module"), answers_of(self.known), self.said.equals)
            return self.of_logits(asked, self.needed("module"), module_weights(source))
        if callable(source):
            asked = ask_callable(source, self.needed("function"), answers_of(self.known))
            return self.of_logits(asked, self.needed("function"))
        if hasattr(source, "__array__") or hasattr(source, "detach") or isinstance(source, (list, tuple)):
            given = None if self.known is None else self.said.sizes
            sizes, asked = ask_array(source, given, self.mod, "the array of logits")
            return self.of_logits(asked, sizes)
        raise InputError(
            "wrap takes a function of rows, an array of logits, a torch module, a state dict or a file, got "
            f"{type(source).__name__}"
        )

    def check_own(self, network: Network) -> None:
        """A network of modgrok's knows what it is: what is said of it beside its function must be so."""
        sizes = sizes_of(network.model)
        if self.known is None and self.mod not in (None, sizes.classes):
            raise InputError(f"{network.title} has {sizes.classes} values, and mod {self.mod} is given; leave it out")
        if self.known is not None and sized_by(self.known) != sizes:
            raise InputError(
                f"the network is one of {sizes.text}, {self.known.title} has {sized_by(self.known).text}; give a "
                "function of its sizes"
            )
        said = {"equals": self.said.equals, "activation": self.said.activation, "heads": self.said.heads}
        if given := [name for name, value in said.items() if value is not None]:
            raise InputError(f"a network of modgrok's tells by itself what it is; leave out {' and '.join(given)}")

    def needed(self, what: str) -> Sizes:
        if self.said.sizes is None:
            raise InputError(f"a {what} needs the modulus that it was trained on: mg.wrap(network, mod=113)")
        return self.said.sizes

    def of_file(self, path: Path) -> Network:
        if path.suffix.lower() == ".onnx":
            return self.of_onnx(path)
        if is_own_file(path):
            return self.network(load(path))
        content = read_weights(path)
        return self.network(content.frames[-1][1] if content.logits is None else content.logits)

    def of_onnx(self, path: Path) -> Network:
        """The graph as it computes; and its weights, where they are a layout that computes the same."""
        graph = onnx_file(path, read_bytes(path, LARGEST_WEIGHTS))
        sizes, asked = self.asked_graph(path, graph)
        return self.of_logits(asked, sizes, weights_in(graph))

    def asked_graph(self, path: Path, graph: Any) -> tuple[Sizes, Asked]:
        """Its logits; where nobody says the modulus it is the number of classes, or if it refuses that, one fewer."""
        if self.said.sizes is not None:
            return self.said.sizes, ask_onnx(path, graph, self.said.sizes, self.known, self.said.equals)
        sizes = onnx_sizes(path, graph)
        try:
            return sizes, ask_onnx(path, graph, sizes, self.known, self.said.equals)
        except InputError as error:
            if sizes.classes <= 2:
                raise
            fewer = Sizes((sizes.classes - 1,) * len(sizes.residues), sizes.classes - 1)
            try:
                return fewer, ask_onnx(path, graph, fewer, self.known, self.said.equals)
            except InputError:
                raise error from None

    def of_tensors(self, tensors: TensorsByName) -> Network:
        """The model that the tensors are the weights of."""
        several = readings(tensors, self.said)
        alike = [reading for reading in several if f"read as {reading.words}" == self.like]
        reading = surest(alike or several)
        notes = [f"read as {reading.words}"]
        led, of = (0, 0) if reading.equals is None else led_by_equals(reading)
        if reading.equals is not None:
            notes.append(equals_note(sizes_of(reading.model), led, of))
        if self.said.activation is None and hasattr(reading.model, "activation"):
            notes.append("a file of weights does not tell the activation: say it where it is another (--activation)")
        return self.made(reading.model, reading.params, tuple(notes), led)

    def of_logits(self, asked: Asked, sizes: Sizes, tensors: TensorsByName | None = None) -> Network:
        """The logits; or the model that computes them, where the tensors are its weights."""
        notes = (f"asked for {asked.form}", *asked.notes)
        try:
            several = [] if not tensors else readings(tensors, replace(self.said, sizes=sizes))
        except InputError:
            several = []
        if reading := computing(several, asked.logits):
            return self.made(reading.model, reading.params, (f"read as {reading.words}", *notes), asked.led)
        table = LogitsTable(asked.logits.reshape(*sizes.residues, sizes.classes))
        return self.made(Logits(sizes.residues, sizes.classes), table, notes, asked.led)

    def made(self, model: Model, params: PyTree, notes: tuple[str, ...], led: int) -> Network:
        if self.known is not None:
            return Network(model, params, self.known, "wrapped", notes=notes, led=led)
        blank = from_table(np.zeros(model.residues, np.int64), model.classes, OWN_ANSWERS)
        network = Network(model, params, blank, "wrapped", notes=notes, led=led)
        answers = network.table()  # the function is the formula that they are, but for some errors; or they themselves
        found = recognise(answers, classes=model.classes).function if answers.size <= LARGEST_ANSWERS else None
        return replace(network, function=found or from_table(answers, model.classes, OWN_ANSWERS))


def module_weights(module: Any) -> TensorsByName | None:
    """The tensors of a module that has answered; None where they cannot be had, since its logits are known anyway."""
    try:
        return arrays_in(module.state_dict())
    except Exception:
        return None


def sizes_of(model: Model) -> Sizes:
    return Sizes(model.residues, model.classes)


def onnx_sizes(path: Path, graph: Any) -> Sizes:
    """The modulus of a graph of which nobody says it: the number of its classes, where it is written down."""
    axes = [value.type.tensor_type.shape.dim for value in graph.graph.output]
    classes = next((dims[-1].dim_value for dims in axes if len(dims) > 1 and dims[-1].dim_value > 1), None)
    if classes is None:
        raise InputError(f"{path} does not say how many classes it has; give the modulus: mod= (--mod)")
    return Sizes((classes,) * 2, classes)


def rows_given(training: object, sizes: Sizes) -> list[int]:
    """Numbers of the training rows, from a mask over the table, such numbers, or rows of residues."""
    found = np.asarray(training)
    if found.dtype == bool and found.size == sizes.rows:
        found = np.flatnonzero(found.reshape(-1))
    if not found.size:
        raise InputError("no rows trained it: leave training out, or give those that did")
    if not np.issubdtype(found.dtype, np.integer):
        raise InputError(
            f"training must be a mask of {sizes.rows:,} rows, numbers of rows, or rows of residues, got "
            f"{found.dtype} of shape {found.shape}"
        )
    if found.ndim == 2 and found.shape[1] >= len(sizes.residues):  # a column of "=" may follow
        found = row_numbers(found[:, : len(sizes.residues)], sizes)
    if found.ndim != 1 or found.min() < 0 or found.max() >= sizes.rows:
        raise InputError(
            f"training inputs must be numbers from 0 to {sizes.rows - 1:,}, got {found.min()} … {found.max()} in shape "
            f"{found.shape}"
        )
    return sorted({int(row) for row in found})


def row_numbers(rows: Int[np.ndarray, "row variable"], sizes: Sizes) -> Int[np.ndarray, "row"]:
    if rows.min() < 0 or (rows >= np.array(sizes.residues)).any():
        raise InputError(f"training inputs must hold residues of {sizes.text}, got {rows.min()} … {rows.max()}")
    return np.asarray(np.ravel_multi_index(tuple(rows.T), sizes.residues))


def training_mask(network: Network) -> Bool[np.ndarray, "table"] | None:
    """The rows that a wrapped network was trained on; None where nobody said."""
    if network.method != "wrapped" or TRAINING_ROWS not in network.settings:
        return None
    mask = np.zeros(network.rows, bool)
    mask[rows_given(network.settings[TRAINING_ROWS], sizes_of(network.model))] = True
    return mask
