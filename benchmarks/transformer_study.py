"""The best-known study of a transformer that groks: python benchmarks/transformer_study.py OUT.json, on a GPU

n1 + n2 mod 113 from 30 % of the table, one layer of width 128, full batch; its curve, what its logits compute, and a
film of it.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from writing import write_found

import modgrok as mg

STEPS = 8000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--steps", type=int, default=STEPS)
    args = parser.parse_args()
    run = mg.train(
        "n1 + n2", 113, model="transformer", fraction=0.3, learning_rate=0.001, weight_decay=1.0, steps=args.steps,
        metrics_every=100, snapshots=40,
    )  # fmt: skip
    seen = mg.inspect(run).to_json()
    write_found(__file__, args.out, {"train": run.to_json(), "logits": seen["logits"], "film": seen["film"]}, args)


if __name__ == "__main__":
    main()
