"""Other people's files: tensors by name, or an array of logits. No code of a file is ever run.

    .safetensors      tensors; of several, names tell the layout
    .pt .pth .bin     what torch.save wrote, by torch's own reader of weights alone, which makes no other objects
    .npy              an array of logits

A file may be an enemy's. Its size bounds what is read: a header that promises more than follows is refused, and so are
archives that are packed, and tensors that repeat a few stored numbers to any size.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from modgrok.algebra.table_files import npy_array
from modgrok.base.errors import InputError
from modgrok.base.files import read_bytes
from modgrok.base.memory import size_text
from modgrok.networks.readers.asking import LARGEST_LOGITS
from modgrok.networks.readers.layouts import TensorsByName

LARGEST_WEIGHTS = 1 << 29
"""Bytes of a file of weights, and of the tensors in it."""
TORCH = (".pt", ".pth", ".bin", ".ckpt")
SUFFIXES = (".safetensors", *TORCH, ".onnx", ".npy")
SUFFIXES_TEXT = ".safetensors, .pt, .pth, .bin, .ckpt, .onnx or .npy"
INSIDE = ("state_dict", "model_state_dict", "model", "state_dicts", "net", "params", "weights")
"""Keys under which checkpoints keep their state dicts."""
STEPS = ("steps", "epochs", "model_epochs")
"""Keys under which they keep the steps of several."""
MOST_FRAMES = 1000
"""State dicts of one training."""
MOST_AXES = 16
"""Of a tensor; NumPy itself has no more than 64."""


@dataclass(frozen=True, eq=False)
class Content:
    """What a file holds: `logits`, or state dicts with the steps they are of, None where the file does not say."""

    frames: tuple[tuple[int | None, TensorsByName], ...] = ()
    logits: np.ndarray | None = None


def read_weights(path: Path) -> Content:
    """What a file of weights or logits holds; an `InputError` that names the file where that is nothing of the kind."""
    return content_of(path, read_bytes(path, LARGEST_WEIGHTS))


def content_of(path: Path, content: bytes) -> Content:
    """What the bytes of a file hold, by the ending of its name."""
    suffix = path.suffix.lower()
    if suffix == ".npy":
        return Content(logits=npy_array(path, content, LARGEST_LOGITS))
    if suffix == ".safetensors":
        return named(path, safetensors_in(path, content))
    if suffix in TORCH:
        return torch_content(path, content)
    raise InputError(f"a network is a {SUFFIXES_TEXT} file, got {path}")


def named(path: Path, tensors: TensorsByName) -> Content:
    """A state dict, unless it is a single table of logits."""
    if len(tensors) == 1 and (array := next(iter(tensors.values()))).ndim > 2:
        return Content(logits=array)
    return Content(frames=((step_in(path), tensors),))


def step_in(path: Path) -> int | None:
    """The last whole number in a name: 500 in step_00500.pt."""
    numbers = re.findall(r"\d+", path.stem)
    return int(numbers[-1][-9:]) if numbers else None


def safetensors_in(path: Path, content: bytes) -> dict[str, np.ndarray]:
    from safetensors import SafetensorError, deserialize

    try:
        found = deserialize(content)  # type: ignore[no-untyped-call]
    except (SafetensorError, ValueError, OverflowError) as error:
        raise InputError(
            f"{path} is not a safetensors file, or was cut short: {' '.join(str(error).split())}"
        ) from None
    return {name: array_of(name, about) for name, about in named_in_one_line(found)}


KINDS = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "i1", "U8": "u1"}
"""NumPy's names of the types that safetensors has; BF16, the first half of a float32, has none."""


def array_of(name: str, about: Mapping[str, Any]) -> np.ndarray:
    """A tensor of a safetensors file; one of another type than numbers becomes no weight, and is kept by its name."""
    kind, shape, data = str(about["dtype"]), tuple(about["shape"]), about["data"]
    if len(shape) > MOST_AXES:
        raise InputError(f"{name} has {len(shape)} axes, above the limit of {MOST_AXES}")
    if kind == "BF16":
        halves = np.frombuffer(data, "<u2").astype(np.uint32) << 16
        return halves.view(np.float32).reshape(shape)
    if kind == "BOOL":
        return np.frombuffer(data, np.uint8).astype(bool).reshape(shape)
    if kind not in KINDS:
        raise InputError(f"weights must be real numbers, {name} is of the type {kind}; save it in float32")
    return np.frombuffer(data, KINDS[kind]).reshape(shape)


# --------------------------------------------------------------------------------------------- torch


def torch_content(path: Path, content: bytes) -> Content:
    """What torch.save wrote, read by torch with `weights_only`: tensors, numbers, texts, lists and dicts of them."""
    check_archive(path, content)
    if find_spec("torch") is None:
        raise InputError(
            f"reading {path} needs the package torch: pip install torch; or save the state dict as .safetensors"
        )
    import torch

    try:
        found = torch.load(BytesIO(content), map_location="cpu", weights_only=True)
    except Exception as error:
        refused = re.search(r"GLOBAL ([\w.]+)", str(error))
        what = f"it holds {refused[1]}" if refused else f"{type(error).__name__}: {' '.join(str(error).split()):.120}"
        raise InputError(
            f"{path} cannot be read as weights alone ({what}), and no code of a file is run; save "
            "model.state_dict() instead of the model"
        ) from None
    return plain_content(path, found)


def check_archive(path: Path, content: bytes) -> None:
    """An archive that is not packed: what torch.save has written since version 1.6, and no bare pickle."""
    try:
        with zipfile.ZipFile(BytesIO(content)) as archive:
            parts = archive.infolist()
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError, RuntimeError):
        raise InputError(
            f"{path} is no archive that torch.save writes, but a bare pickle or something else, and is not opened; "
            "save model.state_dict() with torch 1.6 or later, or as .safetensors"
        ) from None
    if any(part.compress_type != zipfile.ZIP_STORED for part in parts) or sum(p.file_size for p in parts) > len(
        content
    ):
        raise InputError(f"{path} is packed, as torch.save never writes it; save model.state_dict() again")


def plain_content(path: Path, found: Any) -> Content:
    """State dicts wherever a checkpoint keeps them, or a tensor of logits."""
    if hasattr(found, "detach"):
        return Content(logits=tensor_array("the tensor", found))
    for _ in range(3):
        if isinstance(found, Mapping) and (inside := [key for key in INSIDE if is_container(found.get(key))]):
            if isinstance(found[inside[0]], Sequence):
                return several(path, found[inside[0]], next((found[key] for key in STEPS if key in found), None))
            found = found[inside[0]]
    if is_container(found) and isinstance(found, Sequence):
        return several(path, found, None)
    if isinstance(found, Mapping) and (arrays := arrays_in(found)):
        return named(path, arrays)
    raise InputError(f"{path} holds no state dict: tensors by their names; save model.state_dict()")


def is_container(found: object) -> bool:
    """Whether it is a dict, or a list of dicts."""
    listed = isinstance(found, (list, tuple)) and bool(found) and all(isinstance(each, Mapping) for each in found)
    return isinstance(found, Mapping) or listed


def several(path: Path, dicts: Sequence[Mapping[str, Any]], steps: Any) -> Content:
    """The state dicts of several steps of a training."""
    if len(dicts) > MOST_FRAMES:
        raise InputError(f"{path} holds {len(dicts):,} state dicts, above the limit of {MOST_FRAMES:,}")
    listed = isinstance(steps, (list, tuple)) and len(steps) == len(dicts) and all(type(step) is int for step in steps)
    said = steps if listed else range(len(dicts))
    return Content(frames=tuple((step, arrays_in(each)) for step, each in zip(said, dicts, strict=True)))


def arrays_in(found: Mapping[Any, object]) -> dict[str, np.ndarray]:
    """The tensors of a dict by their names, as arrays; what is no tensor is left out."""
    tensors = [(str(name), each) for name, each in found.items() if hasattr(each, "shape")]
    arrays = {name: tensor_array(name, each) for name, each in named_in_one_line(tensors)}
    if (size := sum(array.nbytes for array in arrays.values())) > LARGEST_WEIGHTS:
        raise InputError(f"its tensors take {size_text(size)}, above the limit of {size_text(LARGEST_WEIGHTS)}")
    return arrays


def named_in_one_line(tensors: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Names may be an enemy's as well: a line break or a control in one would reach whoever reads the error."""
    for name, tensor in tensors:
        yield name if name.isprintable() else ascii(name)[1:-1], tensor


def tensor_array(name: str, tensor: Any) -> np.ndarray:
    """A tensor of torch, JAX or NumPy as an array, if its numbers fit; half precisions become float32."""
    if not hasattr(tensor, "detach"):
        return np.asarray(tensor)
    plain = str(tensor.layout) == "torch.strided" and not tensor.is_quantized and not tensor.is_meta
    if tensor.numel() * 8 > 2 * LARGEST_WEIGHTS or not plain:
        raise InputError(f"{name} of shape {tuple(tensor.shape)} is no plain tensor, or too large; save it in float32")
    kept = tensor.detach().cpu()
    return np.asarray((kept.float() if kept.is_floating_point() and kept.dtype.itemsize < 4 else kept).numpy())
