"""The control of end-to-end training on a GPU: python benchmarks/control.py --time-limit 170

Trains what is missing in benchmarks/results/endtoend-control.json, a polynomial at a time, and begins none after the
time limit. `modgrok paper endtoend --full --out benchmarks/results` does the same, after all its other studies.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from modgrok.base.repository import study

RESULTS = Path(__file__).parent / "results"

control = study("endtoend_control")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--time-limit", type=float, default=600.0, metavar="SECONDS")
    begun = time.perf_counter()
    for each, entries in control.train_controls(RESULTS, end=begun + parser.parse_args().time_limit, say=print):
        print(f"{each.polynomial} mod {each.modulus}, {time.perf_counter() - begun:.0f} s")
        for finals in control.by_schedule(entries):
            print(f"  {finals['schedule']}: control {finals['control']}, polynomial {finals['scratch']}")


if __name__ == "__main__":
    main()
