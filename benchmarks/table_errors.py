"""What the error of `classify` is made of: python benchmarks/table_errors.py [--out FILE]

Of the large census's trainings at the default settings, 3,000 are asked for their neighbours among other tables, as
`classify` does. Errors by family, modulus and expected accuracy; and, where a table was trained with several seeds, how
far one seed's accuracy lies from the mean of the others: no expectation from the table alone can do much better.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from writing import write_found

from modgrok.base.repository import study
from modgrok.censuses import store
from modgrok.censuses.law_check import Columns, columns_of
from modgrok.loss_law.from_table import coordinates, trainings

neighbourhood = study("neighbourhood")

FOLDER = Path(__file__).parent / "census" / "large"
ASKED = 3000
MODULI = ((5, 11), (12, 31), (32, 64), (65, 127))
EXPECTED = ((0.0, 0.1), (0.1, 0.99), (0.99, 1.01))


def seed_distance(census: Columns) -> np.ndarray:
    """How far each accuracy lies from the mean of the other seeds' on the same table and share; NaN without others."""
    keys = [f"{table}|{share:.2f}" for table, share in zip(census["table"], census["fraction"], strict=True)]
    _, place, count = np.unique(keys, return_inverse=True, return_counts=True)
    accuracy, others = census["test_accuracy"], count[place] - 1
    rest = np.bincount(place, accuracy)[place] - accuracy
    return np.where(others > 0, np.abs(accuracy - rest / np.maximum(others, 1)), np.nan)


def errors() -> dict[str, Any]:
    census = neighbourhood.chosen_rows(columns_of(store.read_annotated(FOLDER)))
    law, accuracy = trainings().law, census["test_accuracy"]
    points = coordinates(neighbourhood.table_facts(census)) * np.array(law.scales)
    asked = np.random.default_rng(3).permutation(len(accuracy))[:ASKED]
    tables = np.unique(census["table"], return_inverse=True)[1]
    found = neighbourhood.held_out(points, accuracy, tables, asked)
    asked, told = asked[found.reach <= law.reach], found.median[found.reach <= law.reach]
    missed, distance = np.abs(told - accuracy[asked]), seed_distance(census)[asked]
    family, modulus, seeds = census["family"][asked], census["modulus"][asked], np.isfinite(distance)

    def part(rows: np.ndarray) -> dict[str, float]:
        return {"share_of_trainings": float(rows.mean()), "error": float(missed[rows].mean())}

    return {
        "made_by": "python benchmarks/table_errors.py",
        "error": float(missed.mean()),
        "several_seeds": part(seeds) | {"distance_to_other_seeds": float(distance[seeds].mean())},
        "moduli": {f"{low} to {high}": part((modulus >= low) & (modulus <= high)) for low, high in MODULI},
        "expected": {f"{low:g} to {min(high, 1):g}": part((told >= low) & (told < high)) for low, high in EXPECTED},
        "families": {str(name): part(family == name) for name in sorted(set(family.tolist()))},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "table_errors.json")
    args = parser.parse_args()
    found = errors()
    write_found(__file__, args.out, found, args, read=(FOLDER / store.WHOLE,))
    print(found)


if __name__ == "__main__":
    main()
