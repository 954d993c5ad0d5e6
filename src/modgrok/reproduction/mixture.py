"""Trained experts joined: the first polynomial of Table 1 from networks that learned n1 + n2 and n1 n2 alone."""

from __future__ import annotations

from dataclasses import asdict

from modgrok.networks.description import ExpertPlan
from modgrok.networks.verification import verify
from modgrok.reproduction.item import Effort, ItemResult, Summary, Values, Verdict
from modgrok.reproduction.table1 import POLYNOMIALS
from modgrok.training.mixture import MixSettings, mix

MODULUS = 97


def compute(effort: Effort) -> ItemResult:
    """`quick` trains each expert for fewer steps."""
    settings = MixSettings(steps=200) if effort.quick else MixSettings()
    network = mix(POLYNOMIALS[0], MODULUS, **asdict(settings), progress=effort.progress)
    found = verify(network)
    return ItemResult(
        item="mixture",
        title=f"A mixture of trained experts: {POLYNOMIALS[0]} mod {MODULUS}",
        settings={"polynomial": POLYNOMIALS[0], "modulus": MODULUS, **asdict(settings)},
        published={"claim": "experts trained on sums and products can be joined into a network for any polynomial"},
        measured={"accuracy": found.accuracy, "rows": found.rows_checked, "smallest_margin": found.min_margin},
        verdict=Verdict.REPRODUCED if found.accuracy == 1.0 else Verdict.DIFFERS,
        notes=(
            "No expert has seen the polynomial: one network is trained on a part of the table of n1 + n2 and one on a "
            "part of that of n1 n2; relabelled and joined by softmax they are checked on the polynomial's whole table.",
        ),
        columns={
            "text": "expert computes",
            "task": "learned from",
            "train_fraction": "share of its table",
            "own_accuracy": "right on its table",
            "margin": "margin",
            "beta": "β",
        },
        rows=[expert_row(expert) for expert in network.plan],
    )


def expert_row(expert: ExpertPlan) -> Values:
    """What an expert computes, and how well it learned its own table."""
    learned = expert.learned
    return {
        "text": expert.text,
        "task": learned.task if learned else None,
        "train_fraction": learned.fraction if learned else None,
        "own_accuracy": expert.own_accuracy,
        "margin": expert.margin,
        "beta": expert.beta,
    }


def summarise(result: ItemResult) -> Summary:
    measured = result.measured
    return Summary(
        "experts may be joined for polynomials that no training learns (left to future work)",
        f"accuracy {100 * measured['accuracy']:g} % on all {measured['rows']:,} rows, smallest margin "
        f"{measured['smallest_margin']:.2f}",
        "experts learned n1 + n2 and n1 n2, never the polynomial",
    )
