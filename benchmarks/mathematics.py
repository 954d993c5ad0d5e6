"""Do other models find the same mathematics? python benchmarks/mathematics.py [--mod 97] [--quick]

Trains the power network, a 3-layer ReLU MLP and a transformer on half of the table of n1 n2, and measures which share
of their logits' variance has the analytical form Σ_f A_f cos(2πf(log n1 + log n2 - log q)/(p-1)); beside each the same
network untrained, and one that has memorised random values on the same rows.
"""

from __future__ import annotations

import argparse
import platform
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import numpy as np
from writing import write_found

from modgrok.inspection.logits import logits_view
from modgrok.training.checkpoints import Training, begin
from modgrok.training.config import TrainConfig
from modgrok.training.inspecting import training_rows

EXPRESSION = "n1 n2"
FULL: dict[str, dict[str, Any]] = {
    "power": {"steps": 1000},
    "mlp": {"steps": 2000, "depth": 3, "activation": "relu"},
    "transformer": {"steps": 5000},
}
QUICK: dict[str, dict[str, Any]] = {
    "power": {"steps": 400, "width": 150, "fraction": 0.7},
    "mlp": {"steps": 1000, "width": 96, "fraction": 0.8, "depth": 3, "activation": "relu"},
    "transformer": {"steps": 1500, "width": 48, "fraction": 0.8},
}
"""Settings that differ from the presets; the memorising network has them too, without weight decay."""


def measured(kind: str, training: Training, config: TrainConfig) -> dict[str, Any]:
    """One row of the result."""
    network = training.network(config)
    view = logits_view(network, training=training_rows(network), spectrum=False)
    found, metrics = view.to_json(), training.curves()
    names = ("analytical_share", "sum_share", "noise_share", "key_frequencies", "loss")
    losses = [f"{version}_loss" for version in ("full", "restricted", "excluded")]
    return {
        "model": config.model,
        "kind": kind,
        "seed": config.seed,
        "step": training.step,
        **{name: float(metrics[name][-1]) for name in ("train_accuracy", "test_accuracy")},
        **{name: found[name] for name in (*names, *losses)},
    }


def trained(config: TrainConfig, table: np.ndarray | None = None) -> tuple[Training, Training]:
    """A training at its beginning and at its end; `table` are other values to learn."""
    task = config.task()
    start = begin(config, task if table is None else task._replace(table=table)).compiled()
    return start, start.segment(config.steps)


def rows_of(config: TrainConfig) -> list[dict[str, Any]]:
    """The network untrained and trained, and the one that memorises."""
    start, end = trained(config)
    memorising = replace(config, weight_decay=0.0)
    random = np.random.default_rng(config.seed).integers(config.modulus, size=config.modulus**2).astype(np.int32)
    _, memorised = trained(memorising, random)
    return [
        measured("untrained", start, config),
        measured("trained", end, config),
        measured("memorised", memorised, memorising),
    ]


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mod", type=int, default=97)
    parser.add_argument("--quick", action="store_true", help="small networks and one seed, for two cores")
    parser.add_argument("--seeds", type=int, help="(default: 3, or 1 with --quick)")
    parser.add_argument("--models", default=",".join(FULL))
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/mathematics.json"))
    args = parser.parse_args(arguments)
    settings, began = QUICK if args.quick else FULL, time.perf_counter()
    rows = []
    for model in args.models.split(","):
        for seed in range(args.seeds or (1 if args.quick else 3)):
            config = TrainConfig(EXPRESSION, args.mod, model=model, seed=seed, **settings[model])
            for row in rows_of(config):
                print(
                    f"{row['model']:12s} {row['kind']:10s} seed {seed}  train {row['train_accuracy']:.4f}  test "
                    f"{row['test_accuracy']:.4f}  analytical {row['analytical_share']:.4f}  sum {row['sum_share']:.4f}",
                    flush=True,
                )
                rows.append(row)
    write_found(
        __file__,
        args.out,
        {
            "command": "python benchmarks/mathematics.py" + (f" --mod {args.mod} --quick" if args.quick else ""),
            "machine": f"{jax.devices()[0].device_kind}, Python {platform.python_version()}, jax {jax.__version__}",
            "expression": EXPRESSION,
            "modulus": args.mod,
            "settings": settings,
            "seconds": time.perf_counter() - began,
            "rows": rows,
        },
        args,
    )


if __name__ == "__main__":
    main()
