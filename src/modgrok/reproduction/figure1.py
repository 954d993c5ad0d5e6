"""Figure 1: how wide the random-phase network for n1 + … + nS must be, p = 23.

Accuracy is taken on 10,000 random inputs (all inputs if there are fewer), best of 10 seeds, at widths spaced
logarithmically. The wanted term has size 1 and the number of unwanted ones grows exponentially with S while each
is suppressed only by 1/√N, so the width that is needed grows exponentially with S.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from modgrok.compiler.compiling import PaperSettings, random_network
from modgrok.figures import paper as drawing
from modgrok.figures.style import Figure
from modgrok.networks.verification import verify
from modgrok.reproduction.item import Effort, ItemResult, Summary, Values, Verdict

MODULUS = 23
INPUTS = 10_000
STEPS_PER_DOUBLING = 2
FIRST_WIDTH = 8
SEEDS, QUICK_SEEDS = tuple(range(10)), tuple(range(3))


def compute(effort: Effort) -> ItemResult:
    terms, seeds = (range(2, 5), QUICK_SEEDS) if effort.quick else (range(2, 6), SEEDS)
    curves = []
    for k, count in enumerate(terms):
        curves.append(accuracy_curve(count, seeds))
        effort.progress(k + 1, len(terms))
    rate, factor = exponential_fit(curves)
    return ItemResult(
        item="figure1",
        title=f"Figure 1: width that n1 + … + nS mod {MODULUS} needs with random phases",
        settings={"modulus": MODULUS, "inputs": INPUTS, "seeds": len(seeds)},
        published={"claim": "the width that reaches 100 % increases exponentially with the number of terms"},
        measured={"growth_per_term": factor, "rate": rate},
        verdict=Verdict.REPRODUCED if factor > 1.5 else Verdict.DIFFERS,
        notes=(f"Smallest width for 100 % grows by a factor of {factor:.2f} per term: width ≈ e^({rate:.2f}·S).",),
        columns={"terms": "terms S", "smallest_width_for_100_percent": "smallest width for 100 %"},
        rows=[{"terms": c["terms"], "smallest_width_for_100_percent": c["width_100"]} for c in curves],
        data={"curves": curves},
    )


@lru_cache
def accuracy_curve(terms: int, seeds: tuple[int, ...]) -> Values:
    """Best accuracy over the seeds at rising widths, until two widths in a row are perfect."""
    text = " + ".join(f"n{s}" for s in range(1, terms + 1))
    widths: list[int] = []
    best: list[float] = []
    while best[-2:] != [1.0, 1.0]:
        widths.append(round(FIRST_WIDTH * 2 ** (len(widths) / STEPS_PER_DOUBLING)))
        best.append(max(_accuracy(text, widths[-1], seed) for seed in seeds))
    return {"terms": terms, "widths": widths, "best_accuracy": best, "width_100": widths[-2]}


def _accuracy(text: str, width: int, seed: int) -> float:
    network = random_network(text, MODULUS, PaperSettings(add_width=width, seed=seed))
    return verify(network, sample=INPUTS, seed=seed, proving=False).accuracy


def exponential_fit(curves: list[Values]) -> tuple[float, float]:
    """(r, e^r) of the least-squares line log(width) = r·S + c through the smallest sufficient widths."""
    rate, _ = np.polyfit([c["terms"] for c in curves], np.log([c["width_100"] for c in curves]), 1)
    return float(rate), float(np.exp(rate))


def summarise(result: ItemResult) -> Summary:
    widths = ", ".join(str(row["smallest_width_for_100_percent"]) for row in result.rows)
    terms = [row["terms"] for row in result.rows]
    growth = result.measured["growth_per_term"]
    return Summary(
        "the width for 100 % grows exponentially with the number of terms S",
        f"widths {widths} at S = {terms[0]} … {terms[-1]}: a factor of {growth:.1f} per term",
        "each further term multiplies the width",
    )


def figures(result: ItemResult) -> dict[str, Figure]:
    rate, modulus = result.measured["rate"], result.settings["modulus"]
    return {"figure1": drawing.figure1(result.data["curves"], rate, modulus)}
