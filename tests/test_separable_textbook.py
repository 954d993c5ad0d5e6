"""Functions that people write down are decided at once, from their tables alone; the answer is the same under load."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from separable_cases import table_of

from modgrok.algebra.expression import parse
from modgrok.separable import check_witness, classify_table, decide
from modgrok.separable.procedures.subexpressions import written_parts, written_witnesses

TEXTBOOK = (
    (lambda a, b: a**6 + b**6, 97, "additive"),
    (lambda a, b: (a**2 + b**2) ** 6, 97, "additive"),
    (lambda a, b: (a + b**96) ** 3, 97, "additive"),
    (lambda a, b: a**3 * b**8, 97, "multiplicative"),
    (lambda a, b: a**6 * b**7, 43, "multiplicative"),
    (lambda a, b: 193 * a**10 + 104 * b**12, 211, "additive"),
    (lambda a, b: 75 * a**3 * b**3 + 40, 97, "multiplicative"),
    (lambda a, b: ((a**2 + 5) * (b**3 + 7)) ** 6, 61, "multiplicative"),
    (lambda a, b: ((a**6 + 5) * (b**6 + 7)) ** 6, 97, "multiplicative"),
    (lambda a, b: ((a + 3) ** 3 + b**2 + b) ** 4, 43, "additive"),
)
STEPS = 400
"""Search steps that a textbook function may take in the family that fits: a few hundredths of a second."""


@pytest.mark.parametrize("function, p, family", TEXTBOOK)
def test_textbook_functions_take_a_few_steps(function, p, family):
    table = table_of(function, p)
    order, absorbing = (p, False) if family == "additive" else (p - 1, True)
    verdict = decide(table, order, absorbing)
    assert verdict.status == "in-class" and verdict.steps <= STEPS
    assert check_witness(table, order, absorbing, verdict.witness)


def test_relabelled_values_change_nothing():
    """h is read off the table: any relabelling of the values is found in the same way."""
    table = table_of(lambda a, b: (a**3 + b**2) ** 4, 43)
    relabelled = np.random.default_rng(0).permutation(43)[table]
    assert decide(relabelled, 43, False).steps == decide(table, 43, False).steps <= STEPS


def test_the_spelling_is_a_hint_and_no_more():
    tree = parse("((n1^2 + n1)(n2^3 + 2) + 5)^7")
    table = table_of(lambda a, b: ((a**2 + a) * (b**3 + 2) + 5) ** 7, 31)
    hints = written_witnesses(written_parts(tree, table, 31), table, 31, True)
    assert any(check_witness(table, 30, True, witness) for witness in hints)
    wrong = classify_table(table, 31, tree=parse("n1 + n2"))
    assert wrong.family == "multiplicative", "a wrong hint is not believed"


def test_verdicts_are_the_same_under_load():
    """Limits are steps: four threads that starve each other get what one gets, to the step."""
    rng = np.random.default_rng(5)
    table = rng.integers(0, 3, 17)[(rng.integers(0, 17, 17)[:, None] + rng.integers(0, 17, 17)) % 17]
    hard = rng.integers(0, 2, (12, 12))
    alone = [decide(cells, m, False, effort=0.02).to_json() for cells, m in ((table, 17), (hard, 40))]
    with ThreadPoolExecutor(4) as pool:
        crowded = list(pool.map(lambda _: [decide(cells, m, False, effort=0.02).to_json()
                                           for cells, m in ((table, 17), (hard, 40))], range(4)))  # fmt: skip
    assert crowded == [alone] * 4


def test_families_take_turns():
    """The additive family of 75 x³y³ + 40 is hard; the multiplicative one is not kept waiting."""
    found = classify_table(table_of(lambda a, b: 75 * a**3 * b**3 + 40, 43), 43, effort=0.2)
    assert found.family == "multiplicative"
    assert sum(family.verdict.steps for family in found.families) < 6000


def test_a_table_without_a_modulus_is_asked_for_any_order():
    rng = np.random.default_rng(2)
    table = rng.integers(0, 17, 53)[(rng.permutation(53)[:30, None] + rng.permutation(53)[:40]) % 53]
    found = classify_table(table)
    assert (found.status, found.family, found.group_order, found.modulus) == ("in-class", "additive", 53, None)
