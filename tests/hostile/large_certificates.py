"""Certificates that ask for much work: within the limits each is answered, beyond them refused."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from true_certificates import MEGABYTES, SECONDS, bare_claim, certificate, of_table

from modgrok.base.errors import InputError
from modgrok.proofs.proof import NoProof
from modgrok.separable.checking import check_content


def refuting(moduli: tuple[int, ...], given: Any, **more: Any) -> dict[str, Any]:
    obstruction = {"kind": "search", "cases": [[None, given]], **more}
    return bare_claim(moduli, False, obstruction=obstruction)


def random_table(shape: tuple[int, int], values: int) -> np.ndarray:
    return np.random.default_rng(7).integers(0, values, shape)


def of_large(table: np.ndarray, *claims_: Any) -> dict[str, Any]:
    return of_table(table, list(claims_)).content


def chain(sizes: tuple[int, int], order: int, length: int) -> dict[str, Any]:
    """A tree of few nodes, each the only child of the one before, that stands for order^length cases."""
    nodes = []
    for number in range(length):
        kind = "scale" if not number else ("column", "row")[number % 2]
        child = number + 1 if number + 1 < length else None
        line = (number + 1) // 2 % sizes[number % 2]
        nodes.append([[kind, max(1, line)], [[option, child] for option in range(order)]])
    return {"kind": "search", "transposed": False, "tree": {"origin": [0, 0], "nodes": nodes}}


def of_powers(exponent: str, modulus: int) -> dict[str, Any]:
    lines = refuting((7,), {"kind": "distinct-lines"})
    return certificate({"expression": f"(n1 + n2)^{exponent}", "modulus": modulus}, 2, [lines])


def colours(side: int, depth: int) -> dict[str, Any]:
    """Pairs of pairs of pairs …"""
    found: dict[str, Any] = {"kind": "distinct-lines"}
    for _ in range(depth):
        table = [[(a - b) % side for b in range(side)] for a in range(side)]
        found = {"kind": "pairs", "side": "row", "colours": table, "certificate": found}
    return found


def many_lines(modulus: int) -> dict[str, Any]:
    lines = [["row", 0]] + [["row", 1]] * (modulus - 1)
    claim = refuting((modulus,), {"kind": "counting", "lines": lines}, smaller=[]) | {"up_to": True}
    return certificate({"expression": "n1 n2", "modulus": modulus}, 2, [claim])


def witness_of_order(order: int, side: int) -> dict[str, Any]:
    places = {"g1": [order - 1] * side, "g2": [0] * side, "h": [0] * order, "h_absorbing": None}
    return bare_claim((order,), False, witness=places)


def deep(depth: int) -> dict[str, Any]:
    found: Any = 0
    for _ in range(depth):
        found = [found]
    return certificate({"table": found, "values": 2}, 2, [])


def sums(side: int) -> np.ndarray:
    return np.add.outer(np.arange(side), np.arange(side)) % side


def of_group(order: int, name: str | None) -> dict[str, Any]:
    """The sums modulo a number as products in a group, under any name."""
    products = sums(order).tolist()
    own = list(range(order))
    witness = {"g1": own, "g2": own, "h": own, "h_absorbing": None, "products": products, "group_name": name}
    claim = bare_claim((order,), False, witness=witness) | {"family": "group"}
    return of_large(sums(order), claim)


LARGE: dict[str, Callable[[], Any]] = {
    "a group of 1,024 elements": lambda: of_group(1024, None),
    "a group that takes long to make": lambda: of_group(300, "GL(4,2)"),
    "a group of very many factors": lambda: of_group(300, "xZ1" * 19 + "Z2^99"),
    "symmetries of any group": lambda: of_large(
        np.eye(60, dtype=int),
        refuting((60,), {"kind": "intransitive", "side": "row", "line": 1}) | {"family": "group", "up_to": True},
    ),
    "a tree of shared children": lambda: of_large(
        random_table((10, 10), 3), refuting((40,), chain((10, 10), 40, 12), axis=0)
    ),
    "a tree of shared children over 16384": lambda: of_large(
        random_table((10, 10), 3), refuting((16384,), chain((10, 10), 16384, 3))
    ),
    "a tree over 128 × 128": lambda: of_large(random_table((6, 6), 3), refuting((128, 128), chain((6, 6), 50, 4))),
    "a tree over 2^9": lambda: of_large(random_table((9, 9), 3), refuting((2,) * 9, chain((9, 9), 512, 4))),
    "a chain of 200,000 nodes": lambda: of_large(random_table((4, 4), 3), refuting((7,), chain((4, 4), 1, 200_000))),
    "all groups up to 1000": lambda: many_lines(1000),
    "all groups up to 1448": lambda: many_lines(1448),
    "two million cells": lambda: of_large(random_table((1448, 1448), 1448), refuting((7,), {"kind": "distinct-lines"})),
    "two million cells, unknown ones": lambda: of_large(
        random_table((1448, 1448), 1448) - 1,
        refuting((7,), {"kind": "rivals", "kept": [[*range(1448)]] * 2, "side": "row", "clique": [*range(1448)]}),
    ),
    "two million cells, sixteen claims": lambda: of_large(
        random_table((1448, 1448), 1448), *[refuting((7,), {"kind": "distinct-lines"})] * 16
    ),
    "two million values of an expression": lambda: certificate(
        {"expression": "n1 n2 + n1", "modulus": 1448}, 2, [refuting((1448,), {"kind": "distinct-lines"})] * 16
    ),
    "two million cells and a witness": lambda: of_large(np.zeros((1448, 1448), int), witness_of_order(16384, 1448)),
    "a long thin table": lambda: of_large(random_table((2, 1 << 20), 5), refuting((7,), {"kind": "distinct-lines"})),
    "symmetries of a large table": lambda: of_large(
        np.eye(60, dtype=int), refuting((60,), {"kind": "no-cyclic-automorphism"})
    ),
    "symmetries of a sum": lambda: of_large(sums(200), refuting((200,), {"kind": "no-cyclic-automorphism"})),
    "a closed trail over a large prime": lambda: of_large(
        random_table((16000, 2), 90), refuting((16381,), {"kind": "closed-trail", "side": "column"})
    ),
    "pairs of pairs": lambda: of_large(sums(60), refuting((60,), colours(60, 9))),
    "many symmetries": lambda: of_large(
        np.eye(40, dtype=int),
        refuting((80,), {
            "kind": "symmetry", "symmetries": [[[*range(40)], [*range(40)], [0, 1]]] * 2000, "core": [],
            "transposed": False, "tree": chain((40, 40), 80, 3)["tree"],
        }),
    ),
    "an exponent of 3,900 digits": lambda: of_powers("9" * 3900, 1000),
    "an exponent of 300 digits": lambda: of_powers("9" * 300, 1448),
    "a long expression": lambda: certificate(
        {"expression": "n1 n2" + " + n1 n2" * 400, "modulus": 60}, 2, [refuting((7,), {"kind": "distinct-lines"})]
    ),
    "eight variables": lambda: certificate(
        {"expression": "n1 n2 n3 n4 n5 n6 n7 n8", "modulus": 6}, 8, [refuting((7,), {"kind": "distinct-lines"}, axis=7)]
    ),
    "a deep table": lambda: deep(900),
    "a long text": lambda: of_large(sums(5), refuting((4,), {"kind": "distinct-lines"}, explanation="x" * (1 << 21))),
}  # fmt: skip
"""Files that ask for much work: within the limits each is answered, beyond them refused."""

CHILD = """
import sys, time
from tally import held_megabytes
from modgrok.base.errors import InputError
from modgrok.separable.checking import check
began = time.process_time()
try:
    said = check(sys.argv[1]).outcome
except InputError as error:
    said = str(error)
print(time.process_time() - began, held_megabytes("VmHWM"), len(said.splitlines()))
"""


def in_a_child(program: str, *words: str) -> subprocess.CompletedProcess[str]:
    """A program in a process of its own that finds this folder's modules."""
    found = os.environ | {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}
    command = [sys.executable, "-c", program, *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=found)


def judged_large(name: str, *, apart: bool) -> list[str]:
    """A file that asks for much: in two seconds it is refused, proved or called too much work."""
    content = LARGE[name]()
    if not apart:
        began = time.process_time()
        try:
            check_content(content, 0.0)
        except (NoProof, InputError):
            pass
        except Exception as error:
            return [f"{type(error).__name__}: {str(error)[:200]}"]
        seconds = time.process_time() - began
        return [f"took {seconds:.1f} s"] if seconds > SECONDS else []
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "forged.json"
        path.write_text(json.dumps(content))
        done = in_a_child(CHILD, str(path))
    if done.returncode or done.stderr:
        return [f"ends with {done.returncode}: {done.stderr[-300:]}"]
    seconds, megabytes, lines = map(float, done.stdout.split())
    problems = [f"took {seconds:.1f} s"] if seconds > SECONDS else []
    problems += [f"took {megabytes:.0f} MB"] if megabytes > MEGABYTES else []
    return problems + (["it does not say one line"] if lines != 1 else [])
