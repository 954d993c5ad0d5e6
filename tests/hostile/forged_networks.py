"""(i) Forged network files: weights, words, wires, claims and descriptions changed, and what is then said of them.

Networks that are right, compiled or made by hand, and some that are not, are changed and written without checksums or
with new ones. Each file is loaded and given to the kernel. The truth is what NumPy computes from the weights on every
row, in the precision of the weights, and again with every number below the smallest normal one taken for 0 and with
products that are not rounded, as processors may do. A row that is proved right must be right each time; before anything
is proved, nothing may be called so; and what is refused is refused in one line.

Small networks are proved by counting their rows. What is for large ones, waves and compositions, is tried on small ones
as well: the kernel is told that all rows are too many.
"""

from __future__ import annotations

import contextlib
import html
import json
import random
import re
import tempfile
import time
import warnings
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import jax
import numpy as np
from large_networks import EVERY_LARGE, LARGE, judged_large
from network_forgeries import (
    FORGERIES,
    all_weights,
    moved,
    offset,
    one_weight,
    other_betas,
    other_types,
    other_weights,
    other_words,
    scaled,
)
from network_truth import answered, right_rows
from options import called
from safetensors.numpy import save
from tally import Tally
from true_certificates import MARKS, MEGABYTES, SECONDS
from true_networks import (
    ITS_FILE_SAYS,
    MODES,
    WORTH,
    Original,
    known_shapes,
    originals,
    small_limits,
    words_of,
)

from modgrok.base.errors import InputError
from modgrok.base.stores import write_tensors
from modgrok.networks.network import Network
from modgrok.networks.predicting import predict
from modgrok.networks.proving import prove, proved
from modgrok.networks.storage import load
from modgrok.networks.verification import verify
from modgrok.proofs.proof import NoProof, Proof

TOTAL, BATCH = 100_000, 250


def run_batch(number: int) -> Tally:
    """Files that follow from the number of the batch alone."""
    tally, rng = Tally(), random.Random(f"forged networks {number}")
    originals()
    with (
        tempfile.TemporaryDirectory() as place, warnings.catch_warnings(), known_shapes(), tally.weighed(MEGABYTES),
    ):  # fmt: skip
        warnings.simplefilter("error")
        path = Path(place) / "forged.safetensors"
        for k in range(number * BATCH, (number + 1) * BATCH - 7):
            one = originals()[k % len(originals())]
            name = list(FORGERIES)[k // len(originals()) % len(FORGERIES)]
            with np.errstate(all="ignore"):
                forged = FORGERIES[name](rng, *one.stored)
            written(path, rng, *forged)
            tally.trial(name, *problems(path, rng.choice(one.modes), f"{one.name}, {name}, batch {number}, {k}"))
        for verb in (verified, predicted, predicted, on_command_line, carried, carried, carried):
            tally.trial(verb.__name__.replace("_", " "), *verb(path, rng))
        if number % EVERY_LARGE == 0:
            name = list(LARGE)[number // EVERY_LARGE % len(LARGE)]
            tally.trial(f"large: {name}", *judged_large(path, name))
    return tally


def written(path: Path, rng: random.Random, about: dict[str, Any], tensors: dict[str, np.ndarray]) -> None:
    """The file, without checksums, or with new ones."""
    if rng.random() < 0.1:
        with contextlib.suppress(ValueError):  # what the package cannot write, others can
            write_tensors(path, about, tensors)
            return
    path.write_bytes(save(tensors, metadata={"modgrok": json.dumps(about)}))


def problems(path: Path, mode: str, what: str) -> list[str]:
    """What is wrong with what is said of a forged file."""
    began = time.process_time()
    try:
        network = load(path)
    except InputError as error:
        return [f"{what}: two lines: {error}"] if "\n" in str(error) or not str(error) else []
    except Exception as error:
        return [f"{what}: load: {type(error).__name__}: {str(error)[:200]}"]
    try:
        found = [f"{what}: {line}" for line in said(network)]
    except Exception as error:
        return [f"{what}: shown: {type(error).__name__}: {str(error)[:200]}"]
    claims, composed = MODES[mode]
    proof = None
    try:
        with small_limits(claims=claims, composed=composed):
            proof = prove(network)
    except NoProof as reason:
        found += [f"{what}: two lines: {reason}"] if "\n" in str(reason) else []
    except Exception as error:
        return [*found, f"{what}, {mode}: prove: {type(error).__name__}: {str(error)[:200]}"]
    seconds = time.process_time() - began
    found += [f"{what}, {mode}: took {seconds:.1f} s"] if seconds > SECONDS else []
    return found + ([f"{what}, {mode}: {line}" for line in untrue(network, proof)] if proof is not None else [])


def said(network: Network) -> Iterator[str]:
    """Words that call something proved which nobody has proved, or that come from the file."""
    if network.proof is not None or network.to_json()["proof"] is not None:
        yield "it has a proof that nobody made"
    shown = {"summary": network.summary(), "repr": repr(network), "html": network._repr_html_(),
             "proof text": network.proof_text or ""}  # fmt: skip
    for where, shown_text in shown.items():
        title = network.title if network.title.isprintable() else ""
        text = shown_text.replace(title, "").replace(html.escape(title), "")  # a name is its table's own
        if "proved" in text.replace(ITS_FILE_SAYS, ""):
            yield f"its {where} says {text[:300]!r}"
        if any(mark in text for mark in MARKS):
            yield f"its {where} repeats a text of its file: {text[:300]!r}"
    if any(not note.startswith("its file says: ") for note in network.notes):
        yield f"its notes are not told from its file's: {network.notes!r}"
    if network.function.tree is None and network.function.written is None and FORMULA.fullmatch(network.expression):
        yield f"its table is called by an expression: {network.title!r}"


FORMULA = re.compile(r"(function )?(([abctxyz]|n_?[0-9]+|[0-9]+|[-+*/^() ])+)( *(mod|in) .*)?")
"""What could be taken for words that somebody has compared."""


def untrue(network: Network, proof: Proof) -> Iterator[str]:
    """What a proof says of rows, held against what the weights compute."""
    answers = answered(network)
    if answers is None:
        answers = WORTH.get(words_of(network))
    if answers is None:
        if proof.holds:
            yield f"{proof.summary()}, of words that are in no list: {network.expression!r}"
        return
    known = answers >= 0
    if proof.rows != known.sum() or proof.right + proof.wrong + proof.undecided != proof.rows:
        yield f"{proof.summary()}, of {known.sum()} rows"
    for flush in (False, True):
        right = int(right_rows(network, answers, flush=flush)[known].sum())
        if proof.right > right or proof.wrong > proof.rows - right:
            yield f"{proof.summary()}; {right} of {proof.rows} are right{' with small numbers lost' * flush}"


@cache
def asked() -> tuple[Original, ...]:
    """Networks whose computation is compiled once: only their numbers change."""
    names = ("n1 + n2 mod 5, all", "n1 n2 + n3 mod 3, all", "mlp, relu float32")
    return tuple(one for one in originals() if one.name in names)


def forged_numbers(path: Path, rng: random.Random) -> Network:
    one = rng.choice(asked())
    forge = rng.choice([other_weights, all_weights, one_weight, moved, scaled, offset, other_betas])
    with np.errstate(all="ignore"):
        forged = forge(rng, *one.stored)
    written(path, rng, *forged)
    return load(path)


def verified(path: Path, rng: random.Random) -> list[str]:
    """`verify` computes every row with JAX, and says what is proved beside it."""
    try:
        with warnings.catch_warnings():
            found = verify(forged_numbers(path, rng))
    except InputError as error:
        return [] if "\n" not in str(error) else [f"two lines: {error}"]
    except Exception as error:
        return [f"{type(error).__name__}: {str(error)[:200]}"]
    proof, right = found.proof, found.rows_checked - found.errors
    if proof is not None and (proof.right > right or (proof.holds and found.accuracy < 1)):
        return [f"{proof.summary()}; {found.summary()}"]
    return []


def carried(path: Path, rng: random.Random) -> list[str]:
    """A proof is not carried over to another model, to other weights or words, and does not change with what is held
    by others."""
    one, other = rng.choice(originals()), rng.choice(originals())
    written(path, rng, *one.stored)
    held = load(path)
    network = proved(held)
    proof = network.proof
    if proof is None:
        return []
    found = []
    for leaf in jax.tree.leaves(held.params):
        leaf[...] = rng.choice([0, 1, np.nan])
    if one.modes == ("counted",):  # where the proof took no other limits
        found += [f"{one.name}: weights were changed: {line}" for line in untrue(network, proof)]
    written(path, rng, *other.stored)
    second = load(path)
    changes = {
        "model": second.model, "params": second.params, "function": second.function,
        "model ": replace(network.model, width=network.model.width + 1),
        "params ": jax.tree.map(np.array, network.params),
    }  # fmt: skip
    for what, change in changes.items():
        moved = replace(network, **{what.strip(): change})
        if moved.proof is not None and moved.words != network.words:
            found.append(f"{one.name}: the proof is kept with another {what} of {other.name}")
        if moved.proof is not None and what.strip() != "function":
            found.append(f"{one.name}: the proof is kept with another {what}")
    for field in ("right", "wrong", "undecided", "rows", "words", "subject"):
        with contextlib.suppress(TypeError):
            replace(proof, **{field: getattr(proof, field)})
            found.append(f"{one.name}: {field} of its proof can be replaced")
    return found


def predicted(path: Path, rng: random.Random) -> list[str]:
    """A network without numbers, or of zeros, is never correct; and none is whose right logit does not lead."""
    one = rng.choice(asked())
    about, tensors = one.stored
    value = rng.choice([np.nan, 0.0])
    written(path, rng, about, {k: np.full_like(v, value) if v.dtype.kind == "f" else v for k, v in tensors.items()})
    network = load(path)
    row = [rng.randrange(size) for size in network.model.residues]
    found, many = predict(network, *row), predict(network, np.array([row, row]))
    shown = found.summary() + json.dumps(found.to_json())
    if found.correct or many.correct or many.right.any() or "(correct" in shown or "proved" in shown:
        return [f"{one.name} of {value} at {row}: {shown}"]
    return []


def on_command_line(path: Path, rng: random.Random) -> list[str]:
    """`modgrok verify` of a forged file: 0 only if all is right, else 1 or 2, and no traceback."""
    one = rng.choice(asked())
    forge = rng.choice([other_weights, one_weight, other_words, other_types])
    with np.errstate(all="ignore"):
        forged = forge(rng, *one.stored)
    written(path, rng, *forged)
    code, out, err = called(["verify", str(path), "--json"])
    if code not in (0, 1, 2) or "Traceback" in err:
        return [f"{one.name} ends with {code}: {err[-300:]}"]
    if code == 2:
        return [] if err.count("\n") == 1 and not out else [f"{one.name} does not say one line: {err[-300:]!r}"]
    found = json.loads(out)
    proof = found.get("proof")
    if (code == 0) != (found["accuracy"] == 1) or (proof and proof["holds"] and found["accuracy"] < 1):
        return [f"{one.name} ends with {code}: {out[:300]}"]
    return []
