"""Verdicts as JSON, what a file must hold so that others can check a claim, and as questions to the kernel; and which
table the kernel makes of the words of a function.

A tree of a search is written as a list of its nodes, the root first: [branch, [[option, number of the child or null],
…]]. So places stay whole numbers, which JSON has no keys for, and a deep tree is no deep file. Only the kernel reads it
again (`proofs.claims`), whether it comes from a file or from the search next door.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np

from modgrok.algebra.fields import Field
from modgrok.algebra.function import Function
from modgrok.algebra.groups import Group, named_group
from modgrok.algebra.structures import Integers
from modgrok.base.results import plain_object
from modgrok.proofs.proof import NoProof, TooMuchWork, VerdictProof
from modgrok.proofs.structures import place_of
from modgrok.proofs.verdicts import WORK, gives_table, prove_verdict
from modgrok.proofs.words import table_of_words
from modgrok.separable.reductions.groups import Moduli
from modgrok.separable.verdict import Obstruction, Refutation, Verdict, Witness, family_over


def verdict_to_json(verdict: Verdict) -> dict[str, Any]:
    """The verdict with its whole certificate; who came to it is no concern of the kernel."""
    told, obstruction = verdict.to_json(), verdict.obstruction
    told.pop("decided_by")
    return told | {"obstruction": None if obstruction is None else obstruction_to_json(obstruction)}


def obstruction_to_json(obstruction: Obstruction) -> dict[str, Any]:
    cases = [[absorbed, refutation_to_json(refutation)] for absorbed, refutation in obstruction.cases]
    smaller = [[order, obstruction_to_json(other)] for order, other in obstruction.smaller]
    return obstruction.to_json() | {"axis": obstruction.axis, "cases": cases, "smaller": smaller}


def refutation_to_json(refutation: Refutation) -> dict[str, Any]:
    found: dict[str, Any] = dict(refutation)
    if "certificate" in refutation:
        found["certificate"] = refutation_to_json(refutation["certificate"])
    if "tree" in refutation:
        found["tree"] = {"origin": refutation["tree"]["origin"], "nodes": tree_nodes(refutation["tree"])}
    return found


def tree_nodes(tree: Mapping[str, Any]) -> list[Any]:
    """The nodes of a tree, each after its parent."""
    trees, nodes = [tree], []
    for node in trees:
        children = []
        for option, child in node["children"].items():
            children.append([option, None if child is None else len(trees)])
            if child is not None:
                trees.append(child)
        nodes.append([list(node["branch"]), children])
    return nodes


def proof_of(table: np.ndarray, family: str, verdict: Verdict, *, work: int = WORK) -> VerdictProof:
    """What the kernel proves of a verdict, from what a file of it would hold; `NoProof` otherwise."""
    return prove_verdict(table, claim_of(family, verdict), subject=verdict, work=work)


def claim_of(family: str, verdict: Verdict) -> dict[str, Any]:
    return plain_object({"family": family, **verdict_to_json(verdict)})


def check_witness(table: np.ndarray, group: int | Moduli, absorbing: bool, witness: Witness) -> bool:
    """Whether a witness gives the table over the group that was asked about, as the kernel sees it."""
    moduli = orders_of(group)
    order = prod(moduli)
    if orders_of(witness.moduli or witness.group_order) != moduli or witness.group_order != order:
        return False
    if tuple(map(len, witness.g)) != np.shape(table) or len(witness.h) != order:
        return False
    if not all((absorbing if t is None else 0 <= t < order) for part in witness.g for t in part):
        return False
    h = np.array([-1 if v is None else v for v in (*witness.h, witness.h_absorbing)])
    places = [np.array([-1 if t is None else t for t in part]) for part in witness.g]
    return gives_table(np.asarray(table), moduli, places, h)


def check_obstruction(
    table: np.ndarray, group: int | Moduli, absorbing: bool, obstruction: Obstruction, up_to: bool = False
) -> bool:
    """Whether an obstruction proves to the kernel that a table is not in the class."""
    moduli = orders_of(group)
    verdict = Verdict(
        "not-in-class",
        prod(moduli),
        absorbing,
        obstruction=obstruction,
        moduli=moduli if len(moduli) > 1 else (),
        up_to=up_to,
    )
    try:
        return not proof_of(np.asarray(table), family_over(moduli, absorbing).name, verdict).in_class
    except TooMuchWork:
        raise
    except NoProof:
        return False


def orders_of(group: int | Moduli) -> Moduli:
    """The orders of the cyclic factors of a group."""
    orders = (group,) if isinstance(group, int | np.integer) else group
    return tuple(int(k) for k in orders if k != 1) or (1,)


def own_table(function: Function, texts: tuple[str, ...] = ()) -> np.ndarray:
    """What the kernel makes of an expression over a structure, which it knows by its name, or a group by its table.

    What words are worth in a structure of a user's own, that user says; but not under a name that the kernel knows.
    """
    structure = function.structure
    if not isinstance(structure, Group | Field | Integers) and not is_known(structure.words):
        return function.table
    given = None
    if isinstance(structure, Group):
        if structure.spelling is None:
            given = structure.table
        elif named_group(structure.spelling).words_of_elements != structure.words_of_elements:
            raise NoProof("its elements have other names than those of its group")
    texts = (*texts, function.source, function.name)
    return table_of_words(texts, structure.words, function.sizes, given, [*map(number_of, function.variables)])


def is_known(words: str) -> bool:
    """Whether the kernel has a structure that is called so."""
    try:
        place_of(words, None)
    except NoProof:
        return False
    return True


def number_of(variable: str) -> int:
    """The number of a variable of an expression: n1 and a are the first."""
    return int(variable[1:]) if variable[1:].isdecimal() else {"a": 1, "b": 2, "c": 3}.get(variable, 0)
