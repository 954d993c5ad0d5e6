"""Compiled networks against GAP and galois: python benchmarks/group_networks.py groups|fields|page [--count N]

groups   all groups of order 2 … 31 by GAP's tables, and 25 larger ones that GAP makes (gap-core, gap-smallgrp): the
         narrowest network and the exact one-hot of each, on every cell of GAP's table. The networks of groups that have
         a name here are those that `modgrok compile` makes by that name; GAP says which element is which of its own
fields   1,000 random polynomials over GF(4) … GF(81) (pip install galois), compiled, on every row of galois's values
page     the table of widths in docs/group-networks.md, from benchmarks/results/group-networks.json

What was measured is put into benchmarks/results/group-networks.json; groups and fields are measured apart.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np
from writing import sittings_in, write_found

import modgrok as mg
from modgrok.base.files import read_json, write_text
from modgrok.base.provenance import KEY

OUT = Path(__file__).parent / "results" / "group-networks.json"
PAGE = Path(__file__).parent.parent / "docs" / "group-networks.md"
SMALL = 31
LARGER = {
    "S5": "SymmetricGroup(5)",
    "A5": "AlternatingGroup(5)",
    "SL(2,5)": "SL(2,5)",
    "D30": "DihedralGroup(60)",
    "Dic15": "DicyclicGroup(60)",
    "Q64": "QuaternionGroup(64)",
    "Z97": "CyclicGroup(97)",
    "A6": "AlternatingGroup(6)",
    "SL(3,2)": "SL(3,2)",
    "GL(2,3)": "GL(2,3)",
    "SL(2,7)": "SL(2,7)",
    "Z2^6": "ElementaryAbelianGroup(64)",
    "S3xZ10": "DirectProduct(SymmetricGroup(3),CyclicGroup(10))",
    "D48": "DihedralGroup(96)",
    "S4xZ5": "DirectProduct(SymmetricGroup(4),CyclicGroup(5))",
    "Z4xZ12": "DirectProduct(CyclicGroup(4),CyclicGroup(12))",
    "A4xZ5": "DirectProduct(AlternatingGroup(4),CyclicGroup(5))",
    "D4xS3": "DirectProduct(DihedralGroup(8),SymmetricGroup(3))",
    "SL(2,3)xZ5": "DirectProduct(SL(2,3),CyclicGroup(5))",
    "2^(1+4)": "SmallGroup(32,49)",
    "3^(1+2)xZ2": "DirectProduct(ExtraspecialGroup(27,3),CyclicGroup(2))",
    "AGL(1,8)": "SmallGroup(56,11)",
    "7:6": "SmallGroup(42,1)",
    "Z3^2:Z4": "SmallGroup(36,9)",
    "Q8xS3": "DirectProduct(QuaternionGroup(8),SymmetricGroup(3))",
}
"""Groups above order 31, as GAP makes them."""
LARGEST_ONE_HOT = 120
"""Order up to which the exact one-hot is compiled, too."""
TABLE = 'g := %s;; Print("[", Size(g), ",", MultiplicationTable(Elements(g)), "];");\n'
PLACES = """g := %s;; h := Group(List(%s, PermList));; e := Elements(g);; f := IsomorphismGroups(h, g);;
Print("[0,", List(%s, row -> Position(e, Image(f, PermList(row)))), "];");\n"""
"""Where GAP has the elements of a table: its columns are permutations, and multiply as the elements do."""
ALL_SMALL = """for n in [2..%d] do for k in [1..NrSmallGroups(n)] do
  Print("[", n, ",", MultiplicationTable(Elements(SmallGroup(n, k))), "];"); od; od;\n"""
RUN_EVERY = 20
"""Of the networks that the kernel proves, one is run by JAX, too: that takes longer than all the rest."""
FIELDS = (4, 8, 9, 16, 25, 27, 32, 49, 64, 81)


def gap(program: str) -> list[np.ndarray]:
    """The tables that a program prints, elements numbered from 0."""
    script = f"SizeScreen([65536, 24]);;\n{program}QUIT;\n"
    found = subprocess.run(["gap", "-q", "--quitonbreak"], input=script, capture_output=True, text=True, check=True)
    whole = found.stdout.replace("\\\n", "").replace("\n", "")  # long lines are broken, with or without a sign
    return [np.array(json.loads(line)[1]) - 1 for line in whole.split(";") if line.strip()]


def named(name: str) -> mg.Group | None:
    """Our group of that name; None where only GAP makes it."""
    try:
        return mg.group(name)
    except mg.InputError:
        return None


def compiled(name: str, table: np.ndarray) -> dict[str, Any]:
    """The networks of a group, by its name or else by GAP's table, and on how many cells they differ from that."""
    if (group := named(name)) is None:
        group = mg.group(table)
        labels = np.array(list(map(int, group.words_of_elements)))
    else:
        columns = (group.table.T + 1).tolist()
        (labels,) = gap(PLACES % (LARGER[name], columns, columns))
        assert np.array_equal(np.sort(labels), np.arange(len(table)))
    right = table[np.ix_(labels, labels)]
    row: dict[str, Any] = {"group": name, "order": len(table), "cells": int(right.size), "wrong": 0, "proved": True}
    kinds = {"minimal": "minimal", "one_hot": "all"} if len(table) <= LARGEST_ONE_HOT else {"minimal": "minimal"}
    for kind, frequencies in kinds.items():
        began = time.perf_counter()
        network = mg.compile("a b", group=group, frequencies=frequencies)
        row["wrong"] += int((labels[network.table()] != right).sum())
        row["proved"] &= network.proof is not None and network.proof.holds
        row |= {kind: network.width, f"{kind}_margin": network.proof.margin if network.proof else None}
        row[f"{kind}_seconds"] = time.perf_counter() - began
    return row


def groups() -> dict[str, Any]:
    small = gap(ALL_SMALL % SMALL)
    larger = gap("".join(TABLE % program for program in LARGER.values()))
    counts: dict[int, int] = {}
    rows = []
    for table in small:
        counts[len(table)] = counts.get(len(table), 0) + 1
        rows.append(compiled(f"SmallGroup({len(table)},{counts[len(table)]})", table))
    for name, table in zip(LARGER, larger, strict=True):
        rows.append(compiled(name, table))
        print(rows[-1], flush=True)
    wrong, unproved = sum(row["wrong"] for row in rows), sum(not row["proved"] for row in rows)
    print(f"{len(rows)} groups: {wrong} cells wrong, {unproved} not proved")
    return {"gap": gap_version(), "groups": len(rows), "wrong_cells": wrong, "not_proved": unproved, "rows": rows}


def gap_version() -> str:
    script = "Print(GAPInfo.Version); QUIT;\n"
    return subprocess.run(["gap", "-q"], input=script, capture_output=True, text=True, check=True).stdout.strip()


# ------------------------------------------------------------------------------------------------------ fields


def random_polynomial(rng: np.random.Generator, q: int, variables: int) -> list[tuple[int, tuple[int, ...]]]:
    """Terms: a coefficient, which is an element of the field, and an exponent for each variable."""
    terms = []
    for _ in range(int(rng.integers(1, 5))):
        exponents = tuple(int(e) for e in rng.integers(0, 5, variables))
        terms.append((int(rng.integers(1, q)), exponents))
    return terms


def text_of(terms: list[tuple[int, tuple[int, ...]]], names: dict[int, str]) -> str:
    def one(coefficient: int, exponents: tuple[int, ...]) -> str:
        powers = [f"n{k + 1}^{e}" for k, e in enumerate(exponents) if e]
        return "*".join([f"({names[coefficient]})", *powers])

    return " + ".join(one(*term) for term in terms)


def fields(count: int) -> dict[str, Any]:
    import galois

    rng, wrong, unproved, widths, methods = np.random.default_rng(0), 0, 0, [], {"exact": 0, "lookup": 0}
    began, rows = time.perf_counter(), 0
    for k in range(count):
        q = FIELDS[k % len(FIELDS)]
        variables = 3 if q <= 16 and rng.random() < 0.3 else 2
        terms, own, theirs = random_polynomial(rng, q, variables), mg.finite_field(q), galois.GF(q)
        if {v for _, exponents in terms for v, e in enumerate(exponents) if e} != set(range(variables)):
            terms.append((1, (1,) * variables))
        names = {x: own.name(x) for x in range(q)}
        network = mg.compile(text_of(terms, names), field=q)
        grid = np.indices((q,) * variables).reshape(variables, -1)
        values = theirs.Zeros(grid.shape[1])
        for coefficient, exponents in terms:
            term = theirs(np.full(grid.shape[1], coefficient))
            for v, e in enumerate(exponents):
                term = term * theirs(grid[v]) ** e
            values = values + term
        wrong += int((network.function.table.reshape(-1) != np.asarray(values)).sum())
        unproved += network.proof is None or not network.proof.holds  # the weights answer that table, on every row
        if k % RUN_EVERY == 0:
            wrong += int((network.table().reshape(-1) != np.asarray(values)).sum())
        widths.append(network.width)
        methods[network.method] += 1
        rows += grid.shape[1]
        if k % 50 == 49:
            print(f"{k + 1} polynomials, {rows:,} rows: {wrong} wrong, {unproved} not proved", flush=True)
    return {
        "galois": galois.__version__, "polynomials": count, "rows": rows, "wrong_rows": wrong, "not_proved": unproved,
        "neurons": {"least": min(widths), "median": float(np.median(widths)), "most": max(widths)},
        "methods": methods, "seconds": time.perf_counter() - began,
    }  # fmt: skip


# -------------------------------------------------------------------------------------------------------- page

SHOWN = (
    "S5",
    "A5",
    "SL(2,5)",
    "D30",
    "Dic15",
    "Q64",
    "Z97",
    "Z2^6",
    "S3xZ10",
    "S4xZ5",
    "GL(2,3)",
    "SL(3,2)",
    "A6",
    "SL(2,7)",
)


def page(found: dict[str, Any]) -> None:
    """The table between the two marks of the page."""
    rows = {row["group"]: row for row in found["groups"]["rows"]}
    lines = [
        "| group | order | fewest neurons | margin | plain D³ + 1 | exact one-hot |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for name in SHOWN:
        row, own = rows[name], mg.group(name)
        faithful = [rho.dimension for rho in own.representations if rho.kernel.sum() == 1]
        plain = f"{min(faithful) ** 3 + 1:,}" if faithful else "–"
        one_hot = f"{row['one_hot']:,}" if "one_hot" in row else "–"
        lines.append(
            f"| {name} | {row['order']} | {row['minimal']} | {row['minimal_margin']:.3g} | {plain} | {one_hot} |"
        )
    before, _, rest = PAGE.read_text().partition("<!-- widths -->\n")
    _, _, after = rest.partition("<!-- end of widths -->\n")
    write_text(PAGE, before + "<!-- widths -->\n" + "\n".join(lines) + "\n<!-- end of widths -->\n" + after)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("do", choices=["groups", "fields", "page"])
    parser.add_argument("--count", type=int, default=1000, help="polynomials")
    parser.add_argument("--out", type=Path, default=OUT)
    args = parser.parse_args()
    found = read_json(args.out) if args.out.exists() else {}
    if args.do == "page":
        page(found)
    else:
        earlier, measured = sittings_in(args.out), groups() if args.do == "groups" else fields(args.count)
        found = {name: part for name, part in found.items() if name != KEY} | {args.do: measured}
        write_found(__file__, args.out, found, args, earlier=earlier)


if __name__ == "__main__":
    main()
