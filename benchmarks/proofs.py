"""How long proofs take beside compiling, and how large the kernel is.

    python benchmarks/proofs.py [--out benchmarks/results/proofs.json] [--repeat 3]

Every network is planned and its weights made, and then proved, several times; the medians are kept. Seconds are those
of one core of the processor, which a busy machine changes little. Random weights stand in for trained ones: they take
as long.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from pathlib import Path
from typing import Any

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy comes: threads that wait for each other count as busy

import numpy as np
from writing import write_found

import modgrok
from modgrok.algebra.expression import parse
from modgrok.algebra.function import read_function
from modgrok.algebra.trees import to_text
from modgrok.compiler.choosing import best_plan
from modgrok.compiler.compiling import ExactSettings, exact_network
from modgrok.networks.circuit import Expert, single
from modgrok.networks.network import Network
from modgrok.networks.proving import prove

RESULTS = Path(__file__).parent / "results" / "proofs.json"
README = "2n1^4 n2 + n1^2 n2^2 + 3n1 n2^3"
LONG = " + ".join(f"n{k}" for k in range(1, 100))
COMPILED = (
    (README, 97, "all"),
    (README, 97, "minimal"),
    ("n1 n2 + n3", 97, "all"),
    ("n1 + n2 + n3 + n1 n2 n3", 97, "all"),
    ("n1 n2", 1009, "all"),
    ("n1 n2 n3 n4 n5", 100, "minimal"),
    (LONG, 3329, "minimal"),
    ("n1 n2", 974_269, "minimal"),
)
TRAINED = (("n1 n2", 97, 500), ("n1 + n2 + n3", 97, 500))


def compiled_row(text: str, modulus: int, frequencies: str, repeat: int) -> dict[str, Any]:
    compiling, proving = [], []
    for _ in range(repeat):
        began = time.process_time()
        tree = parse(text, modulus)
        network = exact_network(
            *best_plan(tree, modulus, frequencies), read_function(to_text(tree), modulus), ExactSettings(frequencies)
        )
        made = time.process_time()
        proof = prove(network, text)
        compiling.append(made - began)
        proving.append(time.process_time() - made)
    short = text if len(text) < 40 else "n1 + n2 + … + n99"
    return row(short, modulus, frequencies, network, proof, proving) | {"compile_seconds": median(compiling)}


def trained_row(text: str, modulus: int, width: int, repeat: int) -> dict[str, Any]:
    tree = parse(text, modulus)
    terms, rng, seconds = text.count("n"), np.random.default_rng(0), []
    weights = (rng.normal(size=shape).astype(np.float32) for shape in ((terms, modulus, width), (width, modulus)))
    network = Network.of_circuit(single(Expert(*weights, terms)), read_function(to_text(tree), modulus), "trained")
    for _ in range(repeat):
        began = time.process_time()
        proof = prove(network)
        seconds.append(time.process_time() - began)
    return row(text, modulus, "trained, float32", network, proof, seconds) | {"compile_seconds": None}


def row(text: str, modulus: int, kind: str, network: Network, proof: Any, seconds: list[float]) -> dict[str, Any]:
    return {
        "expression": text,
        "modulus": modulus,
        "kind": kind,
        "neurons": network.width,
        "rows": proof.rows,
        "decided": (proof.right + proof.wrong) / proof.rows,
        "method": proof.method,
        "prove_seconds": median(seconds),
    }


def median(seconds: list[float]) -> float:
    return round(statistics.median(seconds), 4)


def kernel_lines() -> dict[str, int]:
    folder = Path(modgrok.__file__).parent / "proofs"
    return {path.name: len(path.read_text(encoding="utf-8").splitlines()) for path in sorted(folder.glob("*.py"))}


def main() -> None:
    parser = argparse.ArgumentParser(description="How long proofs take beside compiling.")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--repeat", type=int, default=3)
    args = parser.parse_args()
    rows = []
    for case in COMPILED:
        rows.append(compiled_row(*case, args.repeat))
        print(json.dumps(rows[-1]), flush=True)
    for case in TRAINED:
        rows.append(trained_row(*case, args.repeat))
        print(json.dumps(rows[-1]), flush=True)
    lines = kernel_lines()
    found = {"command": "python benchmarks/proofs.py", "version": modgrok.__version__, "rows": rows}
    write_found(__file__, args.out, found | {"kernel_lines": sum(lines.values()), "lines": lines}, args)
    print(f"{sum(lines.values())} lines in the kernel; written to {args.out}")


if __name__ == "__main__":
    main()
