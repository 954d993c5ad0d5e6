"""Families of value tables of two variables: from sums that every network learns to pure noise.

A table is reproduced from (family, modulus, seed) alone. A family that is written as an expression draws
coefficients from 1 … p-1 and exponents from 1 … 12, so most of its tables have repeated rows where an exponent shares
a factor with p - 1. Any other name of a family is read as a template: an expression with letters in braces, such as
"{a}x^2 y + {b}y^2", whose letters become random non-zero coefficients; or, where it ends in .csv, .npy or .parquet, as
the path of one's own tables, which may have wildcards: seed k is the k-th file in the order of their names. An
expression in a group or a field, "a b in S5", is one table of its own order.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from glob import glob
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

import numpy as np
from jaxtyping import Int
from numpy.random import Generator

from modgrok.algebra.expression import parse
from modgrok.algebra.field import check_modulus, powers
from modgrok.algebra.function import Function, read_function
from modgrok.algebra.polynomial import value_table
from modgrok.algebra.table_files import SUFFIXES
from modgrok.algebra.trees import variables
from modgrok.base.errors import InputError
from modgrok.censuses.kinds import KINDS, UNWRITTEN_KINDS, WRITTEN_KINDS
from modgrok.censuses.other_kinds import OTHER_KINDS

LARGEST_EXPONENT = 12
LARGEST_OUTER_EXPONENT = 5
LARGEST_NOISE = 0.8
"""A noisy sum has a share of noise drawn from 0 to this."""

Values = Int[np.ndarray, "p p"]


class Table(NamedTuple):
    """A member of a family; the expression is None where only the generator describes it."""

    family: str
    modulus: int
    seed: int
    expression: str | None
    values: Values


def make_table(family: str, modulus: int, seed: int) -> Table:
    """The table that (family, modulus, seed) stands for."""
    check_modulus(modulus)
    if is_own(family):
        return Table(family, modulus, seed, None, own_table(family, modulus, seed))
    rng = np.random.default_rng([crc32(family.encode()), modulus, seed])
    if (values := (UNWRITTEN | UNWRITTEN_KINDS | OTHER_KINDS).get(family)) is not None:
        return Table(family, modulus, seed, None, values(modulus, rng))
    written = (WRITTEN | WRITTEN_KINDS).get(family)
    text = fill(family, modulus, rng) if written is None else written(modulus, rng)
    return Table(family, modulus, seed, text, expression_values(text, modulus))


def expression_values(text: str, modulus: int) -> Values:
    """The table of an expression in n1 and n2, on both axes even where it mentions one."""
    tree = parse(text, modulus)
    if max(variables(tree)) > 2:
        raise InputError(f"a census has functions of n1 and n2 (x and y), got {text!r}")
    return value_table(tree, modulus, (1, 2))


def check_family(name: str) -> None:
    """An `InputError` unless `name` is a family or a template."""
    if name in NAMES:
        return
    if is_own(name):
        own_functions(name)
        return
    try:
        make_table(name, 5, 0)
    except InputError as error:
        cause = str(error).splitlines()[0]
        raise InputError(
            f"{name!r} is neither a family ({', '.join(NAMES)}) nor a template such as '{{a}}x^2 y + {{b}}y^2': {cause}"
        ) from None


# ---------------------------------------------------------------------------------------------- in files


def is_own(family: str) -> bool:
    """Whether it has tables of a modulus of their own: in files, or in a group or a field."""
    return Path(family).suffix.lower() in SUFFIXES or " in " in family


@lru_cache(maxsize=64)
def own_functions(pattern: str) -> tuple[Function, ...]:
    """The tables of the files that a path stands for, read once; each must be whole, of two variables, modulo p."""
    if Path(pattern).suffix.lower() not in SUFFIXES:
        return whole_tables((pattern,), (read_function(pattern, at_least=2),))
    paths = sorted(map(Path, glob(pattern)))
    if not paths:
        raise InputError(f"no file is called {pattern}; paths are those of the folder where the census is started")
    return whole_tables(paths, tuple(read_function(path) for path in paths))


def whole_tables(paths: Sequence[str | Path], found: tuple[Function, ...]) -> tuple[Function, ...]:
    for path, function in zip(paths, found, strict=True):
        if not function.square or function.known is not None or len(function.sizes) != 2:
            raise InputError(
                f"{path}: a census has whole tables of n1 and n2 modulo one number, got {function.summary()}"
            )
    return found


def own_table(pattern: str, modulus: int, seed: int) -> Values:
    functions = own_functions(pattern)
    if not seed < len(functions) or functions[seed].modulus != modulus:
        raise InputError(f"{pattern} has no table {seed} modulo {modulus}")
    return functions[seed].table


# ------------------------------------------------------------------------------------ written as expressions


def fill(template: str, modulus: int, rng: Generator) -> str:
    """A template with every letter in braces replaced by a random non-zero coefficient, the same one everywhere."""
    letters = sorted(set(re.findall(r"\{([a-z])\}", template)))
    numbers = {letter: str(coefficient(modulus, rng)) for letter in letters}
    return re.sub(r"\{([a-z])\}", lambda match: numbers[match[1]], template)


def coefficient(modulus: int, rng: Generator) -> int:
    return int(rng.integers(1, modulus))


def exponent(rng: Generator, largest: int = LARGEST_EXPONENT) -> int:
    return int(rng.integers(1, largest + 1))


def monomial(modulus: int, rng: Generator) -> str:
    return f"{coefficient(modulus, rng)}x^{exponent(rng)} y^{exponent(rng)}"


def monomials(count: int) -> Callable[[int, Generator], str]:
    return lambda modulus, rng: " + ".join(monomial(modulus, rng) for _ in range(count))


def plain_sum(modulus: int, rng: Generator) -> str:
    """g1(n1) + g2(n2) for two monomials g1 and g2."""
    return f"{coefficient(modulus, rng)}x^{exponent(rng)} + {coefficient(modulus, rng)}y^{exponent(rng)}"


def composed_sum(modulus: int, rng: Generator) -> str:
    return f"({plain_sum(modulus, rng)})^{exponent(rng, LARGEST_OUTER_EXPONENT)}"


def composed_product(modulus: int, rng: Generator) -> str:
    a, b, c, d = (coefficient(modulus, rng) for _ in range(4))
    inner = f"({a}x^{exponent(rng)} + {b}) ({c}y^{exponent(rng)} + {d})"
    return f"({inner})^{exponent(rng, LARGEST_OUTER_EXPONENT)}"


# ---------------------------------------------------------------------------------------- generated by seed


def relabelled_sum(modulus: int, rng: Generator) -> Values:
    """h(g1(n1) + g2(n2)) for three random maps."""
    g1, g2, h = (rng.integers(0, modulus, modulus) for _ in range(3))
    return np.asarray(h[(g1[:, None] + g2[None, :]) % modulus])


def function_of_powers(modulus: int, rng: Generator) -> Values:
    """F(n1^k, n2^l) for a random table F: redundancy and nothing else."""
    residues = np.arange(modulus)
    k, l = exponent(rng), exponent(rng)  # noqa: E741
    table = random_values(modulus, rng)
    return np.asarray(table[powers(residues, k, modulus)][:, powers(residues, l, modulus)])


def noisy_sum(modulus: int, rng: Generator) -> Values:
    """g1(n1) + g2(n2) for two random permutations, a random share of whose cells is replaced by noise."""
    g1, g2 = rng.permutation(modulus), rng.permutation(modulus)
    share = rng.uniform(0, LARGEST_NOISE)
    noise = random_values(modulus, rng)
    return np.where(rng.random((modulus, modulus)) < share, noise, (g1[:, None] + g2[None, :]) % modulus)


def random_values(modulus: int, rng: Generator) -> Values:
    return rng.integers(0, modulus, (modulus, modulus))


WRITTEN: dict[str, Callable[[int, Generator], str]] = {
    "two-monomials": monomials(2),
    "three-monomials": monomials(3),
    "composed-sum": composed_sum,
    "composed-product": composed_product,
    "sum-plus-monomial": lambda modulus, rng: f"{composed_sum(modulus, rng)} + {monomial(modulus, rng)}",
    "product-of-sums": lambda modulus, rng: f"({plain_sum(modulus, rng)}) ({plain_sum(modulus, rng)})",
}
UNWRITTEN: dict[str, Callable[[int, Generator], Values]] = {
    "relabelled-sum": relabelled_sum,
    "function-of-powers": function_of_powers,
    "noisy-sum": noisy_sum,
    "random": random_values,
}
FAMILIES = (*WRITTEN, *UNWRITTEN)
NAMES = (*FAMILIES, *KINDS, *OTHER_KINDS)
"""All of them: families, kinds that laws are fitted to, and kinds that they are tried on."""
