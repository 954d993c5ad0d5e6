"""Network files that ask for much work: read at once, and proved or not without much memory."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from large_certificates import in_a_child
from safetensors.numpy import save
from true_certificates import MEGABYTES, SECONDS
from true_networks import Stored, originals


def blank(model: dict[str, Any], expression: str, modulus: int, shapes: dict[str, tuple[int, ...]]) -> Stored:
    """A file of noise under a model's settings, float32, that says it is proved."""
    chance = np.random.default_rng(7)
    about = originals()[0].stored[0] | {"model": model, "expression": expression, "modulus": modulus, "claims": []}
    return about | {"claimed": True}, {name: chance.normal(size=s).astype("float32") for name, s in shapes.items()}


def many_rows() -> Stored:
    """Two million rows of one expert that says nothing of its waves."""
    return circuit_of(1021, 2, [(0, 1)], "n1 + n2")


def many_variables() -> Stored:
    """2^20 rows through a chain of experts, each of which reads the one before."""
    wires = [(0, 1), *((19 + k, k + 1) for k in range(1, 19))]
    return circuit_of(2, 20, wires, " + ".join(f"n{k}" for k in range(1, 21)))


def many_experts() -> Stored:
    """Three hundred experts one after another."""
    wires = [(0, 1), *((1 + k, k % 2) for k in range(1, 300))]
    return circuit_of(31, 2, wires, "n1 + n2")


def circuit_of(modulus: int, variables: int, wires: list[tuple[int, int]], expression: str) -> Stored:
    width = 9
    experts = [[2, modulus, width, modulus, 2] for _ in wires]
    model = {"name": "circuit", "residues": [modulus] * variables, "classes": modulus, "width": width * len(wires)}
    model |= {"experts": experts, "wires": [list(pair) for pair in wires]}
    shapes: dict[str, tuple[int, ...]] = {"betas": (len(wires),)}
    for k in range(len(wires)):
        shapes |= {f"experts.{k}.embed": (2, modulus, width), f"experts.{k}.readout": (width, modulus)}
    return blank(model, expression, modulus, shapes)


EVERY_LARGE = 40
LARGE: dict[str, Callable[[], Stored]] = {
    "two variables modulo 1021": many_rows, "twenty variables": many_variables, "three hundred experts": many_experts,
}  # fmt: skip
"""Files that ask for much work. They are read at once; what is then asked of the kernel takes its time, and tells how
far it is, but not more memory than others."""

CHILD = """
import sys, time
from tally import held_megabytes
from modgrok.networks.proving import prove
from modgrok.networks.storage import load
from modgrok.proofs.proof import NoProof
before, began = held_megabytes("VmRSS"), time.process_time()
network = load(sys.argv[1])
seconds = time.process_time() - began
try:
    holds = prove(network).holds
except NoProof:
    holds = False
print(seconds, held_megabytes("VmHWM") - before, holds)
"""


def judged_large(path: Path, name: str) -> list[str]:
    about, tensors = LARGE[name]()
    path.write_bytes(save(tensors, metadata={"modgrok": json.dumps(about)}))
    done = in_a_child(CHILD, str(path))
    if done.returncode or done.stderr:
        return [f"ends with {done.returncode}: {done.stderr[-300:]}"]
    seconds, megabytes, holds = done.stdout.split()
    problems = [f"reading it took {seconds} s"] if float(seconds) > SECONDS else []
    problems += [f"took {megabytes} MB"] if float(megabytes) > MEGABYTES else []
    return problems + (["noise is proved"] if holds != "False" else [])
