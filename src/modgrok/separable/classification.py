"""Which families a function belongs to, with a witness or a proof for each.

Families, in the order in which the best is chosen: constant; one-variable (any such function is h(g(n)), a
relabelling); additive, h(g1 + g2) over Z_p; multiplicative, the same over Z_{p-1} with an absorbing element, since
logarithms of non-zero residues add modulo p - 1 and 0 absorbs. For a composite modulus m the non-zero residues are no
group; there the multiplicative family is that of all Z_k with an absorbing element, k < m. A table whose variables and
values differ in number has no modulus: then both families ask for any order, and the first that fits is named. Where
none of them fits a small table, sums over groups that are not cyclic are looked for; one that fits is named
"product-group", and nothing is said of those that do not. Where none of these fits a table of two variables, any finite
group is asked for ("group"); what that leaves undecided is a note.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Int, Integer

from modgrok.algebra.field import check_modulus, factors_text, is_prime
from modgrok.algebra.structures import Integers
from modgrok.algebra.trees import Tree, variables
from modgrok.base.errors import InputError
from modgrok.base.fixed import fixed
from modgrok.base.results import Result
from modgrok.proofs.proof import NoProof, TooMuchWork, VerdictProof
from modgrok.proofs.verdicts import WORK
from modgrok.separable.certificates import proof_of
from modgrok.separable.decision import EFFORT, Decision, check_table, steps_of
from modgrok.separable.measures.nuclear import in_one_thread
from modgrok.separable.measures.redundancy import redundancy
from modgrok.separable.procedures.subexpressions import written_parts, written_witnesses
from modgrok.separable.reductions.finite_groups import as_sums, decide_group, latin_verdict
from modgrok.separable.reductions.grouping import GroupedDecision, one_against_rest, question
from modgrok.separable.reductions.orders import AnyOrder, product_verdict
from modgrok.separable.verdict import (
    ADDITIVE,
    CONSTANT,
    FAMILIES,
    GROUP,
    MULTIPLICATIVE,
    ONE_VARIABLE,
    PRODUCT_GROUP,
    Obstruction,
    Status,
    Verdict,
    Witness,
)

SECOND_LOOK = 0.05
"""The share of the effort that is left for the other families once one is known to fit."""
GROUP_SHARE = 0.5
"""The share of the effort that any finite group has, where no other family fits."""
LARGEST_MULTIPLE = 4
"""Tables without a modulus: orders up to so many times the largest number of values are asked for."""
PATIENCE = 4
"""How many times as long as for a stranger's file the kernel may take for a verdict of our own."""


@dataclass(frozen=True, repr=False)
class FamilyVerdict(Result):
    """The verdict for one family, and the kernel's proof of this very verdict; `proof` is None for what is unknown, and
    for what would take the kernel too long."""

    family: str
    verdict: Verdict
    proof: VerdictProof | None = None

    def __post_init__(self) -> None:
        if self.proof is not None and not (
            type(self.proof) is VerdictProof and self.proof.about(self.family, self.verdict)
        ):
            object.__setattr__(self, "proof", None)

    @property
    def group(self) -> str:
        return self.verdict.group

    @property
    def refuted(self) -> bool:
        return self.verdict.status == "not-in-class"

    def summary(self) -> str:
        return f"{self.family}: {self.verdict.summary()}"

    def to_json(self) -> dict[str, Any]:
        return {"family": self.family, **self.verdict.to_json(), "proved": self.proof is not None}


@dataclass(frozen=True, repr=False)
class Classification(Result):
    """The decision about a table: every family that was tried, and the table's redundancy at a training fraction."""

    modulus: int | None
    fraction: float
    families: tuple[FamilyVerdict, ...]
    redundancy: float
    notes: tuple[str, ...]
    seconds: float
    told: ClassVar[tuple[str, ...]] = (
        *("modulus", "verdict", "family", "group_order", "witness", "obstruction", "families", "fraction"),
        *("redundancy", "notes", "seconds"),
    )

    @property
    def best(self) -> FamilyVerdict | None:
        """The first family that fits."""
        return best_of(self.families)

    @property
    def status(self) -> Status:
        if self.best is not None:
            return "in-class"
        return "not-in-class" if all(found.refuted for found in self.families) else "unknown"

    @property
    def verdict(self) -> Status:
        """The status, as JSON calls it."""
        return self.status

    @property
    def family(self) -> str | None:
        return self.best.family if self.best else None

    @property
    def group_order(self) -> int | None:
        return self.best.verdict.group_order if self.best else None

    @property
    def witness(self) -> Witness | None:
        return self.best.verdict.witness if self.best else None

    @property
    def obstruction(self) -> Obstruction | None:
        """The obstructions of all families as one, if none fits."""
        found = [(f, f.verdict.obstruction) for f in self.families if f.verdict.obstruction is not None]
        if self.status != "not-in-class":
            return None
        text = "; ".join(f"{f.family} over {f.group}: {obstruction.explanation}" for f, obstruction in found)
        return Obstruction(found[0][1].kind, text, found[0][1].cases)

    def summary(self) -> str:
        return verdict_in_words(self.families)


def best_of(families: tuple[FamilyVerdict, ...]) -> FamilyVerdict | None:
    """The first family that fits."""
    return next((found for found in families if found.verdict.in_class), None)


def verdict_in_words(families: tuple[FamilyVerdict, ...]) -> str:
    """The verdict as a phrase: 'in the class, additive over Z_97'."""
    best = best_of(families)
    if best is not None:
        return f"in the class, {FAMILIES[best.family].relabelling or f'{best.family} over {best.group}'}"
    names = [found.family for found in families]
    if all(found.refuted for found in families):
        none = f"neither {' nor '.join(names)}" if len(names) > 1 else f"not {names[0]}"
        return f"not in the class, {'provably ' if all(found.proof for found in families) else ''}{none}"
    known = [f"{found.family} {'excluded' if found.refuted else 'unknown'}" for found in families]
    return f"undecided within the limit ({', '.join(known)})"


def classify_table(
    table: Int[np.ndarray, "p ..."],
    modulus: int | None = None,
    *,
    tree: Tree | None = None,
    fraction: float = 0.5,
    effort: float = EFFORT,
) -> Classification:
    """Decide every family for a value table with one axis per variable; they take turns and share the effort.

    Arguments:
        table: whole numbers; those below 0 are unknown.
        modulus: p, where all variables and values are residues modulo p; None for a table of any other shape.
        tree: how the function is written, if it is: a hint where to look first. It never changes what is true.
        fraction: the share of the table that would be trained on.
        effort: how hard to try, in steps of search.
    """
    start = time.perf_counter()
    steps = steps_of(effort)
    table = fixed(check_value_table(table, modulus))
    known = bool((table >= 0).all())
    twins = redundancy(table, fraction)
    questions, notes = ask(table, modulus, tree)
    over_group = latin_verdict(table)
    fits = over_group is not None and over_group.in_class
    with in_one_thread():  # the limit is one of processor time, which threads that wait for each other use up
        work_in_turns(list(questions.values()), int(SECOND_LOOK * steps) if fits else steps)
    verdicts = {family: asked.within(0) for family, asked in questions.items()}
    families = [proved_family(table, family, verdict) for family, verdict in verdicts.items()]
    if best_of(tuple(families)) is None:
        others, note = beyond_cyclic(table, over_group, effort)
        families += others
        notes += note
    dependent = dependent_axes(table)
    if known and len(dependent) < 2:
        family = ONE_VARIABLE if dependent else CONSTANT
        families.insert(0, proved_family(table, family.name, verdicts[ADDITIVE.name]))
    return Classification(modulus, fraction, tuple(families), twins, notes, time.perf_counter() - start)


def beyond_cyclic(
    table: Int[np.ndarray, "p ..."], over_group: Verdict | None, effort: float
) -> tuple[list[FamilyVerdict], tuple[str, ...]]:
    """What is known of groups that are not cyclic: products of cyclic ones, then any; and what to say of it."""
    if over_group is None and (over := product_verdict(table, effort=effort)) is not None:
        return [proved_family(table, PRODUCT_GROUP.name, over)], ()
    if table.ndim != 2:
        return [], ()
    over = over_group or decide_group(table, effort=GROUP_SHARE * effort)
    if over.status == "unknown":
        return [], (f"whether it is h(g1 · g2) over a group that is not abelian is not decided: {over.excluded}",)
    if (sums := as_sums(over)) is not None:
        return [proved_family(table, PRODUCT_GROUP.name, sums)], ()
    return [proved_family(table, GROUP.name, over)], ()


def proved_family(table: Int[np.ndarray, "p ..."], family: str, verdict: Verdict) -> FamilyVerdict:
    """The verdict as the kernel sees it: proved, or told without a proof, or, where it refuses the evidence,
    taken back."""
    if verdict.status == "unknown":
        return FamilyVerdict(family, verdict)
    try:
        return FamilyVerdict(family, verdict, proof_of(table, family, verdict, work=PATIENCE * WORK))
    except TooMuchWork:
        return FamilyVerdict(family, verdict)
    except NoProof as reason:
        told = f"the search says {verdict.status}, and the kernel refuses its evidence ({reason}): please report this"
        nothing: dict[str, Any] = {"status": "unknown", "witness": None, "obstruction": None, "decided_by": ""}
        return FamilyVerdict(family, replace(verdict, excluded=told, **nothing))


Question = Decision | GroupedDecision | AnyOrder


def ask(
    table: Int[np.ndarray, "p ..."], modulus: int | None, tree: Tree | None
) -> tuple[dict[str, Question], tuple[str, ...]]:
    """The question of each family, and what there is to say about families that are not asked for."""
    if modulus is None:
        most = LARGEST_MULTIPLE * max(*table.shape, int(table.max()) + 1)
        asked: dict[str, Question] = {ADDITIVE.name: AnyOrder(table, False, most=most)}
        if has_constant_lines(table):
            asked[MULTIPLICATIVE.name] = AnyOrder(table, True, most=most)
        return asked, (
            f"variables and values differ in number, so cyclic groups of any order up to {most} are asked for",
        )
    written = tree is not None and len(variables(tree)) == table.ndim and bool((table >= 0).all())
    parts = written_parts(tree, table, modulus) if tree is not None and written else []

    def hints(absorbing: bool) -> list[Witness]:
        return written_witnesses(parts, table, modulus, absorbing)

    asked = {ADDITIVE.name: question(table, modulus, False, hints(False))}
    if is_prime(modulus):
        return asked | {MULTIPLICATIVE.name: question(table, modulus - 1, True, hints(True))}, ()
    note = (
        f"{modulus} = {factors_text(modulus)} is no prime, so the multiplicative family is that of all cyclic groups "
        f"of order below {modulus} with an absorbing element"
    )
    return asked | {MULTIPLICATIVE.name: AnyOrder(table, True, most=modulus - 1)}, (note,)


def has_constant_lines(table: Int[np.ndarray, "p ..."]) -> bool:
    """Whether fixing one variable somewhere leaves one value at most: a place for ∞."""
    lines = (line for axis in range(table.ndim) for line in one_against_rest(table, axis))
    return any(len(np.unique(line[line >= 0])) == 1 for line in lines)


def work_in_turns(questions: Sequence[Question], steps: int) -> None:
    """Work on what has used the least, until all is decided or the steps are spent; once one fits, not much longer."""
    used, limit, fits = 0, steps, False
    while used < limit:
        if not fits and any(asked.verdict is not None and asked.verdict.in_class for asked in questions):
            fits, limit = True, min(limit, used + int(SECOND_LOOK * steps))
        undecided = [asked for asked in questions if asked.verdict is None]
        if not undecided or used >= limit:
            return
        min(undecided, key=lambda asked: asked.used).advance(limit - used)
        used = sum(asked.used for asked in questions)


def dependent_axes(table: Int[np.ndarray, "p ..."]) -> tuple[int, ...]:
    """The axes along which the known values change: the variables that the function depends on."""
    highest = np.where(table < 0, table.max(initial=0) + 1, table)  # for the least of the known ones
    return tuple(axis for axis in range(table.ndim) if (table.max(axis) > highest.min(axis)).any())


def check_value_table(table: Integer[np.ndarray, "p ..."], modulus: int | None) -> Int[np.ndarray, "p ..."]:
    """The table itself, if it has two axes or more of whole numbers, and residues where there is a modulus."""
    table = check_table(table, several=True)
    if modulus is None:
        return table
    check_modulus(modulus)
    if set(table.shape) != {modulus}:
        raise InputError(f"a value table modulo {modulus} has axes of length {modulus}, got shape {table.shape}")
    if table.max() >= modulus:
        raise InputError(
            f"values must be {Integers(modulus).elements}, got {table.min()} … {table.max()}; give table % {modulus}"
        )
    return table
