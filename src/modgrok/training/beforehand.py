"""What is known of a training's function before it is trained on, where that takes a moment."""

from __future__ import annotations

from modgrok.algebra.structures import Integers
from modgrok.loss_law.fraction_law import enough
from modgrok.loss_law.from_table import expected_from_table
from modgrok.separable.classification import classify_table
from modgrok.training.config import TrainConfig

LARGEST_ASKED, ASKED = 1 << 16, 0.2
"""Cells of a table whose class is asked for, and the effort that this may take."""
NEARLY_ALL = 0.95
"""The accuracy to expect from which on a network "should learn" a function."""


def asked(config: TrainConfig) -> tuple[bool | None, float | None]:
    """Whether a training's function is h(g1 + g2 + …), and which share of its table is enough; None for what is not
    decided in a moment, or not known. Its own share is enough where nearly all is expected from that."""
    function = config.function
    if function.cells > LARGEST_ASKED or not isinstance(function.structure, Integers) or len(function.sizes) < 2:
        return None, None
    found = classify_table(function.table, function.modulus, tree=function.tree, effort=ASKED)
    expected = expected_from_table(function.table, function.modulus, fraction=config.fraction, model=config.model)
    share = enough(function.table, function.modulus, found) if config.model == "power" else None
    share = config.fraction if (expected.value or 0) >= NEARLY_ALL else share
    return None if found.status == "unknown" else found.status == "in-class", share
