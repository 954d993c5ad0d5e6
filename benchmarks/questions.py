"""Does `classify` keep its word? python benchmarks/questions.py [--count 200] [--seed 0] [--out FILE]

Draws random questions: an expression in two variables from a grammar (no family of the census), a modulus from 5 to
127 and a share of the table from 0.1 to 0.9. Each is answered without training, then trained at the default settings.
Counts how often the test accuracy lay in the interval, the mean error where a number was given, and how often none was.
Answers are stored after every training, and a second call goes on.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator

import modgrok as mg
from modgrok.files import read_json, write_json


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


def question(number: int, seed: int) -> dict[str, Any]:
    """Question `number`, whatever came before; both variables occur in it."""
    rng = np.random.default_rng([seed, number])
    while True:
        modulus = int(rng.integers(5, 128))
        text = expression(rng, modulus)
        if mg.read_function(text, modulus).variables == ("n1", "n2"):
            return {
                "number": number,
                "expression": text,
                "modulus": modulus,
                "fraction": round(rng.uniform(0.1, 0.9), 3),
            }


def answered(asked: dict[str, Any]) -> dict[str, Any]:
    """The question with what was expected, and what training reached."""
    started = time.perf_counter()
    found = mg.classify(asked["expression"], asked["modulus"], fraction=asked["fraction"])
    run = mg.train(asked["expression"], mod=asked["modulus"], fraction=asked["fraction"], metrics_every=1000)
    expected = {name: getattr(found.expected, name) for name in ("value", "low", "high")}
    reached = float(run.curves["test_accuracy"][-1])
    return asked | expected | {"verdict": found.verdict, "reached": reached, "seconds": time.perf_counter() - started}


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    told = [row for row in rows if row["value"] is not None]
    return {
        "questions": len(rows),
        "without_a_number": sum(row["value"] is None for row in rows) / max(len(rows), 1),
        "in_their_intervals": float(np.mean([row["low"] <= row["reached"] <= row["high"] for row in told]))
        if told
        else None,
        "mean_error": float(np.mean([abs(row["value"] - row["reached"]) for row in told])) if told else None,
        "mean_width": float(np.mean([row["high"] - row["low"] for row in told])) if told else None,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/questions.json"))
    args = parser.parse_args()
    rows = read_json(args.out)["rows"] if args.out.exists() else []
    for number in range(len(rows), args.count):
        rows.append(answered(question(number, args.seed)))
        command = f"python benchmarks/questions.py --count {args.count} --seed {args.seed}"
        write_json(args.out, {"made_by": command, **summary(rows), "rows": rows})
        row = rows[-1]
        print(
            f"{number + 1}: {row['expression']} mod {row['modulus']} from {row['fraction']}: {row['value']} and {row['reached']}"
        )
    print(summary(rows))


if __name__ == "__main__":
    main()
