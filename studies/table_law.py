"""Fit `loss_law.from_table`: what networks learn of a table, from numbers of the table and the share.

    python -m studies.table_law [--out DIR] [--results FILE]

The trainings are those of the censuses at the default settings, on the tables and shares of which
`benchmarks/census_measures.py` knows how far they complete themselves. There are as many members as partitions times
folds: each is fitted without one fold of the kinds of tables, so every training is judged by members that have not
seen its kind, one of each partition; intervals, reach and errors by kinds come from those. A second fit without folds
of the tables gives the errors on tables held out, and nothing else.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pyarrow.parquet as pq

from modgrok.base.files import write_json
from modgrok.base.provenance import KEY, of_script
from modgrok.base.results import plain
from modgrok.base.stores import write_tensors
from modgrok.loss_law.expectation import INTERVAL
from modgrok.loss_law.from_table import FILE, MODEL_NAMES, ModelLaw, TableFacts, TableLaw, forward, inputs, told
from modgrok.training.presets import preset

ROOT = Path(__file__).parent.parent
CENSUS = ROOT / "benchmarks" / "census"
MODEL_OF = {
    "kinds": "power",
    "other-kinds": "power",
    "large": "power",
    "kinds-mlp": "mlp",
    "kinds-transformer": "transformer",
}
SHARE = ("family", "modulus", "table_seed", "fraction")
LEVELS = np.array([INTERVAL[0], 0.5, INTERVAL[1]])
PARTITIONS, FOLDS = 4, 6
WIDTH, STEPS, BATCH, RATE, DECAY = 64, 5000, 2048, 4e-3, 1e-3
WEIGHT = {"power": 1.0, "mlp": 3.0, "transformer": 3.0}
"""How much a training counts: there are far fewer of the other architectures."""
COVERED, FARTHEST = 0.93, 0.995
"""The share of held-out trainings in their intervals, all kinds counted alike, and of all trainings within reach. It is
more than nine in ten, since a kind that nobody thought of lies further off than one of a census that was left out."""

Values = dict[str, np.ndarray]


@dataclass(frozen=True)
class Data:
    """Trainings as rows: where each comes from, what is known of its table, and the test accuracy that it reached."""

    about: Values
    facts: TableFacts
    reached: np.ndarray

    def of(self, rows: np.ndarray) -> Data:
        return Data({k: v[rows] for k, v in self.about.items()}, facts_at(self.facts, rows), self.reached[rows])

    def asked(self) -> np.ndarray:
        """What the members see, by each row's own model."""
        by_model = {model: inputs(self.facts, model) for model in MODEL_NAMES}
        return np.asarray(sum(by_model[m] * (self.about["model"] == m)[:, None] for m in MODEL_NAMES))


def facts_at(facts: TableFacts, rows: np.ndarray) -> TableFacts:
    return TableFacts(*(np.asarray(column)[rows] for column in facts))


# ------------------------------------------------------------------------------------------------ the trainings


def trainings() -> Data:
    """All trainings at default settings whose tables were measured."""
    measured = {place(row): row for row in pq.read_table(CENSUS / "completions.parquet").to_pylist() if known(row)}
    rows = [
        (row, measured[place(row)], census)
        for census in MODEL_OF
        for row in default_rows(census)
        if place(row) in measured
    ]
    asked = [found for _, found, _ in rows]
    facts = {name: np.array([found.get(name, np.nan) for found in asked], float) for name in TableFacts._fields}
    facts["side"] = np.array([found["modulus"] for found in asked], float)
    facts["variety"] = np.array([found["entropy"] for found in asked]) / np.log2(facts["side"])
    about = {
        "census": np.array([census for *_, census in rows]),
        "model": np.array([MODEL_OF[census] for *_, census in rows]),
        "kind": np.array([row["family"] for row, *_ in rows]),
        "table": np.array(["/".join(map(str, place(row)[:3])) for row, *_ in rows]),
    }
    return Data(about, TableFacts(**facts), np.array([row["test_accuracy"] for row, *_ in rows], float))


def default_rows(census: str) -> list[dict[str, Any]]:
    """The trainings of a census at the settings that its model has by default, after as many steps, with test rows."""
    settings = preset(MODEL_OF[census], "adamw")
    table = pq.read_table(CENSUS / census / "census.parquet", columns=[*SHARE, "test_accuracy", *DEFAULT])
    columns = {name: np.asarray(table[name]) for name in DEFAULT}
    rows = np.asarray(table["fraction"]) < 1
    for name, values in columns.items():
        rows &= np.isclose(values.astype(float), settings[name])
    return list(table.filter(rows).to_pylist())


DEFAULT = ("steps", "width", "learning_rate", "weight_decay")


def place(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return (row["family"], row["modulus"], row["table_seed"], round(row["fraction"], 4))


def known(row: Mapping[str, Any]) -> bool:
    return all(row.get(name) is not None for name in ("completion", "vote", "redundancy", "entropy"))


# ------------------------------------------------------------------------------------------------ the fit


def folds(groups: np.ndarray, seed: int) -> np.ndarray:
    """The fold of each row: rows of one group share it."""
    _, own = np.unique(groups, return_inverse=True)
    order = np.random.default_rng(seed).permutation(own.max() + 1)
    return np.asarray(order[own] % FOLDS)


def left_out(groups: np.ndarray) -> np.ndarray:
    """For each member, which rows it is not fitted to."""
    return np.stack([folds(groups, seed) == k for seed in range(PARTITIONS) for k in range(FOLDS)])


def first_weights(count: int, width: int, key: jax.Array) -> dict[str, jax.Array]:
    sizes = {"1": (count, width), "2": (width, width), "3": (width, 3)}
    keys = dict(zip(sizes, jax.random.split(key, len(sizes)), strict=True))
    matrices = {f"w{k}": jax.random.normal(keys[k], size) / np.sqrt(size[0]) for k, size in sizes.items()}
    return matrices | {f"b{k}": jnp.zeros(size[1]) for k, size in sizes.items()}


def pinball(weights: Mapping[str, jax.Array], x: jax.Array, reached: jax.Array, counts: jax.Array) -> jax.Array:
    """The loss of which the quantiles are the least."""
    short = reached[:, None] - forward(weights, x, jnp)
    levels = jnp.asarray(LEVELS, short.dtype)[None]
    losses = jnp.maximum(levels * short, (levels - 1) * short).sum(axis=1)
    return (losses * counts).sum() / counts.sum()


def fitted(data: Data, without: np.ndarray, made_by: str) -> TableLaw:
    """Members that were each fitted without some rows, all of them side by side."""
    asked = data.asked()
    centre, scale = asked.mean(axis=0), np.maximum(asked.std(axis=0), 1e-6)
    x, reached = jnp.asarray((asked - centre) / scale, jnp.float32), jnp.asarray(data.reached, jnp.float32)
    counts = jnp.asarray([WEIGHT[model] for model in data.about["model"]], jnp.float32)
    chances = jnp.log(jnp.asarray(~without, jnp.float32))
    schedule = optax.cosine_decay_schedule(RATE, STEPS)
    optimiser = optax.adamw(schedule, weight_decay=DECAY)

    def member(key: jax.Array, own: jax.Array) -> dict[str, jax.Array]:
        first, drawn = jax.random.split(key)
        weights = first_weights(x.shape[1], WIDTH, first)
        cumulative = jnp.cumsum(jnp.exp(own))

        def step(state: tuple[Any, Any], number: jax.Array) -> tuple[tuple[Any, Any], None]:
            weights, moments = state
            uniform = jax.random.uniform(jax.random.fold_in(drawn, number), (BATCH,))
            rows = jnp.clip(jnp.searchsorted(cumulative, uniform * cumulative[-1], side="right"), 0, len(x) - 1)
            gradient = jax.grad(pinball)(weights, x[rows], reached[rows], counts[rows])
            change, moments = optimiser.update(gradient, moments, weights)
            return (optax.apply_updates(weights, change), moments), None

        (weights, _), _ = jax.lax.scan(step, (weights, optimiser.init(weights)), jnp.arange(STEPS))
        return weights

    keys = jax.random.split(jax.random.key(0), len(without))
    weights = {name: np.asarray(tensor) for name, tensor in jax.jit(jax.vmap(member))(keys, chances).items()}
    sides, shares = np.asarray(data.facts.side), np.asarray(data.facts.fraction)
    models = {
        model: ModelLaw(0, preset(model, "adamw")["steps"], 0.0, 1.0, {}, {})
        for model in MODEL_NAMES
        if model in data.about["model"]
    }
    return TableLaw(
        made_by,
        (int(sides.min()), int(sides.max())),
        (float(shares.min()), float(shares.max())),
        models,
        centre.astype(np.float32),
        scale.astype(np.float32),
        weights,
    )


def of_members(law: TableLaw, which: np.ndarray) -> TableLaw:
    """The law of some members alone."""
    return replace(law, weights={name: tensor[which] for name, tensor in law.weights.items()})


def judged(law: TableLaw, data: Data, without: np.ndarray) -> np.ndarray:
    """Of each training what is told by the members that were fitted without it: low, median, high, how far apart."""
    found = np.zeros((4, len(data.reached)))
    for members_of in np.unique(without, axis=1).T:  # rows that the same members have not seen
        rows = np.flatnonzero((without == members_of[:, None]).all(axis=0))
        some, one = data.of(rows), of_members(law, members_of)
        for model in law.models:
            own = some.about["model"] == model
            found[:, rows[own]] = told(one, facts_at(some.facts, own), model)
    return found


def with_intervals(law: TableLaw, data: Data, found: np.ndarray) -> TableLaw:
    """The law with how far intervals move out, and from where on there is no number, for each architecture."""
    models = {}
    for model, one in law.models.items():
        own = data.about["model"] == model
        low, _, high, apart = found[:, own]
        missed = np.maximum(low - data.reached[own], data.reached[own] - high)
        needed = np.where(missed > 0, missed / np.maximum(apart, 1e-6), 0.0)
        _, kind, count = np.unique(data.about["kind"][own], return_inverse=True, return_counts=True)
        order = np.argsort(needed)
        counted = np.cumsum(1 / count[kind][order]) / len(count)  # each kind as much as another
        widened, reach = needed[order][np.searchsorted(counted, COVERED)], np.quantile(apart, FARTHEST)
        models[model] = replace(one, networks=int(own.sum()), widened=rounded(widened), reach=rounded(reach))
    return replace(law, models=models)


def rounded(number: float) -> float:
    return float(f"{number:.4g}")


@dataclass(frozen=True)
class Errors:
    """How trainings that were held out stand to what is told of them."""

    trainings: int
    error: float
    bias: float
    coverage: float
    width: float
    completion_alone: float


def errors(data: Data, found: np.ndarray, rows: np.ndarray) -> Errors:
    low, value, high, _ = found[:, rows]
    reached = data.reached[rows]
    alone = np.abs(np.asarray(data.facts.completion)[rows] - reached)
    return Errors(
        int(rows.sum()),
        rounded(np.abs(value - reached).mean()),
        rounded((value - reached).mean()),
        rounded(((reached >= low - 1e-9) & (reached <= high + 1e-9)).mean()),
        rounded((high - low).mean()),
        rounded(alone.mean()),
    )


def by(data: Data, found: np.ndarray, name: str) -> dict[str, dict[str, Errors]]:
    """Errors of each architecture, for each value of a column."""
    columns = {**data.about, "side": np.asarray(data.facts.side).astype(int)}[name]
    return {
        model: {str(value): errors(data, found, own & (columns == value)) for value in np.unique(columns[own]).tolist()}
        for model in MODEL_NAMES
        if (own := data.about["model"] == model).any()
    }


def as_in_the_census(data: Data, found: np.ndarray) -> float:
    """The error on the large census, of which a sample was measured that has more of the small moduli than it has."""
    every = pq.read_table(CENSUS / "large" / "census.parquet", columns=["modulus", "width", "fraction"])
    wanted = (np.asarray(every["width"]) == preset("power", "adamw")["width"]) & (np.asarray(every["fraction"]) < 1)
    sides, counts = np.unique(np.asarray(every["modulus"])[wanted], return_counts=True)
    own = data.about["census"] == "large"
    missed, side = np.abs(found[1] - data.reached)[own], np.asarray(data.facts.side)[own]
    means = {n: missed[side == n].mean() for n in np.unique(side)}
    weights = {n: c for n, c in zip(sides.tolist(), counts.tolist(), strict=True) if n in means}
    return rounded(sum(means[n] * c for n, c in weights.items()) / sum(weights.values()))


def seed_distance() -> float:
    """How far a training of the large census lies from the mean of the others on the same table and share, where it has
    several seeds: what no law of tables can tell."""
    places = [place(row) for row in default_rows("large")]
    reached = np.array([row["test_accuracy"] for row in default_rows("large")])
    _, own, count = np.unique(["/".join(map(str, each)) for each in places], return_inverse=True, return_counts=True)
    others = count[own] - 1
    rest = (np.bincount(own, reached)[own] - reached)[others > 0] / others[others > 0]
    return rounded(np.abs(reached[others > 0] - rest).mean())


def beside_x2() -> dict[str, dict[str, dict[str, float]]]:
    """How much more of the unseen cells the other architectures get right than x² networks on the same table and share:
    on tables that are symmetric in both variables and on others, and by kinds."""
    tables = pq.read_table(CENSUS / "tables.parquet", columns=[*SHARE[:3], "symmetric"]).to_pylist()
    symmetric = {tuple(row.values())[:3]: row["symmetric"] for row in tables}
    reached = {census: mean_by_place(census) for census in ("kinds", "kinds-mlp", "kinds-transformer")}
    found = {}
    for census in ("kinds-mlp", "kinds-transformer"):
        both = [key for key in reached[census] if key in reached["kinds"] and key[:3] in symmetric]
        more = np.array([reached[census][key] - reached["kinds"][key] for key in both])
        parts = {
            "by symmetry": np.array(["symmetric" if symmetric[key[:3]] else "not" for key in both]),
            "by kind": np.array([key[0] for key in both]),
        }
        found[MODEL_OF[census]] = {
            name: {str(part): rounded(more[of == part].mean()) for part in np.unique(of)} for name, of in parts.items()
        }
    return found


def mean_by_place(census: str) -> dict[tuple[Any, ...], float]:
    reached = defaultdict(list)
    for row in default_rows(census):
        reached[place(row)].append(row["test_accuracy"])
    return {key: float(np.mean(values)) for key, values in reached.items()}


# ------------------------------------------------------------------------------------------------ the whole


def with_errors(law: TableLaw, data: Data, found: Mapping[str, np.ndarray]) -> TableLaw:
    models = {}
    for model, one in law.models.items():
        own = data.about["model"] == model
        measured = {name: errors(data, what, own) for name, what in found.items()}
        models[model] = replace(
            one,
            error={name: each.error for name, each in measured.items()},
            coverage={name: each.coverage for name, each in measured.items()},
        )
    return replace(law, models=models)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "src" / "modgrok" / "loss_law")
    parser.add_argument("--results", type=Path, default=ROOT / "benchmarks" / "results" / "table-law.json")
    asked = parser.parse_args()
    started = time.perf_counter()
    data, made_by = trainings(), "python -m studies.table_law"
    say = partial(print, file=sys.stderr, flush=True)
    say(f"{len(data.reached):,} trainings")
    found, laws = {}, {}
    for name in ("kind", "table"):
        without = left_out(data.about[name])
        law = fitted(data, without, made_by)
        laws[name] = with_intervals(law, data, judged(law, data, without))
        found[f"{name}s"] = judged(laws[name], data, without)
        say(f"fitted without some {name}s after {time.perf_counter() - started:.0f} s")
    law = with_errors(laws["kind"], data, found)
    about = {"made_by": law.made_by, "side_range": law.side_range, "fraction_range": law.fraction_range}
    tensors = {"centre": law.centre, "scale": law.scale, **law.weights}
    write_tensors(asked.out / FILE, {"law": plain(about | {"models": law.models})}, tensors)
    details = {
        "made_by": made_by,
        "models": law.models,
        "beside_x2": beside_x2(),
        "large_census_seeds": seed_distance(),
        "large_census_tables": as_in_the_census(data, found["tables"]),
        **{f"{name}_by_{column}": by(data, what, column) for name, what in found.items() for column in COLUMNS},
    }
    write_json(asked.results, plain({**details, KEY: of_script(started, {}, read=(CENSUS / "completions.parquet",))}))
    for model, one in law.models.items():
        print(f"{model}: {one}")
    print(f"large census, tables held out: {details['large_census_tables']}")


COLUMNS = ("census", "kind", "side")


if __name__ == "__main__":
    main()
