"""Trained experts joined: the first polynomial of Table 1 from networks that learned n1 + n2 and n1 n2 alone."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from modgrok.networks.verification import verify
from modgrok.paper.table1 import POLYNOMIALS
from modgrok.progress import Progress
from modgrok.training.mixture import MixSettings, mix

MODULUS = 97


def compute(*, quick: bool = False, progress: Progress | None = None) -> dict[str, Any]:
    """`quick` trains each expert for fewer steps."""
    settings = MixSettings(steps=200) if quick else MixSettings()
    network = mix(POLYNOMIALS[0], MODULUS, settings, progress)
    found = verify(network)
    return {
        "item": "mixture",
        "title": f"A mixture of trained experts: {POLYNOMIALS[0]} mod {MODULUS}",
        "settings": {"polynomial": POLYNOMIALS[0], "modulus": MODULUS, **asdict(settings)},
        "published": {"claim": "experts trained on sums and products can be joined into a network for any polynomial"},
        "measured": {"accuracy": found.accuracy, "rows": found.rows_checked, "smallest_margin": found.min_margin},
        "verdict": "reproduced" if found.accuracy == 1.0 else "differs",
        "notes": [
            "No expert has seen the polynomial: one network is trained on a part of the table of n1 + n2 and one on a "
            "part of that of n1 n2; relabelled and joined by softmax they are checked on the polynomial's whole table."
        ],
        "columns": {
            "text": "expert computes",
            "task": "learned from",
            "train_fraction": "share of its table",
            "own_accuracy": "right on its table",
            "margin": "margin",
            "beta": "β",
        },
        "rows": [dict(step) for step in network.plan],
    }
