"""Does `classify` keep its word about kinds that came later? python benchmarks/fresh_questions.py

Sixty questions about tables of six kinds, two seeds each, asked and trained as those of `questions.py`. The kinds were
thought of after the law and all that was looked at for it, and nothing was changed after the answers.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.random import Generator
from question_kinds import QUESTION_KINDS, Table, sides
from questions import Row, answered, in_lots, summary, trained
from writing import write_found

RESULTS = Path(__file__).parent / "results" / "questions-fresh.json"
DRAW, COUNT, SEEDS = 20270, 60, (0, 1)
SIDES = (14, 19, 27, 34, 41, 46)


def shuffles(n: int, rng: Generator) -> Table:
    """The bits of a say which of a few permutations are applied to b, one after another."""
    bits = max(1, (n - 1).bit_length())
    cut = n // 2
    riffle = np.argsort(np.concatenate([np.arange(cut) * 2, np.arange(n - cut) * 2 + 1]), kind="stable")
    pool = [np.roll(np.arange(n), int(rng.integers(1, n))), np.arange(n)[::-1], riffle, rng.permutation(n)]
    used = [pool[int(rng.integers(4))] for _ in range(bits)]
    rows = []
    for a in range(n):
        now = np.arange(n)
        for k in range(bits):
            now = used[k][now] if a >> k & 1 else now
        rows.append(now)
    return np.stack(rows)


def roots(n: int, rng: Generator) -> Table:
    """The least root of c x² + a x + b modulo n, n - 1 where there is none; or the number of roots."""
    c, count = int(rng.integers(1, n)), rng.integers(2)
    a, b, x = np.indices((n, n, n))
    zero = (c * x * x + a * x + b) % n == 0
    return zero.sum(axis=2) % n if count else np.where(zero.any(axis=2), zero.argmax(axis=2), n - 1)


def words(n: int, rng: Generator) -> Table:
    """How many letters of two random words are equal, perhaps with a added, or how many edits lead to the other."""
    letters, length = int(rng.integers(2, 5)), int(rng.integers(4, 9))
    texts = rng.integers(0, letters, (n, length))
    differ = texts[:, None, :, None] != texts[None, :, None, :]
    if rng.integers(2):
        same = length - np.einsum("abkk->ab", differ.astype(np.int64))
        return (same + (np.arange(n)[:, None] if rng.integers(2) else 0)) % n
    edits = np.broadcast_to(np.arange(length + 1), (n, n, length + 1))
    for k in range(length):
        row = [np.full((n, n), k + 1)]
        for m in range(length):
            row.append(np.minimum(np.minimum(edits[..., m + 1], row[m]) + 1, edits[..., m] + differ[:, :, k, m]))
        edits = np.stack(row, axis=2)
    return edits[..., -1] % n


def duel(n: int, rng: Generator) -> Table:
    """Stone, scissors, paper among n: who is less than half a ring ahead wins; the winner, by how much, or a + b."""
    a, b = sides(n)
    ring = rng.permutation(n) if rng.integers(2) else np.arange(n)
    ahead = (ring[a] - ring[b]) % n
    won = ahead * 2 < n
    outcomes = [np.where(won, a, b), np.where(won, ahead, n - ahead) % n, np.where(won, a, (a + b) % n)]
    return outcomes[rng.integers(3)]


def by_angle(n: int, rng: Generator) -> Table:
    """Random points of the plane in their order from the angle a: the b-th of them, or the place of b."""
    points = rng.standard_normal((n, 2))
    angle = np.linspace(0, float(rng.choice([np.pi / 2, np.pi, 2 * np.pi])), n)
    order = np.argsort(np.cos(angle)[:, None] * points[:, 0] + np.sin(angle)[:, None] * points[:, 1], axis=1)
    return order if rng.integers(2) else np.argsort(order, axis=1)


def coins(n: int, rng: Generator) -> Table:
    """How many coins of the first b kinds pay a at least, n - 1 where none do, or in how many ways they can."""
    kinds = np.sort(rng.choice(np.arange(1, n), n - 1, replace=False))
    kinds = kinds if rng.integers(2) else rng.permutation(kinds)
    fewest = rng.integers(2)
    now, columns = np.full(n, (n - 1) * fewest), []
    now[0] = 1 - fewest
    for coin in (*kinds, n):
        columns.append(now.copy())
        for a in range(coin, n):
            now[a] = min(now[a], now[a - coin] + 1) if fewest else (now[a] + now[a - coin]) % n
    return np.stack(columns, axis=1) % n


FRESH: dict[str, Callable[[int, Generator], Table]] = {
    "shuffles": shuffles,
    "roots": roots,
    "words": words,
    "duel": duel,
    "by-angle": by_angle,
    "coins": coins,
}
QUESTION_KINDS.update(FRESH)


def asked(number: int) -> Row:
    """Question `number`: each kind in its turn, and each kind on every side."""
    rng = np.random.default_rng([DRAW, number])
    kind, modulus = list(FRESH)[number % len(FRESH)], SIDES[(number + number // len(FRESH)) % len(SIDES)]
    fraction = round(rng.uniform(0.1, 0.9), 3)
    return {"draw": DRAW, "number": number, "kind": kind, "modulus": modulus, "fraction": fraction}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=RESULTS)
    args = parser.parse_args()
    rows = [answered(asked(number)) for number in range(COUNT)]
    done: list[Row] = []
    for lot in in_lots(rows):
        done += trained(lot, seeds=SEEDS)
        print(f"{len(done)} questions trained, now modulo {lot[0]['modulus']}", flush=True)
    done.sort(key=lambda row: row["number"])
    by_kind = {kind: summary([row for row in done if row["kind"] == kind]) for kind in FRESH}
    found = {"made_by": "python benchmarks/fresh_questions.py", "all": summary(done), "kinds": by_kind, "rows": done}
    write_found(__file__, args.out, found, args)
    print(found["all"])


if __name__ == "__main__":
    main()
