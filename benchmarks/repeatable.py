"""Does a training repeat to the last bit: in another process, alone and as one of sixteen? And at which cost?

    python benchmarks/repeatable.py OUT.json [--steps 200]

Two processes train every case as users do: seed 7 alone (`repeatable=True`), seeds 0 to 15 as an ensemble, and the row
of seed 7 again by a single run with that row's `beside` and `room`. Digests are of the weights. Beside each stand the
speeds of the same trainings as they are fastest, without a promise: products tuned by timing them.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import numpy as np
from writing import write_found

from modgrok.base.files import write_json
from modgrok.training.checkpoints import begin
from modgrok.training.config import TrainConfig, ensemble_of
from modgrok.training.ensemble import as_trained, pick, segment_all, stacked_places, start_all

NETWORKS, ROW, ROUNDS = 16, 7, 3
CASES: dict[str, dict[str, Any]] = {
    "x², p = 97": {"mod": 97},
    "x², p = 97, cross-entropy": {"mod": 97, "loss": "cross-entropy"},
    "x², p = 59, Muon": {"mod": 59, "optimiser": "muon"},
    "mlp, p = 97": {"mod": 97, "model": "mlp"},
    "mlp of 3 layers with batch norm, p = 59": {"mod": 59, "model": "mlp", "depth": 3, "norm": "batch"},
    "transformer, p = 113, 0.3": {"mod": 113, "model": "transformer", "fraction": 0.3},
}


def digest(tree: Any) -> str:
    found = hashlib.sha256()
    for leaf in jax.tree.leaves(tree):
        found.update(np.ascontiguousarray(leaf).tobytes())
    return found.hexdigest()[:12]


def trained(configs: list[TrainConfig], steps: int, repeatable: bool) -> tuple[Any, float]:
    """Weights after so many steps, side by side, and network-steps a second: the best of some rounds."""
    ensemble, nets = ensemble_of(configs), len(configs)
    shape = replace(as_trained(ensemble.shape, nets), repeatable=repeatable)
    places = stacked_places(shape, nets, ensemble.orders)
    tables = np.asarray(ensemble.tables, np.int32)
    examples, state = start_all(shape, ensemble.hyper, tables, places, None)
    found, _ = jax.block_until_ready(segment_all(shape, ensemble.hyper, examples, state, steps))
    seconds = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        jax.block_until_ready(segment_all(shape, ensemble.hyper, examples, state, steps))
        seconds.append(time.perf_counter() - began)
    return jax.tree.map(np.asarray, found.params), nets * steps / min(seconds)


def measured(settings: dict[str, Any], steps: int, timed: bool) -> dict[str, Any]:
    configs = [TrainConfig.of("n1 n2", **settings, steps=steps, seed=seed) for seed in range(NETWORKS)]
    repeats = jax.default_backend() != "cpu"
    alone, speed_alone = trained([configs[ROW]], steps, repeats)
    many, speed_many = trained(configs, steps, repeats)
    copied = begin(replace(configs[ROW], beside=NETWORKS, room=ensemble_of(configs).shape.train_rows)).segment(steps)
    found: dict[str, Any] = {
        "alone": digest(pick(alone, 0)),
        "row_7_of_16": digest(pick(many, ROW)),
        "run_beside_16": digest(copied.params),
        "speed_alone": round(speed_alone),
        "speed_of_16": round(speed_many),
    }
    if timed:
        found["fastest_alone"] = round(trained([configs[ROW]], steps, False)[1])
        found["fastest_of_16"] = round(trained(configs, steps, False)[1])
    return found


def process(steps: int, timed: bool, out: Path) -> dict[str, Any]:
    """Every case, in a process of its own."""
    command = [sys.executable, __file__, str(out), "--steps", str(steps), "--child", *(["--timed"] if timed else [])]
    subprocess.run(command, check=True)
    found: dict[str, Any] = json.loads(out.read_text())
    return found


def compared(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    """What two processes found: which bits are the same, and what it costs."""
    bits = ("alone", "row_7_of_16", "run_beside_16")
    return first | {
        "same_in_another_process": all(first[name] == second[name] for name in bits),
        "run_has_the_bits_of_its_row": first["run_beside_16"] == first["row_7_of_16"],
        "row_is_alone": first["row_7_of_16"] == first["alone"],
        "cost_alone": round(1 - first["speed_alone"] / first["fastest_alone"], 3),
        "cost_of_16": round(1 - first["speed_of_16"] / first["fastest_of_16"], 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--timed", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        rows = {}
        for name, settings in CASES.items():
            rows[name] = measured(settings, args.steps, args.timed)
            print(name, rows[name], flush=True)
        write_json(args.out, rows)
        return
    with tempfile.TemporaryDirectory() as folder:
        first = process(args.steps, True, Path(folder) / "first.json")
        second = process(args.steps, False, Path(folder) / "second.json")
    rows = {name: compared(first[name], second[name]) for name in CASES}
    write_found(__file__, args.out, {"networks": NETWORKS, "steps": args.steps, "cases": rows}, args)


if __name__ == "__main__":
    main()
