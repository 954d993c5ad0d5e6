"""From the tensors of a state dict to a model with weights.

A state dict has names and shapes; what stands between its matrices (ReLU or x², whether an embedding is added or
concatenated) it does not say. So a layout gives every *reading* that names and shapes allow. Where the network itself
could be asked, the one is taken that computes its logits. Where there is nothing but weights, the one is taken that is
surest of its answers (`asking.sureness`), times its weight (`layouts.WEIGHTS`): a trained network that is read
otherwise than it was trained is not sure.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import jax
import numpy as np
from jaxtyping import Float, Int

from modgrok.base.errors import InputError
from modgrok.networks.models import Mlp, Model, Power, Rows
from modgrok.networks.readers.asking import LARGEST_LOGITS, Sizes, sureness
from modgrok.networks.readers.layouts import Misfit, Reading, Said, TensorsByName
from modgrok.networks.readers.perceptrons import perceptron_readings
from modgrok.networks.readers.transformers import LAYOUTS

MOST_TENSORS = 2000
"""Of a file that is read as weights."""
ROWS_SCORED = 2000
"""Rows of the table on which readings are compared."""
SAME = 1e-4
"""Logits are the same if none differs by more than this share of the largest."""
LARGEST_NUMBER = 1e6
"""Among weights: products of several layers' stay far below the end of float32. Trained ones are below 100."""
SHOWN = 12
"""Tensors that an error lists."""
PREFIXES = ("module.", "_orig_mod.", "model.", "net.", "network.", "state_dict.")
"""What wrappers of modules put in front of every name."""
OWN_POWER = {"experts.0.embed": "embed", "experts.0.readout": "readout"}
"""Names that modgrok's own export of a power network has."""
IGNORED = ("mask", "IGNORE", "num_batches_tracked")
"""Ends of names of what is stored and is no weight: causal masks, counters."""


def cleaned(tensors: TensorsByName) -> dict[str, np.ndarray]:
    """Weights by their own names: without prefixes that all share, masks and counters; all in one precision."""
    names = {name: name for name in tensors if not name.endswith(IGNORED)}
    while names and any(all(name.startswith(lead) for name in names.values()) for lead in PREFIXES):
        names = {key: name.partition(".")[2] for key, name in names.items()}
    numbers = {key: np.asarray(tensors[key]) for key in names}
    if wrong := [name for name, tensor in numbers.items() if tensor.dtype.kind not in "fiu"]:
        raise InputError(f"weights must be real numbers, {wrong[0]} holds {numbers[wrong[0]].dtype}")
    double = any(tensor.dtype == np.float64 for tensor in numbers.values())
    kind = np.float64 if double else np.float32
    found = {names[key]: tensor.astype(kind) for key, tensor in numbers.items()}
    for name, tensor in found.items():
        if not tensor.size:
            raise InputError(f"{name} of shape {tensor.shape} holds no numbers; save the weights again")
        if not np.isfinite(tensor).all():
            count = int((~np.isfinite(tensor)).sum())
            raise InputError(f"its weights are no finite numbers: {name} has {count:,} that are not; train it again")
        if (size := float(np.abs(tensor).max())) > LARGEST_NUMBER:
            raise InputError(f"{name} holds numbers up to {size:.2g}: its training diverged, or its file was made so")
    return found


def readings(tensors: TensorsByName, said: Said) -> list[Reading]:
    """Every reading that a layout allows; an `InputError` that lists the tensors where none does."""
    if not tensors:
        raise InputError("it holds no tensors")
    if len(tensors) > MOST_TENSORS:
        raise InputError(f"it holds {len(tensors):,} tensors, above the limit of {MOST_TENSORS:,}")
    found = cleaned(tensors)
    for layout in LAYOUTS:
        if layout.marks <= set(found):
            try:
                return [reading.without_equals() for reading in layout.read(found, said)]
            except Misfit as misfit:
                raise InputError(f"it looks like {layout.words}, but {misfit}; it has {listed(found)}") from None
    found = {OWN_POWER.get(name, name): tensor for name, tensor in found.items() if name != "betas"}
    if several := perceptron_readings(found, said):
        return [reading.without_equals() for reading in several]
    modulus = "" if said.sizes is None else f" of {said.sizes.text}"
    raise InputError(
        f"no layout is known for its tensors{modulus}; an MLP needs an embedding, or a first layer on one-hots, layers "
        "that follow from its width, and a readout to the classes, a transformer HookedTransformer's names; wrap the "
        f"module itself, its ONNX file, or a function that gives its logits; it has {listed(found)}"
    )


def listed(tensors: TensorsByName) -> str:
    """Tensors with their shapes, as many as one line has room for."""
    shown = [f"{name[:60]} {tuple(tensor.shape)}" for name, tensor in sorted(tensors.items())[:SHOWN]]
    rest = f" and {len(tensors) - SHOWN} more" if len(tensors) > SHOWN else ""
    return ", ".join(shown) + rest


def computing(several: Sequence[Reading], logits: Float[np.ndarray, "row class"]) -> Reading | None:
    """The reading that computes these logits of the whole table, if one does."""
    for reading in several:
        if same(reading_logits(reading, some_rows(reading.model, whole=True)), logits):
            return reading
    return None


def led_by_equals(reading: Reading) -> tuple[int, int]:
    """On how many inputs the class of "=", which is left out, leads, and of how many, where they are too many for
    all."""
    model = reading.model
    rows = some_rows(model, whole=Sizes(model.residues, model.classes).rows * model.classes <= LARGEST_LOGITS)
    values, behind = (reading_logits(reading._replace(params=p), rows) for p in (reading.params, reading.equals))
    return int((behind[:, 0] >= values.max(axis=1)).sum()), len(rows)


def surest(several: Sequence[Reading]) -> Reading:
    """The reading to take where nothing but weights is known; the function is not asked, so that it decides nothing."""
    taken = [reading for reading in several if reading.weight]
    if len(taken) == 1:
        return taken[0]
    return max(
        taken,
        key=lambda each: each.weight * sureness(reading_logits(each, some_rows(each.model, whole=False))),
    )


def some_rows(model: Model, *, whole: bool) -> Int[np.ndarray, "row variable"]:
    """All rows of the table, or some spread over it."""
    total = Sizes(model.residues, model.classes).rows
    step = 1 if whole else max(1, total // ROWS_SCORED)
    return np.stack(np.unravel_index(np.arange(0, total, step), model.residues), axis=1).astype(np.int64)


def reading_logits(reading: Reading, rows: Int[np.ndarray, "row variable"]) -> Float[np.ndarray, "row class"]:
    """The logits of some rows; nothing is compiled for a reading that may not be taken."""
    model, params = reading.model, reading.params
    if isinstance(model, Power | Mlp):
        x = sum(params.embed[v][column] for v, column in enumerate(rows.T))
        if isinstance(model, Power):
            return np.asarray(x**model.exponent @ params.readout)
        biases = params.biases or (0.0,) * model.depth
        for k, matrix in enumerate((*params.hidden, params.readout)):
            x = HOST_ACTIVATIONS[model.activation](x + biases[k]) @ matrix
        return np.asarray(x + biases[-1])
    double = np.asarray(jax.tree.leaves(params)[0]).dtype == np.float64
    with jax.enable_x64(double), jax.default_matmul_precision("highest"):
        parts = [
            np.asarray(model.apply(params, Rows(rows[first : first + ROWS_SCORED])))
            for first in range(0, len(rows), ROWS_SCORED)
        ]
    return np.concatenate(parts)


def gelu_exact(x: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
    from scipy.special import erf  # a fifth of a second to import

    found: np.ndarray = x / 2 * (1 + erf(x / np.sqrt(2)))
    return found


HOST_ACTIVATIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "relu": lambda x: np.maximum(x, 0),
    "square": np.square,
    "tanh": np.tanh,
    "gelu": lambda x: x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
    "gelu-exact": gelu_exact,
}
"""`models.base.ACTIVATIONS` in NumPy."""


def same(found: Float[np.ndarray, "row class"], logits: Float[np.ndarray, "row class"]) -> bool:
    scale = float(np.abs(logits).max(initial=0))
    return found.shape == logits.shape and float(np.abs(found - logits).max(initial=0)) <= SAME * max(scale, 1e-6)
