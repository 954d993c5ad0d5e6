"""Hidden neurons that n1 + … + nS needs, by design: ours beside those of the literature and of random phases.

Every width of ours is that of a network that was compiled and checked; the random-phase width is the smallest
one at which some seed reaches 100 %, as in Figure 1. Literature: 4(p-1) for two terms (Morwani et al. 2023) and
2^(2S-2)(p-1) for S terms (Li et al. 2024), both for exact margins on the whole table.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from modgrok.algebra.expression import parse
from modgrok.compiler.compiling import ExactSettings as Settings
from modgrok.compiler.compiling import assemble, compile_exact
from modgrok.compiler.exact_weights import exact_expert, full_kernel
from modgrok.compiler.plan import plan_by_shape
from modgrok.figures.style import save_figure
from modgrok.figures.widths import widths_figure
from modgrok.networks.circuit import Expert
from modgrok.networks.network import Network
from modgrok.networks.verification import verify
from modgrok.paper.figure1 import MODULUS, accuracy_curve
from modgrok.progress import Progress

LONG_SUM_MODULUS = 7
LARGEST_TABLE = 1 << 17


def compute(*, quick: bool = False, progress: Progress | None = None) -> dict[str, Any]:
    counts, seeds = (range(2, 5), [0, 1]) if quick else (range(2, 6), list(range(10)))
    lengths = range(2, 13)
    rows = []
    for done, terms in enumerate(counts):
        rows.append(widths_row(terms, seeds))
        if progress:
            progress(done + 1, len(counts) + 1)
    long_sums = [{"terms": terms, **_checked(compile_exact(_sum(terms), LONG_SUM_MODULUS))} for terms in lengths]
    if progress:
        progress(len(counts) + 1, len(counts) + 1)
    steps = np.diff([entry["width"] for entry in long_sums])
    right = all(entry["accuracy"] == 1.0 for entry in [*rows, *long_sums])
    narrower = all(row["flat"] <= row["literature"] and row["tree"] <= row["flat"] for row in rows)
    return {
        "item": "widths",
        "title": f"Hidden neurons for n1 + … + nS mod {MODULUS}, by design",
        "settings": {"modulus": MODULUS, "long_sum_modulus": LONG_SUM_MODULUS, "seeds": len(seeds)},
        "published": {"two_terms": "4(p-1)", "terms": "2^(2S-2)(p-1)"},
        "measured": {
            "every_network_is_right": right,
            "neurons_per_further_term_mod_7": _list(steps),
        },
        "verdict": "narrower than the literature" if right and narrower else "differs",
        "notes": [
            "random: smallest width at which some seed is right on 10,000 inputs. literature: 4(p-1) at S = 2, else "
            "2^(2S-2)(p-1). flat: one expert, exact one-hot. tree: two-term experts, exact one-hot. minimal: fewest "
            "neurons that are right on every input.",
            f"Each further term of a sum modulo {LONG_SUM_MODULUS} costs {_list(steps)} neurons.",
        ],
        "columns": {key: key for key in ("terms", "random", "literature", "flat", "tree", "minimal")},
        "rows": rows,
        "long_sums": long_sums,
    }


def _list(steps: np.ndarray) -> list[int]:
    """The distinct values, rising."""
    return sorted({int(step) for step in steps})


def _sum(terms: int) -> str:
    return " + ".join(f"n{s}" for s in range(1, terms + 1))


def widths_row(terms: int, seeds: list[int]) -> dict[str, Any]:
    networks = {
        "flat": flat_network(terms),
        "tree": compile_exact(_sum(terms), MODULUS),
        "minimal": compile_exact(_sum(terms), MODULUS, Settings(frequencies="minimal")),
    }
    checked = {name: _checked(network) for name, network in networks.items()}
    return {
        "terms": terms,
        "random": accuracy_curve(terms, seeds)["width_100"],
        "literature": 4 * (MODULUS - 1) if terms == 2 else 2 ** (2 * terms - 2) * (MODULUS - 1),
        **{name: found["width"] for name, found in checked.items()},
        "accuracy": min(found["accuracy"] for found in checked.values()),
    }


def flat_network(terms: int) -> Network:
    """The whole sum in one expert with the exact design, as one two-layer network."""
    plan = plan_by_shape(parse(_sum(terms)), MODULUS, flat=True)
    experts: list[Expert] = [exact_expert(step, full_kernel(step.order)) for step in plan.steps]
    return Network(assemble(plan, experts, np.ones(len(experts))), _sum(terms), MODULUS, "exact")


def _checked(network: Network) -> dict[str, Any]:
    sample = LARGEST_TABLE if network.modulus**network.circuit.variables > LARGEST_TABLE else None
    return {"width": network.circuit.width, "accuracy": verify(network, sample=sample).accuracy}


def draw(result: dict[str, Any], folder: Path) -> list[Path]:
    settings = result["settings"]
    figure = widths_figure(result["rows"], settings["modulus"], result["long_sums"], settings["long_sum_modulus"])
    return save_figure(figure, folder / "widths")
