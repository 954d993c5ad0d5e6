"""Experts without error, in the place of trained ones."""

from __future__ import annotations

import numpy as np

from modgrok.compiler.exact_weights import exact_expert, full_kernel
from modgrok.compiler.steps import product_step, sum_step
from modgrok.networks.circuit import Expert


def perfect_expert(task: str, p: int) -> Expert:
    """An expert for n1 + n2 or n1 n2."""
    residues = np.arange(p)
    lines = [residues, residues]
    step = sum_step([0, 1], lines, p, "") if task == "sum" else product_step([0, 1], lines, p, "")
    return exact_expert(step, full_kernel(step.order))
