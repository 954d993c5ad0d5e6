"""Groups behind tables, against GAP and brute force: python benchmarks/group_tables.py OUT.json

(Debian: apt-get install gap-core gap-smallgrp.) Four parts, each with random numbers of its own (`--seed`):

  groups   tables of 200 groups of order up to 127 with rows, columns and values shuffled. `mg.classify` must find each,
           prove it, and name or describe it as GAP does: GAP makes the group of our name and says which one it is
  latin    200 Latin squares that are no group in disguise, by switches and by Jacobson and Matthews' walk; the truth is
           whether the steps from row to row are closed under composition, in plain Python
  planted  tables h(g1 · g2) over GAP's groups of order up to 24, with many-to-one h; none may be refuted. Every other
           one is spoilt in one to three cells too: what is found there is held against every cell
  small    tables of up to 8 lines, planted, spoilt and random, beside brute force over all groups that are no larger
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from brute_force import product_by_force
from gap_groups import gap
from writing import write_found

import modgrok as mg
from modgrok.separable import decide_group, proof_of
from modgrok.separable.verdict import Witness

LARGEST = 127
MUST = ((6, 1), (8, 3), (8, 4), (12, 3), (24, 3), (24, 12), (48, 29), (60, 5), (120, 5), (120, 34), (21, 1), (20, 3))
"""Among them S3, D4, Q8, A4, SL(2,3), S4, GL(2,3), A5, SL(2,5), S5, and two without a name here."""
LIST = """
for n in [2..%d] do for k in [1..NrSmallGroups(n)] do
  Print("[", n, ",", k, ",", IsAbelian(SmallGroup(n, k)), "]\\n"); od; od; QUIT;
"""
FACTS = """g := SmallGroup(%d, %d);; e := Elements(g);; d := IdGroup(DerivedSubgroup(g));;
Print("[", SortedList(List(ConjugacyClasses(g), Size)), ",",
  SortedList(AbelianInvariants(Centre(g))), ",", d, ",", SortedList(AbelianInvariants(g)), ",",
  Collected(List(e, Order)), ",", Exponent(g), ",", MultiplicationTable(e), "];\\n");
"""
FAMILIES = {
    r"Z(\d+)": "CyclicGroup({0})",
    r"S(\d+)": "SymmetricGroup({0})",
    r"A(\d+)": "AlternatingGroup({0})",
    r"D(\d+)": "DihedralGroup(2*{0})",
    r"Dic(\d+)": "DicyclicGroup(4*{0})",
    r"Q(\d+)": "QuaternionGroup({0})",
    r"SL\((\d+),(\d+)\)": "SL({0},{1})",
    r"GL\((\d+),(\d+)\)": "GL({0},{1})",
}


def in_gap(name: str) -> str:
    """How GAP makes the group of a name by itself."""
    factors = []
    for part in name.split("x"):
        base, _, times = part.partition("^")
        found = next((m, text) for pattern, text in FAMILIES.items() if (m := re.fullmatch(pattern, base)))
        factors += [found[1].format(*found[0].groups())] * int(times or 1)
    return f"DirectProduct({', '.join(factors)})" if len(factors) > 1 else factors[0]


def read(line: str) -> Any:
    """A line of GAP's, which writes 1, 2, 3, 4 as 1 .. 4 and 1, 3, 5 as 1, 3 .. 5."""

    def every(found: re.Match[str]) -> str:
        first, second, last = (int(number) if number else 0 for number in found.groups())
        return str(list(range(first, last + 1, second - first if second else 1)))

    return json.loads(re.sub(r"\[ (\d+)(?:, (\d+))? \.\. (\d+) \]", every, line))


def objects(answer: str) -> list[Any]:
    """What GAP printed, each with a semicolon behind it; long ones have several lines."""
    return [read(part) for part in answer.split(";") if part.strip()]


def ids_of(names: list[str]) -> dict[str, list[int]]:
    """Which small group each name is, by GAP."""
    answers = gap("".join(f'Print(IdGroup({in_gap(name)}), "\\n");\n' for name in names) + "QUIT;\n")
    return dict(zip(names, map(read, filter(None, answers.splitlines())), strict=True))


def prime_powers(moduli: tuple[int, ...]) -> list[int]:
    """Orders of cyclic factors, taken apart into powers of primes, as GAP has them."""
    found = []
    for m in moduli:
        for p in range(2, m + 1):
            power = 1
            while m % p == 0:
                m, power = m // p, power * p
            found += [power] * (power > 1)
    return sorted(found)


def shuffled(table: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    n = len(table)
    return np.asarray(rng.permutation(n)[table[np.ix_(rng.permutation(n), rng.permutation(n))]])


# ------------------------------------------------------------------------------------------------------ groups


def chosen_groups(count: int, rng: np.random.Generator) -> list[tuple[int, int]]:
    """Four of five without commutativity, at most three of one order but for those that must be there."""
    lines = filter(None, gap(LIST % LARGEST).splitlines())
    known = [json.loads(line) for line in lines]
    chosen = list(MUST)
    for abelian, share in ((False, 4 * count // 5), (True, count)):
        of_order: Counter[int] = Counter()
        for k in rng.permutation(len(known)):
            order, number, commutes = known[k]
            if len(chosen) < share and commutes == abelian and (order, number) not in chosen and of_order[order] < 3:
                of_order[order] += 1
                chosen.append((order, number))
    assert len(chosen) == count, len(chosen)
    return chosen


def group_rows(count: int, seed: int) -> list[dict[str, Any]]:
    rng = np.random.default_rng(10 * seed + 1)
    chosen = chosen_groups(count, rng)
    lines = objects(gap("".join(FACTS % each for each in chosen) + "QUIT;\n"))
    rows = []
    for (order, number), line in zip(chosen, lines, strict=True):
        sizes, centre, derived, factors, orders, exponent, ones = line
        table = shuffled(np.array(ones) - 1, rng)
        began = time.process_time()
        answer = mg.classify(table)
        row: dict[str, Any] = {"order": order, "number": number, "seconds": round(time.process_time() - began, 3)}
        best = next((found for found in answer.families if found.family == answer.family), None)
        row |= {"family": answer.family, "proved": best is not None and best.proof is not None}
        assert answer.witness is not None, (order, number)
        row["gives_table"] = gives(answer.witness, table)
        facts = answer.group_facts
        row["name"] = name_of(answer.witness)
        if facts is not None:
            told = (list(facts.class_sizes), prime_powers(facts.centre_factors), facts.commutator_order)
            told += (prime_powers(facts.abelian_factors), [list(pair) for pair in facts.element_orders], facts.exponent)
            row["facts"] = told == (sizes, centre, derived[0], factors, orders, exponent)
            row["commutators"], row["commutators_in_gap"] = facts.commutator_name, derived
        rows.append(row)
    names = {row["name"] for row in rows if row["name"]}
    names |= {row["commutators"] for row in rows if row.get("commutators", "a ")[0] != "a"}
    ids = ids_of(sorted(names))
    for row in rows:
        row["named_right"] = ids[row["name"]] == [row["order"], row["number"]] if row["name"] else None
        commutators = row.pop("commutators", "a group")
        of_gap = row.pop("commutators_in_gap", None)
        row["commutators_right"] = ids[commutators] == of_gap if commutators in ids else None
    return rows


def name_of(witness: Witness) -> str | None:
    """What the answer calls the group; sums say the orders of cyclic groups."""
    if witness.products:
        return witness.group_name
    return "x".join(f"Z{m}" for m in witness.moduli or (witness.group_order,))


def gives(witness: Witness, table: np.ndarray) -> bool:
    """Whether h(g1 · g2) is the table, cell by cell, in plain Python."""
    moduli = witness.moduli or (witness.group_order,)

    def product(x: int, y: int) -> int:
        if witness.products:
            return int(witness.products[x][y])
        total, stride = 0, witness.group_order
        for m in moduli:
            stride //= m
            total += (x // stride + y // stride) % m * stride
        return total

    g1, g2, h = witness.g1, witness.g2, witness.h
    return all(h[product(g1[a], g2[b])] == v for a, row in enumerate(table.tolist()) for b, v in enumerate(row))


# ------------------------------------------------------------------------------------------------------- latin


def is_group_by_rows(table: np.ndarray) -> bool:
    """Whether the steps from row 0 to each row are closed under composition: then, and only then, it is a group's."""
    rows = table.tolist()
    place = {v: b for b, v in enumerate(rows[0])}
    steps = [tuple(place[v] for v in row) for row in rows]
    known = set(steps)
    return all(tuple(x[b] for b in y) in known for x in steps for y in steps)


def switched(table: np.ndarray, times: int, rng: np.random.Generator) -> np.ndarray:
    """Two rows with a cycle of columns in which they have the same values exchange these."""
    t, n = table.copy(), len(table)
    for _ in range(times):
        a, b = rng.choice(n, 2, replace=False)
        column = int(rng.integers(n))
        while True:
            t[a, column], t[b, column] = t[b, column], t[a, column]
            twice = [c for c in range(n) if c != column and t[a, c] == t[a, column]]
            if not twice:
                break
            column = twice[0]
    return t


def walked(n: int, steps: int, rng: np.random.Generator) -> np.ndarray:
    """A random Latin square: Jacobson and Matthews' walk on incidence cubes, which may pass improper ones."""
    cube = np.zeros((n, n, n), dtype=np.int64)
    a, b = np.indices((n, n))
    cube[a, b, (a + b) % n] = 1
    improper, done = None, 0
    while done < steps or improper is not None:
        done += 1
        if improper is None:
            x, y, z = (int(k) for k in rng.integers(n, size=3))
            if cube[x, y, z]:
                continue
        else:
            x, y, z = improper
        x2 = int(rng.choice(np.flatnonzero(cube[:, y, z] == 1)))
        y2 = int(rng.choice(np.flatnonzero(cube[x, :, z] == 1)))
        z2 = int(rng.choice(np.flatnonzero(cube[x, y, :] == 1)))
        for i, j, k, sign in ((x, y, z, 1), (x, y2, z2, 1), (x2, y, z2, 1), (x2, y2, z, 1),
                              (x2, y, z, -1), (x, y2, z, -1), (x, y, z2, -1), (x2, y2, z2, -1)):  # fmt: skip
            cube[i, j, k] += sign
        improper = (x2, y2, z2) if cube[x2, y2, z2] < 0 else None
    return np.asarray(cube.argmax(axis=2))


def latin_rows(count: int, seed: int) -> list[dict[str, Any]]:
    rng = np.random.default_rng(10 * seed + 2)
    names = (
        "S3",
        "Q8",
        "D4",
        "A4",
        "D6",
        "S4",
        "SL(2,3)",
        "D12",
        "D15",
        "S3xS3",
        "GL(2,3)",
        "A5",
        "Z7",
        "Z2^3",
        "Z4xZ3",
    )
    rows: list[dict[str, Any]] = []
    while len(rows) < count:
        if len(rows) % 2:
            kind, table = "walk", walked(n := int(rng.integers(5, 17)), 4 * n**3 // 3, rng)
        else:
            kind, base = "switches", mg.group(str(rng.choice(names))).table
            table = switched(shuffled(base, rng), int(rng.integers(1, 4)), rng)
        n = len(table)
        lines = all(sorted(line) == list(range(n)) for t in (table, table.T) for line in t.tolist())
        assert lines, "no Latin square"
        if is_group_by_rows(table):
            continue
        began = time.process_time()
        answer = mg.classify(table)
        found = next(each for each in answer.families if each.family == "group")
        rows.append(
            {
                "kind": kind,
                "order": n,
                "verdict": answer.verdict,
                "proved": found.refuted and found.proof is not None and found.verdict.decided_by == "quadrangle",
                "seconds": round(time.process_time() - began, 3),
            }
        )
    return rows


# ----------------------------------------------------------------------------------------------------- planted


def small_tables(most: int) -> list[tuple[str, np.ndarray]]:
    """Every group of order 2 … most: its number in GAP, and GAP's own table."""
    asked = f"""for n in [2..{most}] do for k in [1..NrSmallGroups(n)] do
      g := SmallGroup(n, k); Print("[[", n, ",", k, "],", MultiplicationTable(Elements(g)), "];\\n"); od; od; QUIT;"""
    found = objects(gap(asked))
    return [(f"{order},{number}", np.array(ones) - 1) for (order, number), ones in found]


MAPS = ("permutation", "onto", "any")


def map_to(n: int, kind: str, rng: np.random.Generator) -> np.ndarray:
    """A permutation of n elements; a map of more numbers onto them; or a map that may leave some out."""
    if kind == "permutation":
        return rng.permutation(n)
    more = int(rng.integers(1, n + 1))
    found = np.concatenate([np.arange(n), rng.integers(0, n, more)]) if kind == "onto" else rng.integers(0, n, n + more)
    return rng.permutation(found)


def planted(groups: list[tuple[str, np.ndarray]], rng: np.random.Generator) -> tuple[dict[str, Any], np.ndarray]:
    name, products = groups[int(rng.integers(len(groups)))]
    n = len(products)
    kinds = [str(rng.choice(MAPS, p=(0.5, 0.3, 0.2))) for _ in range(2)]
    g1, g2 = (map_to(n, kind, rng) for kind in kinds)
    values = int(rng.integers(2, max(3, n)))
    h = rng.integers(0, values, n)
    told = {"group": name, "abelian": bool((products == products.T).all()), "order": n, "g1": kinds[0], "g2": kinds[1]}
    told |= {"values": len(np.unique(h)), "onto": len(set(g1)) == n and len(set(g2)) == n}
    return told, h[products[np.ix_(g1, g2)]]


def spoilt(table: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """One to three cells changed to another value of the table."""
    other, values = table.copy(), int(table.max()) + 1
    for _ in range(int(rng.integers(1, 4))):
        a, b = (int(rng.integers(size)) for size in table.shape)
        other[a, b] = (other[a, b] + int(rng.integers(1, max(2, values)))) % max(2, values)
    return other


def judged(table: np.ndarray) -> dict[str, Any]:
    """The verdict, whether the kernel proves it, and whether a witness gives the table."""
    began = time.process_time()
    verdict = decide_group(table)
    row: dict[str, Any] = {"verdict": verdict.status, "seconds": round(time.process_time() - began, 4)}
    if verdict.status != "unknown":
        proof_of(table, "group", verdict)
        row["decided_by"] = verdict.decided_by
    else:
        row["why"] = re.sub(r"\b[\d,]*\d\b", "N", verdict.excluded)
    if verdict.witness is not None:
        assert gives(verdict.witness, table)
        row["found"] = verdict.witness.group_name or f"a group of order {verdict.witness.group_order}"
    return row


def planted_rows(count: int, seed: int) -> Iterator[dict[str, Any]]:
    rng, groups = np.random.default_rng(10 * seed + 3), small_tables(24)
    for k in range(count):
        if k % 500 == 0:
            print(f"planted: {k} of {count}", flush=True)
        told, table = planted(groups, rng)
        yield {"part": "planted", **told, **judged(table)}
        if k % 2:
            other = spoilt(table, rng)
            if not np.array_equal(other, table):
                yield {"part": "spoilt", **told, **judged(other)}


def small_rows(count: int, seed: int) -> Iterator[dict[str, Any]]:
    rng, groups = np.random.default_rng(10 * seed + 4), small_tables(8)
    tables = {name: products.tolist() for name, products in groups} | {"1,1": [[0]]}
    for k in range(count):
        kind = ("planted", "spoilt", "random")[k % 3]
        told, table = planted([each for each in groups if len(each[1]) > 3], rng)
        table = table[: int(rng.integers(4, 9)), : int(rng.integers(4, 9))] if k % 2 else table[:8, :8]
        if kind == "spoilt":
            table = spoilt(table, rng)
        if kind == "random":
            table = rng.integers(0, told["values"], table.shape)
        most = max(*table.shape, len(np.unique(table)))
        lines = len(np.unique(table, axis=0))
        truth = any(product_by_force(table, t) for t in tables.values() if lines <= len(t) <= most)
        yield {"part": kind, "truth": truth, **judged(table)}


# ------------------------------------------------------------------------------------------------------- counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--groups", type=int, default=200)
    parser.add_argument("--latin", type=int, default=200)
    parser.add_argument("--planted", type=int, default=5000)
    parser.add_argument("--small", type=int, default=600)
    parser.add_argument("--seed", type=int, default=0, help="another one draws other tables")
    asked = parser.parse_args()
    groups, latin = group_rows(asked.groups, asked.seed), latin_rows(asked.latin, asked.seed)
    print(summary := {"groups": of_groups(groups), "latin": of_latin(latin)})
    rows = list(planted_rows(asked.planted, asked.seed))
    small = list(small_rows(asked.small, asked.seed))
    summary |= {"planted": of_planted(rows), "small": of_small(small)}
    print(json.dumps(summary, indent=1))
    version = gap("Print(GAPInfo.Version); QUIT;").strip()
    write_found(__file__, asked.out, {"gap": version, **summary, "rows": {"groups": groups, "latin": latin}}, asked)


def seconds(rows: list[dict[str, Any]]) -> dict[str, float]:
    found = sorted(row["seconds"] for row in rows)
    return {"median": found[len(found) // 2], "worst": found[-1]}


def of_groups(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Wrong is what GAP says otherwise of, or what is not proved."""
    held = ("proved", "gives_table", "named_right", "commutators_right", "facts")
    wrong = [row for row in rows if any(row.get(name) is False for name in held)]
    families = Counter(row["family"] for row in rows)
    assert {"additive", "product-group", "group"} == set(families), families
    named = sum(row["named_right"] is True for row in rows)
    described = sum(row["name"] is None for row in rows)
    assert named and described and named + described + sum(row["named_right"] is False for row in rows) == len(rows)
    counts = {"tables": len(rows), "wrong": len(wrong), "named": named, "described": described}
    return counts | {"families": dict(families), "seconds": seconds(rows), "wrong_ones": wrong[:5]}


def of_latin(rows: list[dict[str, Any]]) -> dict[str, Any]:
    kinds = Counter(row["kind"] for row in rows)
    assert set(kinds) == {"walk", "switches"}
    return {
        "tables": len(rows),
        "kinds": dict(kinds),
        "proved": sum(row["proved"] for row in rows),
        "seconds": seconds(rows),
    }


def of_planted(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """A planted table that is refuted is wrong; what is found over another group fits as well."""
    mine = [row for row in rows if row["part"] == "planted"]
    for name, wanted in (("g1", set(MAPS)), ("abelian", {True, False}), ("onto", {True, False})):
        assert {row[name] for row in mine} == wanted, name
    assert {row["group"] for row in mine} == {name for name, _ in small_tables(24)} or len(mine) < 1000
    found = {}
    for part, some in (("planted", mine), ("spoilt", [row for row in rows if row["part"] == "spoilt"])):
        for onto in (True, False):
            those = [row for row in some if row["onto"] == onto]
            found[f"{part}, {'onto' if onto else 'not onto'}"] = {
                "tables": len(those),
                **Counter(row["verdict"] for row in those),
                "why_unknown": dict(Counter(row["why"] for row in those if "why" in row)),
                "decided_by": dict(Counter(row["decided_by"] for row in those if "decided_by" in row)),
                "seconds": seconds(those),
            }
    wrong = sum(row["verdict"] == "not-in-class" for row in mine)
    return {
        "tables": len(mine),
        "wrong": wrong,
        "unknown": sum(row["verdict"] == "unknown" for row in mine),
        "by": found,
    }


def of_small(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """A refuted table that brute force finds is wrong; a witness was checked, and may be over a larger group."""
    pairs = Counter((row["truth"], row["verdict"]) for row in rows)
    assert {truth for truth, _ in pairs} == {True, False} and {row["part"] for row in rows} == {
        "planted",
        "spoilt",
        "random",
    }
    assert all(any(verdict == word for _, verdict in pairs) for word in ("in-class", "not-in-class"))
    table = {f"{'fits' if truth else 'does not fit'}: {verdict}": n for (truth, verdict), n in sorted(pairs.items())}
    return {"tables": len(rows), "wrong": pairs[True, "not-in-class"], "by": table, "seconds": seconds(rows)}


if __name__ == "__main__":
    main()
