"""The twelve tasks of Power et al. (2022): what each is, and from which share of its table training reaches it.

    python benchmarks/tasks.py train OUT.json [--tasks 1 2]  on a GPU: minutes; it needs jax, optax and numpy alone
    python benchmarks/tasks.py decide OUT.json               here: verdicts, closed forms, complexity
    python benchmarks/tasks.py page                          docs/tasks.md from benchmarks/results/tasks-*.json

`train`: the paper's x² network (width 500, AdamW, learning rate 0.005, weight decay 5) on nine shares of the table with
five seeds each, and a two-layer transformer (width 128, four heads, the size of that study's) on half of it with three,
both as `modgrok train` has them. The test accuracy is that of the last step; the best of all measured steps stands
beside it.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from writing import sittings_in, write_found

from modgrok.algebra.function import read_function
from modgrok.algebra.known_tasks import TASKS, KnownTask
from modgrok.base.files import write_text
from modgrok.base.provenance import Made
from modgrok.inspection.order import Places
from modgrok.training.config import Task, TrainConfig, side_by_side
from modgrok.training.steps import Metrics, advance_and_measure, start

SHARES = tuple(round(0.1 * k, 1) for k in range(1, 10))
SEEDS = 5
TRANSFORMER: dict[str, Any] = {"model": "transformer", "depth": 2, "learning_rate": 0.001, "steps": 10_000}
TRANSFORMER_SEEDS = 3
POWER: dict[str, Any] = {"steps": 4000}
LOOKS = 20
"""Measured steps of a training."""
LEARNED = 0.99
ROOT = Path(__file__).parent
RESULTS = ROOT / "results"
PAGE = ROOT.parent / "docs" / "tasks.md"

# ------------------------------------------------------------------------------------------------- training


def trained(tasks: list[Task], steps: int) -> Metrics:
    """The metrics of trainings side by side, with axes (look, net)."""
    rows = max(int(task.hyper.train_rows) for task in tasks)
    ensemble = side_by_side(replace(tasks[0].shape, train_rows=rows), tasks)
    places = Places(*(np.stack(arrays) for arrays in zip(*(task.order.places for task in tasks), strict=True)))
    begin = jax.jit(jax.vmap(start, in_axes=(None, 0, 0, 0)), static_argnums=0)
    go = jax.jit(jax.vmap(advance_and_measure, in_axes=(None, 0, 0, 0, None)), static_argnums=0)
    examples, state = begin(ensemble.shape, ensemble.hyper, jnp.asarray(ensemble.tables, jnp.int32), places)
    looks = []
    for _ in range(LOOKS):
        state, metrics = go(ensemble.shape, ensemble.hyper, examples, state, steps // LOOKS)
        looks.append(jax.tree.map(np.asarray, metrics))
    return Metrics(*(np.stack(columns) for columns in zip(*looks, strict=True)))


def of(task: KnownTask, **settings: Any) -> Task:
    """A training as `modgrok train` has it; periodicity, which needs the function's own order, is not looked at."""
    return TrainConfig.of(task.text, order="additive", **settings).task()


def summary(metrics: Metrics, nets: slice) -> dict[str, Any]:
    test, train = metrics.test_accuracy[:, nets], metrics.train_accuracy[:, nets]
    return {
        "test": [round(float(value), 5) for value in test[-1]],
        "best": [round(float(value), 5) for value in test.max(axis=0)],
        "train": [round(float(value), 5) for value in train[-1]],
    }


def train(chosen: list[KnownTask], quick: bool) -> list[dict[str, Any]]:
    shares, seeds, factor = (SHARES, SEEDS, 1) if not quick else ((0.5, 0.9), 1, 100)
    rows = []
    for task in chosen:
        began = time.perf_counter()
        power = [of(task, fraction=share, seed=seed, **POWER) for share in shares for seed in range(seeds)]
        metrics = trained(power, POWER["steps"] // factor)
        row: dict[str, Any] = {"task": task.name, "text": task.text}
        row["x²"] = {
            f"{share:g}": summary(metrics, slice(seeds * k, seeds * (k + 1))) for k, share in enumerate(shares)
        }
        several = [of(task, seed=seed, **TRANSFORMER) for seed in range(1 if quick else TRANSFORMER_SEEDS)]
        row["transformer"] = {"0.5": summary(trained(several, TRANSFORMER["steps"] // factor), slice(None))}
        row["seconds"] = round(time.perf_counter() - began, 1)
        rows.append(row)
        half = median(row["x²"]["0.5"]["test"])
        print(
            f"{task.name}: x² {half:.1%}, transformer {median(row['transformer']['0.5']['test']):.1%} from half, "
            f"{row['seconds']} s",
            flush=True,
        )
    return rows


# ------------------------------------------------------------------------------------------------- deciding


def decide(chosen: list[KnownTask]) -> list[dict[str, Any]]:
    """What `classify` says of each task, how complex it is, and the least network that `compile` makes for it."""
    from modgrok.answers.classifying import classify
    from modgrok.answers.complexity import complexity
    from modgrok.base.errors import InputError
    from modgrok.compiler.compiling import compile

    rows = []
    for task in chosen:
        found, function = classify(task.text), read_function(task.text)
        measured = complexity(function)
        row = {
            "task": task.name,
            "text": task.text,
            "cells": function.known_cells,
            "verdict": found.verdict,
            "family": found.family,
            "group_order": found.group_order,
            "group": None if found.witness is None else found.witness.group_name,
            "closed_form": found.closed_form,
            "complexity": round(measured.value, 4),
            "complexity_exact": measured.exact,
            "answer": list(found.answer),
            "redundancy": found.redundancy,
            "seconds": round(found.seconds, 2),
        }
        for kind in ("all", "minimal"):
            try:
                network = compile(function, frequencies=kind)
                holds = network.proof is not None and network.proof.holds
                row[f"neurons_{kind}"], row[f"proved_{kind}"] = network.width, holds
            except InputError as error:
                row[f"neurons_{kind}"], row[f"proved_{kind}"] = None, str(error).splitlines()[0]
        rows.append(row)
        print(row, flush=True)
    return rows


# ----------------------------------------------------------------------------------------------------- page


def enough(power: dict[str, Any]) -> str:
    """The smallest share from which on half of the seeds or more have learned the rest."""
    reached = {share for share in SHARES if median(power[f"{share:g}"]["test"]) >= LEARNED}
    first = next((share for k, share in enumerate(SHARES) if set(SHARES[k:]) <= reached), None)
    return f"{first:g}" if first is not None else "not 0.9"


def percentage(values: list[float]) -> str:
    return f"{100 * median(values):.1f} %"


def neurons(row: dict[str, Any]) -> str:
    """The width of the closed form, and whether the kernel proved it."""
    if row["neurons_minimal"] is None:
        return "none"
    return f"{row['neurons_minimal']:,} ({'proved' if row['proved_minimal'] is True else 'not proved'})"


def closed_form(row: dict[str, Any]) -> str:
    """h(g1 + g2) written out, or the group whose product it is."""
    if row["closed_form"]:
        return f"`{row['closed_form']}`"
    return f"product in {row['group']}" if row["group"] else "–"


def trained_cells(row: dict[str, Any] | None) -> list[str]:
    if row is None:
        return ["–"] * 4
    power, other = row["x²"], row["transformer"]
    return [enough(power), *(percentage(found["test"]) for found in (power["0.5"], power["0.9"], other["0.5"]))]


def page_rows() -> list[str]:
    """The table of docs/tasks.md from what is stored."""
    stored = {
        kind: {
            row["task"]: row
            for path in sorted(RESULTS.glob(f"tasks-{kind}*.json"))
            for row in json.loads(path.read_text(encoding="utf-8"))["tasks"]
        }
        for kind in ("decide", "train")
    }
    lines = [
        "| | task | verdict | closed form | complexity | neurons | twins | enough | x², half | x², 0.9 "
        "| transformer, half |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for task in TASKS:
        about = stored["decide"][task.name]
        cells = [
            str(task.number),
            f"`{task.name}`<br>{task.text}",
            about["verdict"] + (f", {about['family']}" if about["family"] else ""),
            closed_form(about),
            f"{about['complexity']:.2f}",
            neurons(about),
            f"{100 * about['redundancy']:.1f} %",
            *trained_cells(stored["train"].get(task.name)),
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


BEGIN, END = "<!-- measured: python benchmarks/tasks.py page -->", "<!-- end -->"


def page() -> None:
    """The table of docs/tasks.md, between its marks."""
    text = PAGE.read_text(encoding="utf-8")
    before, after = text[: text.index(BEGIN) + len(BEGIN)], text[text.index(END) :]
    write_text(PAGE, "\n".join([before, "", *page_rows(), "", after]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("train", "decide", "page"))
    parser.add_argument("out", type=Path, nargs="?")
    parser.add_argument("--tasks", type=int, nargs="+", metavar="N", help="these, by their numbers; all by default")
    parser.add_argument("--quick", action="store_true", help="a hundredth of the steps, to see that all of it runs")
    args = parser.parse_args()
    if args.what == "page":
        page()
        return
    if args.out is None:
        parser.error("give the file to write")
    began = time.perf_counter()
    chosen = [task for task in TASKS if args.tasks is None or task.number in args.tasks]
    rows = train(chosen, args.quick) if args.what == "train" else decide(chosen)
    earlier: Made = ()
    if args.what == "decide" and args.tasks and args.out.exists():  # what is there of the others stays
        mine, stored = {row["task"]: row for row in rows}, json.loads(args.out.read_text(encoding="utf-8"))["tasks"]
        rows, earlier = [mine.get(row["task"], row) for row in stored], sittings_in(args.out)
    settings = {"x²": POWER, "transformer": TRANSFORMER, "seeds": SEEDS, "transformer_seeds": TRANSFORMER_SEEDS}
    found = {"tasks": rows, "seconds": time.perf_counter() - began}
    write_found(
        __file__, args.out, found | ({"settings": settings} if args.what == "train" else {}), args, earlier=earlier
    )


if __name__ == "__main__":
    main()
