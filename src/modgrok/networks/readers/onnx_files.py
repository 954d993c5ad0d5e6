"""ONNX files: a graph of known operators, run by onnxruntime or by onnx's own evaluator; nothing else of it is run.

A file may be an enemy's: weights in other files, operators of other domains and loops are refused, and so is whatever
ONNX's own inference of shapes says would be large.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from modgrok.algebra.function import Function
from modgrok.base.errors import InputError, optional
from modgrok.networks.readers.asking import CHUNK, Asked, Form, Sizes, answers_of, ask, module_forms

LARGEST_VALUE = 1 << 27
"""Numbers in one tensor of a graph."""
REFUSED = {"Loop", "Scan", "If", "SequenceMap"}
"""Operators that hold graphs, which may run as long as they like."""
GROWING = {"ConstantOfShape", "Expand", "Tile", "Range", "Pad", "OneHot", "Resize", "Upsample", "EyeLike"}
"""Operators whose outputs may be larger than what they read: their shapes must be known."""
DOMAINS = ("", "ai.onnx")
MOST_WORK = 1 << 38
"""Multiplications that a graph may take for one chunk of rows: some seconds. A transformer of a million weights takes
a tenth of them."""


def onnx_file(path: Path, content: bytes) -> Any:
    """The checked graph in a file; an `InputError` in one line where it is none, or does what a network does not do."""
    onnx = optional("onnx", f"reading {path}", "onnx")
    try:
        model = onnx.load_model_from_string(content)
        if any(tensor.external_data or tensor.data_location for tensor in tensors_in(model.graph)):
            raise InputError(
                f"{path} keeps its weights in other files, which are not read; save them inside it: "
                "torch.onnx.export(…, external_data=False)"
            )
        onnx.checker.check_model(model)
    except InputError:
        raise
    except Exception as error:
        raise InputError(f"{path} is not an ONNX file: {' '.join(str(error).split()):.160}") from None
    if model.functions or model.graph.sparse_initializer:
        what = "functions of its own" if model.functions else "sparse tensors"
        raise InputError(f"{path} has {what}, which are refused")
    for node in model.graph.node:
        if node.domain not in DOMAINS or node.op_type in REFUSED:
            raise InputError(
                f"{path} uses the operator {node.domain}{'.' * bool(node.domain)}{node.op_type}, which is refused"
            )
    return model


def tensors_in(graph: Any) -> Iterator[Any]:
    """Stored tensors, those in attributes of nodes too."""
    yield from graph.initializer
    for node in graph.node:
        yield from (attribute.t for attribute in node.attribute if attribute.HasField("t"))


def weights_in(model: Any) -> dict[str, np.ndarray]:
    """The stored tensors of a graph by their names."""
    from onnx import numpy_helper

    return {tensor.name: np.asarray(numpy_helper.to_array(tensor)) for tensor in model.graph.initializer}


def ask_onnx(path: Path, model: Any, sizes: Sizes, function: Function | None, equals: int | bool | None) -> Asked:
    """The logits of every row: the inputs that the graph declares say in which form it wants its rows."""
    declared = [value for value in model.graph.input if value.name not in {t.name for t in model.graph.initializer}]
    check_sizes(path, model, declared)
    try:
        run, output = runner(model), logits_output(model, sizes)
    except Exception as error:
        raise InputError(f"{path} cannot be run: {' '.join(str(error).split()):.160}; export it again") from None

    def call(*arguments: np.ndarray) -> np.ndarray:
        if len(arguments) != len(declared):
            raise InputError(f"it has {len(declared)} inputs, got {len(arguments)}")
        given = {value.name: each.astype(kind_of(value)) for value, each in zip(declared, arguments, strict=True)}
        return in_batches(lambda some: np.asarray(run(some)[output]), given, batch)

    firsts = [shape[0] for value in declared if (shape := shape_of(value))]
    batch = next((axis for axis in firsts if isinstance(axis, int)), None)  # rows that it was exported for
    forms = [form for form in module_forms(sizes, equals) if wanted(form, sizes, declared)]
    what = f"the graph in {path}"
    if not forms:
        shapes = ", ".join(f"{value.name} {shape_of(value)}" for value in declared)
        raise InputError(f"{what} has the inputs {shapes}, which are neither tokens nor one-hots of {sizes.text}")
    return ask(call, forms, sizes, answers_of(function), what)


def in_batches(
    run: Callable[[dict[str, np.ndarray]], np.ndarray], given: dict[str, np.ndarray], batch: int | None
) -> np.ndarray:
    """The output of all rows, from as many at once as the graph takes; the last batch is filled up with row 0."""
    rows = len(next(iter(given.values())))
    if batch is None:
        return run(given)
    outputs = []
    for first in range(0, rows, batch):
        places = np.arange(first, first + batch)
        places[places >= rows] = 0
        outputs.append(run({name: array[places] for name, array in given.items()}))
    return np.concatenate(outputs)[:rows]


def kind_of(value: Any) -> np.dtype:
    from onnx import helper

    return np.dtype(helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type))


def shape_of(value: Any) -> tuple[int | str, ...]:
    """The axes of a value: a number where the graph knows it, else its name."""
    return tuple(axis.dim_value or axis.dim_param or "?" for axis in value.type.tensor_type.shape.dim)


def wanted(form: Form, sizes: Sizes, declared: list[Any]) -> bool:
    """Whether rows in this form have the number, kinds and shapes that the graph declares; one-hots may be whole."""
    arguments = form.arguments(sizes.some(0, 2))
    if len(arguments) != len(declared):
        return False
    for argument, value in zip(arguments, declared, strict=True):
        shape = shape_of(value)
        real = np.issubdtype(kind_of(value), np.floating)
        if real != np.issubdtype(argument.dtype, np.floating) and (real or str in map(type, shape[1:])):
            return False
        if len(shape) != argument.ndim or any(
            isinstance(axis, int) and axis != length
            for axis, length in list(zip(shape, argument.shape, strict=True))[1:]
        ):
            return False
    return True


def logits_output(model: Any, sizes: Sizes) -> int:
    """The output that is called logits, or the first whose numbers are real."""
    names = [value.name for value in model.graph.output]
    if "logits" in names:
        return names.index("logits")
    real = [k for k, value in enumerate(model.graph.output) if np.issubdtype(kind_of(value), np.floating)]
    return real[0] if real else 0


def check_sizes(path: Path, model: Any, declared: list[Any]) -> None:
    """Refuse what ONNX's inference says would be large for one chunk of rows."""
    import onnx

    sized = onnx.ModelProto()
    sized.CopyFrom(model)
    for value in sized.graph.input:
        dims = value.type.tensor_type.shape.dim
        if len(dims) and not dims[0].dim_value:
            dims[0].dim_value = CHUNK
    try:
        inferred = onnx.shape_inference.infer_shapes(sized, data_prop=True)
    except Exception as error:
        raise InputError(f"the shapes in {path} contradict each other: {' '.join(str(error).split()):.160}") from None
    known = {value.name: shape_of(value) for value in (*inferred.graph.value_info, *inferred.graph.output)}
    for node in model.graph.node:
        if node.op_type in GROWING and any(isinstance(axis, str) for axis in known.get(node.output[0], ("?",))):
            raise InputError(
                f"{path} does not say how large the output of its {node.op_type} is; export it for fixed shapes"
            )
    for value in (*inferred.graph.value_info, *inferred.graph.output, *inferred.graph.input):
        numbers = prod(axis if isinstance(axis, int) else 1 for axis in shape_of(value))
        if numbers > LARGEST_VALUE:
            raise InputError(
                f"{path} computes {value.name[:40]!a} of {numbers:,} numbers, above the limit of {LARGEST_VALUE:,}"
            )
    shapes = known | {value.name: shape_of(value) for value in inferred.graph.input}
    shapes |= {tensor.name: tuple(tensor.dims) for tensor in model.graph.initializer}
    if (work := sum(multiplications(node, shapes) for node in model.graph.node)) > MOST_WORK:
        raise InputError(f"{path} takes {work:,} multiplications for {CHUNK:,} rows, above the limit of {MOST_WORK:,}")


def multiplications(node: Any, shapes: dict[str, tuple[int | str, ...]]) -> int:
    """How many a node takes: one for each number of its output, times what each of them is a sum over."""

    def lengths(name: str) -> list[int]:
        return [axis if isinstance(axis, int) else 1 for axis in shapes.get(name, ())]

    numbers, said = prod(lengths(node.output[0])), {each.name: each for each in node.attribute}
    if node.op_type == "Einsum":
        terms = said["equation"].s.decode("ascii", "replace").replace(" ", "").partition("->")[0].split(",")
        pairs = [
            pair
            for term, name in zip(terms, node.input, strict=False)
            for pair in zip(term, lengths(name), strict=False)
        ]
        return max(numbers, prod(dict(pairs).values()))
    if node.op_type in ("MatMul", "Gemm"):
        first = lengths(node.input[0]) or [1]
        return numbers * first[0 if "transA" in said and said["transA"].i else -1]
    return numbers * (prod(lengths(node.input[1])[1:]) if node.op_type.startswith("Conv") else 1)


def runner(model: Any) -> Callable[[dict[str, np.ndarray]], list[Any]]:
    """What runs the graph: onnxruntime, or onnx's own evaluator, which is slower."""
    if find_spec("onnxruntime") is None:
        from onnx.reference import ReferenceEvaluator

        evaluator = ReferenceEvaluator(model)
        return lambda given: list(evaluator.run(None, given))
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), sess_options=options, providers=["CPUExecutionProvider"]
    )
    return lambda given: list(session.run(None, given))
