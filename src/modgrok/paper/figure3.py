"""Figure 3: training on n1·n2 mod 97, width 500: losses, accuracies with the mean IPR, and IPR distributions.

What the caption calls Adam with weight decay 5 is AdamW, with β = (0.9, 0.98). Blocks are read in the order of
discrete logarithms, zero left out.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from modgrok.figures.training import draw_training
from modgrok.paper.trainings import compute_training
from modgrok.progress import Progress
from modgrok.training.steps import TrainConfig


def compute(*, quick: bool = False, progress: Progress | None = None) -> dict[str, Any]:
    config = TrainConfig("n1 n2", 97, width=500, steps=300 if quick else 600)
    title = "Figure 3: training on n1 n2 mod 97, width 500, half of the table"
    return compute_training("figure3", title, config, "ipr", (0, 50, 100, 200, 300, 600), progress)


def draw(result: dict[str, Any], folder: Path) -> list[Path]:
    return draw_training(
        result["curves"],
        result["neurons"],
        r"$n_1 n_2$ mod 97, width 500: trained on half of the table",
        folder / "figure3",
    )
