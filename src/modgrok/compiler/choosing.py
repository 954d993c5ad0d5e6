"""Which plan: all ways to compute a function, each with the fewest frequencies that rank right; the narrowest wins."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from math import prod
from typing import NamedTuple

import numpy as np
from jaxtyping import Int

from modgrok.algebra.field import is_prime
from modgrok.algebra.fields import Field
from modgrok.algebra.function import Function
from modgrok.algebra.groups import Group, cyclic_logarithms
from modgrok.algebra.polynomial import value_table
from modgrok.algebra.trees import Tree, variable_names, variables
from modgrok.base.errors import InputError
from modgrok.compiler.codes import LARGEST_LOOKUP, CodedStep, Lookup
from modgrok.compiler.exact_weights import AnyKernel, exact_width, full_kernel, short_kernel
from modgrok.compiler.margins import step_margin
from modgrok.compiler.plan import plan_by_remainders, plan_by_shape, plan_by_terms, plans_from_witness
from modgrok.compiler.planner import prime_powers
from modgrok.compiler.steps import Plan, Step, sum_step
from modgrok.compiler.structured import (
    LARGEST_PAIRING,
    can_be_looked_up,
    is_structured,
    product_plans,
    structured_plans,
)
from modgrok.separable import Witness, decide, decide_group, decide_grouped
from modgrok.separable.decision import steps_of
from modgrok.separable.reductions.finite_groups import latin_verdict
from modgrok.separable.reductions.orders import AnyOrder, as_cyclic, product_verdict

FREQUENCY_LADDER = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
"""Numbers of frequencies that are tried, in turn, where fewer do not suffice; then all."""

TABLE_EFFORT = 4.0
"""With how much effort a witness is looked for where nothing but a witness will do."""

LARGEST_DECISION, DECISION_EFFORT = 257, 0.1
"""Up to which modulus, and with how much effort, the compiler looks for h(g1 + g2) in disguise."""

NOISE = 1e-12
"""A margin counts from here on, relative to the largest logit: what evaluating it rounds is smaller."""

MOST_PARTS = 4
"""Up to how many powers of primes all ways to group them are compared; more are kept together or all apart."""


def best_plan(tree: Tree, modulus: int, frequencies: str | int) -> tuple[Plan, list[AnyKernel]]:
    """The plan with the fewest neurons, and the frequencies of its steps.

    Candidates: the expression as typed, and its expansion into monomials, modulo the number itself or modulo coprime
    parts of it; each with a final one-variable function folded into the last readout, or as an expert of its own (with
    few frequencies a readout that sums over fibres may rank wrongly). Where all of them need several experts, the
    function may still be h(g1 + g2) in disguise, as n1 n2 + n1 is, and then one expert does.
    """
    candidates = [priced(plan, frequencies) for plan in candidate_plans(tree, modulus)]
    if all(candidate.two_input_steps > 1 for candidate in candidates):
        candidates += [priced(plan, frequencies) for plan in witness_plans(tree, modulus)]
    return narrowest(candidates)


class Candidate(NamedTuple):
    plan: Plan
    kernels: list[AnyKernel]
    width: int

    @property
    def two_input_steps(self) -> int:
        return sum(step.terms > 1 for step in self.plan.steps)


def narrowest(candidates: Sequence[Candidate]) -> tuple[Plan, list[AnyKernel]]:
    best = min(candidates, key=lambda candidate: (candidate.width, len(candidate.plan.steps)))
    return best.plan, best.kernels


def priced(plan: Plan, frequencies: str | int) -> Candidate:
    kernels = [choose_kernel(step, frequencies) for step in plan.steps]
    return Candidate(
        plan, kernels, sum(exact_width(step, kernel) for step, kernel in zip(plan.steps, kernels, strict=True))
    )


def candidate_plans(tree: Tree, modulus: int) -> Iterator[Plan]:
    """Plans of two-input sums and products; modulo a composite number products by each of the ways of `plan`."""
    refusals, found = [], False
    for make in ways(modulus):
        for fold in (True, False):
            try:
                yield make(tree, modulus, fold=fold)
                found = True
            except InputError as error:
                refusals.append(error)
    if not found:
        raise refusals[0]


def ways(modulus: int) -> Iterator[Callable[..., Plan]]:
    """Functions that make a plan: as typed and by terms, then by remainders modulo each grouping of prime powers."""
    for lean in (True,) if is_prime(modulus) else (True, False):
        yield partial(plan_by_shape, flat=False, lean=lean)
        yield partial(plan_by_terms, flat=False, lean=lean)
    powers = prime_powers(modulus)
    if len(powers) == 1:
        return
    for groups in groupings(powers) if len(powers) <= MOST_PARTS else [[[q] for q in powers], [powers]]:
        parts = [prod(group) for group in groups]
        for expand in (False, True):
            if len(parts) > 1:
                yield partial(plan_by_remainders, parts=parts, expand=expand)
            if len(parts) < len(powers):
                yield partial(plan_by_remainders, parts=parts, expand=expand, split=True)


def groupings(items: Sequence[int]) -> Iterator[list[list[int]]]:
    """All ways to put items into groups."""
    if not items:
        yield []
        return
    first, *others = items
    for groups in groupings(others):
        yield [[first], *groups]
        for k, group in enumerate(groups):
            yield [*groups[:k], [first, *group], *groups[k + 1 :]]


def witness_plans(tree: Tree, modulus: int) -> Iterator[Plan]:
    """Plans of one two-input expert for a function of two variables that is in one of the separable families."""
    if len(variables(tree)) == 2 and modulus <= LARGEST_DECISION:
        names, table = variable_names(tree), value_table(tree, modulus)
        found = list(witnesses(table, modulus))
        if not (found or is_prime(modulus)):
            found = list(any_witnesses(table, modulus, DECISION_EFFORT))
            found += product_witnesses(table, DECISION_EFFORT) if not found else []
        for witness in found:
            yield from plans_from_witness(names, (modulus,) * 2, modulus, witness)


def witnesses(table: Int[np.ndarray, "p p"], modulus: int) -> Iterator[Witness]:
    """What the decision finds for a table within a number of search steps, so that no clock has a say."""
    if modulus > LARGEST_DECISION:
        return
    for order, absorbing in [(modulus, False), (modulus - 1, True)] if is_prime(modulus) else [(modulus, False)]:
        found = decide(table, order, absorbing, effort=DECISION_EFFORT).witness
        if found is not None:
            yield found


def any_witnesses(table: Int[np.ndarray, "p ..."], values: int, effort: float) -> Iterator[Witness]:
    """A witness over the smallest cyclic group that is found, and where that is a large one, or none, one with an
    absorbing element: n1/n2 modulo 7 fits Z_11, and Z_6 with a zero.

    Orders up to twice the largest number of symbols are tried, as those of quarter squares are. From r·c on, with r
    distinct rows and c distinct columns, every table fits, and the expert would be a list of its answers.
    """
    largest = max(*table.shape, values)
    for absorbing in (False, True):
        asked = AnyOrder(table, absorbing, most=2 * largest)
        if asked.least > 2 * largest:
            continue
        least = decide_grouped(table, asked.least, absorbing, effort=effort)  # the most likely one, without a rival
        witness = least.witness or asked.within(steps_of(effort)).witness
        if witness is not None and (witness.group_order < asked.trivial or witness.group_order <= largest):
            yield witness
            if witness.group_order <= largest:
                return


def product_witnesses(table: Int[np.ndarray, "p ..."], effort: float) -> list[Witness]:
    """A witness over a group that is not cyclic, told over a cyclic one that holds it."""
    verdict = product_verdict(table, effort=effort)
    return [as_cyclic(verdict.witness)] if verdict is not None and verdict.witness is not None else []


def best_table_plan(function: Function, frequencies: str | int | None) -> tuple[Plan, list[AnyKernel]]:
    """The narrowest network for a word in a group, an expression over a field, or a function that is known by its
    table alone: by the witness that the decision finds, or by looking it up where it finds none.

    Cells that are unknown get what the witness says. Without `frequencies` all are used in cyclic groups, and the
    fewest elsewhere.
    """
    if is_structured(function):
        usual = usual_frequencies(function)
        plans = list(structured_plans(function, codes="minimal" in (frequencies, frequencies is None and usual)))
        plans += disguised_plans(function, plans)
    elif len(function.sizes) == 1:
        lookup = sum_step(
            (0,), [np.maximum(function.table, 0)], function.values, f"g({function.variables[0]})", kind="relabel"
        )
        plans, usual = [Plan(function.variables, function.sizes, (lookup,))], "all"
    else:
        plans, usual = witness_table_plans(function)
    if not plans:
        plans, usual = list(structured_plans(function)), "minimal"
    if not plans:
        form = " + ".join(f"g{s}" for s in range(1, len(function.sizes) + 1))
        raise InputError(
            f"{function.title} is not known to be h({form}) over a cyclic group of order up to "
            f"{2 * max(*function.sizes, function.values)} or a small product of such, and too large to be looked up "
            f"({LARGEST_LOOKUP:,} cells, {LARGEST_PAIRING:,} of them but for the last variable); train a network on it"
        )
    return narrowest(affordable(plans, usual if frequencies is None else frequencies))


def disguised_plans(function: Function, plans: Sequence[Plan]) -> list[Plan]:
    """One expert for an expression over a field that is a product or a sum in disguise, as x y + x = x (y + 1) is,
    where each of its own `plans` needs several."""
    field, table = function.structure, function.table
    if not isinstance(field, Field) or table.ndim != 2 or field.order > LARGEST_DECISION:
        return []
    own = [plan for plan in plans if all(step.kind != "lookup" for step in plan.steps)]
    if any(sum(step.terms > 1 for step in plan.steps) < 2 for plan in own):
        return []
    product = decide(table, field.order - 1, True, effort=DECISION_EFFORT).witness
    witness = product or (
        decide(table, field.order, False, effort=DECISION_EFFORT).witness if field.degree == 1 else None
    )
    if witness is not None:
        return list(plans_from_witness(function.variables, function.sizes, field.order, witness))
    over = decide_group(table, effort=DECISION_EFFORT).witness
    return [] if over is None else list(product_plans(function, over))


def affordable(plans: Sequence[Plan], frequencies: str | int) -> list[Candidate]:
    """Plans whose experts are not too large, with their prices; if all are, the `InputError` of the first.

    A table is looked up only where that is narrower: its weights would be made to be compared.
    """
    found: list[Candidate] = []
    refusals: list[InputError] = []
    for plan in plans:
        if found and lookup_width(plan, frequencies) >= min(candidate.width for candidate in found):
            continue
        try:
            found.append(priced(plan, frequencies))
        except InputError as error:
            refusals.append(error)
    if not found:
        raise refusals[0]
    return found


def lookup_width(plan: Plan, frequencies: str | int) -> int:
    """Neurons that look up the one-hot of a table of two variables; 0 where none does."""
    coded = [step.coded for step in plan.steps if isinstance(step, CodedStep)]
    tables = [each.answers for each in coded if isinstance(each, Lookup) and each.answers.ndim == 2]
    return 0 if frequencies == "minimal" else sum(table.size + sum(table.shape) for table in tables)


def usual_frequencies(function: Function) -> str:
    """What a word or an expression gets where nobody says: as modulo a number, all of them, in cyclic groups."""
    cyclic = isinstance(function.structure, Group) and cyclic_logarithms(function.structure.table) is not None
    prime = isinstance(function.structure, Field) and function.structure.degree == 1
    return "all" if cyclic or prime else "minimal"


def witness_table_plans(function: Function) -> tuple[list[Plan], str]:
    """Plans for a table of which nothing else is known, and the frequencies that they usually have.

    By a witness over cyclic groups if that is easy to find, over products of these, over any group (or looked up, where
    that is narrower), and over cyclic groups with all effort.
    """
    table, values = function.table, function.values
    latin = latin_verdict(table)
    found: list[Witness] = []
    if latin is None or latin.witness is None or latin.witness.commutes:
        found = list(witnesses(table, values)) if function.square and table.ndim == 2 else []
        found = (
            found or list(any_witnesses(table, values, DECISION_EFFORT)) or product_witnesses(table, DECISION_EFFORT)
        )
    if not found and table.ndim == 2:
        over = (latin or decide_group(table, effort=DECISION_EFFORT)).witness
        if over is not None:
            return [*product_plans(function, over), *structured_plans(function)], "minimal"
    if not found and not can_be_looked_up(function):
        found = list(any_witnesses(table, values, TABLE_EFFORT))
    return [
        plan for witness in found for plan in plans_from_witness(function.variables, function.sizes, values, witness)
    ], "all"


def choose_kernel(step: Step, frequencies: str | int) -> AnyKernel:
    """The frequencies of one step: at least as many as asked for, and enough to rank every class right."""
    if isinstance(step, CodedStep):
        return step.coded.kernel(step, frequencies)
    if frequencies == "all":
        return full_kernel(step.order)
    fewest = 1 if frequencies == "minimal" else int(frequencies)
    for count in [fewest, *(rung for rung in FREQUENCY_LADDER if rung > fewest)]:
        kernel = short_kernel(step.order, count)
        if kernel.exact:
            return kernel
        margin, largest = step_margin(step, kernel)
        if margin > NOISE * max(1.0, largest):
            return kernel
    return full_kernel(step.order)
