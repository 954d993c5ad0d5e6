"""The fused step beside the float32 step, on a GPU: gradients, speed, tilings, and 100 trainings both ways.

    python benchmarks/fused.py OUT.json [--parts gradients rates tilings kernels trainings] [--quick]

Writes one JSON file, after every part of it, so that a run that is stopped leaves what it measured. `--quick` takes
tiny sizes and interprets the kernels where there is no GPU.
"""

from __future__ import annotations

import argparse
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from writing import write_found

from modgrok.base.machine import machine
from modgrok.networks.models import Power
from modgrok.training import fused_step
from modgrok.training.config import hyper
from modgrok.training.data import train_count
from modgrok.training.ensemble import stacked_places, start_all, train_ensemble
from modgrok.training.fused_step import TILINGS, Tiling
from modgrok.training.steps import Shape, advance, block_gradient, fused_gradient

CASES = ((97, 500, (1, 16, 64, 128)), (23, 500, (1, 128, 1024)))
PARTS = ("gradients", "rates", "tilings", "kernels", "trainings")
SECONDS = 0.3
"""Time of one measurement; the best of three counts."""
TRIED = {
    128: (Tiling(128, 64, 64, 8, 8), Tiling(64, 64, 64, 4, 8), Tiling(128, 32, 64, 8, 8)),
    64: (Tiling(64, 64, 64, 4, 8), Tiling(64, 64, 64, 4, 4), Tiling(128, 64, 64, 8, 8), Tiling(64, 64, 64, 8, 8)),
    32: (Tiling(64, 64, 64, 4, 4), Tiling(32, 64, 64, 4, 4), Tiling(64, 64, 64, 4, 8), Tiling(128, 64, 64, 8, 8)),
    16: (Tiling(64, 64, 64, 4, 4), Tiling(32, 64, 64, 2, 2), Tiling(64, 64, 64, 2, 4)),
}
"""By the padded modulus."""
TILED = ((97, 500, 16), (53, 500, 64), (23, 500, 128), (11, 500, 512))


def problem(modulus: int, width: int, networks: int, fused: bool) -> tuple[Any, ...]:
    """Untrained networks on half of the table of n1·n2: the shape, hyper-parameters, examples and states."""
    shape = Shape(Power((modulus,) * 2, modulus, width=width), train_count(0.5, modulus**2), fused=fused)
    settings = hyper(seed=np.arange(networks), train_rows=shape.train_rows)
    table = np.multiply.outer(np.arange(modulus), np.arange(modulus)).reshape(1, -1) % modulus
    tables = jnp.asarray(np.repeat(table, networks, axis=0), jnp.int32)
    return shape, settings, *start_all(shape, settings, tables, stacked_places(shape, networks, None), None)


def compare_gradients(modulus: int, width: int) -> dict[str, Any]:
    """How far the fused gradient is from JAX's in full float32, as a share of its length."""
    shape, *rest = problem(modulus, width, 2, False)

    def fused(hyper: Any, examples: Any, state: Any) -> Any:
        found = fused_gradient(shape, hyper, examples)(fused_step.padded(state, shape.model))
        return fused_step.unpadded(found, state.params)

    with jax.default_matmul_precision("highest"):
        right = jax.jit(jax.vmap(lambda *args: block_gradient(shape, *args[:2])(args[2])))(*rest)
    ours = jax.jit(jax.vmap(fused))(*rest)
    again = jax.jit(jax.vmap(fused))(*rest)
    errors = {
        name: float(jnp.linalg.norm(getattr(ours, name) - getattr(right, name)) / jnp.linalg.norm(getattr(right, name)))
        for name in ("embed", "readout")
    }
    pairs = zip(jax.tree.leaves(ours), jax.tree.leaves(again), strict=True)
    return errors | {"same_bits_again": all(bool(jnp.all(a == b)) for a, b in pairs)}


def best_seconds(run: Any, seconds: float) -> float:
    """Seconds of a call, the best of three rounds that take about so long each."""
    jax.block_until_ready(run())
    start = time.perf_counter()
    jax.block_until_ready(run())
    calls = max(1, round(seconds / (time.perf_counter() - start)))
    rounds = []
    for _ in range(3):
        start = time.perf_counter()
        for _ in range(calls):
            found = run()
        jax.block_until_ready(found)
        rounds.append((time.perf_counter() - start) / calls)
    return min(rounds)


class Trial(NamedTuple):
    """Steps of some networks, ready to be compiled; what is compiled is timed later."""

    about: dict[str, Any]
    lowered: Any
    arguments: tuple[Any, ...]
    useful: float


def trial(modulus: int, width: int, networks: int, fused: bool, steps: int, **more: Any) -> Trial:
    shape, *rest = problem(modulus, width, networks, fused)
    step_all = jax.jit(jax.vmap(partial(advance, shape), in_axes=(0, 0, 0, None)))
    about = {"modulus": modulus, "width": width, "networks": networks, "fused": fused, "steps": steps} | more
    useful = 6.0 * networks * steps * shape.train_rows * width * modulus
    return Trial(about, step_all.lower(*rest, steps), (*rest, steps), useful)


def tilings_tried(modulus: int, width: int, networks: int, steps: int) -> list[Trial]:
    size, found = fused_step.padded_modulus(modulus), []
    usual = TILINGS[size]
    for tiling in TRIED.get(size, ()):
        TILINGS[size] = tiling
        found.append(trial(modulus, width, networks, True, steps, tiling=tiling._asdict()))
    TILINGS[size] = usual
    return found


def compiled(lowered: Any) -> tuple[Any, float]:
    """The program, or why there is none, and how long it took."""
    began = time.perf_counter()
    try:
        return lowered.compile(), time.perf_counter() - began
    except Exception as error:  # a tiling that does not fit the chip must not end the run
        return str(error)[:200], time.perf_counter() - began


def rate(trial: Trial, program: Any, compiling: float, seconds: float) -> dict[str, Any]:
    """Network-steps per second of whole steps."""
    if isinstance(program, str):
        return trial.about | {"failed": program}
    took = best_seconds(lambda: program(*trial.arguments), seconds)
    return trial.about | {
        "network_steps_per_second": trial.about["networks"] * trial.about["steps"] / took,
        "microseconds_per_step": 1e6 * took / trial.about["steps"],
        "useful_teraflops": trial.useful / took / 1e12,
        "seconds_to_compile": compiling,
    }


def rates(trials: list[Trial], seconds: float) -> list[dict[str, Any]]:
    """All are compiled side by side, then timed one after the other."""
    with ThreadPoolExecutor(8) as pool:
        programs = list(pool.map(compiled, [tried.lowered for tried in trials]))
    return [rate(tried, *found, seconds) for tried, found in zip(trials, programs, strict=True)]


def kernel_times(modulus: int, width: int, networks: int, seconds: float) -> dict[str, float]:
    """Microseconds of the gradient alone, in a loop on the device: what is left of a step is the optimiser's."""
    shape, settings, examples, states = problem(modulus, width, networks, True)

    def gradients(hyper: Any, examples: Any, state: Any) -> Any:
        gradient_at = fused_gradient(shape, hyper, examples)
        state = fused_step.padded(state, shape.model)

        def nudge(_: Any, state: Any) -> Any:
            moved = jax.tree.map(lambda w, g: w + 1e-9 * g, state.params, gradient_at(state))
            return state._replace(params=moved)

        return jax.lax.fori_loop(0, 100, nudge, state).params

    run = jax.jit(jax.vmap(gradients))
    took = best_seconds(lambda: run(settings, examples, states), seconds)
    return {"modulus": modulus, "networks": networks, "microseconds_per_gradient": 1e6 * took / 100}


def trained(networks: int, modulus: int, width: int, steps: list[int], fused: bool, seed: int) -> dict[str, Any]:
    """Final losses and accuracies of networks with seeds `seed` … on half of tables of different kinds."""
    shape = Shape(Power((modulus,) * 2, modulus, width=width), train_count(0.5, modulus**2))
    n1, n2 = np.indices((modulus, modulus))
    kinds = (n1 * n2, (4 * n1 + n2**2) ** 3, n1**2 * n2 + n2**2, n1**2 + n1 * n2 + n2**2 + n1)
    tables = np.stack([kinds[k % len(kinds)].reshape(-1) % modulus for k in range(networks)])
    settings = hyper(seed=seed + np.arange(networks), train_rows=shape.train_rows)
    metrics, _ = train_ensemble(shape, settings, tables, steps=steps, fused=fused)
    return {name: np.asarray(getattr(metrics, name)) for name in ("train_loss", "test_loss", "test_accuracy", "ipr")}


def compare_trainings(networks: int, modulus: int, width: int, steps: list[int]) -> list[dict[str, Any]]:
    """By kind of table and measured step: the mean change by the fused step, and by another seed, beside the spread."""
    plain, fused, other = (
        trained(networks, modulus, width, steps, *which) for which in ((False, 0), (True, 0), (False, networks))
    )
    found = []
    for kind in range(4):
        for place, step in enumerate(steps):
            for name in plain:
                a, b, c = (numbers[name][kind::4, place].astype(float) for numbers in (plain, fused, other))
                found.append({
                    "kind": kind, "step": step, "metric": name, "networks": a.size,
                    "float32": a.mean(), "fused": b.mean(), "other_seeds": c.mean(),
                    "spread_of_seeds": a.std(ddof=1), "spread_fused": b.std(ddof=1),
                    "mean_change_same_seed": np.abs(a - b).mean(),
                    "mean_change_other_seed": np.abs(a - c).mean(),
                })  # fmt: skip
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    began, result = time.perf_counter(), {}
    seconds, steps = (0.01, 2) if args.quick else (SECONDS, 100)
    cases = ((7, 24, (1, 2)), (23, 40, (1, 2))) if args.quick else CASES

    def keep(name: str, value: Any) -> None:
        result[name] = value
        result["seconds"] = time.perf_counter() - began
        write_found(__file__, args.out, result, args)
        print(f"{result['seconds']:.0f} s: {name}: {value if len(str(value)) < 3000 else '...'}", flush=True)

    keep("machine", machine("jax", "torch").__dict__)
    if "gradients" in args.parts:
        keep("gradient_errors", {f"p={p} width {width}": compare_gradients(p, width) for p, width, _ in cases})
    if "rates" in args.parts:
        both = [(*case[:2], n, fused) for case in cases for n in case[2] for fused in (False, True)]
        keep("rates", rates([trial(*one, steps) for one in both], seconds))
    if "tilings" in args.parts:
        tiled = ((7, 24, 2),) if args.quick else TILED
        keep("tilings", rates([tried for case in tiled for tried in tilings_tried(*case, steps)], seconds))
    if "kernels" in args.parts:
        keep("kernels", [kernel_times(p, width, counts[-2], seconds) for p, width, counts in cases])
    if "trainings" in args.parts:
        many = (8, 7, 24, [5, 10]) if args.quick else (100, 97, 500, [100, 300, 1000])
        keep("trainings", compare_trainings(*many))


if __name__ == "__main__":
    main()
