"""Has a square table a value-preserving symmetry that is one cycle on rows and one on columns? By exhaustion.

Plain Python; classes are told apart by the exact multisets that their lines meet, with no hashing of contents.
"""

from __future__ import annotations

from collections.abc import Iterator

from modgrok.proofs.claims import Work
from modgrok.proofs.proof import TooMuchWork

Colours = tuple[list[int], list[int]]
"""Colours of the rows and of the columns."""

Rows = list[tuple[int, ...]]
DEEPEST = 300
"""Lines that are fixed one after the other: a true claim needs few."""


def has_cyclic_automorphism(rows: Rows, work: Work) -> bool:
    """Adding 1 takes row 0 to some row; if the order is a prime, some multiple of it takes row 0 to row 1."""
    m = len(rows)
    columns: Rows = list(zip(*rows, strict=True))
    prime = all(m % d for d in range(2, m))
    for target in [1] if prime else range(1, m):
        left, right = [0] * m, [0] * m
        left[0] = right[target] = 1
        refined = refine(rows, columns, (left, [0] * m), (right, [0] * m), work)
        if refined and any(one_cycle(a) and one_cycle(b) for a, b in symmetries(rows, columns, *refined, work)):
            return True
    return False


def refine(rows: Rows, columns: Rows, left: Colours, right: Colours, work: Work) -> tuple[Colours, Colours] | None:
    """Split classes by what their lines meet, on both sides alike, until nothing splits; None if the sides differ."""
    while True:
        work.spend(12 * len(rows) * len(columns))
        names: dict[tuple[object, ...], int] = {}
        finer = []
        for row_colour, column_colour in (left, right):
            new_rows = [
                names.setdefault((0, old, *sorted(zip(line, column_colour, strict=True))), len(names))
                for old, line in zip(row_colour, rows, strict=True)
            ]
            new_columns = [
                names.setdefault((1, old, *sorted(zip(line, new_rows, strict=True))), len(names))
                for old, line in zip(column_colour, columns, strict=True)
            ]
            finer.append((new_rows, new_columns))
        if any(sorted(a) != sorted(b) for a, b in zip(*finer, strict=True)):
            return None
        stable = all(len(set(new)) == len(set(old)) for new, old in zip(finer[0], left, strict=True))
        left, right = finer
        if stable:
            return left, right


def symmetries(
    rows: Rows, columns: Rows, left: Colours, right: Colours, work: Work, depth: int = 0
) -> Iterator[tuple[list[int], list[int]]]:
    """Every symmetry that takes the left colours to the right ones, as images of rows and of columns."""
    if depth > DEEPEST:
        raise TooMuchWork("its symmetries would take too long to enumerate")
    work.spend(len(left[0]))
    classes: dict[int, list[int]] = {}
    for a, colour in enumerate(left[0]):
        classes.setdefault(colour, []).append(a)
    split = [colour for colour, members in classes.items() if len(members) > 1]
    if not split:
        row_image = [right[0].index(colour) for colour in left[0]]
        column_image = images_of_columns(rows, columns, row_image)
        if column_image is not None:
            yield row_image, column_image
        return
    colour = min(split, key=lambda c: len(classes[c]))
    for target in [a for a, c in enumerate(right[0]) if c == colour]:
        new_left, new_right = list(left[0]), list(right[0])
        new_left[classes[colour][0]] = new_right[target] = -1
        refined = refine(rows, columns, (new_left, left[1]), (new_right, right[1]), work)
        if refined:
            yield from symmetries(rows, columns, *refined, work, depth + 1)


def images_of_columns(rows: Rows, columns: Rows, row_image: list[int]) -> list[int] | None:
    """Where the columns must go once the rows are moved; None if one of them has nowhere to go."""
    place = {column: b for b, column in enumerate(columns)}
    back = [0] * len(rows)
    for a, image in enumerate(row_image):
        back[image] = a
    found = [place.get(tuple(column[back[a]] for a in range(len(rows)))) for column in columns]
    return None if None in found else [b for b in found if b is not None]


def one_cycle(image: list[int]) -> bool:
    k, length = image[0], 1
    while k != 0:
        k, length = image[k], length + 1
    return length == len(image)
