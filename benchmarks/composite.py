"""Polynomials modulo composite numbers: python benchmarks/composite.py [--json FILE] [--count 300]

1. Random polynomials in two and three variables modulo composite numbers from 4 to 60 are compiled and compared with
   Python's integers on every row; every one must be proved. Half of them have the fewest frequencies and half all of
   them, a third is in float32.
2. The neurons of a product by each way there is (logarithms, quarter squares, remainders), modulo primes and others.
3. The neurons of whole polynomials modulo numbers beside each other.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from writing import write_found

from modgrok.algebra.expression import parse
from modgrok.algebra.field import factors_text, is_prime
from modgrok.compiler.choosing import priced
from modgrok.compiler.compiling import ExactSettings, compile_exact
from modgrok.compiler.plan import plan_by_remainders
from modgrok.compiler.planner import Planner, prime_powers
from modgrok.compiler.steps import Plan
from modgrok.networks.network import Network

COMPOSITES = [m for m in range(4, 61) if not is_prime(m)]
LARGEST_OF_THREE = 30
"""The largest modulus of polynomials in three variables, whose tables have m³ rows."""
PRODUCT_MODULI = (4, 6, 8, 9, 10, 12, 15, 16, 30, 35, 36, 59, 60, 61, 96, 97, 100)
POLYNOMIALS = ("n1 n2 + n3", "n1 n2 n3 n4", "2n1^4 n2 + n1^2 n2^2 + 3n1 n2^3", "(n1 + n2)^3 n3 + 6n1 n2")
NEIGHBOURS = (30, 31, 58, 59, 60, 61)


class Case(NamedTuple):
    """A polynomial, and what it means on Python's integers."""

    text: str
    modulus: int
    variables: int
    value: Callable[..., int]


def random_case(rng: random.Random) -> Case:
    """A sum of one to four monomials, and in a third of the cases a power of a linear form times a monomial."""
    variables = rng.choice((2, 2, 3))
    m = rng.choice([m for m in COMPOSITES if variables == 2 or m <= LARGEST_OF_THREE])
    monomials = [random_monomial(rng, m, variables) for _ in range(rng.randint(1, 4))]
    texts = [monomial_text(*monomial) for monomial in monomials]
    linear: list[int] | None = None
    if rng.random() < 1 / 3:
        linear = [rng.randint(1, m - 1) for _ in range(variables)]
        power = rng.randint(2, 5)
        form = " + ".join(f"{a} n{v}" for v, a in enumerate(linear, start=1))
        texts[0] = f"{texts[0]} ({form})^{power}"

    def value(*point: int) -> int:
        terms = [c * prod_of_powers(point, exponents) for c, exponents in monomials]
        if linear is not None:
            terms[0] *= sum(a * x for a, x in zip(linear, point, strict=True)) ** power
        return sum(terms) % m

    every = " + ".join(f"0 n{v}" for v in range(1, variables + 1))  # every variable occurs
    return Case(f"{' + '.join(texts)} + {every}", m, variables, value)


def random_monomial(rng: random.Random, m: int, variables: int) -> tuple[int, list[int]]:
    return rng.randint(1, m - 1), [rng.choice((0, 1, 1, 2, 3, 5)) for _ in range(variables)]


def monomial_text(coefficient: int, exponents: list[int]) -> str:
    return " ".join([str(coefficient), *(f"n{v}^{e}" for v, e in enumerate(exponents, start=1))])


def prod_of_powers(point: tuple[int, ...], exponents: list[int]) -> int:
    result = 1
    for x, e in zip(point, exponents, strict=True):
        result *= x**e
    return result


def compiled(case: Case, number: int) -> Network:
    settings = ExactSettings("all" if number % 2 else "minimal", "float64" if number % 3 else "float32")
    return compile_exact(case.text, case.modulus, settings)


def wrong_rows(network: Network, case: Case) -> int:
    """Rows on which the network and Python's integers differ; every row is looked at."""
    points = product(range(case.modulus), repeat=case.variables)
    expected = np.array([case.value(*point) for point in points])
    return int((network.table().ravel() != expected).sum())


def random_row(number: int) -> dict[str, Any]:
    case = random_case(random.Random(number))
    start = time.perf_counter()
    network = compiled(case, number)
    seconds = time.perf_counter() - start
    kinds = [step.kind for step in network.plan]
    return {
        "polynomial": case.text,
        "modulus": case.modulus,
        **{name: network.settings[name] for name in ("frequencies", "dtype")},
        "rows": case.modulus**case.variables,
        "wrong_rows": wrong_rows(network, case),
        "certificate_holds": network.proof is not None and network.proof.holds,
        "neurons": network.width,
        "experts": len(kinds),
        "by_squares": kinds.count("squares"),
        "by_logarithms": kinds.count("product"),
        "joins": kinds.count("remainders"),
        "seconds": round(seconds, 3),
    }


def by_squares(m: int) -> Plan:
    tree = parse("n1 n2")
    planner = Planner(tree, m, flat=False)
    factors = [planner.signal(parse(name), m) for name in ("n1", "n2")]
    return planner.plan(planner.by_squares(*factors, m=m))


def product_row(m: int) -> dict[str, Any]:
    """Neurons of n1 n2 by each way, with the fewest frequencies and with all."""
    tree, planner = parse("n1 n2"), Planner(parse("n1 n2"), m, flat=False)
    plans = {"squares": by_squares(m)}
    if is_prime(m):
        plans["logarithms"] = planner.plan(planner.signal(tree, m))
    if len(prime_powers(m)) > 1:
        plans["remainders"] = plan_by_remainders(tree, m, prime_powers(m), expand=False)
    neurons = {
        way: {frequencies: priced(plan, frequencies).width for frequencies in ("minimal", "all")}
        for way, plan in plans.items()
    }
    return {"modulus": m, "factors": factors_text(m)} | neurons


def polynomial_row(text: str, m: int) -> dict[str, Any]:
    row: dict[str, Any] = {"polynomial": text, "modulus": m, "prime": is_prime(m)}
    for frequencies in ("minimal", "all"):
        network = compile_exact(text, m, ExactSettings(frequencies))
        row |= {f"neurons_{frequencies}": network.width, f"experts_{frequencies}": len(network.plan)}
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/composite.json"))
    parser.add_argument("--count", type=int, default=300)
    args = parser.parse_args()
    rows = []
    for number in range(args.count):
        rows.append(random_row(number))
        if not number % 20:
            print(number, rows[-1], flush=True)
    result = {
        "command": "python benchmarks/composite.py",
        "polynomials": len(rows),
        "moduli": sorted({row["modulus"] for row in rows}),
        "rows_checked": sum(row["rows"] for row in rows),
        "wrong_rows": sum(row["wrong_rows"] for row in rows),
        "certificates_that_hold": sum(row["certificate_holds"] for row in rows),
        "products": [product_row(m) for m in PRODUCT_MODULI],
        "polynomials_beside_each_other": [polynomial_row(text, m) for text in POLYNOMIALS for m in NEIGHBOURS],
        "rows": rows,
    }
    for name, value in result.items():
        if name != "rows":
            print(f"{name}: {value}")
    write_found(__file__, args.json, result, args)


if __name__ == "__main__":
    main()
