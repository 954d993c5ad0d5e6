"""Ten seeds at once beside ten single runs, in one sitting: python benchmarks/seeds.py [--out FILE]

Each contender is what a user types: one `modgrok train --seeds 10`, or ten times `modgrok train`, every command in a
process of its own. Nothing is taken from a compilation cache, and again with the cache that the first ten left.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import jax
from writing import write_found

TASK = ("n1 n2", "--mod", "59", "--width", "200", "--steps", "300")
SEEDS = 10


def timed(folder: Path, cache: str, *calls: tuple[str, ...]) -> float:
    """Seconds that some calls of modgrok take, one after the other."""
    began = time.perf_counter()
    for words in calls:
        command = [sys.executable, "-m", "modgrok", *words, "--json"]
        environment = os.environ | {"MODGROK_CACHE": cache}
        subprocess.run(command, cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "seeds.json")
    out = parser.parse_args().out
    results = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for how, cache in (("without a cache", "off"), ("with a cache", str(folder / "cache"))):
            place = folder / how.replace(" ", "-")
            place.mkdir()
            if cache != "off":  # what it holds is what one earlier call of each kind left
                timed(place, cache, ("train", *TASK, "--out", "warm"))
                timed(place, cache, ("train", *TASK, "--seeds", str(SEEDS), "--out", "warm-seeds"))
            at_once = timed(place, cache, ("train", *TASK, "--seeds", str(SEEDS), "--out", "at-once"))
            single = [("train", *TASK, "--seed", str(seed), "--out", f"seed{seed}") for seed in range(SEEDS)]
            one_by_one = timed(place, cache, *single)
            results[how] = {
                "at_once_seconds": round(at_once, 1),
                "one_by_one_seconds": round(one_by_one, 1),
                "ratio": round(one_by_one / at_once, 2),
            }
            print(how, results[how], flush=True)
    machine = {"device": jax.devices()[0].device_kind, "cores": os.cpu_count(), "jax": jax.__version__}
    command = f"modgrok train {' '.join(TASK)}, {SEEDS} seeds"
    write_found(__file__, out, {"task": command, "machine": machine, "results": results})


if __name__ == "__main__":
    main()
