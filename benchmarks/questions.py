"""Does `classify` keep its word? python benchmarks/questions.py [--draws 0 1] [--kinds] [--largest N] [--train-only]

A draw is 200 random questions: an expression in two variables from a grammar (no family of a census), a modulus from 5
to 127 and a share of the table from 0.1 to 0.9; no table that a census has trained on. Each question is trained at the
default settings with three seeds, and answered by `classify` without training. The summary of a draw says how often
test accuracies lay in the interval, by how much the expected one missed where there was one, and how often none was.
With `--kinds` the tables are those of `question_kinds` instead, of which no law has seen any.

Questions of one modulus train in one program, padded to the largest training set among them, in processes side by
side: on a GPU all of them, since nearly all of the time is compilation, elsewhere those with training sets of like
sizes, small moduli first. Trainings are stored as they come, and a second call goes on; answers are given anew by every
call, so that they are those of the law that is shipped.
"""

from __future__ import annotations

import argparse
import os
import time
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace
from functools import cache, partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator
from question_kinds import QUESTION_KINDS, SIDES
from writing import sittings_in, write_found

import modgrok as mg
from modgrok.base.files import read_json
from modgrok.base.provenance import Made
from modgrok.networks.models.base import on_cpu

Row = dict[str, Any]

COUNT = 200
"""Questions of a draw."""
SEEDS = (0, 1, 2)
LOT = 5
"""Questions of one program where there is no GPU."""
PLANS = ("plan.toml", "large.toml")
"""Of the censuses whose tables are not asked about."""


# ------------------------------------------------------------------------------------------------ questions


def term(rng: Generator, modulus: int) -> str:
    """A monomial in one or both variables."""
    powers = [(name, int(rng.integers(0, 6))) for name in ("n1", "n2")]
    factors = [f"{name}^{power}" for name, power in powers if power]
    return " ".join([str(int(rng.integers(1, modulus))), *factors])


def expression(rng: Generator, modulus: int) -> str:
    """A sum of one to three terms, perhaps raised to a power, perhaps times or plus another."""
    inner = " + ".join(term(rng, modulus) for _ in range(rng.integers(1, 4)))
    whole = f"({inner})^{rng.integers(2, 5)}" if rng.random() < 0.4 else inner
    if rng.random() < 0.3:
        other = " + ".join(term(rng, modulus) for _ in range(rng.integers(1, 3)))
        whole = f"({whole}) ({other})" if rng.random() < 0.5 else f"{whole} + {other}"
    return whole


def question(draw: int, number: int) -> Row:
    """Question `number` of a draw, whatever came before; both variables occur in it."""
    rng = np.random.default_rng([draw, number])
    while True:
        modulus = int(rng.integers(5, 128))
        text = expression(rng, modulus)
        asked = mg.read_function(text, modulus)
        if asked.variables == ("n1", "n2") and asked.table.tobytes() not in trained_before(modulus):
            fraction = round(rng.uniform(0.1, 0.9), 3)
            return {"draw": draw, "number": number, "expression": text, "modulus": modulus, "fraction": fraction}


def question_of_a_kind(draw: int, number: int) -> Row:
    """Question `number` of a draw of tables of other kinds, each kind in its turn."""
    rng = np.random.default_rng([draw, number])
    kind, modulus = list(QUESTION_KINDS)[number % len(QUESTION_KINDS)], int(rng.choice(SIDES))
    fraction = round(rng.uniform(0.1, 0.9), 3)
    return {"draw": draw, "number": number, "kind": kind, "modulus": modulus, "fraction": fraction}


def function_of(asked: Row) -> mg.Function:
    """What a question asks about."""
    if "kind" not in asked:
        return mg.read_function(asked["expression"], asked["modulus"])
    rng = np.random.default_rng([asked["draw"], asked["number"], 1])
    return mg.read_function(QUESTION_KINDS[asked["kind"]](asked["modulus"], rng), asked["modulus"])


@cache
def trained_before(modulus: int) -> frozenset[bytes]:
    """The tables of the censuses' plans at a modulus."""
    from modgrok.censuses.families import make_table

    plans = [tomllib.loads((Path(__file__).parent / "census" / name).read_text(encoding="utf-8")) for name in PLANS]
    drawn = {
        (family, seed)
        for plan in plans
        if any(modulus in block["moduli"] for block in plan["settings"])
        for family, count in plan["tables"].items()
        for seed in range(count)
    }
    return frozenset(make_table(family, modulus, seed).values.astype(np.int64).tobytes() for family, seed in drawn)


# ------------------------------------------------------------------------------------------------ in processes


def trained(asked: Sequence[Row], *, seeds: Sequence[int] = SEEDS) -> list[Row]:
    """Questions of one modulus with the test accuracy and the training loss that each seed reached."""
    import jax
    import jax.numpy as jnp

    from modgrok.training.config import TrainConfig
    from modgrok.training.ensemble import train_ensemble
    from modgrok.training.presets import DEFAULTS

    tasks = [
        TrainConfig.of(function_of(row), fraction=row["fraction"], seed=seed, order="additive").task()
        for row in asked
        for seed in seeds
    ]
    shape = replace(tasks[0].shape, train_rows=max(task.shape.train_rows for task in tasks))
    settings = jax.tree.map(lambda *leaves: jnp.stack(leaves), *(task.hyper for task in tasks))
    metrics, _ = train_ensemble(shape, settings, np.stack([task.table for task in tasks]), steps=DEFAULTS["steps"])
    reached, losses = (
        np.asarray(values, float).reshape(len(asked), len(seeds)).tolist()
        for values in (metrics.test_accuracy, metrics.train_loss)
    )
    return [row | {"reached": r, "train_loss": l} for row, r, l in zip(asked, reached, losses, strict=True)]  # noqa: E741


def in_lots(asked: Sequence[Row]) -> list[list[Row]]:
    """Questions that train in one program: of one modulus, by rising shares; small moduli first."""
    of_modulus = defaultdict(list)
    for row in sorted(asked, key=lambda row: (row["modulus"], row["fraction"])):
        of_modulus[row["modulus"]].append(row)
    lots = []
    for rows in of_modulus.values():
        size = LOT if on_cpu() else len(rows)
        lots += [rows[k : k + size] for k in range(0, len(rows), size)]
    return lots


def answered(asked: Row) -> Row:
    """The question with what `classify` expects."""
    found = mg.classify(function_of(asked), fraction=asked["fraction"], probe=False, measure=False)
    told = {name: getattr(found.expected, name) for name in ("low", "value", "high", "reason")}
    return asked | told | {"verdict": found.verdict, "seconds": found.seconds}


def side_by_side(
    work: Callable[[Any], Any], tasks: Sequence[Any], workers: int, time_limit: float | None = None
) -> Iterator[Any]:
    """Results as they come; what would begin after the limit is left out."""
    begun = partial(in_time, work, time.time() + time_limit if time_limit else None)
    if workers == 1:
        yield from (result for result in map(begun, tasks) if result is not None)
        return
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        for future in as_completed([pool.submit(begun, task) for task in tasks]):
            if future.result() is not None:
                yield future.result()


def in_time(work: Callable[[Any], Any], ends: float | None, task: Any) -> Any:
    return work(task) if ends is None or time.time() < ends else None


# ------------------------------------------------------------------------------------------------ the whole


def summary(rows: Sequence[Row]) -> Row:
    """How well the expectations hold, over all trainings of the questions that got a number."""
    told = [(row, reached) for row in rows if row["value"] is not None for reached in row["reached"]]
    missed = [abs(row["value"] - reached) for row, reached in told]
    inside = [row["low"] <= reached <= row["high"] for row, reached in told]
    wide = [row["high"] - row["low"] for row, _ in told]
    return {
        "questions": len(rows),
        "trainings": sum(len(row["reached"]) for row in rows),
        "without_a_number": sum(row["value"] is None for row in rows) / len(rows),
        "in_their_intervals": float(np.mean(inside)) if told else None,
        "mean_error": float(np.mean(missed)) if told else None,
        "mean_width": float(np.mean(wide)) if told else None,
        "mean_spread_of_seeds": float(np.mean([np.ptp(row["reached"]) for row in rows])),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, nargs="+", default=[0, 1])
    parser.add_argument("--count", type=int, default=COUNT, help="questions of each draw")
    parser.add_argument("--seeds", type=int, nargs="+", default=list(SEEDS), help="trainings of each question")
    parser.add_argument("--kinds", action="store_true", help="ask about tables of kinds that no law has seen")
    parser.add_argument("--largest", type=int, default=127, help="the largest modulus that is trained now")
    parser.add_argument("--out", type=Path, help="file of the results (results/questions.json or questions-kinds.json)")
    parser.add_argument("--workers", type=int, default=1, help="processes side by side")
    parser.add_argument("--time-limit", type=float, help="seconds after which no further modulus is begun")
    parser.add_argument("--train-only", action="store_true", help="leave the answers to another call")
    args = parser.parse_args()
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # processes share one device
    started = time.perf_counter()
    name = "questions-kinds.json" if args.kinds else "questions.json"
    args.out = args.out or Path(__file__).parent / "results" / name
    known = {(row["draw"], row["number"]): row for row in read_json(args.out)["rows"]} if args.out.exists() else {}
    draws = question_of_a_kind if args.kinds else question
    asked = [draws(draw, number) for draw in args.draws for number in range(args.count)]
    wanted = [row for row in asked if row["modulus"] <= args.largest]
    lots = in_lots([row for row in wanted if (row["draw"], row["number"]) not in known])
    command = f"python benchmarks/questions.py --draws {' '.join(map(str, args.draws))}" + " --kinds" * args.kinds
    command += "" if args.largest == 127 else f" --largest {args.largest}"
    command += "" if tuple(args.seeds) == SEEDS else f" --seeds {' '.join(map(str, args.seeds))}"
    store = partial(written, args, sittings_in(args.out) if known else (), command)
    for rows in side_by_side(partial(trained, seeds=args.seeds), lots, args.workers, args.time_limit):
        known |= {(row["draw"], row["number"]): row for row in rows}
        store(known)
        print(f"{time.perf_counter() - started:.0f} s: {len(known)} questions trained, now modulo {rows[0]['modulus']}")
    if not args.train_only:
        told = side_by_side(answered, list(known.values()), args.workers)
        known = {(row["draw"], row["number"]): row for row in told}
        for draw, found in store(known).items():
            print(f"draw {draw}: {found}")


def written(args: argparse.Namespace, earlier: Made, made_by: str, known: dict[tuple[int, int], Row]) -> dict[int, Row]:
    """Store all rows, with the summaries of the draws once they are answered."""
    rows = [known[key] for key in sorted(known)]
    draws = sorted({row["draw"] for row in rows}) if all("value" in row for row in rows) else []
    summaries = {draw: summary([row for row in rows if row["draw"] == draw]) for draw in draws}
    found = {"made_by": made_by, "draws": summaries, "rows": rows}
    write_found(__file__, args.out, found, args, earlier=earlier)
    return summaries


if __name__ == "__main__":
    main()
