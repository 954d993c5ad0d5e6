"""(g) Random expressions through the compiler, in all its ways: networks and proofs against integers, on every row.

Expressions and right answers come from `random_expressions`, which shares nothing with modgrok. What a network answers
is computed here too, by NumPy, from its weights alone; a few are asked through JAX as well. Of every network:

* exact: it is given out, answers every row right, and its proof says so of as many rows as there are;
* paper, narrow, and so often wrong: where its proof has decided a row, that is the answer, and the rows that it counts
  right, wrong and undecided are those that integers find. Modulo a composite number it may be refused, and where its
  numbers can overflow, or a power is above 4,000, it has no proof.

An error other than that, a `FaultError` first of all, and a warning is a finding.

Beside every eighth expression stands a case of `random_words`: a word in a group, an expression over a field, with
quotients or conditions, or a table; some have unknown cells. Its network must be proved right on as many rows as have a
value; held against a table with one cell changed, wrong on that one; and under its own words that table proves nothing.
"""

from __future__ import annotations

import random
import warnings
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from network_truth import right_rows
from random_expressions import Case, places, random_case
from random_words import Case as Words, random_case as random_words, random_table
from tally import Tally

import modgrok as mg
from modgrok.algebra.function import read_function
from modgrok.base.errors import InputError
from modgrok.networks.circuit import Circuit
from modgrok.networks.network import Network
from modgrok.networks.proving import kernel_circuit, proved
from modgrok.proofs.networks import UNDECIDED, settled_rows

TOTAL, BATCH, UNIT = 100_000, 200, "expressions, each in four ways"
DTYPES = ("float64", "float32")
EVERY_WORD = 8
"""There are so many expressions for each word in a group, a field or with quotients, and each table."""
EVERY_JAX = 400
"""Of one in so many expressions one network is asked through JAX as well, which compiles a program for it."""
WIDTHS = ((20, 40), (20, 40), (40, 20), (2, 1), (7, 300))


class Way(NamedTuple):
    name: str
    settings: dict[str, Any]


def ways(rng: random.Random) -> list[Way]:
    """Every way to compile an expression once, each with what is random about it, its precision first."""
    number, found = rng.choice((1, 2, 3, 5, 8, 40)), []
    for name, frequencies in (("all", "all"), ("minimal", "minimal"), ("a number of", number)):
        dtype = rng.choice(DTYPES)
        found.append(Way(f"exact, {name} frequencies, {dtype}", {"frequencies": frequencies, "dtype": dtype}))
    dtype, (mul_width, add_width) = rng.choice(DTYPES), rng.choice(WIDTHS)
    settings = {"mul_width": mul_width, "add_width": add_width, "seed": rng.randrange(10**6), "dtype": dtype}
    settings |= {"normalisation": rng.choice(("printed", "table")), "beta": rng.choice((1.0, 10.0, 100.0, 1000.0))}
    return [*found, Way(f"paper, {dtype}", {"method": "paper", **settings})]


# --------------------------------------------------------------------------------------------- another evaluation


def answers(circuit: Circuit, m: int) -> np.ndarray:
    """What a circuit answers on all rows, in the precision of its weights.

    An expert is computed once for all values of the variables that it depends on.
    """
    variables = circuit.variables
    supports: list[tuple[int, ...]] = [(k,) for k in range(variables)]
    signals: list[np.ndarray | None] = [None] * variables
    for k, (expert, wires) in enumerate(zip(circuit.experts, circuit.wires, strict=True)):
        support = tuple(sorted({v for wire in wires for v in supports[wire]}))
        total = 0
        for embed, wire in zip(np.asarray(expert.embed), wires, strict=True):
            signal = signals[wire]
            columns = embed[:m] if signal is None else signal @ embed[: signal.shape[1]]
            total = total + columns[places(supports[wire], support, m)]
        hidden = total
        for _ in range(expert.power - 1):
            hidden = hidden * total
        logits = hidden @ np.asarray(expert.readout)
        if k + 1 < len(circuit.experts):
            logits = np.asarray(circuit.betas)[k] * logits
            logits = np.exp(logits - logits.max(axis=1, keepdims=True))
            logits = logits / logits.sum(axis=1, keepdims=True)
        supports.append(support)
        signals.append(logits)
    return logits.argmax(axis=1)[places(supports[-1], tuple(range(variables)), m)]


def beyond_bounds(network: Network) -> bool:
    """Whether there is a reason why nobody bounds the rounding of a network of the paper's, and it is the one given."""
    overflows = "may overflow" in network.unproved and may_overflow(network.circuit)
    return overflows or (
        "whose rounding is bounded" in network.unproved and max(e.power for e in network.circuit.experts) > 4000
    )


def may_overflow(circuit: Circuit) -> bool:
    """Whether some logit can come near the largest number, as a sum of hundreds of terms to their number's power."""
    with np.errstate(over="ignore", invalid="ignore"):
        sizes = [
            np.abs(expert.embed).max(axis=1).sum(axis=0).astype(float) ** expert.power @ np.abs(expert.readout)
            for expert in circuit.experts
        ]
    return not all((size < np.finfo(circuit.dtype).max / 1000).all() for size in sizes)


def decided(network: Network) -> np.ndarray:
    """What the kernel says that the network answers on every row, `UNDECIDED` where it says nothing."""
    found = settled_rows(kernel_circuit(network), network.claims, lambda done, total: None)
    return np.concatenate([settled.symbols for _, _, settled in found])


# --------------------------------------------------------------------------------------------- one trial


def problems(case: Case, way: Way, wanted: np.ndarray, *, jax: bool = False) -> tuple[str, list[str]]:
    """The category of a trial, and what was wrong with it."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            network = mg.compile(case.text, case.mod, **way.settings)
            found = [*wrong_with(network, case, way, wanted, jax=jax)]
        except InputError as error:
            composite = any(case.modulus % d == 0 for d in range(2, case.modulus))
            if "method" in way.settings and composite and "need a prime modulus" in str(error):
                return f"{way.name}, refused for its modulus", []
            found = [f"refused: {error}"]
        except Exception as error:
            found = [f"{type(error).__name__}: {error}"]
    about = f"{case.text!r}, mod {case.mod}, {way.settings}"
    return way.name, [f"{about}: {problem[:300]}" for problem in found]


def wrong_with(network: Network, case: Case, way: Way, wanted: np.ndarray, *, jax: bool) -> list[str]:
    names = [f"n{name}" for name in case.names]
    if (network.variables, network.modulus, network.rows) != (names, case.modulus, case.rows):
        return [f"it reads {network.variables} modulo {network.modulus}: {network.rows} rows"]
    with np.errstate(over="ignore", invalid="ignore"):
        given = answers(network.circuit, case.modulus)
    right = int((given == wanted).sum())
    proof, found = network.proof, []
    if proof is None:
        if "method" in way.settings and beyond_bounds(network):
            return []
        return [f"no proof: {network.unproved}; right on {right} of {case.rows} rows"]
    if proof.rows != case.rows or proof.dtype != str(network.circuit.dtype):
        found.append(f"the proof is about {proof.rows} rows in {proof.dtype}")
    if network.circuit.dtype != way.settings["dtype"] and not network.notes:
        found.append(f"its weights are {network.circuit.dtype}, and no note says why")
    if "method" in way.settings:
        found += paper_problems(network, given, wanted)
    elif not proof.holds or right < case.rows:
        found.append(f"right on {right} of {case.rows} rows, and {network.proof_text}")
    if jax:
        by_jax = np.asarray(network.predict(np.indices((case.modulus,) * len(names)).reshape(len(names), -1).T))
        known = decided(network) != UNDECIDED
        if (by_jax != given)[known].any():
            found.append(f"JAX and NumPy differ on {int((by_jax != given)[known].sum())} rows that are decided")
    return found


def paper_problems(network: Network, given: np.ndarray, wanted: np.ndarray) -> list[str]:
    said, proof, found = decided(network), network.proof, []
    known = said != UNDECIDED
    if (said != given)[known].any():
        found.append(f"answers otherwise than proved on {int((said != given)[known].sum())} rows")
    right, wrong = int((said == wanted)[known].sum()), int((said != wanted)[known].sum())
    if (proof.right, proof.wrong, proof.undecided) != (right, wrong, int((~known).sum())):
        found.append(f"{network.proof_text}; by integers {right} right and {wrong} wrong")
    if proof.right > int((given == wanted).sum()) or proof.wrong > int((given != wanted).sum()):
        found.append(f"{network.proof_text}; by its answers {int((given == wanted).sum())} are right")
    return found


# --------------------------------------------------------------------------------------------- words and tables


def word_problems(rng: random.Random, case: Words) -> tuple[str, list[str]]:
    """The category of a word or table, and what was wrong with its network."""
    settings = {"frequencies": rng.choice((None, None, "all", "minimal", 1, 2, 5)), "dtype": rng.choice(DTYPES)}
    about = f"{str(case.text)[:300]!r}, {str(case.given)[:300]}, {settings}"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            network = mg.compile(case.text, **case.given, **settings)
            found = [*wrong_with_words(rng, network, case)]
        except Exception as error:
            found = [f"{type(error).__name__}: {error}"]
    return f"{case.kind}, {settings['frequencies'] or 'usual'} frequencies", [f"{about}: {p[:300]}" for p in found]


def wrong_with_words(rng: random.Random, network: Network, case: Words) -> list[str]:
    wanted, proof = np.array(case.answers), network.proof
    known = np.flatnonzero(wanted >= 0)
    if network.model.residues != case.sizes or not np.array_equal(network.function.table.reshape(-1), wanted):
        return [f"it was made for another table, of {network.model.residues}"]
    right = int(right_rows(network, wanted, flush=False)[known].sum())
    if proof is None or not proof.holds or proof.rows != len(known) or right < len(known):
        return [f"right on {right} of {len(known)} rows, and {network.proof_text}"]
    cell = rng.choice(known.tolist())
    wanted[cell] = (wanted[cell] + rng.randrange(1, network.modulus)) % network.modulus
    table = wanted.reshape(case.sizes)
    changed = proved(replace(network, function=read_function(table, network.modulus))).proof
    found = []
    if changed is None or (changed.right, changed.wrong) != (len(known) - 1, 1):
        found.append(f"of a table with cell {cell} changed: {changed and changed.summary()}")
    same_words = proved(replace(network, function=replace(network.function, given=table)))
    if network.function.written is not None and same_words.proof is not None:
        found.append(f"a wrong table under the same words is taken: {same_words.proof_text}")
    return found


def run_batch(number: int) -> Tally:
    """Some expressions that follow from the number of the batch alone, each compiled in every way."""
    tally = Tally()
    for k in range(number * BATCH, (number + 1) * BATCH):
        rng = random.Random(f"compiled {k}")
        case = random_case(rng)
        wanted, asked_of_jax = np.array(case.values()), k % EVERY_JAX == EVERY_JAX // 4
        for number_of_way, way in enumerate(ways(rng)):
            category, found = problems(case, way, wanted, jax=asked_of_jax and number_of_way == k // EVERY_JAX % 4)
            tally.trial(category, *found)
        tally.seen += case.used
        if k % EVERY_WORD == 0:
            words = random_table(rng) if rng.random() < 0.2 else random_words(rng)
            category, found = word_problems(rng, words)
            tally.trial(category, *found)
            tally.seen += words.used
    return tally
