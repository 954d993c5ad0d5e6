"""What a function is, in sentences, as a colleague would give them; whether a network will learn it is in `outlook`."""

from __future__ import annotations

from modgrok.algebra.function import Function
from modgrok.algebra.trees import occurring
from modgrok.answers.outlook import share_text
from modgrok.base.results import percent
from modgrok.recognition.disguise import Disguise
from modgrok.separable.classification import Classification, FamilyVerdict
from modgrok.separable.measures.symmetries import Symmetries
from modgrok.separable.verdict import CONSTANT, FAMILIES, GROUP, ONE_VARIABLE, Verdict

REASONS = {
    "distinct-lines": "too many different rows or columns",
    "counting": "its values need a larger group",
    "no-cyclic-automorphism": "no symmetry moves all of its rows in one cycle",
    "pairs": "pairs of its columns differ in ways that no group allows",
    "closed-trail": "its rows need a closed walk longer than the group",
    "rivals": "more rows or columns that must differ than the group has elements",
    "rival-cells": "more sums that must differ than the group has elements",
    "search": "every case ends in a contradiction",
    "symmetry": "its symmetries need more room than the group has",
    "quadrangle": "three agreements of cells that make no fourth, as they would in a group",
    "short-cycles": "no step from row to row moves the values in one cycle",
    "intransitive": "two of its lines that no symmetry exchanges",
}


def what_it_is(
    found: Classification,
    closed: Disguise | None,
    known: int | None = None,
    expression: str | None = None,
    constant: bool = False,
) -> str:
    """The verdict as the end of a sentence that begins with the function: 'is the sum 2 n1 + 3 n2'; 'is a sum' where
    its `expression` says as much.

    Where only `known` of the cells are known, it is about these, `constant` or not: the others may hold anything.
    """
    best = found.best
    if best is None:
        return why_it_is_nothing(found, whole=known is None)
    cells = "cell" if known == 1 else "cells"
    if known is not None and constant:
        return f"is constant in its {known:,} known {cells}"
    if best.family == CONSTANT.name:
        return "is constant"
    if best.family == ONE_VARIABLE.name:
        return "depends on one variable alone"
    if best.family == GROUP.name:
        return what_group(best)
    verb, noun = "is" if known is None else f"agrees in its {known:,} known {cells} with", FAMILIES[best.family].noun
    if closed is None:
        return f"{verb} a {noun} in disguise: {relabelled(best)}"
    told = "product" if closed.product else "sum"
    also = f", and a {noun} in disguise as well" if told != noun else ""
    if closed.plain:
        return f"{verb} a {told}{also}" if str(closed) == expression else f"{verb} the {told} {closed}{also}"
    return f"{verb} a {told} in disguise: {closed}{also}"


def beyond_its_variables(asked: Function) -> str:
    """Which table is meant, where an expression has fewer variables than the answer is about."""
    if asked.tree is None or len(own := occurring(asked.tree)) == len(asked.variables):
        return ""
    alone = "n1" if not own else f"n{min(own)}"
    return f"; this is about its table over {' and '.join(asked.variables)}, where `train` has {alone} alone"


def relabelled(best: FamilyVerdict) -> str:
    """What a witness without a closed form says."""
    witness = best.verdict.witness
    names = "g1 + g2" if witness is None else witness.form
    return f"h({names}) over {best.group}, where each g relabels one variable and h relabels the sum"


def what_group(best: FamilyVerdict) -> str:
    """A product in a group, as it stands or in disguise."""
    witness = best.verdict.witness
    assert witness is not None
    numbers = tuple(range(witness.group_order))
    proved = ": that is proved" if best.proof else ""
    called = "a group" if witness.group_name is None else f"the group {witness.group_name}"
    if witness.g == (numbers, numbers) and witness.h == numbers:
        return f"is the product of {called} (order {witness.group_order}){proved}"
    order = f"{witness.group_name} (order {witness.group_order})" if witness.group_name else best.group
    if all(len(part) == len(set(part)) == len(numbers) for part in (*witness.g, witness.h)):
        return f"is a group in disguise, {order} with rows, columns and values relabelled{proved}"
    return f"is a product in a group in disguise, h(g1 · g2) over {order}{proved}"


def why_it_is_nothing(found: Classification, whole: bool) -> str:
    """No family is known to fit: that is proved, or it is open which one might."""
    no_group = next((f for f in found.families if f.family == GROUP.name), None)
    if no_group is not None and no_group.verdict.decided_by == "quadrangle":
        proved = "proved" if no_group.proof else "the search excluded it"
        return f"is no group in disguise: {proved}, since {why_no_group(no_group.verdict)}"
    families = [f for f in found.families if f.family != GROUP.name]
    undecided = [FAMILIES[f.family].noun for f in families if not f.refuted]
    if undecided:
        return f"may be a {' or a '.join(undecided)} in disguise: this effort did not decide it"
    proved = "that is proved" if whole else "that is proved, whatever its unknown cells hold"
    if not all(f.proof for f in families):
        proved = "the search excluded it, in more steps than the kernel checks"
    if any(f.verdict.up_to for f in families):  # families of other groups than those of sums and products
        any_group = f", nor h(g1 · g2) over {no_group.group}" if no_group is not None and no_group.proof else ""
        return f"is not h(g1 + g2) over {' nor over '.join(f.group for f in families)}{any_group}: {proved}"
    names = [FAMILIES[f.family].noun for f in families]
    none = f"neither a {' nor a '.join(names)}" if len(names) > 1 else f"no {names[0]}"
    return f"is {none} in disguise: {proved}"


def why_no_group(verdict: Verdict) -> str:
    """The rows and columns that break the quadrangle rule."""
    assert verdict.obstruction is not None
    certificate = verdict.obstruction.cases[0][1]
    rows, columns = (", ".join(map(str, sorted(set(certificate[side])))) for side in ("rows", "columns"))
    return f"rows {rows} and columns {columns} break the quadrangle rule"


def brief(found: FamilyVerdict) -> str:
    """Why a family fits or not, in a few words, and by whom it was checked; the proof says it in full."""
    verdict, proof = found.verdict, found.proof
    if verdict.status == "unknown":
        return "no witness and no proof with this effort"
    if verdict.obstruction is None:
        known = "" if proof is None or proof.table is None or (proof.table >= 0).all() else "known "
        return (
            "a witness that the kernel has not checked" if proof is None else f"a witness, checked on every {known}cell"
        )
    kind = verdict.obstruction.kind
    return REASONS.get(kind, f"a refutation by {kind}") + (" (by the search alone)" if proof is None else "")


def structure(symmetries: Symmetries, names: tuple[str, ...]) -> str:
    """Symmetries beyond the class, in a sentence; scalings are counted modulo primes alone, so others say nothing."""
    (a, b), found = names, []
    if symmetries.shifts > 1:
        found.append(f"{symmetries.shifts:,} of the {symmetries.cells[0]:,} shifts ({a} + s, {b} + t)")
    if (symmetries.scalings or 1) > 1:
        found.append(f"{symmetries.scalings:,} of the {symmetries.cells[1]:,} scalings (s {a}, t {b})")
    none = "no shift permutes" if symmetries.scalings is None else "no shift and no scaling permutes"
    lead = f"{' and '.join(found)} permute its values" if found else f"{none} its values"
    return f"{lead}; its Fourier transform needs {percent(symmetries.characters, 1)} of the frequency pairs"


def twins(redundancy: float, fraction: float, whole: bool = True) -> str:
    """What equal rows and columns give away; where cells are unknown, few are sure to be equal."""
    if not redundancy:
        return f"no two rows and no two columns are {'' if whole else 'known to be '}equal"
    return (
        f"{percent(redundancy, 0)} of the unseen cells have a twin in {share_text(fraction, whole)}: the same value, "
        "because rows or columns are equal. A network that knew which are equal would get these right"
    )
