"""Random words in groups, expressions over fields, quotients and conditions modulo m, and tables with unknown cells.

Groups are permutations, matrices, and rotations with reflections here, fields are polynomials with the coefficients
that the literature has, and an element is known by its number as docs/group-networks.md counts. Values come from the
tree of an expression, element by element; nothing is shared with the package.

    ("variable", k) ("number", k) ("t",) ("negative", t) ("sum", t, u) ("product", t, u) ("quotient", t, u)
    ("power", t, exponent) ("if", relation, t, u or None, then, else)
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from itertools import permutations, product
from typing import Any, NamedTuple

Tree = tuple[Any, ...]
Element = Any

CONWAY = {4: (2, (1, 1)), 8: (2, (1, 1, 0)), 9: (3, (2, 2)), 16: (2, (1, 1, 0, 0)), 25: (5, (2, 4)), 27: (3, (1, 2, 0)),
          5: (5, (-2,)), 7: (7, (-3,)), 11: (11, (-2,))}  # fmt: skip
"""The characteristic, and coefficients from t^0 on of the polynomial that t is a root of, without the highest."""


class Place(NamedTuple):
    """Elements in the order of their numbers, and what can be done with them; `given` is how modgrok is told of it."""

    kind: str
    name: str
    given: dict[str, Any]
    elements: tuple[Element, ...]
    times: Callable[[Element, Element], Element]
    inverse: Callable[[Element], Element | None]
    one: Element
    plus: Callable[[Element, Element], Element] | None = None
    number: Callable[[int], Element] | None = None
    t: Element = None


# --------------------------------------------------------------------------------------------- groups


def generated(makers: Sequence[Element], times: Callable[[Element, Element], Element], one: Element) -> list[Element]:
    found, todo = {one}, [one]
    while todo:
        fresh = {times(x, g) for x in todo for g in makers} - found
        found |= fresh
        todo = [*fresh]
    return [one, *sorted(found - {one})]


def after(a: Element, b: Element) -> Element:
    """First b, then a."""
    return tuple(a[i] for i in b)


def turned(n: int, square: int) -> tuple[list[Element], Callable[[Element, Element], Element]]:
    """(j, i) is r^i s^j with s r = r⁻¹ s and s² = r^square."""

    def times(x: Element, y: Element) -> Element:
        return (x[0] ^ y[0], (x[1] + (-y[1] if x[0] else y[1]) + square * (x[0] & y[0])) % n)

    return [(j, i) for j in range(2) for i in range(n)], times


def two_by_two(a: Element, b: Element) -> Element:
    return tuple(sum(a[2 * i + k] * b[2 * k + j] for k in range(2)) % 3 for i in range(2) for j in range(2))


@cache
def family(name: str) -> tuple[list[Element], Callable[[Element, Element], Element]]:
    if name[0] == "Z":
        n = int(name[1:])
        return [*range(n)], lambda x, y: (x + y) % n
    if name[0] == "S" and name[1:].isdigit():
        return [*permutations(range(int(name[1:])))], after
    if name == "A4":
        return generated([(1, 2, 0, 3), (0, 2, 3, 1)], after, (0, 1, 2, 3)), after
    if name == "<(1 2 3)(4 5), (1 3)>":
        return generated([(1, 2, 0, 4, 3), (2, 1, 0, 3, 4)], after, (0, 1, 2, 3, 4)), after
    if name == "SL(2,3)":
        return generated([(1, 1, 0, 1), (1, 0, 1, 1)], two_by_two, (1, 0, 0, 1)), two_by_two
    n = int(name.strip("DQic"))
    return turned(n, 0) if name[0:2] != "Di" and name[0] == "D" else turned(2 * n, n) if name[0] == "D" else turned(
        n // 2, n // 4)  # fmt: skip


GROUPS = ("S3", "S4", "A4", "Z6", "Z7", "D4", "D5", "Q8", "Dic3", "SL(2,3)", "Z2^3", "Z2xZ4", "S3xZ2", "Z3xS3",
          "<(1 2 3)(4 5), (1 3)>")  # fmt: skip


def group(name: str) -> tuple[list[Element], Callable[[Element, Element], Element]]:
    """The elements of a group in the order of their numbers, and their products."""
    factors = [name[:2]] * int(name[3:]) if "^" in name else [name] if "<" in name else name.split("x")
    made = [family(factor) for factor in factors]

    def times(x: Element, y: Element) -> Element:
        return tuple(multiply(a, b) for (_, multiply), a, b in zip(made, x, y, strict=True))

    return [*product(*(elements for elements, _ in made))], times


@cache
def products(name: str) -> list[list[int]]:
    """The multiplication table of a group."""
    elements, times = group(name)
    number = {x: k for k, x in enumerate(elements)}
    return [[number[times(x, y)] for y in elements] for x in elements]


def group_place(rng: random.Random) -> Place:
    name = rng.choice(GROUPS)
    elements, times = group(name)
    one, kind, given = elements[0], "a group by its name", {"group": name}
    if rng.random() < 0.3:
        kind, name = "a group by its table", ""
        moved = rng.sample(elements, len(elements))
        first = rng.randrange(2)
        given = {"group": [[moved.index(times(x, y)) + first for y in moved] for x in moved]}
        elements = [one, *(x for x in moved if x != one)]
    back = {x: y for x in elements for y in elements if times(x, y) == one}
    return Place(kind, name and f"in {name}", given, tuple(elements), times, back.__getitem__, one)


# --------------------------------------------------------------------------------------------- rings


def field_place(rng: random.Random) -> Place:
    """Elements are tuples of coefficients, the highest first, so that their order is that of their numbers."""
    q = rng.choice(list(CONWAY))
    p, low = CONWAY[q]
    k = len(low)

    def plus(x: Element, y: Element) -> Element:
        return tuple((a + b) % p for a, b in zip(x, y, strict=True))

    def times(x: Element, y: Element) -> Element:
        found = [0] * k
        for digit in x:  # Horner's rule, from the highest coefficient down
            top, *rest = found
            found = [(r - top * c + digit * b) % p for r, c, b in zip([*rest, 0], low[::-1], y, strict=True)]
        return tuple(found)

    elements = (*product(range(p), repeat=k),)
    one = (*[0] * (k - 1), 1)
    back = {x: y for x in elements for y in elements if times(x, y) == one}
    t = (-low[0] % p,) if k == 1 else (*[0] * (k - 2), 1, 0)
    return Place("a field", f"in GF({q})", {"field": q}, elements, times, back.get, one, plus,
                 lambda n: (*[0] * (k - 1), n % p), t)  # fmt: skip


def residue_place(rng: random.Random) -> Place:
    m = rng.choice((2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13))
    back = {x: y for x in range(m) for y in range(m) if x * y % m == 1 % m}
    return Place("modulo m", f"mod {m}", {"mod": m}, (*range(m),), lambda x, y: x * y % m, back.get, 1 % m,
                 lambda x, y: (x + y) % m, lambda n: n % m)  # fmt: skip


PLACES = (group_place, group_place, field_place, residue_place)
RELATIONS = {"=": lambda x, y: x == y, "!=": lambda x, y: x != y, "<": lambda x, y: x < y, "<=": lambda x, y: x <= y,
             ">": lambda x, y: x > y, ">=": lambda x, y: x >= y}  # fmt: skip


def value(tree: Tree, at: dict[int, Element], place: Place) -> Element | None:
    """What a tree is worth at one input; None where it is worth nothing."""
    kind, *parts = tree
    if kind == "variable":
        return at[parts[0]]
    if kind == "number":
        return place.number(parts[0])
    if kind == "t":
        return place.t
    if kind == "if":
        relation, left, right, then, otherwise = parts
        x, y = value(left, at, place), None if right is None else value(right, at, place)
        if x is None or (right is not None and y is None):
            return None
        holds = x % 2 == (relation == "odd") if right is None else RELATIONS[relation](x, y)
        return value(then if holds else otherwise, at, place)
    x = value(parts[0], at, place)
    if x is None:
        return None
    if kind == "negative":
        return place.times(place.number(-1), x)
    if kind == "power":
        base, found = place.inverse(x) if parts[1] < 0 else x, place.one
        if base is None:
            return None
        for bit in f"{abs(parts[1]):b}":
            found = place.times(found, found)
            found = place.times(found, base) if bit == "1" else found
        return found
    y = value(parts[1], at, place)
    y = place.inverse(y) if kind == "quotient" and y is not None else y
    return None if y is None else (place.plus if kind == "sum" else place.times)(x, y)


# --------------------------------------------------------------------------------------------- trees and texts

PRODUCTIONS = (
    "a group by its name", "a group by its table", "a field", "modulo m", "an inverse", "a quotient", "a condition",
    "odd or even", "t", "a number", "a negative", "a sum", "a product", "a word in parentheses", "exponent 0",
    "an exponent of 10^20", "a place at the end", "a place beside it", "one variable", "two variables",
    "three variables", "unknown cells", "no unknown cell", "letters", "numbered names", "a quotient in a condition",
    "a table", "a table with unknown cells", "a table that is known",
)  # fmt: skip


class Case(NamedTuple):
    """A text with where it has its values, and its right answers by numbers of elements, -1 where it has none."""

    kind: str
    text: Any
    given: dict[str, Any]
    sizes: tuple[int, ...]
    answers: list[int]
    used: Counter[str]


def grown(rng: random.Random, place: Place, names: Sequence[int], depth: int) -> Tree:
    ring, kind = place.plus is not None, rng.random()
    if depth == 0 or kind < 0.15:
        if ring and rng.random() < 0.25:
            return ("t",) if place.t is not None and rng.random() < 0.5 else ("number", rng.choice((0, 1, 2, 3, 97)))
        return ("variable", rng.choice(names))

    def part() -> Tree:
        return grown(rng, place, names, depth - 1)

    if kind < 0.3:
        return ("power", part(), rng.choice((-1, -1, -2, -3, 0, 1, 2, 3, 5, 10**20)))
    if kind < 0.42:
        return ("quotient", part(), part())
    if kind < 0.52:
        ordered = place.kind == "modulo m"
        relation = rng.choice((*RELATIONS, "odd", "even") if ordered else ("=", "!="))
        sides = part(), None if relation in ("odd", "even") else part()
        if relation not in ("=", "!="):
            sides = tuple(comparable(side, len(place.elements)) for side in sides)
        return ("if", relation, *sides, part(), part())
    if ring and kind < 0.6:
        return ("negative", part())
    return ("sum" if ring and kind < 0.78 else "product", part(), part())


def comparable(side: Tree | None, order: int) -> Tree | None:
    """A side of a condition: a number that is no residue as it stands, such as 97 or -1, is refused beside <."""
    inner = side
    while inner is not None and inner[0] == "negative":
        inner = inner[1]
    return ("number", inner[1] % order) if inner is not None and inner[0] == "number" else side


def written(tree: Tree, name: Callable[[int], str]) -> str:
    """With parentheses around all that is no atom."""
    kind, *parts = tree

    def of(part: Tree) -> str:
        text = written(part, name)
        return text if part[0] in ("variable", "number", "t") else f"({text})"

    match kind:
        case "variable":
            return name(parts[0])
        case "number":
            return str(parts[0])
        case "t":
            return "t"
        case "power":
            return f"{of(parts[0])}^{parts[1]}"
        case "negative":
            return f"-{of(parts[0])}"
        case "if":
            relation, left, right, then, otherwise = parts
            condition = f"{of(left)} {relation}" if right is None else f"{of(left)} {relation} {of(right)}"
            return f"{of(then)} if {condition} else {of(otherwise)}"
    sign = {"sum": " + ", "quotient": "/", "product": "*" if parts[1][0] == "number" else " "}[kind]
    return of(parts[0]) + sign + of(parts[1])


def nodes(tree: Tree) -> list[Tree]:
    return [tree, *(node for part in tree[1:] if isinstance(part, tuple) for node in nodes(part))]


def random_case(rng: random.Random) -> Case:
    """An expression in some place whose table has a known cell."""
    while True:
        place = rng.choice(PLACES)(rng)
        most = 3 if len(place.elements) <= 8 else 2
        names = range(1, rng.choice((1, 2, 2, 2, most)) + 1)
        tree = grown(rng, place, names, rng.choice((1, 2, 2, 3)))
        names = sorted({node[1] for node in nodes(tree) if node[0] == "variable"}) or [1]
        number = {x: k for k, x in enumerate(place.elements)}
        rows = product(place.elements, repeat=len(names))
        found = [value(tree, dict(zip(names, row, strict=True)), place) for row in rows]
        answers = [-1 if x is None else number[x] for x in found]
        kinds = {node[0] for node in nodes(tree)}
        polynomial = place.kind == "modulo m" and not kinds & {"quotient", "if"} and not any(
            node[0] == "power" and node[2] < 0 for node in nodes(tree))  # fmt: skip
        if max(answers) >= 0 and not polynomial:
            break
    letters = rng.choice(("abc", "xyz", ""))
    text = written(tree, lambda k: letters[k - 1] if letters else f"n{k}")
    behind = bool(place.name) and rng.random() < 0.5
    used = Counter({place.kind, f"{('one', 'two', 'three')[len(names) - 1]} variable{'s' * (len(names) > 1)}"})
    used += Counter(told(tree, answers))
    used["letters" if letters else "numbered names"] += 1
    used["a place at the end" if behind else "a place beside it"] += 1
    sizes = (len(place.elements),) * len(names)
    text = f"{text} {place.name}" if behind else text
    return Case(place.kind, text, {} if behind else place.given, sizes, answers, used)


def random_table(rng: random.Random) -> Case:
    """A table of any shape: noise, or a product in a group with rows, columns and values that were moved; some cells
    are unknown."""
    sizes, values = (rng.randint(2, 7), rng.randint(2, 7)), rng.randint(2, 6)
    rows = [[rng.randrange(values) for _ in range(sizes[1])] for _ in range(sizes[0])]
    if rng.random() < 0.5:
        place = group_place(rng)
        n = len(place.elements)
        sizes, (g1, g2, h) = (n, n), (rng.sample(range(n), n) for _ in range(3))
        number = {x: k for k, x in enumerate(place.elements)}
        rows = [[h[number[place.times(place.elements[a], place.elements[b])]] for b in g2] for a in g1]
    if rng.random() < 0.5:
        rows = [
            [v if rng.random() < 0.8 or not a + b else None for b, v in enumerate(row)] for a, row in enumerate(rows)
        ]
    answers = [-1 if v is None else v for row in rows for v in row]
    used = Counter(["a table", "a table with unknown cells" if min(answers) < 0 else "a table that is known"])
    return Case("a table", rows, {"mod": max(values, *sizes)}, sizes, answers, used)


def told(tree: Tree, answers: Sequence[int]) -> list[str]:
    """Productions that made a tree."""
    words = {"quotient": "a quotient", "if": "a condition", "t": "t", "number": "a number", "negative": "a negative",
             "sum": "a sum", "product": "a product"}  # fmt: skip
    found = [words[node[0]] for node in nodes(tree) if node[0] in words]
    for node in nodes(tree):
        if node[0] == "power":
            found += ["an inverse"] * (node[2] < 0) + ["exponent 0"] * (node[2] == 0)
            found += ["an exponent of 10^20"] * (node[2] == 10**20) + ["a word in parentheses"] * (
                node[1][0] != "variable"
            )
        if node[0] == "if":
            found += ["odd or even"] * (node[3] is None)
            found += ["a quotient in a condition"] * any(part[0] == "quotient" for part in node[2:4] if part)
    return [*found, "unknown cells" if min(answers) < 0 else "no unknown cell"]
