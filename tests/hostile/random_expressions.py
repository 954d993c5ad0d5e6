"""Random expressions by the grammar that `modgrok.algebra.expression` documents, each with its values by integers.

A case is made as a tree of tuples, and the tree is written as text in a random spelling: the text is for modgrok, the
values come from the tree. Nothing is shared with the package, and no text is read here.

    ("number", k)    ("variable", k)    ("negative", t)    ("sum", t, …)    ("product", t, …)    ("power", t, exponent)

`Case.used` counts which productions made it; `PRODUCTIONS` lists them all.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from math import gcd
from typing import Any, NamedTuple

Tree = tuple[Any, ...]

MOST_ROWS, USUAL_ROWS = 20_000, 150
"""Of a table; most of two variables modulo composite numbers are small, as the compiler searches long there."""
PRIMES = [m for m in range(2, 101) if all(m % d for d in range(2, m))]
PRIME_POWERS = [m for m in range(4, 101) if any(m == p**k for p in PRIMES for k in range(2, 7))]
PRODUCTS_OF_PRIMES = [m for m in range(2, 101) if m not in PRIMES and m not in PRIME_POWERS]
KINDS = {
    "modulo a prime": PRIMES,
    "modulo a power of a prime": PRIME_POWERS,
    "modulo a product of several primes": PRODUCTS_OF_PRIMES,
}
VARIABLES = {"no variable": 2, "one variable": 16, "two variables": 18, "three variables": 8, "four variables": 4}
"""How often an expression is made of so many variables; some may not occur."""
FAR_NAMES = (1, 2, 3, 4, 5, 7, 9, 10, 12, 31, 98, 99)

SHAPES = (
    "a constant alone", "a variable alone", "a sum", "a difference", "terms that cancel", "a product",
    "a product of constants", "nonzero constants whose product vanishes", "a constant that shares a factor with m",
    "a constant above the modulus", "a constant above 10^30", "a constant 0", "a power of a variable",
    "a power of a constant", "0^0", "a power of a sum", "a power of a product", "a power of a power",
    "a power of a negative", "exponent 0", "exponent 1", "an exponent above the modulus",
    "an exponent of 10^30 and more", "a sum in a product", "a negative in a product", "names with gaps",
)  # fmt: skip
SPELLINGS = (
    "*", "·", "×", "\\cdot", "\\times", "* and a sign", "juxtaposed with a gap", "juxtaposed without", "+", "-", "−",
    "a leading sign", "several signs", "^", "**", "a raised exponent", "an exponent in {}", "an exponent in ()",
    "( )", "\\left( \\right)", "nested parentheses", "needless parentheses", "n1", "n_1", "n_{1}", "n{1}", "n₁", "n_₁",
    "x, y, z", "leading zeros", "a LaTeX gap", "a tab or a newline", "mod m", "\\mod m", "\\bmod m", "bmod m",
    "mod {m}", "no mod", "mod m given twice",
)  # fmt: skip
PRODUCTIONS = (*SHAPES, *SPELLINGS, *KINDS, *VARIABLES)


class Case(NamedTuple):
    """`text` and `mod` are given to modgrok; `tree`, `modulus` and `names` say what they mean."""

    text: str
    mod: int | None
    tree: Tree
    modulus: int
    names: tuple[int, ...]
    used: Counter[str]

    @property
    def rows(self) -> int:
        return self.modulus ** len(self.names)

    def values(self) -> list[int]:
        """The right answers of all rows, of which the last variable changes first."""
        support, found = table(self.tree, self.modulus)
        return [found[place] for place in places(support, self.names, self.modulus)]


# --------------------------------------------------------------------------------------------- values


def table(tree: Tree, m: int) -> tuple[tuple[int, ...], list[int]]:
    """The variables of a tree in rising order, and its values modulo m at all their values, by Python's integers."""
    kind, *parts = tree
    if kind == "number":
        return (), [parts[0] % m]
    if kind == "variable":
        return (parts[0],), list(range(m))
    support, values = table(parts[0], m)
    if kind == "negative":
        return support, [-value % m for value in values]
    if kind == "power":
        return support, [pow(value, parts[1], m) for value in values]
    for part in parts[1:]:
        other, more = table(part, m)
        union = tuple(sorted({*support, *other}))
        left, right = places(support, union, m), places(other, union, m)
        if kind == "sum":
            values = [(values[i] + more[j]) % m for i, j in zip(left, right, strict=True)]
        else:
            values = [values[i] * more[j] % m for i, j in zip(left, right, strict=True)]
        support = union
    return support, values


@lru_cache(maxsize=64)
def places(support: tuple[int, ...], wider: tuple[int, ...], m: int) -> list[int]:
    """Where each choice of values for the variables `wider` stands in a table of the variables `support` alone."""
    found = [0]
    for name in wider:
        found = [m * k + x if name in support else k for k in found for x in range(m)]
    return found


def occurring(tree: Tree) -> set[int]:
    if tree[0] == "variable":
        return {tree[1]}
    return set().union(*(occurring(part) for part in tree[1:] if isinstance(part, tuple)))


# --------------------------------------------------------------------------------------------- trees


class Grower:
    """Trees over some variables modulo m; counts what it makes."""

    def __init__(self, rng: random.Random, m: int, names: Sequence[int]) -> None:
        self.rng, self.m, self.names, self.used = rng, m, names, Counter[str]()

    def whole(self) -> Tree:
        rng = self.rng
        if rng.random() < 0.02 or not self.names:
            tree = self.constant()
        elif rng.random() < 0.02:
            tree = ("variable", rng.choice(self.names))
        else:
            tree = self.sum(rng.choice((1, 2)))
            missing = [name for name in self.names if name not in occurring(tree)]
            if missing and rng.random() < 0.8:
                tree = ("sum", tree, *(self.product(0, name) for name in missing))
        self.used["a constant alone"] += tree[0] == "number"
        self.used["a variable alone"] += tree[0] == "variable"
        return tree

    def sum(self, depth: int) -> Tree:
        rng = self.rng
        terms = [self.product(depth) for _ in range(rng.choice((1, 1, 2, 2, 3)))]
        terms = [("negative", term) if rng.random() < 0.3 else term for term in terms]
        if rng.random() < 0.06:
            again = rng.choice(terms)
            terms.insert(rng.randint(0, len(terms)), ("negative", again))
            self.used["terms that cancel"] += 1
        rest = [term[0] == "negative" for term in terms[1:]]
        self.used["a sum"] += not all(rest)
        self.used["a difference"] += any(rest)
        return terms[0] if len(terms) == 1 else ("sum", *terms)

    def product(self, depth: int, name: int | None = None) -> Tree:
        rng = self.rng
        factors = [self.power(depth) for _ in range(rng.choice((1, 1, 1, 2, 2, 3)))]
        if name is not None:
            factors.insert(rng.randint(0, len(factors)), ("variable", name))
        if rng.random() < 0.35:
            factors.insert(rng.choice((0, 0, len(factors))), self.constant())
        if rng.random() < 0.08:
            at = rng.randrange(len(factors))
            factors[at] = ("negative", factors[at])
            self.used["a negative in a product"] += len(factors) > 1
        if len(factors) == 1:
            return factors[0]
        self.used["a product"] += 1
        self.used["a sum in a product"] += any(factor[0] == "sum" for factor in factors)
        numbers = [factor[1] % self.m for factor in factors if factor[0] == "number"]
        self.used["a product of constants"] += len(numbers) > 1
        total = 1
        for number in numbers:
            total = total * number % self.m
        self.used["nonzero constants whose product vanishes"] += bool(numbers) and all(numbers) and total == 0
        return ("product", *factors)

    def power(self, depth: int) -> Tree:
        rng = self.rng
        base = self.atom(depth)
        if rng.random() < 0.1 and base[0] in ("variable", "sum", "power"):
            base = ("negative", base)
        if rng.random() < 0.6:
            return base
        return self.raised(base, self.exponent())

    def exponent(self) -> int:
        m = self.m
        return self.rng.choice(
            (0, 1, 2, 2, 2, 3, 3, 4, 5, 7, m - 1, m, m + 1, 96, 10**6, 10**30, 10**40 + 1, 3 * 10**33)
        )

    def raised(self, base: Tree, exponent: int) -> Tree:
        self.used[f"a power of a {'constant' if base[0] == 'number' else base[0]}"] += 1
        self.used["0^0"] += base == ("number", 0) and exponent == 0
        self.used["exponent 0"] += exponent == 0
        self.used["exponent 1"] += exponent == 1
        self.used["an exponent above the modulus"] += exponent > self.m
        self.used["an exponent of 10^30 and more"] += exponent >= 10**30
        return ("power", base, exponent)

    def atom(self, depth: int) -> Tree:
        kind = self.rng.random()
        if kind < 0.1:
            return self.constant()
        if kind < 0.75 or depth == 0:
            return ("variable", self.rng.choice(self.names))
        if kind < 0.9:
            return self.sum(depth - 1)
        if kind < 0.95:
            return self.product(depth - 1)
        return self.raised(self.product(depth - 1), self.exponent())

    def constant(self) -> Tree:
        """A number, and sometimes a power, a product or a sum of numbers."""
        rng = self.rng
        if rng.random() < 0.75:
            return self.number()
        kind = rng.random()
        if kind < 0.5:
            base = self.number()
            return self.raised(base, 0 if base[1] == 0 and rng.random() < 0.5 else self.exponent())
        if kind < 0.9:
            factors = [self.number() for _ in range(rng.choice((2, 2, 3)))]
            if rng.random() < 0.3 and self.m not in PRIMES:
                d = rng.choice([d for d in range(2, self.m) if self.m % d == 0])
                factors[:2] = [("number", d), ("number", self.m // d)]
            self.used["a product of constants"] += 1
            total = 1
            for factor in factors:
                total *= factor[1]
            nonzero = all(factor[1] % self.m for factor in factors)
            self.used["nonzero constants whose product vanishes"] += nonzero and total % self.m == 0
            return ("product", *factors)
        return ("sum", self.number(), self.number())

    def number(self) -> Tree:
        rng, m = self.rng, self.m
        value = rng.choice(
            (0, 1, 2, 3, m - 1, m, m + 1, 2 * m + 1, 6 * m, rng.randrange(m), rng.randrange(m), rng.randrange(m),
             rng.randrange(10**6), 10**30 + rng.randrange(m), rng.choice([d for d in range(1, m + 1) if m % d == 0]))
        )  # fmt: skip
        self.used["a constant 0"] += value == 0
        self.used["a constant above the modulus"] += value > m
        self.used["a constant above 10^30"] += value > 10**30
        self.used["a constant that shares a factor with m"] += 1 < gcd(value, m) < m
        return ("number", value)


# --------------------------------------------------------------------------------------------- texts


def with_digits(text: str, digits: str) -> str:
    return text.translate(str.maketrans("0123456789", digits))


class Writer:
    """Trees in random spellings; counts which."""

    def __init__(self, rng: random.Random, used: Counter[str]) -> None:
        self.rng, self.used = rng, used
        self.gaps = rng.random() < 0.7

    def chosen(self, options: dict[str, str]) -> str:
        """One of these spellings, which is counted by its name."""
        name = self.rng.choice(list(options))
        self.used[name] += 1
        return options[name]

    def gap(self) -> str:
        """Between two signs: nothing, or something that the reader skips."""
        kind = self.rng.random()
        if kind < 0.02:
            return self.chosen({"a tab or a newline": self.rng.choice("\t\n")})
        if kind < 0.06:
            return self.chosen({"a LaTeX gap": self.rng.choice(("\\, ", "\\;", "\\:", "\\!", "\\ ", "\\quad "))})
        return " " if self.gaps else ""

    def sum(self, tree: Tree, level: int = 0) -> str:
        text = ""
        for k, term in enumerate(tree[1:] if tree[0] == "sum" else (tree,)):
            minus = False
            while term[0] == "negative":
                minus, term = not minus, term[1]
            text += self.signs(minus, first=k == 0) + self.product(term, level)
        return text

    def signs(self, minus: bool, *, first: bool) -> str:
        """Signs that make a plus or a minus; none, in most cases, before a first term that has a plus."""
        rng = self.rng
        if first and not minus and rng.random() < 0.9:
            return ""
        count = 1 if rng.random() < 0.8 else rng.choice((2, 3, 4))
        signs = [rng.choice("+-") for _ in range(count)]
        if (signs.count("-") % 2 == 1) != minus:
            signs[0] = "+" if signs[0] == "-" else "-"
        signs = ["−" if sign == "-" and rng.random() < 0.2 else sign for sign in signs]
        self.used.update(signs)
        self.used["several signs"] += count > 1
        self.used["a leading sign"] += first
        return self.gap() * (not first) + "".join(sign + self.gap() for sign in signs)

    def product(self, tree: Tree, level: int) -> str:
        factors = tree[1:] if tree[0] == "product" else (tree,)
        text = ""
        for k, factor in enumerate(factors):
            sign = ""
            if k > 0 and factor[0] == "negative" and self.rng.random() < 0.6:
                sign, factor = self.rng.choice(("-", "- ", "−", "+-")), factor[1]
            elif k > 0 and self.rng.random() < 0.03:
                sign = self.rng.choice(("+", "--"))
            written = self.power(factor, level)
            if k == 0:
                text = written
            elif sign:
                self.used["* and a sign"] += 1
                text += self.times() + sign + written
            elif written[0].isdigit() or self.rng.random() < 0.4:
                text += self.times() + written
            else:
                between = self.chosen({"juxtaposed with a gap": " ", "juxtaposed without": ""})
                text += between + written
        return text

    def times(self) -> str:
        sign = self.chosen({"*": "*", "·": "·", "×": "×", "\\cdot": "\\cdot ", "\\times": "\\times "})
        return self.gap() + sign + self.gap()

    def power(self, tree: Tree, level: int) -> str:
        if tree[0] != "power":
            return self.atom(tree, level)
        base, exponent = self.atom(tree[1], level), self.digits(tree[2])
        if self.rng.random() < 0.25:
            return base + self.chosen({"a raised exponent": with_digits(exponent, "⁰¹²³⁴⁵⁶⁷⁸⁹")})
        sign = self.chosen({"^": "^", "**": "**"})
        around = self.chosen(
            {"an exponent in {}": "{%s}", "an exponent in ()": "(%s)", "^" if sign == "^" else "**": "%s"}
        )
        return base + self.gap() + sign + self.gap() + around % exponent

    def atom(self, tree: Tree, level: int) -> str:
        kind, *parts = tree
        plain = kind in ("number", "variable")
        if plain and self.rng.random() < 0.97:
            return self.digits(parts[0]) if kind == "number" else self.name(parts[0])
        self.used["needless parentheses"] += plain
        self.used["nested parentheses"] += level > 0
        around = self.chosen({"( )": "(%s)", "\\left( \\right)": "\\left(%s\\right)"})
        return around % (self.gap() + self.sum(tree, level + 1) + self.gap())

    def digits(self, number: int) -> str:
        if self.rng.random() < 0.02:
            return self.chosen({"leading zeros": "00"}) + str(number)
        return str(number)

    def name(self, k: int) -> str:
        lowered = with_digits(str(k), "₀₁₂₃₄₅₆₇₈₉")
        options = {"n1": f"n{k}", "n_1": f"n_{k}", "n_{1}": f"n_{{{k}}}", "n{1}": f"n{{{k}}}", "n₁": f"n{lowered}"}
        options["n_₁"] = f"n_{lowered}"
        if k <= 3:
            options["x, y, z"] = "xyz"[k - 1]
        return self.chosen(options)

    def end(self, m: int) -> tuple[str, int | None]:
        """The modulus at the end of the text, beside it, or both."""
        if self.rng.random() < 0.6:
            return self.chosen({"no mod": ""}), m
        words = {name: f" {name[:-1]}{m}" for name in ("mod m", "\\mod m", "\\bmod m", "bmod m")}
        text = self.chosen({**words, "mod {m}": f" mod {{{m}}}"})
        if self.rng.random() < 0.3:
            self.used["mod m given twice"] += 1
            return text, m
        return text, None


# --------------------------------------------------------------------------------------------- cases


def random_case(rng: random.Random) -> Case:
    """An expression in up to four variables modulo 2 to 100 whose table has no more than `MOST_ROWS` rows."""
    count = rng.choices(range(5), [*VARIABLES.values()])[0]
    kind = rng.choice(list(KINDS))
    most = USUAL_ROWS if count == 2 and kind != "modulo a prime" and rng.random() < 0.85 else MOST_ROWS
    m = min(rng.choices([m for m in KINDS[kind] if m**count <= most], k=2 if count > 1 else 1))
    names = tuple(range(1, count + 1)) if rng.random() < 0.7 else tuple(sorted(rng.sample(FAR_NAMES, count)))
    grower = Grower(rng, m, names)
    tree = grower.whole()
    used = grower.used
    writer = Writer(rng, used)
    text = writer.sum(tree)
    end, mod = writer.end(m)
    found = tuple(sorted(occurring(tree)))
    used[kind] += 1
    used[list(VARIABLES)[len(found)]] += 1
    used["names with gaps"] += bool(found) and found[-1] > len(found)
    return Case(text + end, mod, tree, m, found or (1,), +used)
