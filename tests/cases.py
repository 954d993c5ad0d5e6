"""One table of expressions that feeds the tests of the parser, the compiler and the command line.

`VALID` has expressions with a Python oracle for each; `REFUSED_EXPRESSIONS` cannot be read at all; `REFUSED_TASKS` can
be read, but not compiled as they stand, and `REFUSED_BY_PAPER` not by the paper's method.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Valid(NamedTuple):
    text: str
    modulus: int
    variables: tuple[int, ...]
    value: Callable[..., int]
    """On Python integers, one argument for each variable; not yet reduced."""


class Refused(NamedTuple):
    text: str
    position: int
    """Of the caret."""
    message: str


class RefusedTask(NamedTuple):
    text: str
    modulus: int | None
    message: str


VALID = (
    # the paper's own
    Valid("2n1^4 n2 + n1^2 n2^2 + 3n1 n2^3", 97, (1, 2), lambda x, y: 2 * x**4 * y + x**2 * y**2 + 3 * x * y**3),
    Valid(
        "7n1^4 n2^4 + 2n1^3 n2^2 + 4n1^2 n2^5",
        23,
        (1, 2),
        lambda x, y: 7 * x**4 * y**4 + 2 * x**3 * y**2 + 4 * x**2 * y**5,
    ),
    Valid("(4n1 + n2^2)^3", 23, (1, 2), lambda x, y: (4 * x + y**2) ** 3),
    Valid("(2n1+3n2)**4 - n1^2", 11, (1, 2), lambda x, y: (2 * x + 3 * y) ** 4 - x**2),
    # spelling
    Valid("x y", 13, (1, 2), lambda x, y: x * y),
    Valid("xyz", 5, (1, 2, 3), lambda x, y, z: x * y * z),
    Valid("3(n1+1)", 13, (1,), lambda x: 3 * (x + 1)),
    Valid("(n1+1)(n1-1)", 13, (1,), lambda x: (x + 1) * (x - 1)),
    Valid("  n1\t+\nn2 ", 7, (1, 2), lambda x, y: x + y),
    Valid("n_1 n_{2}^{3}", 7, (1, 2), lambda x, y: x * y**3),
    Valid(r"\left(n_{1} + 2\right)^{2} \cdot 3", 11, (1,), lambda x: (x + 2) ** 2 * 3),
    Valid("n1·n2 − 2×n1", 7, (1, 2), lambda x, y: x * y - 2 * x),
    Valid(
        "2n₁⁴\u202fn₂ + (n1 + 3n₂)¹² − n₁²n2³", 13, (1, 2), lambda x, y: 2 * x**4 * y + (x + 3 * y) ** 12 - x**2 * y**3
    ),
    Valid("007 n1", 11, (1,), lambda x: 7 * x),
    Valid("n1 + n2 mod 7", 7, (1, 2), lambda x, y: x + y),
    Valid(r"n_{1} \bmod{7}", 7, (1,), lambda x: x),
    # signs
    Valid("-n1", 7, (1,), lambda x: -x),
    Valid("-n1^2", 7, (1,), lambda x: -(x**2)),
    Valid("2*-3 n1", 11, (1,), lambda x: -6 * x),
    Valid("--n1 - -n2", 11, (1, 2), lambda x, y: x + y),
    Valid("n1 - n2 - 3", 11, (1, 2), lambda x, y: x - y - 3),
    Valid("n1 - (n2 - 3)", 11, (1, 2), lambda x, y: x - (y - 3)),
    # which variables occur, and in which order they are read
    Valid("n5 - 2n2", 11, (2, 5), lambda b, e: e - 2 * b),
    Valid("n99", 7, (99,), lambda x: x),
    Valid("5", 7, (1,), lambda x: 5),
    Valid("0 n3", 7, (3,), lambda x: 0),
    Valid("n1 - n1 + n2", 7, (1, 2), lambda x, y: y),
    # exponents
    Valid("n1^0", 7, (1,), lambda x: 1),
    Valid("n1^0 n2", 7, (1, 2), lambda x, y: y),
    Valid("(n1 - n1)^0", 7, (1,), lambda x: 1),
    Valid("n1^12 n2", 13, (1, 2), lambda x, y: x**12 * y),
    Valid("n1^13 n2^25", 13, (1, 2), lambda x, y: x**13 * y**25),
    Valid("n1^(1000000007)", 11, (1,), lambda x: pow(x, 1000000007, 11)),
    # the smallest fields, and several variables
    Valid("n1 n2 + n1 + 1", 2, (1, 2), lambda x, y: x * y + x + 1),
    Valid("2n1 n2 + n1", 3, (1, 2), lambda x, y: 2 * x * y + x),
    Valid("n1 n2 n3 + 2n1 + 1", 5, (1, 2, 3), lambda x, y, z: x * y * z + 2 * x + 1),
    Valid("n1 + n2 + n3 + n4", 5, (1, 2, 3, 4), lambda a, b, c, d: a + b + c + d),
    # composite moduli: sums of one-variable terms, however spelled
    Valid("n1 + 5n2^2 + 3", 12, (1, 2), lambda x, y: x + 5 * y**2 + 3),
    Valid("3n1^3 - n2", 91, (1, 2), lambda x, y: 3 * x**3 - y),
    Valid("(n1 + n2)^2 - 2n1 n2", 15, (1, 2), lambda x, y: x**2 + y**2),
    Valid("4n1^7", 8, (1,), lambda x: 4 * x**7),
    Valid("2n1(n2 + 3) - 2 n1 n2", 6, (1, 2), lambda x, y: 6 * x),
)

REFUSED_EXPRESSIONS = (
    Refused("", 0, "the expression is empty"),
    Refused("   ", 0, "the expression is empty"),
    Refused("n1 + foo", 5, "unknown name 'foo'; variables are n1 … n99"),
    Refused("w", 0, "unknown name 'w'"),
    Refused("a x + b", 2, "x, y, z and a, b, c both stand for n1, n2, n3"),
    Refused("n1 + y + c", 9, "x, y, z and a, b, c both stand for n1, n2, n3"),
    Refused("n1 + n2⁻", 7, "cannot read '⁻'"),
    Refused("n", 0, "unknown name 'n'"),
    Refused("n0", 0, "unknown variable n0"),
    Refused("n1 + n100", 5, "unknown variable n100"),
    Refused("n1 + n₁₀₀", 5, "unknown variable n₁₀₀"),
    Refused("__import__('os')", 0, "unknown name '__import__'"),
    Refused("(n1 + n2", 0, "this '(' is never closed"),
    Refused("n1 + (n2", 5, "this '(' is never closed"),
    Refused("n1 + n2)", 7, "this ')' closes nothing"),
    Refused("n1 (", 4, "the expression ends too early"),
    Refused("()", 1, "expected a number, a variable or"),
    Refused("n1 +", 4, "the expression ends too early"),
    Refused("n1 + * n2", 5, "expected a number, a variable or"),
    Refused("* n1", 0, "expected a number, a variable or"),
    Refused("n1 2", 3, "a number cannot follow without a sign"),
    Refused("2 3", 2, "a number cannot follow without a sign"),
    Refused("x1 + x2", 1, "a number cannot follow without a sign; variables with numbers are n1, n2, …"),
    Refused("n1^--2", 3, "exponents must be whole numbers"),
    Refused("n1^n2", 3, "exponents must be whole numbers"),
    Refused("n1^", 3, "exponents must be whole numbers"),
    Refused("n1^(1/2)", 3, "exponents must be whole numbers"),
    Refused("n1^0.5", 4, "numbers must be whole, got a decimal point"),
    Refused("n1^2^3", 4, "two exponents in a row are ambiguous"),
    Refused("n1²^3", 3, "two exponents in a row are ambiguous"),
    Refused("² n1", 0, "expected a number, a variable or '(' here"),
    Refused("n1 / n2 n3", 8, "what is divided by is not clear"),
    Refused("n1 /", 4, "the expression ends too early"),
    Refused("n1 if n2", 8, "a condition is"),
    Refused("n1 if n2 odd", 3, "'if' needs an 'else'"),
    Refused("n1 if n2 is 3 else n1", 12, "a condition is"),
    Refused("n1 odd", 3, "expected the end"),
    Refused("abs(n1)", 0, "unknown name 'abs'"),
    Refused("tan(n1)", 0, "unknown name 'tan'"),
    Refused("1.5 n1", 1, "numbers must be whole, got a decimal point"),
    Refused("n1 # 7", 3, "cannot read '#'"),
    Refused("n1 % n2", 5, "'mod' needs a whole number after it"),
    Refused("n1; n2", 2, "cannot read ';'"),
    Refused("n1 = n2", 3, "expected the end"),
    Refused("é", 0, "cannot read 'é'"),
    Refused("٣", 0, "cannot read '٣'"),
    Refused("n1\x00", 2, r"cannot read '\x00'"),
    Refused("n1 + n2 mod", 11, "'mod' needs a whole number"),
    Refused("n1 mod n2", 7, "'mod' needs a whole number"),
    Refused("n1 mod 7 + 1", 9, "expected the end, + or - here"),
    Refused("(n1 mod 7)", 0, "this '(' is never closed"),
    Refused("{n1}", 0, "expected a number, a variable or"),
    Refused("n1 if n2 odd else " * 60 + "n1", 18 * 50 + 3, "nested deeper than 50 levels"),
    Refused("(" * 60 + "n1" + ")" * 60, 50, "nested deeper than 50 levels"),
)

REFUSED_TASKS = (
    RefusedTask("n1 + n2", None, "a modulus is needed; give mod=97 (--mod 97), or end the expression with"),
    RefusedTask("n1 + n2", 1, "modulus must be at least 2, got 1"),
    RefusedTask("n1 + n2", 0, "modulus must be at least 2, got 0"),
    RefusedTask("n1 + n2", -7, "modulus must be at least 2, got -7"),
    RefusedTask("n1 + n2", 1 << 21, "modulus must be at most 1048576"),
    RefusedTask("n1 mod 1", None, "modulus must be at least 2, got 1"),
    RefusedTask("n1 + n2 mod 97", 23, "the expression says mod 97 but 23 is given; give one of them"),
    RefusedTask("x" * 2000, 7, "expressions may have 4000 characters, got 5999"),
    RefusedTask("n1 + " * 1000 + "n1", 7, "expressions may have 4000 characters, got 5002"),
)

REFUSED_BY_PAPER = (
    # the paper multiplies by logarithms, and expands into monomials; exact networks need not do either
    RefusedTask("n1 n2", 91, "the paper's products of variables need a prime modulus, got 91 = 7 · 13; method exact"),
    RefusedTask("n1 n2 + n3", 12, "the paper's products of variables need a prime modulus, got 12 = 2^2 · 3"),
    RefusedTask("(n1 + n2)^2", 9, "the paper's products of variables need a prime modulus, got 9 = 3^2"),
    RefusedTask("(n1 + n2)^1000", 1000, "the paper's products of variables need a prime modulus, got 1000 = 2^3 · 5^3"),
    RefusedTask(
        "(n1 + n2 + n3)^5000", 5003, "recovering a polynomial from 5003^3 values takes more multiplications than"
    ),
)
