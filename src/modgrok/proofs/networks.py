"""On how many rows a network is right: counted out from its weights where that can be done, composed where it cannot.

Experts are taken one after the other. What an expert answers for the symbols on its wires is decided where the best
class leads by more than rounding can take away: that of this computation in float64, and that of the network in its
own precision, which reads other experts through softmax. A row is right or wrong if every expert that it passes is
decided; otherwise it is undecided.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from math import prod
from typing import Any, NamedTuple

import numpy as np

from modgrok.proofs.composition import check_composition
from modgrok.proofs.expressions import Polynomial, expanded, read_expression, value, values_of_rows, variables_of
from modgrok.proofs.proof import _KERNEL, NoProof, Proof, TooMuchWork
from modgrok.proofs.rounding import Bound, Expert, exact_logits, logit_bound, running_bound, softmax_leak
from modgrok.proofs.waves import Claim, wave_lead

MOST_ROWS, MOST_CIRCUIT_ROWS, MOST_KEPT = 1 << 27, 1 << 21, 1 << 25
"""Rows that are counted out, of a single expert and of a circuit, and how many symbols its wires may keep of them."""
ENUMERATION = 3e11
"""Operations that an expert's symbols may take one by one where there is a claim about its waves."""
MOST_WORK = 6e12
"""Operations that they may take where there is none: some minutes."""
CHUNK = 1 << 21
"""Logits that are computed at once."""
ANSWERS = 1 << 17
"""Right answers, which are Python integers, that are computed at once."""
LARGEST_LEAK = 1e-4
"""Of a softmax that others read; an answer that leaks more is undecided for them."""
UNDECIDED = -1
COUNTED, COMPOSED = "every row", "every expert on all its symbols, and that they compose"
"""How a network was proved."""

Progress = Callable[[int, int], None]


class Circuit(NamedTuple):
    """Experts in order; wire k is a variable for k < len(sizes), and then the answer of expert k - len(sizes)."""

    experts: tuple[Expert, ...]
    wires: tuple[tuple[int, ...], ...]
    sizes: tuple[int, ...]

    def check(self) -> None:
        symbols = list(self.sizes)
        if not self.experts or len(self.wires) != len(self.experts) or min(symbols, default=0) < 1:
            raise NoProof("it has no experts, or no wires to them")
        for expert, wires in zip(self.experts, self.wires, strict=True):
            expert.check()
            if not all(0 <= wire < len(symbols) for wire in wires):
                raise NoProof("an expert reads what comes after it")
            if expert.alphabets != tuple(symbols[wire] for wire in wires) or expert.dtype != self.experts[0].dtype:
                raise NoProof("an expert does not fit its wires")
            symbols.append(expert.classes)

    @property
    def rows(self) -> int:
        return prod(self.sizes)


class Typed(NamedTuple):
    """What the network is to compute: texts that must mean the same, modulo a number; or a table, below 0 where
    unknown."""

    texts: tuple[str, ...] = ()
    modulus: int = 0
    table: np.ndarray | None = None

    def answers(self, sizes: Sequence[int], begin: int, end: int) -> np.ndarray:
        if self.table is not None:
            return self.table.reshape(-1)[begin:end]
        found = [values_of_rows(tree, self.modulus, sizes, begin, end) for tree in self.trees(sizes)]
        if any((other != found[0]).any() for other in found[1:]):
            raise NoProof("what was typed and what is shown are not the same function")
        return found[0]

    def at(self, rows: np.ndarray) -> np.ndarray:
        """The answers of some rows; `NoProof` if the texts differ, as polynomials or on these rows."""
        if self.table is not None:
            return np.asarray(self.table[tuple(rows.T)])
        trees = self.trees((self.modulus,) * rows.shape[1])
        own: dict[int, Polynomial] = {name: {((name, 1),): 1} for name in variables_of(trees[0])}
        with suppress(TooMuchWork):
            if any(expanded(tree, own, self.modulus) != expanded(trees[0], own, self.modulus) for tree in trees[1:]):
                raise NoProof("what was typed and what is shown are not the same polynomial")
        named = dict(zip(variables_of(trees[0]), rows.T.astype(object), strict=True))
        found = [np.broadcast_to(np.asarray(value(tree, named, self.modulus)), len(rows)) for tree in trees]
        if any((other != found[0]).any() for other in found[1:]):
            raise NoProof("what was typed and what is shown are not the same function")
        return found[0].astype(np.int64)

    def trees(self, sizes: Sequence[int]) -> list[Any]:
        trees = [*dict.fromkeys(read_expression(text, self.modulus) for text in self.texts)]
        if not trees or any(len(variables_of(tree)) != len(sizes) for tree in trees):
            raise NoProof("the expression has another number of variables than the network")
        if len({variables_of(tree) for tree in trees}) > 1 or set(sizes) != {self.modulus}:
            raise NoProof("the expression has other variables than the network")
        return trees

    def check(self, circuit: Circuit) -> None:
        classes = circuit.experts[-1].classes
        if self.table is None:
            self.trees(circuit.sizes)
            fits = self.modulus == classes
        else:
            fits = self.table.shape == circuit.sizes and self.table.dtype.kind == "i"
            fits = fits and 0 <= self.table.max() < classes
        if not fits:
            raise NoProof("the network does not fit the function that it is held against")


def countable(circuit: Circuit) -> bool:
    """Whether its rows can be counted out."""
    experts = len(circuit.experts)
    if experts == 1:
        return circuit.rows <= MOST_ROWS
    return circuit.rows <= MOST_CIRCUIT_ROWS and circuit.rows * experts <= MOST_KEPT


def needs_claims(circuit: Circuit) -> bool:
    """Whether a proof will need hints: what rows there are is too much to be counted out, or to compute one by one."""
    return not countable(circuit) or any(
        work(e, min(circuit.rows, prod(e.alphabets))) >= ENUMERATION for e in circuit.experts
    )


def work(expert: Expert, rows: int) -> float:
    """Operations that so many rows of symbols take."""
    return rows * float(expert.classes) * (2 * sum(len(matrix) for matrix in expert.matrices) + 20)


class Settled(NamedTuple):
    """What an expert answers for rows of symbols (`UNDECIDED` where it may be either), by how much each leads at
    least once all
    errors are taken away, and the leak of its softmax that others have to reckon with."""

    symbols: np.ndarray
    leads: np.ndarray
    bound: Bound
    leak: float


def prove_network(
    circuit: Circuit, typed: Typed, claims: Sequence[Claim] = (), *, subject: tuple[Any, ...], words: tuple[Any, ...],
    progress: Progress | None = None,
) -> Proof:  # fmt: skip
    """On how many rows these weights answer what was typed; `NoProof` says why it cannot be told.

    `claims` are hints, one for each expert; `subject` and `words` are what the proof will say that it is about.
    """
    circuit.check()
    typed.check(circuit)
    if claims and len(claims) != len(circuit.experts):
        raise NoProof("there are not as many claims as experts")
    told = progress or (lambda done, total: None)
    if not countable(circuit):
        return composed_proof(circuit, typed, claims, subject, words)
    counts, margin, bound = np.zeros(3, dtype=np.int64), np.inf, Bound(0.0, 0.0)
    for first, last, settled in settled_rows(circuit, claims, told):
        for begin in range(first, last, ANSWERS):
            end = min(begin + ANSWERS, last)
            answers = typed.answers(circuit.sizes, begin, end)
            symbols, leads = (part[begin - first : end - first] for part in (settled.symbols, settled.leads))
            known, decided = answers >= 0, symbols != UNDECIDED
            right = known & decided & (symbols == answers)
            wrong = known & decided & ~right
            counts += [int(right.sum()), int(wrong.sum()), int((known & ~decided).sum())]
            margin = min(margin, float(np.where(wrong, -leads, leads)[known].min(initial=np.inf)))
        bound = settled.bound
    right, wrong, undecided = map(int, counts)
    return Proof(
        right + wrong + undecided, right, wrong, undecided, str(circuit.experts[0].dtype), margin, bound.error,
        COUNTED, subject, words, circuit.rows - int(counts.sum()), _made_by=_KERNEL,
    )  # fmt: skip


def settled_rows(circuit: Circuit, claims: Sequence[Claim], progress: Progress) -> Iterator[tuple[int, int, Settled]]:
    """The answers of the last expert for all rows, some at a time."""
    rows, variables = circuit.rows, len(circuit.sizes)
    signals: list[Any] = list(range(variables))
    leaks: list[float | None] = [None] * variables
    for k, (expert, wires) in enumerate(zip(circuit.experts, circuit.wires, strict=True)):
        claim = claims[k] if claims else None
        read = [leaks[wire] for wire in wires]
        last = k + 1 == len(circuit.experts)
        if last and all(wire < variables for wire in wires):
            yield from settled_chunks(circuit, expert, wires, claim, progress)
            return
        columns = [whole_column(circuit.sizes, wire) if wire < variables else signals[wire] for wire in wires]
        settled = settle_distinct(expert, claim, read, columns, last)
        if last:
            progress(rows, rows)
            yield 0, rows, settled
            return
        signals.append(settled.symbols)
        leaks.append(settled.leak)
        for wire in set(range(variables, len(signals))).difference(*circuit.wires[k + 1 :]):
            signals[wire] = None  # nobody reads it any more
        progress((k + 1) * rows // len(circuit.experts), rows)


def settled_chunks(
    circuit: Circuit, expert: Expert, wires: Sequence[int], claim: Claim | None, progress: Progress
) -> Iterator[tuple[int, int, Settled]]:
    """A single expert that reads variables: nothing need be kept of its rows."""
    bounds, lead = expert_bounds(expert, [None] * len(wires)), claimed_lead(expert, claim, circuit.rows)
    size = max(1, CHUNK // max(expert.classes, expert.embed.shape[2]))
    for begin in range(0, circuit.rows, size):
        end = min(begin + size, circuit.rows)
        columns = np.unravel_index(np.arange(begin, end), circuit.sizes)
        yield begin, end, settle(expert, claim, lead, bounds, [columns[wire] for wire in wires], False)
        progress(end, circuit.rows)


def whole_column(sizes: Sequence[int], wire: int) -> np.ndarray:
    """The symbols of one variable over all rows."""
    shape = [size if k == wire else 1 for k, size in enumerate(sizes)]
    return np.broadcast_to(np.arange(sizes[wire], dtype=np.int32).reshape(shape), sizes).reshape(-1)


def settle_distinct(
    expert: Expert, claim: Claim | None, leaks: Sequence[float | None], columns: Sequence[np.ndarray], last: bool
) -> Settled:
    """Answers for all rows, each different choice of symbols computed once; undecided where an input is."""
    decided = np.all([column != UNDECIDED for column in columns], axis=0)
    if not decided.any():
        return Settled(np.full(len(decided), UNDECIDED, np.int32), np.zeros(len(decided)), Bound(np.inf, np.inf), 0.0)
    distinct, inverse = distinct_rows([np.where(decided, column, 0) for column in columns], expert.alphabets)
    found = settle_all(expert, claim, leaks, distinct, last)
    symbols = np.where(decided, found.symbols[inverse], UNDECIDED)
    return found._replace(symbols=symbols.astype(np.int32), leads=np.where(decided, found.leads[inverse], 0))


def distinct_rows(columns: list[np.ndarray], alphabets: tuple[int, ...]) -> tuple[list[np.ndarray], np.ndarray]:
    """The different rows of symbols, by columns, and for each row its number among them."""
    choices = prod(alphabets)
    if choices >= 1 << 62 or len(alphabets) > 32:  # too many to be numbered
        rows, inverse = np.unique(np.stack(columns), axis=1, return_inverse=True)
        return list(rows), inverse.reshape(-1)
    codes = np.ravel_multi_index(columns, alphabets)
    if choices > max(1 << 20, 4 * len(codes)):
        distinct, inverse = np.unique(codes, return_inverse=True)
    else:
        occurring = np.zeros(choices, dtype=bool)
        occurring[codes] = True
        distinct, inverse = np.flatnonzero(occurring), (np.cumsum(occurring) - 1)[codes]
    return list(np.unravel_index(distinct, alphabets)), inverse


def settle_all(
    expert: Expert, claim: Claim | None, leaks: Sequence[float | None], columns: list[np.ndarray], last: bool
) -> Settled:
    """Answers for rows of symbols, with their bounds; those that leak too much to later experts count as undecided."""
    bounds, lead = expert_bounds(expert, leaks), claimed_lead(expert, claim, len(columns[0]))
    leaking = any(leak is not None for leak in leaks)
    size = max(1, CHUNK // max(expert.classes, expert.embed.shape[2]))
    parts = [
        settle(expert, claim, lead, bounds, [column[begin : begin + size] for column in columns], leaking)
        for begin in range(0, len(columns[0]), size)
    ]
    symbols, leads = (np.concatenate([part[k] for part in parts]) for k in (0, 1))
    bound = parts[0].bound
    if last:
        return Settled(symbols, leads, bound, 0.0)
    enough = smallest_lead(expert, bound)
    symbols = np.where(leads >= enough, symbols, UNDECIDED) if np.isfinite(enough) else np.full_like(symbols, UNDECIDED)
    kept = leads[symbols != UNDECIDED]
    leak = softmax_leak(expert, float(kept.min(initial=np.inf)), bound) if len(kept) else 0.0  # nobody reads it
    return Settled(symbols, leads, bound, leak)


def smallest_lead(expert: Expert, bound: Bound) -> float:
    """The lead at which softmax leaks `LARGEST_LEAK`; infinite if it leaks more at any."""
    unit = float(np.finfo(expert.dtype).eps) / 2
    floor = (expert.classes + 8) * unit
    if floor >= LARGEST_LEAK or not expert.beta > 0:
        return np.inf
    return float(np.log(expert.classes / (LARGEST_LEAK - floor)) / expert.beta + 4 * unit * (bound.size + bound.error))


def expert_bounds(expert: Expert, leaks: Sequence[float | None]) -> tuple[Bound, Bound]:
    """Rounding of the kernel's own computation, and of the network's."""
    return logit_bound(expert, np.dtype("float64")), logit_bound(expert, expert.dtype, leaks)


def claimed_lead(expert: Expert, claim: Claim | None, rows: int) -> float | None:
    """The lead that the waves of an expert prove for all symbols, where computing them one by one would take long."""
    if claim is not None and work(expert, rows) >= ENUMERATION:
        with suppress(NoProof):
            if (lead := wave_lead(expert, claim)) > 0:
                return lead
    if work(expert, rows) > MOST_WORK:
        raise NoProof(f"{rows:,} rows of {expert.classes:,} logits would take too long to prove one by one")
    return None


def settle(
    expert: Expert,
    claim: Claim | None,
    lead: float | None,
    bounds: tuple[Bound, Bound],
    columns: list[np.ndarray],
    leaking: bool,
) -> Settled:
    """Answers for rows of symbols: from the logits of each, or from the claim where its lead is proved.

    Rows that are close are looked at again with a bound of their own, if no input is another expert's, which leaks.
    """
    own, network = bounds
    if lead is not None and claim is not None:
        left = lead - 2 * network.error
        symbols = claim.answers(columns) if left > 0 else np.full(len(columns[0]), UNDECIDED)
        return Settled(symbols, np.full(len(symbols), left), network, 0.0)
    logits = exact_logits(expert, columns)
    places, symbols = np.arange(len(logits)), logits.argmax(axis=1)
    best = logits[places, symbols].copy()
    logits[places, symbols] = -np.inf
    leads = best - logits.max(axis=1) - 2 * (own.error + network.error)
    close = np.flatnonzero(leads <= 0)
    if not leaking and len(close):
        near = [column[close] for column in columns]
        errors = running_bound(expert, near, np.dtype("float64")) + running_bound(expert, near, expert.dtype)
        lost = errors[np.arange(len(close)), symbols[close]]
        leads[close] = best[close] - lost - (logits[close] + errors).max(axis=1)
    return Settled(np.where(leads > 0, symbols, UNDECIDED), leads, network, 0.0)


def claimed_everywhere(expert: Expert, claim: Claim, leaks: Sequence[float | None]) -> tuple[float, Bound]:
    """By how much the class that is claimed leads at least, on all symbols, once all errors are taken away."""
    claim.check(expert)
    combinations = prod(expert.alphabets)
    if work(expert, combinations) >= ENUMERATION:
        bound = logit_bound(expert, expert.dtype, leaks)
        return wave_lead(expert, claim) - 2 * bound.error, bound
    columns = list(np.unravel_index(np.arange(combinations), expert.alphabets))
    found = settle_all(expert, None, leaks, columns, True)
    same = found.symbols == claim.answers(columns)
    return float(found.leads.min()) if same.all() else -np.inf, found.bound


def composed_proof(
    circuit: Circuit, typed: Typed, claims: Sequence[Claim], subject: tuple[Any, ...], words: tuple[Any, ...]
) -> Proof:
    """Every expert on all its symbols, and that they compose to the typed expression."""
    if not claims or typed.table is not None:
        raise NoProof(f"{circuit.rows:,} rows are too many to count out")
    leaks: list[float | None] = [None] * len(circuit.sizes)
    lead, bound = np.inf, Bound(0.0, 0.0)
    for expert, claim, wires in zip(circuit.experts, claims, circuit.wires, strict=True):
        read = [leaks[wire] for wire in wires]
        lead, bound = claimed_everywhere(expert, claim, read)
        if not lead > 0:
            raise NoProof("an expert does not lead by more than rounding can take away, on all its symbols")
        leaks.append(softmax_leak(expert, lead, bound))
    for tree in typed.trees(circuit.sizes):
        check_composition(tree, typed.modulus, claims, circuit.wires, [e.classes for e in circuit.experts])
    rows = circuit.rows
    return Proof(
        rows, rows, 0, 0, str(circuit.experts[0].dtype), lead, bound.error, COMPOSED, subject, words, _made_by=_KERNEL,
    )  # fmt: skip
