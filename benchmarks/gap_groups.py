"""Groups against GAP (Debian: apt-get install gap-core gap-smallgrp): python benchmarks/gap_groups.py OUT.json

All groups of order up to 31, by GAP's tables: `mg.group` takes each, and has GAP's numbers of classes, central
elements, commutators and the exponent; with one cell changed it refuses. `mg.compile` makes a network of each, whose
answers are GAP's table on every cell. Then the groups that have names, more than twenty of them larger: GAP finds which
group our table is, and must find the one that it makes itself by that name; networks are compared with that table.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
from writing import write_found

import modgrok as mg

SMALL = 31
NAMED = {
    **{f"Z{n}": f"CyclicGroup({n})" for n in (2, 7, 12, 60, 97)},
    **{f"D{n}": f"DihedralGroup({2 * n})" for n in (3, 4, 10, 30, 48)},
    **{f"Dic{n}": f"DicyclicGroup({4 * n})" for n in (3, 5, 15, 20)},
    **{f"Q{n}": f"QuaternionGroup({n})" for n in (8, 16, 32, 64)},
    **{f"S{n}": f"SymmetricGroup({n})" for n in (3, 4, 5)},
    **{f"A{n}": f"AlternatingGroup({n})" for n in (4, 5, 6)},
    **{"SL(2,3)": "SL(2,3)", "SL(2,5)": "SL(2,5)", "SL(3,2)": "SL(3,2)", "SL(2,7)": "SL(2,7)", "GL(2,3)": "GL(2,3)"},
    "Z2^6": "ElementaryAbelianGroup(64)",
    "S3xZ10": "DirectProduct(SymmetricGroup(3),CyclicGroup(10))",
    "S4xZ5": "DirectProduct(SymmetricGroup(4),CyclicGroup(5))",
    "A4xZ5": "DirectProduct(AlternatingGroup(4),CyclicGroup(5))",
    "SL(2,3)xZ5": "DirectProduct(SL(2,3),CyclicGroup(5))",
    "Z4xZ12": "DirectProduct(CyclicGroup(4),CyclicGroup(12))",
    "D4xS3": "DirectProduct(DihedralGroup(8),SymmetricGroup(3))",
    "<(1 2 3 4 5), (2 5)(3 4)>": "DihedralGroup(10)",
    "<(1 2 3 4 5 6 7), (2 3 5)(4 7 6)>": "SmallGroup(21,1)",
    "<(1 2 3 4 5), (2 3 5 4)>": "SmallGroup(20,3)",
}
"""Our name, and how GAP makes the same group by itself."""
COMPILED = 168
"""Largest order of which a network is compiled here."""

ALL_SMALL = """
for n in [2..%d] do for k in [1..NrSmallGroups(n)] do
  g := SmallGroup(n, k); e := Elements(g);
  Print("[", n, ",", k, ",", NrConjugacyClasses(g), ",", Size(Centre(g)), ",", Size(DerivedSubgroup(g)), ",",
    Exponent(g), ",", MultiplicationTable(e), "]\\n");
od; od; QUIT;
"""
WHICH = 'Print(IdGroup(Group(List(%s, PermList))), "=", IdGroup(%s), "\\n");\n'


def gap(program: str) -> str:
    script = "SizeScreen([65536, 24]);;\n" + program
    found = subprocess.run(["gap", "-q", "--quitonbreak"], input=script, capture_output=True, text=True, check=True)
    return found.stdout.replace("\\\n", "")


def small_groups() -> list[dict[str, Any]]:
    rows = []
    for line in filter(None, gap(ALL_SMALL % SMALL).splitlines()):
        order, number, classes, centre, commutators, exponent, ones = json.loads(line)
        table = np.array(ones) - 1
        group = mg.group(table)
        found = (len(group.classes), len(group.centre), len(group.commutators), group.exponent)
        damaged = table.copy()
        damaged[-1, -1] = (damaged[-1, -1] + 1) % order
        rows.append(
            {
                "order": order,
                "number": number,
                "facts": found == (classes, centre, commutators, exponent),
                "refused": refused(damaged),
                "network": network_agrees(group, np.array(list(map(int, group.words_of_elements))), table),
            }
        )
    return rows


def refused(table: np.ndarray) -> bool:
    try:
        mg.group(table)
    except mg.InputError:
        return True
    return False


def network_agrees(group: mg.Group, labels: np.ndarray, table: np.ndarray) -> bool:
    """Whether a compiled network answers `table`, in which element k of the group is labels[k]."""
    network = mg.compile("a b", group=group)
    assert network.proof is not None and network.proof.holds
    return bool((labels[network.table()] == table[np.ix_(labels, labels)]).all())


def named_groups() -> list[dict[str, Any]]:
    tables = {name: (mg.group(name).table + 1).tolist() for name in NAMED}
    answers = gap("".join(WHICH % (json.dumps(tables[name]), NAMED[name]) for name in NAMED) + "QUIT;\n")
    rows = []
    for name, line in zip(NAMED, filter(None, answers.splitlines()), strict=True):
        ours, theirs = line.replace(" ", "").split("=")
        group = mg.group(name)
        agrees = network_agrees(group, np.arange(group.order), group.table) if group.order <= COMPILED else None
        rows.append({"group": name, "order": group.order, "id": ours, "same": ours == theirs, "network": agrees})
    return rows


def main() -> None:
    small, named = small_groups(), named_groups()
    wrong = [row for row in (*small, *named) if False in row.values()]
    larger = sum(row["order"] > SMALL for row in named)
    print(f"{len(small)} groups of order 2 … {SMALL}, {len(named)} named ones ({larger} larger): {len(wrong)} wrong")
    for row in wrong:
        print(row)
    version = gap("Print(GAPInfo.Version); QUIT;").strip()
    found = {"gap": version, "small": small, "named": named, "wrong": len(wrong)}
    write_found(__file__, Path(sys.argv[1]), found)


if __name__ == "__main__":
    main()
