"""Hidden neurons that n1 + … + nS needs, by design: ours beside those of the literature and of random phases.

Every width of ours is that of a network that was compiled and checked; the random-phase width is the smallest
one at which some seed reaches 100 %, as in Figure 1. Literature: 4(p-1) for two terms (Morwani et al. 2023) and
2^(2S-2)(p-1) for S terms (Li et al. 2024), both for exact margins on the whole table.
"""

from __future__ import annotations

import numpy as np

from modgrok.algebra.expression import parse
from modgrok.algebra.function import from_expression
from modgrok.compiler.compiling import ExactSettings as Settings, assemble, compile_exact
from modgrok.compiler.exact_weights import exact_expert, full_kernel
from modgrok.compiler.plan import plan_by_shape
from modgrok.figures.paper import widths_figure
from modgrok.figures.style import Figure
from modgrok.networks.circuit import Expert
from modgrok.networks.network import Network
from modgrok.networks.verification import verify
from modgrok.reproduction.figure1 import MODULUS, QUICK_SEEDS, SEEDS, accuracy_curve
from modgrok.reproduction.item import Effort, ItemResult, Summary, Values, Verdict

LONG_SUM_MODULUS = 7
LARGEST_TABLE = 1 << 17


def compute(effort: Effort) -> ItemResult:
    counts, seeds = (range(2, 5), QUICK_SEEDS) if effort.quick else (range(2, 6), SEEDS)
    lengths = range(2, 13)
    rows = []
    for done, terms in enumerate(counts, start=1):
        rows.append(widths_row(terms, seeds))
        effort.progress(done, len(counts) + 1)
    long_sums = [{"terms": terms, **_checked(compile_exact(_sum(terms), LONG_SUM_MODULUS))} for terms in lengths]
    effort.progress(len(counts) + 1, len(counts) + 1)
    return report(rows, long_sums, len(seeds))


def report(rows: list[Values], long_sums: list[Values], seeds: int) -> ItemResult:
    steps = sorted({int(step) for step in np.diff([entry["width"] for entry in long_sums])})
    right = all(entry["accuracy"] == 1.0 for entry in [*rows, *long_sums])
    narrower = all(row["flat"] <= row["literature"] and row["tree"] <= row["flat"] for row in rows)
    return ItemResult(
        item="widths",
        title=f"Hidden neurons for n1 + … + nS mod {MODULUS}, by design",
        settings={"modulus": MODULUS, "long_sum_modulus": LONG_SUM_MODULUS, "seeds": seeds},
        published={"two_terms": "4(p-1)", "terms": "2^(2S-2)(p-1)"},
        measured={
            "every_network_is_right": right,
            "narrower_than_the_literature": narrower,
            "neurons_per_further_term_mod_7": steps,
        },
        verdict=Verdict.FINDING if right and narrower else Verdict.DIFFERS,
        notes=(
            "random: smallest width at which some seed is right on 10,000 inputs. literature: 4(p-1) at S = 2, else "
            "2^(2S-2)(p-1). flat: one expert, exact one-hot. tree: two-term experts, exact one-hot. minimal: fewest "
            "neurons that are right on every input.",
            f"Each further term of a sum modulo {LONG_SUM_MODULUS} costs {' or '.join(map(str, steps))} neurons.",
        ),
        columns={key: key for key in ("terms", "random", "literature", "flat", "tree", "minimal")},
        rows=rows,
        data={"long_sums": long_sums},
    )


def summarise(result: ItemResult) -> Summary:
    def numbers(key: str) -> str:
        return ", ".join(str(row[key]) for row in result.rows)

    terms = [row["terms"] for row in result.rows]
    narrower = "narrower than the literature" if result.verdict is Verdict.FINDING else "not narrower everywhere"
    return Summary(
        f"random phases {numbers('random')} (measured); literature {numbers('literature')} neurons at S = "
        f"{terms[0]} … {terms[-1]}",
        f"{numbers('flat')} in one expert, {numbers('tree')} as a tree, {numbers('minimal')} at least",
        f"{narrower}: exact one-hot outputs, every network checked",
    )


def figures(result: ItemResult) -> dict[str, Figure]:
    settings = result.settings
    long_sums = result.data["long_sums"], settings["long_sum_modulus"]
    return {"widths": widths_figure(result.rows, settings["modulus"], *long_sums)}


def _sum(terms: int) -> str:
    return " + ".join(f"n{s}" for s in range(1, terms + 1))


def widths_row(terms: int, seeds: tuple[int, ...]) -> Values:
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
    return Network.of_circuit(
        assemble(plan, experts, np.ones(len(experts))), from_expression(_sum(terms), MODULUS), "exact"
    )


def _checked(network: Network) -> Values:
    sample = LARGEST_TABLE if network.rows > LARGEST_TABLE else None
    return {"width": network.width, "accuracy": verify(network, sample=sample).accuracy}
