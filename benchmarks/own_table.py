"""A table that is no polynomial: h(g1(n1) + g2(n2)) over Z_53, 30 × 40 → 17, trained from a CSV file.

    python benchmarks/own_table.py

prints the table of docs/tables.md: the share of the cells that the network saw and what it says of all others.
"""

from __future__ import annotations

import csv
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import modgrok as mg

ROWS, COLUMNS, VALUES, GROUP = 30, 40, 17, 53
SHARES, SEEDS = (0.5, 0.6, 0.7, 0.8, 0.9), 3


def disguised_sum(seed: int) -> np.ndarray:
    """h(g1 + g2) for random relabellings: g1 and g2 take different places, h every value."""
    rng = np.random.default_rng(seed)
    g1, g2 = rng.permutation(GROUP)[:ROWS], rng.permutation(GROUP)[:COLUMNS]
    h = rng.permutation(np.arange(GROUP) % VALUES)
    return np.array([[h[(a + b) % GROUP] for b in g2] for a in g1])


def accuracy_on_the_rest(table: np.ndarray, share: float, seed: int, folder: Path) -> float:
    """Write the table with a share of its cells, train on all of these, and look at the others."""
    hidden = np.random.default_rng([seed, 1]).permutation(table.size)[round(share * table.size) :]
    cells = table.astype(object)
    cells.reshape(-1)[hidden] = ""
    with open(folder / "mine.csv", "w", newline="") as file:
        csv.writer(file).writerows(cells.tolist())
    run = mg.train(folder / "mine.csv", fraction=1.0, seed=seed, metrics_every=1000)
    return float((run.network.table() == table).reshape(-1)[hidden].mean())


def main() -> None:
    print("| cells in the file | right in the cells that are empty there |\n|---|---|")
    for share in SHARES:
        with TemporaryDirectory() as folder:
            found = [accuracy_on_the_rest(disguised_sum(seed), share, seed, Path(folder)) for seed in range(SEEDS)]
        print(f"| {100 * share:.0f} % | {', '.join(f'{100 * right:.1f} %' for right in found)} |", flush=True)


if __name__ == "__main__":
    main()
