"""Verdicts as JSON and back: what a file must hold so that others can check a claim without trusting who made it.

A tree of a search is written as a list of its nodes, the root first: [branch, [[option, number of the child or null],
…]]. So places stay whole numbers, which JSON has no keys for, and a deep tree is no deep file. What is read is taken
as a claim: shapes are checked here, and whether it is true by `checkers`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from modgrok.errors import InputError
from modgrok.separable.verdict import Obstruction, Refutation, Verdict, Witness

STATUSES = ("in-class", "not-in-class", "unknown")


def verdict_to_json(verdict: Verdict) -> dict[str, Any]:
    """The verdict with its whole certificate."""
    obstruction = verdict.obstruction
    return verdict.to_json() | {"obstruction": None if obstruction is None else obstruction_to_json(obstruction)}


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


def verdict_from_json(value: Any) -> Verdict:
    """The claim in a file; an `InputError` where it has not the shape of one."""
    try:
        if value["verdict"] not in STATUSES:
            raise ValueError(value["verdict"])
        witness, obstruction = value.get("witness"), value.get("obstruction")
        moduli = tuple(int(m) for m in value.get("moduli") or ())
        order = int(value["group_order"])
        return Verdict(
            status=value["verdict"],
            group_order=order,
            absorbing=bool(value["absorbing"]),
            witness=None if witness is None else witness_from_json(witness, order),
            obstruction=None if obstruction is None else obstruction_from_json(obstruction),
            excluded=str(value.get("excluded") or ""),
            moduli=moduli,
            up_to=bool(value.get("up_to")),
        )
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise InputError(f"this is no claim of a verdict ({type(error).__name__}: {error})") from None


def witness_from_json(value: Mapping[str, Any], order: int) -> Witness:
    parts = [value[f"g{s}"] for s in range(1, 1 + sum(key[1:].isdigit() for key in value if key.startswith("g")))]
    h_absorbing = value["h_absorbing"]
    return Witness(
        group_order=order,
        g=tuple(tuple(None if t is None else int(t) for t in part) for part in parts),
        h=tuple(None if v is None else int(v) for v in value["h"]),
        h_absorbing=None if h_absorbing is None else int(h_absorbing),
        moduli=tuple(int(m) for m in value.get("moduli") or ()),
    )


def obstruction_from_json(value: Mapping[str, Any]) -> Obstruction:
    return Obstruction(
        kind=str(value["kind"]),
        explanation=str(value["explanation"]),
        cases=tuple((absorbed, refutation_from_json(refutation)) for absorbed, refutation in value["cases"]),
        axis=int(value.get("axis") or 0),
        smaller=tuple((int(order), obstruction_from_json(other)) for order, other in value.get("smaller") or ()),
    )


def refutation_from_json(value: Mapping[str, Any]) -> Refutation:
    found = dict(value)
    if "certificate" in found:
        found["certificate"] = refutation_from_json(found["certificate"])
    if "tree" in found:
        found["tree"] = tree_from_nodes(found["tree"]["origin"], found["tree"]["nodes"])
    return cast(Refutation, found)


def tree_from_nodes(origin: Any, nodes: list[Any]) -> dict[str, Any]:
    """The tree of a list of nodes; a child has a higher number than its parent, so that no branch runs in circles."""
    trees: list[dict[str, Any]] = [{"branch": branch, "children": {}} for branch, _ in nodes]
    for number, (_, children) in enumerate(nodes):
        for option, child in children:
            if child is not None and not number < child < len(nodes):
                raise ValueError(f"node {number} has the child {child}")
            trees[number]["children"][option] = None if child is None else trees[child]
    return trees[0] | {"origin": origin}
