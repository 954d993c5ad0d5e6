"""Does a training repeat to the last bit: in a process, in another one, alone and as one of sixteen? And at which cost?

    python benchmarks/repeatable.py OUT.json [--steps 100]        # twice, and compare the files

Every case trains seed 7 alone and seeds 0 to 15 side by side, each twice, with each way of summing the gradient
(`training.steps.Shape`). Digests are of the final weights; speeds are network-steps a second of the second call.
"""

from __future__ import annotations

import argparse
import hashlib
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import numpy as np

import modgrok
from modgrok.base.files import write_json
from modgrok.training.config import Ensemble, TrainConfig, ensemble_of
from modgrok.training.ensemble import pick, segment_all, stacked_places, start_all

NETWORKS, ROW = 16, 7
SETTINGS: tuple[dict[str, Any], ...] = (
    {"model": "power", "mod": 97, "width": 500},
    {"model": "power", "mod": 23, "width": 500},
    {"model": "power", "mod": 23, "width": 500, "loss": "cross-entropy"},
    {"model": "mlp", "mod": 59, "width": 256},
    {"model": "transformer", "mod": 59},
)


def digest(tree: Any) -> str:
    found = hashlib.sha256()
    for leaf in jax.tree.leaves(tree):
        found.update(np.ascontiguousarray(leaf).tobytes())
    return found.hexdigest()[:12]


def trained_twice(ensemble: Ensemble, gradient: str, nets: list[int], steps: int) -> tuple[Any, Any, float]:
    """Weights of some of the networks after so many steps, the same again, and how fast that was."""
    shape, chosen = replace(ensemble.shape, gradient=gradient), np.array(nets)
    hyper, tables = pick(ensemble.hyper, chosen), np.asarray(ensemble.tables[chosen], np.int32)
    places = stacked_places(shape, len(nets), [ensemble.orders[net] for net in nets])
    examples, state = jax.block_until_ready(start_all(shape, hyper, tables, places, None))
    first, _ = jax.block_until_ready(segment_all(shape, hyper, examples, state, steps))
    began = time.perf_counter()
    again, _ = jax.block_until_ready(segment_all(shape, hyper, examples, state, steps))
    return first.params, again.params, len(nets) * steps / (time.perf_counter() - began)


def measured(settings: dict[str, Any], gradient: str, steps: int) -> dict[str, Any]:
    configs = [TrainConfig.of("n1 n2", **settings, steps=steps, seed=seed) for seed in range(NETWORKS)]
    ensemble, found = ensemble_of(configs), settings | {"gradient": gradient}
    alone, alone_again, speed_alone = trained_twice(ensemble, gradient, [ROW], steps)
    many, many_again, speed_many = trained_twice(ensemble, gradient, list(range(NETWORKS)), steps)
    row, same = digest(pick(many, ROW)), digest(pick(alone, 0))
    return found | {
        "alone": digest(alone), "alone_again": digest(alone_again), "alone_speed": round(speed_alone),
        "sixteen": digest(many), "sixteen_again": digest(many_again), "sixteen_speed": round(speed_many),
        "row7": row, "row7_is_alone": row == same,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--steps", type=int, default=100)
    args = parser.parse_args()
    rows: list[dict[str, Any]] = []
    about = {"command": "python benchmarks/repeatable.py", "version": modgrok.__version__, "jax": jax.__version__,
             "device": jax.devices()[0].device_kind, "steps": args.steps}  # fmt: skip
    for settings in SETTINGS:
        fused = ["fused"] * (settings["model"] == "power" and "loss" not in settings and jax.default_backend() != "cpu")
        for gradient in ("gather", "scatter", *fused):
            rows.append(measured(settings, gradient, args.steps))
            print(rows[-1], flush=True)
            write_json(args.out, about | {"rows": rows})


if __name__ == "__main__":
    main()
