"""The strong hypothesis: does the classification hold for other architectures, losses, optimisers and regularisers?

The paper conjectures that any standard network reaches 100 % test accuracy on h(g1(n1) + g2(n2)). Here every setting
is trained on the polynomials of Table 2, on two controls (the sum and the product), and on four polynomials that are
in no family although the paper's own network learns them. A setting is tried with several learning rates and weight
decays; those that learn the controls count (`strong_result`). What then contradicts the conjecture is looked at again,
with ten times the steps, and with more of the table too.

Rows are stored as soon as a setting is done, so an interrupted run goes on where it stopped.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

import jax
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from modgrok.errors import InputError
from modgrok.figures.strong import strong_figure
from modgrok.figures.style import Figure
from modgrok.files import whole_file
from modgrok.inspection.order import function_order
from modgrok.progress import Progress
from modgrok.reproduction.item import Effort, ItemResult, Summary, Values
from modgrok.reproduction.strong_result import CONTROLS, contradictions, result_of, summaries
from modgrok.reproduction.table2 import PUBLISHED
from modgrok.training.config import TrainConfig, hyper
from modgrok.training.data import function_table, train_count
from modgrok.training.ensemble import train_ensemble
from modgrok.training.steps import Metrics

TABLE2 = tuple(dict.fromkeys(row.polynomial for row in PUBLISHED))
LEARNED_OUTSIDE = (
    "8n1^5 n2 + 34n1^9 n2^5",
    "95n1^9 n2^7 + 30n1^11 n2^5",
    "55n1^12 n2^12 + 68n1 n2^3",
    "8n1^12 n2^12 + 29n1^2 n2^4",
)
"""In no family modulo 97, and still learned by the paper's network from half of the table."""

POLYNOMIALS = {97: (*CONTROLS, *TABLE2, *LEARNED_OUTSIDE), 23: (*CONTROLS, *TABLE2)}

MSE = {"loss": "mse", "learning_rate": 0.005, "weight_decay": 5.0}
FASTER = {"learning_rate": 0.02, "weight_decay": 0.3}
SQUARE = {"loss": "mse", "learning_rate": 0.005, "weight_decay": 1.0}

SETTINGS: dict[str, dict[str, Any]] = {
    "x², MSE, AdamW": {},
    "x², cross-entropy, AdamW": {"loss": "cross-entropy", "weight_decay": 1.0},
    "x², MSE, SGD": {"optimiser": "sgd"},
    "x², MSE, Muon": {"optimiser": "muon"},
    "x², MSE, Adam": {"optimiser": "adam"},
    "x², MSE, Adam, dropout": {"optimiser": "adam", "dropout": 0.3},
    "MLP 3 ReLU, cross-entropy, AdamW": {"model": "mlp"},
    "MLP 2 ReLU, MSE, AdamW": {"model": "mlp", "depth": 2} | MSE,
    "MLP 3 x², MSE, AdamW, LayerNorm": {"model": "mlp", "activation": "square", "norm": "layer"} | SQUARE,
    "MLP 3 ReLU, cross-entropy, AdamW, dropout": {"model": "mlp", "dropout": 0.2},
    "MLP 3 ReLU, cross-entropy, AdamW, LayerNorm": {"model": "mlp", "norm": "layer"},
    "MLP 3 GELU, cross-entropy, AdamW, BatchNorm": {"model": "mlp", "activation": "gelu", "norm": "batch"},
    "MLP 3 ReLU, cross-entropy, Muon": {"model": "mlp", "optimiser": "muon", "weight_decay": 0.5},
    "MLP 4 GELU, cross-entropy, AdamW, LayerNorm": {"model": "mlp", "activation": "gelu", "depth": 4, "norm": "layer"},
    "transformer 1, cross-entropy, AdamW": {"model": "transformer", "steps": 2000},
    "transformer 1, cross-entropy, Muon, LayerNorm": {"model": "transformer", "optimiser": "muon"} | FASTER,
    "transformer 1, MSE, AdamW, LayerNorm": {"model": "transformer", "norm": "layer", "loss": "mse", "steps": 2000},
    "transformer 1, cross-entropy, AdamW, dropout": {"model": "transformer", "dropout": 0.1, "steps": 2000},
    "transformer 2, cross-entropy, AdamW": {"model": "transformer", "depth": 2, "steps": 2000, "learning_rate": 0.0015},
}
"""Each setting, and what it has in place of its model's and optimiser's defaults."""

QUICK = ("x², MSE, AdamW", "MLP 2 ReLU, MSE, AdamW")
FACTORS = ((1.0, 1.0), (1.0, 0.4), (0.5, 2.0))
"""(learning rate, weight decay) of the variants of a setting, in units of its own."""

FRACTION, MORE = 0.5, 0.8
"""Share of the table to train on; and the larger one at the second look."""

LONGER = 10
"""How many times the steps a second look takes."""

THREADS = 3
"""Settings that are under way together: one compiles while another has the device."""

KEYS = ("setting", "modulus", "polynomial", "seed", "fraction", "learning_rate", "weight_decay", "steps", "width")
MEASURED = ("train_loss", "test_loss", "train_accuracy", "test_accuracy")

Rows = list[Values]


class Group(NamedTuple):
    """One ensemble: a setting in several variants (learning rate, weight decay), on some polynomials."""

    setting: str
    config: TrainConfig
    seeds: int
    polynomials: tuple[str, ...]
    variants: tuple[tuple[float, float], ...]
    fractions: tuple[float, ...] = (FRACTION,)

    def rows(self) -> Rows:
        """The networks, as far as they are known before training."""
        return [
            {
                "setting": self.setting,
                "modulus": self.config.modulus,
                "polynomial": polynomial,
                "seed": seed,
                "fraction": fraction,
                "learning_rate": rate,
                "weight_decay": decay,
                "steps": self.config.steps,
                "width": self.config.width,
            }
            for rate, decay in self.variants
            for fraction in self.fractions
            for polynomial in self.polynomials
            for seed in range(self.seeds)
        ]


def groups(*, quick: bool) -> list[Group]:
    """All ensembles; modulo 97 first."""
    small = {"width": 256} if quick else {}
    return [
        first_look(name, TrainConfig(CONTROLS[0], modulus, **(SETTINGS[name] | small)), 1 if quick else 2)
        for modulus in ((23,) if quick else (97, 23))
        for name in (QUICK if quick else SETTINGS)
    ]


def first_look(name: str, config: TrainConfig, seeds: int) -> Group:
    variants = dict.fromkeys((config.learning_rate * rate, config.weight_decay * decay) for rate, decay in FACTORS)
    return Group(name, config, seeds, POLYNOMIALS[config.modulus], tuple(variants))


def second_looks(wanted: list[Group], rows: Rows) -> list[Group]:
    """For each setting with contradictions: these polynomials again, for longer, in the variant that did best."""
    found = {(setting["setting"], setting["modulus"]): contradictions(setting) for setting in summaries(rows)}
    again = []
    for group in wanted:
        cells = found.get((group.setting, group.config.modulus), [])
        if cells:
            longer = replace(group.config, steps=LONGER * group.config.steps)
            best = max(cells, key=lambda cell: cell["accuracy"])
            variant = (best["learning_rate"], best["weight_decay"])
            polynomials = tuple(cell["polynomial"] for cell in cells)
            again.append(Group(group.setting, longer, group.seeds, polynomials, (variant,), (FRACTION, MORE)))
    return again


def train_group(group: Group) -> Rows:
    """Train the networks of a group and add what was measured at the end to their rows."""
    start, rows = time.perf_counter(), group.rows()
    shape, *_ = replace(group.config, fraction=max(group.fractions)).task()
    modulus = group.config.modulus
    tables = {text: function_table(text, modulus)[0] for text in group.polynomials}
    orders = [function_order(row["polynomial"], modulus) for row in rows]
    columns = {name: np.array([row[name] for row in rows]) for name in ("seed", "learning_rate", "weight_decay")}
    fixed = {name: getattr(group.config, name) for name in ("beta1", "beta2", "eps", "init_scale")}
    metrics: Metrics
    metrics, _ = train_ensemble(
        shape,
        hyper(train_rows=np.array([train_count(row["fraction"], shape.rows) for row in rows]), **columns, **fixed),
        np.stack([tables[row["polynomial"]] for row in rows]),
        steps=group.config.steps,
        orders=orders,
    )
    seconds = time.perf_counter() - start
    measured = [{name: float(getattr(metrics, name)[k, -1]) for name in MEASURED} for k in range(len(rows))]
    about = {"seconds": seconds, "device": jax.devices()[0].device_kind}
    return [row | found | about for row, found in zip(rows, measured, strict=True)]


def train_missing(
    wanted: list[Group],
    store: Path | None,
    *,
    end: float | None = None,
    progress: Progress = lambda done, total: None,
) -> Rows:
    """The rows of all groups that are stored or could be trained; none is begun after `end` (of `perf_counter`)."""
    stored = read_rows(store) if store else []
    trained = {key(row) for row in stored}
    missing = [group for group in wanted if not trained >= {key(row) for row in group.rows()}]
    done, lock = len(wanted) - len(missing), Lock()

    def train(group: Group) -> None:
        nonlocal done
        if end is not None and time.perf_counter() > end:
            return
        rows = train_group(group)
        with lock:
            stored.extend(rows)
            if store:
                write_rows(store, stored)
            done += 1
            progress(done, len(wanted))

    with ThreadPoolExecutor(THREADS) as pool:
        futures = [pool.submit(train, group) for group in missing]
    for future in futures:
        future.result()
    known = {key(row): row for row in stored}
    planned = [key(row) for group in wanted for row in group.rows()]
    return [known[name] for name in planned if name in known]


def key(row: Values) -> tuple[Any, ...]:
    return tuple(row[name] for name in KEYS)


def read_rows(path: Path) -> Rows:
    return pq.read_table(path).to_pylist() if path.exists() else []


def write_rows(path: Path, rows: Rows) -> None:
    with whole_file(path) as temporary:
        pq.write_table(pa.Table.from_pylist(rows), temporary)


def compute(effort: Effort) -> ItemResult:
    """Every setting, or a few of them modulo 23; rows that are stored in the effort's folder are not trained again."""
    if not (effort.quick or effort.everything):
        effort.say("strong: a few settings modulo 23, since there is no GPU; --full trains them all, for hours")
    name = "strong.parquet" if effort.everything else "strong-quick.parquet"
    store = effort.folder / name if effort.folder else None
    end = None if effort.time_limit is None else time.perf_counter() + effort.time_limit
    wanted = groups(quick=not effort.everything)
    rows = train_missing(wanted, store, end=end, progress=effort.progress)
    if effort.everything:
        rows += train_missing(second_looks(wanted, rows), store, end=end, progress=effort.progress)
    if not rows:
        raise InputError(f"no setting was trained within {effort.time_limit:g} seconds; give a longer --time-limit")
    return result_of(rows)


def summarise(result: ItemResult) -> Summary:
    measured = result.measured
    inside, against = measured["cells_in_class"], measured["contradictions"]
    return Summary(
        "every standard network reaches 100 % on h(g1 + g2)",
        f"learned {inside - against} of {inside} times, in {measured['settings_that_learn_the_controls']} settings "
        "that learn n1 + n2 and n1 n2",
        f"{measured['networks']:,} networks; {against} times a polynomial of the form is not learned where both "
        "controls are"
        if inside
        else "no setting was strong enough to tell",
    )


def figures(result: ItemResult) -> dict[str, Figure]:
    return {"strong": strong_figure(result.rows)}
