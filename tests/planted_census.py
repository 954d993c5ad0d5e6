"""Censuses without any training: one whose networks obey the loss law, and slices of those that come along."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from modgrok.censuses import store
from modgrok.censuses.annotation import ANNOTATIONS
from modgrok.censuses.families import FAMILIES
from modgrok.censuses.plan import plan_from
from modgrok.experiments.row_store import write_rows

CENSUSES = Path(__file__).parents[1] / "benchmarks" / "census"
MODULI, WIDTHS, FRACTIONS, STEPS = (43, 61, 97), (250, 500), (0.3, 0.5, 0.7), (1000, 1500)


def planted_rows():
    """A census that obeys the law with one curve: accuracy = 1 - r², r = odds over those of random tables."""
    rng, rows, network = np.random.default_rng(0), [], 0
    for modulus in MODULI:
        for width in WIDTHS:
            for fraction in FRACTIONS:
                random_odds = np.exp(
                    0.5 + 2 * np.log(modulus / 61) - np.log(width / 250) + 1.5 * np.log(fraction / 0.5)
                )
                for family in FAMILIES:
                    for seed in range(4):
                        r = 1.0 if family == "random" else rng.random()
                        for steps in STEPS:
                            accuracy = 1 - r**2 + rng.uniform(-0.02, 0.02)
                            odds = r * random_odds * (1 + 0.001 * (steps == 1500))
                            rows.append(
                                planted_row(network, family, seed, modulus, width, fraction, steps)
                                | {
                                    "train_loss": odds / (1 + odds) / modulus,
                                    "test_accuracy": float(np.clip(accuracy, 0, 1)),
                                }
                                | {"redundancy": 0.5 * (1 - r), "orbit_redundancy": 0.0, "permuted_redundancy": 0.0}
                                | {"effective_rank": 0.4 * r, "unfolding_norm": 1.0, "shifts": 1, "scalings": 1}
                                | {"characters": 0.5, "entropy": 5.0}
                                | {"verdict": "in-class" if family == "composed-sum" else "not-in-class"}
                                | {"verdict_family": "additive" if family == "composed-sum" else None}
                            )
                        network += 1
    return pa.Table.from_pylist(rows, schema=pa.unify_schemas([store.ROWS, ANNOTATIONS]))


def planted_row(network, family, seed, modulus, width, fraction, steps):
    names = ("network", "family", "table_seed", "modulus", "width", "fraction", "steps")
    values = dict(zip(names, (network, family, seed, modulus, width, fraction, steps), strict=True))
    return values | {"seed": 0, "learning_rate": 0.005, "weight_decay": 5.0, "train_rows": 1, "expression": None}


def plant(folder: Path) -> Path:
    """Make `folder` the folder of that census."""
    settings = {"moduli": list(MODULI), "widths": list(WIDTHS), "fractions": list(FRACTIONS)}
    plan = plan_from({"steps": list(STEPS), "tables": dict.fromkeys(FAMILIES, 4), "settings": [settings]})
    store.claim(plan, folder)
    write_rows(folder / store.WHOLE, planted_rows())
    return folder


def slice_of(name: str, folder: Path, networks: int) -> None:
    """A folder with the first networks of a census of the repository."""
    folder.mkdir(parents=True)
    shutil.copy(CENSUSES / name / "plan.json", folder)
    rows = pq.read_table(CENSUSES / name / "census.parquet")
    pq.write_table(rows.filter(pc.less(rows["network"], networks)), folder / "census.parquet")
