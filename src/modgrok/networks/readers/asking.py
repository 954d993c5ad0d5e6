"""Asking what is given for the logits of every row of the table, whatever way it wants its rows.

A network of somebody else's reads its rows in one of a few forms: tokens, tokens with "=" behind them, one-hots side by
side, or an argument for each variable. What it accepts is found by trying; where it accepts several, as a transformer
accepts two tokens and three, the form is taken under which its answers are right most often, or where nobody says what
is right, `sureness` is largest: a trained network that is asked in another form than it was trained on is not sure.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from modgrok.algebra.function import Function
from modgrok.base.errors import InputError
from modgrok.base.memory import size_text

LARGEST_LOGITS = 1 << 26
"""Most logits, rows times classes, of a network that is only called."""
CHUNK = 1 << 13
"""Rows that it is asked for at once."""
TRIED = 5
"""Rows on which a form is tried."""


@dataclass(frozen=True)
class Sizes:
    """How many values each variable has, and how many there are to answer."""

    residues: tuple[int, ...]
    classes: int

    @property
    def rows(self) -> int:
        return prod(self.residues)

    def some(self, first: int, count: int) -> Int[np.ndarray, "row variable"]:
        """`count` rows of the table from `first` on, in its order."""
        places = np.arange(first, min(first + count, self.rows))
        return np.stack(np.unravel_index(places, self.residues), axis=1).astype(np.int64)

    @property
    def text(self) -> str:
        return f"{' × '.join(map(str, self.residues))} rows and {self.classes} classes"


@dataclass(frozen=True)
class Form:
    """A way to hand rows to a network: `arguments` of rows, and what it is called."""

    words: str
    arguments: Callable[[Int[np.ndarray, "row variable"]], tuple[np.ndarray, ...]]


@dataclass(frozen=True, eq=False)
class Asked:
    """The logits of the whole table, the form in which they were asked for, and what was left out."""

    logits: Float[np.ndarray, "row class"]
    form: str
    notes: tuple[str, ...] = ()
    led: int = 0


def module_forms(sizes: Sizes, equals: int | bool | None) -> tuple[Form, ...]:
    """The forms that modules have; `equals` is the token of "=", False where there is none, None where nobody says."""
    token = max(sizes.residues) if equals is None or equals is True else int(equals)
    behind = Form(
        f'tokens and "=" as token {token}', lambda rows: (np.pad(rows, ((0, 0), (0, 1)), constant_values=token),)
    )
    others = (
        Form("tokens", lambda rows: (rows,)),
        Form("one-hots side by side", lambda rows: (one_hots(sizes, rows),)),
        Form("an argument for each variable", lambda rows: tuple(np.ascontiguousarray(column) for column in rows.T)),
    )
    if equals is False:
        return others
    return (behind, *others) if equals is None else (behind,)


def one_hots(sizes: Sizes, rows: Int[np.ndarray, "row variable"]) -> Float[np.ndarray, "row one_hot"]:
    parts = [np.eye(count, dtype=np.float32)[column] for count, column in zip(sizes.residues, rows.T, strict=True)]
    return np.concatenate(parts, axis=1)


def ask(
    call: Callable[..., object], forms: Iterable[Form], sizes: Sizes, answers: Int[np.ndarray, "row"] | None, what: str
) -> Asked:
    """The logits of every row, in the form that `what` accepts and is surest in; an `InputError` if there is none."""
    check_size(sizes, what)
    found, refused = [], []
    for form in forms:
        try:
            check_classes(one_answer(call, form, sizes, sizes.some(0, TRIED)).shape, sizes, what)
        except WrongClasses:
            raise
        except Exception as error:
            refused.append((form, error))
            continue
        found.append(form)
    if not found:
        raise InputError(not_accepted(what, refused))
    asked = [without_equals(whole_table(call, form, sizes, what), form.words, sizes) for form in found]
    return max(asked, key=lambda each: score(each.logits, answers))


class WrongClasses(InputError):
    """It answers, with another number of classes than there are values."""


def not_accepted(what: str, refused: Sequence[tuple[Form, Exception]]) -> str:
    """One line that says why the first form was refused: the others are variations of it."""
    form, error = refused[0]
    if len(refused) == 1 and isinstance(error, InputError):
        return str(error)
    tried = ", ".join(form.words for form, _ in refused)
    why = " ".join(f"{type(error).__name__}: {error}".split())
    return f"{what} accepts none of these: {tried}; on {form.words} it raised {why:.200}"


def one_answer(call: Callable[..., object], form: Form, sizes: Sizes, rows: np.ndarray) -> np.ndarray:
    """What it gives for some rows as an array of numbers: rows first, classes last."""
    given = on_host(call(*form.arguments(rows)))
    if given.ndim == 3:
        given = given[:, -1]  # a prediction at every token: the last one is the answer
    if given.ndim != 2 or len(given) != len(rows):
        raise InputError(f"logits of {len(rows)} rows need the shape ({len(rows)}, {sizes.classes}), got {given.shape}")
    if given.dtype.kind not in "fiub":
        raise InputError(f"logits must be real numbers, got {given.dtype}")
    return given if given.dtype in (np.float32, np.float64) else given.astype(np.float32)


def on_host(given: Any) -> np.ndarray:
    """Logits as a NumPy array, from whatever package; the first of several outputs, or the one called logits."""
    given = given["logits"] if isinstance(given, Mapping) and "logits" in given else getattr(given, "logits", given)
    if isinstance(given, (tuple, list)) and given:
        given = given[0]
    if hasattr(given, "detach"):  # torch, whose half precisions NumPy does not know
        given = given.detach().cpu()
        given = given if given.dtype.itemsize >= 4 else given.float()
        return np.asarray(given.numpy())
    return np.asarray(given)


def check_classes(shape: tuple[int, ...], sizes: Sizes, what: str) -> None:
    """An `InputError` where the number of logits is neither that of the values nor one more."""
    if shape[-1] not in (sizes.classes, sizes.classes + 1):
        raise WrongClasses(
            f'{what} gives {shape[-1]} classes where {sizes.classes} values, or one more for "=", are expected; '
            "give the modulus that it was trained on: mod= (--mod)"
        )


def equals_note(sizes: Sizes, led: int = 0, of: int = 0) -> str:
    """That a class is left out, and on how many inputs it leads, which are then right by other classes alone."""
    leads = f": the network itself answers it on {led:,} of {of:,} inputs" if led else ""
    return f'class {sizes.classes}, that of "=", is left out{leads}'


def without_equals(given: np.ndarray, form: str, sizes: Sizes) -> Asked:
    """Logits of the values alone, with a note where there is one more, that of "="."""
    logits, behind = given[:, : sizes.classes], given[:, sizes.classes :]
    led = int((behind >= logits.max(axis=1, keepdims=True)).sum())
    return Asked(logits, form, (equals_note(sizes, led, len(given)),) if behind.shape[1] else (), led)


def whole_table(call: Callable[..., object], form: Form, sizes: Sizes, what: str) -> Float[np.ndarray, "row class"]:
    """The logits of every row, a chunk at a time, with that of "=" where there is one."""
    parts = []
    for first in range(0, sizes.rows, CHUNK):
        rows = sizes.some(first, CHUNK)
        try:
            given = one_answer(call, form, sizes, rows)
        except Exception as error:
            why = " ".join(f"{type(error).__name__}: {error}".split())
            raise InputError(f"{what} failed on rows {first} to {first + len(rows) - 1}: {why:.200}") from error
        check_classes(given.shape, sizes, what)
        parts.append(given)
    return checked_logits(np.concatenate(parts), sizes, what)


def checked_logits(logits: np.ndarray, sizes: Sizes, what: str) -> Float[np.ndarray, "row class"]:
    """The logits themselves; an `InputError` that names the first row whose logits are no numbers."""
    wrong = ~np.isfinite(logits).all(axis=1)
    if wrong.any():
        row = tuple(int(x) for x in np.unravel_index(int(wrong.argmax()), sizes.residues))
        raise InputError(
            f"{what} gives logits that are no finite numbers in {int(wrong.sum()):,} of {len(wrong):,} rows, first at "
            f"{row}; its training diverged, or its weights are damaged"
        )
    return logits


def check_size(sizes: Sizes, what: str) -> None:
    if (count := sizes.rows * sizes.classes) > LARGEST_LOGITS:
        raise InputError(
            f"{what} would be asked for {count:,} logits ({size_text(4 * count)}), above the limit of "
            f"{LARGEST_LOGITS:,}; give a smaller modulus"
        )


def score(logits: Float[np.ndarray, "row class"], answers: Int[np.ndarray, "row"] | None) -> tuple[float, float]:
    """How often it is right, where that is known, and how sure it is: larger is better."""
    known = np.zeros(0, int) if answers is None else np.flatnonzero(answers >= 0)
    right = (
        float((logits[known].argmax(axis=1) == answers[known]).mean()) if answers is not None and len(known) else 0.0
    )
    return right, sureness(logits)


def sureness(logits: Float[np.ndarray, "row class"]) -> float:
    """By how many standard deviations of a row's logits the best leads the next, in the mean over rows."""
    if logits.shape[1] < 2 or not np.isfinite(logits).all():
        return -1.0
    spread = logits.std(axis=1, dtype=np.float64)
    best = np.partition(logits, -2, axis=1)[:, -2:].astype(np.float64)
    return float(np.mean((best[:, 1] - best[:, 0]) / np.where(spread > 0, spread, 1)))


# --------------------------------------------------------------------------------------- what can be called


def ask_callable(function: Callable[..., object], sizes: Sizes, answers: Int[np.ndarray, "row"] | None) -> Asked:
    """The logits of a function of rows; one that takes tensors of torch gets them where it refuses NumPy's arrays."""
    forms = [Form("rows of residues", lambda rows: (rows,))]
    if torch := sys.modules.get("torch"):
        forms.append(Form("rows as a tensor", lambda rows: (torch.as_tensor(rows),)))
    name = getattr(function, "__name__", type(function).__name__)
    what = f"the function {name}" if name.isidentifier() else "the function"
    accepted = ask_first(function, forms, sizes, what)
    return ask(function, [accepted], sizes, answers, what)


def ask_first(call: Callable[..., object], forms: Sequence[Form], sizes: Sizes, what: str) -> Form:
    """The first form that does not raise; the first of all where every one does."""
    for form in forms:
        try:
            call(*form.arguments(sizes.some(0, TRIED)))
            return form
        except Exception:
            continue
    return forms[0]


def is_module(source: object) -> bool:
    """Whether it is a module of torch, without importing torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(source, torch.nn.Module)


def ask_module(module: Any, sizes: Sizes, answers: Int[np.ndarray, "row"] | None, equals: int | bool | None) -> Asked:
    """The logits of a torch module, as it evaluates: no dropout, no gradients, on the device where its weights are."""
    import torch

    where = next((tensor.device for tensor in (*module.parameters(), *module.buffers())), torch.device("cpu"))
    kind = next((weights.dtype for weights in module.parameters() if weights.dtype.is_floating_point), torch.float32)

    def call(*arguments: np.ndarray) -> object:
        tensors = [torch.as_tensor(each, device=where) for each in arguments]
        with torch.no_grad():
            return module(*(each.to(kind) if each.is_floating_point() else each for each in tensors))

    training = [part for part in module.modules() if part.training]
    module.eval()
    try:
        return ask(call, module_forms(sizes, equals), sizes, answers, f"the module {type(module).__name__}")
    finally:
        for part in training:
            part.training = True


def sized_by(function: Function) -> Sizes:
    return Sizes(function.sizes, function.values)


def answers_of(function: Function | None) -> Int[np.ndarray, "row"] | None:
    """What is right on every row, -1 where nobody knows."""
    return None if function is None else function.table.reshape(-1)


def only_numbers(array: object, what: str) -> np.ndarray:
    """An array of real numbers."""
    try:
        found = np.asarray(array) if isinstance(array, (list, tuple)) else on_host(array)
    except ValueError:
        raise InputError(f"{what} must have rows of one length") from None
    except Exception as error:
        why = " ".join(f"{type(error).__name__}: {error}".split())
        raise InputError(f"{what} cannot be had, it raised {why:.200}") from None
    if found.dtype.kind not in "fiub":
        raise InputError(f"{what} must hold real numbers, got {found.dtype}")
    return found if found.dtype in (np.float32, np.float64) else found.astype(np.float32)


def array_sizes(shape: tuple[int, ...], mod: int | None) -> Sizes:
    """Sizes of an array of logits of no known function: an axis for each variable and one for the classes, or rows."""
    classes = shape[-1] if mod is None or shape[-1] not in (mod, mod + 1) else mod
    if len(shape) == 2:
        for variables in range(2, 8):
            for values in dict.fromkeys((classes, classes - 1)):
                if values >= 2 and values**variables == shape[0]:
                    return Sizes((values,) * variables, values)
        raise InputError(
            f"logits of shape {shape} are of no whole table: {shape[-1]} classes need {shape[-1]}² rows; give an array "
            "of shape (p, p, p), or (p², p)"
        )
    if mod is None and len(set(shape[:-1])) == 1 and shape[-1] == shape[0] + 1:
        classes = shape[0]
    return Sizes(tuple(shape[:-1]), classes)


def ask_array(array: object, sizes: Sizes | None, mod: int | None, what: str) -> tuple[Sizes, Asked]:
    """The logits in an array, checked against the sizes of the function, or with the sizes that it has itself."""
    found = only_numbers(array, what)
    if found.ndim < 2 or min(found.shape) < 2:
        raise InputError(f"{what} must have the shape (p, p, p), or (p², p), got {found.shape}")
    sizes = array_sizes(found.shape, mod) if sizes is None else sizes
    check_size(sizes, what)
    check_classes(found.shape, sizes, what)
    if found.shape[:-1] not in (sizes.residues, (sizes.rows,)):
        raise InputError(
            f"{what} has the shape {found.shape}, and a table of {sizes.text} is expected; give the axes in the order "
            "of the variables, or the modulus that it is of: mod= (--mod)"
        )
    return sizes, without_equals(checked_logits(found.reshape(sizes.rows, -1), sizes, what), "an array", sizes)
